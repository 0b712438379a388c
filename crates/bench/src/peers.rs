//! The peers: file systems of the kernel, and nfs-ganesha on them.
//!
//! ext4 is the measured disk's own file system, if it has that one: nothing lies between. Where it
//! does not, and for xfs and btrfs, the file system is made on a loop device over an image file.
//! Such an image (like our pool's) is written whole beforehand and opened with direct I/O, so that
//! neither the page cache below nor the allocator of the disk's file system has a part in what is
//! measured.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use load::{Fail, Share};

use crate::process::{Server, ended, wait_until};

/// A file of so many zeros that are really on the disk; a multiple of 4 MiB. One that is there
/// keeps its place on the disk.
pub fn write_image(path: &Path, size: u64) -> Result<(), Fail> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let (to, count) = (format!("of={}", path.display()), format!("count={}", size >> 22));
    let dd = |how: &[&str]| {
        let common = ["if=/dev/zero", &to, "bs=4M", &count, "conv=fsync,notrunc", "status=none"];
        ended(Command::new("dd").args(common).args(how))
    };
    // Not every file system knows direct I/O.
    dd(&["oflag=direct"]).or_else(|_| dd(&[]))?;
    Ok(())
}

/// Folders on file systems of the kernel.
#[derive(Default)]
pub struct Disks {
    mounted: Vec<(&'static str, PathBuf)>,
    failed: Vec<(&'static str, String)>,
}

impl Disks {
    /// All that this machine allows; btrfs where it is asked for.
    pub fn mount(dir: &Path, size: u64, with_btrfs: bool) -> Result<Disks, Fail> {
        let mut disks = Disks::default();
        let own = dir.join("ext4");
        if ended(Command::new("stat").args(["-f", "-c", "%T"]).arg(dir))?.trim() == "ext2/ext3" {
            fs::create_dir_all(&own)?;
            disks.mounted.push(("ext4", own));
        } else {
            disks.add("ext4", &["-q", "-E", "nodiscard"], dir, size);
        }
        disks.add("xfs", &["-q", "-K"], dir, size);
        if with_btrfs {
            disks.add("btrfs", &["-q", "-K"], dir, size);
        }
        Ok(disks)
    }

    fn add(&mut self, kind: &'static str, options: &[&str], dir: &Path, size: u64) {
        match loop_mount(kind, options, dir, size) {
            Ok(at) => self.mounted.push((kind, at)),
            Err(error) => self.failed.push((kind, format!("{kind} is left out: {error}"))),
        }
    }

    pub fn of(&self, kinds: &[&str]) -> Vec<(&'static str, PathBuf)> {
        self.mounted.iter().filter(|(kind, _)| kinds.contains(kind)).cloned().collect()
    }

    pub fn left_out(&self, kinds: &[&str]) -> Vec<String> {
        self.failed.iter().filter(|(kind, _)| kinds.contains(kind)).map(|(_, why)| why.clone()).collect()
    }
}

/// The mount goes with the namespace, and the loop device with the mount.
fn loop_mount(kind: &str, options: &[&str], dir: &Path, size: u64) -> Result<PathBuf, Fail> {
    let (image, at) = (dir.join("disks").join(format!("{kind}.img")), dir.join("mnt").join(kind));
    write_image(&image, size)?;
    fs::create_dir_all(&at)?;
    let device = ended(Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(&image))?;
    let device = device.trim();
    let made = ended(Command::new(format!("mkfs.{kind}")).args(options).arg(device))
        .and_then(|_| ended(Command::new("mount").args(["-t", kind, "-o", "noatime", device]).arg(&at)));
    // A mounted one is let go when it is unmounted.
    ended(Command::new("losetup").args(["--detach", device]))?;
    made.map(|_| at)
}

const NFS_PORT: u16 = 20_500;
const MOUNT_PORT: u16 = 20_501;

/// nfs-ganesha with its file system "VFS", as it is installed but for ports and transfer size.
pub struct Ganesha {
    server: Server,
    /// By kind of file system.
    pub shares: Vec<(&'static str, Share)>,
    _portmapper: Server,
}

impl Ganesha {
    pub fn start(dir: &Path, folders: &[(&'static str, PathBuf)]) -> Result<Ganesha, Fail> {
        // SAFETY: it takes nothing and touches no memory.
        if unsafe { libc::geteuid() } != 0 {
            return Err("it has to be started as root".into());
        }
        fs::create_dir_all("/run/ganesha")?;
        let config = dir.join("ganesha.conf");
        fs::write(&config, config_text(folders))?;
        let portmapper = spawn(Command::new("rpcbind").args(["-f", "-w"]), dir)?;
        wait_until("rpcbind", || Path::new("/run/rpcbind.sock").exists())?;
        let log = dir.join("ganesha.log");
        let mut command = Command::new("ganesha.nfsd");
        command.arg("-F").arg("-f").arg(config).arg("-L").arg(log).args(["-p", "/run/ganesha.pid"]);
        let server = spawn(&mut command, dir)?;
        let shares = folders.iter().map(|(kind, path)| {
            let at = |port| ([127, 0, 0, 1], port).into();
            (*kind, Share { nfs: at(NFS_PORT), mount: at(MOUNT_PORT), path: path.display().to_string() })
        });
        let shares: Vec<_> = shares.collect();
        for (_, share) in &shares {
            wait_until("nfs-ganesha", || share.answers())?;
        }
        Ok(Ganesha { server, shares, _portmapper: portmapper })
    }

    pub fn process(&self) -> u32 {
        self.server.0.id()
    }
}

/// A server, whose output goes to a log of all of them.
pub fn spawn(command: &mut Command, dir: &Path) -> Result<Server, Fail> {
    let log = File::options().create(true).append(true).open(dir.join("peers.log"))?;
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn();
    Ok(Server(child.map_err(|error| format!("{name}: {error}"))?))
}

fn config_text(folders: &[(&'static str, PathBuf)]) -> String {
    let mut text = format!(
        "NFS_CORE_PARAM {{ NFS_Port = {NFS_PORT}; MNT_Port = {MOUNT_PORT}; NLM_Port = 20502; Rquota_Port = 20503;\n  \
         Enable_NLM = false; Enable_RQUOTA = false; NFS_Protocols = 3; mount_path_pseudo = false; }}\n\
         EXPORT_DEFAULTS {{ Access_Type = RW; Squash = None; SecType = sys; Protocols = 3; Transports = TCP; }}\n\
         LOG {{ Default_Log_Level = EVENT; }}\n"
    );
    for (i, (kind, path)) in folders.iter().enumerate() {
        text += &format!(
            "EXPORT {{ Export_Id = {}; Path = {}; Pseudo = /{kind}; Access_Type = RW; MaxRead = 1048576;\n  \
             MaxWrite = 1048576; PrivilegedPort = false; FSAL {{ Name = VFS; }} }}\n",
            i + 1,
            path.display()
        );
    }
    text
}
