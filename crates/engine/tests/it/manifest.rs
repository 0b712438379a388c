//! A file system against a manifest: what OpenZFS said of every path, when it made the fixture.
//!
//! A manifest has one JSON object a line; paths and link targets are percent-encoded bytes, xattr
//! values hex. Lines start with `#` where they are notes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use engine_api::{Attr, Cred, DirLimit, Error, FileSystem, NodeKind, Pool, Seek};
use serde_json::Value;
use sha2::{Digest, Sha256};

const ROOT: Cred = Cred::root();
const READ: usize = 1 << 20;

/// A fixture unpacked in a folder that goes with this value.
pub struct Fixture {
    dir: PathBuf,
    name: String,
    lines: Vec<Value>,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to clean.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Fixture {
    /// From `tests/fixtures/NAME.tar.zst`.
    pub fn unpack(name: &str) -> Fixture {
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
        Fixture::unpack_from(&archive.join(format!("{name}.tar.zst")), name)
    }

    /// From the larger collection beside the repository; `None` where that is not there.
    pub fn unpack_shared(name: &str) -> Option<Fixture> {
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/pools");
        let archive = archive.join(format!("{name}.tar.zst"));
        archive.exists().then(|| Fixture::unpack_from(&archive, name))
    }

    fn unpack_from(archive: &Path, name: &str) -> Fixture {
        // Two tests may unpack the same.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Relaxed);
        let dir = std::env::temp_dir().join(format!("cistern-fixture-{name}-{count}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let tar =
            Command::new("tar").arg("--zstd").arg("-xf").arg(archive).arg("-C").arg(&dir).status().unwrap();
        assert!(tar.success(), "tar --zstd cannot unpack {name}");
        let lines = read_lines(&dir.join(name).join("manifest.txt"));
        Fixture { dir, name: name.to_owned(), lines }
    }

    /// A pool whose intent log is not replayed yet, and what OpenZFS had after it had replayed it.
    /// Times that replay set anew are nobody's to compare.
    pub fn unpack_dirty(name: &str) -> Fixture {
        let mut fixture = Fixture::unpack(name);
        let mut after = read_lines(&fixture.dir.join(name).join("manifest-after-replay.txt"));
        let place = |line: &Value| (line["ds"].to_string(), line["path"].to_string());
        let before: BTreeMap<_, _> =
            fixture.lines.iter().map(|line| (place(line), line["mtime"].clone())).collect();
        for line in &mut after {
            if before.get(&place(line)) != Some(&line["mtime"]) {
                line["mtime"] = Value::Null;
            }
        }
        fixture.lines = after;
        fixture
    }

    /// Where the disk images are.
    pub fn images(&self) -> String {
        self.dir.join(&self.name).to_str().unwrap().to_owned()
    }

    /// Compares every file system and snapshot; one line for each thing that differs.
    pub fn check(&self, pool: &dyn Pool) -> Vec<String> {
        let mut by_dataset: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        // What is in file systems that are in volumes, is whoever's that mounts these.
        let is_ours = |line: &&Value| !line["ds"].as_str().is_some_and(|ds| ds.contains(":ext4"));
        for line in self.lines.iter().filter(|line| line.get("path").is_some()).filter(is_ours) {
            by_dataset.entry(line["ds"].as_str().unwrap()).or_default().push(line);
        }
        let mut wrong = Vec::new();
        for (dataset, lines) in by_dataset {
            match pool.open_fs(dataset) {
                Err(error) => wrong.push(format!("{dataset}: cannot be opened: {error}")),
                Ok(fs) => check_dataset(dataset, &*fs, &lines, &mut wrong),
            }
        }
        self.lines
            .iter()
            .filter(|line| line["zvol"] == true)
            .for_each(|line| check_volume(pool, line["ds"].as_str().unwrap(), line, &mut wrong));
        wrong
    }

    /// Compares one volume or snapshot of one, `name`, with what the manifest says of another.
    pub fn check_volume_as(&self, sent: &str, pool: &dyn Pool, name: &str) -> Vec<String> {
        let line = self.lines.iter().find(|line| line["zvol"] == true && line["ds"] == sent);
        let line = line.unwrap_or_else(|| panic!("the manifest says nothing of {sent}"));
        let mut wrong = Vec::new();
        check_volume(pool, name, line, &mut wrong);
        wrong
    }

    /// Compares one file system with what the manifest says of a dataset.
    pub fn check_one(&self, dataset: &str, fs: &dyn FileSystem) -> Vec<String> {
        let of_dataset = |line: &&Value| line.get("path").is_some() && line["ds"] == dataset;
        let lines: Vec<&Value> = self.lines.iter().filter(of_dataset).collect();
        assert!(!lines.is_empty(), "the manifest says nothing of {dataset}");
        let mut wrong = Vec::new();
        check_dataset(dataset, fs, &lines, &mut wrong);
        wrong
    }

    /// The ZFS partitions of the disk images as plain files in a folder of their own, as zdb takes
    /// them.
    pub fn partitions(&self) -> PathBuf {
        let (images, out) = (PathBuf::from(self.images()), self.dir.join("partitions"));
        std::fs::create_dir_all(&out).unwrap();
        for note in std::fs::read_to_string(images.join("manifest.txt")).unwrap().lines() {
            let Some((name, place)) = note.strip_prefix("# ").and_then(|note| note.split_once(".img = "))
            else {
                continue;
            };
            let numbers =
                place.split(|c: char| !c.is_ascii_digit()).filter_map(|text| text.parse::<u64>().ok());
            let numbers: Vec<u64> = numbers.collect();
            let [.., start, len] = numbers[..] else { panic!("no partition in: {note}") };
            let image = std::fs::File::open(images.join(format!("{name}.img"))).unwrap();
            let part = std::fs::File::create(out.join(name)).unwrap();
            part.set_len(len).unwrap();
            copy_sparse(&image, start, &part, len);
        }
        out
    }

    /// How many paths the manifest has.
    pub fn paths(&self) -> usize {
        self.lines.iter().filter(|line| line.get("path").is_some()).count()
    }
}

fn read_lines(manifest: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(manifest).unwrap();
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn copy_sparse(from: &std::fs::File, start: u64, to: &std::fs::File, len: u64) {
    let mut buf = vec![0; READ];
    for at in (0..len).step_by(READ) {
        let part = &mut buf[..READ.min((len - at) as usize)];
        from.read_exact_at(part, start + at).unwrap();
        if part.iter().any(|byte| *byte != 0) {
            to.write_all_at(part, at).unwrap();
        }
    }
}

fn check_volume(pool: &dyn Pool, name: &str, line: &Value, wrong: &mut Vec<String>) {
    let volume = match pool.open_volume(name) {
        Err(error) => return wrong.push(format!("{name}: cannot be opened: {error}")),
        Ok(volume) => volume,
    };
    let size = volume.geometry().unwrap().size;
    if line["size"] != size {
        wrong.push(format!("{name}: has {size} bytes"));
    }
    let Some(sum) = line["sha256"].as_str() else { return };
    let (mut digest, zeros) = (Sha256::new(), vec![0; READ]);
    let mut at = 0;
    while at < size {
        let data = volume.seek(at, Seek::Data).unwrap();
        for from in (at..data).step_by(READ) {
            digest.update(&zeros[..READ.min((data - from) as usize)]);
        }
        at = if data < size { volume.seek(data, Seek::Hole).unwrap() } else { size };
        for from in (data..at).step_by(READ) {
            digest.update(volume.read(from, READ.min((at - from) as usize)).unwrap().to_vec());
        }
    }
    if hex(&digest.finalize()) != sum {
        wrong.push(format!("{name}: has other bytes"));
    }
}

fn check_dataset(dataset: &str, fs: &dyn FileSystem, lines: &[&Value], wrong: &mut Vec<String>) {
    let mut listed: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for line in lines {
        let path = decode(line["path"].as_str().unwrap());
        // Under snapdir=visible the directory of snapshots is listed in the root; what is in it is
        // no part of the file system's contents.
        if path.starts_with(b".zfs") {
            if path == b".zfs" {
                listed.entry(b".".to_vec()).or_default().insert(path);
            }
            continue;
        }
        if let Some(at) = path.iter().rposition(|b| *b == b'/') {
            listed.entry(path[..at].to_vec()).or_default().insert(path[at + 1..].to_vec());
        } else if path != b"." {
            listed.entry(b".".to_vec()).or_default().insert(path.clone());
        }
        let place = format!("{dataset}: {}", line["path"].as_str().unwrap());
        match walk(fs, &path) {
            Err(error) => wrong.push(format!("{place}: {error}")),
            Ok(attr) => check_node(fs, line, &attr, &place, wrong),
        }
    }
    for (dir, names) in listed {
        let place = format!("{dataset}: {}", dir.escape_ascii());
        match walk(fs, &dir).and_then(|attr| names_in(fs, &attr)) {
            Err(error) => wrong.push(format!("{place}: cannot be listed: {error}")),
            Ok(found) if found != names => wrong.push(format!("{place}: lists {found:?}")),
            Ok(_) => {}
        }
    }
}

fn walk(fs: &dyn FileSystem, path: &[u8]) -> Result<Attr, Error> {
    let mut attr = fs.getattr(fs.root())?;
    for name in path.split(|b| *b == b'/').filter(|name| *name != b".") {
        attr = fs.lookup(&ROOT, attr.node, name)?;
    }
    Ok(attr)
}

fn names_in(fs: &dyn FileSystem, dir: &Attr) -> Result<BTreeSet<Vec<u8>>, Error> {
    let mut names = BTreeSet::new();
    let mut cookie = 0;
    loop {
        let limit = DirLimit { entries: 100, name_bytes: 1 << 16, with_attr: false };
        let page = fs.readdir(&ROOT, dir.node, cookie, limit)?;
        for entry in page.entries {
            names.insert(entry.name);
            cookie = entry.cookie;
        }
        if page.eof {
            return Ok(names);
        }
    }
}

fn check_node(fs: &dyn FileSystem, line: &Value, attr: &Attr, place: &str, wrong: &mut Vec<String>) {
    let mut compare = |what: &str, expected: String, found: String| {
        if expected != found {
            wrong.push(format!("{place}: {what} is {found}, not {expected}"));
        }
    };
    compare("type", line["type"].as_str().unwrap().into(), kind(attr.kind).into());
    // Another file system is mounted there: of this one's own node nothing is known.
    if line.get("childmount").is_some() {
        return;
    }
    let number = |name: &str| line[name].as_u64().unwrap();
    compare("mode", line["mode"].as_str().unwrap().into(), format!("{:04o}", attr.mode));
    compare("owner", number("uid").to_string(), attr.uid.to_string());
    compare("group", number("gid").to_string(), attr.gid.to_string());
    compare("size", number("size").to_string(), attr.size.to_string());
    compare("link count", number("nlink").to_string(), attr.nlink.to_string());
    let mtime = format!("{}.{:09}", attr.mtime.secs, attr.mtime.nanos);
    if let Some(expected) = line["mtime"].as_str() {
        compare("mtime", expected.into(), mtime);
    }
    // The roots of snapshots are shown under made-up numbers.
    if line["path"] != "." {
        compare("object", number("ino").to_string(), attr.node.object.to_string());
    }
    if let Some(rdev) = line.get("rdev").and_then(Value::as_str) {
        compare("device", rdev.into(), format!("{}:{}", attr.rdev.0, attr.rdev.1));
    }
    if let Some(target) = line.get("target").and_then(Value::as_str) {
        let found = fs.readlink(&ROOT, attr.node);
        compare("target", format!("{:?}", Ok::<_, Error>(decode(target))), format!("{found:?}"));
    }
    compare("attributes", expected_xattrs(line), found_xattrs(fs, attr));
    match line.get("sha256").and_then(Value::as_str) {
        Some("skipped-huge") | None => {}
        Some(sum) => compare("content", sum.into(), sum_of(fs, attr)),
    }
}

fn expected_xattrs(line: &Value) -> String {
    let mut text = String::new();
    if let Some(xattrs) = line.get("xattr").and_then(Value::as_object) {
        let sorted: BTreeMap<_, _> = xattrs.iter().collect();
        for (name, value) in sorted {
            write!(text, "{name}={} ", value.as_str().unwrap()).unwrap();
        }
    }
    text
}

fn found_xattrs(fs: &dyn FileSystem, attr: &Attr) -> String {
    let names = match fs.listxattr(&ROOT, attr.node) {
        Ok(names) => names,
        Err(error) => return error.to_string(),
    };
    let mut text = String::new();
    for name in names {
        let value = match fs.getxattr(&ROOT, attr.node, &name) {
            Ok(value) => hex(&value),
            Err(error) => error.to_string(),
        };
        write!(text, "{}={value} ", String::from_utf8_lossy(&name)).unwrap();
    }
    text
}

fn sum_of(fs: &dyn FileSystem, attr: &Attr) -> String {
    let mut sum = Sha256::new();
    let mut at = 0;
    loop {
        match fs.read(&ROOT, attr.node, at, READ) {
            Err(error) => return error.to_string(),
            Ok(read) => {
                for part in &read.parts {
                    sum.update(part.bytes());
                }
                at += read.len() as u64;
                if read.eof {
                    return hex(&sum.finalize());
                }
            }
        }
    }
}

fn kind(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::File => "f",
        NodeKind::Dir => "d",
        NodeKind::Symlink => "l",
        NodeKind::Fifo => "p",
        NodeKind::Socket => "s",
        NodeKind::CharDev => "c",
        NodeKind::BlockDev => "b",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn decode(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
            out.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            out.push(byte);
        }
    }
    out
}
