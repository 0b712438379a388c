//! Who sees which volume as which unit, while volumes are made by the hundred, grow, fill their
//! pool, are promoted, move to another machine and are replicated.

use std::fs::File;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use load::{Initiator, Unit};
use stdx::prng::Prng;

use crate::daemon::{Daemon, Ran, Scratch, program, say, timed};
use crate::iscsi::{LISTEN, portal};
use crate::zdb::stop_and_check;

const MIB: u64 = 1 << 20;
const VOLUMES: usize = 300;
const OPERATORS: usize = 4;

fn unit(daemon: &Daemon, target: &str, lun: u32) -> Unit {
    Unit::parse(&format!("iscsi://{}/{target}/{lun}", portal(daemon))).expect("a place")
}

/// Operators do their share of something with each volume, all at the same time.
fn shared<T: Send>(work: impl Fn(usize) -> T + Sync) -> Vec<(usize, T)> {
    let work = &work;
    thread::scope(|scope| {
        let shares: Vec<_> = (0..OPERATORS)
            .map(|first| (first..VOLUMES).step_by(OPERATORS))
            .map(|share| scope.spawn(move || share.map(|number| (number, work(number))).collect::<Vec<_>>()))
            .collect();
        shares.into_iter().flat_map(|share| share.join().expect("done")).collect()
    })
}

/// As soon as a command says that a volume is made, it can be logged in to; and what discovery
/// finds meanwhile can be too.
#[test]
fn hundreds_of_volumes_are_there_as_soon_as_they_are_made() {
    let scratch = Scratch::new("hundreds");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let a = scratch.image("a", 1024);
    daemon.zpool(&format!("create -m none -O cistern:iscsi=on tank {a}")).done();
    let of =
        |daemon: &Daemon, number: usize| unit(daemon, &format!("iqn.2026-01.org.cistern:tank:v{number}"), 0);
    let (all_made, url) = (AtomicBool::new(false), format!("iscsi://{}", portal(&daemon)));
    let (sessions, looks) = thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut looks = 0;
            while !all_made.load(SeqCst) {
                Ran::of(program("iscsi-ls", 60).args(["-s", &url])).done();
                looks += 1;
            }
            looks
        });
        let sessions = timed(&format!("{VOLUMES} volumes are made and written"), || {
            shared(|number| {
                daemon.zfs(&format!("create -s -V 64M tank/v{number}")).done();
                let unit = of(&daemon, number);
                let mut initiator = Initiator::log_in(&unit).expect("it is there");
                initiator.write(&unit, 0, &[number as u8; 512]).expect("written");
                initiator
            })
        });
        all_made.store(true, SeqCst);
        (sessions, looks.join().expect("nothing that was found was not there"))
    });
    say(&format!("{looks} discoveries meanwhile, {} KiB resident", daemon.resident()));
    let listed = Ran::of(program("iscsi-ls", 60).arg(&url)).done();
    assert_eq!(listed.lines().filter(|line| line.contains("Target:")).count(), VOLUMES);
    for (number, mut initiator) in sessions {
        let read = initiator.read(&of(&daemon, number), 0, 512).expect("its session lives");
        assert_eq!(read, [number as u8; 512]);
    }
    daemon.stop();
    daemon.begin();
    timed("all log in again after a restart", || {
        shared(|number| {
            let unit = of(&daemon, number);
            let read = Initiator::log_in(&unit).and_then(|mut initiator| initiator.read(&unit, 0, 512));
            assert_eq!(read.expect("it is there"), [number as u8; 512]);
        })
    });
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

const TARGET: &str = "iqn.2026-01.org.example:vms";

/// What a unit says that it is, and what its first block is full of.
fn seen(daemon: &Daemon, lun: u32) -> (Vec<u8>, u8) {
    let unit = unit(daemon, TARGET, lun);
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    let page = initiator.call(&unit, &[0x12, 1, 0x83, 0, 255, 0], &[], 255).expect("its names");
    let data = initiator.read(&unit, 0, 512).expect("read");
    assert!(data.iter().all(|byte| *byte == data[0]));
    (page, data[0])
}

fn mark(daemon: &Daemon, lun: u32, byte: u8) {
    let unit = unit(daemon, TARGET, lun);
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    initiator.write(&unit, 0, &[byte; 512]).expect("written");
    initiator.flush(&unit).expect("flushed");
}

#[test]
fn views_go_where_their_volumes_go() {
    let scratch = Scratch::new("views");
    let mut first = Daemon::start_with(&scratch, "first", &LISTEN);
    let disk = scratch.image_in("tank", "a", 512);
    first.zpool(&format!("create -m none tank {disk}")).done();
    first.zfs("create -s -V 64M tank/v").done();
    first.run(&["iscsi", "map", "tank/v", "-t", TARGET, "-l", "3"]).done();
    mark(&first, 3, 7);
    first.zfs("snapshot tank/v@s").done();
    first.zfs(&format!("clone -o cistern:iscsi=target={TARGET},lun=4 tank/v@s tank/w")).done();
    mark(&first, 4, 8);
    let before = (seen(&first, 3), seen(&first, 4));
    assert_eq!((before.0.1, before.1.1), (7, 8));
    assert_ne!(before.0.0, before.1.0, "they are two units");
    let as_before = |daemon: &Daemon, when: &str| {
        assert_eq!((seen(daemon, 3), seen(daemon, 4)), before, "{when}");
    };
    first.zfs("promote tank/w").done();
    as_before(&first, "promoted");

    first.zpool("export tank").done();
    first.stop();
    let mut second = Daemon::start_with(&scratch, "second", &LISTEN);
    second.zpool(&format!("import -d {} tank", scratch.path("tank").display())).done();
    as_before(&second, "on another machine");

    // A replica says of itself what its original says, and waits until that is gone; its name would
    // come first.
    let disk = scratch.image_in("backup", "b", 512);
    second.zpool(&format!("create -m none backup {disk}")).done();
    second.zfs("snapshot -r tank@r").done();
    // Ages are kept in seconds.
    thread::sleep(Duration::from_secs(1));
    let stream = scratch.path("stream");
    let mut send = second.command(&["zfs", "send", "-R", "tank@r"]);
    send.stdout(File::create_new(&stream).expect("a file")).stderr(Stdio::inherit());
    assert!(send.status().expect("it runs").success());
    let mut receive = second.command(&["zfs", "receive", "-u", "backup/tank"]);
    Ran::of(receive.stdin(File::open(&stream).expect("sent"))).done();
    let shares = second.run(&["iscsi", "list"]).done();
    assert_eq!(shares.matches(&format!("target={TARGET},lun=3")).count(), 2, "{shares}");
    as_before(&second, "beside its replica");
    second.stop();
    second.begin();
    as_before(&second, "beside its replica, after a restart");
    second.zpool("export tank").done();
    let replica = (seen(&second, 3), seen(&second, 4));
    assert_eq!((replica.0.1, replica.1.1), (7, 8));
    assert_ne!(replica.0.0, before.0.0, "no initiator takes it for the original");
    second.zpool(&format!("import -d {} tank", scratch.path("tank").display())).done();
    assert_eq!((seen(&second, 3), seen(&second, 4)), replica, "who is served stays");
    second.zpool("export backup").done();
    as_before(&second, "without its replica");
    stop_and_check(&mut second, &scratch.path("tank"), "tank");
}

/// What a command is refused with: sense key and code.
#[track_caller]
fn refused(said: Result<(), load::Fail>, sense: &str) {
    let said = said.expect_err("there is something to tell").to_string();
    assert!(said.ends_with(sense), "{said}");
}

#[test]
fn a_unit_grows_while_it_is_used_and_says_when_its_pool_is_full() {
    const PART: u64 = 64 << 10;
    const WARNING: &str = "sense Some(06) Some([38, 07])";
    let scratch = Scratch::new("full");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let a = scratch.image("a", 384);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create -s -V 64M -o cistern:iscsi=on tank/v").done();
    let unit = unit(&daemon, "iqn.2026-01.org.cistern:tank:v", 0);
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    assert_eq!(initiator.size(&unit).expect("its size"), 64 * MIB);
    daemon.zfs("set volsize=4G tank/v").done();
    refused(initiator.write(&unit, 0, &[1; 512]), "sense Some(06) Some([2a, 09])");
    assert_eq!(initiator.size(&unit).expect("its size"), 4096 * MIB);

    let (mut random, mut data) = (Prng::new(7), vec![0; PART as usize]);
    let (mut at, mut warned, mut full) = (0, None, None);
    while full.is_none() {
        random.fill(&mut data);
        match initiator.write(&unit, at, &data).map_err(|error| error.to_string()) {
            Ok(()) => at += PART,
            Err(told) if told.ends_with(WARNING) => assert_eq!(warned.replace(at), None, "once is enough"),
            Err(told) => full = Some(told),
        }
    }
    let full = full.expect("it is");
    assert!(full.ends_with("sense Some(07) Some([27, 07])"), "{full}");
    let warned = warned.expect("a warning comes before");
    say(&format!("warned at {} MiB, full at {} MiB", warned / MIB, at / MIB));
    assert!(warned > at / 2, "a warning at {warned} of {at} is no news");
    refused(initiator.write(&unit, at, &data), "sense Some(07) Some([27, 07])");
    // Whoever frees something goes on.
    initiator.unmap(&unit, 0, at / 2).expect("unmapped");
    daemon.zpool("sync").done();
    initiator.write(&unit, at, &data).expect("there is space again");
    initiator.flush(&unit).expect("flushed");
    assert_eq!(initiator.read(&unit, at, PART as usize).expect("read"), data);
    drop(initiator);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
