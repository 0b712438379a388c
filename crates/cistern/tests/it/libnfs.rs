//! A client over libnfs, an NFS client in user space that others wrote.
//!
//! A connection that breaks is an error here: libnfs would otherwise connect again by itself and
//! send a COMMIT for data that a new server has never seen, without looking at the verifier.
//!
//! A broken connection is never touched again, not even to free it. When poll(2) tells of the
//! break, libnfs 4.0 returns from the call that was waiting but keeps its request, with a callback
//! whose data is in the frame that is gone (`rpc_service` with POLLERR or POLLHUP,
//! `wait_for_nfs_reply`); whatever empties its queue later, closing a file or destroying the
//! context included, runs that callback.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::ptr;

use crate::daemon::Daemon;

#[repr(C)]
struct Url {
    server: *mut c_char,
    path: *mut c_char,
    file: *mut c_char,
}

/// `struct nfs_stat_64` of nfsc/libnfs.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Stat {
    pub dev: u64,
    pub ino: u64,
    pub mode: u64,
    pub nlink: u64,
    pub uid: u64,
    pub gid: u64,
    pub rdev: u64,
    pub size: u64,
    pub blksize: u64,
    pub blocks: u64,
    pub atime: u64,
    pub mtime: u64,
    pub ctime: u64,
    pub atime_nsec: u64,
    pub mtime_nsec: u64,
    pub ctime_nsec: u64,
    pub used: u64,
}

/// The start of `struct nfsdirent` of nfsc/libnfs.h.
#[repr(C)]
struct DirEntry {
    next: *mut DirEntry,
    name: *mut c_char,
    inode: u64,
    kind: u32,
}

/// A file handle, as libnfs has it (`struct nfs_fh`).
#[repr(C)]
struct Handle {
    len: c_int,
    bytes: *const u8,
}

#[link(name = "nfs")]
unsafe extern "C" {
    fn nfs_init_context() -> *mut c_void;
    fn nfs_destroy_context(nfs: *mut c_void);
    fn nfs_get_error(nfs: *mut c_void) -> *mut c_char;
    fn nfs_parse_url_dir(nfs: *mut c_void, url: *const c_char) -> *mut Url;
    fn nfs_destroy_url(url: *mut Url);
    fn nfs_set_autoreconnect(nfs: *mut c_void, retries: c_int);
    fn nfs_set_timeout(nfs: *mut c_void, milliseconds: c_int);
    fn nfs_mount(nfs: *mut c_void, server: *const c_char, export: *const c_char) -> c_int;
    fn nfs_get_fh(file: *mut c_void) -> *const Handle;
    fn nfs_lstat64(nfs: *mut c_void, path: *const c_char, stat: *mut Stat) -> c_int;
    fn nfs_open(nfs: *mut c_void, path: *const c_char, flags: c_int, file: *mut *mut c_void) -> c_int;
    fn nfs_creat(nfs: *mut c_void, path: *const c_char, mode: c_int, file: *mut *mut c_void) -> c_int;
    fn nfs_close(nfs: *mut c_void, file: *mut c_void) -> c_int;
    fn nfs_fsync(nfs: *mut c_void, file: *mut c_void) -> c_int;
    fn nfs_pread(nfs: *mut c_void, file: *mut c_void, offset: u64, count: u64, to: *mut c_void) -> c_int;
    fn nfs_pwrite(nfs: *mut c_void, file: *mut c_void, offset: u64, count: u64, from: *const c_void)
    -> c_int;
    fn nfs_mkdir2(nfs: *mut c_void, path: *const c_char, mode: c_int) -> c_int;
    fn nfs_unlink(nfs: *mut c_void, path: *const c_char) -> c_int;
    fn nfs_rmdir(nfs: *mut c_void, path: *const c_char) -> c_int;
    fn nfs_rename(nfs: *mut c_void, from: *const c_char, to: *const c_char) -> c_int;
    fn nfs_link(nfs: *mut c_void, from: *const c_char, to: *const c_char) -> c_int;
    fn nfs_truncate(nfs: *mut c_void, path: *const c_char, size: u64) -> c_int;
    fn nfs_chmod(nfs: *mut c_void, path: *const c_char, mode: c_int) -> c_int;
    fn nfs_symlink(nfs: *mut c_void, target: *const c_char, path: *const c_char) -> c_int;
    fn nfs_readlink(nfs: *mut c_void, path: *const c_char, to: *mut c_char, size: c_int) -> c_int;
    fn nfs_opendir(nfs: *mut c_void, path: *const c_char, dir: *mut *mut c_void) -> c_int;
    fn nfs_readdir(nfs: *mut c_void, dir: *mut c_void) -> *mut DirEntry;
    fn nfs_closedir(nfs: *mut c_void, dir: *mut c_void);
}

/// Bytes a call carries.
const TRANSFER: usize = 1 << 20;

/// A mounted share. libnfs' contexts may move between threads, but not be shared.
pub struct Client {
    context: *mut c_void,
    is_broken: Cell<bool>,
}

// SAFETY: a context has no ties to the thread that made it; `Client` is not `Sync`.
unsafe impl Send for Client {}

/// An open file.
pub struct Open<'a> {
    client: &'a Client,
    file: *mut c_void,
}

/// What a listing says of a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    pub name: Vec<u8>,
    pub ino: u64,
    /// ftype3: 1 a file, 2 a directory, 5 a symbolic link.
    pub kind: u32,
}

fn c(text: &str) -> CString {
    CString::new(text).expect("no NUL in a path")
}

impl Client {
    /// As root, with what the server makes of that.
    pub fn mount(daemon: &Daemon, export: &str) -> io::Result<Client> {
        let (host, port) = (&daemon.host, daemon.port);
        // SAFETY: no arguments; the context is owned by `client` from here on and freed by its
        // drop.
        let client = Client { context: unsafe { nfs_init_context() }, is_broken: Cell::new(false) };
        assert!(!client.context.is_null(), "libnfs has no memory");
        let url = c(&format!("nfs://{host}{export}?nfsport={port}&mountport={port}"));
        // SAFETY: the context is live; strings live through the calls; the URL is freed exactly
        // once.
        let status = unsafe {
            let url = nfs_parse_url_dir(client.context, url.as_ptr());
            assert!(!url.is_null(), "{}", client.error());
            nfs_set_autoreconnect(client.context, 0);
            nfs_set_timeout(client.context, 60_000);
            let status = nfs_mount(client.context, (*url).server, (*url).path);
            nfs_destroy_url(url);
            status
        };
        client.check(status)?;
        Ok(client)
    }

    fn error(&self) -> String {
        // SAFETY: the context is live; its message is text that ends with NUL, or null.
        unsafe {
            let text = nfs_get_error(self.context);
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        }
    }

    /// libnfs' own, to be called with.
    fn live(&self) -> io::Result<*mut c_void> {
        if self.is_broken.get() { Err(io::ErrorKind::NotConnected.into()) } else { Ok(self.context) }
    }

    fn check(&self, status: c_int) -> io::Result<c_int> {
        if status >= 0 {
            return Ok(status);
        }
        // What libnfs says of a connection that broke, and of NFS3ERR_IO, which no test provokes.
        self.is_broken.set(self.is_broken.get() || status == -libc::EIO);
        let kind = io::Error::from_raw_os_error(-status).kind();
        Err(io::Error::new(kind, format!("{} ({status})", self.error())))
    }

    pub fn create(&self, path: &str, mode: u32) -> io::Result<Open<'_>> {
        self.file(
            |nfs, path, file| {
                // SAFETY: the context is live, the path ends with NUL, `file` takes a pointer.
                unsafe { nfs_creat(nfs, path, mode as c_int, file) }
            },
            path,
        )
    }

    /// For reading and writing.
    pub fn open(&self, path: &str, flags: i32) -> io::Result<Open<'_>> {
        self.file(
            |nfs, path, file| {
                // SAFETY: as in `create`.
                unsafe { nfs_open(nfs, path, flags, file) }
            },
            path,
        )
    }

    fn file(
        &self,
        call: impl FnOnce(*mut c_void, *const c_char, *mut *mut c_void) -> c_int,
        path: &str,
    ) -> io::Result<Open<'_>> {
        let (path, mut file) = (c(path), ptr::null_mut());
        self.check(call(self.live()?, path.as_ptr(), &raw mut file))?;
        Ok(Open { client: self, file })
    }

    /// Committed when it returns: libnfs commits what it wrote when it closes.
    pub fn write_file(&self, path: &str, mode: u32, data: &[u8]) -> io::Result<()> {
        let file = self.create(path, mode)?;
        for (chunk, offset) in data.chunks(TRANSFER).zip((0..).step_by(TRANSFER)) {
            file.write(offset, chunk)?;
        }
        file.close()
    }

    pub fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        let file = self.open(path, libc::O_RDONLY)?;
        let mut data = Vec::new();
        loop {
            let chunk = file.read(data.len() as u64, TRANSFER)?;
            if chunk.is_empty() {
                file.close()?;
                return Ok(data);
            }
            data.extend(chunk);
        }
    }

    pub fn mkdir(&self, path: &str, mode: u32) -> io::Result<()> {
        let (nfs, path) = (self.live()?, c(path));
        // SAFETY: the context is live, the path ends with NUL.
        self.check(unsafe { nfs_mkdir2(nfs, path.as_ptr(), mode as c_int) }).map(drop)
    }

    pub fn unlink(&self, path: &str) -> io::Result<()> {
        let (nfs, path) = (self.live()?, c(path));
        // SAFETY: the context is live, the path ends with NUL.
        self.check(unsafe { nfs_unlink(nfs, path.as_ptr()) }).map(drop)
    }

    pub fn rmdir(&self, path: &str) -> io::Result<()> {
        let (nfs, path) = (self.live()?, c(path));
        // SAFETY: the context is live, the path ends with NUL.
        self.check(unsafe { nfs_rmdir(nfs, path.as_ptr()) }).map(drop)
    }

    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (nfs, from, to) = (self.live()?, c(from), c(to));
        // SAFETY: the context is live, both paths end with NUL.
        self.check(unsafe { nfs_rename(nfs, from.as_ptr(), to.as_ptr()) }).map(drop)
    }

    pub fn link(&self, from: &str, to: &str) -> io::Result<()> {
        let (nfs, from, to) = (self.live()?, c(from), c(to));
        // SAFETY: the context is live, both paths end with NUL.
        self.check(unsafe { nfs_link(nfs, from.as_ptr(), to.as_ptr()) }).map(drop)
    }

    pub fn truncate(&self, path: &str, size: u64) -> io::Result<()> {
        let (nfs, path) = (self.live()?, c(path));
        // SAFETY: the context is live, the path ends with NUL.
        self.check(unsafe { nfs_truncate(nfs, path.as_ptr(), size) }).map(drop)
    }

    pub fn chmod(&self, path: &str, mode: u32) -> io::Result<()> {
        let (nfs, path) = (self.live()?, c(path));
        // SAFETY: the context is live, the path ends with NUL.
        self.check(unsafe { nfs_chmod(nfs, path.as_ptr(), mode as c_int) }).map(drop)
    }

    pub fn symlink(&self, target: &str, path: &str) -> io::Result<()> {
        let (nfs, target, path) = (self.live()?, c(target), c(path));
        // SAFETY: the context is live, both strings end with NUL.
        self.check(unsafe { nfs_symlink(nfs, target.as_ptr(), path.as_ptr()) }).map(drop)
    }

    pub fn readlink(&self, path: &str) -> io::Result<Vec<u8>> {
        let (nfs, path) = (self.live()?, c(path));
        let mut to = vec![0u8; 8192];
        // SAFETY: the context is live, the path ends with NUL, `to` has the room it is said to
        // have.
        let status = unsafe { nfs_readlink(nfs, path.as_ptr(), to.as_mut_ptr().cast(), to.len() as c_int) };
        self.check(status)?;
        let end = to.iter().position(|byte| *byte == 0).expect("it ends with NUL");
        to.truncate(end);
        Ok(to)
    }

    /// Of the name itself, not of what it points to.
    pub fn stat(&self, path: &str) -> io::Result<Stat> {
        let (nfs, path) = (self.live()?, c(path));
        let mut stat = Stat::default();
        // SAFETY: the context is live, the path ends with NUL, `stat` has libnfs' layout.
        self.check(unsafe { nfs_lstat64(nfs, path.as_ptr(), &raw mut stat) })?;
        Ok(stat)
    }

    /// Sorted, without `.` and `..`.
    pub fn list(&self, path: &str) -> io::Result<Vec<Listed>> {
        let (nfs, path, mut dir) = (self.live()?, c(path), ptr::null_mut());
        let mut all = Vec::new();
        // SAFETY: the context is live; entries and their names live until the directory is closed.
        unsafe {
            self.check(nfs_opendir(nfs, path.as_ptr(), &raw mut dir))?;
            while let Some(entry) = nfs_readdir(nfs, dir).as_ref() {
                let name = CStr::from_ptr(entry.name).to_bytes().to_vec();
                if name != b"." && name != b".." {
                    all.push(Listed { name, ino: entry.inode, kind: entry.kind });
                }
            }
            nfs_closedir(nfs, dir);
        }
        all.sort();
        Ok(all)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Ok(nfs) = self.live() {
            // SAFETY: the context is live and not used again.
            unsafe { nfs_destroy_context(nfs) }
        }
    }
}

impl Open<'_> {
    /// What the server knows it by.
    pub fn handle(&self) -> Vec<u8> {
        // SAFETY: the file is open, so there is a handle, which is as long as it says.
        unsafe {
            let handle = &*nfs_get_fh(self.file);
            std::slice::from_raw_parts(handle.bytes, usize::try_from(handle.len).expect("a length")).to_vec()
        }
    }

    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let nfs = self.client.live()?;
        // SAFETY: context and file are live; `data` has as many bytes as told.
        let status = unsafe { nfs_pwrite(nfs, self.file, offset, data.len() as u64, data.as_ptr().cast()) };
        let written = self.client.check(status)? as usize;
        if written == data.len() { Ok(()) } else { self.write(offset + written as u64, &data[written..]) }
    }

    pub fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let (nfs, mut data) = (self.client.live()?, vec![0u8; len]);
        // SAFETY: context and file are live; `data` has as much room as told.
        let status = unsafe { nfs_pread(nfs, self.file, offset, len as u64, data.as_mut_ptr().cast()) };
        data.truncate(self.client.check(status)? as usize);
        Ok(data)
    }

    /// COMMIT.
    pub fn sync(&self) -> io::Result<()> {
        let nfs = self.client.live()?;
        // SAFETY: context and file are live.
        self.client.check(unsafe { nfs_fsync(nfs, self.file) }).map(drop)
    }

    /// Commits what was written, and says so where the file's drop could not.
    pub fn close(mut self) -> io::Result<()> {
        let nfs = self.client.live()?;
        let file = std::mem::replace(&mut self.file, ptr::null_mut());
        // SAFETY: context and file are live; the drop will not close the file again.
        self.client.check(unsafe { nfs_close(nfs, file) }).map(drop)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let (Ok(nfs), false) = (self.client.live(), self.file.is_null()) {
            // SAFETY: context and file are live and the file is not used again.
            unsafe { nfs_close(nfs, self.file) };
        }
    }
}
