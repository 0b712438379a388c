//! What the management API takes of the machine: the database of accounts, and a socket for HTTPS.
//!
//! Invariant: whatever becomes of them, the daemon starts and serves its data. What cannot be had
//! leaves HTTPS off, and is told in the log and where the daemon says that it runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use api::{AccountsConfig, ApiServer, HttpsConfig};
use env::{Clock, Entropy};
use machine::{Found, Machine, Outside};
use peers::Book;
use sockets::inherited::Inherited;
use stdx::os_error::words;

use crate::{host, versions};

/// Folders of the state folder.
const CERTIFICATE: &str = "tls";
const BACKUPS: &str = "backups";

/// The world, as the database sees it.
struct World {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Outside for World {
    fn now(&self) -> i64 {
        self.clock.wall().secs
    }

    fn fill(&self, bytes: &mut [u8]) {
        self.entropy.fill(bytes);
    }
}

/// What is there of it.
pub struct House {
    state: PathBuf,
    outside: Arc<dyn Outside>,
    /// An error says why there is none.
    machine: Result<Arc<Machine>, String>,
    /// What became of the state, where somebody should know.
    notes: Vec<String>,
    /// Why HTTPS was not even tried.
    no_https: Option<String>,
}

impl House {
    /// Opens the database of a state folder, once what was to be restored is in place.
    pub fn open(state: &Path, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> House {
        let outside: Arc<dyn Outside> = Arc::new(World { clock, entropy });
        let mut notes = Vec::new();
        match versions::take_staged(state) {
            Ok(Some(taken)) => {
                tracing::warn!("accounts: {taken}");
                notes.push(taken);
            }
            Ok(None) => {}
            Err(why) => {
                tracing::error!(why, "what was to be restored is not, or not all of it");
                notes.push(format!("what was to be restored is not, or not all of it: {why}"));
            }
        }
        let machine = match Machine::open(state, outside.clone()) {
            Ok((machine, found)) => {
                let note = note(&found);
                note.iter().for_each(|note| tracing::error!("accounts: {note}"));
                notes.extend(note);
                Ok(Arc::new(machine))
            }
            Err(fault) => {
                tracing::error!(%fault, "nobody can log in, and nothing is written to the audit log");
                Err(fault.to_string())
            }
        };
        House { state: state.to_owned(), outside, machine, notes, no_https: None }
    }

    /// The database; `None`: it could not be opened.
    pub fn machine(&self) -> Option<Arc<Machine>> {
        // Why not is told where HTTPS is.
        self.machine.as_ref().ok().cloned()
    }

    /// For the API; `None`: the database could not be opened.
    pub fn accounts(&self) -> Option<AccountsConfig> {
        let machine = self.machine()?;
        Some(AccountsConfig { machine, outside: self.outside.clone(), backups: self.state.join(BACKUPS) })
    }

    /// Other appliances; `None`: the database could not be opened.
    pub fn peers(&self) -> Option<Arc<Book>> {
        let program = env!("CARGO_PKG_VERSION").to_owned();
        let opened = Book::open(self.machine()?, self.outside.clone(), program);
        opened.map(Arc::new).map_err(|fault| tracing::error!(%fault, "there are no peers")).ok()
    }

    /// A socket that listens for HTTPS, with what it takes; `None`: it is off.
    pub fn https(&mut self, address: Option<SocketAddr>, inherited: &Inherited) -> Option<HttpsConfig> {
        let address = address?;
        // One that was handed over is taken in any case, for it is named by an option.
        let listener = inherited.tcp(address).map_err(|error| format!("{address}: {}", words(&error)));
        let why = match (listener, self.machine.as_ref().err().cloned()) {
            (Ok(listener), None) => {
                let folder = self.state.join(CERTIFICATE);
                return Some(HttpsConfig { listener, folder, names: host::names() });
            }
            (Err(why), _) | (Ok(_), Some(why)) => why,
        };
        tracing::error!(why, "HTTPS is off");
        self.no_https = Some(why);
        None
    }

    /// What is served where, in lines for people; with the code for the first administrator, which
    /// is told nowhere else.
    pub fn lines(&self, api: &ApiServer) -> Vec<String> {
        let mut lines = Vec::new();
        let mut is_served = false;
        lines.push(match (api.https(), &self.no_https) {
            (Some(Ok(served)), _) => {
                is_served = true;
                format!("web          https://{} SHA-256 {}", served.address, served.fingerprint)
            }
            (Some(Err(why)), _) => {
                tracing::error!(why, "HTTPS is off");
                format!("web          off: {why}")
            }
            (None, Some(why)) => format!("web          off: {why}"),
            (None, None) => "web          off".to_owned(),
        });
        lines.extend(self.notes.iter().map(|note| format!("accounts     {note}")));
        if let Ok(machine) = &self.machine
            && is_served
        {
            match machine.first_code() {
                Ok(Some(code)) => {
                    lines.push(
                        "accounts     nobody can log in yet; the first administrator is made by".to_owned(),
                    );
                    lines.push("  cistern user add --role administrator NAME".to_owned());
                    lines.push(format!(
                        "  or in a browser, at the address of web, with the code {code} (used once)"
                    ));
                }
                Ok(None) => {}
                Err(fault) => tracing::error!(%fault, "whether there is an administrator is not known"),
            }
        }
        lines
    }

    /// To be called when the API has stopped.
    pub fn close(&self) {
        if let Ok(machine) = &self.machine
            && let Err(fault) = machine.keep()
        {
            tracing::error!(%fault, "the automatic backup of accounts was not written");
        }
    }
}

/// What is to be said of a database that was not as it was left.
fn note(found: &Found) -> Option<String> {
    match found {
        Found::New | Found::AsItWas => None,
        Found::Migrated { from, copy } => {
            tracing::info!(from, copy = %copy.display(), "the database of accounts was brought up to date");
            None
        }
        Found::Damaged { kept, restored_from: Some(backup) } => Some(format!(
            "the database was damaged and is kept as {}; its backup {} took its place",
            kept.display(),
            backup.display()
        )),
        Found::Damaged { kept, restored_from: None } => Some(format!(
            "the database was damaged and is kept as {}; a new one was begun, without users",
            kept.display()
        )),
        Found::Lost { restored_from } => {
            Some(format!("the database was gone; its backup {} took its place", restored_from.display()))
        }
    }
}
