//! Over loopback: who is let in, and how all of it ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::{Config, Listening};

const CONFIG: Config = Config { name: "echo", connections: 2, drain: Duration::from_millis(50) };

/// Answers each byte with itself and the listener's place, until `stuck` bytes came: then it writes to nobody.
fn echo(place: usize, stream: &Arc<TcpStream>, stuck: usize) {
    let (mut from, mut byte) = (&**stream, [0]);
    for _ in 0..stuck {
        if from.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        from.write_all(&[byte[0], place as u8]).unwrap();
    }
    while from.write_all(&[0; 4096]).is_ok() {}
}

fn rig(stuck: usize) -> (Listening<TcpStream>, [std::net::SocketAddr; 2]) {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let addrs = [0, 1].map(|place: usize| listeners[place].local_addr().unwrap());
    let serve = move |place: usize, stream: &Arc<TcpStream>| echo(place, stream, stuck);
    (Listening::start(CONFIG, listeners.into(), serve).unwrap(), addrs)
}

fn ask(mut stream: &TcpStream, byte: u8) -> Option<[u8; 2]> {
    let mut answer = [0; 2];
    stream.write_all(&[byte]).ok()?;
    stream.read_exact(&mut answer).ok().map(|()| answer)
}

#[test]
fn connections_are_served_by_the_place_they_came_to_and_no_more_than_allowed() {
    let (listening, addrs) = rig(100);
    let peers = addrs.map(|addr| TcpStream::connect(addr).unwrap());
    assert_eq!((ask(&peers[0], 7), ask(&peers[1], 8)), (Some([7, 0]), Some([8, 1])));
    assert_eq!(ask(&TcpStream::connect(addrs[0]).unwrap(), 9), None);
    listening.stop();
    assert_eq!((ask(&peers[0], 7), ask(&peers[1], 8)), (None, None));
    assert!(TcpStream::connect(addrs[0]).is_err());
    listening.stop();
}

#[test]
fn who_does_not_end_is_cut() {
    let (listening, addrs) = rig(1);
    let peer = TcpStream::connect(addrs[0]).unwrap();
    assert_eq!(ask(&peer, 7), Some([7, 0]));
    listening.stop();
}
