//! Files that are copied and moved elsewhere by the real rsync: which ones, over kills, full
//! targets and changes meanwhile, with names and contents of any kind. No file is ever lost.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use stdx::prng::Prng;

use crate::daemon::{Daemon, Ran, Scratch};
use crate::services::{shown, state, svc};
use crate::sshd::Sshd;
use crate::suspended::until;
use crate::zdb::stop_and_check;

/// How long tens of thousands of files may take.
const LONG: Duration = Duration::from_secs(900);
const DAY: u64 = 86_400;

/// A pool `tank` whose file systems are mounted below a folder; that folder.
fn mounted(scratch: &Scratch, mib: u64, file_systems: &[&str]) -> (Daemon, PathBuf) {
    let daemon = Daemon::start(scratch);
    let (image, at) = (scratch.image_in("disks", "a", mib), scratch.text("mnt"));
    daemon.zpool(&format!("create -O xattr=sa -O acltype=posix -m {at} tank {image}")).done();
    for name in file_systems {
        daemon.zfs(&format!("create tank/{name}")).done();
        daemon.zfs(&format!("mount tank/{name}")).done();
    }
    (daemon, PathBuf::from(at))
}

fn create(daemon: &Daemon, name: &str, to: &str, more: &[&str]) {
    let words = ["create", "auto-tier", name, "--from", "tank/home", "--to", to, "--schedule", "yearly"];
    svc(daemon, &[&words[..], more].concat()).done();
    if !more.contains(&"--disabled") {
        svc(daemon, &["run", name]).done();
    }
}

fn ended(service: &Value) -> i64 {
    service["last"]["ended"].as_i64().unwrap_or(0)
}

/// As [`until`], for what takes as long as tens of thousands of files do.
fn at_last(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < LONG, "{what} has not come about");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Has a service begin, and waits until it has.
fn begin(daemon: &Daemon, name: &str) -> i64 {
    // A run is told apart from the one before by its second.
    thread::sleep(Duration::from_millis(1_100));
    let before = ended(&shown(daemon, name));
    svc(daemon, &["run", name]).done();
    before
}

fn end(daemon: &Daemon, name: &str, before: i64) -> Value {
    let began = Instant::now();
    loop {
        let now = shown(daemon, name);
        if now["state"] != "running" && ended(&now) > before {
            return now;
        }
        assert!(began.elapsed() < LONG, "{now:#}");
        thread::sleep(Duration::from_millis(100));
    }
}

fn run(daemon: &Daemon, name: &str) -> Value {
    let before = begin(daemon, name);
    end(daemon, name, before)
}

/// The snapshots that services have made for themselves.
fn snapshots(daemon: &Daemon) -> Vec<String> {
    let listed = daemon.run(&["zfs", "list", "-H", "-t", "snapshot", "-o", "name,org.cistern:tier"]).done();
    let own = listed.lines().filter(|line| !line.ends_with("\t-"));
    own.map(str::to_owned).collect()
}

/// What lies below a folder: paths, what kind they are and what they hold.
fn tree(root: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (mut found, mut ahead) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = ahead.pop() {
        for entry in fs::read_dir(&folder).expect("listed") {
            let entry = entry.expect("an entry");
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            let name = path.strip_prefix(root).expect("below").as_os_str().as_bytes().to_vec();
            if kind.is_dir() {
                if name != b".zfs" {
                    ahead.push(path);
                }
            } else if kind.is_symlink() {
                let to = fs::read_link(&path).expect("a link").into_os_string().into_vec();
                found.insert(name, [b"-> ", &to[..]].concat());
            } else {
                found.insert(name, fs::read(&path).expect("read"));
            }
        }
    }
    found
}

/// Writes a file that was last modified so many seconds ago.
fn write(path: &Path, bytes: &[u8], ago: u64) {
    fs::write(path, bytes).expect("written");
    let then = SystemTime::now() - Duration::from_secs(ago);
    let file = File::options().write(true).open(path).expect("opened");
    file.set_times(FileTimes::new().set_modified(then)).expect("set");
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Prng::new(seed).fill(&mut bytes);
    bytes
}

/// The rsync that a daemon has begun.
fn rsync(daemon: &Daemon) -> Option<String> {
    let found = Ran::of(Command::new("pgrep").args(["-x", "rsync", "-P", &daemon.pid().to_string()]));
    found.out.lines().next().map(str::to_owned)
}

/// What is there, without what an rsync that died had not put together: `.NAME.` and six letters.
fn arrived(folder: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut there = tree(folder);
    there.retain(|path, _| {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let tail = name.len().checked_sub(7).map(|at| &name[at..]);
        !(name.starts_with(b".") && tail.is_some_and(|tail| tail[0] == b'.'))
    });
    there
}

fn kill(signal: &str, pid: &str) {
    Command::new("kill").args([signal, pid]).status().expect("kill");
}

#[test]
fn of_thirty_thousand_files_those_move_that_are_chosen_and_none_is_lost() {
    let scratch = Scratch::new("tiering-many");
    let (mut daemon, at) = mounted(&scratch, 1_024, &["home"]);
    let (home, cold) = (at.join("home"), scratch.folder("cold"));
    let content = |folder: usize, number: usize| {
        let len = (folder * 37 + number * 11) % 400;
        noise((folder * 1_000 + number) as u64, len)
    };
    // A hundred folders of three hundred files; a third is young, some are empty, some temporary.
    thread::scope(|scope| {
        for part in 0..4 {
            let home = &home;
            scope.spawn(move || {
                for folder in (part..100).step_by(4) {
                    let way = home.join(format!("{folder}"));
                    fs::create_dir(&way).expect("made");
                    for number in 0..300 {
                        let end = if number % 10 == 3 { "tmp" } else { "dat" };
                        let ago = if number % 3 == 0 { 10 } else { 40 * DAY };
                        write(&way.join(format!("{number}.{end}")), &content(folder, number), ago);
                    }
                }
            });
        }
    });
    fs::create_dir_all(home.join("5/deep/er")).expect("made");
    write(&home.join("5/deep/er/x.dat"), b"too deep", 40 * DAY);
    let before = tree(&home);
    assert_eq!(before.len(), 30_001);
    let goes = |path: &[u8]| {
        let text = std::str::from_utf8(path).expect("text");
        let number: Option<usize> =
            text.rsplit('/').next().and_then(|name| name.split('.').next()?.parse().ok());
        number.is_some_and(|number| number % 3 != 0) && text.ends_with(".dat") && !before[path].is_empty()
    };
    let (moves, stays): (BTreeMap<_, _>, BTreeMap<_, _>) =
        before.clone().into_iter().partition(|(path, _)| goes(path));
    // Everything is where it was, or at the target, or both; always whole.
    let none_is_lost = |home: &Path| {
        let (here, there) = (tree(home), tree(&cold));
        for (path, bytes) in &before {
            let text = String::from_utf8_lossy(path);
            match (here.get(path), there.get(path)) {
                (Some(here), _) => assert!(here == bytes, "{text} has changed"),
                (None, Some(there)) => assert!(there == bytes, "{text} is another"),
                (None, None) => panic!("{text} is lost"),
            }
        }
    };

    let chosen =
        ["--move", "--older-than", "30d", "--min-size", "1", "--max-depth", "2", "--exclude", "*.tmp"];
    create(
        &daemon,
        "cold",
        scratch.path("cold").to_str().expect("text"),
        &[&chosen[..], &["--disabled"]].concat(),
    );
    let planned = svc(&daemon, &["plan", "cold"]).done();
    let wanted = format!("now: {} files, ", moves.len());
    assert!(planned.contains(&wanted) && planned.contains("may go from the source once there"), "{planned}");
    svc(&daemon, &["enable", "cold"]).done();

    // rsync is killed in the middle.
    let first = begin(&daemon, "cold");
    at_last("rsync to copy", || fs::read_dir(&cold).expect("listed").count() > 3);
    let status = shown(&daemon, "cold");
    assert_eq!(status["tier"]["of_files"], moves.len(), "{status:#}");
    assert!(svc(&daemon, &["show", "cold"]).done().contains("at work     copying: "));
    assert_eq!(snapshots(&daemon).len(), 1);
    kill("-9", &rsync(&daemon).expect("it runs"));
    let status = end(&daemon, "cold", first);
    assert_eq!(status["state"], "degraded", "{status:#}");
    let failure = status["last"]["failures"][0].clone();
    assert_eq!(failure["class"], "retriable", "{failure:#}");
    assert!(
        failure["problem"]["detail"].as_str().is_some_and(|it| it.contains("rsync was ended by signal 9"))
    );
    assert_eq!(snapshots(&daemon), [""; 0], "it goes however it ends");
    none_is_lost(&home);

    // So is the daemon: what it was at begins anew by itself, and its snapshot goes.
    let second = begin(&daemon, "cold");
    let there = || fs::read_dir(&cold).expect("listed").count();
    let known = there();
    at_last("rsync to copy", || there() > known + 3);
    daemon.kill();
    daemon.begin();
    if !Path::new(&home).join("0").exists() {
        daemon.zfs("mount -a").done();
    }
    let status = end(&daemon, "cold", second);
    assert_eq!(status["state"], "online", "{status:#}");
    none_is_lost(&home);
    assert!(arrived(&cold) == moves, "what was chosen is there, and nothing else");
    assert!(tree(&home) == stays, "what was not chosen stays");
    assert_eq!(snapshots(&daemon), [""; 0]);
    // Owners, modes and times go along.
    let one = String::from_utf8(moves.keys().next().expect("one").clone()).expect("text");
    let age = fs::metadata(cold.join(one)).expect("there").modified().expect("a time").elapsed();
    assert!(age.expect("past") > Duration::from_secs(39 * DAY));
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_full_target_is_waited_for_and_odd_files_arrive_as_they_are() {
    let scratch = Scratch::new("tiering-full");
    let (mut daemon, at) = mounted(&scratch, 1_024, &["home", "cold"]);
    let (home, cold) = (at.join("home"), at.join("cold"));
    let folder = home.join("a b/-x");
    fs::create_dir_all(&folder).expect("made");
    let odd: [&[u8]; 7] =
        [b"new\nline\r", b"\xff\xfe bad", b"-rf", b"host:x", b"back\\#012", b" .hidden ", b"a'b\"c$(x)"];
    for name in odd {
        write(&folder.join(OsStr::from_bytes(name)), name, 100);
    }
    let longest = folder.join("n".repeat(255));
    write(&longest, b"a long name", 100);
    // Two names of a file, links, one of them to all of the machine; holes; attributes and an ACL.
    write(&home.join("one"), &noise(1, 70_000), 100);
    fs::hard_link(home.join("one"), folder.join("two")).expect("linked");
    symlink("/etc", home.join("etc")).expect("linked");
    symlink("nowhere\nat all", home.join("dangling")).expect("linked");
    let sparse = File::create(home.join("sparse")).expect("made");
    sparse.set_len(32 << 20).expect("set");
    Ran::of(Command::new("setfattr").args(["-n", "user.a", "-v", "b"]).arg(home.join("one"))).done();
    Ran::of(Command::new("setfacl").args(["-m", "u:1234:rw"]).arg(home.join("one"))).done();
    std::os::unix::fs::chown(&longest, Some(1_111), Some(2_222)).expect("set");
    fs::set_permissions(&longest, Permissions::from_mode(0o4_641)).expect("set");
    for number in 0..40 {
        write(&home.join(format!("big{number}")), &noise(number, 1 << 20), 100);
    }
    let (before, used) = (tree(&home), fs::metadata(home.join("sparse")).expect("there").blocks());
    let lost = |when: &str| {
        let (here, there) = (tree(&home), tree(&cold));
        for (path, bytes) in &before {
            let found = here.get(path).or_else(|| there.get(path));
            assert!(found == Some(bytes), "{when}: {}", String::from_utf8_lossy(path));
        }
    };

    daemon.zfs("set quota=16M tank/cold").done();
    create(&daemon, "cold", "tank/cold", &["--move"]);
    until("a failure", || state(&daemon, "cold") == "degraded");
    let status = shown(&daemon, "cold");
    let failure = &status["last"]["failures"][0];
    assert_eq!(failure["class"], "retriable", "{failure:#}");
    let why = failure["problem"]["detail"].as_str().expect("text");
    assert!(why.contains("rsync ended with status"), "{why}");
    assert!(status["next"]["reason"]["kind"] == "retry", "{status:#}");
    lost("while it is full");
    assert!(snapshots(&daemon).is_empty());
    // What is in the way of a name there is somebody's, and stays.
    daemon.zfs("set quota=none tank/cold").done();
    let mut status = run(&daemon, "cold");
    lost("once there is room");
    // The second name of a file changes when the first goes, and goes with the next run.
    for _ in 0..2 {
        if !tree(&home).is_empty() {
            status = run(&daemon, "cold");
        }
    }
    assert_eq!(status["state"], "online", "{status:#}");
    assert_eq!(tree(&home), BTreeMap::new());
    assert!(tree(&cold) == before);
    let there = fs::metadata(cold.join("one")).expect("there");
    assert_eq!(there.ino(), fs::metadata(cold.join("a b/-x/two")).expect("there").ino());
    let text = |command: &mut Command| Ran::of(command).done();
    let acl = text(Command::new("getfacl").args(["-p", "-n"]).arg(cold.join("one")));
    assert!(acl.contains("user:1234:rw-"), "{acl}");
    let attribute =
        text(Command::new("getfattr").args(["--only-values", "-n", "user.a"]).arg(cold.join("one")));
    assert_eq!(attribute, "b");
    let there = fs::metadata(cold.join("a b/-x").join("n".repeat(255))).expect("there");
    assert_eq!((there.mode() & 0o7_777, there.uid(), there.gid()), (0o4_641, 1_111, 2_222));
    assert!(fs::metadata(cold.join("sparse")).expect("there").blocks() <= used + 2_048, "holes stay holes");
    assert!(home.join("a b/-x").is_dir(), "folders stay");
    assert!(!tree(&cold).keys().any(|path| path.windows(8).any(|it| it == b".cistern")), "no parts are left");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn what_changes_meanwhile_stays_and_what_hangs_is_ended() {
    let scratch = Scratch::new("tiering-changes");
    let (daemon, at) = mounted(&scratch, 512, &["home"]);
    let (home, cold) = (at.join("home"), scratch.folder("cold"));
    for name in ["appended", "replaced", "removed", "touched", "renamed", "left"] {
        write(&home.join(name), name.as_bytes(), 100);
    }
    write(&home.join("slow"), &noise(1, 12 << 20), 100);
    create(
        &daemon,
        "cold",
        cold.to_str().expect("text"),
        &["--move", "--rate", "1M", "--stuck-after", "10s"],
    );
    until("rsync to copy", || {
        shown(&daemon, "cold")["tier"]["stage"] == "copying" && rsync(&daemon).is_some()
    });
    until("a byte", || fs::read_dir(&cold).expect("listed").count() > 0);
    fs::write(home.join("appended"), b"and more").expect("written");
    write(&home.join("new"), b"another", 100);
    fs::rename(home.join("new"), home.join("replaced")).expect("renamed");
    fs::remove_file(home.join("removed")).expect("removed");
    fs::set_permissions(home.join("touched"), Permissions::from_mode(0o600)).expect("set");
    fs::rename(home.join("renamed"), home.join("elsewhere")).expect("renamed");
    // A folder by the name of what was a file.
    until("the end of the run", || state(&daemon, "cold") != "running");
    let status = shown(&daemon, "cold");
    assert_eq!((&status["state"], &status["last"]["destroyed"]), (&"online".into(), &2.into()), "{status:#}");
    let here: Vec<String> =
        tree(&home).into_keys().map(|path| String::from_utf8(path).expect("text")).collect();
    assert_eq!(here, ["appended", "elsewhere", "replaced", "touched"]);
    assert_eq!(fs::read(home.join("appended")).expect("read"), b"and more");
    assert_eq!(fs::read(home.join("replaced")).expect("read"), b"another");
    assert_eq!(fs::read(cold.join("replaced")).expect("read"), b"replaced");
    assert_eq!(fs::read(cold.join("removed")).expect("read"), b"removed");
    assert!(fs::read(cold.join("slow")).expect("read") == noise(1, 12 << 20));

    // An rsync that does not go on is ended, and what it was at goes on later where it was.
    write(&home.join("slow"), &noise(2, 12 << 20), 100);
    let before = begin(&daemon, "cold");
    until("rsync to copy", || rsync(&daemon).is_some());
    thread::sleep(Duration::from_secs(2));
    kill("-STOP", &rsync(&daemon).expect("it runs"));
    let status = end(&daemon, "cold", before);
    let why = status["last"]["failures"][0]["problem"]["detail"].as_str().expect("text").to_owned();
    assert!(why.contains("no byte moved for 10 seconds"), "{why}");
    assert!(snapshots(&daemon).is_empty() && home.join("slow").exists());
    let status = run(&daemon, "cold");
    assert_eq!(status["state"], "online", "{status:#}");
    assert!(fs::read(cold.join("slow")).expect("read") == noise(2, 12 << 20) && !home.join("slow").exists());
    // What only looks the same at the target stays.
    let then = SystemTime::now() - Duration::from_secs(1_000);
    for (folder, bytes) in [(&home, b"here"), (&cold, b"thar")] {
        fs::write(folder.join("alike"), bytes).expect("written");
        let file = File::options().write(true).open(folder.join("alike")).expect("opened");
        file.set_times(FileTimes::new().set_modified(then)).expect("set");
    }
    let status = run(&daemon, "cold");
    let why = status["last"]["failures"][0]["problem"]["detail"].as_str().expect("text");
    assert!(status["state"] == "degraded" && why.contains("but of other content"), "{status:#}");
    assert_eq!(fs::read(home.join("alike")).expect("read"), b"here");
    fs::remove_file(home.join("alike")).expect("removed");
    // What is to stay for a while is copied, and stays.
    svc(&daemon, &["set", "cold", "--keep", "30d", "--rate", "none"]).done();
    write(&home.join("kept"), b"kept", 50 * DAY);
    let status = run(&daemon, "cold");
    assert_eq!((&status["last"]["done"], &status["last"]["destroyed"]), (&1.into(), &0.into()), "{status:#}");
    assert!(home.join("kept").exists() && cold.join("kept").exists());
}

#[test]
fn what_cannot_be_done_is_refused_with_its_reason() {
    let scratch = Scratch::new("tiering-refused");
    let (daemon, at) = mounted(&scratch, 256, &["home", "cold"]);
    let home = at.join("home");
    write(&home.join("file"), b"file", 100);
    symlink("/tmp", home.join("link")).expect("linked");
    let mut number = 0;
    let mut refused = |to: &str, more: &[&str], why: &str| {
        number += 1;
        let name = format!("t{number}");
        create(&daemon, &name, to, more);
        until("a look", || state(&daemon, &name) == "maintenance");
        let text = svc(&daemon, &["show", &name]).done();
        assert!(text.contains(why), "{text}");
        assert!(svc(&daemon, &["plan", &name]).done().starts_with("nothing  "), "{text}");
        svc(&daemon, &["remove", &name]).done();
    };
    let missing = scratch.text("missing");
    refused(&missing, &[], "there is no folder");
    assert!(!Path::new(&missing).exists(), "it is not made");
    refused(home.to_str().expect("text"), &[], "is in the source");
    symlink(&home, scratch.path("to-home")).expect("linked");
    refused(&scratch.text("to-home"), &[], "is in the source");
    refused("tank/cold", &["--folder", "link"], "there is no folder 'link'");
    refused("tank/cold", &["--folder", "file"], "there is no folder 'file'");
    daemon.zfs("umount tank/cold").done();
    refused("tank/cold", &[], "tank/cold is not mounted");
    daemon.zfs("mount tank/cold").done();
    daemon.zfs("set snapdir=disabled tank/home").done();
    refused("tank/cold", &[], "snapdir=disabled");
    daemon.zfs("inherit snapdir tank/home").done();
    daemon.run(&["zfs", "set", "org.cistern:replica=x 1", "tank/home"]).done();
    refused("tank/cold", &[], "tank/home is a replica");
    daemon.zfs("inherit org.cistern:replica tank/home").done();
    daemon.run(&["zfs", "set", "org.cistern:replica=x 1", "tank/cold"]).done();
    refused("tank/cold", &[], "tank/cold is a replica");
    assert!(snapshots(&daemon).is_empty() && tree(&home).len() == 2);
    for bad in [&["--older-than", "1d", "--newer-than", "1d"][..], &["--include", "a["], &["--rate", "1"]] {
        let words =
            ["create", "auto-tier", "bad", "--from", "tank/home", "--to", "/x", "--schedule", "daily"];
        assert_ne!(svc(&daemon, &[&words[..], bad].concat()).status, 0, "{bad:?}");
    }
}

#[test]
fn files_move_to_a_host_that_need_know_nothing_of_pools() {
    let scratch = Scratch::new("tiering-ssh");
    let (mut daemon, at) = mounted(&scratch, 512, &["home"]);
    let (home, cold) = (at.join("home"), scratch.folder("far/co ld"));
    let mut sshd = Sshd::start(&scratch, &daemon);
    let url = sshd.url("").trim_end_matches('/').to_owned();
    let odd: [&[u8]; 4] = [b"new\nline", b"\xff bad", b"-rf", b"$(x) 'y' \"z\""];
    for name in odd {
        write(&home.join(OsStr::from_bytes(name)), name, 100);
    }
    for number in 0..24 {
        write(&home.join(format!("big{number}")), &noise(number, 1 << 20), 100);
    }
    let before = tree(&home);
    let to = format!("{url}{}", cold.to_str().expect("text"));
    create(&daemon, "cold", &to, &["--move", "--rate", "4M"]);
    // It is not let in, and says so; its key is made.
    until("a failure", || state(&daemon, "cold") == "degraded");
    let told = svc(&daemon, &["show", "cold"]).done();
    assert!(told.contains("rsync ended with status 255: SSH failed") && told.contains("Permission denied"));
    sshd.authorize(fs::read_to_string(scratch.path("state/ssh/id_ed25519.pub")).expect("made").trim());

    // The host dies in the middle, and what was sent is gone on with.
    let first = begin(&daemon, "cold");
    until("some files", || fs::read_dir(&cold).expect("listed").count() > 6);
    sshd.kill();
    let status = end(&daemon, "cold", first);
    assert_eq!(status["state"], "degraded", "{status:#}");
    assert_eq!(status["last"]["failures"][0]["class"], "retriable", "{status:#}");
    assert!(tree(&home) == before && snapshots(&daemon).is_empty(), "nothing has gone");
    sshd.begin();
    let status = run(&daemon, "cold");
    assert_eq!(
        (&status["state"], &status["last"]["destroyed"]),
        (&"online".into(), &28.into()),
        "{status:#}"
    );
    assert!(arrived(&cold) == before && tree(&home).is_empty());

    // A folder that is not there is not made.
    write(&home.join("one"), b"one", 100);
    svc(&daemon, &["set", "cold", "--to", &format!("{url}{}", scratch.text("far/nowhere"))]).done();
    let status = run(&daemon, "cold");
    assert_eq!(status["state"], "maintenance", "{status:#}");
    assert!(home.join("one").exists() && !scratch.path("far/nowhere").exists());
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
