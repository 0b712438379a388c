#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use crate::msg::{Accepted, parse_call, put_accepted};
use std::collections::HashMap;

const GETPORT: u32 = 3;

/// As much of rpcbind as the client talks to; ends with its third answer.
fn serve(socket: UdpSocket) {
    let mut ports = HashMap::new();
    for _ in 0..3 {
        let mut bytes = [0; 256];
        let (len, from) = socket.recv_from(&mut bytes).expect("a call");
        let call = parse_call(&bytes[..len]).expect("a proper call");
        assert_eq!((call.program, call.version), (PROGRAM, VERSION));
        let mut d = Decoder::new(call.args);
        let [program, version, protocol, port] = [0; 4].map(|_| d.u32().expect("four words"));
        let answer = match call.procedure {
            SET => u32::from(ports.insert((program, version), (protocol, port)).is_none()),
            UNSET => u32::from(ports.remove(&(program, version)).is_some()),
            GETPORT => ports.get(&(program, version)).map_or(0, |&(_, port)| port),
            other => panic!("procedure {other}"),
        };
        let mut out = Encoder::new();
        put_accepted(&mut out, call.xid, Accepted::Success);
        out.u32(answer);
        socket.send_to(out.bytes(), from).expect("loopback takes it");
    }
}

#[test]
fn registrations_are_asked_for_and_taken_back() {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let to = socket.local_addr().expect("its address");
    let server = std::thread::spawn(move || serve(socket));
    assert!(set(to, 100_003, 3, 2049).expect("answered"));
    assert_eq!(ask(to, GETPORT, [100_003, 3, TCP, 0]).expect("answered"), 2049);
    assert!(unset(to, 100_003, 3).expect("answered"));
    server.join().expect("the server saw what it expected");
}

#[test]
fn silence_is_an_error_soon() {
    let closed = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|s| s.local_addr()).expect("a port");
    assert!(set(closed, 1, 1, 1).is_err());
}
