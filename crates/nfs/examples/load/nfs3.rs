//! The few calls that the load needs, encoded by hand.

use std::net::ToSocketAddrs;

use sunrpc::client::Client;
use sunrpc::msg::{AuthSys, Credential, Reply, parse_reply};
use sunrpc::xdr::{Decoder, Encoder};

pub type Fail = Box<dyn std::error::Error>;

pub const GETATTR: u32 = 1;
pub const LOOKUP: u32 = 3;
pub const READ: u32 = 6;
pub const WRITE: u32 = 7;
pub const CREATE: u32 = 8;
pub const REMOVE: u32 = 12;
pub const COMMIT: u32 = 21;

pub fn credential() -> Credential {
    Credential::Sys(AuthSys::new(0, 0, &[]))
}

/// Mounts the path and gives its handle with a connection to NFS.
pub fn mount(server: &str, mount_port: Option<u16>, path: &str) -> Result<(Client, Vec<u8>), Fail> {
    let addr = server.to_socket_addrs()?.next().ok_or("no such host")?;
    let mut mount_addr = addr;
    mount_addr.set_port(mount_port.unwrap_or(addr.port()));
    let mut args = Encoder::new();
    args.opaque(path.as_bytes());
    let results = Client::connect(mount_addr, 100_005, 3, credential())?.call(1, args.bytes())?;
    let mut d = Decoder::new(&results);
    ok(&mut d)?;
    let handle = d.opaque(64)?.to_vec();
    Ok((Client::connect(addr, 100_003, 3, credential())?, handle))
}

pub fn ok(d: &mut Decoder<'_>) -> Result<(), Fail> {
    match d.u32()? {
        0 => Ok(()),
        status => Err(format!("the server answered with status {status}").into()),
    }
}

/// The results behind an OK status; anything else is an error.
pub fn results(record: &[u8]) -> Result<(u32, Decoder<'_>), Fail> {
    let (xid, reply) = parse_reply(record)?;
    let Reply::Success(results) = reply else { return Err(format!("{reply:?}").into()) };
    let mut d = Decoder::new(results);
    ok(&mut d)?;
    Ok((xid, d))
}

pub fn handle_args(handle: &[u8]) -> Encoder {
    let mut args = Encoder::with_capacity(128);
    args.opaque(handle);
    args
}

pub fn place_args(dir: &[u8], name: &str) -> Encoder {
    let mut args = handle_args(dir);
    args.opaque(name.as_bytes());
    args
}

/// An unchecked CREATE with mode 0644.
pub fn create_args(dir: &[u8], name: &str) -> Encoder {
    let mut args = place_args(dir, name);
    args.u32(0);
    args.bool(true);
    args.u32(0o644);
    for _uid_gid_size_atime_mtime in 0..5 {
        args.u32(0);
    }
    args
}

pub fn read_args(handle: &[u8], offset: u64, count: u32) -> Encoder {
    let mut args = handle_args(handle);
    args.u64(offset);
    args.u32(count);
    args
}

/// Everything of an unstable WRITE but the data itself.
pub fn write_args(handle: &[u8], offset: u64, count: u32) -> Encoder {
    let mut args = read_args(handle, offset, count);
    args.u32(0);
    args.u32(count);
    args
}

/// The handle that CREATE gave.
pub fn created(d: &mut Decoder<'_>) -> Result<Vec<u8>, Fail> {
    if !d.bool()? {
        return Err("the server gave no handle".into());
    }
    Ok(d.opaque(64)?.to_vec())
}

pub fn lookup(client: &mut Client, dir: &[u8], name: &str) -> Result<Vec<u8>, Fail> {
    let found = client.call(LOOKUP, place_args(dir, name).bytes())?;
    let mut d = Decoder::new(&found);
    ok(&mut d)?;
    Ok(d.opaque(64)?.to_vec())
}
