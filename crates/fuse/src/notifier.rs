//! Tells the kernel what others changed: FUSE_NOTIFY_INVAL_ENTRY and FUSE_NOTIFY_INVAL_INODE. And
//! asks it to forget nodes where it knows too many: FUSE_NOTIFY_PRUNE, or, before Linux 6.18, that
//! the names of files lead nowhere.
//!
//! ```text
//!   engine ──changed──▶ Inodes (noted, once a node) ──one thread a mount, while there is something──▶ /dev/fuse
//! ```
//! To forget a name the kernel locks its directory, and to drop a page it waits for who reads it.
//! Both may wait for an answer of ours, so nobody tells who answers, and whoever changes something
//! does not wait until it is told. Attributes alone, of the node that a request is about, are told
//! before that is answered ([`Notifier::attributes`]). The thread comes with the first change and
//! goes after a moment without any.
//!
//! Where nodes are too many, the mount that has most of them is asked for some, once in a while:
//! what the kernel forgets it tells by and by.
//!
//! Invariant: what has been noted is told, as long as the mount is there; a thread that cannot be
//! had is tried for again with the next change.

use crate::abi;
use crate::channel::Channel;
use crate::device::Device;
use crate::inodes::{Inodes, Mark, Name, Names, Stale, What};
use crate::lock::lock;
use engine_api::{Changed, NodeId, Watcher};
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak, mpsc};
use std::time::{Duration, Instant};

/// How long the thread stays without anything to tell.
const IDLE: Duration = Duration::from_secs(1);
/// Files that the kernel writes for us at a time, of one mount: far fewer than requests that a
/// processor's ring can have in hand.
const FLUSHES: usize = 8;

/// Nodes that the kernel is asked to forget in one message; it takes more, in parts.
const AT_ONCE: usize = 512;
/// How often it is asked.
const EVERY: Duration = Duration::from_secs(1);

/// All mounts that are there.
#[derive(Default)]
pub struct Crowd(Mutex<All>);

#[derive(Default)]
struct All {
    mounts: Vec<Weak<Notifier>>,
    asked: Option<Instant>,
}

impl Crowd {
    fn add(&self, mount: Weak<Notifier>) {
        let mut all = lock(&self.0);
        all.mounts.retain(|mount| mount.strong_count() > 0);
        all.mounts.push(mount);
    }

    /// Has the mount ask with the most nodes, if none has lately.
    fn thin_out(&self) {
        // Whoever holds it does the same.
        let Ok(mut all) = self.0.try_lock() else { return };
        if all.asked.is_some_and(|asked| asked.elapsed() < EVERY) {
            return;
        }
        all.asked = Some(Instant::now());
        let mounts: Vec<Arc<Notifier>> = all.mounts.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        if let Some(largest) = mounts.into_iter().max_by_key(|mount| mount.inodes.count()) {
            largest.lock().prunes = true;
            largest.call();
        }
    }
}

/// See the module.
pub struct Notifier {
    inodes: Arc<Inodes>,
    crowd: Arc<Crowd>,
    /// The kernel knows FUSE_NOTIFY_PRUNE.
    can_prune: AtomicBool,
    /// The mount's; when that is gone there is nobody to tell.
    device: Weak<Device>,
    this: Weak<Notifier>,
    thread: Mutex<Thread>,
    more: Condvar,
    told: Condvar,
    /// How many files the kernel is just writing for us.
    flushes: AtomicUsize,
}

#[derive(Default)]
struct Thread {
    runs: bool,
    /// Something was noted since it looked.
    is_called: bool,
    /// It may not have told all that it found when it looked.
    tells: bool,
    /// The kernel is to be asked to forget nodes.
    prunes: bool,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}

impl Notifier {
    pub fn new(inodes: Arc<Inodes>, device: &Arc<Device>, crowd: Arc<Crowd>) -> Arc<Notifier> {
        let device = Arc::downgrade(device);
        let notifier = Arc::new_cyclic(|this| Notifier {
            inodes,
            crowd,
            can_prune: AtomicBool::new(false),
            device,
            this: this.clone(),
            thread: Mutex::default(),
            more: Condvar::new(),
            told: Condvar::new(),
            flushes: AtomicUsize::new(0),
        });
        notifier.crowd.add(notifier.this.clone());
        notifier
    }

    /// The kernel speaks this minor version.
    pub fn begin(&self, minor: u32) {
        self.can_prune.store(minor >= abi::PRUNE_MINOR, Ordering::Relaxed);
    }

    /// The kernel has been answered about these nodes, by what was there after `mark`.
    pub fn recheck(&self, mark: Mark, nodes: &[u64]) {
        let noted = nodes.iter().filter(|ino| self.inodes.recheck(mark, **ino));
        if noted.count() > 0 {
            self.call();
        }
        if self.inodes.is_crowded() {
            self.crowd.thin_out();
        }
    }

    /// The attributes of a node have changed: the kernel is told at once. Only for whoever has a
    /// request for that node in hand and has not answered it. Until then the kernel holds the node,
    /// and so it waits for nobody here: neither to find it nor to give it up.
    pub fn attributes(&self, ino: u64) {
        if let Some(device) = self.device.upgrade() {
            invalidate(&device, ino, false);
        }
    }

    /// Waits until all that has been noted is told. Whether it was within `bound`.
    pub fn wait(&self, bound: Duration) -> bool {
        let waited =
            self.told.wait_timeout_while(self.lock(), bound, |thread| thread.is_called || thread.tells);
        !waited.expect("nothing panics under this lock").1.timed_out()
    }

    /// Waits until the kernel believes nothing any more that was changed so far. Whether it was
    /// within `bound`.
    pub fn wait_until_seen(&self, bound: Duration) -> bool {
        let end = Instant::now() + bound;
        let is_told = self.wait(bound);
        let (more, left) = (self.inodes.still_believes(), end.saturating_duration_since(Instant::now()));
        std::thread::sleep(more.min(left));
        is_told && more <= left
    }

    /// Has the kernel write what mappings have changed of a file, and forget its pages. Whether it
    /// has, within `bound`. Not by the thread that tells, which the kernel may keep for the sake of
    /// another file.
    ///
    /// What the kernel writes is a request to this mount, which somebody has to be free to serve.
    /// So whoever is served himself waits here only among the first [`FLUSHES`]; the others are
    /// told at once that nothing was written.
    ///
    /// # Errors
    /// The operating system's, where there can be no thread.
    pub fn flush(&self, ino: u64, bound: Duration) -> io::Result<bool> {
        let (Some(this), Some(device)) = (self.this.upgrade(), self.device.upgrade()) else {
            return Ok(false);
        };
        let one_more = |flushes: usize| (flushes < FLUSHES).then_some(flushes + 1);
        if self.flushes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_err() {
            return Ok(false);
        }
        let (done, result) = mpsc::channel();
        let work = move || {
            let changed = What { data: true, names: Names::Same };
            tell(&device, &Stale { ino, changed, name: None });
            this.flushes.fetch_sub(1, Ordering::Relaxed);
            // Nobody may wait any more.
            let _ = done.send(());
        };
        let spawned = std::thread::Builder::new().name("fuse-flush".into()).spawn(work);
        spawned.map(drop).inspect_err(|_| {
            self.flushes.fetch_sub(1, Ordering::Relaxed);
        })?;
        Ok(result.recv_timeout(bound).is_ok())
    }

    /// There is something to tell.
    fn call(&self) {
        let mut thread = self.lock();
        thread.is_called = true;
        if thread.runs {
            drop(thread);
            self.more.notify_one();
            return;
        }
        let Some(this) = self.this.upgrade() else { return };
        match std::thread::Builder::new().name("fuse-notify".into()).spawn(move || this.run()) {
            Ok(_) => thread.runs = true,
            Err(error) => tracing::warn!(%error, "the kernel cannot be told what others change"),
        }
    }

    fn run(&self) {
        loop {
            let mut thread = self.lock();
            (thread.is_called, thread.tells) = (false, true);
            let prunes = std::mem::take(&mut thread.prunes);
            drop(thread);
            if prunes {
                self.prune();
            }
            while let Some(stale) = self.inodes.next_stale() {
                let Some(device) = self.device.upgrade() else { break };
                tell(&device, &stale);
                self.inodes.told(stale.ino);
            }
            let mut thread = self.lock();
            thread.tells = false;
            self.told.notify_all();
            let waited = self.more.wait_timeout_while(thread, IDLE, |thread| !thread.is_called);
            let (mut thread, _) = waited.expect("nothing panics under this lock");
            if !thread.is_called || self.device.strong_count() == 0 {
                thread.runs = false;
                return;
            }
        }
    }

    /// Asks the kernel to forget nodes. What is in use it keeps.
    fn prune(&self) {
        let mut left = self.inodes.surplus();
        while left > 0 {
            let Some(device) = self.device.upgrade() else { return };
            let oldest = self.inodes.oldest(left.min(AT_ONCE));
            if oldest.is_empty() {
                return;
            }
            left -= oldest.len();
            if self.can_prune.load(Ordering::Relaxed) {
                // A count of 32 bits, with 96 of nothing behind it.
                let mut body = vec![0; 16];
                body[..4].copy_from_slice(&(oldest.len() as u32).to_ne_bytes());
                body.extend(oldest.into_iter().flat_map(u64::to_ne_bytes));
                send(&device, abi::NOTIFY_PRUNE, &body);
            } else {
                let names = oldest.into_iter().filter_map(|ino| self.inodes.take_name(ino));
                names.for_each(|name| forget(&device, &name, 0));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Thread> {
        lock(&self.thread)
    }
}

impl Watcher for Notifier {
    fn changed(&self, node: NodeId, what: Changed) {
        if self.inodes.changed(node, what) {
            self.call();
        }
    }

    fn written(&self, objects: &[u64]) {
        if self.inodes.written(objects) {
            self.call();
        }
    }

    fn all_changed(&self) {
        if self.inodes.all_changed() {
            self.call();
        }
    }
}

/// The name first: that waits for who is just looking it up, so that afterwards the node is there
/// to be told of.
fn tell(device: &Device, stale: &Stale) {
    if let Some(name) = &stale.name {
        // To forget a name is to take away what is mounted below it.
        let flags = if stale.changed.names == Names::Changed { 0 } else { abi::EXPIRE_ONLY };
        forget(device, name, flags);
    }
    invalidate(device, stale.ino, stale.changed.data);
}

/// The attributes of a node, and what the kernel has of its data.
fn invalidate(device: &Device, ino: u64, data: bool) {
    // Below 0, only attributes; from 0 on, all data too.
    let from: i64 = if data { 0 } else { -1 };
    let words = [ino, from as u64, 0];
    send(device, abi::NOTIFY_INVAL_INODE, words.map(u64::to_ne_bytes).as_flattened());
}

/// That a name leads to a node, with these flags.
fn forget(device: &Device, Name(dir, name): &Name, flags: u32) {
    let mut body = Vec::with_capacity(abi::NOTIFY_ENTRY + name.len() + 1);
    body.extend_from_slice(&dir.to_ne_bytes());
    body.extend_from_slice(&(name.len() as u32).to_ne_bytes());
    body.extend_from_slice(&flags.to_ne_bytes());
    body.extend_from_slice(name);
    body.push(0);
    send(device, abi::NOTIFY_INVAL_ENTRY, &body);
}

fn send(device: &Device, what: i32, body: &[u8]) {
    let mut head = [0; abi::OUT_HEADER];
    head[..4].copy_from_slice(&((abi::OUT_HEADER + body.len()) as u32).to_ne_bytes());
    head[4..8].copy_from_slice(&what.to_ne_bytes());
    match device.send(&[IoSlice::new(&head), IoSlice::new(body)]) {
        Ok(()) => {}
        // It has no such node or name in its caches any more.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::debug!(%error, "the kernel is not told what has changed"),
    }
}
