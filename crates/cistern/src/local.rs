//! Local mounts through FUSE, shares through NFS and sessions of iSCSI initiators, for the
//! management API.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use analytics::Observer;
use api::Program;
use api_types::{Disk, IscsiSession, IscsiTally, IscsiUnit, ProgramStatistics};
use appliance::{LocalMount, LocalMounts, LocalShare, MountSpec, mount_props, mount_word};
use engine_api::refusal::{Action, MountFault, Reason, Refused};
use engine_api::{DatasetFilter, DatasetKind, Engine, Error, PropValue, Result, Serving};
use env::lock;
use fuse::{At, Mount, MountOptions, Pool, why};
use mounter::{Fault, Mounter, within};
use stdx::os_error::words;

use crate::mount_list::MountList;
use crate::remembering::RememberingEngine;
use crate::turns::{Turn, Turns};
use crate::{disks, logging, statistics};

/// How long the kernel is waited for to forget what a mount showed. It takes some µs for each file
/// that it knows.
const REFRESH: Duration = Duration::from_secs(10);
/// How long the directories of mounts may take to go, and somebody to say what is in one.
const LEAVE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_secs(10);
/// How long a mount may take, and how long somebody else's change of the same mount is waited for.
/// A mount point may lie in a file system that does not answer, such as one of ours whose pool
/// waits for its disks.
const MOUNT: Duration = Duration::from_secs(20);
const TURN: Duration = Duration::from_secs(5);

pub struct Local {
    engine: Arc<RememberingEngine>,
    /// Serves all local mounts.
    pool: Pool,
    mounter: Mounter,
    mounts: Mutex<Mounts>,
    turns: Arc<Turns>,
    list: MountList,
    /// The program ends: nothing is mounted any more.
    is_stopping: AtomicBool,
    /// Folders where pools are looked for.
    search: Vec<String>,
    /// They begin later than the API does.
    pub servers: Servers,
}

/// Servers whose counts are told, as far as they are there.
#[derive(Default)]
pub struct Servers {
    pub nfs: OnceLock<Arc<nfs::Server>>,
    pub iscsi: OnceLock<Arc<iscsi::Server>>,
    pub nbd: OnceLock<Arc<nbd::Server>>,
    /// Shows their requests, and those of local mounts, to who looks.
    pub observer: Arc<Observer>,
}

#[derive(Default)]
struct Mounts {
    there: BTreeMap<String, Mounted>,
    /// Those that could not be mounted again at the start, or were unmounted at the end: they are
    /// written down until they are mounted.
    missed: Vec<LocalMount>,
}

impl Mounts {
    /// Somebody else may have unmounted some.
    fn look(&mut self) {
        self.there.retain(|_, mounted| !mounted.mount.is_unmounted());
    }

    fn describe(&self) -> impl Iterator<Item = LocalMount> {
        self.there.iter().map(|(dataset, mounted)| LocalMount {
            dataset: dataset.clone(),
            mountpoint: mounted.at.clone(),
            options: mounted.options.clone(),
        })
    }
}

struct Mounted {
    mount: Arc<Mount>,
    /// As the kernel has it, without symbolic links.
    at: String,
    options: String,
}

impl Local {
    /// # Errors
    /// The operating system's, where it has no more descriptors or threads, and where the list
    /// cannot be read.
    pub fn new(
        engine: Arc<RememberingEngine>,
        list: MountList,
        mounter: Mounter,
        limits: fuse::Limits,
        search: Vec<String>,
    ) -> std::io::Result<Arc<Local>> {
        let missed = list.load().map_err(|error| {
            std::io::Error::new(error.kind(), format!("{}: {error}", list.path().display()))
        })?;
        let (servers, mounts) = (Servers::default(), Mutex::new(Mounts { missed, ..Mounts::default() }));
        let pool = Pool::new(limits, servers.observer.clone())?;
        let (ended, ends) = sync_channel(1);
        // One that has not been taken yet tells of all.
        pool.on_end(move || {
            let _ = ended.try_send(());
        });
        let (turns, is_stopping) = (Arc::default(), AtomicBool::new(false));
        let local = Local { engine, pool, mounter, mounts, turns, list, is_stopping, search, servers };
        let local = Arc::new(local);
        let whose = Arc::downgrade(&local);
        thread::Builder::new().name("mounts".into()).spawn(move || write_down(&whose, &ends))?;
        Ok(local)
    }

    /// Writes down what is mounted, without what somebody else has unmounted, and what could not
    /// be.
    fn save(&self, mounts: &mut Mounts) {
        mounts.look();
        self.list.save(mounts.describe().chain(mounts.missed.iter().cloned()));
    }

    /// Takes the mounts away that a killed program of this state directory has left. Nothing else
    /// may run on it.
    pub fn remove_dead(&self) {
        let mut left: Vec<String> =
            lock(&self.mounts).missed.iter().map(|it| it.mountpoint.clone()).collect();
        // Parents first: what lies below one goes with it.
        left.sort_unstable();
        for at in left {
            let looked = self.look(&at, Mounter::remove_dead);
            match looked.and_then(|removed| removed.map_err(|fault| unusable(&at, &fault))) {
                Ok(true) => tracing::info!(at, "what a killed program had mounted is taken away"),
                Ok(false) => {}
                Err(error) => {
                    tracing::error!(at, %error, "what a killed program had mounted cannot be taken away");
                }
            }
        }
    }

    /// Mounts what was mounted when the program last ran. What cannot be is logged, and still
    /// remembered, unless the file system is no more.
    pub fn mount_remembered(&self) {
        let mut missed = lock(&self.mounts).missed.clone();
        missed.sort_unstable_by(|a, b| a.mountpoint.cmp(&b.mountpoint));
        for mount in missed {
            if self.is_stopping() {
                break;
            }
            let mounted = self.mount(&mount.again());
            match &mounted {
                Err(error) if comes_later(error) => {
                    tracing::info!(dataset = mount.dataset, %error, "not mounted again yet");
                }
                Err(error) if !self.is_stopping() => {
                    tracing::error!(dataset = mount.dataset, %error, "cannot be mounted again");
                }
                _ => {}
            }
            let is_gone = match mounted {
                Ok(()) | Err(Error::Busy) => true,
                Err(Error::NotFound) => !self.engine.is_absent(pool_of(&mount.dataset)),
                Err(_) => false,
            };
            if is_gone {
                lock(&self.mounts).missed.retain(|missed| missed.dataset != mount.dataset);
            }
        }
        let mut mounts = lock(&self.mounts);
        self.save(&mut mounts);
    }

    /// From now on nothing is mounted: the program is about to end.
    pub fn stop_mounting(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// How a dataset is to be mounted, with these words.
    fn options(&self, dataset: &str, words: &[String]) -> Result<MountOptions> {
        let filter = DatasetFilter {
            roots: vec![dataset.to_owned()],
            depth: Some(0),
            alone: false,
            kinds: vec![DatasetKind::Filesystem],
            props: mount_props().map(str::to_owned).collect(),
        };
        let found = self.engine.pool(pool_of(dataset))?.datasets(&filter)?;
        let props = found.into_iter().next().map(|info| info.props).unwrap_or_default();
        Ok(mount_options(dataset, &props, words))
    }

    /// What is mounted there, as long as it is.
    fn mount_of(&self, dataset: &str) -> Result<Arc<Mount>> {
        lock(&self.mounts).there.get(dataset).map(|mounted| mounted.mount.clone()).ok_or(Error::NotFound)
    }

    /// What there is at a path, which may not answer.
    fn look<T: Send + 'static>(
        &self,
        at: &str,
        look: impl FnOnce(&Mounter, &Path) -> std::result::Result<T, Fault> + Send + 'static,
    ) -> Result<std::result::Result<T, Fault>> {
        let (mounter, path) = (self.mounter.clone(), PathBuf::from(at));
        let found = within("local-look", LOOK, move || look(&mounter, &path));
        found.map_err(|error| does_not_answer(&error, at))
    }

    fn turn(&self, dataset: &str) -> Result<Turn> {
        self.turns.take(dataset, TURN).ok_or(Error::Busy)
    }

    /// For the end of the program.
    pub fn unmount_all(&self) {
        self.stop_mounting();
        if !self.turns.wait(TURN, |_| true) {
            tracing::warn!("a mount is still being made or taken away");
        }
        let mut mounts = lock(&self.mounts);
        self.save(&mut mounts);
        let there: Vec<LocalMount> = mounts.describe().collect();
        mounts.missed.extend(there);
        let all = std::mem::take(&mut mounts.there);
        drop(mounts);
        // Children before parents: the reverse of name order.
        for (dataset, mounted) in all.into_iter().rev() {
            if let Err(error) = mounted.mount.unmount(true) {
                tracing::warn!(dataset, %error, "cannot be unmounted");
            }
        }
    }
}

/// Writes the list when a mount has ended, which somebody else may have unmounted.
fn write_down(local: &Weak<Local>, ends: &Receiver<()>) {
    for () in ends {
        let Some(local) = local.upgrade() else { return };
        let mut mounts = lock(&local.mounts);
        local.save(&mut mounts);
    }
}

/// Somebody else is about to do it: whoever imports the pool, or mounts the file system.
fn comes_later(error: &Error) -> bool {
    let under_way =
        |reason: &Reason| matches!(reason, Reason::ImportingWait | Reason::Mount(MountFault::UnderWay));
    matches!(error, Error::Refused(refused) if under_way(&refused.reason))
}

fn pool_of(dataset: &str) -> &str {
    dataset.split(['/', '@']).next().unwrap_or_default()
}

/// What properties say, and words that go before them.
fn mount_options(dataset: &str, props: &[PropValue], words: &[String]) -> MountOptions {
    let mut options = MountOptions { source: dataset.to_owned(), ..MountOptions::default() };
    let said = props.iter().map(|prop| (prop.name.as_str(), prop.value != "off"));
    for (prop, on) in said.chain(words.iter().filter_map(|word| mount_word(word))) {
        match prop {
            "readonly" => options.read_only = on,
            "atime" => options.atime = on,
            "relatime" => options.relatime = on,
            "setuid" => options.setuid = on,
            "devices" => options.devices = on,
            "exec" => options.exec = on,
            "xattr" => options.xattr = on,
            _ => {}
        }
    }
    options
}

fn refuse(reason: impl Into<Reason>) -> Error {
    Refused::because(reason).into()
}

fn os(error: &std::io::Error) -> Reason {
    Reason::Os { message: words(error) }
}

fn unusable(path: &str, fault: &Fault) -> Error {
    Refused::new(Action::Use { path: path.to_owned() }, why(fault)).into()
}

fn does_not_answer(error: &std::io::Error, at: &str) -> Error {
    match error.kind() {
        std::io::ErrorKind::TimedOut => refuse(MountFault::NoAnswer { path: at.to_owned() }),
        _ => refuse(os(error)),
    }
}

impl LocalMounts for Local {
    fn is_free(&self, at: &str) -> Result<()> {
        match self.look(at, Mounter::has_entries)? {
            Ok(true) => Err(Error::NotEmpty),
            Ok(false) => Ok(()),
            Err(fault) => Err(refuse(why(&fault))),
        }
    }

    fn mount(&self, spec: &MountSpec) -> Result<()> {
        let turn = self.turn(&spec.dataset).map_err(|_| refuse(MountFault::UnderWay))?;
        if self.mount_of(&spec.dataset).is_ok_and(|mount| !mount.is_unmounted()) {
            return Err(Error::Busy);
        }
        if self.is_stopping() {
            return Err(refuse(MountFault::Ending));
        }
        let fs = self.engine.pool(pool_of(&spec.dataset))?.open_fs(&spec.dataset)?;
        let options = self.options(&spec.dataset, &spec.options)?;
        // Who comes too late keeps the turn, and takes away what nobody has waited for.
        let make = {
            let (pool, mounter, spec) = (self.pool.clone(), self.mounter.clone(), spec.clone());
            move || {
                let at = At { path: Path::new(&spec.mountpoint), overlay: spec.overlay };
                fuse::mount(&pool, &mounter, fs, at, &options).map(|mount| (mount, turn))
            }
        };
        let made = within("local-mount", MOUNT, make);
        let (mount, _turn) = made.map_err(|error| does_not_answer(&error, &spec.mountpoint))??;
        let at = mount.path().to_str().map_or_else(|| spec.mountpoint.clone(), str::to_owned);
        let mount = Arc::new(mount);
        let mut mounts = lock(&self.mounts);
        if self.is_stopping() {
            // All have been unmounted in the meantime, or soon are: this one goes by itself.
            return Err(refuse(MountFault::Ending));
        }
        mounts.there.insert(spec.dataset.clone(), Mounted { mount, at, options: spec.options.join(",") });
        mounts.missed.retain(|missed| missed.dataset != spec.dataset);
        self.save(&mut mounts);
        Ok(())
    }

    fn remount(&self, dataset: &str, options: &[String]) -> Result<()> {
        let now = self.options(dataset, options)?;
        let _turn = self.turn(dataset)?;
        let mount = self.mount_of(dataset)?;
        if mount.is_unmounted() {
            return Err(Error::NotFound);
        }
        mount.remount(&now)?;
        let mut mounts = lock(&self.mounts);
        if let Some(mounted) = mounts.there.get_mut(dataset) {
            mounted.options = options.join(",");
        }
        self.save(&mut mounts);
        Ok(())
    }

    fn renamed(&self, from: &str, to: &str) {
        let mut mounts = lock(&self.mounts);
        let new_name = |dataset: &str| {
            let rest = dataset.strip_prefix(from)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
        };
        let all = std::mem::take(&mut mounts.there).into_iter();
        mounts.there =
            all.map(|(dataset, mounted)| (new_name(&dataset).unwrap_or(dataset), mounted)).collect();
        self.save(&mut mounts);
    }

    fn unmount(&self, dataset: &str, force: bool) -> Result<()> {
        let _turn = self.turn(dataset)?;
        let mount = self.mount_of(dataset)?;
        if !mount.is_unmounted() {
            mount.unmount(force)?;
        }
        let mut mounts = lock(&self.mounts);
        mounts.there.remove(dataset);
        self.save(&mut mounts);
        Ok(())
    }

    fn settled(&self, of: &dyn Fn(&str) -> bool) -> Result<()> {
        self.turns.wait(TURN, of).then_some(()).ok_or(Error::Busy)
    }

    fn leave(&self, all: Vec<String>) {
        if all.is_empty() {
            return;
        }
        // They may lie on a mount of ours, whose pool may be suspended.
        let mounter = self.mounter.clone();
        let remove = move || {
            for at in all {
                if let Err(fault) = mounter.remove_directory(Path::new(&at)) {
                    tracing::debug!(at, ?fault, "the directory of a mount stays");
                }
            }
        };
        if let Err(error) = within("fuse-leave", LEAVE, remove) {
            tracing::debug!(%error, "directories of mounts may stay");
        }
    }

    fn refresh(&self, dataset: &str) -> bool {
        let telling = lock(&self.mounts).there.get(dataset).map(|mounted| mounted.mount.telling());
        telling.is_none_or(|telling| telling.wait(REFRESH))
    }

    fn mounted(&self) -> Vec<LocalMount> {
        let mut mounts = lock(&self.mounts);
        mounts.look();
        mounts.describe().collect()
    }

    fn mounted_at(&self, path: &str) -> Result<Option<String>> {
        let at = match self.look(path, Mounter::resolve)? {
            Err(Fault::Os(error)) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(|fault| unusable(path, &fault))?,
        };
        let mounts = self.mounted();
        Ok(mounts.into_iter().find(|mount| Path::new(&mount.mountpoint) == at).map(|mount| mount.dataset))
    }

    fn share(&self, dataset: &str) -> Result<()> {
        self.engine.offer(dataset);
        Ok(())
    }

    fn unshare(&self, dataset: &str) -> Result<()> {
        self.engine.withdraw(dataset);
        Ok(())
    }

    fn withdrawn(&self) -> Vec<String> {
        self.engine.withdrawn()
    }

    fn shared(&self) -> Vec<LocalShare> {
        let served = self.engine.served().into_iter();
        let shared = served.filter_map(|served| {
            let path = served.mountpoint?;
            Some(LocalShare { dataset: served.dataset, path, options: served.sharenfs })
        });
        shared.collect()
    }
}

impl Program for Local {
    fn log_filter(&self, wanted: Option<&str>) -> Result<String> {
        logging::filter(wanted).map_err(Error::Invalid)
    }

    fn statistics(&self) -> ProgramStatistics {
        let Servers { nfs, iscsi, nbd, .. } = &self.servers;
        ProgramStatistics {
            nfs: nfs.get().map(|server| statistics::of_nfs(server)).unwrap_or_default(),
            iscsi: iscsi.get().map(|server| statistics::of_iscsi(server)).unwrap_or_default(),
            nbd: nbd.get().map(|server| statistics::of_nbd(server)).unwrap_or_default(),
            fuse: statistics::of_fuse(&self.pool, self.mounted().len()),
            process: statistics::of_process(),
        }
    }

    fn observer(&self) -> Arc<Observer> {
        self.servers.observer.clone()
    }

    fn disks(&self) -> Result<Vec<Disk>> {
        disks::list(&self.search, &disks::of_pools(&*self.engine))
    }

    fn iscsi_sessions(&self) -> Vec<IscsiSession> {
        let sessions =
            self.servers.iscsi.get().map(|server| server.sessions().into_iter().map(session).collect());
        sessions.unwrap_or_default()
    }
}

fn session(session: iscsi::SessionStats) -> IscsiSession {
    let tally = |tally: iscsi::Tally| IscsiTally {
        commands: tally.commands,
        bytes: tally.bytes,
        time: tally.time,
        latencies: tally.latencies.to_vec(),
    };
    let unit = |unit: iscsi::UnitStats| IscsiUnit {
        lun: unit.lun,
        volume: unit.volume,
        reads: tally(unit.reads),
        writes: tally(unit.writes),
        others: tally(unit.others),
        queue: unit.queue as u64,
        queue_most: unit.queue_most as u64,
    };
    IscsiSession {
        initiator: session.initiator,
        target: session.target,
        group: session.group,
        connections: session.connections as u64,
        units: session.units.into_iter().map(unit).collect(),
    }
}

#[cfg(test)]
mod tests;
