//! Replication to a host with OpenZFS's commands, by OpenSSH: exact, over kills of either side,
//! full, read-only and absent pools, and hosts that hang, change their key or let nobody in.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::time::{Duration, Instant};

use crate::daemon::{Daemon, Ran, Scratch, program, text};
use crate::failover::synced;
use crate::libnfs::Client;
use crate::replication::{create, noise, own, run, share, snapshots, value};
use crate::services::{shown, state, svc};
use crate::site::{Site, Sources};
use crate::sshd::{Sshd, children};
use crate::suspended::until;

#[test]
fn a_replica_on_another_host_is_exact_and_stays_so() {
    let site = Site::new("ssh", 384, Sources::Here);
    let (here, there) = (&site.here, &site.there);
    here.zfs("create -o compression=lz4 -o exec=off tank/home").done();
    here.zfs("create -s -V 16M tank/home/vol").done();
    // No shell, no option, no pattern: names as they are.
    let odd = "tank/home/-o readonly:off .x";
    here.run(&["zfs", "create", "--", odd]).done();
    let client = share(here, &site.scratch, "tank/home");
    let large = noise(1, 5 << 20);
    client.write_file("/large", 0o640, &large).expect("written");
    let url = here.run(&["volume", "attach", "tank/home/vol"]).done().trim().to_owned();
    let disk = site.scratch.path("disk.raw");
    fs::write(&disk, [noise(2, 3 << 20), vec![0; 13 << 20]].concat()).expect("written");
    Ran::of(program("nbdcopy", 120).args(["--flush"]).arg(&disk).arg(&url)).done();

    site.push("away", "tank/home", "dozer/home", &["--recursive", "--keep", "2"]);
    synced(&site.here, "away", 3);
    let far_odd = odd.replace("tank", "dozer");
    for (of, to) in [("tank/home", "dozer/home"), (odd, far_odd.as_str())] {
        assert_eq!(snapshots(here, of), snapshots(there, to));
        assert_eq!(value(there, "readonly", to), "on");
        assert_eq!(value(there, "canmount", to), "noauto");
        assert_eq!(value(there, "org.cistern:replica", to), format!("away {}", value(here, "guid", of)));
    }
    assert_eq!(value(there, "compression", "dozer/home"), "lz4");
    assert_eq!(value(there, "sharenfs", "dozer/home"), "off");
    assert_eq!(value(there, "exec", "dozer/home"), "on");
    let told = site.show("away");
    assert!(told.contains(&format!("to          {}", site.sshd.url("dozer/home"))), "{told}");

    // What changes follows, and only that is kept which is to be.
    std::thread::sleep(Duration::from_millis(1_100));
    let planned = svc(here, &["plan", "away"]).done();
    assert!(planned.contains(&format!("nothing  {far_odd} has all of {odd}")), "{planned}");
    for turn in 0..3_u8 {
        client.write_file("/turn", 0o600, &[turn; 1_000]).expect("written");
        run(here, "away");
        assert_eq!(state(here, "away"), "online", "{}", site.show("away"));
    }
    assert_eq!((own(here, "tank/home").len(), own(there, "dozer/home").len()), (1, 2));
    assert_eq!(own(here, odd).len(), 1, "what has not changed gets no more");
    let copy = share(there, &site.scratch, "dozer/home");
    assert!(copy.read_file("/large").expect("read") == large);
    assert_eq!(copy.read_file("/turn").expect("read"), [2; 1_000]);
    assert!(copy.write_file("/mine", 0o644, b"mine").is_err(), "a replica refuses writes");
    let url = there.run(&["volume", "attach", "dozer/home/vol"]).done().trim().to_owned();
    Ran::of(program("nbdcopy", 120).arg(&url).arg(site.scratch.path("back.raw"))).done();
    assert!(fs::read(site.scratch.path("back.raw")).expect("read") == fs::read(&disk).expect("read"));

    // What somebody did there is left to a person.
    there.zfs("snapshot dozer/home@mine").done();
    client.write_file("/turn", 0o600, &[9; 1_000]).expect("written");
    run(here, "away");
    assert_eq!(state(here, "away"), "degraded");
    assert!(site.show("away").contains("dozer/home@mine is not of the source"), "{}", site.show("away"));
    there.zfs("destroy dozer/home@mine").done();
    svc(here, &["clear", "away"]).done();
    run(here, "away");
    assert_eq!(copy.read_file("/turn").expect("read"), [9; 1_000]);
    let left = fs::read_dir(site.here.state.join("ssh")).expect("listed").count();
    assert_eq!(left, 3, "the key, its public half and the hosts' keys, and no socket");
    drop((client, copy));
    site.stop();
}

#[test]
fn what_breaks_off_on_the_way_to_a_host_goes_on() {
    let mut site = Site::new("ssh-breaks", 768, Sources::Here);
    let here = &site.here;
    here.zfs("create tank/a").done();
    let client = share(here, &site.scratch, "tank/a");
    let part = noise(7, 16 << 20);
    for number in 0..6 {
        client.write_file(&format!("/f{number}"), 0o644, &part[number..]).expect("written");
    }
    // The host dies in the middle of a stream, then this side.
    let is_sending = |daemon: &Daemon| {
        shown(daemon, "s")["sync"]["sending"]["bytes"].as_u64().is_some_and(|bytes| bytes > 24 << 20)
    };
    site.push("s", "tank/a", "dozer/a", &[]);
    until("a stream", || is_sending(&site.here));
    site.sshd.kill();
    until("the end of the run", || state(&site.here, "s") == "degraded");
    assert!(site.show("s").contains("cannot be reached"), "{}", site.show("s"));
    let token = || value(&site.there, "receive_resume_token", "dozer/a");
    until("it keeps what it has", || token().starts_with("1-"));
    site.sshd.begin();
    svc(&site.here, &["run", "s"]).done();
    until("a stream again", || is_sending(&site.here) || state(&site.here, "s") == "online");
    site.here.kill();
    site.here.begin();
    svc(&site.here, &["run", "s"]);
    synced(&site.here, "s", 1);
    let (here, there) = (&site.here, &site.there);
    assert_eq!(own(here, "tank/a").last(), own(there, "dozer/a").last());
    let copy = share(there, &site.scratch, "dozer/a");
    for number in 0..6 {
        assert!(copy.read_file(&format!("/f{number}")).expect("read") == part[number..], "{number}");
    }
    drop((client, copy));

    // The pool there is away, read-only, and full: one snapshot waits, and gets there in the end.
    let write = |bytes: &[u8]| {
        let client = Client::mount(here, &site.scratch.text("tank-a")).expect("mounted");
        client.write_file("/last", 0o644, bytes).expect("written");
    };
    let fails = |why: &str| {
        for turn in 0..2 {
            write(&[turn; 100]);
            run(here, "s");
            assert_eq!(state(here, "s"), "degraded", "{}", site.show("s"));
            assert!(site.show("s").contains(why), "{why}: {}", site.show("s"));
            assert!(own(here, "tank/a").len() <= 2, "the base, and one that waits");
        }
    };
    there.zpool("export dozer").done();
    fails("has no pool 'dozer' now");
    there.zpool(&format!("import -d {} -o readonly=on dozer", site.scratch.text("two"))).done();
    fails("did not do it");
    there.zpool("export dozer").done();
    there.zpool(&format!("import -d {} dozer", site.scratch.text("two"))).done();
    run(here, "s");
    assert_eq!(state(here, "s"), "online", "{}", site.show("s"));
    there.zfs("set quota=110M dozer/a").done();
    write(&noise(9, 32 << 20));
    for _ in 0..2 {
        run(here, "s");
        assert_eq!((state(here, "s").as_str(), own(here, "tank/a").len()), ("degraded", 2));
    }
    there.zfs("set quota=none dozer/a").done();
    run(here, "s");
    assert_eq!((state(here, "s").as_str(), own(here, "tank/a").len()), ("online", 1), "{}", site.show("s"));
    assert_eq!(own(there, "dozer/a").last(), own(here, "tank/a").last());
    site.stop();
}

#[test]
fn a_daemon_without_privileges_has_a_key_of_its_own() {
    const NOBODY: u32 = 65_534;
    let scratch = Scratch::new("ssh-nobody");
    let mut here = Daemon::start_as(&scratch, NOBODY, &[]);
    let mut there = Daemon::start_with(&scratch, "there", &[]);
    let sshd = Sshd::start(&scratch, &there);
    let image = scratch.image_in("one", "a", 128);
    chown(&image, Some(NOBODY), Some(NOBODY)).expect("root may");
    here.zpool(&format!("create -m none -O canmount=off tank {image}")).done();
    there.zpool(&format!("create -m none dozer {}", scratch.image_in("two", "b", 128))).done();
    here.zfs("create -V 16M tank/vol").done();
    create(&here, "s", "tank/vol", &sshd.url("dozer/vol"), &[]);
    until("it waits for a person", || state(&here, "s") == "maintenance");
    let folder = here.state.join("ssh");
    let key = fs::read_to_string(folder.join("id_ed25519.pub")).expect("it has made one");
    let told = svc(&here, &["show", "s"]).done();
    assert!(told.contains(key.trim()), "{told}\n{key}");
    let mode = fs::metadata(folder.join("id_ed25519")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    sshd.authorize(key.trim());
    svc(&here, &["clear", "s"]).done();
    until("the replica", || own(&there, "dozer/vol") == own(&here, "tank/vol"));
    until("the end of the run", || state(&here, "s") == "online");
    // Where the login is no shell, it says so.
    let url = sshd.url("dozer/other").replace("root@", "nobody@");
    create(&here, "n", "tank/vol", &url, &[]);
    until("it has failed", || state(&here, "n") == "degraded");
    let told = svc(&here, &["show", "n"]).done();
    assert!(told.contains("This account is currently not available"), "{told}");
    here.stop();
    there.stop();
}

#[test]
fn a_host_that_is_another_or_hangs_holds_nobody_up() {
    let mut site = Site::new("ssh-hostile", 192, Sources::Here);
    site.here.zfs("create tank/a").done();
    site.here.zfs("create -o quota=1G tank/b").done();
    // A host whose key was not noted is not believed, where that is wanted.
    create(&site.here, "k", "tank/b", &site.sshd.url("dozer/b"), &["--host-key", "known"]);
    until("it waits for a person", || state(&site.here, "k") == "maintenance");
    let told = site.show("k");
    assert!(told.contains("does not show the key that") && told.contains("host key is known for"), "{told}");
    site.push("s", "tank/a", "dozer/a", &[]);
    synced(&site.here, "s", 1);

    // It has another key: whoever it is gets nothing.
    site.sshd.kill();
    site.sshd.change_host_key();
    site.sshd.begin();
    run(&site.here, "s");
    assert_eq!(state(&site.here, "s"), "maintenance");
    let told = site.show("s");
    assert!(told.contains("does not show the key that"), "{told}");
    let known = site.here.state.join("ssh/known_hosts");
    assert!(told.contains(&text(&known)), "{told}");
    fs::remove_file(known).expect("it is there");
    svc(&site.here, &["clear", "s"]).done();
    run(&site.here, "s");
    assert_eq!(state(&site.here, "s"), "online", "{}", site.show("s"));

    // No zfs there, a login that says much and ends, a host that answers what it likes.
    let bin = site.scratch.path("sshd/bin/zfs");
    let program = fs::read_link(&bin).expect("a link");
    let say = |script: &str| {
        drop(fs::remove_file(&bin));
        fs::write(&bin, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&bin, PermissionsExt::from_mode(0o755)).expect("set");
    };
    let client = share(&site.here, &site.scratch, "tank/a");
    let fails = |wanted: &str, why: &str| {
        client.write_file("/f", 0o644, why.as_bytes()).expect("written");
        match state(&site.here, "s").as_str() {
            // Then it looks by itself.
            "maintenance" => drop(svc(&site.here, &["clear", "s"]).done()),
            _ => run(&site.here, "s"),
        }
        until(why, || site.show("s").lines().any(|line| line.starts_with("cause") && line.contains(why)));
        assert_eq!(state(&site.here, "s"), wanted, "{}", site.show("s"));
    };
    say("echo hello");
    fails("degraded", "answers what 'zfs' does not: hello");
    say("yes 'dozer/a\treadonly\ton\tlocal' | head -c 80000000");
    fails("degraded", "too much");
    say("yes error | head -c 3000000 >&2; exit 1");
    fails("degraded", "did not do it: error; error");
    say("echo \"cannot open 'dozer': permission denied\" >&2; exit 1");
    fails("maintenance", "'zfs allow' there");
    say("exit 127");
    fails("maintenance", "has no command 'zfs'");
    say(&format!("exec {} zfs \"$@\"", program.display()));
    svc(&site.here, &["clear", "s"]).done();
    until("it goes on", || own(&site.there, "dozer/a").last() == own(&site.here, "tank/a").last());
    until("the end of the run", || state(&site.here, "s") == "online");

    // A stream that nobody takes is broken off, and so is an ssh that hangs: by who wants it.
    svc(&site.here, &["set", "s", "--stuck-after", "10s"]).done();
    say(&format!("case $1 in receive) exec sleep 60 ;; esac; exec {} zfs \"$@\"", program.display()));
    client.write_file("/g", 0o644, &noise(3, 20 << 20)).expect("written");
    until("a session", || state(&site.here, "s") != "running");
    fails("degraded", "no byte moved for 10 seconds");
    let wrapper = site.scratch.path("bin/ssh");
    fs::write(&wrapper, "#!/bin/sh\nsleep 1000\n").expect("written");
    fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o755)).expect("set");
    svc(&site.here, &["run", "s"]).done();
    std::thread::sleep(Duration::from_secs(2));
    let began = Instant::now();
    svc(&site.here, &["disable", "s"]).done();
    until("the end of ssh", || children(site.here.pid()).is_empty());
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    fs::remove_file(&wrapper).expect("removed");
    say(&format!("exec {} zfs \"$@\"", program.display()));
    svc(&site.here, &["enable", "s"]).done();
    svc(&site.here, &["run", "s"]);
    until("the replica", || own(&site.there, "dozer/a").last() == own(&site.here, "tank/a").last());
    until("the end of the run", || state(&site.here, "s") == "online");
    drop(client);
    site.stop();
}
