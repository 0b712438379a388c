//! Memory that outlives the process, as a page cache does: what was acknowledged and is not durable
//! yet is still there for the next process, and gone with the power.
//!
//! It is a file on a file system in memory, and mapped, which is three times as quick to write as
//! by calls of the system. Where memory ends, that must be an error and no signal: so it is taken
//! before anything is written there.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{Ordering::SeqCst, compiler_fence};

use crate::lock;

/// Bytes by place. What was never written, or was discarded, reads as zeroes. Nobody writes bytes
/// that somebody else writes or reads at the same time.
pub trait Keepsake: Send + Sync {
    /// Bytes that there can be.
    fn size(&self) -> u64;

    /// Takes memory for these bytes, which is there until they are discarded.
    fn reserve(&self, at: u64, len: u64) -> io::Result<()>;

    /// Writes parts one behind the other, where memory was taken: after a death in the middle, of
    /// the parts behind the one it met nothing is there, and that one in part. A word of eight
    /// bytes is there or not.
    fn write(&self, at: u64, parts: &[&[u8]]) -> io::Result<()>;

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Gives memory back to the machine.
    fn discard(&self, at: u64, len: u64) -> io::Result<()>;

    /// Little-endian words.
    fn write_words(&self, at: u64, words: &[u64]) -> io::Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write(at, &[&bytes])
    }

    fn read_words(&self, at: u64, words: &mut [u64]) -> io::Result<()> {
        let mut bytes = vec![0; 8 * words.len()];
        self.read(at, &mut bytes)?;
        let (read, _) = bytes.as_chunks();
        words.iter_mut().zip(read).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
        Ok(())
    }
}

/// A file on a file system in memory, which nobody else may read and one process at a time uses.
pub struct MemoryFile {
    file: File,
    path: PathBuf,
    size: u64,
    /// All of it.
    map: NonNull<u8>,
}

// SAFETY: the mapping belongs to the value, and is reached through `write` alone, whose callers
// keep out of each other's way.
unsafe impl Send for MemoryFile {}
// SAFETY: as above.
unsafe impl Sync for MemoryFile {}

impl MemoryFile {
    /// Opens the file, or makes it; `size` is what it can grow to where it is new. `WouldBlock`:
    /// another process uses it.
    pub fn open(path: &Path, size: u64) -> io::Result<MemoryFile> {
        let mut options = File::options();
        options.read(true).write(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let file = options.open(path)?;
        let found = file.metadata()?;
        // SAFETY: it takes nothing and cannot fail.
        let own = unsafe { libc::geteuid() };
        if !found.is_file() || found.uid() != own || found.mode() & 0o077 != 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not only ours"));
        }
        // SAFETY: no memory is passed.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let size = size.max(found.len());
        file.set_len(size)?;
        let (access, len) = (libc::PROT_READ | libc::PROT_WRITE, size as usize);
        // SAFETY: a new mapping, of a file that is so long.
        let map = unsafe { libc::mmap(ptr::null_mut(), len, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = NonNull::new(map.cast()).expect("no mapping is at nothing");
        Ok(MemoryFile { file, path: path.to_owned(), size, map })
    }

    /// Takes it out of the file system: nobody will find it.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    fn allocate(&self, mode: libc::c_int, at: u64, len: u64) -> io::Result<()> {
        let (at, len) = (at as libc::off_t, len as libc::off_t);
        // SAFETY: no memory is passed.
        match unsafe { libc::fallocate(self.file.as_raw_fd(), mode, at, len) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Keepsake for MemoryFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn reserve(&self, at: u64, len: u64) -> io::Result<()> {
        self.allocate(0, at, len)
    }

    fn write(&self, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if at.checked_add(len as u64).is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut at = at as usize;
        for part in parts {
            // SAFETY: the range is in the mapping, memory was taken for it, and nobody else uses it
            // meanwhile.
            unsafe { ptr::copy_nonoverlapping(part.as_ptr(), self.map.as_ptr().add(at), part.len()) };
            // Who dies does so between two instructions: what counts is in which order they were
            // made.
            compiler_fence(SeqCst);
            at += part.len();
        }
        Ok(())
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < into.len() {
            match self.file.read_at(&mut into[done..], at + done as u64)? {
                0 => break, // Behind the end.
                read => done += read,
            }
        }
        into[done..].fill(0);
        Ok(())
    }

    fn discard(&self, at: u64, len: u64) -> io::Result<()> {
        self.allocate(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, at, len)
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nobody has a pointer into it.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.size as usize) };
    }
}

/// One that only pretends: for tests, which keep it when they drop what used it.
pub struct MemKeepsake(Mutex<Vec<u8>>);

impl MemKeepsake {
    pub fn new(size: usize) -> MemKeepsake {
        MemKeepsake(Mutex::new(vec![0; size]))
    }
}

impl Keepsake for MemKeepsake {
    fn size(&self) -> u64 {
        lock(&self.0).len() as u64
    }

    fn reserve(&self, _at: u64, _len: u64) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let mut at = at as usize;
        let mut bytes = lock(&self.0);
        for part in parts {
            let place = bytes.get_mut(at..at + part.len());
            place.ok_or(io::ErrorKind::StorageFull)?.copy_from_slice(part);
            at += part.len();
        }
        Ok(())
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = lock(&self.0);
        let place = bytes.get(at as usize..at as usize + into.len());
        into.copy_from_slice(place.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn discard(&self, at: u64, len: u64) -> io::Result<()> {
        let mut bytes = lock(&self.0);
        let place = bytes.get_mut(at as usize..(at + len) as usize);
        place.ok_or(io::ErrorKind::UnexpectedEof)?.fill(0);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
