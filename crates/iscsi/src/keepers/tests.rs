use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;

use super::*;

#[test]
fn while_keepers_wait_more_is_put_aside_and_one_takes_all_of_it() {
    let (promises, sent) = (Promises::default(), AtomicUsize::new(0));
    let send = || {
        sent.fetch_add(1, SeqCst);
    };
    let kept = Arc::new(AtomicUsize::new(0));
    let quick = || -> Keep {
        let kept = kept.clone();
        Box::new(move || {
            kept.fetch_add(1, SeqCst);
        })
    };
    assert!(!promises.want_keeper());
    thread::scope(|scope| {
        let mut releases = Vec::new();
        for _ in 0..KEEPERS {
            let ((begun, has_begun), (release, released)) = (channel(), channel::<()>());
            promises.put(Box::new(move || {
                begun.send(()).expect("heard");
                released.recv().expect("released");
            }));
            assert!(promises.want_keeper() && !promises.want_keeper(), "it is called once");
            scope.spawn(|| promises.keep(send));
            has_begun.recv().expect("it waits");
            releases.push(release);
        }
        (0..50).for_each(|_| promises.put(quick()));
        assert!(!promises.want_keeper(), "there are enough");
        promises.keep(send);
        assert_eq!((kept.load(SeqCst), sent.load(SeqCst)), (0, 0));
        releases.iter().for_each(|release| release.send(()).expect("it waits"));
    });
    assert_eq!((kept.load(SeqCst), sent.load(SeqCst)), (50, KEEPERS + 1));
}
