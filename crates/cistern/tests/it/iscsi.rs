//! Volumes over iSCSI, by an initiator that others wrote: libiscsi's tools and its tests.

use std::collections::{BTreeMap, BTreeSet};

use load::{Initiator, Unit};

use crate::daemon::{Daemon, Ran, Scratch, program, timed};
use crate::zdb::stop_and_check;

pub const LISTEN: [&str; 2] = ["--iscsi", "127.0.0.1:0"];
/// What of libiscsi's tests is not run, and why.
const SKIPPED: &str = include_str!("../../../../docs/libiscsi.md");
/// How many tests libiscsi has at the least.
const TESTS: usize = 230;

/// Where the daemon says that it answers.
fn portals(daemon: &Daemon) -> Vec<String> {
    let said = daemon.banner.lines().filter_map(|line| line.trim().strip_prefix("iSCSI"));
    said.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

pub fn portal(daemon: &Daemon) -> String {
    portals(daemon).into_iter().next().expect("the banner says so")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Skipped,
    Failed,
}

/// How many tests the tool says that it ran, and how many failed.
fn counted(out: &str) -> Option<(usize, usize)> {
    let line = out.lines().find(|line| line.trim_start().starts_with("tests"))?;
    let mut numbers = line.split_whitespace().skip(2).map(|word| word.parse().ok());
    let ran = numbers.next()??;
    Some((ran, numbers.nth(1)??))
}

/// A run of libiscsi's tests, and how each that it ran has ended.
struct Judgement {
    outcomes: BTreeMap<String, Outcome>,
    said: String,
}

impl Judgement {
    /// `units`: one, or a second path to the same.
    fn of(tests: &str, units: &[String]) -> Judgement {
        let wanted = format!("--test={tests}");
        let ran = timed(&format!("iscsi-test-cu {tests}"), || {
            // That SANITIZE is to be tried is asked for on its own.
            let words = ["--dataloss", "--allow-sanitize", &wanted];
            Ran::of(program("iscsi-test-cu", 300).args(words).args(units))
        });
        let mut outcomes = BTreeMap::new();
        let (mut suite, mut test) = ("", String::new());
        for line in ran.out.lines() {
            if let Some(name) = line.strip_prefix("Suite: ") {
                suite = name;
            } else if let Some((name, _)) =
                line.trim_start().strip_prefix("Test: ").and_then(|rest| rest.split_once(" ..."))
            {
                test = format!("{suite}.{name}");
                outcomes.insert(test.clone(), Outcome::Passed);
            }
            // The tool writes `[FAILED]` of commands that are to fail, too.
            let told = if line.contains("[SKIPPED]") {
                Outcome::Skipped
            } else if line.starts_with("FAILED") || line.contains("...FAILED") {
                Outcome::Failed
            } else {
                continue;
            };
            outcomes.insert(test.clone(), told);
        }
        let judgement = Judgement { outcomes, said: format!("{}{}", ran.out, ran.err) };
        let failed = judgement.which(Outcome::Failed).len();
        assert_eq!(counted(&ran.out), Some((judgement.outcomes.len(), failed)), "{}", judgement.said);
        judgement
    }

    fn which(&self, outcome: Outcome) -> BTreeSet<&str> {
        let wanted = self.outcomes.iter().filter(|(_, one)| **one == outcome);
        wanted.map(|(name, _)| name.as_str()).collect()
    }

    #[track_caller]
    fn is_clean(&self) {
        assert!(self.which(Outcome::Failed).is_empty(), "{}", self.said);
    }
}

/// The tests that the rows of a section of the list name.
fn listed(section: &str) -> BTreeSet<&'static str> {
    let (_, section) = SKIPPED.split_once(section).expect("there is such a section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().expect("a name")).collect()
}

#[test]
fn libiscsi_finds_nothing_wrong() {
    let scratch = Scratch::new("libiscsi");
    let listen = [LISTEN[0], LISTEN[1], "--iscsi", "127.0.0.1:0,2"];
    let mut daemon = Daemon::start_with(&scratch, "state", &listen);
    let a = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    // Logical blocks are of 512 bytes, physical ones as the volumes have them.
    daemon.zfs("create -s -V 64M -b 512 -o cistern:iscsi=on tank/small").done();
    daemon.zfs("create -s -V 64M -b 4K -o cistern:iscsi=on tank/large").done();
    daemon.zfs("create -s -V 64M -o cistern:iscsi=on -o readonly=on tank/readonly").done();
    assert_eq!(daemon.run(&["iscsi", "list"]).done(), "tank/large\ton\ntank/readonly\ton\ntank/small\ton\n");
    let target = |volume: &str| format!("iqn.2026-01.org.cistern:tank:{volume}");
    let portals = portals(&daemon);
    let units = |volume: &str| -> Vec<String> {
        portals.iter().map(|portal| format!("iscsi://{portal}/{}/0", target(volume))).collect()
    };
    let found = Ran::of(program("iscsi-ls", 60).args(["-s", &format!("iscsi://{}", portals[0])])).done();
    assert!(found.contains(&target("small")) && found.contains("Lun:0"), "{found}");
    let inquiry = Ran::of(program("iscsi-inq", 60).arg(&units("small")[0])).done();
    assert!(inquiry.contains("Vendor:CISTERN"), "{inquiry}");

    let small = Judgement::of("ALL", &units("small"));
    small.is_clean();
    assert!(small.outcomes.len() >= TESTS, "only {} tests", small.outcomes.len());
    let large = Judgement::of("ALL", &units("large"));
    assert_eq!(large.outcomes.len(), small.outcomes.len());
    assert_eq!(large.which(Outcome::Failed), listed("## What fails"), "{}", large.said);
    // All others write, which is refused there.
    let readonly = Judgement::of("ALL.ReadOnly", &units("readonly"));
    readonly.is_clean();
    assert_eq!(
        readonly.which(Outcome::Passed),
        BTreeSet::from(["ReadOnly.ReadOnlySBC"]),
        "{}",
        readonly.said
    );

    let both: BTreeSet<&str> =
        small.which(Outcome::Skipped).intersection(&large.which(Outcome::Skipped)).copied().collect();
    let skipped: BTreeSet<&str> = &both - &readonly.which(Outcome::Passed);
    assert_eq!(skipped, listed("## What is skipped"), "{}\n{}", small.said, large.said);
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
    // One block behind what it makes zero, libiscsi's test of COMPARE AND WRITE expects zeroes and
    // writes: a new volume each.
    for (number, other) in portals[1..].iter().enumerate() {
        daemon.zfs(&format!("create -s -V 64M -o cistern:iscsi=on tank/v{number}")).done();
        let unit = |portal: &String| format!("iscsi://{portal}/{target}{number}/0");
        let ran = Judgement::of("ALL.MultipathIO", &[unit(&portals[0]), unit(other)]);
        assert_eq!(ran.which(Outcome::Passed).len(), 4, "{}", ran.said);
        assert_eq!(ran.outcomes.len(), 4, "{}", ran.said);
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
    let log = daemon.log();
    let failed = log.lines().find(|line| line.contains("login failed")).expect("it is logged");
    let said =
        ["peer=127.0.0.1:", "initiator=\"iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-inq\"", "0x0201"];
    assert!(said.iter().all(|part| failed.contains(part)) && !log.contains("r_secret"), "{failed}");
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
    // Registers a key, and reserves for itself alone; each session is another port of the
    // initiator.
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

/// A session that stays while its pool goes and comes back, and while another volume takes its
/// volume's name: it is told what became of its unit before it works with it again.
#[test]
fn a_session_is_told_what_becomes_of_its_volume() {
    let scratch = Scratch::new("session");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let a = scratch.image("a", 512);
    let create = "create -s -V 64M -o cistern:iscsi=on tank/v";
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs(create).done();
    let url = format!("iscsi://{}/iqn.2026-01.org.cistern:tank:v/0", portal(&daemon));
    let unit = Unit::parse(&url).expect("a place");
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    let told = |initiator: &mut Initiator, (key, code): (&str, &str)| {
        let told =
            initiator.call(&unit, &[0; 6], &[], 0).expect_err("there is something to tell").to_string();
        assert!(told.contains(&format!("sense Some({key}) Some([{code}])")), "{told}");
    };
    let (new, other, none) = (("06", "29, 00"), ("06", "3f, 0e"), ("05", "25, 00"));
    let read = |initiator: &mut Initiator| initiator.read(&unit, 0, 512).expect("it can be read");
    initiator.write(&unit, 0, &[7; 512]).expect("written");

    daemon.zpool("export tank").done();
    told(&mut initiator, none);
    assert!(initiator.write(&unit, 0, &[8; 512]).is_err(), "its volume is gone");
    daemon.zpool(&format!("import -d {} tank", scratch.path("disks").display())).done();
    told(&mut initiator, new);
    told(&mut initiator, other);
    assert_eq!(read(&mut initiator), [7; 512]);

    // It has asked for nothing meanwhile: what else it is told depends on whether it was looked
    // after for it.
    daemon.zpool("export tank").done();
    daemon.zpool(&format!("import -d {} tank", scratch.path("disks").display())).done();
    told(&mut initiator, new);
    initiator.greet(&unit).expect("its unit is ready");
    assert_eq!(read(&mut initiator), [7; 512]);

    daemon.zfs("rename tank/v tank/w").done();
    told(&mut initiator, none);
    daemon.zfs("rename tank/w tank/v").done();
    told(&mut initiator, new);
    told(&mut initiator, other);
    assert_eq!(read(&mut initiator), [7; 512]);

    // Another volume has the number now.
    daemon.zfs("destroy tank/v").done();
    daemon.zfs(create).done();
    told(&mut initiator, new);
    told(&mut initiator, other);
    assert_eq!(read(&mut initiator), [0; 512]);

    daemon.zfs("destroy tank/v").done();
    told(&mut initiator, none);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
