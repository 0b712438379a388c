use super::*;

#[test]
fn who_takes_too_long_is_named_once() {
    let watch = Arc::new(Watch::default());
    let limit = Nanos::from_secs(10);
    let slow = watch.begin("slow", Nanos::from_secs(1));
    let _later = watch.begin(format!("later {}", 1), Nanos::from_secs(5));
    drop(watch.begin("quick", Nanos::from_secs(1)));
    assert_eq!(watch.overdue(Nanos::from_secs(10), limit), []);
    let named = watch.overdue(Nanos::from_secs(11), limit);
    assert_eq!(named, [Overdue { what: "slow".into(), since: Nanos::from_secs(1) }]);
    assert_eq!(watch.overdue(Nanos::from_secs(12), limit), []);
    drop(slow);
    let named = watch.overdue(Nanos::from_secs(100), limit);
    assert_eq!(named, [Overdue { what: "later 1".into(), since: Nanos::from_secs(5) }]);
}

#[test]
fn a_panic_under_way_is_forgotten_too() {
    let watch = Arc::new(Watch::default());
    let other = watch.clone();
    let ended = std::thread::spawn(move || {
        let _at_work = other.begin("dies", Nanos(0));
        panic!("it dies");
    });
    assert!(ended.join().is_err());
    assert_eq!(watch.overdue(Nanos::from_secs(1000), Nanos::from_secs(1)), []);
}
