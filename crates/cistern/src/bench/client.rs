//! The few NFSv3 calls that the loads make (RFC 1813).

use std::net::SocketAddr;

use sunrpc::client::Client;
use sunrpc::msg::{AuthSys, Credential, Reply, parse_reply};
use sunrpc::xdr::{Decoder, Encoder};

use super::load::Fail;

const NFS: u32 = 100_003;
const MOUNT: u32 = 100_005;
const MNT: u32 = 1;
const READ: u32 = 6;
const WRITE: u32 = 7;
const CREATE: u32 = 8;
const MKDIR: u32 = 9;
/// stable_how FILE_SYNC
const FILE_SYNC: u32 = 2;

/// A file system to work on, as a client sees it.
pub struct Share {
    pub server: SocketAddr,
    pub path: String,
}

/// A connection to a share, with the handle of its root.
pub struct Mounted {
    client: Client,
    pub root: Vec<u8>,
}

impl Share {
    pub fn mount(&self) -> Result<Mounted, Fail> {
        let credential = Credential::Sys(AuthSys::new(0, 0, &[]));
        let mut client = Client::connect(self.server, MOUNT, 3, credential)?;
        let mut args = Encoder::new();
        args.opaque(self.path.as_bytes());
        let results = client.call(MNT, args.bytes())?;
        let mut d = Decoder::new(&results);
        ok(&mut d)?;
        let root = d.opaque(64)?.to_vec();
        client.set_program(NFS, 3);
        Ok(Mounted { client, root })
    }
}

fn ok(d: &mut Decoder<'_>) -> Result<(), Fail> {
    match d.u32()? {
        0 => Ok(()),
        status => Err(format!("the server answered with status {status}").into()),
    }
}

fn handle(d: &mut Decoder<'_>) -> Result<Vec<u8>, Fail> {
    if !d.bool()? {
        return Err("the server gave no handle".into());
    }
    Ok(d.opaque(64)?.to_vec())
}

fn place(dir: &[u8], name: &str) -> Encoder {
    let mut args = Encoder::with_capacity(160);
    args.opaque(dir);
    args.opaque(name.as_bytes());
    args
}

/// sattr3 with a mode and nothing else.
fn put_mode(args: &mut Encoder, mode: u32) {
    args.bool(true);
    args.u32(mode);
    for _uid_gid_size_atime_mtime in 0..5 {
        args.u32(0);
    }
}

impl Mounted {
    pub fn mkdir(&mut self, dir: &[u8], name: &str) -> Result<Vec<u8>, Fail> {
        let mut args = place(dir, name);
        put_mode(&mut args, 0o755);
        let results = self.client.call(MKDIR, args.bytes())?;
        let mut d = Decoder::new(&results);
        ok(&mut d)?;
        handle(&mut d)
    }

    pub fn create(&mut self, dir: &[u8], name: &str) -> Result<Vec<u8>, Fail> {
        self.send_create(dir, name)?;
        self.receive(|_, mut d| handle(&mut d))
    }

    /// Sends an unchecked CREATE; gives the call's id.
    pub fn send_create(&mut self, dir: &[u8], name: &str) -> Result<u32, Fail> {
        let mut args = place(dir, name);
        args.u32(0);
        put_mode(&mut args, 0o644);
        Ok(self.client.send(CREATE, args.bytes(), &[])?)
    }

    /// Sends a READ; gives the call's id.
    pub fn send_read(&mut self, file: &[u8], offset: u64, count: u32) -> Result<u32, Fail> {
        let mut args = Encoder::with_capacity(96);
        args.opaque(file);
        args.u64(offset);
        args.u32(count);
        Ok(self.client.send(READ, args.bytes(), &[])?)
    }

    /// Sends a WRITE that is to be stable when it is answered; gives the call's id.
    pub fn send_write(&mut self, file: &[u8], offset: u64, data: &[u8]) -> Result<u32, Fail> {
        let len = u32::try_from(data.len())?;
        let mut args = Encoder::with_capacity(128);
        args.opaque(file);
        args.u64(offset);
        args.u32(len);
        args.u32(FILE_SYNC);
        args.u32(len);
        Ok(self.client.send(WRITE, args.bytes(), data)?)
    }

    /// The next answer, whatever it answers: the call's id and the results behind its status, which must be OK.
    pub fn receive<T>(&mut self, take: impl FnOnce(u32, Decoder<'_>) -> Result<T, Fail>) -> Result<T, Fail> {
        let record = self.client.receive()?;
        let (xid, reply) = parse_reply(&record)?;
        let Reply::Success(results) = reply else { return Err(format!("{reply:?}").into()) };
        let mut d = Decoder::new(results);
        ok(&mut d)?;
        take(xid, d)
    }
}

/// The handle in the results of a CREATE.
pub fn created(d: &mut Decoder<'_>) -> Result<Vec<u8>, Fail> {
    handle(d)
}
