//! Telling rpcbind which port a program listens on (portmapper version 2, RFC 1833 §3).
//!
//! Registration is a courtesy to clients that ask port 111 first: where no rpcbind runs it fails
//! quickly and the server works on. rpcbind believes only callers on the loopback interface with a
//! reserved port, so an ordinary user's server stays unregistered.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use crate::msg::{Call, Credential, Reply, parse_reply, put_call};
use crate::xdr::{Decoder, Encoder};

const PROGRAM: u32 = 100_000;
const VERSION: u32 = 2;
const SET: u32 = 1;
const UNSET: u32 = 2;
/// Transport of a registration, by its IP protocol number.
const TCP: u32 = 6;
const TIMEOUT: Duration = Duration::from_millis(500);
const ATTEMPTS: u32 = 2;
/// Reserved ports that no well-known service has.
const RESERVED: std::ops::Range<u16> = 665..1000;

/// Where rpcbind is.
pub const RPCBIND: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 111);

/// Registers a port of TCP; false where rpcbind refuses, an error where nobody answers.
pub fn set(to: SocketAddr, program: u32, version: u32, port: u16) -> io::Result<bool> {
    Ok(ask(to, SET, [program, version, TCP, u32::from(port)])? != 0)
}

/// Takes back every registration of the program and version.
pub fn unset(to: SocketAddr, program: u32, version: u32) -> io::Result<bool> {
    Ok(ask(to, UNSET, [program, version, 0, 0])? != 0)
}

fn ask(to: SocketAddr, procedure: u32, mapping: [u32; 4]) -> io::Result<u32> {
    let socket = local_socket()?;
    socket.connect(to)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    let mut args = Encoder::with_capacity(16);
    args.words(mapping);
    let xid = std::process::id() ^ (procedure << 24);
    let call = Call {
        xid,
        program: PROGRAM,
        version: VERSION,
        procedure,
        credential: Credential::None,
        args: args.bytes(),
    };
    let mut out = Encoder::with_capacity(64);
    put_call(&mut out, &call);
    let mut answer = [0; 256];
    let mut last = io::Error::from(io::ErrorKind::TimedOut);
    for _ in 0..ATTEMPTS {
        socket.send(out.bytes())?;
        match socket.recv(&mut answer) {
            Ok(len) => return value(answer.split_at(len).0, xid),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn value(answer: &[u8], xid: u32) -> io::Result<u32> {
    let bad = |_| io::Error::from(io::ErrorKind::InvalidData);
    match parse_reply(answer).map_err(bad)? {
        (got, Reply::Success(results)) if got == xid => Decoder::new(results).u32().map_err(bad),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// With a reserved port where that is allowed, else with any.
fn local_socket() -> io::Result<UdpSocket> {
    for port in RESERVED {
        match UdpSocket::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(_) => break,
        }
    }
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
}

#[cfg(test)]
mod tests;
