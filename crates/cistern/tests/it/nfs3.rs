//! Calls of NFSv3 as they are, for what libnfs does not show or cannot ask for: verifiers, and
//! writes that are stable.
//!
//! Facts: RFC 1813.

use sunrpc::client::{CallError, Client};
use sunrpc::msg::{AuthSys, Credential};
use sunrpc::xdr::{Decoder, Encoder};

use crate::daemon::Daemon;

const LOOKUP: u32 = 3;
pub const READ: u32 = 6;
const WRITE: u32 = 7;
const CREATE: u32 = 8;
const COMMIT: u32 = 21;
/// `stable_how`
const FILE_SYNC: u32 = 2;

pub fn read_args(handle: &[u8], offset: u64, len: u32) -> Vec<u8> {
    let mut args = Encoder::new();
    args.opaque(handle);
    args.u64(offset);
    args.u32(len);
    args.into_bytes()
}

/// A file of a share, opened by a connection of its own.
pub struct File {
    client: Client,
    handle: Vec<u8>,
}

/// The part of a reply after its status, which has to say that all is well.
fn well(reply: &[u8]) -> &[u8] {
    let (status, rest) = reply.split_at(4);
    assert_eq!(status, [0; 4], "the call succeeds");
    rest
}

impl File {
    /// The same file, reached by the connection of another.
    pub fn by_way_of(self, other: File) -> File {
        File { client: other.client, handle: self.handle }
    }

    fn named(daemon: &Daemon, export: &str, name: &str, call: u32, rest: &[u32]) -> File {
        let addr = format!("{}:{}", daemon.host, daemon.port);
        let credential = Credential::Sys(AuthSys::new(0, 0, &[]));
        let mut client = Client::connect(addr, 100_005, 3, credential).expect("connected");
        let mut args = Encoder::new();
        args.opaque(export.as_bytes());
        let mounted = client.call(1, args.bytes()).expect("MNT");
        let root = Decoder::new(well(&mounted)).opaque(64).expect("a handle").to_vec();
        client.set_program(100_003, 3);
        let mut args = Encoder::new();
        args.opaque(&root);
        args.opaque(name.as_bytes());
        rest.iter().for_each(|word| args.u32(*word));
        let reply = client.call(call, args.bytes()).expect("it is answered");
        // CREATE says first that a handle follows.
        let skip = if call == CREATE { 4 } else { 0 };
        let handle = Decoder::new(&well(&reply)[skip..]).opaque(64).expect("a handle").to_vec();
        File { client, handle }
    }

    pub fn open(daemon: &Daemon, export: &str, name: &str) -> File {
        File::named(daemon, export, name, LOOKUP, &[])
    }

    /// A new file; the mode alone is asked for.
    pub fn create(daemon: &Daemon, export: &str, name: &str, mode: u32) -> File {
        File::named(daemon, export, name, CREATE, &[0, 1, mode, 0, 0, 0, 0, 0])
    }

    /// Bytes that are on stable storage when it returns.
    pub fn write_stable(&mut self, offset: u64, data: &[u8]) -> Result<(), CallError> {
        let status = self.try_write_stable(offset, data)?;
        assert_eq!(status, 0, "the call succeeds");
        Ok(())
    }

    /// As [`File::write_stable`], with the status of the call.
    pub fn try_write_stable(&mut self, offset: u64, data: &[u8]) -> Result<u32, CallError> {
        let mut args = Encoder::new();
        args.opaque(&self.handle);
        args.u64(offset);
        args.u32(data.len() as u32);
        args.u32(FILE_SYNC);
        args.opaque(data);
        let reply = self.client.call(WRITE, args.bytes())?;
        let status = Decoder::new(&reply).u32().expect("a status");
        if status != 0 {
            return Ok(status);
        }
        // Count and `stable_how` stand before the verifier.
        let said: [u8; 8] =
            well(&reply).last_chunk::<16>().expect("it ends with them")[..8].try_into().unwrap();
        let wanted = [(data.len() as u32).to_be_bytes(), FILE_SYNC.to_be_bytes()].concat();
        assert_eq!(said[..], wanted, "all of it is stable");
        Ok(0)
    }

    /// What others name it by.
    pub fn handle(&self) -> &[u8] {
        &self.handle
    }

    /// So many bytes of it.
    pub fn read(&mut self, offset: u64, len: u32) -> Result<usize, CallError> {
        let reply = self.client.call(READ, &read_args(&self.handle, offset, len))?;
        Ok(well(&reply).len())
    }

    /// Commits the file; the server's verifier.
    pub fn commit(&mut self) -> [u8; 8] {
        let mut args = Encoder::new();
        args.opaque(&self.handle);
        args.u64(0);
        args.u32(0);
        let reply = self.client.call(COMMIT, args.bytes()).expect("COMMIT");
        *well(&reply).last_chunk().expect("it ends with the verifier")
    }
}
