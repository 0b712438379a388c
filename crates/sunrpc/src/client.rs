//! A small blocking caller over TCP: for tools, tests and benchmarks.
//!
//! [`Client::call`] asks and waits; [`Client::send`] and [`Client::receive`] keep many calls in
//! flight.

use std::io::{self, IoSlice, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, SystemTime};

use crate::msg::{Accepted, Call, Credential, Denial, Reply, parse_reply, put_call};
use crate::record::{self, Pool, Record, RecordError};
use crate::xdr::{Encoder, Malformed, padding};

/// Longest reply a client takes, in bytes.
const MAX_REPLY: usize = (1 << 20) + 8192;
const POOLED: usize = 4;

/// Why a call brought no results.
#[derive(Debug)]
pub enum CallError {
    Io(io::Error),
    Record(RecordError),
    Malformed(Malformed),
    /// The server closed the connection.
    Closed,
    Failed(Accepted),
    Denied(Denial),
    /// An answer to something that was not asked.
    WrongXid,
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallError::Io(error) => error.fmt(f),
            CallError::Record(error) => error.fmt(f),
            CallError::Malformed(error) => error.fmt(f),
            CallError::Closed => f.write_str("the server closed the connection"),
            CallError::Failed(how) => write!(f, "the call was not executed: {how:?}"),
            CallError::Denied(why) => write!(f, "the call was denied: {why:?}"),
            CallError::WrongXid => f.write_str("the reply belongs to no call"),
        }
    }
}

impl std::error::Error for CallError {}

impl From<io::Error> for CallError {
    fn from(error: io::Error) -> CallError {
        CallError::Io(error)
    }
}

impl From<Malformed> for CallError {
    fn from(error: Malformed) -> CallError {
        CallError::Malformed(error)
    }
}

/// A connection to one server and, by habit, one program.
pub struct Client {
    stream: TcpStream,
    reader: record::Reader,
    pub(crate) program: u32,
    pub(crate) version: u32,
    pub(crate) credential: Credential,
    /// Of the next call.
    pub(crate) xid: u32,
}

impl Client {
    pub fn connect(
        addr: impl ToSocketAddrs,
        program: u32,
        version: u32,
        credential: Credential,
    ) -> io::Result<Client> {
        let stream = TcpStream::connect(addr)?;
        stream.set_nodelay(true)?;
        let pool = Pool::new(MAX_REPLY, POOLED);
        let reader = record::Reader::awaiting(pool);
        Ok(Client { stream, reader, program, version, credential, xid: first_xid() })
    }

    /// How long to wait for each piece of a reply, its beginning included.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(timeout)
    }

    /// Sends a call: `args`, then `data` with padding, whose length `args` has said already. Gives
    /// its id.
    pub fn send(&mut self, procedure: u32, args: &[u8], data: &[u8]) -> io::Result<u32> {
        let xid = self.xid;
        self.xid = self.xid.wrapping_add(1);
        let mut head = Encoder::with_capacity(args.len() + 160);
        head.u32(0);
        let (program, version, credential) = (self.program, self.version, self.credential);
        put_call(&mut head, &Call { xid, program, version, procedure, credential, args });
        let pad = [0; 3];
        let pad = pad.split_at(padding(data.len())).0;
        let len = head.len() - 4 + data.len() + pad.len();
        head.patch(0, u32::from_be_bytes(record::mark(len)));
        let mut parts = [IoSlice::new(head.bytes()), IoSlice::new(data), IoSlice::new(pad)];
        write_all(&mut self.stream, &mut parts)?;
        Ok(xid)
    }

    /// The next reply, whichever call it answers.
    pub fn receive(&mut self) -> Result<Record, CallError> {
        self.reader.next(&mut self.stream).map_err(CallError::Record)?.ok_or(CallError::Closed)
    }

    /// Calls and waits for the results.
    pub fn call(&mut self, procedure: u32, args: &[u8]) -> Result<Vec<u8>, CallError> {
        let sent = self.send(procedure, args, &[])?;
        let record = self.receive()?;
        let (xid, reply) = parse_reply(&record)?;
        if xid != sent {
            return Err(CallError::WrongXid);
        }
        match reply {
            Reply::Success(results) => Ok(results.to_vec()),
            Reply::Failed(how) => Err(CallError::Failed(how)),
            Reply::Denied(why) => Err(CallError::Denied(why)),
        }
    }
}

/// Writes all parts, as few calls as the stream allows.
pub fn write_all(to: &mut impl Write, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Leading empty parts would look like a stream that takes nothing more.
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        match to.write_vectored(parts) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(len) => IoSlice::advance_slices(&mut parts, len),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Servers remember ids for a while: a client that starts anew must not begin with those of the one
/// before.
fn first_xid() -> u32 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u32).wrapping_mul(0x9e37_79b1) ^ std::process::id()
}
