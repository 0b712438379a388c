//! Other machines that this user has logged in to: `hosts.toml` below `$XDG_CONFIG_HOME/cistern`.
//!
//! A token is as good as a password: the file and its folder are the user's alone, and a file that
//! others can read is not read. It is replaced as a whole, by one program at a time.

use std::collections::BTreeMap;
use std::env::VarError;
use std::fs::{DirBuilder, File, OpenOptions, remove_file, rename};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stdx::os_error::words;

use crate::client::{Address, Client, Credential, Remote, Trust, default_socket};
use crate::fail::{Stop, fail};

/// Of the file, in bytes.
const LONGEST: u64 = 1 << 20;

/// One machine.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The account there.
    pub user: String,
    pub token: String,
    /// SHA-256 of its certificate; `None`: this machine's roots vouch for it.
    pub fingerprint: Option<String>,
}

impl Host {
    pub fn trust(&self) -> Result<Trust, Stop> {
        match self.fingerprint.as_deref().map(str::parse) {
            None => Ok(Trust::System),
            Some(Ok(known)) => Ok(Trust::Known(known)),
            Some(Err(why)) => fail(why),
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Book {
    /// By their addresses.
    #[serde(default)]
    hosts: BTreeMap<String, Host>,
}

/// The user's file of hosts.
pub struct Hosts {
    folder: PathBuf,
}

impl Hosts {
    pub fn of_user() -> Result<Hosts, Stop> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
        match folder {
            Some(folder) => Ok(Hosts { folder: folder.join("cistern") }),
            None => fail("neither XDG_CONFIG_HOME nor HOME says where hosts are written down"),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("hosts.toml")
    }

    pub fn get(&self, address: &Address) -> Result<Option<Host>, Stop> {
        Ok(self.load()?.hosts.remove(&address.to_string()))
    }

    /// Writes down a host, or forgets it.
    pub fn set(&self, address: &Address, host: Option<Host>) -> Result<(), Stop> {
        let file = self.file();
        let cannot =
            |error: &io::Error| Stop::Fail(format!("cannot write {}: {}", file.display(), words(error)));
        let _lock = self.lock().map_err(|error| cannot(&error))?;
        let mut book = self.load()?;
        match host {
            Some(host) => book.hosts.insert(address.to_string(), host),
            None => book.hosts.remove(&address.to_string()),
        };
        let text = toml::to_string(&book).map_err(|error| Stop::Fail(error.to_string()))?;
        replace(&file, &text).map_err(|error| cannot(&error))
    }

    /// Held until it is dropped.
    fn lock(&self) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join("hosts.lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn load(&self) -> Result<Book, Stop> {
        let path = self.file();
        let shown = path.display();
        let cannot = |error: io::Error| Stop::Fail(format!("cannot read {shown}: {}", words(&error)));
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Book::default()),
            Err(error) => return Err(cannot(error)),
        };
        let mode = file.metadata().map_err(cannot)?.permissions().mode();
        if mode & 0o077 != 0 {
            return fail(format!("{shown} holds tokens, and others can read it: chmod 600 {shown}"));
        }
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text).map_err(cannot)?;
        // What is wrong is told without the line where it is, which may have a token.
        toml::from_str(&text).map_err(|error| Stop::Fail(format!("cannot read {shown}: {}", error.message())))
    }
}

fn replace(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension("new");
    match remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut written = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&new)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    rename(&new, file)
}

/// The daemon that a command asks: of the host that is named, else of `$CISTERN_HOST`, else of this
/// machine. `$CISTERN_TOKEN` counts instead of the token that is written down.
pub fn client(host: Option<&str>) -> Result<Client, Stop> {
    let named = host.map_or_else(|| variable("CISTERN_HOST"), |host| Ok(Some(host.to_owned())))?;
    let Some(host) = named else { return Ok(Client::new(&default_socket())) };
    let address: Address = host.parse().map_err(Stop::Fail)?;
    let known = Hosts::of_user()?.get(&address)?;
    let trust = known.as_ref().map_or(Ok(Trust::System), Host::trust)?;
    let Some(token) = variable("CISTERN_TOKEN")?.or(known.map(|known| known.token)) else {
        return fail(format!("not logged in to {address}: run 'cistern login {address}'"));
    };
    remote(address, trust, Credential::Token(token)).map(Client::remote)
}

/// A variable of the environment that is set to something. One that cannot be read is not taken for
/// none: the command would be done on another machine.
fn variable(name: &str) -> Result<Option<String>, Stop> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => fail(format!("{name} is no text")),
    }
}

/// As [`Remote::new`].
pub fn remote(address: Address, trust: Trust, credential: Credential) -> Result<Remote, Stop> {
    Remote::new(address.clone(), trust, credential).map_err(|why| Stop::Fail(why.sentence(&address)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};

    fn hosts(name: &str) -> Hosts {
        let folder = std::env::temp_dir().join(format!("cistern-hosts-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        Hosts { folder }
    }

    fn host(token: &str) -> Host {
        Host { user: "ada".into(), token: token.into(), fingerprint: None }
    }

    #[test]
    fn hosts_are_written_down_for_their_user_alone_and_forgotten() {
        let hosts = hosts("kept");
        let (one, other): (Address, Address) = ("nas".parse().expect("one"), "[::1]:7".parse().expect("one"));
        assert!(hosts.get(&one).expect("there is no file").is_none());
        let known = Host { fingerprint: Some("AB:CD".into()), ..host("cistern_1_x\"\\") };
        hosts.set(&one, Some(known.clone())).expect("written");
        hosts.set(&other, Some(host("cistern_2_y"))).expect("written");
        assert!(hosts.get(&one).expect("read") == Some(known));
        hosts.set(&one, None).expect("written");
        assert!(hosts.get(&one).expect("read").is_none() && hosts.get(&other).expect("read").is_some());
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!((mode(&hosts.file()), mode(&hosts.folder)), (0o600, 0o700));
        fs::remove_dir_all(&hosts.folder).expect("removed");
    }

    #[test]
    fn a_file_that_others_can_read_or_that_makes_no_sense_is_refused_without_its_tokens() {
        let hosts = hosts("open");
        let address = "nas".parse().expect("one");
        hosts.set(&address, Some(host("cistern_1_x"))).expect("written");
        let told = |hosts: &Hosts| match hosts.get(&address) {
            Err(Stop::Fail(text)) => text,
            _ => panic!("it was read"),
        };
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(hosts.file(), Permissions::from_mode(mode)).expect("set");
            assert!(told(&hosts).contains("others can read it"));
        }
        fs::write(hosts.file(), "[hosts.nas]\ntoken = cistern_1_x\n").expect("written");
        fs::set_permissions(hosts.file(), Permissions::from_mode(0o600)).expect("set");
        assert!(!told(&hosts).contains("cistern_1_x"), "{}", told(&hosts));
        fs::remove_dir_all(&hosts.folder).expect("removed");
    }
}
