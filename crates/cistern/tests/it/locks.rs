//! Snapshots that are locked until a time: every way to be rid of them is tried, by everybody, over
//! every door, and after an import and a kill.

use std::fs;

use serde_json::json;

use crate::daemon::{Daemon, Ran, Scratch};
use crate::delegation::{JOE, command_as, run_as};
use crate::suspended::until;
use crate::zdb::stop_and_check;

const PREFIX: &str = "org.cistern:locked-until:";

/// A pool with `tank/a`, which has a locked snapshot `locked` between two others.
fn pool(scratch: &Scratch) -> Daemon {
    let daemon = Daemon::start(scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create tank/a").done();
    for name in ["before", "locked", "after"] {
        daemon.zfs(&format!("snapshot tank/a@{name}")).done();
    }
    daemon
}

fn lock(daemon: &Daemon, snapshot: &str, until: &str) -> Ran {
    daemon.run(&["snapshot", "lock", snapshot, "--until", until])
}

fn tags(daemon: &Daemon, snapshot: &str) -> Vec<String> {
    let listed = daemon.zfs(&format!("holds -H {snapshot}")).done();
    listed.lines().map(|line| line.split('\t').nth(1).expect("a tag").to_owned()).collect()
}

fn is_there(daemon: &Daemon, snapshot: &str) -> bool {
    daemon.zfs(&format!("list -H -o name {snapshot}")).status == 0
}

/// Tries all that an administrator can to be rid of `tank/a@locked`.
#[track_caller]
fn try_all(daemon: &Daemon, scratch: &Scratch) {
    let tag = tags(daemon, "tank/a@locked").into_iter().find(|tag| tag.starts_with(PREFIX)).expect("a lock");
    let refused = |ran: Ran, why: &str| {
        assert!(ran.status != 0 && ran.err.contains(why), "{ran:?}");
        assert!(is_there(daemon, "tank/a@locked"));
    };
    refused(daemon.zfs(&format!("release {tag} tank/a@locked")), "it is locked until");
    refused(daemon.zfs(&format!("release -r {tag} tank/a@locked")), "it is locked until");
    refused(daemon.zfs("destroy tank/a@locked"), "it's being held");
    refused(daemon.zfs("destroy -R tank/a@locked"), "it's being held");
    refused(daemon.zfs("destroy tank/a@before%after"), "it's being held");
    refused(daemon.zfs("destroy -r tank/a"), "it's being held");
    refused(daemon.zfs("destroy -R tank/a"), "it's being held");
    refused(daemon.zfs("destroy -f -r tank/a"), "it's being held");
    refused(daemon.zpool("destroy tank"), "'tank/a@locked' is locked until");
    refused(daemon.zpool("destroy -f tank"), "'tank/a@locked' is locked until");
    refused(daemon.zfs("rollback -R tank/a@before"), "it's being held");
    // A full stream, and one that would have to go back behind the lock.
    let stream = scratch.path("stream");
    let send = |words: &[&str]| {
        let out = daemon.command(&[&["zfs", "send"], words].concat()).output().expect("run");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        fs::write(&stream, out.stdout).expect("written");
    };
    let receive = || {
        let mut command = daemon.command(&["zfs", "receive", "-F", "tank/a"]);
        Ran::of(command.stdin(fs::File::open(&stream).expect("opened")))
    };
    send(&["tank/a@before"]);
    assert_ne!(receive().status, 0);
    assert!(is_there(daemon, "tank/a@locked"));
    // Destroyed when the last hold goes, which it does not.
    daemon.zfs("destroy -d tank/a@locked").done();
    assert!(is_there(daemon, "tank/a@locked"));
    // The API has the same answer, whichever route is taken.
    let api = |path: &str, body: serde_json::Value| daemon.ask("POST", path, Some(&body.to_string())).0;
    let holds = json!({"snapshots": ["tank/a@locked"], "tag": tag, "recursive": false, "history": ""});
    assert_eq!(api("/v1/releases", holds), 409);
    assert!(is_there(daemon, "tank/a@locked"));
}

#[test]
fn what_is_locked_outlives_everybody_until_its_time() {
    let scratch = Scratch::new("locks");
    let mut daemon = pool(&scratch);
    let said = lock(&daemon, "tank/a@locked", "30d").done();
    assert!(said.starts_with("locked until 20"), "{said}");
    assert_eq!(tags(&daemon, "tank/a@locked").len(), 1);
    try_all(&daemon, &scratch);

    // It can only be prolonged, and then has one lock still.
    let shorter = lock(&daemon, "tank/a@locked", "29d");
    assert!(shorter.status != 0 && shorter.err.contains("which can only be prolonged"), "{shorter:?}");
    let before = tags(&daemon, "tank/a@locked");
    lock(&daemon, "tank/a@locked", "31d").done();
    let after = tags(&daemon, "tank/a@locked");
    assert!(after.len() == 1 && after > before, "{after:?}");
    for bad in ["0s", "3654d", "11y", "1999-01-01", "2399-01-01", "soon"] {
        assert_ne!(lock(&daemon, "tank/a@locked", bad).status, 0, "{bad}");
    }

    // Nobody but an administrator locks, whatever is delegated, and a tag by hand is no way around.
    daemon
        .zfs(&format!("allow -u {JOE} hold,release,destroy,mount,snapshot,rollback,promote,rename tank"))
        .done();
    let tag = after[0].clone();
    let other = format!("{PREFIX}2031-01-01T00:00:00Z");
    assert_ne!(run_as(&daemon, JOE, &format!("zfs hold {other} tank/a@after")).status, 0);
    assert_ne!(run_as(&daemon, JOE, &format!("zfs release {tag} tank/a@locked")).status, 0);
    assert_ne!(run_as(&daemon, JOE, "zfs destroy tank/a@locked").status, 0);
    let mut joe = command_as(JOE, None, crate::daemon::PROGRAM);
    let joe = joe.args(["snapshot", "lock", "tank/a@after", "--until", "1d"]);
    assert_ne!(Ran::of(joe.env("CISTERN_SOCKET", daemon.socket())).status, 0);
    assert!(tags(&daemon, "tank/a@after").is_empty());
    for malformed in ["never", "9999-12-30T22:00:00Z", "2031-01-01", "2031-01-01T00:00:00+01:00"] {
        assert_ne!(daemon.zfs(&format!("hold {PREFIX}{malformed} tank/a@after")).status, 0, "{malformed}");
    }
    run_as(&daemon, JOE, "zfs hold mine tank/a@after").done();
    run_as(&daemon, JOE, "zfs release mine tank/a@after").done();

    // It goes along with names: of the snapshot, of the dataset, and to a clone that is promoted.
    daemon.zfs("rename tank/a@locked tank/a@other").done();
    daemon.zfs("rename tank/a tank/b").done();
    daemon.zfs("clone tank/b@after tank/c").done();
    daemon.zfs("promote tank/c").done();
    assert_eq!(tags(&daemon, "tank/c@other"), after);
    assert_ne!(daemon.zfs("destroy -R tank/c").status, 0);
    daemon.zfs("promote tank/b").done();
    daemon.zfs("destroy tank/c").done();
    daemon.zfs("rename tank/b tank/a").done();
    daemon.zfs("rename tank/a@other tank/a@locked").done();

    // Elsewhere, and after a kill.
    daemon.zpool("export tank").done();
    daemon.zpool(&format!("import -d {} tank", scratch.text("disks"))).done();
    try_all(&daemon, &scratch);
    daemon.kill();
    daemon.begin();
    until("the pool", || is_there(&daemon, "tank/a@locked"));
    try_all(&daemon, &scratch);

    // With a checkpoint one could go back behind the lock.
    daemon.zpool("checkpoint tank").done();
    let refused = lock(&daemon, "tank/a@after", "1d");
    assert!(refused.status != 0 && refused.err.contains("checkpoint"), "{refused:?}");
    daemon.zpool("checkpoint -d tank").done();
    // zdb takes what tables of permissions lead to for lost (see the tests of delegation).
    daemon.zfs(&format!("unallow -u {JOE} tank")).done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_lock_whose_time_has_come_holds_nothing() {
    let scratch = Scratch::new("locks-over");
    let daemon = pool(&scratch);
    lock(&daemon, "tank/a@locked", "4s").done();
    assert_ne!(daemon.zfs("destroy tank/a@locked").status, 0);
    until("its time", || daemon.zfs("get -H -o value userrefs tank/a@locked").done().trim() == "0");
    assert_eq!(tags(&daemon, "tank/a@locked").len(), 1, "it is shown all the same");
    daemon.zfs("destroy tank/a@locked").done();
    // Another hold holds beside it.
    lock(&daemon, "tank/a@after", "2s").done();
    daemon.zfs("hold keep tank/a@after").done();
    until("its time", || daemon.zfs("get -H -o value userrefs tank/a@after").done().trim() == "1");
    assert_ne!(daemon.zfs("destroy tank/a@after").status, 0);
    daemon.zfs("release keep tank/a@after").done();
    daemon.zfs("destroy tank/a@after").done();
    daemon.zpool("destroy tank").done();
}
