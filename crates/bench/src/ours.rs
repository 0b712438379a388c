//! Our daemon with a pool on one image file, so that both sides write each byte once.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use load::{Fail, Folder, Share};

use crate::options::Options;
use crate::process::{Server, ended, wait_until};

/// A build of the program, and where it runs.
#[derive(Clone)]
pub struct Build {
    program: PathBuf,
    dir: PathBuf,
    /// Of NFS.
    port: u16,
}

impl Build {
    /// The one beside this program.
    pub fn own(options: &Options) -> Result<Build, Fail> {
        let program = std::env::current_exe()?.with_file_name("cistern");
        Ok(Build { program, dir: Build::dir(options, options.is_swapped), port: 21_049 })
    }

    /// Another, that is measured beside it.
    pub fn other(program: &Path, options: &Options) -> Build {
        let dir = Build::dir(options, !options.is_swapped);
        Build { program: program.to_owned(), dir, port: 21_050 }
    }

    /// Another appliance.
    pub fn peer(options: &Options) -> Result<Build, Fail> {
        let dir = options.dir.join("peer");
        // What a run before has left is no pool of this one.
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        Ok(Build { dir, port: 21_051, ..Build::own(options)? })
    }

    fn dir(options: &Options, is_second: bool) -> PathBuf {
        if is_second { options.dir.join("before") } else { options.dir.clone() }
    }

    /// What the pool is made on; it has to be there.
    pub fn image(&self) -> PathBuf {
        self.dir.join("disks/bench.img")
    }

    fn addr(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    fn serve(&self, options: &[&str]) -> Result<Server, Fail> {
        let log = File::options().create(true).append(true).open(self.dir.join("cistern.log"))?;
        let mut command = Command::new(&self.program);
        command.arg("serve").arg("--state").arg(self.dir.join("state"));
        command.arg("--search").arg(self.dir.join("disks"));
        command.args(["--nfs", &self.addr().to_string()]).args(options);
        Ok(Server(command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?))
    }
}

/// `recordsize` of our file system; nothing to peers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Records {
    Default,
    Small,
}

pub struct Ours {
    build: Build,
    server: Server,
}

impl Ours {
    pub fn start(build: Build, options: &[&str]) -> Result<Ours, Fail> {
        fs::create_dir_all(build.dir.join("state"))?;
        let ours = Ours { server: build.serve(options)?, build };
        wait_until("cistern", || ours.command(&["zpool", "list"]).is_ok())?;
        Ok(ours)
    }

    /// Ends it, as an operator would, and starts it with other options; on a new pool.
    pub fn start_anew(&mut self, options: &[&str]) -> Result<(), Fail> {
        self.command(&["zpool", "destroy", "-f", "bench"])?;
        ended(Command::new("kill").arg(self.process().to_string()))?;
        self.server.0.wait()?;
        self.server = self.build.serve(options)?;
        wait_until("cistern", || self.command(&["zpool", "list"]).is_ok())?;
        self.make_pool()
    }

    pub fn process(&self) -> u32 {
        self.server.0.id()
    }

    /// Of the management API.
    pub fn socket(&self) -> PathBuf {
        self.build.dir.join("state/cistern.sock")
    }

    pub fn program(&self) -> &Path {
        &self.build.program
    }

    /// The public key that it shows to hosts, once it has asked one.
    pub fn ssh_key(&self) -> PathBuf {
        self.build.dir.join("state/ssh/id_ed25519.pub")
    }

    /// A command of ours, which has to succeed.
    pub fn command(&self, words: &[&str]) -> Result<String, Fail> {
        ended(Command::new(&self.build.program).args(words).env("CISTERN_SOCKET", self.socket()))
    }

    /// How long a command takes, in milliseconds.
    pub fn millis(&self, words: &[&str]) -> Result<f64, Fail> {
        let start = Instant::now();
        self.command(words)?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    pub fn import_words(&self) -> [String; 5] {
        ["zpool", "import", "-d", &self.build.dir.join("disks").display().to_string(), "bench"]
            .map(str::to_owned)
    }

    /// On the image of [`Build::image`].
    pub fn make_pool(&self) -> Result<(), Fail> {
        let image = self.build.image().display().to_string();
        let words = "zpool create -f -O compression=lz4 -O atime=off -O mountpoint=none bench";
        self.command(&words.split(' ').chain([image.as_str()]).collect::<Vec<_>>())?;
        Ok(())
    }

    /// A new file system, shared.
    pub fn make_share(&self) -> Result<Share, Fail> {
        let words =
            "zfs create -o mountpoint=/bench/share -o sharenfs=rw,no_root_squash,insecure bench/share";
        self.command(&words.split(' ').collect::<Vec<_>>())?;
        let share = Share::new(self.build.addr(), "/bench/share");
        wait_until("our NFS", || share.answers())?;
        Ok(share)
    }

    /// Makes `bench/NAME` and mounts it.
    pub fn make_mount(&self, name: &str, at: &Path) -> Result<Folder, Fail> {
        let (name, mountpoint) = (format!("bench/{name}"), format!("mountpoint={}", at.display()));
        self.command(&["zfs", "create", "-o", &mountpoint, &name])?;
        self.command(&["zfs", "mount", &name])?;
        Ok(Folder::new(at))
    }

    /// Of files made from now on.
    pub fn set_records(&self, records: Records) -> Result<(), Fail> {
        let size = match records {
            Records::Default => "recordsize=128K",
            Records::Small => "recordsize=16K",
        };
        self.command(&["zfs", "set", size, "bench"])?;
        Ok(())
    }

    pub fn settle(&self) -> Result<(), Fail> {
        self.command(&["zpool", "sync", "bench"])?;
        Ok(())
    }

    /// What it has used of all processors since it began.
    pub fn processor_time(&self) -> Result<Duration, Fail> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process()))?;
        // User and system, in ticks of 10 ms (proc_pid_stat(5)): the 14th and 15th field.
        let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').skip(11).take(2));
        let ticks: Vec<u64> = fields.ok_or("no times")?.map(str::parse).collect::<Result<_, _>>()?;
        Ok(Duration::from_millis(10 * ticks.iter().sum::<u64>()))
    }

    /// Resident memory in MiB: `VmRSS` now, `VmHWM` at the most.
    pub fn resident(&self, key: &str) -> Result<u64, Fail> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        Ok(kib.ok_or("the daemon has ended")? >> 10)
    }
}

impl Drop for Ours {
    /// Unmounts and exports; whatever hangs is killed with `server`.
    fn drop(&mut self) {
        let process = self.process().to_string();
        if ended(Command::new("kill").arg(process)).is_ok() {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(30) && matches!(self.server.0.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}
