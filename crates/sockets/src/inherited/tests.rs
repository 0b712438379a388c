use std::fs;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::{Accepted, Budget, Config, Listening};

fn named(name: &str, fd: impl Into<OwnedFd>) -> (String, OwnedFd) {
    (name.to_owned(), fd.into())
}

#[test]
fn a_socket_is_taken_by_who_would_have_bound_it() {
    let folder = std::env::temp_dir().join(format!("cistern-inherited-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("socket");
    let (tcp, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("[::1]:0").unwrap());
    let (addr, other_addr) = (tcp.local_addr().unwrap(), other.local_addr().unwrap());
    let unix = UnixListener::bind(&path).unwrap();
    let sockets = [named("nfs", tcp), named("odd", other), named("management", unix)];
    let inherited = Inherited::of(sockets.into_iter()).unwrap();
    assert_eq!(inherited.rest().len(), 3);
    assert_eq!(inherited.tcp(addr).unwrap().local_addr().unwrap(), addr);
    let fresh = inherited.tcp("127.0.0.1:0".parse().unwrap()).unwrap();
    assert_ne!(fresh.local_addr().unwrap(), addr);
    assert!(inherited.unix(&folder.join("elsewhere")).is_none());
    assert!(inherited.unix(&folder.join("../").join(folder.file_name().unwrap()).join("socket")).is_some());
    assert!(inherited.unix(&path).is_none(), "it was taken");
    assert_eq!(inherited.rest(), [format!("'odd' ({other_addr})")]);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_does_not_listen_is_refused_by_name() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let file = fs::File::open("/dev/null").unwrap();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    for fd in [OwnedFd::from(stream), OwnedFd::from(file), OwnedFd::from(datagrams)] {
        let error = Inherited::of([named("wrong", fd)].into_iter()).unwrap_err();
        assert!(error.to_string().starts_with("socket 'wrong': "), "{error}");
    }
}

#[test]
fn who_connects_between_two_servers_is_served_by_the_second() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = holder.local_addr().unwrap();
    let start = |answer: u8| {
        let inherited = Inherited::of([named("own", holder.try_clone().unwrap())].into_iter()).unwrap();
        let (drain, budget) = (Duration::from_millis(50), Arc::new(Budget::default()));
        let config =
            Config { name: "echo", connections: 9, from_one_place: 9, ends_idle: true, budget, drain };
        let serve = move |accepted: &Accepted<TcpStream>| {
            drop((&*accepted.stream).write_all(&[answer]));
        };
        Listening::start(config, vec![inherited.tcp(addr).unwrap()], serve).unwrap()
    };
    let ask = |mut stream: TcpStream| {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).map(|()| answer[0])
    };
    let connect = || TcpStream::connect(addr).unwrap();
    let first = start(1);
    assert_eq!(ask(connect()).unwrap(), 1);
    first.stop();
    let waiting = connect();
    let second = start(2);
    assert_eq!(ask(waiting).unwrap(), 2);
    assert_eq!(ask(connect()).unwrap(), 2);
    drop(second);
    drop(connect());
}
