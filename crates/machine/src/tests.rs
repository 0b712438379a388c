//! The whole crate, on real files, with a clock and numbers of the tests.

mod accounts;
mod acme;
mod alerts;
mod contents;
mod files;
mod keys;
mod letting_in;
mod repeats;
mod services;
mod worksheets;

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use api_types::{By, Role, User};
use argon2::Params;
use stdx::prng::Prng;

use super::*;

const PASSWORD: &str = "correct horse";
const START: i64 = 1_800_000_000;

/// A clock that stands, and seeded numbers.
struct World {
    now: AtomicI64,
    numbers: Mutex<Prng>,
}

impl World {
    fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Outside for World {
    fn now(&self) -> i64 {
        self.now.load(Ordering::Relaxed)
    }

    fn fill(&self, bytes: &mut [u8]) {
        self.numbers.lock().expect("no panic").fill(bytes);
    }
}

/// A folder of its own for each test, gone after it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cistern-machine-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("it is there");
    }
}

fn world() -> Arc<World> {
    Arc::new(World { now: AtomicI64::new(START), numbers: Mutex::new(Prng::new(7)) })
}

fn opened(folder: &Folder, world: &Arc<World>, steps: &[&str]) -> Result<(Machine, Found), Fault> {
    let passwords = Passwords::with(Params::new(8, 1, 1, None).expect("small parameters"));
    Machine::open_with(&folder.0, world.clone(), steps, passwords)
}

fn open(folder: &Folder, world: &Arc<World>) -> (Machine, Found) {
    opened(folder, world, schema::STEPS).expect("it opens")
}

/// A new machine with an administrator `root` and a reader `ann`.
fn machine() -> (Machine, Arc<World>, Folder) {
    let (folder, world) = (Folder::new(), world());
    let (machine, found) = open(&folder, &world);
    assert_eq!(found, Found::New);
    add(&machine, "root", Role::Administrator).expect("added");
    add(&machine, "ann", Role::ReadOnly).expect("added");
    (machine, world, folder)
}

fn add(machine: &Machine, name: &str, role: Role) -> Result<User, Denied> {
    machine.add_user(&NewUser { name, password: PASSWORD, role, uid: None })
}

fn names(machine: &Machine) -> Vec<String> {
    machine.users().expect("read").into_iter().map(|user| user.name).collect()
}

fn home() -> IpAddr {
    IpAddr::from([192, 0, 2, 1])
}

fn try_login(
    machine: &Machine,
    name: &str,
    password: &str,
    second: Option<&str>,
) -> Result<NewSession, Denied> {
    let second = second.map(Second::Code);
    machine.log_in(&LogIn { name, password, second, address: home(), site: None })
}

fn login(machine: &Machine, name: &str) -> NewSession {
    try_login(machine, name, PASSWORD, None).expect("let in")
}

/// Whether the password was right and a second factor is wanted.
fn is_asked_for_more(denied: &Denied) -> bool {
    matches!(denied, Denied::SecondFactorNeeded(_))
}

/// Why something was refused; panics where it was not.
fn refusal<T>(outcome: Result<T, Denied>) -> Denied {
    outcome.err().expect("refused")
}
