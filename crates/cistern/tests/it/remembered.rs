//! Pools that the daemon imports again when it starts: a kill between what was done to one and what
//! is written down of it, and disks that are gone, leave no pool away and no alert for ever.

use std::fs;

use crate::alerts::{QUICK, check, open};
use crate::daemon::{Daemon, Scratch};
use crate::suspended::until;
use crate::zdb::stop_and_check;

/// Kinds and subjects of what is open, after all checks looked anew.
fn alerts(daemon: &Daemon) -> Vec<(String, String)> {
    let last = || check(daemon, "pools")["last"].as_i64();
    let before = last();
    until("somebody looked", || last() > before);
    open(daemon)
}

fn list(daemon: &Daemon) -> String {
    fs::read_to_string(daemon.state.join("pools")).expect("it is there")
}

fn pools(daemon: &Daemon) -> String {
    daemon.zpool("list -H -o name").done()
}

#[test]
fn a_destruction_that_was_not_written_down_leaves_nothing_to_ask_for() {
    let scratch = Scratch::new("remembered-destroyed");
    let mut daemon = Daemon::start_with(&scratch, "state", &QUICK);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zpool(&format!("create -m none old {b}")).done();
    let before = list(&daemon);
    daemon.zpool("destroy old").done();
    daemon.kill();
    fs::write(daemon.state.join("pools"), before).expect("written");

    daemon.begin();
    assert_eq!(pools(&daemon), "tank\n");
    assert_eq!(list(&daemon).lines().count(), 1, "it is forgotten: {}", list(&daemon));
    assert_eq!(alerts(&daemon), []);

    // What has its name and its disk now is another.
    daemon.zpool(&format!("create -f -m none old {b}")).done();
    daemon.kill();
    daemon.begin();
    assert_eq!(pools(&daemon), "old\ntank\n");
    stop_and_check(&mut daemon, &scratch.path("disks"), "old");
}

#[test]
fn a_pool_whose_disk_is_gone_is_told_until_it_is_exported_or_another_has_its_name() {
    let scratch = Scratch::new("remembered-gone");
    let mut daemon = Daemon::start_with(&scratch, "state", &QUICK);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    daemon.zpool(&format!("create -m none tank {a}")).done();
    for round in 0..2 {
        daemon.zpool(&format!("create -f -m none old {b}")).done();
        daemon.kill();
        scratch.put_away(&["b"]);
        daemon.begin();
        assert_eq!(pools(&daemon), "tank\n");
        assert_eq!(list(&daemon).lines().count(), 2, "it is still to come: {}", list(&daemon));
        assert_eq!(alerts(&daemon), [("pool-absent".to_owned(), "old".to_owned())]);
        if round == 1 {
            break;
        }
        // As the alert says.
        daemon.zpool("export old").done();
        assert_eq!(list(&daemon).lines().count(), 1, "{}", list(&daemon));
        assert_eq!(daemon.zpool("export old").err, "cannot open 'old': no such pool\n");
        until("the alert is over", || open(&daemon).is_empty());
        scratch.bring_back(&["b"]);
    }
    let c = scratch.image("c", 128);
    daemon.zpool(&format!("create -m none old {c}")).done();
    assert_eq!(list(&daemon).lines().count(), 2, "{}", list(&daemon));
    scratch.bring_back(&["b"]);
    let guid = |daemon: &Daemon| daemon.zpool("get -H -o value guid old").done();
    let made = guid(&daemon);
    daemon.kill();
    daemon.begin();
    assert_eq!(pools(&daemon), "old\ntank\n");
    assert_eq!(guid(&daemon), made, "the one that was imported last");
    assert_eq!(alerts(&daemon), []);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
