use super::*;

fn at(start: u64, len: u64) -> Segment {
    Segment { start, len }
}

#[test]
fn nobody_copies_what_is_being_logged() {
    let (turns, env) = (Turns::default(), Env::real());
    let logging = turns.log(&env, 0, at(4096, 4096));
    assert!(turns.copy(0, &[at(0, 512), at(0, 4097)]).is_none());
    // Beside it, and on another vdev.
    drop((turns.copy(0, &[at(0, 4096), at(8192, 4096)]).unwrap(), turns.copy(1, &[at(0, 1 << 20)]).unwrap()));
    drop(logging);
    let first = turns.copy(0, &[at(0, 1 << 20)]).unwrap();
    let second = turns.copy(0, &[at(1 << 20, 1 << 20)]).unwrap();
    drop(first);
    drop((turns.log(&env, 0, at(4096, 4096)), second));
}

#[test]
fn who_logs_waits_for_the_copy() {
    let (turns, env) = (Turns::default(), Env::real());
    let copying = turns.copy(0, &[at(0, 8192)]).unwrap();
    drop(turns.log(&env, 0, at(8192, 4096)));
    std::thread::scope(|scope| {
        let logged = scope.spawn(|| drop(turns.log(&env, 0, at(4096, 4096))));
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!logged.is_finished());
        drop(copying);
    });
}
