//! kill -9 of the daemon while its clients live: what they were told over iSCSI and NBD is there,
//! though nobody flushed it and nobody sends it again.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Stdio};

use crate::daemon::{Daemon, Ran, Scratch, program};
use crate::iscsi::portal;
use crate::zdb::stop_and_check;

/// qemu-io. Whatever it writes is flushed when it ends.
fn io(commands: &[&str], url: &str) {
    let words = commands.iter().flat_map(|command| ["-c", command]);
    Ran::of(program("qemu-io", 60).args(["-f", "raw"]).args(words).arg(url)).done();
}

/// qemu-io, which has been told that all this is written, has not flushed it, and is there still.
struct Client(Child);

impl Client {
    fn write(commands: &[&str], url: &str) -> Client {
        let mut command = program("qemu-io", 60);
        command.args(["-t", "unsafe", "-f", "raw", url]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("qemu-io is needed for this test");
        let mut say = child.stdin.take().expect("piped");
        let mut out = child.stdout.take().expect("piped");
        let (mut said, mut piece) = (String::new(), [0; 4096]);
        for (number, command) in (1..).zip(commands) {
            writeln!(say, "{command}").expect("it listens");
            while said.matches("wrote").count() < number {
                let len = out.read(&mut piece).expect("it says something");
                assert!(len > 0, "qemu-io has ended: {said}");
                said += &String::from_utf8_lossy(&piece[..len]);
            }
        }
        child.stdin = Some(say);
        Client(child)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Files in memory that a daemon of this state folder has.
fn kept(daemon: &Daemon) -> usize {
    let names = fs::read_dir(&daemon.state).expect("its folder").flatten();
    names.filter(|entry| entry.file_name().to_string_lossy().starts_with("cistern-")).count()
}

#[test]
fn what_nobody_flushed_survives_kill_9() {
    let scratch = Scratch::new("kept");
    let mut daemon = Daemon::start_with(&scratch, "state", &["--iscsi", "127.0.0.1:0"]);
    let (a, b) = (scratch.image("a", 512), scratch.image("b", 512));
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zpool(&format!("create -m none other {b}")).done();
    daemon.zfs("create -s -V 64M -o shareiscsi=on tank/v").done();
    daemon.zfs("create -s -V 64M other/w").done();
    let iscsi = |daemon: &Daemon| format!("iscsi://{}/iqn.2026-01.org.cistern:tank:v/0", portal(daemon));
    let nbd = |daemon: &Daemon| daemon.run(&["volume", "attach", "other/w"]).done().trim().to_owned();
    for round in 1..=3 {
        let (now, then) = (round.to_string(), (round + 100).to_string());
        let clients = [iscsi(&daemon), nbd(&daemon)].map(|url| {
            let large = format!("write -P {now} {round}M 3M");
            let small = format!("write -P {then} {}k 4k", 1024 * round + 64);
            let hole = format!("write -z {}k 128k", 1024 * round + 256);
            Client::write(&[&large, &small, &hole], &url)
        });
        daemon.kill();
        drop(clients);
        assert_eq!(kept(&daemon), 1);
        daemon.begin();
        for url in [iscsi(&daemon), nbd(&daemon)] {
            let at = 1024 * round;
            let reads = [
                format!("read -P {now} {at}k 64k"),
                format!("read -P {then} {}k 4k", at + 64),
                format!("read -P {now} {}k 188k", at + 68),
                format!("read -P 0 {}k 128k", at + 256),
                format!("read -P {now} {}k 2688k", at + 384),
            ];
            io(&reads.each_ref().map(|read| &**read), &url);
        }
    }
    assert!(daemon.log().contains("has been done again"), "{}", daemon.log());
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
    assert_eq!(kept(&daemon), 0, "a clean stop leaves nothing in memory");
}

/// Another host has the pool meanwhile: what it did stays.
#[test]
fn a_pool_that_was_elsewhere_meanwhile_stays_as_it_came_back() {
    let scratch = Scratch::new("kept-elsewhere");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create -s -V 64M tank/v").done();
    let nbd = |daemon: &Daemon| daemon.run(&["volume", "attach", "tank/v"]).done().trim().to_owned();
    io(&["write -P 1 0 64k"], &nbd(&daemon));
    daemon.zpool("sync").done();
    let client = Client::write(&["write -P 2 0 64k"], &nbd(&daemon));
    daemon.kill();
    drop(client);

    let mut elsewhere = Daemon::start_with(&scratch, "elsewhere", &[]);
    elsewhere.zpool(&format!("import -f -d {} tank", scratch.path("disks").display())).done();
    io(&["read -P 1 0 64k", "write -P 3 64k 64k"], &nbd(&elsewhere));
    elsewhere.zpool("export tank").done();
    elsewhere.stop();

    daemon.begin();
    if daemon.zpool("list tank").status != 0 {
        daemon.zpool(&format!("import -f -d {} tank", scratch.path("disks").display())).done();
    }
    io(&["read -P 1 0 64k", "read -P 3 64k 64k"], &nbd(&daemon));
    assert!(daemon.log().contains("changed elsewhere"), "{}", daemon.log());
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
