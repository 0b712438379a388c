//! The few NFSv3 calls that the loads make (RFC 1813).

use std::net::SocketAddr;
use std::time::Duration;

use sunrpc::client::Client;
use sunrpc::msg::{AuthSys, Credential, Reply, parse_reply};
use sunrpc::xdr::{Decoder, Encoder};

use crate::Fail;

const NFS: u32 = 100_003;
const MOUNT: u32 = 100_005;
const MNT: u32 = 1;
const LOOKUP: u32 = 3;
const READ: u32 = 6;
const WRITE: u32 = 7;
const CREATE: u32 = 8;
const MKDIR: u32 = 9;
const REMOVE: u32 = 12;
const COMMIT: u32 = 21;
const NFS3ERR_NOENT: u32 = 2;
const NFS3ERR_EXIST: u32 = 17;
/// How long a server may think: longer than the slowest disk, but a run must end.
const PATIENCE: Duration = Duration::from_secs(60);

/// stable_how
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stable {
    Unstable = 0,
    FileSync = 2,
}

/// A file system to work on, as a client sees it.
#[derive(Debug, Clone)]
pub struct Share {
    pub nfs: SocketAddr,
    /// Where MOUNT is answered.
    pub mount: SocketAddr,
    pub path: String,
}

impl Share {
    /// Of a server that answers MOUNT where it answers NFS.
    pub fn new(server: SocketAddr, path: &str) -> Share {
        Share { nfs: server, mount: server, path: path.to_owned() }
    }

    pub(crate) fn connect(&self) -> Result<Mounted, Fail> {
        let credential = || Credential::Sys(AuthSys::new(0, 0, &[]));
        let mut args = Encoder::new();
        args.opaque(self.path.as_bytes());
        let results = Client::connect(self.mount, MOUNT, 3, credential())?.call(MNT, args.bytes())?;
        let mut d = Decoder::new(&results);
        ok(d.u32()?)?;
        let root = d.opaque(64)?.to_vec();
        let client = Client::connect(self.nfs, NFS, 3, credential())?;
        client.set_timeout(Some(PATIENCE))?;
        Ok(Mounted { client, root })
    }

    /// Whether it can be mounted now.
    pub fn answers(&self) -> bool {
        self.connect().is_ok()
    }
}

/// A connection to a share, with the handle of its root.
pub struct Mounted {
    client: Client,
    pub root: Vec<u8>,
}

fn ok(status: u32) -> Result<(), Fail> {
    match status {
        0 => Ok(()),
        status => Err(format!("the server answered with status {status}").into()),
    }
}

/// The handle in the results of a CREATE or MKDIR.
pub fn made(d: &mut Decoder<'_>) -> Result<Vec<u8>, Fail> {
    if !d.bool()? {
        return Err("the server gave no handle".into());
    }
    Ok(d.opaque(64)?.to_vec())
}

/// The count in the results of a READ.
pub fn bytes_read(d: &mut Decoder<'_>) -> Result<u32, Fail> {
    d.option(sunrpc::xdr::Decoder::fixed::<84>)?;
    Ok(d.u32()?)
}

/// The count in the results of a WRITE.
pub fn bytes_written(d: &mut Decoder<'_>) -> Result<u32, Fail> {
    d.option(sunrpc::xdr::Decoder::fixed::<24>)?;
    bytes_read(d)
}

fn handle_args(handle: &[u8]) -> Encoder {
    let mut args = Encoder::with_capacity(160);
    args.opaque(handle);
    args
}

fn place_args(dir: &[u8], name: &str) -> Encoder {
    let mut args = handle_args(dir);
    args.opaque(name.as_bytes());
    args
}

fn range_args(file: &[u8], offset: u64, count: u32) -> Encoder {
    let mut args = handle_args(file);
    args.u64(offset);
    args.u32(count);
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

/// Calls that are waited for.
impl Mounted {
    /// The results behind the status, which is OK or one of those expected.
    fn call(&mut self, procedure: u32, args: &Encoder, expected: &[u32]) -> Result<Option<Vec<u8>>, Fail> {
        let results = self.client.call(procedure, args.bytes())?;
        let mut d = Decoder::new(&results);
        let status = d.u32()?;
        if expected.contains(&status) {
            return Ok(None);
        }
        ok(status)?;
        Ok(Some(d.rest().to_vec()))
    }

    /// A folder in the root, there already or not.
    pub fn folder(&mut self, name: &str) -> Result<Vec<u8>, Fail> {
        let mut args = place_args(&self.root, name);
        put_mode(&mut args, 0o755);
        match self.call(MKDIR, &args, &[NFS3ERR_EXIST])? {
            Some(results) => made(&mut Decoder::new(&results)),
            None => self.lookup(name)?.ok_or_else(|| format!("{name} is there and not there").into()),
        }
    }

    pub fn lookup(&mut self, name: &str) -> Result<Option<Vec<u8>>, Fail> {
        let found = self.call(LOOKUP, &place_args(&self.root, name), &[NFS3ERR_NOENT])?;
        found.map(|results| Ok(Decoder::new(&results).opaque(64)?.to_vec())).transpose()
    }

    pub fn remove(&mut self, name: &str) -> Result<(), Fail> {
        self.call(REMOVE, &place_args(&self.root, name), &[NFS3ERR_NOENT])?;
        Ok(())
    }

    /// A file in the root, there already or not.
    pub fn create(&mut self, name: &str) -> Result<Vec<u8>, Fail> {
        let root = self.root.clone();
        self.send_create(&root, name)?;
        self.receive(|_, mut d| made(&mut d))
    }

    /// Makes all of a file durable.
    pub fn commit(&mut self, file: &[u8]) -> Result<(), Fail> {
        self.call(COMMIT, &range_args(file, 0, 0), &[])?;
        Ok(())
    }
}

/// Calls that are only sent; each gives its id.
impl Mounted {
    /// An unchecked CREATE.
    pub fn send_create(&mut self, dir: &[u8], name: &str) -> Result<u32, Fail> {
        let mut args = place_args(dir, name);
        args.u32(0);
        put_mode(&mut args, 0o644);
        Ok(self.client.send(CREATE, args.bytes(), &[])?)
    }

    pub fn send_lookup(&mut self, dir: &[u8], name: &str) -> Result<u32, Fail> {
        Ok(self.client.send(LOOKUP, place_args(dir, name).bytes(), &[])?)
    }

    pub fn send_remove(&mut self, dir: &[u8], name: &str) -> Result<u32, Fail> {
        Ok(self.client.send(REMOVE, place_args(dir, name).bytes(), &[])?)
    }

    pub fn send_read(&mut self, file: &[u8], offset: u64, count: u32) -> Result<u32, Fail> {
        Ok(self.client.send(READ, range_args(file, offset, count).bytes(), &[])?)
    }

    pub fn send_write(&mut self, file: &[u8], offset: u64, data: &[u8], how: Stable) -> Result<u32, Fail> {
        let len = u32::try_from(data.len())?;
        let mut args = range_args(file, offset, len);
        args.u32(how as u32);
        args.u32(len);
        Ok(self.client.send(WRITE, args.bytes(), data)?)
    }

    /// The next answer, whatever it answers: the call's id and the results behind its status, which
    /// must be OK.
    pub fn receive<T>(&mut self, take: impl FnOnce(u32, Decoder<'_>) -> Result<T, Fail>) -> Result<T, Fail> {
        let record = self.client.receive()?;
        let (xid, reply) = parse_reply(&record)?;
        let Reply::Success(results) = reply else { return Err(format!("{reply:?}").into()) };
        let mut d = Decoder::new(results);
        ok(d.u32()?)?;
        take(xid, d)
    }
}
