//! `make run` on a fresh machine, and again.

use std::time::Duration;

use crate::daemon::{Daemon, Scratch, say};
use crate::libnfs::Client;
use crate::zdb::{assert_clean, stop_and_check};

/// Resident memory that an idle daemon with one pool may have, in KiB.
const IDLE_LIMIT: u64 = 64 << 10;

#[test]
fn the_first_start_makes_a_pool_and_a_share_and_the_next_one_finds_them() {
    let scratch = Scratch::new("first");
    let mut daemon = Daemon::start_with(&scratch, "var", &["--first-start"]);
    let (host, port) = (daemon.host.clone(), daemon.port);
    let share = format!(
        "  share        tank/share as /tank/share\n    mount -t nfs -o vers=3,tcp,nolock,port={port},mountport={port} {host}:/tank/share /mnt\n"
    );
    assert!(daemon.banner.contains(&share), "{}", daemon.banner);
    assert!(daemon.banner.contains("pool         tank (ONLINE"), "{}", daemon.banner);
    let listing = daemon.zpool("list -H -o name,size,health").done();
    assert_eq!(listing, "tank\t15G\tONLINE\n");
    assert_eq!(
        daemon.zfs("list -H -o name,mountpoint,sharenfs").done(),
        "tank\t/tank\toff\ntank/share\t/tank/share\trw,insecure,crossmnt\n"
    );
    // What the mount command would reach; the client's root is nobody here.
    let client = Client::mount(&daemon, "/tank/share").expect("the share mounts");
    client.write_file("hello", 0o644, b"kept").expect("everybody may write");
    drop(client);

    let disks = daemon.state.join("disks");
    daemon.stop();
    assert_clean(&disks, "tank");
    daemon.begin();
    assert!(daemon.banner.contains(&share), "{}", daemon.banner);
    let client = Client::mount(&daemon, "/tank/share").expect("the share mounts again");
    assert_eq!(client.read_file("hello").expect("kept"), b"kept");
    drop(client);
    stop_and_check(&mut daemon, &disks, "tank");
}

#[test]
fn an_idle_daemon_is_small() {
    let scratch = Scratch::new("idle");
    let mut daemon = Daemon::start_with(&scratch, "var", &["--first-start"]);
    // Past the first transaction groups, which come every five seconds.
    std::thread::sleep(Duration::from_secs(11));
    let first = daemon.resident();
    daemon.stop();
    daemon.begin();
    std::thread::sleep(Duration::from_secs(6));
    let again = daemon.resident();
    say(&format!("idle daemon: {first} KiB resident after the first start, {again} KiB after the second"));
    assert!(first < IDLE_LIMIT && again < IDLE_LIMIT, "{first} KiB, {again} KiB");
    let disks = daemon.state.join("disks");
    stop_and_check(&mut daemon, &disks, "tank");
}
