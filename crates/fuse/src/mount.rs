//! Mounting and unmounting.
//!
//! The kernel may wait for this program, or for a pool that is suspended: so INIT, an unmount and
//! the end of a connection are waited for with a bound. [`mount()`] looks up its path, which may
//! lie below another mount of ours: who calls it waits with a bound, as [`within`] does.

use crate::apart::within;
use crate::channel::Channel;
use crate::device::{self, Device};
use crate::flat::Flat;
use crate::inodes::Inodes;
use crate::lock::lock;
use crate::mountinfo::{device_of, holders};
use crate::notifier::Notifier;
use crate::ops::Ops;
use crate::options::{Current, MountOptions};
use crate::pool::{Pool, Serve, Told};
use crate::rings::Rings;
use crate::server::Server;
use engine_api::refusal::{Action, MountFault, Reason, Refused};
use engine_api::{Error, FileSystem, Result, Watcher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use stdx::os_error::words;

/// How long INIT may take to come, an unmount to write what is dirty, and a connection to end.
const BEGIN: Duration = Duration::from_secs(10);
const FLUSH: Duration = Duration::from_secs(60);
const FLUSH_BY_FORCE: Duration = Duration::from_secs(5);
/// How long who holds it is waited for: a program that starts another one has its files open there,
/// too, until that runs. And how long it takes between.
const HELD: Duration = Duration::from_millis(300);
const BETWEEN: Duration = Duration::from_millis(30);
const END: Duration = Duration::from_millis(300);

/// A mounted file system. Dropped, it is unmounted, by force where it is busy.
#[derive(Debug)]
pub struct Mount {
    at: PathBuf,
    /// `major:minor` of its device; `None` where the kernel did not tell.
    device: Option<String>,
    pool: Pool,
    number: u64,
    session: Arc<Ended>,
    options: Arc<Current>,
    notifier: Arc<Notifier>,
}

/// What the kernel is being told of a mount; outlives it.
pub struct Telling {
    notifier: Arc<Notifier>,
    session: Arc<Ended>,
}

impl Telling {
    /// Waits until the kernel knows all that has been changed so far. Whether it was within
    /// `bound`, or the mount is gone. It takes longer where the kernel waits for somebody, such as
    /// a disk of a pool that is suspended.
    pub fn wait(&self, bound: Duration) -> bool {
        self.session.is_set() || self.notifier.wait_until_seen(bound) || self.session.is_set()
    }
}

/// Whether the session is over.
#[derive(Debug, Default)]
struct Ended {
    over: Mutex<bool>,
    changed: Condvar,
}

impl Ended {
    fn set(&self) {
        *lock(&self.over) = true;
        self.changed.notify_all();
    }

    fn is_set(&self) -> bool {
        *lock(&self.over)
    }

    fn wait(&self) {
        let over = lock(&self.over);
        drop(self.changed.wait_while(over, |over| !*over).expect("nothing panics under this lock"));
    }

    /// Whether it is over after that long at the latest.
    fn wait_for(&self, bound: Duration) -> bool {
        let over = lock(&self.over);
        let waited = self.changed.wait_timeout_while(over, bound, |over| !*over);
        *waited.expect("nothing panics under this lock").0
    }
}

/// A connection, from INIT to its end.
struct Session {
    device: Arc<Device>,
    ops: Ops,
    at: PathBuf,
    ended: Arc<Ended>,
    told: Told,
}

impl Serve for Session {
    fn device(&self) -> &Device {
        &self.device
    }

    fn serve(&self, to: &dyn Channel, request: &[u8]) -> bool {
        self.ops.serve(to, request)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.ops.close();
        tracing::info!(at = %self.at.display(), "unmounted");
        // Said here, because anybody may unmount it.
        self.ended.set();
        if let Some(tell) = self.told.get() {
            tell();
        }
    }
}

/// Mount `fs` at an existing directory, for every user of the machine. Needs root (CAP_SYS_ADMIN),
/// or fusermount3.
///
/// # Errors
/// `Refused` with the operating system's reason.
pub fn mount(pool: &Pool, fs: Arc<dyn FileSystem>, at: &Path, options: &MountOptions) -> Result<Mount> {
    let refuse = |at: &Path, reason| Refused::new(Action::Use { path: at.display().to_string() }, reason);
    let real = at.canonicalize().map_err(|error| refuse(at, os(&error)))?;
    let mount_with = |rings| attempt(pool, fs.clone(), &real, options, rings);
    match mount_with(pool.rings()) {
        Err(Failed::Rings(error)) => {
            tracing::warn!(at = %real.display(), %error, "mounted without io_uring");
            mount_with(None)
        }
        done => done,
    }
    .map_err(|failed| match failed {
        Failed::Mount(error) => refuse(&real, why_not_mounted(&error, is_root())).into(),
        Failed::Begin(error) | Failed::Rings(error) => refuse(at, os(&error)).into(),
    })
}

fn os(error: &io::Error) -> Reason {
    Reason::Os { message: words(error) }
}

/// Where a mount failed; it is not there.
enum Failed {
    Mount(io::Error),
    Begin(io::Error),
    /// Without rings it may be better.
    Rings(io::Error),
}

/// Mount, with requests over `rings` where the kernel agrees.
fn attempt(
    pool: &Pool,
    fs: Arc<dyn FileSystem>,
    at: &Path,
    options: &MountOptions,
    rings: Option<Rings>,
) -> std::result::Result<Mount, Failed> {
    let device = Arc::new(Device::mount(at, options).map_err(Failed::Mount)?);
    let current = Arc::new(Current::new(options));
    let fs = Flat::new(fs);
    let whose = Arc::downgrade(&fs);
    let inodes = Arc::new(Inodes::new(move || Some(whose.upgrade()?.root()), pool.room()));
    let notifier = Notifier::new(inodes.clone(), &device, pool.crowd());
    let watcher: Arc<dyn Watcher> = notifier.clone();
    let origin = fs.watch(Arc::downgrade(&watcher));
    let server = Server::new(fs, inodes, origin, options.cache, current.clone());
    let ops = Ops::new(server, notifier.clone(), pool.counting());
    let begun = device.wait(BEGIN).and_then(|()| ops.begin(&device, rings.is_some()));
    let ended = Arc::new(Ended::default());
    let session = Session { device, ops, at: at.to_owned(), ended: ended.clone(), told: pool.told() };
    let io_uring = matches!(begun, Ok(true));
    let added = match begun {
        Ok(true) => pool.add(Box::new(session), rings).map_err(Failed::Rings),
        Ok(false) => pool.add(Box::new(session), None).map_err(Failed::Begin),
        Err(error) => Err(Failed::Begin(error)),
    };
    let number = added.inspect_err(|_| drop(device::unmount(at, libc::MNT_DETACH)))?;
    let device = device_of(at);
    raise_readahead(device.as_deref());
    tracing::info!(at = %at.display(), source = options.source, io_uring, "mounted");
    Ok(Mount {
        at: at.to_owned(),
        device,
        pool: pool.clone(),
        number,
        session: ended,
        options: current,
        notifier,
    })
}

fn is_root() -> bool {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Why a mount failed, and what would help. Who is not root mounts through fusermount3, which may
/// not be there, or not allow what everybody is to see; its own words name no cure.
fn why_not_mounted(error: &io::Error, root: bool) -> Reason {
    match error.kind() {
        io::ErrorKind::PermissionDenied if !root => MountFault::NotForAll.into(),
        io::ErrorKind::NotFound if !root => MountFault::NoHelper.into(),
        _ => {
            let text = words(error);
            let text = text.trim();
            let program = ["fusermount3: ", "fusermount: "];
            let message = program.iter().find_map(|name| text.strip_prefix(name)).unwrap_or(text).to_owned();
            Reason::Os { message }
        }
    }
}

/// fusermount3 cannot give a mount other options.
fn why_not_remounted(error: &io::Error, root: bool) -> Reason {
    match error.kind() {
        io::ErrorKind::PermissionDenied if !root => MountFault::RemountByRoot.into(),
        _ => os(error),
    }
}

/// The kernel offers FUSE no more than its default of 128 KiB when a mount begins; root may raise
/// it afterwards. Where that is refused, reading is only slower.
fn raise_readahead(device: Option<&str>) {
    let Some(device) = device else { return };
    if let Err(error) = std::fs::write(format!("/sys/class/bdi/{device}/read_ahead_kb"), "1024") {
        tracing::debug!(%error, "read-ahead stays at the kernel's default");
    }
}

impl Mount {
    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Other options from now on; source and caching stay.
    ///
    /// # Errors
    /// `Refused` with the operating system's reason.
    pub fn remount(&self, options: &MountOptions) -> Result<()> {
        let (at, now) = (self.at.clone(), options.clone());
        // The kernel writes what is dirty first, which may have to wait for a pool.
        let done = within("fuse-remount", FLUSH, move || device::remount(&at, &now));
        done.flatten().map_err(|error| Refused::because(why_not_remounted(&error, is_root())))?;
        self.options.set(options);
        Ok(())
    }

    pub fn telling(&self) -> Telling {
        Telling { notifier: self.notifier.clone(), session: self.session.clone() }
    }

    /// Unmount and wait until every request is answered. `force` takes it away from whoever uses
    /// it: their calls fail from then on. Another mount namespace that has it too loses it in
    /// either case, and the log names its processes. Already unmounted is no error.
    ///
    /// # Errors
    /// `Busy` where something is open or works there, and not `force`.
    pub fn unmount(&self, force: bool) -> Result<()> {
        if self.session.is_set() {
            return Ok(());
        }
        let detached = if force { self.detach(FLUSH_BY_FORCE) } else { self.detach_soon() };
        match (detached, force) {
            (Ok(()), _) => {}
            (Err(_), _) if self.session.is_set() => return Ok(()),
            (Err(error), false) if busy(&error) => return Err(Error::Busy),
            // Force ends the connection, detach takes the name away though files are open.
            (Err(error), true) if busy(&error) => {
                device::unmount(&self.at, libc::MNT_FORCE | libc::MNT_DETACH)
                    .map_err(|error| self.refused(&error))?;
            }
            // Somebody else has taken it away from here.
            (Err(error), _) if error.raw_os_error() == Some(libc::EINVAL) => {}
            (Err(error), _) => return Err(self.refused(&error)),
        }
        if !self.session.wait_for(END) {
            self.abort();
        }
        Ok(())
    }

    /// Again, where somebody holds it for a moment only.
    fn detach_soon(&self) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            match self.detach(FLUSH) {
                Err(error) if busy(&error) && begun.elapsed() < HELD => thread::sleep(BETWEEN),
                done => return done,
            }
        }
    }

    /// What is dirty is written, then it is gone from this mount namespace. In a thread of its own,
    /// which the kernel may keep: `ResourceBusy` where it is not done in time.
    fn detach(&self, bound: Duration) -> io::Result<()> {
        let at = self.at.clone();
        match within("fuse-unmount", bound, move || device::unmount(&at, 0)) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(io::Error::from_raw_os_error(libc::EBUSY))
            }
            done => done?,
        }
    }

    /// It is still mounted in another namespace: nobody is served any more.
    fn abort(&self) {
        let holders = self.device.as_deref().map(holders).unwrap_or_default();
        tracing::warn!(at = %self.at.display(), ?holders, "is mounted elsewhere too: the connection is cut");
        self.pool.remove(self.number);
        if let Some((_, minor)) = self.device.as_deref().and_then(|device| device.split_once(':')) {
            // Where this cannot be written, what is being served ends first.
            let _ = std::fs::write(format!("/sys/fs/fuse/connections/{minor}/abort"), "1");
        }
        if !self.session.wait_for(END) {
            tracing::warn!(at = %self.at.display(), "requests are still being served");
        }
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
        Refused::new(Action::Unmount { path: self.at.display().to_string() }, os(error)).into()
    }
}

fn busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EBUSY)
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(error) = self.unmount(true) {
            tracing::error!(%error, "a mount stays behind");
        }
    }
}

#[cfg(test)]
mod tests;
