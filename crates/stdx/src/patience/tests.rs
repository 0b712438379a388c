use super::*;

#[test]
fn hurry_ends_with_what_was_run() {
    assert!(!is_hurried());
    assert!(hurried(|| hurried(is_hurried) && is_hurried()));
    assert!(!is_hurried());
    assert!(std::panic::catch_unwind(|| hurried(|| panic!("it fails"))).is_err());
    assert!(!is_hurried());
    hurried(|| assert!(!std::thread::spawn(is_hurried).join().unwrap(), "it is of this thread"));
}
