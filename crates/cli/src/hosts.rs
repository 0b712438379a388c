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

use crate::client::{Address, Client, Credential, Remote, Trust, default_socket, fingerprint};
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
        match self.fingerprint.as_deref().map(fingerprint) {
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
    /// Addresses that the shell talks to at the same time, by a name; `local` is this machine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    groups: BTreeMap<String, Vec<String>>,
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

    /// The addresses that are written down.
    pub fn addresses(&self) -> Result<Vec<String>, Stop> {
        Ok(self.load()?.hosts.into_keys().collect())
    }

    /// All groups of hosts.
    pub fn groups(&self) -> Result<BTreeMap<String, Vec<String>>, Stop> {
        Ok(self.load()?.groups)
    }

    /// Writes down a group, or forgets it. Says whether it was there.
    pub fn set_group(&self, name: &str, members: Option<Vec<String>>) -> Result<bool, Stop> {
        self.change(|book| match members {
            Some(members) => book.groups.insert(name.to_owned(), members).is_some(),
            None => book.groups.remove(name).is_some(),
        })
    }

    /// Writes down a host, or forgets it.
    pub fn set(&self, address: &Address, host: Option<Host>) -> Result<(), Stop> {
        self.change(|book| match host {
            Some(host) => drop(book.hosts.insert(address.to_string(), host)),
            None => drop(book.hosts.remove(&address.to_string())),
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Book) -> T) -> Result<T, Stop> {
        let file = self.file();
        let cannot =
            |error: &io::Error| Stop::Fail(format!("cannot write {}: {}", file.display(), words(error)));
        let _lock = self.lock().map_err(|error| cannot(&error))?;
        let mut book = self.load()?;
        let changed = change(&mut book);
        let text = toml::to_string(&book).map_err(|error| Stop::Fail(error.to_string()))?;
        replace(&file, &text).map_err(|error| cannot(&error))?;
        Ok(changed)
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
    match named {
        None => Ok(Client::new(&default_socket())),
        Some(host) => client_of(&host, variable("CISTERN_TOKEN")?),
    }
}

/// The daemon of a host, by this token, or the one that is written down.
pub fn client_of(host: &str, token: Option<String>) -> Result<Client, Stop> {
    let address: Address = host.parse().map_err(Stop::Fail)?;
    let known = Hosts::of_user()?.get(&address)?;
    let trust = known.as_ref().map_or(Ok(Trust::System), Host::trust)?;
    let Some(token) = token.or(known.map(|known| known.token)) else {
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
        let members = vec!["[::1]:7".to_owned(), "local".to_owned()];
        assert!(!hosts.set_group("lab", Some(members.clone())).expect("written"));
        hosts.set(&one, Some(host("cistern_3_z"))).expect("a group stays when a host comes");
        assert_eq!(hosts.groups().expect("read").get("lab"), Some(&members));
        assert_eq!(hosts.addresses().expect("read"), ["[::1]:7", "nas:8443"]);
        assert!(
            hosts.set_group("lab", None).expect("written") && !hosts.set_group("lab", None).expect("written")
        );
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
