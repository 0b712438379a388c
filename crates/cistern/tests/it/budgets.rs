//! What automatic snapshots do where space is short: they are thinned to their budget, the oldest
//! first, and a dataset that is full is left as it is, with the reason shown.

use std::path::Path;

use crate::daemon::{Daemon, Ran, Scratch};
use crate::libnfs::Client;
use crate::services;
use crate::suspended::until;
use crate::zdb::stop_and_check;

const MIB: u64 = 1 << 20;
/// What is overwritten after each snapshot.
const FILE: u64 = 16 * MIB;
const SNAPSHOTS: u64 = 5;
/// Room for what two of them hold alone, and no more.
const BUDGET: u64 = 36 * MIB;

fn svc(daemon: &Daemon, line: &str) -> Ran {
    services::svc(daemon, &line.split(' ').collect::<Vec<_>>())
}

fn number(daemon: &Daemon, property: &str) -> u64 {
    daemon.zfs(&format!("get -H -p -o value {property} tank/d")).done().trim().parse().expect("a number")
}

/// Levels of the snapshots that are there, the oldest first.
fn levels(daemon: &Daemon) -> Vec<String> {
    let listed = daemon.zfs("list -H -o org.cistern:service -s createtxg -t snapshot -d 1 tank/d").done();
    listed.lines().map(|stamp| stamp.split(' ').nth(1).expect("a level").to_owned()).collect()
}

fn write(client: &Client, path: &str, seed: u64) -> Result<(), String> {
    let mut bytes = vec![0; FILE as usize];
    stdx::prng::Prng::new(seed).fill(&mut bytes);
    client.write_file(path, 0o644, &bytes).map_err(|error| error.to_string())
}

#[test]
fn snapshots_are_thinned_to_their_space_and_a_full_dataset_says_why_it_has_no_more() {
    let scratch = Scratch::new("budgets");
    let mut daemon = Daemon::start(&scratch);
    let image = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {image}")).done();
    let at = scratch.text("mnt");
    let share = "sharenfs=rw,no_root_squash,insecure";
    daemon.zfs(&format!("create -o compression=off -o mountpoint={at} -o {share} tank/d")).done();
    let client = Client::mount(&daemon, &at).expect("mounted");

    svc(&daemon, "create auto-snap s --target tank/d --level l0:yearly=1").done();
    for turn in 0..SNAPSHOTS {
        svc(&daemon, &format!("set s --level l{turn}:yearly=1")).done();
        until("its snapshot", || levels(&daemon).len() as u64 == turn + 1);
        write(&client, "/file", turn).expect("written");
    }
    daemon.zpool("sync tank").done();
    let held = number(&daemon, "usedbysnapshots");
    assert!(held >= (SNAPSHOTS - 1) * FILE, "{held}");

    // Those of levels that are no more would stay; there is no room for all of them.
    svc(&daemon, &format!("set s --budget {BUDGET}")).done();
    until("it holds", || {
        svc(&daemon, "run s");
        number(&daemon, "usedbysnapshots") <= BUDGET
    });
    assert_eq!(levels(&daemon), ["l3", "l4"], "the oldest went, and no more than had to");
    read_back(&daemon, &client, &at);

    // The dataset is full.
    daemon.zfs(&format!("set quota={} tank/d", number(&daemon, "used") + MIB / 2)).done();
    until("the space is gone", || number(&daemon, "available") < MIB);
    assert!(write(&client, "/more", 9).is_err(), "there is no room");
    svc(&daemon, "set s --level l4:yearly=1 --level more:yearly=1").done();
    until("why not", || svc(&daemon, "plan s").done().contains("there is no space"));
    svc(&daemon, "run s").done();
    assert_eq!(levels(&daemon), ["l3", "l4"], "what is there stays");
    daemon.zfs("set quota=none tank/d").done();
    until("it goes on", || {
        svc(&daemon, "run s");
        levels(&daemon).last().is_some_and(|level| level == "more")
    });
    drop(client);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// The newest snapshot has what was there when it was made.
fn read_back(daemon: &Daemon, client: &Client, at: &str) {
    let newest = daemon.zfs("list -H -o name -s createtxg -t snapshot -d 1 tank/d").done();
    let name = newest.lines().last().and_then(|name| name.split('@').nth(1)).expect("a snapshot");
    let mut expected = vec![0; FILE as usize];
    stdx::prng::Prng::new(SNAPSHOTS - 2).fill(&mut expected);
    let path = format!("/.zfs/snapshot/{name}/file");
    let read = client.read_file(&path).expect("read");
    assert!(read == expected, "{} is another one", Path::new(at).join(path).display());
}
