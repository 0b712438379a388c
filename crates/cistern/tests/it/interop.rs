//! The tools of others at both ends of a line: syncoid, bzfs and plain `zfs send | ssh host zfs
//! receive`, by OpenSSH, to us and from us, full, incremental and resumed. And what auto-sync
//! sends, judged by OpenZFS's `zstream`.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::daemon::{Daemon, PROGRAM, Ran, Scratch, program, text};
use crate::libnfs::Client;
use crate::replication::{create, noise, own, run, share};
use crate::services::{shown, state, svc};
use crate::sshd::Sshd;
use crate::suspended::until;
use crate::zdb::assert_clean;

/// Where bzfs is installed by `scripts/setup test`.
const PYTHON_TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/python/bin");

/// Two appliances, each a host with `zfs` for programs; to the second one leads an sshd.
struct Site {
    scratch: Scratch,
    here: Daemon,
    there: Daemon,
    sshd: Sshd,
    /// A file of `ssh`'s configuration for the programs.
    config: String,
}

impl Site {
    fn new(name: &str) -> Site {
        let scratch = Scratch::new(name);
        let here = Daemon::start_with(&scratch, "here", &[]);
        let there = Daemon::start_with(&scratch, "there", &[]);
        let sshd = Sshd::start(&scratch, &there);
        here.zpool(&format!("create -m none -O atime=off tank {}", scratch.image_in("one", "a", 512))).done();
        there
            .zpool(&format!("create -m none -O atime=off dozer {}", scratch.image_in("two", "b", 512)))
            .done();
        let bin = scratch.folder("bin");
        for name in ["zfs", "zpool"] {
            symlink(PROGRAM, bin.join(name)).expect("linked");
        }
        // bzfs wants this in the name.
        let config = scratch.path("bzfs_ssh_config");
        fs::write(&config, sshd.client()).expect("written");
        fs::set_permissions(&config, PermissionsExt::from_mode(0o600)).expect("set");
        Site { config: text(&config), scratch, here, there, sshd }
    }

    fn command(&self, line: &str) -> Command {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut command = program(words[0], 120);
        let path = format!("{}:{PYTHON_TOOLS}:/usr/sbin:/usr/bin:/sbin:/bin", self.scratch.text("bin"));
        command.env("PATH", path).env("CISTERN_SOCKET", self.here.socket()).env("TZ", "UTC");
        command.env("HOME", self.scratch.folder("home")).args(&words[1..]);
        command
    }

    /// A shell's, with `$SSH` for the way there.
    fn shell(&self, script: &str) -> Ran {
        let ssh = format!("ssh -F {} {}", self.config, self.sshd.host);
        Ran::of(self.command("sh -c").arg(script).env("SSH", ssh))
    }

    /// Ends a program, with all that it began, as soon as something was received in part.
    fn break_off(&self, mut command: Command, daemon: &Daemon, dataset: &str) {
        let said = File::create(self.scratch.path("said")).expect("a file");
        command.process_group(0).stdout(said.try_clone().expect("a file")).stderr(said);
        let mut child = command.spawn().expect("it runs");
        let token = || daemon.zfs(&format!("get -H -o value receive_resume_token {dataset}")).out;
        until("something arrives", || {
            assert!(child.try_wait().expect("our child").is_none(), "{}", self.said());
            token().starts_with("1-")
        });
        let group = format!("-{}", child.id());
        Command::new("kill").args(["-9", "--", &group]).status().expect("kill");
        child.wait().expect("it ends");
        assert!(token().starts_with("1-"), "{}", self.said());
        // At the other end of SSH it takes a moment, and syncoid refuses to begin beside it.
        let receiver = format!("receive.*{dataset}");
        until("the end of the receiver", || {
            !Command::new("pgrep").args(["-f", "--", &receiver]).status().expect("pgrep").success()
        });
    }

    fn said(&self) -> String {
        fs::read_to_string(self.scratch.path("said")).unwrap_or_default()
    }

    /// A file system with some data and a snapshot.
    fn fill(&self, dataset: &str, mib: usize) -> Client {
        self.here.zfs(&format!("create -o compression=lz4 {dataset}")).done();
        let client = share(&self.here, &self.scratch, dataset);
        write(&client, mib);
        client.write_file("/small", 0o600, b"small").expect("written");
        self.here.zfs(&format!("snapshot {dataset}@one")).done();
        client
    }

    /// Both have the same snapshots, and the copy the file of that size.
    fn is_copied(&self, (from, dataset): (&Daemon, &str), (to, copy): (&Daemon, &str), mib: usize) {
        let guids = |daemon: &Daemon, of: &str| {
            daemon.zfs(&format!("list -H -p -o guid -s createtxg -t snapshot -d 1 {of}")).done()
        };
        assert_eq!(guids(from, dataset), guids(to, copy), "{dataset} and {copy}");
        let client = share(to, &self.scratch, copy);
        let read = client.read_file(&format!("/data-{mib}")).expect("read");
        assert!(read == noise(mib as u64, mib << 20), "{copy}");
    }

    fn stop(mut self) {
        self.here.stop();
        self.there.stop();
        assert_clean(&self.scratch.path("one"), "tank");
        assert_clean(&self.scratch.path("two"), "dozer");
    }
}

/// A file of so many MiB.
fn write(client: &Client, mib: usize) {
    client.write_file(&format!("/data-{mib}"), 0o644, &noise(mib as u64, mib << 20)).expect("written");
}

#[test]
fn syncoid_pushes_to_us_and_pulls_from_us_over_ssh() {
    let site = Site::new("syncoid");
    // It looks among the processes of the machine for who receives what has such a name.
    let client = site.fill("tank/syncoid", 32);
    drop(site.fill("tank/syncoid/below", 3));
    let host = &site.sshd.host;
    let syncoid = |line: &str| {
        let key = site.scratch.text("sshd/client_key");
        let known = site.scratch.text("sshd/client_known_hosts");
        site.command(&format!(
            "syncoid --no-privilege-elevation --sshport {} --sshkey {key} --sshoption UserKnownHostsFile={known} \
             --sshoption StrictHostKeyChecking=accept-new {line}",
            site.sshd.port
        ))
    };
    // Broken off at the first go, and resumed.
    let push = format!("--no-sync-snap tank/syncoid root@{host}:dozer/syncoid");
    let slow = syncoid(&format!("--compress=none --source-bwlimit=2m {push}"));
    site.break_off(slow, &site.there, "dozer/syncoid");
    let ran = Ran::of(&mut syncoid(&push));
    assert!(ran.status == 0 && format!("{}{}", ran.out, ran.err).contains("Resuming"), "{ran:?}");
    site.is_copied((&site.here, "tank/syncoid"), (&site.there, "dozer/syncoid"), 32);

    // Incremental, with all below and its own snapshots.
    write(&client, 2);
    let ran = Ran::of(&mut syncoid(&format!("-r tank/syncoid root@{host}:dozer/syncoid")));
    assert!(ran.status == 0, "{ran:?}");
    site.is_copied((&site.here, "tank/syncoid"), (&site.there, "dozer/syncoid"), 2);
    site.is_copied((&site.here, "tank/syncoid/below"), (&site.there, "dozer/syncoid/below"), 3);

    // And back, by pulling.
    let pull = format!("-r --no-sync-snap root@{host}:dozer/syncoid tank/syncoid-back");
    let slow = syncoid(&format!("--compress=none --source-bwlimit=2m {pull}"));
    site.break_off(slow, &site.here, "tank/syncoid-back");
    let ran = Ran::of(&mut syncoid(&pull));
    assert!(ran.status == 0, "{ran:?}");
    let ran = Ran::of(&mut syncoid(&pull));
    assert!(ran.status == 0, "{ran:?}");
    site.is_copied((&site.there, "dozer/syncoid"), (&site.here, "tank/syncoid-back"), 2);
    site.is_copied((&site.there, "dozer/syncoid/below"), (&site.here, "tank/syncoid-back/below"), 3);
    drop(client);
    site.stop();
}

#[test]
fn bzfs_pushes_to_us_and_pulls_from_us_over_ssh() {
    // It looks through all processes for others at work on datasets of these names.
    let site = Site::new("bzfs");
    let client = site.fill("tank/data", 32);
    drop(site.fill("tank/data/below", 3));
    let (host, config) = (&site.sshd.host, &site.config);
    let bzfs = |line: &str| {
        let logs = site.scratch.text("home/bzfs-logs");
        site.command(&format!("bzfs --no-privilege-elevation --log-dir {logs} --retries 0 {line}"))
    };
    let push = format!("--ssh-dst-config-file {config} tank/data root@{host}:dozer/bzfs");
    site.break_off(bzfs(&format!("--bwlimit 2m {push}")), &site.there, "dozer/bzfs");
    let ran = Ran::of(&mut bzfs(&format!("--recursive {push}")));
    assert!(ran.status == 0, "{ran:?}");
    site.is_copied((&site.here, "tank/data"), (&site.there, "dozer/bzfs"), 32);
    write(&client, 2);
    site.here.zfs("snapshot -r tank/data@two").done();
    let ran = Ran::of(&mut bzfs(&format!("--recursive {push}")));
    assert!(ran.status == 0, "{ran:?}");
    site.is_copied((&site.here, "tank/data"), (&site.there, "dozer/bzfs"), 2);
    site.is_copied((&site.here, "tank/data/below"), (&site.there, "dozer/bzfs/below"), 3);

    let pull = format!("--ssh-src-config-file {config} root@{host}:dozer/bzfs tank/bzfs");
    site.break_off(bzfs(&format!("--bwlimit 2m {pull}")), &site.here, "tank/bzfs");
    let ran = Ran::of(&mut bzfs(&format!("--recursive {pull}")));
    assert!(ran.status == 0, "{ran:?}");
    site.is_copied((&site.there, "dozer/bzfs"), (&site.here, "tank/bzfs"), 2);
    site.is_copied((&site.there, "dozer/bzfs/below"), (&site.here, "tank/bzfs/below"), 3);
    drop(client);
    site.stop();
}

#[test]
fn send_and_receive_by_ssh_as_people_type_it() {
    let site = Site::new("plain-ssh");
    let client = site.fill("tank/data", 32);
    drop(site.fill("tank/data/below", 3));
    let slow = "head -c 4000000";
    // Broken off, and resumed with the token that the other side has.
    let ran =
        site.shell(&format!("zfs send -Lec tank/data@one | {slow} | $SSH zfs receive -s -u dozer/data"));
    assert!(ran.status != 0 && ran.err.contains("zfs send -t 1-"), "{ran:?}");
    site.shell(
        "token=$($SSH zfs get -H -o value receive_resume_token dozer/data) && \
         zfs send -t $token | $SSH zfs receive -s -u dozer/data",
    )
    .done();
    site.is_copied((&site.here, "tank/data"), (&site.there, "dozer/data"), 32);
    write(&client, 2);
    site.here.zfs("snapshot -r tank/data@two").done();
    site.shell("zfs send -i @one tank/data@two | $SSH zfs receive -u dozer/data").done();
    site.is_copied((&site.here, "tank/data"), (&site.there, "dozer/data"), 2);
    site.shell("zfs send -R tank/data@two | $SSH zfs receive -u dozer/all").done();
    site.is_copied((&site.here, "tank/data/below"), (&site.there, "dozer/all/below"), 3);

    let ran =
        site.shell(&format!("$SSH zfs send -Lec dozer/data@one | {slow} | zfs receive -s -u tank/back"));
    assert!(ran.status != 0 && ran.err.contains("zfs send -t 1-"), "{ran:?}");
    site.shell(
        "token=$(zfs get -H -o value receive_resume_token tank/back) && \
         $SSH zfs send -t $token | zfs receive -s -u tank/back",
    )
    .done();
    site.shell("$SSH zfs send -I @one dozer/data@two | zfs receive -u tank/back").done();
    site.is_copied((&site.there, "dozer/data"), (&site.here, "tank/back"), 2);
    drop(client);
    site.stop();
}

/// What OpenZFS 2.4 sent stands for such a host: it comes as its `zfs send` would, broken off and
/// resumed, and what is not taken leaves nothing. The collection lies beside the repository.
#[test]
fn streams_of_an_openzfs_host_are_taken_by_ssh_or_refused_whole() {
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/pools24/streams24.tar.zst");
    if !Path::new(archive).exists() {
        return;
    }
    let site = Site::new("ssh-openzfs");
    let at = site.scratch.folder("theirs");
    let unpack = ["--zstd", "--strip-components=2", "--wildcards", "-xf", archive, "*.zsend"];
    Ran::of(program("tar", 60).args(unpack).current_dir(&at)).done();
    let take = |stream: &str, to: &str| {
        site.shell(&format!("$SSH zfs receive -s -u dozer/{to} < {}/{stream}.zsend", text(&at)))
    };
    take("full-res-s1", "whole").done();
    take("plain-enc-s2", "plain").done();
    let ran = take("part-res-s1", "part");
    assert!(ran.status != 0 && ran.err.contains("Partially received snapshot is saved"), "{ran:?}");
    take("rest-res-s1", "part").done();
    let of = |snapshot: &str| {
        site.there.zfs(&format!("get -Hp -o value guid,referenced,logicalreferenced {snapshot}")).done()
    };
    assert_eq!(of("dozer/part@s1"), of("dozer/whole@s1"));
    // Both hold the same, to the byte: records differ in the name, and in sums of all before.
    let sent = |dataset: &str| {
        let dump = format!("$SSH zfs send dozer/{dataset}@s1 | zstream dump -d");
        site.shell(&format!(
            "{dump} | grep -v 'toname\\|checksum' | tee $HOME/dump | sha256sum; wc -l < $HOME/dump"
        ))
        .done()
    };
    let (whole, part) = (sent("whole"), sent("part"));
    let lines = whole.lines().last().and_then(|lines| lines.parse::<u64>().ok());
    assert!(whole == part && lines > Some(10_000), "{whole}{part}");
    for (stream, why) in [
        ("w-enc-s1", "raw send streams: not supported"),
        ("w-encvol-s1", "raw send streams: not supported"),
        ("i-from-bookmark-z-s2", "does not exist"),
    ] {
        let ran = take(stream, "refused");
        assert!(ran.status != 0 && ran.err.contains(why), "{stream}: {ran:?}");
        assert!(site.there.zfs("list dozer/refused").status != 0, "{stream} left something");
    }
    site.stop();
}

/// What auto-sync sends by SSH, whole, incremental and resumed, is what `zstream` takes.
#[test]
fn streams_of_auto_sync_are_openzfs_streams() {
    let site = Site::new("sync-streams");
    let client = site.fill("tank/data", 32);
    let log = site.scratch.folder("streams");
    let zfs = site.scratch.path("sshd/bin/zfs");
    fs::remove_file(&zfs).expect("a link");
    // Keeps what comes; the first one breaks in the middle.
    let script = format!(
        "#!/bin/sh\nif [ \"$1 $2\" = 'receive -s' ]; then\n\tto={}/$$\n\
         \t[ -e {at}/broken ] || {{ touch {at}/broken; head -c 4000000 | tee $to | {PROGRAM} zfs \"$@\"; exit 1; }}\n\
         \ttee $to | {PROGRAM} zfs \"$@\"\nelse\n\texec {PROGRAM} zfs \"$@\"\nfi\n",
        text(&log),
        at = text(&site.scratch.path("home"))
    );
    site.scratch.folder("home");
    fs::write(&zfs, script).expect("written");
    fs::set_permissions(&zfs, PermissionsExt::from_mode(0o755)).expect("set");
    create(&site.here, "s", "tank/data", &site.sshd.url("dozer/data"), &[]);
    until("it waits for a person", || state(&site.here, "s") == "maintenance");
    let told = svc(&site.here, &["show", "s"]).done();
    site.sshd.authorize(told.split("there: ").nth(1).and_then(|it| it.lines().next()).expect("a key"));
    svc(&site.here, &["clear", "s"]).done();
    until("it broke off", || state(&site.here, "s") == "degraded");
    run(&site.here, "s");
    assert_eq!(state(&site.here, "s"), "online", "{}", svc(&site.here, &["show", "s"]).out);
    client.write_file("/more", 0o644, &noise(5, 1 << 20)).expect("written");
    run(&site.here, "s");
    assert_eq!(own(&site.here, "tank/data").last(), own(&site.there, "dozer/data").last());
    assert!(shown(&site.here, "s")["sync"]["replicas"][0]["snapshot"].is_string());
    let mut whole = 0;
    for entry in fs::read_dir(&log).expect("listed") {
        let path = entry.expect("an entry").path();
        let dump = Ran::of(Command::new("zstream").arg("dump").arg(&path));
        if fs::metadata(&path).expect("there").len() == 4_000_000 {
            continue;
        }
        assert!(dump.status == 0 && dump.out.contains("Total records"), "{dump:?}");
        whole += 1;
    }
    assert_eq!(whole, 2, "the rest of the first, and what came later");
    drop(client);
    site.stop();
}
