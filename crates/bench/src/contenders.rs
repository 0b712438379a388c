//! Who is measured: our server and mount, and the peers that can be had on this machine.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use load::{Blocks, Crowd, Fail, Folder, Outcome, Share, Work, machine_time, process_time};

use crate::fuse_peers::{self, FusePeer};
use crate::options::Options;
use crate::ours::{Build, Ours, Records};
use crate::peers::{self, Disks, Ganesha};
use crate::process::ended;
use crate::suite::{self, Before, SIZE};

/// Bytes of the images that file systems are made on, and of our pool's.
const PEER_SIZE: u64 = 4 << 30;
const POOL_SIZE: u64 = 6 << 30;

/// What builds of ours are called.
pub const OURS: &str = "Cistern";
pub const BEFORE: &str = "before";

enum Place {
    Share(Share),
    Folder(Folder),
}

/// One who is measured.
pub struct Contender {
    pub name: String,
    /// It is no build of ours.
    pub is_peer: bool,
    place: Place,
    /// Whose processor time counts; `None`: the machine's, for file systems that work in threads of
    /// the kernel.
    process: Option<u32>,
    /// The whole file is there, of such records.
    file: Cell<Option<Records>>,
}

impl Contender {
    fn new(name: &str, place: Place, process: Option<u32>) -> Contender {
        Contender { name: name.to_owned(), is_peer: true, place, process, file: Cell::new(None) }
    }

    fn ours(name: &str, place: Place, process: Option<u32>) -> Contender {
        Contender { is_peer: false, ..Contender::new(name, place, process) }
    }

    pub fn run(&self, work: Work, crowd: &Crowd) -> Result<Outcome, Fail> {
        match &self.place {
            Place::Share(share) => share.run(work, crowd),
            Place::Folder(folder) => folder.run(work, crowd),
        }
    }

    /// Where it is mounted; `None` for a share.
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Share(_) => None,
            Place::Folder(folder) => Some(folder.path()),
        }
    }

    fn fill(&self) -> Result<(), Fail> {
        let blocks = Blocks { block: 1 << 20, size: SIZE, is_random: false };
        self.run(Work::Write { blocks, is_sync: false }, &Crowd::new(1, Duration::MAX))?;
        Ok(())
    }

    pub fn forget_file(&self) -> Result<(), Fail> {
        self.file.set(None);
        match &self.place {
            Place::Share(share) => share.forget_file(),
            Place::Folder(folder) => folder.forget_file(),
        }
    }

    pub fn processor_time(&self) -> Duration {
        match self.process {
            Some(process) => process_time(&process.to_string()),
            None => machine_time(),
        }
    }
}

/// Everybody, ready; ours come first.
pub struct All {
    pub ours: Ours,
    /// The build that takes part in the place of the peers.
    before: Option<Ours>,
    pub nfs: Vec<Contender>,
    pub local: Vec<Contender>,
    /// Whom the machine does not allow, and why.
    nfs_left_out: Vec<String>,
    local_left_out: Vec<String>,
    /// They end with it.
    _ganesha: Option<Ganesha>,
    fuse_peers: Vec<FusePeer>,
}

impl All {
    pub fn left_out(&self, place: suite::Place) -> Vec<String> {
        match place {
            suite::Place::Nfs => self.nfs_left_out.clone(),
            suite::Place::Local => self.local_left_out.clone(),
        }
    }

    /// Makes what a group needs of a contender.
    pub fn prepare(&self, contender: &Contender, before: Before) -> Result<(), Fail> {
        let records = match before {
            Before::Nothing => return Ok(()),
            Before::NoFile => return contender.forget_file(),
            Before::File => Records::Default,
            Before::FileOfSmallRecords => Records::Small,
        };
        if contender.file.get() != Some(records) {
            contender.forget_file()?;
            self.builds().try_for_each(|ours| ours.set_records(records))?;
            contender.fill()?;
            self.builds().try_for_each(|ours| ours.set_records(Records::Default))?;
            contender.file.set(Some(records));
        }
        Ok(())
    }

    /// Waits until nobody has anything left to write.
    pub fn settle(&self) -> Result<(), Fail> {
        // SAFETY: it takes nothing and touches no memory.
        unsafe { libc::sync() };
        self.builds().try_for_each(Ours::settle)
    }

    fn add_peers(&mut self, dir: &Path, over_nfs: bool, locally: bool) -> Result<(), Fail> {
        let disks = Disks::mount(dir, PEER_SIZE, locally)?;
        self.nfs_left_out.extend(disks.left_out(&["ext4", "xfs"]));
        self.local_left_out.extend(disks.left_out(&["ext4", "xfs", "btrfs"]));
        if over_nfs {
            match Ganesha::start(dir, &disks.of(&["ext4", "xfs"])) {
                Ok(ganesha) => {
                    for (name, share) in &ganesha.shares {
                        let name = format!("nfs-ganesha on {name}");
                        let place = Place::Share(share.clone());
                        self.nfs.push(Contender::new(&name, place, Some(ganesha.process())));
                    }
                    self._ganesha = Some(ganesha);
                }
                Err(error) => self.nfs_left_out.push(format!("nfs-ganesha is left out: {error}")),
            }
        }
        if locally {
            for (name, path) in disks.of(&["ext4", "xfs", "btrfs"]) {
                self.local.push(Contender::new(name, Place::Folder(Folder::new(&path)), None));
            }
            if let [(_, ext4)] = &disks.of(&["ext4"])[..] {
                self.add_fuse_peers(dir, ext4)?;
            }
        }
        Ok(())
    }

    fn add_fuse_peers(&mut self, dir: &Path, ext4: &Path) -> Result<(), Fail> {
        for peer in fuse_peers::start(dir, ext4)? {
            match peer {
                Ok(peer) => {
                    let name = format!("{} on ext4 (FUSE)", peer.name);
                    self.local.push(Contender::new(&name, Place::Folder(Folder::new(&peer.at)), None));
                    self.fuse_peers.push(peer);
                }
                Err(why) => self.local_left_out.push(why),
            }
        }
        Ok(())
    }

    fn builds(&self) -> impl Iterator<Item = &Ours> {
        [&self.ours].into_iter().chain(&self.before)
    }
}

pub fn start(options: &Options, over_nfs: bool, locally: bool) -> Result<All, Fail> {
    let dir = &options.dir;
    let mut all = All {
        ours: start_build(Build::own(options)?)?,
        before: None,
        nfs: Vec::new(),
        local: Vec::new(),
        nfs_left_out: Vec::new(),
        local_left_out: Vec::new(),
        _ganesha: None,
        fuse_peers: Vec::new(),
    };
    if let Some(program) = &options.before {
        all.before = Some(start_build(Build::other(program, options))?);
    }
    let builds: Vec<_> =
        [(OURS, &all.ours)].into_iter().chain(all.before.iter().map(|b| (BEFORE, b))).collect();
    for (name, ours) in builds {
        if over_nfs {
            all.nfs.push(Contender::ours(name, Place::Share(ours.make_share()?), Some(ours.process())));
        }
        if locally {
            let at = dir.join("mnt").join(name.to_lowercase());
            // Beside peers, ours is there twice: as the kernel has FUSE by itself, and as it can
            // have it.
            let over_rings = options.before.is_none().then(|| {
                let mount = || ours.make_mount("rings", &at.with_extension("rings"));
                (format!("{name} (io_uring)"), with_rings(mount))
            });
            let plain = (format!("{name} (FUSE)"), ours.make_mount("local", &at));
            for (name, mounted) in over_rings.into_iter().chain([plain]) {
                match mounted {
                    Ok(folder) => all.local.push(Contender::ours(&name, Place::Folder(folder), None)),
                    Err(error) => all.local_left_out.push(format!("{name} is left out: {error}")),
                }
            }
        }
    }
    if all.before.is_none() && (over_nfs || locally) {
        all.add_peers(dir, over_nfs, locally)?;
    }
    for note in all.nfs_left_out.iter().chain(&all.local_left_out) {
        eprintln!("bench: {note}");
    }
    Ok(all)
}

/// The kernel's parameter for FUSE over io_uring.
const RINGS: &str = "/sys/module/fuse/parameters/enable_uring";

/// Whether the kernel has FUSE over io_uring.
pub fn have_rings() -> bool {
    Path::new(RINGS).exists()
}

/// Mounts while the kernel allows it.
pub fn with_rings(mount: impl FnOnce() -> Result<Folder, Fail>) -> Result<Folder, Fail> {
    let before = fs::read_to_string(RINGS).map_err(|error| format!("{RINGS}: {error}"))?;
    fs::write(RINGS, "Y")?;
    let mounted = mount();
    fs::write(RINGS, before)?;
    mounted
}

/// With a new pool.
fn start_build(build: Build) -> Result<Ours, Fail> {
    peers::write_image(&build.image(), POOL_SIZE)?;
    let ours = Ours::start(build, &[])?;
    ours.make_pool()?;
    Ok(ours)
}

/// Removes everything but logs and results; unmounts what an earlier run left.
pub fn clear(dir: &Path) -> Result<(), Fail> {
    clear_but_images(dir)?;
    remove(dir, &["disks", "before"])
}

/// Room for servers that start anew. Builds that take each other's images find them as they lie on
/// the disk.
pub fn make_room(options: &Options) -> Result<(), Fail> {
    if options.is_swapped { clear_but_images(&options.dir) } else { clear(&options.dir) }
}

fn clear_but_images(dir: &Path) -> Result<(), Fail> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let below =
        mounts.lines().filter_map(|line| line.split(' ').nth(1)).filter(|at| Path::new(at).starts_with(dir));
    for at in below.collect::<Vec<_>>().into_iter().rev() {
        ended(Command::new("umount").args(["-l", at]))?;
    }
    remove(dir, &["state", "before/state", "ext4", "mnt"])
}

fn remove(dir: &Path, names: &[&str]) -> Result<(), Fail> {
    for path in names.iter().map(|name| dir.join(name)).filter(|path| path.exists()) {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}
