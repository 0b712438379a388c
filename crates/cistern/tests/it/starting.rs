//! What the daemon says and keeps while it still imports the pools of its last run: one of them
//! lies on a disk that does not answer for a while.

use std::fs;

use crate::daemon::{Daemon, Ran, Scratch, text};
use crate::suspended::until;
use crate::zdb::assert_clean;

const NAMES: &str = "list -H -o name";

#[track_caller]
fn refused(ran: Ran, message: &str) {
    assert_eq!((ran.status, ran.err.trim_end()), (1, message));
}

#[test]
fn a_pool_that_is_still_to_come_is_neither_denied_nor_forgotten() {
    let scratch = Scratch::new("starting");
    // The disk is a file in a file system that another daemon serves, and that one can be stopped.
    let below = Daemon::start_with(&scratch, "below", &[]);
    let (under, at) = (scratch.image_in("under", "under", 512), scratch.path("at"));
    below.zpool(&format!("create -m {} under {under}", text(&at))).done();
    below.zfs("mount under").done();
    let slow = at.join("slow");
    fs::File::create(&slow).and_then(|file| file.set_len(256 << 20)).expect("made");

    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    daemon.zpool(&format!("create -m none quick {a}")).done();
    daemon.zpool(&format!("create -m none hung {}", text(&slow))).done();
    daemon.zfs("create hung/fs").done();
    daemon.stop();
    below.signal("-STOP");

    let banner = daemon.spawn();
    until("the other pool", || daemon.zpool(NAMES).out == "quick\n");
    let coming = "pool is being imported, try again later";
    refused(daemon.zpool("list hung"), &format!("cannot open 'hung': {coming}"));
    refused(daemon.zpool("status hung"), &format!("cannot open 'hung': {coming}"));
    refused(daemon.zfs("list hung/fs"), &format!("cannot open 'hung/fs': {coming}"));
    refused(daemon.zfs("create hung/new"), &format!("cannot create 'hung/new': {coming}"));
    refused(daemon.zfs("snapshot hung/fs@now"), &format!("cannot open 'hung/fs': {coming}"));
    refused(daemon.zfs("set atime=off hung/fs"), &format!("cannot set property for 'hung/fs': {coming}"));
    refused(daemon.zpool("list nosuch"), "cannot open 'nosuch': no such pool");
    // Who makes a pool meanwhile has the list of pools written.
    daemon.zpool(&format!("create -m none third {b}")).done();
    daemon.kill();
    drop(banner);
    below.signal("-CONT");
    daemon.begin();
    assert_eq!(daemon.zpool(NAMES).done(), "hung\nquick\nthird\n");

    // Who exports one that is still to come does not find it at the next start.
    daemon.stop();
    below.signal("-STOP");
    let banner = daemon.spawn();
    until("the other pool", || daemon.zpool(NAMES).out.starts_with("quick\n"));
    let refusal = "cannot destroy 'hung': pool is being imported";
    refused(daemon.zpool("destroy hung"), refusal);
    let export = daemon.command(&["zpool", "export", "hung"]).spawn().expect("started");
    below.signal("-CONT");
    let exported = export.wait_with_output().expect("it ended").status;
    assert!(exported.success(), "{exported}");
    banner.recv_timeout(crate::daemon::PATIENCE).expect("it has started");
    assert_eq!(daemon.zpool(NAMES).done(), "quick\nthird\n");
    daemon.kill();
    daemon.begin();
    assert_eq!(daemon.zpool(NAMES).done(), "quick\nthird\n");
    // Nor does who destroys one that came with the start.
    daemon.zpool("destroy third").done();
    let list = fs::read_to_string(scratch.path("state/pools")).expect("it is there");
    assert!(list.contains("quick") && !list.contains("third"), "{list}");
    daemon.zpool(&format!("import -d {} hung", text(&at))).done();
    daemon.zpool("export hung").done();
    assert_clean(&at, "hung");
    daemon.stop();
    drop(below);
}
