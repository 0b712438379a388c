//! A model, mounted in a directory of its own for one test.

use crate::WANTS_RINGS;
use engine_api::{FileSystem, Time};
use fuse::{At, Limits, Mount, MountOptions, Pool};
use model::MemFs;
use mounter::Mounter;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The kernel's parameter that decides whether requests may come over io_uring.
const PARAMETER: &str = "/sys/module/fuse/parameters/enable_uring";
/// Whether what is mounted here is served over io_uring: where the kernel has that (Linux 6.14),
/// and root may ask for it.
pub fn has_rings() -> bool {
    WANTS_RINGS && OpenOptions::new().write(true).open(PARAMETER).is_ok()
}

/// Mounts with the parameter as these tests want it. Nobody else changes it meanwhile: a test may
/// run others in processes of their own.
fn mount_so(mount: impl FnOnce() -> Mount) -> Mount {
    let Ok(parameter) = File::open(PARAMETER) else { return mount() };
    parameter.lock().unwrap();
    let set = |value: &str| drop(std::fs::write(PARAMETER, value));
    let before = std::fs::read_to_string(PARAMETER).unwrap();
    set(if WANTS_RINGS { "Y" } else { "N" });
    let mount = mount();
    set(&before);
    mount
}

/// Runs one ignored test in a process of its own, with these variables.
pub fn alone(name: &str, variables: &[(&str, &str)]) {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&ran.stderr));
}

pub struct Fixture {
    pub fs: Arc<MemFs>,
    pub mount: Mount,
    pub at: PathBuf,
}

impl Fixture {
    pub fn new() -> Fixture {
        Fixture::with(&MountOptions::default())
    }

    pub fn with(options: &MountOptions) -> Fixture {
        Fixture::within(&Pool::new(Limits::default(), Arc::default()).unwrap(), options)
    }

    pub fn within(pool: &Pool, options: &MountOptions) -> Fixture {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("cistern-fuse-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let at = std::env::temp_dir().join(name);
        std::fs::create_dir(&at).unwrap();
        let fs = MemFs::new(Box::new(now));
        let mount = mount_so(|| {
            let at = At { path: &at, overlay: false };
            let fs = fs.clone() as Arc<dyn FileSystem>;
            fuse::mount(pool, &Mounter::here(), fs, at, options).expect("root and /dev/fuse")
        });
        Fixture { fs, mount, at }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.at.join(name)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.mount.unmount(true).unwrap();
        std::fs::remove_dir(&self.at).unwrap();
    }
}

fn now() -> Time {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Time { secs: now.as_secs() as i64, nanos: now.subsec_nanos() }
}

pub fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

/// The error number of a call that answers -1, or what it answered.
pub fn answer(result: i64) -> Result<i64, i32> {
    if result == -1 { Err(io::Error::last_os_error().raw_os_error().unwrap()) } else { Ok(result) }
}

/// Requests that nobody waits for (release, forget) are answered a little later.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}

/// Threads of this process that have this name.
pub fn threads(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .filter(|task| {
            std::fs::read_to_string(task.as_ref().unwrap().path().join("comm"))
                .is_ok_and(|comm| comm.trim() == name)
        })
        .count()
}
