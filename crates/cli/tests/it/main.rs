//! The commands against a daemon's API: a fake engine behind a real server on a real Unix socket,
//! and the commands run in-process with their output caught.

mod api;
mod datasets;
mod fake;
mod jobs;
mod measure;
mod mounts;
mod pools;
mod statistics;

use ::api::{ApiServer, Config};
use api_types::ProgramStatistics;
use appliance::{Appliance, Clock, Entry, Ledger, LocalMount, LocalMounts, LocalShare, MountSpec, Record};
use cli::{Client, Io, Program};
use engine_api::{Error, Result};
use fake::FakeEngine;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Local mounts as a table.
#[derive(Default)]
pub struct FakeMounts {
    mounts: Mutex<Vec<LocalMount>>,
    shares: Mutex<Vec<LocalShare>>,
    /// Mount points that are in use, so that unmounting needs force.
    pub busy: Mutex<Vec<String>>,
    /// Directories that have entries.
    pub full: Mutex<Vec<String>>,
    /// Whoever holds it keeps mounts waiting.
    pub gate: Mutex<()>,
    /// What servers count.
    pub counted: Mutex<ProgramStatistics>,
}

impl FakeMounts {
    pub fn list(&self) -> Vec<String> {
        let mounts = self.mounts.lock().expect("unpoisoned");
        let mut list: Vec<String> =
            mounts.iter().map(|mount| format!("{} {}", mount.dataset, mount.mountpoint)).collect();
        list.sort();
        list
    }
}

impl ::api::Program for FakeMounts {
    fn log_filter(&self, wanted: Option<&str>) -> Result<String> {
        match wanted {
            Some("blah") => Err(Error::Invalid("'blah' is no level".into())),
            wanted => Ok(wanted.unwrap_or("info").into()),
        }
    }
    fn statistics(&self) -> ProgramStatistics {
        self.counted.lock().expect("unpoisoned").clone()
    }
}

impl LocalMounts for FakeMounts {
    fn is_free(&self, at: &str) -> Result<()> {
        match self.full.lock().expect("unpoisoned").iter().any(|full| full == at) {
            true => Err(Error::NotEmpty),
            false => Ok(()),
        }
    }
    fn mount(&self, spec: &MountSpec) -> Result<()> {
        drop(self.gate.lock().expect("unpoisoned"));
        if self.full.lock().expect("unpoisoned").contains(&spec.mountpoint) && !spec.overlay {
            return Err(Error::NotEmpty);
        }
        let mut mounts = self.mounts.lock().expect("unpoisoned");
        if mounts.iter().any(|mount| mount.dataset == spec.dataset) {
            return Err(Error::Busy);
        }
        mounts.push(LocalMount {
            dataset: spec.dataset.clone(),
            mountpoint: spec.mountpoint.clone(),
            options: spec.options.join(","),
        });
        Ok(())
    }
    fn remount(&self, dataset: &str, options: &[String]) -> Result<()> {
        let mut mounts = self.mounts.lock().expect("unpoisoned");
        let mount = mounts.iter_mut().find(|mount| mount.dataset == dataset).ok_or(Error::NotFound)?;
        mount.options = options.join(",");
        Ok(())
    }
    fn leave(&self, _all: Vec<String>) {}
    fn refresh(&self, _dataset: &str) -> bool {
        true
    }
    fn renamed(&self, from: &str, to: &str) {
        for mount in self.mounts.lock().expect("unpoisoned").iter_mut() {
            if let Some(rest) = mount.dataset.strip_prefix(from) {
                mount.dataset = format!("{to}{rest}");
            }
        }
    }
    fn unmount(&self, dataset: &str, force: bool) -> Result<()> {
        let mut mounts = self.mounts.lock().expect("unpoisoned");
        let at = mounts.iter().position(|mount| mount.dataset == dataset).ok_or(Error::NotFound)?;
        if !force && self.busy.lock().expect("unpoisoned").contains(&mounts[at].mountpoint) {
            return Err(Error::Busy);
        }
        mounts.remove(at);
        Ok(())
    }
    fn mounted_at(&self, path: &str) -> Result<Option<String>> {
        let mounts = self.mounts.lock().expect("unpoisoned");
        let found = mounts.iter().find(|mount| mount.mountpoint == path);
        Ok(found.map(|mount| mount.dataset.clone()))
    }
    fn settled(&self, _of: &dyn Fn(&str) -> bool) -> Result<()> {
        Ok(())
    }
    fn mounted(&self) -> Vec<LocalMount> {
        self.mounts.lock().expect("unpoisoned").clone()
    }
    fn share(&self, dataset: &str) -> Result<()> {
        let (path, options) = (format!("/{dataset}"), "on".into());
        self.shares.lock().expect("unpoisoned").push(LocalShare { dataset: dataset.into(), path, options });
        Ok(())
    }
    fn unshare(&self, dataset: &str) -> Result<()> {
        self.shares.lock().expect("unpoisoned").retain(|share| share.dataset != dataset);
        Ok(())
    }
    fn withdrawn(&self) -> Vec<String> {
        Vec::new()
    }
    fn shared(&self) -> Vec<LocalShare> {
        self.shares.lock().expect("unpoisoned").clone()
    }
}

/// Forgets every job.
struct Forgetful;

impl Ledger for Forgetful {
    fn clock(&self) -> Clock {
        Arc::new(|| 1_767_225_600)
    }
    fn add(&mut self, _entry: &Entry) -> bool {
        true
    }
    fn replace(&mut self, _record: &Record) -> std::io::Result<()> {
        Ok(())
    }
}

/// Of a program that has none before it.
fn no_jobs() -> (Record, Forgetful) {
    (Record::default(), Forgetful)
}

/// Of an API on this socket alone.
fn config(socket: PathBuf) -> Config {
    Config {
        socket,
        inherited: None,
        version: "1.2.3".into(),
        accounts: None,
        https: None,
        keeper: None,
        services: None,
        history: None,
        desk: None,
        peers: None,
        shell: None,
    }
}

/// A daemon for one test, in a folder of its own.
pub struct Daemon {
    pub engine: Arc<FakeEngine>,
    pub mounts: Arc<FakeMounts>,
    pub folder: PathBuf,
    pub server: Option<ApiServer>,
}

/// What a command did.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Daemon {
    pub fn start(engine: FakeEngine) -> Daemon {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("cistern-it-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let (engine, mounts) = (Arc::new(engine), Arc::new(FakeMounts::default()));
        let config = config(folder.join("cistern.sock"));
        let appliance = Appliance::new(engine.clone(), mounts.clone(), true);
        let server = ::api::serve(config, appliance, mounts.clone(), no_jobs()).expect("the API starts");
        Daemon { engine, mounts, folder, server: Some(server) }
    }

    /// With the real pool whose listings are in `captures`, its file systems mounted.
    pub fn captured() -> Daemon {
        let daemon = Daemon::start(FakeEngine::with(vec![fake::captured()]));
        assert_eq!(daemon.zfs("mount -a").status, 0);
        daemon
    }

    /// With an empty pool `tank`, made by the command.
    pub fn with_tank() -> Daemon {
        let daemon = Daemon::start(FakeEngine::default());
        let (a, b) = (daemon.file("a.img"), daemon.file("b.img"));
        assert_eq!(daemon.zpool(&format!("create tank mirror {a} {b}")), said(""));
        daemon
    }

    /// A sparse file for a vdev.
    pub fn file(&self, name: &str) -> String {
        let path = self.folder.join(name);
        std::fs::File::create(&path).and_then(|file| file.set_len(64 << 20)).expect("a sparse file");
        path.display().to_string()
    }

    pub fn client(&self) -> Client {
        Client::new(&self.folder.join("cistern.sock"))
    }

    pub fn zpool(&self, line: &str) -> Ran {
        self.run(Program::Zpool, line)
    }

    pub fn zfs(&self, line: &str) -> Ran {
        self.run(Program::Zfs, line)
    }

    fn run(&self, program: Program, line: &str) -> Ran {
        self.run_on(program, line, false)
    }

    /// As on a terminal, if `terminal` says so.
    pub fn run_on(&self, program: Program, line: &str, terminal: bool) -> Ran {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let client = self.client();
        let mut io = Io {
            out: &mut out,
            err: &mut err,
            colour: terminal,
            progress: terminal,
            asks: true,
            title: |_| (),
        };
        let status = cli::run(program, &args, &client, &mut io);
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Ran { status, out: text(out), err: text(err) }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.server.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Done, with this output.
pub fn said(out: &str) -> Ran {
    Ran { status: 0, out: out.into(), err: String::new() }
}

/// Refused, with this message.
pub fn refused(err: &str) -> Ran {
    Ran { status: 1, out: String::new(), err: format!("{err}\n") }
}
