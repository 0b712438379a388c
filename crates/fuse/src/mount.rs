//! Mounting and unmounting.
//!
//! The kernel may wait for this program, or for a pool that is suspended: so INIT, an unmount and
//! the end of a connection are waited for with a bound. [`mount()`] looks up its path, which may
//! lie below another mount of ours: who calls it waits with a bound, as [`within`] does.

use crate::channel::Channel;
use crate::device::Device;
use crate::flat::Flat;
use crate::inodes::Inodes;
use crate::lock::lock;
use crate::notifier::Notifier;
use crate::ops::Ops;
use crate::options::{Current, MountOptions};
use crate::pool::{Pool, Serve, Told};
use crate::rings::Rings;
use crate::server::Server;
use crate::why::{os, why};
use engine_api::refusal::{Action, Refused};
use engine_api::{Error, FileSystem, Result, Watcher};
use mounter::{DeviceId, Fault, How, Mounter, Wanted, within};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

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
    /// `None` where the kernel did not tell.
    device: Option<DeviceId>,
    mounter: Mounter,
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

/// Where to mount.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// A directory; made where it is missing.
    pub path: &'a Path,
    /// Also where it has entries.
    pub overlay: bool,
}

/// Mount `fs` for every user of the machine, by `mounter`.
///
/// # Errors
/// `NotEmpty`; `Refused` with the operating system's reason, or the mount broker's.
pub fn mount(
    pool: &Pool,
    mounter: &Mounter,
    fs: Arc<dyn FileSystem>,
    at: At<'_>,
    options: &MountOptions,
) -> Result<Mount> {
    let mount_with = |rings| attempt(pool, mounter, fs.clone(), at, options, rings);
    let made = match mount_with(pool.rings()) {
        Err(Failed::Rings(error)) => {
            tracing::warn!(at = %at.path.display(), %error, "mounted without io_uring");
            mount_with(None)
        }
        done => done,
    };
    made.map_err(|failed| why_not_mounted(failed, at.path))
}

/// Where a mount failed; it is not there.
enum Failed {
    Mount(Fault),
    Begin(io::Error),
    /// Without rings it may be better.
    Rings(io::Error),
}

/// Mount, with requests over `rings` where the kernel agrees.
fn attempt(
    pool: &Pool,
    mounter: &Mounter,
    fs: Arc<dyn FileSystem>,
    At { path, overlay }: At<'_>,
    options: &MountOptions,
    rings: Option<Rings>,
) -> std::result::Result<Mount, Failed> {
    let (source, flags) = (options.source.clone(), options.flags());
    let wanted = Wanted { at: path.to_owned(), source, flags, overlay };
    let made = mounter.mount(&wanted).map_err(Failed::Mount)?;
    let (device, at) = (Arc::new(Device::from(made.device)), made.at);
    let current = Arc::new(Current::new(options));
    let fs = Flat::new(fs);
    let whose = Arc::downgrade(&fs);
    let inodes = Arc::new(Inodes::new(move || Some(whose.upgrade()?.root()), pool.room()));
    let notifier = Notifier::new(inodes.clone(), &device, pool.crowd());
    let watcher: Arc<dyn Watcher> = notifier.clone();
    let origin = fs.watch(Arc::downgrade(&watcher));
    let server = Server::new(fs, inodes, origin, options.cache, current.clone());
    let ops = Ops::new(server, notifier.clone(), pool.counting(), pool.observer());
    let begun = device.wait(BEGIN).and_then(|()| ops.begin(&device, rings.is_some()));
    let ended = Arc::new(Ended::default());
    let session = Session { device, ops, at: at.clone(), ended: ended.clone(), told: pool.told() };
    let io_uring = matches!(begun, Ok(true));
    let added = match begun {
        Ok(true) => pool.add(Box::new(session), rings).map_err(Failed::Rings),
        Ok(false) => pool.add(Box::new(session), None).map_err(Failed::Begin),
        Err(error) => Err(Failed::Begin(error)),
    };
    let number = added.inspect_err(|_| drop(mounter.unmount(&at, How::Lazily)))?;
    // Where that is refused, reading is only slower.
    if let Err(fault) = mounter.raise_read_ahead(&at) {
        tracing::debug!(?fault, "read-ahead stays at the kernel's default");
    }
    tracing::info!(at = %at.display(), source = options.source, io_uring, "mounted");
    Ok(Mount {
        at,
        device: made.id,
        mounter: mounter.clone(),
        pool: pool.clone(),
        number,
        session: ended,
        options: current,
        notifier,
    })
}

fn why_not_mounted(failed: Failed, at: &Path) -> Error {
    let reason = match failed {
        Failed::Mount(Fault::NotEmpty) => return Error::NotEmpty,
        Failed::Mount(fault) => why(&fault),
        Failed::Begin(error) | Failed::Rings(error) => os(&error),
    };
    Refused::new(Action::Use { path: at.display().to_string() }, reason).into()
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
        let (at, flags, mounter) = (self.at.clone(), options.flags(), self.mounter.clone());
        // The kernel writes what is dirty first, which may have to wait for a pool.
        let done = within("fuse-remount", FLUSH, move || mounter.remount(&at, flags));
        done.map_err(Fault::Os).flatten().map_err(|fault| Refused::because(why(&fault)))?;
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
        let detached = if force { self.detach(How::Gently, FLUSH_BY_FORCE) } else { self.detach_soon() };
        match (detached, force) {
            (Ok(()), _) => {}
            (Err(_), _) if self.session.is_set() => return Ok(()),
            (Err(fault), false) if busy(&fault) => return Err(Error::Busy),
            // Force ends the connection, detach takes the name away though files are open.
            (Err(fault), true) if busy(&fault) => {
                self.detach(How::ByForce, FLUSH_BY_FORCE).map_err(|fault| self.refused(&fault))?;
            }
            // Somebody else has taken it away from here.
            (Err(Fault::NotOurs), _) => {}
            (Err(fault), _) if fault.errno() == Some(libc::EINVAL) => {}
            (Err(fault), _) => return Err(self.refused(&fault)),
        }
        if !self.session.wait_for(END) {
            self.abort();
        }
        Ok(())
    }

    /// Again, where somebody holds it for a moment only.
    fn detach_soon(&self) -> std::result::Result<(), Fault> {
        let begun = Instant::now();
        loop {
            match self.detach(How::Gently, FLUSH) {
                Err(fault) if busy(&fault) && begun.elapsed() < HELD => thread::sleep(BETWEEN),
                done => return done,
            }
        }
    }

    /// It is gone from the machine's mount namespace. In a thread of its own, which the kernel may
    /// keep while what is dirty is written: `EBUSY` where it is not done in time.
    fn detach(&self, how: How, bound: Duration) -> std::result::Result<(), Fault> {
        let (at, mounter) = (self.at.clone(), self.mounter.clone());
        match within("fuse-unmount", bound, move || mounter.unmount(&at, how)) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(io::Error::from_raw_os_error(libc::EBUSY).into())
            }
            done => done?,
        }
    }

    /// It is still mounted in another namespace: nobody is served any more.
    fn abort(&self) {
        tracing::warn!(at = %self.at.display(), "is mounted elsewhere too, and is served no more");
        self.pool.remove(self.number);
        if let Some(device) = self.device {
            let mounter = self.mounter.clone();
            // Where this cannot be done, what is being served ends first.
            let cut = within("fuse-cut", FLUSH_BY_FORCE, move || mounter.cut(device));
            if let Err(fault) = cut.map_err(Fault::Os).flatten() {
                tracing::debug!(?fault, "the connection is not cut");
            }
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

    fn refused(&self, fault: &Fault) -> Error {
        Refused::new(Action::Unmount { path: self.at.display().to_string() }, why(fault)).into()
    }
}

fn busy(fault: &Fault) -> bool {
    fault.errno() == Some(libc::EBUSY)
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(error) = self.unmount(true) {
            tracing::error!(%error, "a mount stays behind");
        }
    }
}
