use std::io::Write;
use std::net::{Shutdown, TcpListener};

use super::*;
use crate::Budget;

fn peer() -> Arc<Peer> {
    Arc::new(Budget::default()).peer(None, || {})
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    (near, listener.accept().expect("accepted").0)
}

fn reading(from: &mut Attentive<'_>) -> Vec<u8> {
    let mut into = [0; 16];
    let len = from.read(&mut into).expect("read");
    into[..len].to_vec()
}

#[test]
fn looking_or_asleep_it_reads_what_comes_and_sees_the_end() {
    let ((near, mut far), peer) = (pair(), peer());
    let mut from = Attentive::new(&near, &peer, Lookout::default());
    for is_worth_it in [false, true] {
        from.is_worth_it = is_worth_it;
        far.write_all(b"call").expect("sent");
        assert_eq!(reading(&mut from), b"call");
    }
    far.shutdown(Shutdown::Write).expect("shut");
    from.is_worth_it = true;
    assert!(reading(&mut from).is_empty());
}

#[test]
fn who_looked_in_vain_sleeps_and_leaves_the_lookout_to_others() {
    let ((near, _far), peer) = (pair(), peer());
    near.set_read_timeout(Some(Duration::from_millis(5))).expect("set");
    let lookout = Lookout::default();
    let mut from = Attentive { is_worth_it: true, ..Attentive::new(&near, &peer, lookout.clone()) };
    assert!(from.read(&mut [0; 4]).is_err(), "nothing comes");
    assert!(!from.is_worth_it && !lookout.load(Ordering::Relaxed));
}

#[test]
fn while_another_looks_it_sleeps() {
    let ((near, mut far), peer) = (pair(), peer());
    let lookout = Lookout::default();
    lookout.store(true, Ordering::Relaxed);
    let mut from = Attentive { is_worth_it: true, ..Attentive::new(&near, &peer, lookout.clone()) };
    far.write_all(b"call").expect("sent");
    assert_eq!(reading(&mut from), b"call");
    assert!(lookout.load(Ordering::Relaxed), "it is the other's");
}

#[test]
fn it_knows_of_what_has_arrived_and_leaves_it_there() {
    let ((near, mut far), peer) = (pair(), peer());
    let mut from = Attentive::new(&near, &peer, Lookout::default());
    assert!(!from.have_arrived());
    far.write_all(b"call").expect("sent");
    while !from.have_arrived() {
        thread::yield_now();
    }
    assert_eq!(reading(&mut from), b"call");
    assert!(!from.have_arrived());
    far.shutdown(Shutdown::Write).expect("shut");
    assert!(reading(&mut from).is_empty() && !from.have_arrived(), "an end is no request");
}
