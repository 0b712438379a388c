//! Disks that fail by command: a pool that loses all of them is suspended and resumed or given up,
//! one that errs is judged, and other pools, the daemon and those who use the pool come through it.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::daemon::{Daemon, Ran, Scratch, text};
use crate::nfs3::File;
use crate::zdb::assert_clean;

/// Longer than any of it takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < PATIENCE, "{what} has not come about");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn zinject(daemon: &Daemon, line: &str) -> Ran {
    daemon.run(&[&["zinject"], &line.split_whitespace().collect::<Vec<_>>()[..]].concat())
}

fn health(daemon: &Daemon) -> String {
    daemon.zpool("list -H -o health tank").done().trim_end().to_owned()
}

/// The line of a device in `zpool status`, without its name.
fn state(daemon: &Daemon, name: &str) -> String {
    let status = daemon.zpool("status tank").done();
    let line = status.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
    line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

/// Has both disks vanish, and somebody notice.
fn lose_all(daemon: &Daemon, disks: &[&str]) {
    for disk in disks {
        zinject(daemon, &format!("-q -d {disk} -e nxio tank")).done();
    }
}

#[track_caller]
fn refused(ran: Ran, message: &str) {
    assert_eq!((ran.status, ran.err.trim_end()), (1, message));
}

#[test]
fn a_pool_without_disks_waits_and_others_do_not() {
    let scratch = Scratch::new("suspended");
    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    let (c, at) = (scratch.image("c", 128), scratch.folder("mnt"));
    daemon.zpool(&format!("create -m {} tank mirror {a} {b}", text(&at))).done();
    daemon.zfs("mount tank").done();
    daemon.zpool(&format!("create -m none other {c}")).done();
    fs::write(at.join("before"), b"before").expect("written");
    daemon.zpool("sync tank").done();

    lose_all(&daemon, &[&a, &b]);
    let (file, data) = (at.join("during"), vec![0x5a; 1 << 20]);
    let writer = std::thread::spawn({
        let (file, data) = (file.clone(), data.clone());
        move || {
            let mut file = fs::File::create(file)?;
            file.write_all(&data)?;
            file.sync_all()
        }
    });
    until("the suspension", || health(&daemon) == "SUSPENDED");
    assert!(!writer.is_finished(), "who asked for stable storage waits");
    let status = daemon.zpool("status tank").done();
    assert!(
        status.contains("status: One or more devices are faulted in response to IO failures.\n"),
        "{status}"
    );
    let action = "action: Make sure the affected devices are connected, then run 'zpool clear'.\n   \
                  see: https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-HC\n";
    assert!(status.contains(action), "{status}");
    let suspended = "pool I/O is currently suspended";
    refused(daemon.zfs("create tank/new"), &format!("cannot create 'tank/new': {suspended}"));
    refused(daemon.zpool("export tank"), &format!("cannot export 'tank': {suspended}"));
    refused(daemon.zpool("clear tank"), "cannot clear errors for tank: I/O error");
    daemon.zfs("create other/new").done();
    daemon.zpool("sync other").done();

    zinject(&daemon, "-c all").done();
    daemon.zpool("clear tank").done();
    writer.join().expect("no panic").expect("written and flushed in the end");
    assert_ne!(health(&daemon), "SUSPENDED");
    assert_eq!(fs::read(&file).expect("read"), data);
    daemon.zfs("create tank/new").done();

    // Given up, it comes back as it was when it was last promised.
    lose_all(&daemon, &[&a, &b]);
    let sync = std::thread::scope(|scope| {
        // It is in memory, or waits if a group came between.
        let late = scope.spawn(|| drop(fs::write(at.join("late"), b"late")));
        until("a change", || late.is_finished() || health(&daemon) == "SUSPENDED");
        let sync = scope.spawn(|| daemon.zpool("sync tank"));
        until("the suspension", || health(&daemon) == "SUSPENDED");
        daemon.zpool("export -f tank").done();
        sync.join().expect("no panic")
    });
    assert_eq!(sync.status, 1, "{sync:?}");
    zinject(&daemon, "-c all").done();
    daemon.zpool(&format!("import -f -d {} tank", text(&scratch.path("disks")))).done();
    daemon.zfs("mount tank").done();
    assert_eq!(fs::read(&file).expect("read"), data);
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

/// A mount point may lie in a file system whose pool waits for its disks: who mounts there hears
/// so, and nobody else waits.
#[test]
fn a_mount_in_a_file_system_that_waits_holds_up_nobody() {
    let scratch = Scratch::new("suspended-mount");
    let mut daemon = Daemon::start(&scratch);
    let (a, c, at, own) =
        (scratch.image("a", 128), scratch.image("c", 128), scratch.folder("mnt"), scratch.folder("own"));
    daemon.zpool(&format!("create -m {} tank {a}", text(&at))).done();
    daemon.zfs("mount tank").done();
    daemon.zpool(&format!("create -m none other {c}")).done();
    let into = at.join("into");
    daemon.zfs(&format!("create -o mountpoint={} other/into", text(&into))).done();
    daemon.zfs(&format!("create -o mountpoint={} other/own", text(&own))).done();

    lose_all(&daemon, &[&a]);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut file = fs::File::create(at.join("during"))?;
            file.write_all(&[0x5a; 1 << 20])?;
            file.sync_all()
        });
        until("the suspension", || health(&daemon) == "SUSPENDED");
        let mount = scope.spawn(|| daemon.zfs("mount other/into"));
        std::thread::sleep(Duration::from_millis(500));
        assert!(!mount.is_finished(), "its directory cannot be made");
        daemon.zfs("mount other/own").done();
        assert_eq!(daemon.zfs("get -H -o value mounted other/own").done(), "yes\n");
        assert_eq!(daemon.zfs("mount").done().lines().count(), 2);
        daemon.zfs("unmount other/own").done();
        assert!(!mount.is_finished(), "nobody has waited for it");
        refused(
            mount.join().expect("no panic"),
            &format!("cannot mount 'other/into': the file system at {} does not answer", text(&into)),
        );
        // It gives up at once, and goes when the writer has heard it.
        until("the export", || daemon.zpool("export -f tank").status == 0);
        writer.join().expect("no panic").expect_err("given up");
    });
    // What came too late has nothing mounted.
    until("the end of the mount", || daemon.zpool("export other").status == 0);
    zinject(&daemon, "-c all").done();
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
    assert_clean(&scratch.path("disks"), "other");
}

#[test]
fn nfs_clients_of_other_pools_do_not_wait() {
    /// NFS3ERR_JUKEBOX
    const LATER: u32 = 10008;
    let scratch = Scratch::new("bystanders");
    let mut daemon = Daemon::start(&scratch);
    let (a, b, c) = (scratch.image("a", 256), scratch.image("b", 256), scratch.image("c", 128));
    daemon.zpool(&format!("create -O sharenfs=rw,no_root_squash,insecure tank mirror {a} {b}")).done();
    daemon.zpool(&format!("create -O sharenfs=rw,no_root_squash,insecure other {c}")).done();
    let block = vec![0x5a; 256 << 10];
    // More than there are buffers for large calls, some of them from one client's share.
    let writers: Vec<_> = (0..48)
        .map(|n| {
            let mut file = File::create(&daemon, "/tank", &format!("file{n}"), 0o644);
            let block = block.clone();
            std::thread::spawn(move || {
                for turn in 0.. {
                    match file.try_write_stable(turn % 8 * block.len() as u64, &block).expect("answered") {
                        0 => {}
                        status => return (file, status),
                    }
                }
                unreachable!("the disks vanish")
            })
        })
        .collect();
    let mut bystander = File::create(&daemon, "/other", "file", 0o644);
    std::thread::sleep(Duration::from_millis(300));
    lose_all(&daemon, &[&a, &b]);
    until("the suspension", || health(&daemon) == "SUSPENDED");
    let begun = Instant::now();
    bystander.write_stable(0, &block).expect("answered");
    // Calls that were under way are answered, so connections and workers are free for other pools.
    let mut waiting: Vec<File> = Vec::new();
    for writer in writers {
        let (file, status) = writer.join().expect("no panic");
        assert_eq!(status, LATER);
        waiting.push(file);
    }
    let shared = waiting.pop().expect("one of them");
    let mut same = File::open(&daemon, "/other", "file").by_way_of(shared);
    same.write_stable(0, &block).expect("answered");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(waiting[0].try_write_stable(0, &block).expect("answered"), LATER);

    zinject(&daemon, "-c all").done();
    daemon.zpool("clear tank").done();
    waiting[0].write_stable(0, &block).expect("answered");
    drop((waiting, same, bystander));
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

#[test]
fn disks_that_turn_up_are_taken_into_use() {
    let scratch = Scratch::new("turn-up");
    let mut daemon = Daemon::start(&scratch);
    let (a, b, at) = (scratch.image("a", 128), scratch.image("b", 128), scratch.folder("mnt"));
    daemon.zpool(&format!("create -m {} tank mirror {a} {b}", text(&at))).done();
    daemon.zfs("mount tank").done();
    let mut turn = 0;
    let mut vanish = || {
        zinject(&daemon, &format!("-q -d {a} -e nxio tank")).done();
        until("the loss", || {
            turn += 1;
            fs::write(at.join(format!("file{turn}")), vec![turn as u8; 1 << 20]).expect("written");
            daemon.zpool("sync tank").done();
            state(&daemon, &a).starts_with("FAULTED")
        });
    };
    let events = || daemon.zpool("events -H tank").done();
    // It is back.
    vanish();
    zinject(&daemon, "-c all").done();
    until("the return", || state(&daemon, &a).starts_with("ONLINE"));
    until("the end of what it missed", || events().contains("resilver_finish"));
    assert!(events().contains("sysevent.fs.zfs.vdev_online"), "{}", events());
    // Another one lies in its place, which counts where it is said to.
    vanish();
    fs::remove_file(&a).expect("an image");
    assert_eq!(scratch.image("a", 128), a);
    zinject(&daemon, "-c all").done();
    std::thread::sleep(Duration::from_secs(6));
    assert!(state(&daemon, &a).starts_with("FAULTED"), "{}", state(&daemon, &a));
    daemon.zpool("set autoreplace=on tank").done();
    until("the replacement", || state(&daemon, &a).starts_with("ONLINE"));
    until("its end", || !daemon.zpool("status tank").done().contains("replacing"));
    // It is somewhere else.
    vanish();
    let moved = text(&scratch.path("disks/moved.img"));
    fs::rename(&a, &moved).expect("renamed");
    zinject(&daemon, "-c all").done();
    daemon.zpool(&format!("online tank {a}")).done();
    until("the return", || state(&daemon, &moved).starts_with("ONLINE"));
    daemon.zpool("wait -t resilver tank").done();
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

#[test]
fn failmode_decides_what_writers_hear() {
    let scratch = Scratch::new("failmode");
    let mut daemon = Daemon::start(&scratch);
    let (a, at) = (scratch.image("a", 128), scratch.folder("mnt"));
    daemon.zpool(&format!("create -o failmode=continue -m {} tank {a}", text(&at))).done();
    daemon.zfs("mount tank").done();
    fs::write(at.join("before"), b"before").expect("written");
    daemon.zpool("sync tank").done();
    zinject(&daemon, &format!("-d {a} -e nxio -T write tank")).done();
    let write = || {
        let mut file = fs::File::create(at.join("during"))?;
        file.write_all(b"during")?;
        file.sync_all()
    };
    assert!(write().is_err(), "an error, and no wait");
    until("the suspension", || health(&daemon) == "SUSPENDED");
    assert!(fs::write(at.join("after"), b"after").is_err());
    assert_eq!(fs::read(at.join("before")).expect("what is there can be read"), b"before");
    zinject(&daemon, "-c all").done();
    daemon.zpool("clear tank").done();
    write().expect("it goes on");
    daemon.zpool("set failmode=panic tank").done();
    zinject(&daemon, &format!("-d {a} -e nxio tank")).done();
    assert!(write().is_err());
    until("the suspension", || health(&daemon) == "SUSPENDED");
    zinject(&daemon, "-c all").done();
    refused(daemon.zpool("clear tank"), "cannot clear errors for tank: pool I/O is currently suspended");
    daemon.zpool("export -f tank").done();
    daemon.zpool(&format!("import -d {} tank", text(&scratch.path("disks")))).done();
    daemon.zfs("mount tank").done();
    assert_eq!(fs::read(at.join("before")).expect("read"), b"before");
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

#[test]
fn a_disk_is_judged_by_how_often_it_errs() {
    let scratch = Scratch::new("judged");
    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    let at = scratch.folder("mnt");
    daemon.zpool(&format!("create -m {} tank mirror {a} {b}", text(&at))).done();
    daemon.zfs("mount tank").done();
    zinject(&daemon, &format!("-d {a} -e io -T write -f 50 tank")).done();
    let shown = zinject(&daemon, "").done();
    let row: Vec<&str> = shown.lines().nth(2).expect("one handler").split_whitespace().collect();
    assert_eq!((row[0], row[1], row[3], row[4], row[5]), ("1", "tank", "write", "io", "50.0000%"));
    let fill = |name: &str| {
        let data: Vec<u8> =
            (0..4_000_000_u32).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        fs::write(at.join(name), &data[..8 << 20]).expect("written");
        daemon.zpool("sync tank").done();
    };
    let mut turn = 0;
    until("a verdict", || {
        turn += 1;
        fill(&format!("file{turn}"));
        state(&daemon, &a).starts_with("FAULTED")
    });
    assert!(state(&daemon, &a).ends_with("too many errors"), "{}", state(&daemon, &a));
    let status = daemon.zpool("status tank").done();
    assert!(status.contains("faulted in response to persistent errors"), "{status}");
    zinject(&daemon, "-c 1").done();
    refused(zinject(&daemon, "-c 1"), "failed to remove handler 1: No such file or directory");
    daemon.zpool("clear tank").done();
    assert!(!state(&daemon, &a).starts_with("FAULTED"), "{}", state(&daemon, &a));
    zinject(&daemon, &format!("-d {b} -A degrade tank")).done();
    assert_eq!(state(&daemon, &b), "DEGRADED 0 0 0 too many errors");
    daemon.zpool("clear tank").done();
    until("the resilver", || state(&daemon, &a).starts_with("ONLINE"));
    daemon.zpool(&format!("offline -f tank {a}")).done();
    assert_eq!(state(&daemon, &a), "FAULTED 0 0 0 external device fault");
    daemon.zpool("export tank").done();
    daemon.zpool(&format!("import -d {} tank", text(&scratch.path("disks")))).done();
    assert_eq!(state(&daemon, &a), "FAULTED 0 0 0 external device fault", "it holds");
    daemon.zpool(&format!("clear tank {a}")).done();
    until("the return", || state(&daemon, &a).starts_with("ONLINE"));
    daemon.zpool(&format!("offline -ft tank {a}")).done();
    assert_eq!(state(&daemon, &a), "FAULTED 0 0 0 external device fault");
    daemon.zpool(&format!("clear tank {a}")).done();
    until("the return", || state(&daemon, &a).starts_with("ONLINE"));
    refused(
        zinject(&daemon, &format!("-d {b} -e corrupt tank")),
        "device corrupt errors require io type read",
    );
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

/// What is under way waits, as any other work does; what begins is refused, as OpenZFS refuses it.
#[test]
fn streams_wait_for_a_suspended_pool() {
    let scratch = Scratch::new("suspended-streams");
    let mut daemon = Daemon::start(&scratch);
    let (a, b, c) = (scratch.image("a", 256), scratch.image("b", 256), scratch.image("c", 256));
    daemon.zpool(&format!("create -m none tank mirror {a} {b}")).done();
    daemon.zpool(&format!("create -O compression=off -m {} other {c}", text(&scratch.folder("mnt")))).done();
    daemon.zfs("mount other").done();
    let data: Vec<u8> = (0..32 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 21) as u8).collect();
    fs::write(scratch.path("mnt/data"), &data).expect("written");
    daemon.zfs("snapshot other@1").done();
    let sent = daemon.command(&["zfs", "send", "other@1"]).output().expect("runs").stdout;
    assert!(sent.len() > data.len());
    let pipe = |words: &[&str]| {
        let mut command = daemon.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs")
    };
    let refuses = |command: &str, why: &str| {
        let words: Vec<&str> = command.split(' ').collect();
        let mut child = pipe(&words);
        // It may have ended before it has read all.
        let _ = child.stdin.take().expect("piped").write_all(&sent[..1 << 20]);
        let output = child.wait_with_output().expect("ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr).trim_end(), why);
    };

    let mut receive = pipe(&["zfs", "receive", "-s", "tank/copy"]);
    let mut to = receive.stdin.take().expect("piped");
    to.write_all(&sent[..8 << 20]).expect("taken");
    lose_all(&daemon, &[&a, &b]);
    std::thread::scope(|scope| {
        let rest = scope.spawn(|| {
            to.write_all(&sent[8 << 20..])?;
            drop(to);
            std::io::Result::Ok(())
        });
        until("the suspension", || health(&daemon) == "SUSPENDED");
        assert!(receive.try_wait().expect("asked").is_none(), "it waits");
        const SUSPENDED: &str = "pool I/O is currently suspended";
        refuses("zfs receive tank/other", &format!("cannot receive new filesystem stream: {SUSPENDED}"));
        refuses("zfs send tank/copy@1", &format!("warning: cannot send 'tank/copy@1': {SUSPENDED}"));
        zinject(&daemon, "-c all").done();
        daemon.zpool("clear tank").done();
        rest.join().expect("no panic").expect("all is taken");
    });
    let output = receive.wait_with_output().expect("ends");
    assert!(output.status.success(), "{output:?}");
    let guid = |name: &str| daemon.zfs(&format!("get -H -o value guid {name}")).done();
    assert_eq!(guid("tank/copy@1"), guid("other@1"));

    // Nothing of it is in memory.
    daemon.zpool("export tank").done();
    daemon.zpool(&format!("import -d {} tank", text(&scratch.path("disks")))).done();
    let mut send = pipe(&["zfs", "send", "tank/copy@1"]);
    let mut from = send.stdout.take().expect("piped");
    let mut again = vec![0; 1 << 20];
    from.read_exact(&mut again).expect("it begins");
    lose_all(&daemon, &[&a, &b]);
    let reader = std::thread::spawn(move || from.read_to_end(&mut again).map(|_| again));
    until("the suspension", || health(&daemon) == "SUSPENDED");
    assert!(!reader.is_finished(), "it waits");
    zinject(&daemon, "-c all").done();
    daemon.zpool("clear tank").done();
    let again = reader.join().expect("no panic").expect("read");
    assert!(send.wait().expect("ends").success());
    fs::write(scratch.path("again"), &again).expect("written");
    let from = fs::File::open(scratch.path("again")).expect("just written");
    Ran::of(daemon.command(&["zfs", "receive", "other/again"]).stdin(from)).done();
    daemon.zfs("mount other/again").done();
    assert!(fs::read(scratch.path("mnt/again/data")).expect("read") == data);
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

/// A file that was deleted is no disk any more, though it can be written until it is closed:
/// nothing of that would be kept.
#[test]
fn a_deleted_image_is_not_online() {
    let scratch = Scratch::new("deleted");
    let mut daemon = Daemon::start(&scratch);
    let [a, b, c] = ["a", "b", "c"].map(|name| scratch.image(name, 128));
    daemon.zpool(&format!("create -m none tank mirror {a} {b}")).done();
    assert_eq!(state(&daemon, &a), "ONLINE 0 0 0");
    fs::remove_file(&a).expect("deleted");
    // Nobody writes: it is noticed all the same.
    until("the deleted file's absence", || !state(&daemon, &a).starts_with("ONLINE"));
    assert_eq!(health(&daemon), "DEGRADED");
    daemon.zfs("create tank/fs").done();
    daemon.zpool(&format!("replace tank {a} {c}")).done();
    until("the replacement", || health(&daemon) == "ONLINE");
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}
