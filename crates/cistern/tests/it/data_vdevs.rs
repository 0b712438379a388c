//! Disks of data by command line: they join, leave, are replaced, grow and are stood in for; zdb
//! reads what is left with the old disks away.

use std::fs;

use stdx::prng::Prng;

use crate::daemon::{Daemon, Scratch};
use crate::zdb::assert_readable;

const FILE: usize = 6 << 20;

#[track_caller]
fn refuse(daemon: &Daemon, line: &str, message: &str) {
    let ran = daemon.zpool(line);
    assert_eq!((ran.status, ran.err.trim_end()), (1, message), "zpool {line}");
}

/// What `zpool status` says of a vdev: its state, and the line's end.
fn state(daemon: &Daemon, name: &str) -> Option<String> {
    let status = daemon.zpool("status tank").done();
    let line = status.lines().find(|line| line.split_whitespace().next() == Some(name));
    line.and_then(|line| line.split_whitespace().nth(1).map(str::to_owned))
}

/// A pool with a file system, and files in it.
struct Data {
    /// Ends before its folder goes.
    daemon: Daemon,
    scratch: Scratch,
    files: Vec<(String, Vec<u8>)>,
}

impl Data {
    fn new(name: &str, layout: &dyn Fn(&Scratch) -> String) -> Data {
        let scratch = Scratch::new(name);
        let daemon = Daemon::start(&scratch);
        let layout = layout(&scratch);
        daemon.zpool(&format!("create -O mountpoint={} tank {layout}", scratch.text("at"))).done();
        daemon.zfs("mount -a").done();
        Data { daemon, scratch, files: Vec::new() }
    }

    fn write(&mut self) {
        let mut data = vec![0; FILE];
        Prng::new(self.files.len() as u64 + 1).fill(&mut data);
        let name = format!("file{}", self.files.len());
        fs::write(self.scratch.path("at").join(&name), &data).expect("written");
        self.files.push((name, data));
    }

    /// zdb finds everything good without these disks; the pool is in use again then, and its files
    /// are what they were.
    #[track_caller]
    fn judge_without(&mut self, names: &[&str]) {
        self.daemon.stop();
        self.scratch.put_away(names);
        assert_readable(&self.scratch.path("disks"), "tank");
        self.scratch.bring_back(names);
        self.daemon.begin();
        self.compare();
    }

    #[track_caller]
    fn compare(&self) {
        self.daemon.zfs("mount -a").done();
        for (name, data) in &self.files {
            let read = fs::read(self.scratch.path("at").join(name)).expect("it is there");
            assert!(read == *data, "{name} differs");
        }
    }
}

#[test]
fn a_disk_becomes_a_mirror_moves_to_a_larger_one_and_grows() {
    let mut data = Data::new("data", &|scratch| scratch.image("a", 128));
    let a = data.scratch.text("disks/a.img");
    let [b, c, d] = ["b", "c", "d"].map(|name| data.scratch.image(name, 128));
    data.write();
    let tiny = data.scratch.image_in("tiny", "t", 64);
    refuse(
        &data.daemon,
        &format!("attach tank {a} {tiny}"),
        &format!("cannot attach {tiny} to {a}: device is too small"),
    );
    let none = format!("cannot detach {a}: only applicable to mirror and replacing vdevs");
    refuse(&data.daemon, &format!("detach tank {a}"), &none);
    data.daemon.zpool(&format!("attach -w tank {a} {b}")).done();
    assert_eq!(state(&data.daemon, "mirror-0").as_deref(), Some("ONLINE"));
    let status = data.daemon.zpool("status tank").done();
    assert!(status.contains("  scan: resilvered ") && status.contains(" with 0 errors on "), "{status}");
    data.write();
    data.judge_without(&["a"]);

    let last = format!("cannot offline {b}: no valid replicas");
    data.daemon.zpool(&format!("offline tank {a}")).done();
    assert_eq!(state(&data.daemon, &a).as_deref(), Some("OFFLINE"));
    refuse(&data.daemon, &format!("offline tank {b}"), &last);
    data.write();
    data.daemon.zpool(&format!("online tank {a}")).done();
    data.daemon.zpool("wait -t resilver tank").done();
    assert_eq!(state(&data.daemon, "tank").as_deref(), Some("ONLINE"));
    data.judge_without(&["b"]);

    data.daemon.zpool(&format!("replace -s -w tank {a} {c}")).done();
    data.daemon.zpool("wait -t scrub tank").done();
    let status = data.daemon.zpool("status tank").done();
    let scans: Vec<&str> = status.lines().filter_map(|line| line.strip_prefix("  scan: ")).collect();
    assert!(
        scans.len() == 2
            && scans[0].starts_with("scrub repaired 0B in ")
            && scans[1].starts_with("resilvered (mirror-0) "),
        "{status}"
    );
    let events = data.daemon.zpool("events -v").done();
    assert_eq!(events.matches("resilver_type = \"sequential\"").count(), 2, "it began, and ended");
    assert_eq!((state(&data.daemon, &a), state(&data.daemon, &c).as_deref()), (None, Some("ONLINE")));
    data.judge_without(&["a", "b"]);
    data.daemon.zpool(&format!("detach tank {b}")).done();
    assert_eq!(state(&data.daemon, "mirror-0"), None);
    let mirror = data.daemon.zpool(&format!("add tank mirror {a} {d}"));
    let mismatched = "invalid vdev specification\nuse '-f' to override the following errors:\nmismatched replication level: \
                      pool uses ";
    assert!(mirror.status == 1 && mirror.err.starts_with(mismatched), "{mirror:?}");
    data.daemon.zpool(&format!("add tank {d}")).done();

    let size = |data: &Data| {
        data.daemon.zpool("list -H -p -o size tank").done().trim().parse::<u64>().expect("bytes")
    };
    let before = size(&data);
    fs::File::options().write(true).open(&c).and_then(|disk| disk.set_len(256 << 20)).expect("a larger disk");
    data.daemon.zpool(&format!("online -e tank {c}")).done();
    assert!(size(&data) > before + (100 << 20), "{} after {before}", size(&data));
    data.write();
    data.judge_without(&["a", "b"]);
    data.daemon.zpool("scrub -w tank").done();
    assert!(data.daemon.zpool("status tank").done().contains("scan: scrub repaired 0B in "));
}

#[test]
fn a_spare_steps_in_for_a_raidz_disk_and_goes_back() {
    let images = |scratch: &Scratch| {
        let [a, b, c, s] = ["a", "b", "c", "s"].map(|name| scratch.image(name, 128));
        format!("raidz1 {a} {b} {c} spare {s}")
    };
    let mut data = Data::new("spare", &images);
    let [b, s] = ["b", "s"].map(|name| data.scratch.text(&format!("disks/{name}.img")));
    data.write();
    assert_eq!(state(&data.daemon, &s).as_deref(), Some("AVAIL"));
    data.daemon.stop();
    data.scratch.put_away(&["b"]);
    data.daemon.begin();
    data.daemon.zpool("wait -t resilver tank").done();
    assert_eq!(state(&data.daemon, "spare-1").as_deref(), Some("DEGRADED"));
    let status = data.daemon.zpool("status tank").done();
    assert!(status.contains("INUSE     currently in use\n"), "{status}");
    data.daemon.zfs("mount -a").done();
    data.write();
    // The spare does for the lost disk: another can be lost.
    data.judge_without(&["a"]);

    let new = data.scratch.image("n", 128);
    let only = "only mirror and dRAID vdevs support sequential reconstruction";
    let line = format!("replace -s tank {b} {new}");
    refuse(&data.daemon, &line, &format!("cannot replace {b} with {new}: {only}"));
    data.daemon.zpool(&format!("replace -w tank {b} {new}")).done();
    assert_eq!(state(&data.daemon, "tank").as_deref(), Some("ONLINE"));
    assert_eq!((state(&data.daemon, &s).as_deref(), state(&data.daemon, "spare-1")), (Some("AVAIL"), None));
    data.judge_without(&["c"]);
    data.daemon.zpool(&format!("remove tank {s}")).done();
    assert_eq!(state(&data.daemon, &s), None);
    data.daemon.stop();
}
