use std::sync::atomic::AtomicU32;

use super::*;

#[test]
fn who_waits_hears_of_it_whenever_it_is_cancelled() {
    let told = Arc::new(AtomicU32::new(0));
    let tell = || {
        let told = told.clone();
        move || {
            told.fetch_add(1, SeqCst);
        }
    };
    let asked = Cancel::default();
    let copy = asked.clone();
    copy.on_cancel(tell());
    assert!(!copy.is_cancelled());
    asked.cancel();
    assert_eq!((copy.is_cancelled(), told.load(SeqCst)), (true, 1));
    // Who comes later is told at once.
    copy.on_cancel(tell());
    assert_eq!(told.load(SeqCst), 2);
    assert!(!Cancel::default().is_cancelled());
}
