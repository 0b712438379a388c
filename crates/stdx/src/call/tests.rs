use std::sync::Mutex;

use super::*;

#[derive(Default)]
struct Groups(Mutex<Vec<u64>>);

impl Keeping for Groups {
    fn changed(&self, group: u64) {
        self.0.lock().unwrap().push(group);
    }
    fn logged(&self, _log: u64, _record: u64) {}
    fn answer(&self, _reply: &[u8]) {}
}

const CALL: CallId = CallId { place: 1, digest: [2; 32] };

#[test]
fn a_call_has_one_place_however_often_it_changes_something() {
    let groups = Arc::new(Groups::default());
    let make = |call: &CallId| {
        assert_eq!(*call, CALL);
        Some(groups.clone() as Arc<dyn Keeping>)
    };
    assert!(keep(4, |_| unreachable!("nobody calls")).is_none());
    let (answer, keeping) = working_on(CALL, || {
        assert!(keep(4, |_| None).is_none(), "there is no room");
        assert!(keep(5, make).is_some());
        assert!(keep(6, |_| unreachable!("it has a place")).is_some());
        let ((), inner) = working_on(CALL, || ());
        assert!(inner.is_none(), "that call has changed nothing");
        assert!(keep(7, |_| unreachable!("the outer one goes on")).is_some());
        9
    });
    assert_eq!((answer, keeping.is_some()), (9, true));
    assert_eq!(*groups.0.lock().unwrap(), [6, 7]);
    assert!(keep(8, |_| unreachable!("it is over")).is_none());
    assert!(std::panic::catch_unwind(|| working_on(CALL, || panic!("it fails"))).is_err());
    assert!(keep(9, |_| unreachable!("that one is over, too")).is_none());
}
