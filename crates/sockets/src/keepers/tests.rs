use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::*;

type Keep = Box<dyn FnOnce() + Send>;

fn keep_all(batch: Vec<Keep>) {
    batch.into_iter().for_each(|keep| keep());
}

/// Promises that are not kept yet, and keepers.
fn counts(promises: &Promises<Keep>) -> (usize, usize) {
    let state = lock(&promises.state);
    (state.open, state.keepers)
}

/// A promise for which a keeper waits until it is released, and the keeper, who panics if the
/// sender is dropped.
fn held<'scope>(
    scope: &'scope Scope<'scope, '_>,
    promises: &'scope Promises<Keep>,
    send: impl Fn() + Send + 'scope,
) -> (Sender<()>, ScopedJoinHandle<'scope, ()>) {
    let ((begun, has_begun), (release, released)) = (channel(), channel::<()>());
    promises.put(Box::new(move || {
        begun.send(()).expect("heard");
        released.recv().expect("released");
    }));
    assert!(promises.want_keeper() && !promises.want_keeper(), "it is called once");
    let keeper = scope.spawn(move || promises.keep(keep_all, send));
    has_begun.recv().expect("it waits");
    (release, keeper)
}

#[test]
fn while_keepers_wait_more_is_put_aside_and_one_takes_all_of_it() {
    let (promises, sent) = (Promises::<Keep>::default(), AtomicUsize::new(0));
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
        let releases: Vec<_> = (0..KEEPERS).map(|_| held(scope, &promises, send).0).collect();
        assert_eq!(promises.unattended(), None);
        (0..50).for_each(|_| promises.put(quick()));
        assert!(!promises.want_keeper(), "there are enough");
        assert_eq!(promises.unattended(), Some(KEEPERS + 50));
        promises.keep(keep_all, send);
        assert_eq!((kept.load(SeqCst), sent.load(SeqCst)), (0, 0));
        releases.iter().for_each(|release| release.send(()).expect("it waits"));
    });
    assert_eq!((kept.load(SeqCst), sent.load(SeqCst)), (50, KEEPERS + 1));
}

#[test]
fn who_has_too_many_open_waits_until_some_are_kept() {
    let promises = Promises::<Keep>::default();
    thread::scope(|scope| {
        let (first, _) = held(scope, &promises, || {});
        promises.wait_below(1);
        let (second, _) = held(scope, &promises, || {});
        promises.wait_below(3);
        let waits = scope.spawn(|| promises.wait_below(2));
        while lock(&promises.state).waiting == 0 {
            thread::yield_now();
        }
        assert!(!waits.is_finished());
        first.send(()).expect("it waits");
        waits.join().expect("it goes on");
        assert_eq!(lock(&promises.state).open, 1);
        second.send(()).expect("it waits");
    });
    assert_eq!(counts(&promises), (0, 0));
}

/// Nobody waits for ever for a keeper that is gone.
#[test]
fn a_keeper_that_panics_is_counted_no_more() {
    let promises = Promises::<Keep>::default();
    thread::scope(|scope| {
        let others: Vec<_> = (1..KEEPERS).map(|_| held(scope, &promises, || {}).0).collect();
        let (lost, keeper) = held(scope, &promises, || {});
        let waits = scope.spawn(|| promises.wait_below(1));
        while lock(&promises.state).waiting == 0 {
            thread::yield_now();
        }
        assert!(!waits.is_finished());
        drop(lost);
        assert!(keeper.join().is_err());
        waits.join().expect("it goes on");
        assert_eq!(counts(&promises), (KEEPERS - 1, KEEPERS - 1));
        others.iter().for_each(|other| other.send(()).expect("it waits"));
    });
    assert_eq!(counts(&promises), (0, 0));
}
