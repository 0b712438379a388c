//! A folder of image files, a trivial file system format, and zdb.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use dmu::zap::{Zap, ZapParams};
use dmu::{DmuError, ObjectSpec, Objset, Tx};
use env::Env;
use ondisk::object_type::ObjectType;
use ondisk::prop::UserspaceProp;
use pool::dsl::FsFormat;
use pool::prop::FsProps;
use pool::spa::create::Surroundings;
use pool::txg::Limits;
use storage::arc::Cache;

/// A folder that goes with the test.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("cistern-pool-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    /// A sparse image of `size` bytes.
    pub fn image(&self, name: &str, size: u64) -> String {
        let path = self.0.join(name);
        std::fs::File::create(&path).unwrap().set_len(size).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn image_path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn path(&self) -> String {
        self.0.to_str().unwrap().to_owned()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The images as a power cut would leave them.
pub fn crash(dir: &Dir, name: &str) -> Dir {
    let copy = Dir::new(name);
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let to = copy.image_path(path.file_name().unwrap().to_str().unwrap());
        let mut cp = Command::new("cp");
        assert!(cp.args(["--sparse=always"]).arg(&path).arg(&to).status().unwrap().success());
    }
    copy
}

/// A file system with a root directory without attributes: enough for the layers below.
pub struct Bare;

impl FsFormat for Bare {
    fn create(&self, objset: &Arc<Objset>, _props: &FsProps, tx: &Tx) -> Result<(), DmuError> {
        let spec = ObjectSpec::new(ObjectType::MASTER_NODE);
        let master = Zap::claim(objset, 1, spec, ZapParams::salted(7), tx)?;
        master.add("VERSION", 5u64, tx)
    }

    fn props(&self, _objset: &Arc<Objset>) -> Result<Vec<(&'static str, u64)>, DmuError> {
        Ok(vec![("version", 5), ("utf8only", 0), ("normalization", 0), ("casesensitivity", 0)])
    }

    fn deleted(&self, _objset: &Arc<Objset>) -> Result<Vec<u64>, DmuError> {
        Ok(Vec::new())
    }

    fn spending(&self, _objset: &Arc<Objset>, _prop: UserspaceProp, _id: u64) -> Result<u64, DmuError> {
        Err(DmuError::Unsupported("users"))
    }

    fn owner_of(&self) -> Arc<dyn dmu::accounting::OwnerOf> {
        Arc::new(Nobody)
    }
}

struct Nobody;

impl dmu::accounting::OwnerOf for Nobody {
    fn owner_of(&self, _: ObjectType, _: ObjectType, _: &[u8]) -> Option<dmu::accounting::Owner> {
        None
    }
}

pub fn around() -> Surroundings {
    Surroundings {
        env: Env::real(),
        cache: Cache::new(64 << 20),
        limits: Limits::default(),
        fs_format: Arc::new(Bare),
        spares_in_use: Arc::default(),
        open_pools: Arc::default(),
        events: Arc::default(),
        kept: None,
    }
}

const ZDB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/zdb");

/// What zdb says of the pools in a folder.
pub fn zdb(dir: &Dir, args: &[&str]) -> String {
    let out =
        Command::new(ZDB).args(["-e", "-p", &dir.path()]).args(args).output().expect("zdb is installed");
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

/// Runs `zdb -e -p DIR -bcc POOL`; panics with its words unless it is content.
pub fn zdb_accepts(dir: &Dir, pool: &str) -> String {
    let out =
        Command::new(ZDB).args(["-e", "-p", &dir.path(), "-bcc", pool]).output().expect("zdb is installed");
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && text.contains("No leaks"), "zdb: {}\n{text}", out.status);
    text
}

/// OpenZFS's own code for delegations, built against its library.
pub struct Delegations(Dir);

impl Delegations {
    pub fn build(name: &str) -> Delegations {
        let dir = Dir::new(name);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/delegations.c");
        let mut cc = Command::new("cc");
        // Its headers are meant for its own build, and speak of what a compiler of today warns of.
        cc.args(["-w", "-O1", "-rdynamic", "-I/usr/include/libzfs", "-I/usr/include/libspl", "-o"]);
        cc.arg(dir.image_path("delegations")).args([source, "-lzpool", "-lnvpair"]);
        assert!(cc.status().expect("cc is installed").success(), "libzfslinux-dev is installed");
        Delegations(dir)
    }

    /// Has it obey these lines on the exported pool of one image; its answers.
    pub fn obey(&self, image: &str, lines: &[String]) -> Vec<String> {
        let mut command = Command::new("timeout");
        command.arg("120").arg(self.0.image_path("delegations")).arg(image);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // It answers with little: nothing waits for a pipe.
        child.stdin.take().unwrap().write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "OpenZFS: {}", out.status);
        String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect()
    }
}

/// Unpacks a pool that OpenZFS made into the folder: its disks, and what its commands said.
pub fn fixture(dir: &Dir, name: &str) {
    let archive = format!("{}/../../tests/fixtures/{name}.tar.zst", env!("CARGO_MANIFEST_DIR"));
    let mut tar = Command::new("tar");
    tar.args(["--zstd", "-xf", &archive, "--strip-components=1", "-C", &dir.path()]);
    assert!(tar.status().expect("tar is installed").success());
}

/// As [`fixture`], of the larger collection beside the repository; `false` where that is not there.
pub fn shared_fixture(dir: &Dir, name: &str) -> bool {
    let archive = format!("{}/../../../shared/pools/{name}.tar.zst", env!("CARGO_MANIFEST_DIR"));
    if !std::path::Path::new(&archive).exists() {
        return false;
    }
    let mut tar = Command::new("tar");
    tar.args(["--zstd", "-xf", &archive, "--strip-components=1", "-C", &dir.path()]);
    tar.status().expect("tar is installed").success()
}

/// Replaces each whole-disk image of the folder by its ZFS partition alone: zdb does not look into
/// partition tables.
pub fn cut_partitions(dir: &Dir) {
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "img") {
            continue;
        }
        let mut disk = std::fs::read(&path).unwrap();
        if let Ok(Some(part)) = ondisk::gpt::find_zfs(&disk, disk.len() as u64) {
            let (start, len) = (part.start as usize, part.len as usize);
            disk.copy_within(start..start + len, 0);
            disk.truncate(len);
            std::fs::write(&path, &disk).unwrap();
        }
    }
}
