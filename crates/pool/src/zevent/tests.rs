use super::*;

#[test]
fn readers_see_what_came_after_what_they_know() {
    let (env, events) = (Env::real(), Zevents::default());
    let now = Nanos(0);
    assert!(events.after(&env, 0, now).is_empty());
    for n in 0..10_u64 {
        events.post(&env, "sysevent.fs.zfs.test", vec![("n", n.into())]);
    }
    let later = events.after(&env, 7, now);
    assert_eq!(later.iter().map(|event| event.eid).collect::<Vec<_>>(), [8, 9, 10]);
    assert_eq!(later[0].payload, [("n".to_owned(), ZeventValue::Number(7))]);
    assert_eq!(events.clear(), 10);
    events.post(&env, "sysevent.fs.zfs.test", Vec::new());
    assert_eq!(events.after(&env, 0, now)[0].eid, 11, "numbers are not used twice");
    (0..KEPT).for_each(|_| events.post(&env, "sysevent.fs.zfs.test", Vec::new()));
    assert_eq!(events.after(&env, 0, now)[0].eid, 12);
}

#[test]
fn a_reader_waits_for_the_next_event() {
    let (env, events) = (Env::real(), Zevents::default());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| events.after(&env, 0, Nanos::from_secs(60)));
        events.post(&env, "sysevent.fs.zfs.test", Vec::new());
        assert_eq!(reader.join().unwrap().len(), 1);
    });
    assert!(events.after(&env, 1, Nanos::from_millis(1)).is_empty());
}
