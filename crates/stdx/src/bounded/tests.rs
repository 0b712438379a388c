use super::*;

#[test]
fn order_and_limit() {
    let mut q = Bounded::new(2);
    assert_eq!(q.pop(), None);
    assert_eq!(q.push(1), Ok(()));
    assert_eq!(q.push(2), Ok(()));
    assert_eq!(q.push(3), Err(3));
    assert_eq!(q.iter().copied().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(q.pop(), Some(1));
    assert_eq!(q.push(3), Ok(()));
    assert_eq!((q.len(), q.is_full(), q.limit()), (2, true, 2));
}
