//! Snapshots by policy, and copies of them, by programs that were written for OpenZFS and are used
//! as they are: sanoid, zfs-auto-snapshot, and syncoid between two appliances. A day passes in
//! seconds: the appliance and the programs see the time that a file says (libfaketime).

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::daemon::{Daemon, PROGRAM, Ran, Scratch, program, timed};
use crate::suspended::until;
use crate::zdb::stop_and_check;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// Two appliances, and what a program sees of them.
struct Site {
    scratch: Scratch,
    /// Where everything happens, and where copies go to.
    here: Daemon,
    there: Daemon,
    /// Seconds that the clock is ahead.
    ahead: u64,
}

/// Another machine is another daemon. `cut` is where lines to it break: after so many bytes.
const SSH: &str = r#"#!/bin/sh
while :; do
	case "$1" in -[SopicO]) shift 2 ;; -*) shift ;; *) break ;; esac
done
shift
[ "$1" = -O ] && exit 0
export CISTERN_SOCKET=THERE
case "$*" in
*receive*) [ -e CUT ] && { head -c "$(cat CUT)" | sh -c "$*"; exit; } ;;
esac
exec sh -c "$*"
"#;

impl Site {
    fn new() -> Site {
        let scratch = Scratch::new("policies");
        // The day begins at ten, whenever the test does.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let ahead = DAY + 10 * HOUR - now % DAY;
        fs::write(scratch.path("clock"), format!("+{ahead}")).expect("written");
        let env = clock(&scratch);
        let here = Daemon::start_under(&scratch, "here", &[], &env);
        let there = Daemon::start_under(&scratch, "there", &[], &env);
        let bin = scratch.folder("bin");
        for name in ["zfs", "zpool"] {
            symlink(PROGRAM, bin.join(name)).expect("linked");
        }
        let cut = scratch.text("cut");
        let script = SSH.replace("THERE", there.socket().to_str().expect("text")).replace("CUT", &cut);
        fs::write(bin.join("ssh"), script).expect("written");
        fs::set_permissions(bin.join("ssh"), PermissionsExt::from_mode(0o755)).expect("set");
        Site { scratch, here, there, ahead }
    }

    /// An hour later.
    fn wait_an_hour(&mut self) {
        self.ahead += HOUR;
        fs::write(self.scratch.path("clock"), format!("+{}", self.ahead)).expect("written");
    }

    fn run(&self, name: &str, line: &str) -> Ran {
        let mut command: Command = program(name, 60);
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.scratch.text("bin"));
        command.env("PATH", path).env("CISTERN_SOCKET", self.here.socket()).env("TZ", "UTC");
        command.envs(clock(&self.scratch)).args(line.split_whitespace());
        Ran::of(&mut command)
    }

    fn syncoid(&self, line: &str) -> Ran {
        self.run("syncoid", &format!("--no-privilege-elevation {line}"))
    }

    fn snapshots(&self, daemon: &Daemon, dataset: &str) -> Vec<String> {
        let listed = daemon.zfs(&format!("list -H -o name -s createtxg -t snapshot -d 1 {dataset}")).done();
        listed.lines().map(|name| name.split('@').nth(1).expect("a snapshot").to_owned()).collect()
    }

    /// The copy has the snapshots of the same guids.
    fn is_copied(&self, dataset: &str, copy: &str) {
        let guids = |daemon: &Daemon, of: &str| {
            daemon.zfs(&format!("get -H -p -o value -d 1 -t snapshot guid {of}")).done()
        };
        let (ours, copied) = (guids(&self.here, dataset), guids(&self.there, copy));
        assert!(ours.lines().all(|guid| copied.lines().any(|other| other == guid)), "{ours}\n{copied}");
    }
}

/// Makes a program see the time that the file says.
pub fn clock(scratch: &Scratch) -> Vec<(&'static str, String)> {
    let library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
    vec![
        ("LD_PRELOAD", library.to_owned()),
        ("FAKETIME_TIMESTAMP_FILE", scratch.text("clock")),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("NO_FAKE_STAT", "1".to_owned()),
    ]
}

const POLICY: &str = "[tank/data]
	use_template = production
	recursive = yes

[template_production]
	frequently = 0
	hourly = 6
	daily = 2
	monthly = 1
	yearly = 0
	autosnap = yes
	autoprune = yes
";

#[test]
fn a_day_of_sanoid_syncoid_and_zfs_auto_snapshot() {
    let mut site = Site::new();
    let (a, b) = (site.scratch.image_in("one", "a", 256), site.scratch.image_in("two", "b", 256));
    site.here.zpool(&format!("create -m none tank {a}")).done();
    site.there.zpool(&format!("create -m none backup {b}")).done();
    for name in ["tank/data", "tank/data/mail", "tank/auto"] {
        site.here.zfs(&format!("create {name}")).done();
    }
    svc(&site, "create auto-snap own --target tank --recursive --level often:1m=100");
    until("the first of its own", || !services_own(&site, "tank/data/mail").is_empty());
    let before = services_own(&site, "tank/data/mail");
    timed("sanoid for a day", || a_day(&mut site));
    beside_others(&site, &before);
    timed("syncoid", || replicas(&mut site));
    timed("zfs-auto-snapshot", || auto_snapshots(&mut site));
    let Site { scratch, mut here, mut there, .. } = site;
    stop_and_check(&mut here, &scratch.path("one"), "tank");
    stop_and_check(&mut there, &scratch.path("two"), "backup");
}

fn a_day(site: &mut Site) {
    let folder = site.scratch.folder("sanoid");
    fs::write(folder.join("sanoid.conf"), POLICY).expect("written");
    let at = site.scratch.text("sanoid");
    let sanoid = |site: &Site, what: &str| {
        site.run("sanoid", &format!("{what} --configdir={at} --cache-dir={at}/cache --run-dir={at}/run"))
    };
    for hour in 0..26 {
        // What cron has it do in one is done one by one at times.
        let does = if hour % 12 == 11 { &["--take-snapshots", "--prune-snapshots"][..] } else { &["--cron"] };
        for what in does {
            let ran = sanoid(site, what);
            assert!(ran.status == 0 && ran.err.is_empty(), "{hour}: {what}: {ran:?}");
        }
        if hour % 8 == 0 {
            let ran = site.syncoid("-r --no-sync-snap --create-bookmark tank/data root@there:backup/data");
            assert_eq!(ran.status, 0, "{ran:?}");
        }
        site.wait_an_hour();
    }
    for dataset in ["tank/data", "tank/data/mail"] {
        let names = site.snapshots(&site.here, dataset);
        let count = |kind: &str| names.iter().filter(|name| name.ends_with(kind)).count();
        // What a run takes, the next one prunes by.
        assert!((6..=7).contains(&count("_hourly")), "{names:?}");
        assert!(count("_daily") == 2 && count("_monthly") > 0, "{names:?}");
    }
    let ran = sanoid(site, "--monitor-snapshots");
    assert!(ran.status == 0 && ran.out.starts_with("OK: all monitored datasets"), "{ran:?}");
    let ran = sanoid(site, "--monitor-health");
    assert!(ran.status == 0 && ran.out.contains("OK ZPOOL tank : ONLINE"), "{ran:?}");
    let ran = sanoid(site, "--monitor-capacity");
    assert!(ran.status == 0, "{ran:?}");
}

/// sanoid left alone what a service of ours made meanwhile, and the service leaves what is
/// sanoid's.
fn beside_others(site: &Site, before: &[String]) {
    let own = services_own(site, "tank/data/mail");
    assert!(before.iter().all(|name| own.contains(name)), "{before:?}\n{own:?}");
    let others = |of: &[String]| {
        let all = site.snapshots(&site.here, "tank/data/mail");
        all.into_iter().filter(|name| !of.contains(name)).collect::<Vec<_>>()
    };
    let theirs = others(&own);
    svc(site, "set own --level often:yearly=1");
    until("all but the newest are gone", || {
        svc(site, "run own");
        services_own(site, "tank/data/mail").len() == 1
    });
    assert_eq!(others(&own), theirs);
    svc(site, "remove own");
}

fn svc(site: &Site, line: &str) {
    site.here.run(&["svc"].into_iter().chain(line.split(' ')).collect::<Vec<_>>()).done();
}

/// The snapshots of a dataset that a service of ours made.
fn services_own(site: &Site, dataset: &str) -> Vec<String> {
    let property = "org.cistern:service";
    let line = format!("list -H -o name,{property} -s createtxg -t snapshot -d 1 {dataset}");
    let listed = site.here.zfs(&line).done();
    let own = listed.lines().filter_map(|line| line.split_once("\town "));
    own.map(|(name, _)| name.split('@').nth(1).expect("a snapshot").to_owned()).collect()
}

fn replicas(site: &mut Site) {
    let ran = site.syncoid("-r --no-sync-snap --create-bookmark tank/data root@there:backup/data");
    assert_eq!(ran.status, 0, "{ran:?}");
    for (dataset, copy) in [("tank/data", "backup/data"), ("tank/data/mail", "backup/data/mail")] {
        site.is_copied(dataset, copy);
        let bookmarks = site.here.zfs(&format!("list -H -o name -t bookmark -d 1 {dataset}")).done();
        assert!(!bookmarks.is_empty());
    }
    // What it hands on to both ends; a raw stream of what is not encrypted is like any other.
    for (copy, options) in [
        ("lce", "--sendoptions=Lce --recvoptions=u"),
        ("raw", "--sendoptions=w --recvoptions=uh --compress=none"),
    ] {
        let line = format!("--no-sync-snap {options} tank/data/mail root@there:backup/{copy}");
        let ran = site.syncoid(&line);
        assert_eq!(ran.status, 0, "{ran:?}");
        site.is_copied("tank/data/mail", &format!("backup/{copy}"));
    }
    // Snapshots of its own, named by the second; a line that breaks, and another run that goes on.
    let ran = site.syncoid("tank/auto root@there:backup/auto");
    assert_eq!(ran.status, 0, "{ran:?}");
    write_some(site, "tank/auto");
    site.wait_an_hour();
    fs::write(site.scratch.path("cut"), "3000000").expect("written");
    let ran = site.syncoid("--compress=none tank/auto root@there:backup/auto");
    assert_ne!(ran.status, 0, "{ran:?}");
    fs::remove_file(site.scratch.path("cut")).expect("removed");
    let token = site.there.zfs("get -H -o value receive_resume_token backup/auto").done();
    assert!(token.starts_with("1-"), "{token}\n{ran:?}");
    site.wait_an_hour();
    let ran = site.syncoid("--compress=none tank/auto root@there:backup/auto");
    assert!(ran.status == 0 && ran.out.contains("Resuming interrupted zfs send/receive"), "{ran:?}");
    site.is_copied("tank/auto", "backup/auto");
    // All snapshots of both are gone but for a bookmark here.
    site.here.zfs("snapshot tank/data@kept").done();
    let last = site.snapshots(&site.here, "tank/data");
    for name in last.iter().filter(|name| *name != "kept") {
        site.here.zfs(&format!("destroy tank/data@{name}")).done();
    }
    let ran = site.syncoid("--no-sync-snap tank/data root@there:backup/data");
    assert_eq!(ran.status, 0, "{ran:?}");
    site.is_copied("tank/data", "backup/data");
}

/// Some megabytes that nothing shrinks.
fn write_some(site: &Site, dataset: &str) {
    let at = site.scratch.text("some");
    site.here.zfs(&format!("set mountpoint={at} {dataset}")).done();
    site.here.zfs(&format!("set sharenfs=rw,no_root_squash,insecure {dataset}")).done();
    let client = crate::libnfs::Client::mount(&site.here, &at).expect("mounted");
    let mut random = stdx::prng::Prng::new(5);
    let mut bytes = vec![0; 8 << 20];
    random.fill(&mut bytes);
    client.write_file("/some", 0o644, &bytes).expect("written");
}

fn auto_snapshots(site: &mut Site) {
    site.here.zfs("set com.sun:auto-snapshot=false tank/data").done();
    for _ in 0..5 {
        let ran = site.run("zfs-auto-snapshot", "--quiet --syslog --label=hourly --keep=3 //");
        assert!(ran.status == 0 && ran.err.is_empty(), "{ran:?}");
        site.wait_an_hour();
    }
    let names = site.snapshots(&site.here, "tank/auto");
    let kept = names.iter().filter(|name| name.starts_with("zfs-auto-snap_hourly-")).count();
    assert_eq!(kept, 3, "{names:?}");
    assert!(!site.snapshots(&site.here, "tank/data").iter().any(|name| name.starts_with("zfs-auto")));
}
