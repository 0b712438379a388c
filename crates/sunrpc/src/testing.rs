//! For tests: a portmapper that knows one port, for clients that cannot be told one and ask port
//! 111 (qemu, showmount); a network of a test's own, where that port is free whatever runs on the
//! machine; and a client that turns into another.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;

use crate::client::Client;
use crate::msg::{Accepted, Credential, parse_call, put_accepted};
use crate::record::{Pool, Reader, mark};
use crate::xdr::Encoder;

impl Client {
    /// Calls other than the one used so far go to this program.
    pub fn set_program(&mut self, program: u32, version: u32) {
        (self.program, self.version) = (program, version);
    }

    pub fn set_credential(&mut self, credential: Credential) {
        self.credential = credential;
    }

    /// The transaction id of the next call; a repeated one is a retransmission.
    pub fn set_next_xid(&mut self, xid: u32) {
        self.xid = xid;
    }
}

/// Gives the calling thread, and all threads and processes that it starts from now on, a network
/// namespace in which there is only loopback, up, and nobody listens. Sockets that it has stay
/// where they are.
///
/// # Errors
/// The operating system's: namespaces are root's.
pub fn own_network() -> io::Result<()> {
    // SAFETY: takes a plain number; what it changes is the thread's own.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let socket = UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: a plain structure of C, of which all bits may be 0.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request is an `ifreq` with flags, as this number wants it, and outlives the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Answers GETPORT of version 2 (RFC 1833) on port 111 of `host`, over TCP and UDP, with `port` for
/// every program, until the process ends.
///
/// # Errors
/// The operating system's: port 111 is root's.
pub fn serve_portmapper(host: &str, port: u16) -> io::Result<()> {
    let listener = TcpListener::bind((host, 111))?;
    let datagrams = UdpSocket::bind((host, 111))?;
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer_stream(&stream, port)));
    std::thread::spawn(move || answer_datagrams(&datagrams, port));
    Ok(())
}

fn answer(record: &[u8], port: u16) -> Option<Encoder> {
    let call = parse_call(record).ok()?;
    let mut out = Encoder::new();
    if call.version == 2 {
        put_accepted(&mut out, call.xid, Accepted::Success);
        if call.procedure != 0 {
            out.u32(port.into());
        }
    } else {
        put_accepted(&mut out, call.xid, Accepted::ProgMismatch(2, 2));
    }
    Some(out)
}

/// Until the caller has enough.
fn answer_stream(mut stream: &TcpStream, port: u16) {
    let mut reader = Reader::new(Pool::new(4096, 1));
    while let Ok(Some(record)) = reader.next(&mut stream) {
        let Some(answer) = answer(&record, port) else { return };
        let bytes = [&mark(answer.len())[..], answer.bytes()].concat();
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
}

fn answer_datagrams(socket: &UdpSocket, port: u16) {
    let mut bytes = [0; 1024];
    while let Ok((len, from)) = socket.recv_from(&mut bytes) {
        if let Some(answer) = bytes.get(..len).and_then(|call| answer(call, port)) {
            drop(socket.send_to(answer.bytes(), from));
        }
    }
}
