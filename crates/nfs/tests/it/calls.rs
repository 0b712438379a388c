//! Raw calls of the procedures, encoded and decoded here independently of the server's own code.

use nfs::procedure as p;
use sunrpc::client::Client;
use sunrpc::xdr::{Decoder, Encoder};

pub struct Nfs {
    pub client: Client,
    pub root: Vec<u8>,
}

/// The fields of fattr3 that tests look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fattr {
    pub kind: u32,
    pub mode: u32,
    pub nlink: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub fsid: u64,
    pub fileid: u64,
    pub ctime: (u32, u32),
}

pub fn fattr(d: &mut Decoder<'_>) -> Fattr {
    let mut word = || d.u32().expect("fattr3 is whole");
    let [kind, mode, nlink, uid, gid] = std::array::from_fn(|_| word());
    let mut long = || u64::from(word()) << 32 | u64::from(word());
    let [size, _used, _rdev, fsid, fileid] = std::array::from_fn(|_| long());
    let [_atime, _mtime] = std::array::from_fn(|_| long());
    let ctime = (word(), word());
    Fattr { kind, mode, nlink, uid, gid, size, fsid, fileid, ctime }
}

pub fn post(d: &mut Decoder<'_>) -> Option<Fattr> {
    d.bool().expect("a flag").then(|| fattr(d))
}

/// Size before, attributes after.
pub fn wcc(d: &mut Decoder<'_>) -> (Option<u64>, Option<Fattr>) {
    let before = d.bool().expect("a flag").then(|| {
        let size = d.u64().expect("a size");
        d.fixed::<16>().expect("two times");
        size
    });
    (before, post(d))
}

/// One name of a directory listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub fileid: u64,
    pub cookie: u64,
    pub attr: Option<Fattr>,
    pub handle: Option<Vec<u8>>,
}

pub fn place(dir: &[u8], name: &[u8]) -> Encoder {
    let mut args = Encoder::new();
    args.opaque(dir);
    args.opaque(name);
    args
}

/// sattr3 that sets a mode, a size, or nothing.
pub fn sattr(args: &mut Encoder, mode: Option<u32>, size: Option<u64>) {
    args.bool(mode.is_some());
    mode.into_iter().for_each(|mode| args.u32(mode));
    args.bool(false);
    args.bool(false);
    args.bool(size.is_some());
    size.into_iter().for_each(|size| args.u64(size));
    args.u32(0);
    args.u32(0);
}

impl Nfs {
    /// Status and what follows it.
    pub fn call(&mut self, procedure: u32, args: &Encoder) -> (u32, Vec<u8>) {
        let results = self.client.call(procedure, args.bytes()).expect("an accepted call");
        let (status, rest) = results.split_first_chunk().expect("a status");
        (u32::from_be_bytes(*status), rest.to_vec())
    }

    pub fn mount(&mut self, path: &str) -> Result<Vec<u8>, u32> {
        self.client.set_program(100_005, 3);
        let mut args = Encoder::new();
        args.opaque(path.as_bytes());
        let (status, rest) = self.call(1, &args);
        self.client.set_program(100_003, 3);
        let mut d = Decoder::new(&rest);
        if status == 0 { Ok(d.opaque(64).expect("a handle").to_vec()) } else { Err(status) }
    }

    pub fn getattr(&mut self, handle: &[u8]) -> Result<Fattr, u32> {
        let mut args = Encoder::new();
        args.opaque(handle);
        let (status, rest) = self.call(p::GETATTR, &args);
        if status == 0 { Ok(fattr(&mut Decoder::new(&rest))) } else { Err(status) }
    }

    pub fn lookup(&mut self, dir: &[u8], name: &[u8]) -> Result<(Vec<u8>, Fattr), u32> {
        let (status, rest) = self.call(p::LOOKUP, &place(dir, name));
        let mut d = Decoder::new(&rest);
        if status != 0 {
            return Err(status);
        }
        let handle = d.opaque(64).expect("a handle").to_vec();
        Ok((handle, post(&mut d).expect("attributes")))
    }

    /// CREATE with a mode of creation: 0 unchecked, 1 guarded.
    pub fn create_how(&mut self, dir: &[u8], name: &[u8], how: u32) -> Result<(Vec<u8>, Fattr), u32> {
        let mut args = place(dir, name);
        args.u32(how);
        sattr(&mut args, Some(0o644), None);
        let (status, rest) = self.call(p::CREATE, &args);
        created(status, &rest)
    }

    pub fn create(&mut self, dir: &[u8], name: &[u8]) -> Result<(Vec<u8>, Fattr), u32> {
        self.create_how(dir, name, 1)
    }

    pub fn mkdir(&mut self, dir: &[u8], name: &[u8]) -> Result<(Vec<u8>, Fattr), u32> {
        let mut args = place(dir, name);
        sattr(&mut args, Some(0o755), None);
        let (status, rest) = self.call(p::MKDIR, &args);
        created(status, &rest)
    }

    /// Stable as told; gives the count, how stable it is, and the verifier.
    pub fn write(
        &mut self,
        handle: &[u8],
        offset: u64,
        data: &[u8],
        stable: u32,
    ) -> Result<(u32, u32, u64), u32> {
        let mut args = Encoder::new();
        args.opaque(handle);
        args.u64(offset);
        args.u32(data.len() as u32);
        args.u32(stable);
        args.opaque(data);
        let (status, rest) = self.call(p::WRITE, &args);
        let mut d = Decoder::new(&rest);
        let (before, after) = wcc(&mut d);
        if status != 0 {
            return Err(status);
        }
        assert!(before.is_some() && after.is_some(), "a write tells before and after");
        Ok((d.u32().expect("count"), d.u32().expect("stable"), d.u64().expect("verifier")))
    }

    /// Data and whether the file ends behind it.
    pub fn read(&mut self, handle: &[u8], offset: u64, count: u32) -> Result<(Vec<u8>, bool), u32> {
        let mut args = Encoder::new();
        args.opaque(handle);
        args.u64(offset);
        args.u32(count);
        let (status, rest) = self.call(p::READ, &args);
        let mut d = Decoder::new(&rest);
        post(&mut d);
        if status != 0 {
            return Err(status);
        }
        let (count, eof) = (d.u32().expect("count"), d.bool().expect("eof"));
        let data = d.opaque(u32::MAX).expect("data").to_vec();
        assert_eq!((data.len() as u32, d.remaining()), (count, 0));
        Ok((data, eof))
    }

    /// REMOVE or RMDIR.
    pub fn remove(&mut self, procedure: u32, dir: &[u8], name: &[u8]) -> u32 {
        let (status, rest) = self.call(procedure, &place(dir, name));
        let (before, _) = wcc(&mut Decoder::new(&rest));
        assert_eq!(before.is_some(), status == 0);
        status
    }

    /// One page of READDIR, or READDIRPLUS.
    pub fn page(
        &mut self,
        dir: &[u8],
        cookie: u64,
        plus: bool,
        room: u32,
    ) -> Result<(Vec<Entry>, bool), u32> {
        let mut args = Encoder::new();
        args.opaque(dir);
        args.u64(cookie);
        args.u64(0);
        args.u32(room);
        if plus {
            args.u32(room);
        }
        let procedure = if plus { p::READDIRPLUS } else { p::READDIR };
        let (status, rest) = self.call(procedure, &args);
        if status != 0 {
            return Err(status);
        }
        assert!(rest.len() <= room as usize, "{} bytes where {room} were allowed", rest.len());
        let mut d = Decoder::new(&rest);
        post(&mut d).expect("attributes of the directory");
        d.u64().expect("verifier");
        let mut entries = Vec::new();
        while d.bool().expect("a flag") {
            let fileid = d.u64().expect("file id");
            let name = String::from_utf8_lossy(d.opaque(255).expect("name")).into_owned();
            let cookie = d.u64().expect("cookie");
            let attr = if plus { post(&mut d) } else { None };
            let handle = if plus { d.option(|d| d.opaque(64)).expect("handle") } else { None };
            entries.push(Entry { name, fileid, cookie, attr, handle: handle.map(<[u8]>::to_vec) });
        }
        Ok((entries, d.bool().expect("eof")))
    }

    /// A whole directory, page by page.
    pub fn list(&mut self, dir: &[u8], plus: bool, room: u32) -> Vec<Entry> {
        let mut all: Vec<Entry> = Vec::new();
        loop {
            let cookie = all.last().map_or(0, |entry| entry.cookie);
            let (page, eof) = self.page(dir, cookie, plus, room).expect("a page");
            all.extend(page);
            if eof {
                return all;
            }
        }
    }
}

pub fn created(status: u32, rest: &[u8]) -> Result<(Vec<u8>, Fattr), u32> {
    let mut d = Decoder::new(rest);
    if status != 0 {
        let (_, after) = wcc(&mut d);
        assert_eq!(d.remaining(), 0, "{after:?}");
        return Err(status);
    }
    assert!(d.bool().expect("a flag"), "a new node comes with its handle");
    let handle = d.opaque(64).expect("a handle").to_vec();
    let attr = post(&mut d).expect("attributes");
    let (before, after) = wcc(&mut d);
    assert!(before.is_some() && after.is_some() && d.remaining() == 0);
    Ok((handle, attr))
}
