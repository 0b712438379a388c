//! Writes versions as the state changes, and restores them.
//!
//! One thread writes all versions. It looks every few seconds whether the state is another one than
//! that of the newest version, so a change is in the pool soon, and many changes are one version a
//! minute. The audit log alone makes one a day. Requests set what is to be, wait a while for the
//! thread, and read.
//!
//! Invariants: nothing here waits for the disks of a pool that is suspended. The lock is never held
//! while a pool is used. A failure is logged once, and told until the next try succeeds.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use api::{Kept, KeptCertificate, StateKeeper, Unfit};
use api_types::{
    AccountChange, KeepIn, Keeping, StagedVersion, StateAbout, StateRestore, StateRestored, StateVersion,
};
use engine_api::refusal::{Action, Reason, Refused, StateFault};
use engine_api::{Engine, Error, Pool, Result};
use env::{Clock, lock};
use machine::version::{self, FORMAT, Flaw, Head, Piece};
use machine::{Contents, Fault, Machine};
use stdx::os_error::words;
use stdx::patience::hurried;

use super::choice::{self, Choice};
use super::stage;
use super::vault::{self, Entry, Vault};

/// How often it is looked whether something has changed.
const LOOK: Duration = Duration::from_secs(5);
/// Looks between two versions, and between two tries.
const LOOKS_BETWEEN: u32 = 12;
/// Seconds after which there is another version, whatever has changed.
const DAY: i64 = 24 * 60 * 60;
/// How long somebody waits for the first version, and the end of the program for the last.
const PATIENCE: Duration = Duration::from_secs(20);
/// The copy of the database that is being written into a pool.
const COPY: &str = "machine.db.version";

/// See the module.
pub struct Keeper {
    engine: Arc<dyn Engine>,
    /// `None`: it could not be opened.
    machine: Option<Arc<Machine>>,
    clock: Arc<dyn Clock>,
    state: PathBuf,
    /// Name of this machine.
    host: String,
    shared: Mutex<Shared>,
    /// Rings when what is to be done changes, and when it is done.
    bell: Condvar,
    /// Held by who fills the folder of what is to be restored.
    staging: Mutex<()>,
}

#[derive(Default)]
struct Shared {
    choice: Option<Choice>,
    /// How often it was asked for a look at once, and how many of these are done.
    asked: u64,
    done: u64,
    is_ending: bool,
    has_ended: bool,
    failure: Option<(i64, Error)>,
}

/// What the thread knows of the newest version.
#[derive(Default)]
struct Newest {
    /// In which pool.
    guid: u64,
    /// What it was written of and when; `None` where that is not known, or the last try failed.
    kept: Option<(Seen, i64)>,
    /// Looks until the next try.
    rest: u32,
}

/// Enough to see that something has changed.
#[derive(PartialEq, Eq)]
struct Seen {
    accounts: u64,
    fingerprint: Option<String>,
}

impl Keeper {
    pub fn new(
        engine: Arc<dyn Engine>,
        machine: Option<Arc<Machine>>,
        clock: Arc<dyn Clock>,
        state: &Path,
        host: String,
    ) -> Arc<Keeper> {
        let mut shared = Shared::default();
        match choice::load(state) {
            Ok(choice) => shared.choice = choice,
            Err(error) => {
                tracing::error!(%error, "which pool versions of the machine's state go to is not known");
                shared.failure = Some((clock.wall().secs, os(&error)));
            }
        }
        let (shared, bell, staging) = (Mutex::new(shared), Condvar::new(), Mutex::new(()));
        let state = state.to_owned();
        Arc::new(Keeper { engine, machine, clock, state, host, shared, bell, staging })
    }

    /// Begins to write. To be called once, when pools of the last run are there or still to come.
    pub fn start(self: &Arc<Keeper>) -> io::Result<()> {
        let keeper = self.clone();
        thread::Builder::new().name("keep-state".to_owned()).spawn(move || keeper.run()).map(drop)
    }

    /// Writes what has changed and ends, or is left alone after a while.
    pub fn close(&self) {
        lock(&self.shared).is_ending = true;
        self.bell.notify_all();
        if !self.wait_for(|shared| shared.has_ended) {
            tracing::warn!("the machine's state is still being written into a pool");
        }
    }

    fn wait_for(&self, is_so: impl Fn(&Shared) -> bool) -> bool {
        let waited = self.bell.wait_timeout_while(lock(&self.shared), PATIENCE, |shared| !is_so(shared));
        let (shared, _) = waited.unwrap_or_else(PoisonError::into_inner);
        is_so(&shared)
    }

    fn run(&self) {
        let mut newest = Newest::default();
        loop {
            let idle = |shared: &mut Shared| shared.asked == shared.done && !shared.is_ending;
            let waited = self.bell.wait_timeout_while(lock(&self.shared), LOOK, idle);
            let (shared, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let (asked, is_ending, choice) = (shared.asked, shared.is_ending, shared.choice.clone());
            let at_once = is_ending || asked != shared.done;
            drop(shared);
            if let Some(choice) = &choice {
                hurried(|| self.look(choice, &mut newest, at_once));
            }
            let mut shared = lock(&self.shared);
            (shared.done, shared.has_ended) = (asked, is_ending);
            drop(shared);
            self.bell.notify_all();
            if is_ending {
                break;
            }
        }
    }

    /// Writes a version where one is due.
    fn look(&self, choice: &Choice, newest: &mut Newest, at_once: bool) {
        if newest.guid != choice.guid {
            *newest = Newest { guid: choice.guid, ..Newest::default() };
        }
        newest.rest = newest.rest.saturating_sub(1);
        let seen = self.seen();
        let now = self.clock.wall().secs;
        let is_kept =
            newest.kept.as_ref().is_some_and(|(of, time)| seen.as_ref() == Ok(of) && is_young(*time, now));
        if is_kept || newest.rest > 0 && !at_once || self.engine.is_to_come(Some(choice.guid)) {
            return;
        }
        match seen.and_then(|seen| Ok((seen, self.write(choice, now)?))) {
            Ok((seen, (time, is_new))) => {
                newest.rest = if is_new { LOOKS_BETWEEN } else { 0 };
                newest.kept = Some((seen, time));
                if lock(&self.shared).failure.take().is_some() {
                    tracing::info!(pool = choice.name, "the machine's state is written there again");
                }
            }
            Err(error) => {
                newest.kept = None;
                // To see that a pool is back costs nothing.
                newest.rest = if is_away(&error) { 0 } else { LOOKS_BETWEEN };
                self.note(choice, error, now);
            }
        }
    }

    fn note(&self, choice: &Choice, error: Error, now: i64) {
        let mut shared = lock(&self.shared);
        if shared.failure.as_ref().is_some_and(|(_, known)| *known == error) {
            return;
        }
        tracing::warn!(pool = choice.name, %error, "the machine's state was not written into the pool");
        shared.failure = Some((now, error));
    }

    fn seen(&self) -> Result<Seen> {
        let fingerprint = self.certificate()?.map(|kept| kept.fingerprint);
        Ok(Seen { accounts: self.machine()?.generation(), fingerprint })
    }

    /// Writes a version, where the newest one is not of this state and young. With when it was
    /// written, and whether now.
    fn write(&self, choice: &Choice, now: i64) -> Result<(i64, bool)> {
        let pool = self.chosen(choice)?;
        let vault = Vault::open(&*pool)?;
        let (machine, certificate) = (self.machine()?, self.certificate()?);
        let keeping = choice::format(&Choice { guid: choice.guid, name: pool.name() });
        let contents = machine.contents().map_err(fault)?;
        let pem = certificate.as_ref().map_or(("", ""), |kept| (kept.certificate(), kept.key()));
        let digest =
            version::digest(&[&contents.digest, pem.0.as_bytes(), pem.1.as_bytes(), keeping.as_bytes()]);
        let entries = vault.entries()?;
        if let Some(newest) = entries.last()
            && is_young(newest.time, now)
            && is_whole(&vault, newest, &digest)?
        {
            return Ok((newest.time, false));
        }
        let copy = self.state.join(COPY);
        machine.backup(&copy).map_err(fault)?;
        let mut database = File::open(&copy).map_err(|error| os(&error))?;
        let (mut cert, mut key, mut keeping) = (pem.0.as_bytes(), pem.1.as_bytes(), keeping.as_bytes());
        let length = database.metadata().map_err(|error| os(&error))?.len();
        let mut pieces = vec![(Piece::Database, length), (Piece::Keeping, keeping.len() as u64)];
        let mut readers: Vec<&mut dyn Read> = vec![&mut database, &mut keeping];
        if certificate.is_some() {
            pieces.extend([(Piece::Certificate, cert.len() as u64), (Piece::Key, key.len() as u64)]);
            readers.extend([&mut cert as &mut dyn Read, &mut key]);
        }
        let head = Head {
            number: vault::next_number(&entries)?,
            time: now,
            // There are at most a thousand.
            users: u32::try_from(contents.accounts.len()).unwrap_or(u32::MAX),
            digest,
            host: self.host.clone(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            pieces,
        };
        let written = match head.too_long() {
            Some((bytes, most)) => Err(refused(StateFault::TooLarge { bytes, most })),
            None => vault.write(&head, &mut readers),
        };
        drop(fs::remove_file(&copy));
        written.map(|()| (now, true))
    }

    fn machine(&self) -> Result<&Machine> {
        self.machine.as_deref().ok_or_else(|| refused(StateFault::NoDatabase))
    }

    fn certificate(&self) -> Result<Option<KeptCertificate>> {
        KeptCertificate::read(&self.state.join(stage::CERTIFICATE)).map_err(unfit)
    }

    /// The pool that was chosen, whatever it is called now.
    fn chosen(&self, choice: &Choice) -> Result<Arc<dyn Pool>> {
        let found = self.engine.pools().into_iter().find(|pool| pool.guid() == choice.guid);
        found.ok_or_else(|| refused(StateFault::Away))
    }

    fn named(&self, name: &str, action: Action) -> Result<Arc<dyn Pool>> {
        self.engine.pool(name).map_err(|error| match error {
            Error::NotFound => Refused::new(action, Reason::NoPool).into(),
            other => other,
        })
    }

    /// The folder of what is to be restored is filled with a version. Tells what that changes.
    fn prepare(&self, new: &Path, vault: &Vault, entry: &Entry) -> Result<StateRestored> {
        let received = |piece: Piece| new.join(format!("{piece:?}"));
        let mut open = |piece| Ok(Box::new(stage::create(&received(piece))?) as Box<dyn io::Write>);
        let unpacked = vault.read(entry, |from| version::unpack(from, entry.size, &mut open))?;
        let (head, sum) = unpacked.map_err(|flaw| refused_by(&flaw))?;
        let version = described(entry, Ok(head));
        if let Some(why) = &version.fault {
            return Err(why.clone().into());
        }
        let contents = Machine::examine(&received(Piece::Database), &new.join(stage::DATABASE));
        let contents = contents.map_err(fault)?;
        let text = |piece: Piece| match fs::read_to_string(received(piece)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(damaged("it is no text")),
            Err(error) => Err(os(&error)),
        };
        let certificate = match text(Piece::Certificate)?.zip(text(Piece::Key)?) {
            Some((certificate, key)) => {
                Some(KeptCertificate::new(certificate, key).map_err(|why| damaged(&why.to_string()))?)
            }
            None => None,
        };
        if let Some(kept) = &certificate {
            kept.write(&new.join(stage::CERTIFICATE)).map_err(unfit)?;
        }
        let keeping = text(Piece::Keeping)?;
        let keeping = keeping.map(|text| choice::parse(&text).ok_or_else(|| damaged("it names no pool")));
        let keeping = keeping.transpose()?;
        if let Some(choice) = &keeping {
            choice::save(new, Some(choice)).map_err(|error| os(&error))?;
        }
        for piece in [Piece::Database, Piece::Certificate, Piece::Key, Piece::Keeping] {
            match fs::remove_file(received(piece)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(os(&error)),
                _ => {}
            }
        }
        let checksum = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        let now = match &self.machine {
            Some(machine) => machine.contents().map_err(fault)?,
            None => Contents::default(),
        };
        let pool_now = lock(&self.shared).choice.as_ref().map(|choice| choice.name.clone());
        Ok(StateRestored {
            version,
            checksum,
            accounts: differing(&now, &contents),
            tokens_come: contents.tokens.difference(&now.tokens).count() as u64,
            tokens_go: now.tokens.difference(&contents.tokens).count() as u64,
            // One that cannot be read is shown as none; it is not what is restored.
            certificate_now: self.certificate().ok().flatten().map(|kept| kept.fingerprint),
            certificate_then: certificate.map(|kept| kept.fingerprint),
            pool_then: keeping.map_or_else(|| pool_now.clone(), |choice| Some(choice.name)),
            pool_now,
            staged: false,
        })
    }

    fn restore_from(&self, asked: &StateRestore) -> Result<StateRestored> {
        let _staging = match self.staging.try_lock() {
            Ok(staging) => staging,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(refused(StateFault::UnderWay)),
        };
        let pool = self.named(&asked.pool, Action::RestoreState { pool: asked.pool.clone() })?;
        let vault = Vault::open(&*pool)?;
        let entries = vault.entries()?;
        let entry = wanted(&entries, asked).ok_or_else(|| refused(StateFault::NoVersion))?;
        let new = stage::begin(&self.state).map_err(|error| os(&error))?;
        let mut prepared = self.prepare(&new, &vault, entry);
        if let Ok(restored) = &prepared
            && asked.checksum.as_ref().is_some_and(|shown| *shown != restored.checksum)
        {
            prepared = Err(refused(StateFault::OtherVersion));
        }
        let mut restored = match prepared {
            Ok(restored) if !asked.dry_run => restored,
            // What a dry run has made, and what is not fit.
            other => {
                stage::drop_new(&self.state).map_err(|error| os(&error))?;
                return other;
            }
        };
        let version = StagedVersion { pool: pool.name(), number: entry.number, time: entry.time };
        stage::commit(&self.state, &version).map_err(|error| os(&error))?;
        restored.staged = true;
        Ok(restored)
    }

    fn told(&self) -> Result<Kept> {
        let shared = lock(&self.shared);
        let (choice, mut failure) = (shared.choice.clone(), shared.failure.clone());
        drop(shared);
        let mut keeping =
            Keeping { staged: stage::staged(&self.state).map_err(|error| os(&error))?, ..Keeping::default() };
        let Some(choice) = choice else { return Ok(Kept { keeping, failure }) };
        keeping.pool = Some(choice.name.clone());
        keeping.dataset = Some(vault::dataset(&choice.name));
        if let Err(error) = self.tell_versions(&choice, &mut keeping) {
            failure = failure.or_else(|| Some((self.clock.wall().secs, error)));
        }
        Ok(Kept { keeping, failure })
    }

    fn tell_versions(&self, choice: &Choice, keeping: &mut Keeping) -> Result<()> {
        let pool = self.chosen(choice)?;
        (keeping.pool, keeping.dataset) = (Some(pool.name()), Some(vault::dataset(&pool.name())));
        let vault = Vault::open(&*pool)?;
        let entries = vault.entries()?;
        keeping.versions = entries.len() as u64;
        keeping.bytes = entries.iter().fold(0, |all, entry| entry.size.saturating_add(all));
        if let Some(newest) = entries.last() {
            keeping.newest = Some(described(newest, vault.head(newest)?));
        }
        Ok(())
    }
}

impl StateKeeper for Keeper {
    fn status(&self) -> Result<Kept> {
        hurried(|| self.told())
    }

    fn keep(&self, asked: &KeepIn) -> Result<Kept> {
        let choice = hurried(|| match &asked.pool {
            None => Ok(None),
            Some(name) => {
                let pool = self.named(name, Action::KeepState { pool: name.clone() })?;
                Vault::make(&*pool, &asked.history)?;
                Ok::<_, Error>(Some(Choice { guid: pool.guid(), name: pool.name() }))
            }
        })?;
        let mut shared = lock(&self.shared);
        // Under the lock: what is written down last counts.
        choice::save(&self.state, choice.as_ref()).map_err(|error| os(&error))?;
        (shared.choice, shared.failure) = (choice, None);
        shared.asked += 1;
        let ticket = shared.asked;
        drop(shared);
        self.bell.notify_all();
        if !self.wait_for(|shared| shared.done >= ticket || shared.has_ended) {
            tracing::info!("the first version is still being written");
        }
        self.status()
    }

    fn versions(&self, pool: Option<&str>) -> Result<Vec<StateVersion>> {
        hurried(|| {
            let pool = match pool {
                Some(name) => self.named(name, Action::RestoreState { pool: name.to_owned() })?,
                None => {
                    let choice = lock(&self.shared).choice.clone();
                    self.chosen(&choice.ok_or_else(|| refused(StateFault::NotChosen))?)?
                }
            };
            let vault = Vault::open(&*pool)?;
            let entries = vault.entries()?;
            entries.iter().rev().map(|entry| Ok(described(entry, vault.head(entry)?))).collect()
        })
    }

    fn restore(&self, asked: &StateRestore) -> Result<StateRestored> {
        hurried(|| self.restore_from(asked))
    }

    fn cancel(&self) -> Result<Kept> {
        stage::cancel(&self.state).map_err(|error| os(&error))?;
        self.status()
    }
}

/// Whether a version of then is one of today, as far as the clock can be trusted.
fn is_young(time: i64, now: i64) -> bool {
    now.saturating_sub(time).saturating_abs() < DAY
}

fn is_away(error: &Error) -> bool {
    match error {
        Error::Suspended => true,
        Error::Refused(why) => why.reason == Reason::State(StateFault::Away),
        _ => false,
    }
}

/// The newest up to what was asked for.
fn wanted<'a>(entries: &'a [Entry], asked: &StateRestore) -> Option<&'a Entry> {
    let is_old_enough = |entry: &&Entry| match (asked.version, asked.time) {
        (Some(number), _) => entry.number <= number,
        (None, Some(time)) => entry.time <= time,
        (None, None) => true,
    };
    entries.iter().rev().find(is_old_enough)
}

fn described(entry: &Entry, head: std::result::Result<Head, Flaw>) -> StateVersion {
    let (about, fault) = match head {
        Ok(head) => {
            let is_its_own = is_of(&head, entry);
            let fault =
                (!is_its_own).then(|| StateFault::Damaged { message: "its name is that of another".into() });
            let Head { host, program, users, .. } = head;
            (Some(StateAbout { host, program, format: FORMAT, users }), fault.map(Refused::because))
        }
        Err(flaw) => (None, Some(why(&flaw))),
    };
    StateVersion { number: entry.number, time: entry.time, size: entry.size, about, fault }
}

/// Whether the name of a file is that of what is in it.
fn is_of(head: &Head, entry: &Entry) -> bool {
    head.number == entry.number && head.time.max(0) == entry.time
}

/// Whether a version is of the state with this digest, and in order to its last byte.
fn is_whole(vault: &Vault, entry: &Entry, digest: &[u8; 32]) -> Result<bool> {
    let mut nowhere = |_: Piece| Ok::<Box<dyn io::Write>, io::Error>(Box::new(io::sink()));
    let read = vault.read(entry, |from| version::unpack(from, entry.size, &mut nowhere))?;
    Ok(read.is_ok_and(|(head, _)| is_of(&head, entry) && head.digest == *digest))
}

/// Accounts that come, go, or are others.
fn differing(now: &Contents, then: &Contents) -> Vec<AccountChange> {
    let names: std::collections::BTreeSet<&String> =
        now.accounts.keys().chain(then.accounts.keys()).collect();
    let change = |name: &String| {
        let (before, after) = (now.accounts.get(name), then.accounts.get(name));
        let other_secrets = before.zip(after).is_some_and(|(before, after)| before.secrets != after.secrets);
        let (now, then) = (before.map(|account| account.state), after.map(|account| account.state));
        (now != then || other_secrets).then(|| AccountChange { name: name.clone(), now, then, other_secrets })
    };
    names.into_iter().filter_map(change).collect()
}

fn refused(fault: StateFault) -> Error {
    Refused::because(fault).into()
}

fn damaged(message: &str) -> Error {
    refused(StateFault::Damaged { message: message.to_owned() })
}

fn os(error: &io::Error) -> Error {
    Refused::because(Reason::Os { message: words(error) }).into()
}

fn unfit(why: Unfit) -> Error {
    Refused::because(Reason::Os { message: format!("the certificate of HTTPS: {why}") }).into()
}

fn why(flaw: &Flaw) -> Refused {
    match flaw {
        Flaw::NewerFormat(found) => {
            Refused::because(StateFault::NewerFormat { found: *found, known: FORMAT })
        }
        Flaw::Read(error) | Flaw::Write(error) => Refused::because(Reason::Os { message: words(error) }),
        Flaw::NotOurs | Flaw::Length | Flaw::Head | Flaw::Checksum => {
            Refused::because(StateFault::Damaged { message: flaw.to_string() })
        }
    }
}

fn refused_by(flaw: &Flaw) -> Error {
    why(flaw).into()
}

fn fault(fault: Fault) -> Error {
    match fault {
        Fault::Damaged(message) => refused(StateFault::Damaged { message }),
        Fault::NewerVersion { found, known } => refused(StateFault::NewerDatabase { found, known }),
        Fault::Io(_) | Fault::Full | Fault::Busy | Fault::Defect(_) => {
            Refused::because(Reason::Os { message: fault.to_string() }).into()
        }
    }
}

#[cfg(test)]
mod tests;
