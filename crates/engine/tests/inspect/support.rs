//! Folders, fixtures, and running the command as the program does.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use env::Env;

/// A folder that goes with the test.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new(name: &str) -> Dir {
        // Tests run side by side, and some use the same fixture.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(format!("cistern-inspect-{name}-{unique}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    /// A pool that OpenZFS made: its disks, and what its commands said.
    pub fn fixture(name: &str) -> Dir {
        let dir = Dir::new(name);
        let archive = format!("{}/../../tests/fixtures/{name}.tar.zst", env!("CARGO_MANIFEST_DIR"));
        let mut tar = Command::new("tar");
        tar.args(["--zstd", "-xf", &archive, "--strip-components=1", "-C", &dir.path()]);
        assert!(tar.status().expect("tar is installed").success());
        dir
    }

    pub fn path(&self) -> String {
        self.0.to_str().unwrap().to_owned()
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// The text of a file; `None` where there is none.
    pub fn text(&self, name: &str) -> Option<String> {
        std::fs::read(self.0.join(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Names of the disk images.
    pub fn disks(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut disks: Vec<String> = names.filter(|name| name.ends_with(".img")).collect();
        disks.sort();
        disks
    }

    pub fn disk_paths(&self) -> Vec<String> {
        self.disks().iter().map(|name| self.file(name)).collect()
    }
}

impl Drop for Dir {
    /// What a test failed on is kept: pools that ztest makes are never the same again.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("kept: {}", self.0.display());
            return;
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a run of the command gave.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn clean(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }
}

pub fn inspect(args: &[&str]) -> Ran {
    inspect_in(&Env::real(), args)
}

pub fn inspect_in(env: &Env, args: &[&str]) -> Ran {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = engine::inspect::run(env, &args, &mut out, &mut err);
    Ran { status, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}
