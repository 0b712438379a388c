//! Over loopback: who is let in, and how all of it ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};

use crate::{Accepted, Budget, Config, Listening};

fn config(connections: usize) -> Config {
    let (drain, budget) = (Duration::from_millis(50), Arc::new(Budget::default()));
    Config { name: "echo", connections, from_one_place: connections, ends_idle: true, budget, drain }
}

/// Answers each byte with itself and the listener's place, until `stuck` bytes came: then it writes
/// to nobody.
fn echo(accepted: &Accepted<TcpStream>, stuck: usize) {
    let (mut from, mut byte) = (&*accepted.stream, [0]);
    for _ in 0..stuck {
        if from.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        accepted.peer.note_heard();
        accepted.peer.prove();
        from.write_all(&[byte[0], accepted.place as u8]).unwrap();
    }
    while from.write_all(&[0; 4096]).is_ok() {}
}

fn rig(config: Config, stuck: usize) -> (Listening<TcpStream>, [std::net::SocketAddr; 2]) {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let addrs = [0, 1].map(|place: usize| listeners[place].local_addr().unwrap());
    let serve = move |accepted: &Accepted<TcpStream>| echo(accepted, stuck);
    (Listening::start(config, listeners.into(), serve).unwrap(), addrs)
}

/// Its connection is over, and nobody waits for its thread.
#[test]
fn a_connection_whose_server_panics_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let serve = |_: &Accepted<TcpStream>| panic!("as this test wants it");
    let listening = Listening::start(config(2), vec![listener], serve).unwrap();
    assert!(is_over(&TcpStream::connect(addr).unwrap()));
    listening.stop();
}

fn ask(mut stream: &TcpStream, byte: u8) -> Option<[u8; 2]> {
    let mut answer = [0; 2];
    stream.write_all(&[byte]).ok()?;
    stream.read_exact(&mut answer).ok().map(|()| answer)
}

/// Whether a connection is over.
fn is_over(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    !matches!(stream.read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn connections_are_served_by_the_place_they_came_to_until_all_is_stopped() {
    let (listening, addrs) = rig(config(2), 100);
    let peers = addrs.map(|addr| TcpStream::connect(addr).unwrap());
    assert_eq!((ask(&peers[0], 7), ask(&peers[1], 8)), (Some([7, 0]), Some([8, 1])));
    listening.stop();
    assert_eq!((ask(&peers[0], 7), ask(&peers[1], 8)), (None, None));
    assert!(TcpStream::connect(addrs[0]).is_err());
    listening.stop();
}

/// The echo is the port that a connection comes from.
#[test]
fn a_connection_comes_with_its_address_its_reader_and_its_box() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let serve = |accepted: &Accepted<TcpStream>| {
        let (mut requests, replies) = (accepted.requests(), accepted.outbox().unwrap());
        while requests.read(&mut [0]).is_ok_and(|len| len > 0) {
            replies.push(None, |pieces| pieces.write(|own| own.extend(accepted.addr.port().to_be_bytes())));
            replies.write_all();
        }
    };
    let _listening = Listening::start(config(2), vec![listener], serve).unwrap();
    for _ in 0..2 {
        let peer = TcpStream::connect(addr).unwrap();
        assert_eq!(ask(&peer, 7), Some(peer.local_addr().unwrap().port().to_be_bytes()));
    }
}

#[test]
fn for_one_too_many_the_one_goes_that_was_silent_for_longest_and_strangers_first() {
    let (_listening, [addr, _]) = rig(config(8), 100);
    let connect = || TcpStream::connect(addr).unwrap();
    let [first, second] = [connect(), connect()];
    assert!(ask(&first, 1).is_some() && ask(&second, 2).is_some());
    let silent: Vec<TcpStream> = (0..6).map(|_| connect()).collect();
    // As many as before, and none of those that said something.
    let more: Vec<TcpStream> = (0..6).map(|_| connect()).collect();
    assert!(silent.iter().all(is_over));
    assert!(more.iter().all(|peer| ask(peer, 3).is_some()));
    std::thread::sleep(Duration::from_millis(20));
    assert!(ask(&second, 2).is_some());
    let last = connect();
    assert!(ask(&last, 4).is_some() && ask(&second, 2).is_some());
    assert!(is_over(&first), "it was silent for longest");
}

#[test]
fn one_place_has_not_all_of_them() {
    let (_listening, [addr, _]) = rig(Config { from_one_place: 2, ..config(8) }, 100);
    // All of 127.0.0.0/8 is this machine.
    let from = |last: u8| {
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
        bind(socket.as_raw_fd(), &SockaddrIn::new(127, 0, 9, last, 0)).unwrap();
        let std::net::SocketAddr::V4(addr) = addr else { unreachable!("it listens on 127.0.0.1") };
        connect(socket.as_raw_fd(), &SockaddrIn::from(addr)).unwrap();
        TcpStream::from(socket)
    };
    let others: Vec<TcpStream> = (1..=4).map(from).collect();
    let greedy: Vec<TcpStream> = (0..6).map(|_| from(9)).collect();
    assert!(others.iter().all(|peer| ask(peer, 1).is_some()));
    assert_eq!(greedy.iter().filter(|peer| !is_over(peer)).count(), 2);
}

/// Those for whom there is work are not ended for others.
#[test]
fn who_is_owed_an_answer_keeps_the_place() {
    let config = config(2);
    let budget = config.budget.clone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let serve = |accepted: &Accepted<TcpStream>| {
        let _work = accepted.peer.charge(1);
        drop((&*accepted.stream).read(&mut [0]));
    };
    let _listening = Listening::start(config, vec![listener], serve).unwrap();
    let busy = [(); 2].map(|()| TcpStream::connect(addr).unwrap());
    while budget.held().load(std::sync::atomic::Ordering::SeqCst) < 2 {
        std::thread::yield_now();
    }
    assert!(is_over(&TcpStream::connect(addr).unwrap()));
    assert!(busy.iter().all(|peer| !is_over(peer)));
}

#[test]
fn the_fuller_it_is_the_shorter_may_one_be_silent() {
    let (listening, _) = rig(config(100), 1);
    let patience = |open| listening.shared.patience(open);
    assert_eq!(patience(49), (Duration::from_secs(60), Duration::MAX));
    assert!([0, 49, 50, 75, 90, 100].map(patience).is_sorted_by(|one, other| one >= other));
    assert_eq!(patience(100), (Duration::from_secs(2), Duration::from_secs(15)));
}

#[test]
fn who_does_not_end_is_cut() {
    let (listening, addrs) = rig(config(2), 1);
    let peer = TcpStream::connect(addrs[0]).unwrap();
    assert_eq!(ask(&peer, 7), Some([7, 0]));
    listening.stop();
}
