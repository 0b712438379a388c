//! Volumes over iSCSI, by an initiator that others wrote: libiscsi's tools and its tests.

use load::{Initiator, Unit};

use crate::daemon::{Daemon, Ran, Scratch, program, timed};
use crate::zdb::stop_and_check;

pub const LISTEN: [&str; 2] = ["--iscsi", "127.0.0.1:0"];
/// libiscsi's tests by family, and how many of them there are at the least. What they pass over by themselves: removable
/// media, SANITIZE, WRITE ATOMIC, defect lists; what takes two paths has a test of its own.
const FAMILIES: [(&str, u32); 2] = [("SCSI", 200), ("iSCSI", 15)];

/// Where the daemon says that it answers.
fn portals(daemon: &Daemon) -> Vec<String> {
    let said = daemon.banner.lines().filter_map(|line| line.trim().strip_prefix("iSCSI"));
    said.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

pub fn portal(daemon: &Daemon) -> String {
    portals(daemon).into_iter().next().expect("the banner says so")
}

/// Counts of a run of libiscsi's tests: run, failed.
fn counts(out: &str) -> (u32, u32) {
    let line =
        out.lines().find(|line| line.trim_start().starts_with("tests")).unwrap_or_else(|| panic!("{out}"));
    let numbers: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    (numbers[1], numbers[3])
}

#[test]
fn libiscsi_finds_nothing_wrong() {
    let scratch = Scratch::new("libiscsi");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let a = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    // Where physical blocks are longer than logical ones, GetLBAStatus.UnmapSingle expects a descriptor that begins behind
    // what it asks for: SBC-3 5.4.2 has none such.
    daemon.zfs("create -s -V 64M -b 512 tank/v").done();
    daemon.zfs("set shareiscsi=on tank/v").done();
    assert_eq!(daemon.run(&["iscsi", "list"]).done(), "tank/v\ton\n");
    let url = format!("iscsi://{}", portal(&daemon));
    let target = "iqn.2026-01.org.cistern:tank:v";
    let listed = Ran::of(program("iscsi-ls", 60).args(["-s", &url])).done();
    assert!(listed.contains(target) && listed.contains("Lun:0"), "{listed}");
    let unit = format!("{url}/{target}/0");
    let inquiry = Ran::of(program("iscsi-inq", 60).arg(&unit)).done();
    assert!(inquiry.contains("Vendor:CISTERN"), "{inquiry}");
    for (family, least) in FAMILIES {
        let ran = timed(&format!("iscsi-test-cu {family}"), || {
            let test = format!("--test={family}");
            Ran::of(program("iscsi-test-cu", 300).args(["--dataloss", "--silent", &test, &unit]))
        });
        let (tests, failed) = counts(&ran.out);
        assert!(tests >= least && failed == 0, "{failed} of {tests}:\n{}{}", ran.out, ran.err);
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// One volume by two paths: portals of one group, and of two.
#[test]
fn libiscsi_finds_one_unit_at_the_end_of_two_paths() {
    let scratch = Scratch::new("multipath");
    let listen = ["--iscsi", "127.0.0.1:0", "--iscsi", "127.0.0.1:0", "--iscsi", "127.0.0.1:0,2"];
    let mut daemon = Daemon::start_with(&scratch, "state", &listen);
    let a = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create -s -V 64M tank/v").done();
    daemon.zfs("set shareiscsi=on tank/v").done();
    let (portals, target) = (portals(&daemon), "iqn.2026-01.org.cistern:tank:v");
    let listed = Ran::of(program("iscsi-ls", 60).arg(format!("iscsi://{}", portals[1]))).done();
    for (portal, tag) in portals.iter().zip([1, 1, 2]) {
        assert!(listed.contains(&format!("Target:{target} Portal:{portal},{tag}")), "{listed}");
    }
    // One block behind what it makes zero, libiscsi's test of COMPARE AND WRITE expects zeroes and writes: a new volume each.
    for (number, other) in portals[1..].iter().enumerate() {
        daemon.zfs(&format!("create -s -V 64M -o cistern:iscsi=on tank/v{number}")).done();
        let unit = |portal: &String| format!("iscsi://{portal}/{target}{number}/0");
        let ran = timed("iscsi-test-cu MultipathIO", || {
            let words = ["--dataloss", "--silent", "--test=ALL.MultipathIO"];
            Ran::of(program("iscsi-test-cu", 120).args(words).arg(unit(&portals[0])).arg(unit(other)))
        });
        let (tests, failed) = counts(&ran.out);
        assert!(tests == 4 && failed == 0, "{failed} of {tests}:\n{}{}", ran.out, ran.err);
        assert!(!ran.out.contains("SKIPPED"), "{}", ran.out);
    }
    daemon.zfs("destroy tank/v0").done();
    daemon.zfs("destroy tank/v1").done();
    // A target behind one group is not found by the others.
    daemon.run(&["iscsi", "map", "tank/v", "-g", "2"]).done();
    let listed = Ran::of(program("iscsi-ls", 60).arg(format!("iscsi://{}", portals[0]))).done();
    assert!(listed.contains(&portals[2]) && !listed.contains(&portals[0]), "{listed}");
    // Who has the secret comes in; nobody reads it.
    daemon.run(&["iscsi", "map", "tank/v", "-u", "me", "-s", "quite_a_secret"]).done();
    daemon.zfs("set shareiscsi=user=me,secret=quite_a_secret tank/v").done();
    let with = |secret: &str| {
        let url = format!("iscsi://me%{secret}@{}/{target}/0", portals[0]);
        Ran::of(program("iscsi-inq", 60).arg(url))
    };
    assert!(with("quite_a_secret").done().contains("Vendor:CISTERN"));
    assert_ne!(with("another_secret").status, 0);
    let told = [
        daemon.zfs("get -H -o value cistern:iscsi tank/v").done(),
        daemon.run(&["iscsi", "list"]).done(),
        daemon.zpool("history -il").done(),
        daemon.zpool("events -v").done(),
    ];
    assert_eq!(told[0], "user=me,sealed=********\n");
    assert!(told.iter().all(|told| told.contains("user=me") && !told.contains("quite_a_secret")), "{told:?}");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// What is reserved with APTPL is so after the daemon was killed; without, nothing is.
#[test]
fn reservations_outlive_the_daemon() {
    let scratch = Scratch::new("aptpl");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let a = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create -s -V 64M tank/v").done();
    daemon.zfs("set shareiscsi=on tank/v").done();
    let unit = |daemon: &Daemon| {
        Unit::parse(&format!("iscsi://{}/iqn.2026-01.org.cistern:tank:v/0", portal(daemon))).expect("a place")
    };
    // Registers a key, and reserves for itself alone; each session is another port of the initiator.
    let reserve = |daemon: &Daemon, persist: u8| {
        let (unit, mut list) = (unit(daemon), [0; 24]);
        let mut initiator = Initiator::log_in(&unit).expect("a session");
        (list[15], list[20]) = (7, persist);
        initiator.call(&unit, &[0x5f, 6, 0, 0, 0, 0, 0, 0, 24, 0], &list, 0).expect("registered");
        (list[7], list[15], list[20]) = (7, 0, 0);
        initiator.call(&unit, &[0x5f, 1, 3, 0, 0, 0, 0, 0, 24, 0], &list, 0).expect("reserved");
        initiator.write(&unit, 0, &[persist; 512]).expect("it holds the reservation");
        initiator.flush(&unit).expect("flushed");
    };
    let write = |daemon: &Daemon| {
        let unit = unit(daemon);
        Initiator::log_in(&unit).and_then(|mut initiator| initiator.write(&unit, 0, &[9; 512]))
    };
    reserve(&daemon, 1);
    for _ in 0..2 {
        daemon.kill();
        daemon.begin();
        let refused = write(&daemon).expect_err("it is reserved").to_string();
        assert!(refused.contains("status 0x18"), "{refused}");
    }
    // Who is nobody takes a new key and clears all.
    let (place, mut list) = (unit(&daemon), [0; 24]);
    let mut initiator = Initiator::log_in(&place).expect("a session");
    list[15] = 8;
    initiator.call(&place, &[0x5f, 6, 0, 0, 0, 0, 0, 0, 24, 0], &list, 0).expect("registered");
    (list[7], list[15]) = (8, 0);
    initiator.call(&place, &[0x5f, 3, 0, 0, 0, 0, 0, 0, 24, 0], &list, 0).expect("cleared");
    drop(initiator);
    reserve(&daemon, 0);
    daemon.kill();
    daemon.begin();
    write(&daemon).expect("nothing is reserved any more");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
