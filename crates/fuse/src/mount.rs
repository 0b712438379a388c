//! Mounting and unmounting.

use crate::flat::Flat;
use crate::ops::Ops;
use crate::server::Server;
use engine_api::{Error, FileSystem, Result};
use fuser::{Config, MountOption, Session, SessionACL};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use stdx::os_error::words;

/// How to mount: the dataset's properties, and how hard to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountOptions {
    /// What `mount` and `df` show as the source: the dataset's name.
    pub source: String,
    /// readonly=on
    pub read_only: bool,
    /// Shown by the kernel only; the engine decides whether reads touch atime.
    pub atime: bool,
    /// setuid=on
    pub setuid: bool,
    /// devices=on
    pub devices: bool,
    /// exec=on
    pub exec: bool,
    /// How long the kernel believes names and attributes without asking again. What NFS clients change shows here
    /// after this long at the latest; what changes through the mount shows at once. 0 asks every time.
    pub cache: Duration,
    /// Requests served at the same time: a waiting fsync takes one.
    pub threads: usize,
}

impl Default for MountOptions {
    fn default() -> MountOptions {
        MountOptions {
            source: "cistern".into(),
            read_only: false,
            atime: true,
            setuid: true,
            devices: true,
            exec: true,
            cache: Duration::from_secs(1),
            threads: 32,
        }
    }
}

/// A mounted file system. Dropped, it is unmounted, by force where it is busy.
#[derive(Debug)]
pub struct Mount {
    at: PathBuf,
    session: Arc<Ended>,
}

/// Whether the session is over.
#[derive(Debug, Default)]
struct Ended {
    over: Mutex<bool>,
    changed: Condvar,
}

impl Ended {
    fn set(&self) {
        *self.over.lock().expect("nothing panics under this lock") = true;
        self.changed.notify_all();
    }

    fn is_set(&self) -> bool {
        *self.over.lock().expect("nothing panics under this lock")
    }

    fn wait(&self) {
        let over = self.over.lock().expect("nothing panics under this lock");
        drop(self.changed.wait_while(over, |over| !*over).expect("nothing panics under this lock"));
    }
}

/// Mount `fs` at an existing directory, for every user of the machine. Needs root (CAP_SYS_ADMIN).
///
/// # Errors
/// `Refused` with the operating system's reason.
pub fn mount(fs: Arc<dyn FileSystem>, at: &Path, options: &MountOptions) -> Result<Mount> {
    let refused = |error: io::Error| Error::Refused(format!("{}: {}", at.display(), words(&error)));
    let at = at.canonicalize().map_err(refused)?;
    let ops = Ops { server: Server::new(Flat::new(fs), options.cache) };
    let session = Session::new(ops, &at, &config(options))
        .map_err(|error| Error::Refused(format!("{}: {}", at.display(), in_words(&error, is_root()))))?;
    let ended = Arc::new(Ended::default());
    let (over, path) = (ended.clone(), at.clone());
    // Said here, because anybody may unmount it.
    let serve = move || {
        match session.run() {
            Ok(()) => tracing::info!(at = %path.display(), "unmounted"),
            Err(error) => tracing::error!(at = %path.display(), %error, "a local mount ended"),
        }
        over.set();
    };
    std::thread::Builder::new().name("fuse-session".into()).spawn(serve).map_err(refused)?;
    raise_readahead(&at);
    tracing::info!(at = %at.display(), source = options.source, "mounted");
    Ok(Mount { at, session: ended })
}

fn is_root() -> bool {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Why a mount failed, and what would help. Who is not root mounts through fusermount3, which may not be there, or not
/// allow what everybody is to see; its own words name no cure.
fn in_words(error: &io::Error, root: bool) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied if !root => {
            "a mount for all users takes root, or a line 'user_allow_other' in /etc/fuse.conf".into()
        }
        io::ErrorKind::NotFound if !root => "a mount takes root, or fusermount3 (package fuse3)".into(),
        _ => {
            let text = words(error);
            let text = text.trim();
            text.strip_prefix("fusermount3: ")
                .or(text.strip_prefix("fusermount: "))
                .unwrap_or(text)
                .to_owned()
        }
    }
}

fn config(options: &MountOptions) -> Config {
    let either = |yes: bool, on: MountOption, off: MountOption| if yes { on } else { off };
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(options.source.clone()),
        MountOption::Subtype("cistern".into()),
        MountOption::DefaultPermissions,
        either(options.read_only, MountOption::RO, MountOption::RW),
        either(options.atime, MountOption::Atime, MountOption::NoAtime),
        either(options.setuid, MountOption::Suid, MountOption::NoSuid),
        either(options.devices, MountOption::Dev, MountOption::NoDev),
        either(options.exec, MountOption::Exec, MountOption::NoExec),
    ];
    config.acl = SessionACL::All;
    config.n_threads = Some(options.threads.max(1));
    config.clone_fd = true;
    config
}

/// The kernel offers FUSE no more than its default of 128 KiB when a mount begins; root may raise it afterwards.
/// Where that is refused, reading is only slower.
fn raise_readahead(at: &Path) {
    let raise = || -> io::Result<()> {
        let device = std::fs::metadata(at)?.dev();
        let path = format!("/sys/class/bdi/{}:{}/read_ahead_kb", libc::major(device), libc::minor(device));
        std::fs::write(path, "1024")
    };
    if let Err(error) = raise() {
        tracing::debug!(%error, "read-ahead stays at the kernel's default");
    }
}

impl Mount {
    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Unmount and wait until every request is answered. `force` takes it away from whoever uses it: their calls fail
    /// from then on. Already unmounted is no error.
    ///
    /// # Errors
    /// `Busy` where something is open or works there, and not `force`.
    pub fn unmount(&self, force: bool) -> Result<()> {
        if self.session.is_set() {
            return Ok(());
        }
        match umount(&self.at, 0) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && !force => return Err(Error::Busy),
            // Force ends the connection, detach takes the name away though files are open.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                umount(&self.at, libc::MNT_FORCE | libc::MNT_DETACH).map_err(|error| self.refused(&error))?;
            }
            // Somebody else was faster.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && self.session.is_set() => {
                return Ok(());
            }
            Err(error) => return Err(self.refused(&error)),
        }
        self.session.wait();
        Ok(())
    }

    /// Wait until it is unmounted, by whomever.
    pub fn wait(&self) {
        self.session.wait();
    }

    /// Whether it is unmounted, by whomever.
    pub fn is_unmounted(&self) -> bool {
        self.session.is_set()
    }

    fn refused(&self, error: &io::Error) -> Error {
        Error::Refused(format!("cannot unmount {}: {}", self.at.display(), words(error)))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(error) = self.unmount(true) {
            tracing::error!(%error, "a mount stays behind");
        }
    }
}

fn umount(at: &Path, flags: i32) -> io::Result<()> {
    let path = CString::new(at.as_os_str().as_bytes())?;
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    match unsafe { libc::umount2(path.as_ptr(), flags | libc::UMOUNT_NOFOLLOW) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests;
