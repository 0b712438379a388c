//! One file system, changed by a local mount, over NFS and by rollbacks: what one changes, the
//! other sees. The kernel is told, for it believes what it knows for a minute.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use stdx::prng::Prng;

use crate::daemon::{Daemon, Scratch, say};
use crate::libnfs::Client;
use crate::zdb::stop_and_check;

const FOLDERS: [&str; 3] = ["/", "/a/", "/b/"];
const NAMES: usize = 4;
const ROUNDS: usize = 40;
/// Changes between two comparisons.
const CHANGES: usize = 25;
/// How long what was changed may take to be seen: a second name of a file is believed for a second,
/// all else for a minute.
const SOON: Duration = Duration::from_millis(1500);

/// A name's mode, links, modification time and content; of a directory there is none.
type Seen = BTreeMap<String, (u32, u64, (i64, i64), Vec<u8>)>;

/// One way to the file system. Paths begin at its root.
trait Way {
    fn write(&self, path: &str, offset: u64, data: &[u8]) -> io::Result<()>;
    fn truncate(&self, path: &str, size: u64) -> io::Result<()>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn link(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, path: &str) -> io::Result<()>;
    fn mkdir(&self, path: &str) -> io::Result<()>;
    fn chmod(&self, path: &str, mode: u32) -> io::Result<()>;
    fn look(&self, seen: &mut Seen) -> io::Result<()>;
}

struct Local<'a>(&'a Path);

impl Local<'_> {
    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }
}

impl Way for Local<'_> {
    /// Every third past the page cache.
    fn write(&self, path: &str, offset: u64, data: &[u8]) -> io::Result<()> {
        let direct = if offset.is_multiple_of(3) { libc::O_DSYNC } else { 0 };
        let mut how = fs::File::options();
        let open = how.write(true).create(true).truncate(false).custom_flags(direct).open(self.path(path))?;
        open.write_all_at(data, offset)
    }

    fn truncate(&self, path: &str, size: u64) -> io::Result<()> {
        fs::File::options().write(true).open(self.path(path))?.set_len(size)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        fs::hard_link(self.path(from), self.path(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        if fs::symlink_metadata(&path)?.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }
    }

    fn mkdir(&self, path: &str) -> io::Result<()> {
        fs::create_dir(self.path(path))
    }

    fn chmod(&self, path: &str, mode: u32) -> io::Result<()> {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode))
    }

    /// By name: a listing would bring the kernel everything anew.
    fn look(&self, seen: &mut Seen) -> io::Result<()> {
        for name in names() {
            let meta = match fs::symlink_metadata(self.path(&name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                meta => meta?,
            };
            let data = if meta.is_dir() { Vec::new() } else { fs::read(self.path(&name))? };
            seen.insert(name, (meta.mode(), meta.nlink(), (meta.mtime(), meta.mtime_nsec()), data));
        }
        Ok(())
    }
}

impl Way for Client {
    fn write(&self, path: &str, offset: u64, data: &[u8]) -> io::Result<()> {
        let open = match self.open(path, libc::O_RDWR) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.create(path, 0o644)?,
            open => open?,
        };
        open.write(offset, data)?;
        open.close()
    }

    fn truncate(&self, path: &str, size: u64) -> io::Result<()> {
        Client::truncate(self, path, size)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Client::rename(self, from, to)
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        Client::link(self, from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        if self.stat(path)?.nlink > 1 {
            self.rmdir(path).or_else(|_| self.unlink(path))
        } else {
            self.unlink(path)
        }
    }

    fn mkdir(&self, path: &str) -> io::Result<()> {
        Client::mkdir(self, path, 0o755)
    }

    fn chmod(&self, path: &str, mode: u32) -> io::Result<()> {
        Client::chmod(self, path, mode)
    }

    fn look(&self, seen: &mut Seen) -> io::Result<()> {
        for name in names() {
            let stat = match self.stat(&name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                stat => stat?,
            };
            let is_dir = stat.mode as u32 & libc::S_IFMT == libc::S_IFDIR;
            let data = if is_dir { Vec::new() } else { self.read_file(&name)? };
            let changed = (stat.mtime as i64, stat.mtime_nsec as i64);
            seen.insert(name, (stat.mode as u32, stat.nlink, changed, data));
        }
        Ok(())
    }
}

/// All that there can be.
fn names() -> impl Iterator<Item = String> {
    let folders = ["/a", "/b"].map(str::to_owned);
    let others = FOLDERS.iter().flat_map(|folder| (0..NAMES).map(move |number| format!("{folder}{number}")));
    folders.into_iter().chain(others)
}

/// A name in one of the folders.
fn name(random: &mut Prng) -> String {
    format!("{}{}", FOLDERS[random.below(FOLDERS.len() as u64) as usize], random.below(NAMES as u64))
}

/// One change at random; many are refused, as names are not there or taken.
fn change(way: &dyn Way, random: &mut Prng) -> io::Result<()> {
    let (path, other) = (name(random), name(random));
    let number = random.below(9000);
    match random.below(10) {
        0..=3 => {
            way.write(&path, number, &random.next_u64().to_le_bytes().repeat(1 + number as usize % 1000))
        }
        4 => way.truncate(&path, number),
        5 => way.rename(&path, &other),
        6 => way.link(&path, &other),
        7 => way.remove(&path),
        8 => way.mkdir(&path),
        _ => way.chmod(&path, 0o600 | (number as u32 & 0o77)),
    }
}

fn seen(way: &dyn Way) -> io::Result<Seen> {
    let mut seen = Seen::new();
    way.look(&mut seen)?;
    Ok(seen)
}

/// Whoever looks on stops with it, also when the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Both see the same, soon.
fn compare(local: &Local<'_>, client: &Client, what: &str) -> Duration {
    let wanted = seen(client).expect("seen over NFS");
    let since = Instant::now();
    loop {
        let found = seen(local);
        if found.as_ref().is_ok_and(|found| *found == wanted) {
            return since.elapsed();
        }
        if since.elapsed() > SOON {
            let found = found.expect("seen by the mount");
            for (name, other) in &wanted {
                let found = found.get(name);
                assert_eq!(
                    found.map(|it| (&it.0, it.1, it.2)),
                    Some((&other.0, other.1, other.2)),
                    "{what}: {name}"
                );
                assert!(found.is_some_and(|it| it.3 == other.3), "{what}: the content of {name}");
            }
            panic!("{what}: there is {:?}, {:?} is expected", found.keys(), wanted.keys());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// `tank/fs`, mounted at `fs` and shared.
fn served(scratch: &Scratch) -> (Daemon, Client) {
    let daemon = Daemon::start(scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let at = scratch.text("fs");
    daemon.zfs(&format!("create -o mountpoint={at} -o sharenfs=rw,no_root_squash,insecure tank/fs")).done();
    daemon.zfs("mount tank/fs").done();
    let client = Client::mount(&daemon, &at).expect("mounted");
    (daemon, client)
}

#[test]
fn a_mount_sees_what_nfs_and_rollbacks_change() {
    let scratch = Scratch::new("coherence");
    let (mut daemon, client) = served(&scratch);
    let folder = scratch.path("fs");
    let local = Local(&folder);
    for folder in ["/a", "/b"] {
        Way::mkdir(&local, folder).expect("made");
    }
    daemon.zfs("snapshot tank/fs@before").done();
    let (stop, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut random = Prng::new(7);
    let mut slowest = Duration::ZERO;
    thread::scope(|scope| {
        // Their look-ups are under way while names and data change.
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    looks.fetch_add(u64::from(seen(&local).is_ok()), Relaxed);
                }
            });
        }
        let _ends = Ends(&stop);
        for round in 0..ROUNDS {
            let by_nfs = round % 2 == 0;
            for _ in 0..CHANGES {
                let way: &dyn Way = if by_nfs || random.chance(1, 4) { &client } else { &local };
                drop(change(way, &mut random));
            }
            if round % 8 == 5 {
                daemon.zfs("rollback tank/fs@before").done();
                assert_eq!(seen(&client).expect("seen").len(), 2, "only the folders are left");
            }
            slowest = slowest.max(compare(&local, &client, &format!("round {round}")));
        }
    });
    assert!(looks.load(Relaxed) > 0, "nobody looked on");
    say(&format!(
        "{} looks beside; what was changed was seen after {slowest:?} at most",
        looks.load(Relaxed)
    ));
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// `tank`, mounted at `mnt`, and `tank/below` below it with a file.
fn one_below_the_other(scratch: &Scratch) -> Daemon {
    let daemon = Daemon::start(scratch);
    let (a, mnt) = (scratch.image("a", 256), scratch.text("mnt"));
    daemon.zpool(&format!("create -m {mnt} tank {a}")).done();
    daemon.zfs("create tank/below").done();
    daemon.zfs("mount tank").done();
    daemon.zfs("mount tank/below").done();
    fs::write(scratch.path("mnt/below/file"), "here").expect("written");
    daemon
}

/// The kernel looks everything up again when a property is set, and takes nothing away that is
/// mounted below.
#[test]
fn what_is_mounted_below_stays_when_all_may_have_changed() {
    let scratch = Scratch::new("mounted-below");
    let mut daemon = one_below_the_other(&scratch);
    let below = scratch.path("mnt/below");
    for line in ["set atime=off tank", "set snapdir=visible tank", "set xattr=sa tank"] {
        assert!(fs::metadata(&below).is_ok_and(|meta| meta.is_dir()));
        daemon.zfs(line).done();
        thread::sleep(Duration::from_millis(100));
        assert_eq!(fs::read_to_string(below.join("file")).expect(line), "here");
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// A rollback leaves the mount, what is mounted below it, and who has files open there.
#[test]
fn a_rollback_shows_at_once_in_the_mount_that_is_there() {
    let scratch = Scratch::new("rollback-mounted");
    let mut daemon = one_below_the_other(&scratch);
    let (at, below) = (scratch.path("mnt"), scratch.path("mnt/below/file"));
    for file in 0..200 {
        fs::write(at.join(format!("{file}")), "before").expect("written");
    }
    daemon.zfs("snapshot tank@before").done();
    let device = fs::metadata(&at).expect("seen").dev();
    let read = |file: &fs::File| {
        let mut bytes = [0; 6];
        file.read_exact_at(&mut bytes, 0).map(|()| bytes)
    };
    for round in 0..3 {
        let kept = fs::File::open(at.join("0")).expect("opened");
        for file in 0..200 {
            fs::write(at.join(format!("{file}")), "after!").expect("written");
        }
        fs::rename(at.join("1"), at.join("elsewhere")).expect("renamed");
        fs::hard_link(at.join("2"), at.join("second")).expect("linked");
        assert!(fs::metadata(at.join("second")).is_ok_and(|meta| meta.nlink() == 2));
        fs::write(at.join("new"), "newest").expect("written");
        let new = fs::File::open(at.join("new")).expect("opened");
        assert_eq!((read(&kept).expect("read"), read(&new).expect("read")), (*b"after!", *b"newest"));
        daemon.zfs("rollback tank@before").done();
        for file in 0..200 {
            let now = fs::read_to_string(at.join(format!("{file}")));
            assert_eq!(now.expect("read"), "before", "round {round}: {file}");
        }
        for gone in ["new", "elsewhere", "second"] {
            let error = fs::metadata(at.join(gone)).map(drop).expect_err(gone);
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "round {round}: {gone}: {error}");
        }
        assert_eq!(fs::read_dir(&at).expect("listed").count(), 201);
        assert_eq!(read(&kept).expect("still open"), *b"before", "round {round}");
        let error = read(&new).expect_err("it is no more");
        assert_eq!(error.raw_os_error(), Some(libc::ESTALE), "round {round}: {error}");
        assert_eq!(fs::read_to_string(&below).expect("mounted below"), "here");
        assert_eq!(fs::metadata(&at).expect("seen").dev(), device, "it is the same mount");
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// Whoever opens a file after a change was answered reads what it is now, even while the kernel is
/// being told.
#[test]
fn who_opens_a_file_after_a_change_reads_the_change() {
    let scratch = Scratch::new("close-to-open");
    let (mut daemon, client) = served(&scratch);
    let file = scratch.path("fs").join("file");
    fs::File::create(&file).and_then(|mut file| file.write_all(&[0; 8])).expect("written");
    for number in 1..500u64 {
        Way::write(&client, "/file", 0, &number.to_le_bytes()).expect("written over NFS");
        assert_eq!(fs::read(&file).expect("read"), number.to_le_bytes());
        let own = (number << 32).to_le_bytes();
        fs::write(&file, own).expect("written");
        assert_eq!(
            (fs::read(&file).expect("read"), client.read_file("/file").expect("read")),
            (own.into(), own.into())
        );
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// The kernel keeps the listing of a directory until it is told, and drops it even while it is
/// being told when the directory is opened.
#[test]
fn who_lists_a_directory_after_a_change_sees_the_change() {
    let scratch = Scratch::new("listing");
    let (mut daemon, client) = served(&scratch);
    let at = scratch.path("fs");
    let listed = |dir: &str| -> Vec<String> {
        let names =
            fs::read_dir(at.join(dir)).expect("opened").map(|entry| entry.expect("listed").file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().expect("UTF-8")).collect();
        names.sort();
        names
    };
    for dir in ["", "many"] {
        fs::create_dir_all(at.join(dir)).expect("made");
        let prefix = if dir.is_empty() { String::new() } else { format!("/{dir}") };
        // More than one call of the kernel lists.
        let mut wanted: Vec<String> = (0..600).map(|n| format!("a-name-that-takes-room-{n:04}")).collect();
        for name in &wanted {
            fs::write(at.join(dir).join(name), "").expect("written");
        }
        for round in 0..60 {
            assert_eq!(listed(dir), wanted, "round {round}: as it was made");
            assert_eq!(listed(dir), wanted, "round {round}: as the kernel keeps it");
            let new = format!("b-{round}");
            match round % 4 {
                0 => client.write(&format!("{prefix}/{new}"), 0, b"new").expect("NFS writes"),
                1 => client
                    .rename(&format!("{prefix}/{}", wanted[7]), &format!("{prefix}/{new}"))
                    .expect("NFS renames"),
                2 => fs::write(at.join(dir).join(&new), "here").expect("written"),
                _ => client.remove(&format!("{prefix}/{}", wanted[5])).expect("NFS removes"),
            }
            match round % 4 {
                1 => drop(wanted.remove(7)),
                3 => drop(wanted.remove(5)),
                _ => {}
            }
            if round % 4 != 3 {
                wanted.push(new);
                wanted.sort();
            }
            assert_eq!(listed(dir), wanted, "round {round}: at once");
        }
        for name in &wanted {
            fs::remove_file(at.join(dir).join(name)).expect("removed");
        }
        assert!(listed(dir).is_empty());
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// The space that a file takes is known when its transaction group is written, and the kernel is
/// told of it.
#[test]
fn the_space_that_is_written_shows() {
    let scratch = Scratch::new("space");
    let (mut daemon, _) = served(&scratch);
    let file = scratch.path("fs").join("file");
    let mut data = vec![0; 1 << 20];
    Prng::new(3).fill(&mut data);
    let blocks = || fs::metadata(&file).expect("seen").blocks() * 512;
    for round in 1..4u64 {
        fs::File::options()
            .append(true)
            .create(true)
            .open(&file)
            .and_then(|mut file| file.write_all(&data))
            .expect("written");
        let wanted = round * data.len() as u64;
        assert!(blocks() < wanted, "round {round}: it is not yet written");
        daemon.zpool("sync tank").done();
        let start = Instant::now();
        while blocks() < wanted {
            assert!(start.elapsed() < SOON, "round {round}: {} of {wanted} bytes", blocks());
            thread::sleep(Duration::from_millis(5));
        }
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// Whoever tells the kernel stays for a moment after the last change; the file system is not kept
/// in use by that.
#[test]
fn what_was_just_written_and_unmounted_is_in_use_no_more() {
    let scratch = Scratch::new("unmounted");
    let mut daemon = one_below_the_other(&scratch);
    for round in 0..5 {
        fs::write(scratch.path("mnt/below/file"), vec![round; 1 << 20]).expect("written");
        daemon.zpool("sync tank").done();
        daemon.zfs("unmount -f tank/below").done();
        let sent = daemon.zfs("send tank/below");
        assert_eq!(sent.status, 0, "round {round}: {}", sent.err);
        daemon.zfs("mount tank/below").done();
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// Pages of a file that the kernel has.
fn pages_kept(at: &Path) -> usize {
    use std::os::fd::AsRawFd;
    let file = fs::File::open(at).expect("opened");
    let len = file.metadata().expect("looked at").len() as usize;
    let mut kept = vec![0u8; len.div_ceil(4096)];
    // SAFETY: a new mapping of the whole file, which nobody else knows; the answer has a byte for
    // each page.
    unsafe {
        let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
        let map = libc::mmap(std::ptr::null_mut(), len, read, shared, file.as_raw_fd(), 0);
        assert_ne!(map, libc::MAP_FAILED);
        assert_eq!(libc::mincore(map, len, kept.as_mut_ptr()), 0);
        libc::munmap(map, len);
    }
    kept.iter().filter(|page| **page & 1 != 0).count()
}

#[test]
fn what_a_program_has_written_is_read_from_the_page_cache() {
    let scratch = Scratch::new("written");
    let (mut daemon, client) = served(&scratch);
    let at = scratch.path("fs/file");
    fs::write(&at, [b'a'; 16 * 4096]).expect("written");
    // The group is written: the kernel is told of the space that the file takes, and asks anew.
    daemon.zpool("sync tank").done();
    thread::sleep(Duration::from_millis(200));
    assert_eq!(fs::metadata(&at).expect("looked at").len(), 16 * 4096);
    assert_eq!(pages_kept(&at), 16, "by its new modification time it is taken for another file");
    client.open("/file", libc::O_RDWR).expect("opened").write(0, b"NEW").expect("written");
    assert_eq!(pages_kept(&at), 0);
    assert!(fs::read(&at).expect("read").starts_with(b"NEWa"));
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// Who appends goes past the page cache, in which others have the last page, with zeros behind its
/// end.
#[test]
fn who_follows_a_log_sees_each_line_once_it_is_written() {
    const LINES: usize = 400;
    let scratch = Scratch::new("log");
    let (mut daemon, _client) = served(&scratch);
    let at = scratch.path("fs/log");
    let mut log = fs::File::options().append(true).create(true).open(&at).expect("made");
    let (ended, reader) = (AtomicBool::new(false), fs::File::open(&at).expect("opened"));
    thread::scope(|scope| {
        let ends = Ends(&ended);
        // It brings the page in again at any moment.
        scope.spawn(|| {
            let other = fs::File::open(&at).expect("opened");
            let mut page = [0; 4096];
            while !ended.load(Relaxed) {
                let size = other.metadata().expect("looked at").len();
                other.read_at(&mut page, size / 4096 * 4096).expect("read");
            }
        });
        for line in 0..LINES {
            let text = format!("line {line:04}\n");
            log.write_all(text.as_bytes()).expect("appended");
            let mut found = vec![0; text.len()];
            reader.read_exact_at(&mut found, (line * text.len()) as u64).expect("read");
            assert_eq!(String::from_utf8_lossy(&found), text);
        }
        drop(ends);
    });
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
