//! Snapshots on their way from one pool to another, as a user sends them: through pipes, in
//! OpenZFS's words, judged by its `zstream`.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::daemon::{Daemon, Ran, Scratch};
use crate::libnfs::Client;
use crate::suspended::until;
use crate::zdb::stop_and_check;

/// `zfs send … > file`
fn send(daemon: &Daemon, scratch: &Scratch, line: &str, file: &str) -> Ran {
    let words: Vec<&str> = ["zfs", "send"].into_iter().chain(line.split_whitespace()).collect();
    let to = File::create(scratch.path(file)).expect("a file");
    let child = daemon.command(&words).stdout(to).stderr(Stdio::piped()).spawn().expect("runs");
    let output = child.wait_with_output().expect("ends");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    Ran { status: output.status.code().unwrap_or(-1), out: String::new(), err }
}

/// `zfs receive … < file`
fn receive(daemon: &Daemon, scratch: &Scratch, line: &str, file: &str) -> Ran {
    let words: Vec<&str> = ["zfs", "receive"].into_iter().chain(line.split_whitespace()).collect();
    Ran::of(daemon.command(&words).stdin(File::open(scratch.path(file)).expect("sent before")))
}

/// What OpenZFS makes of a stream.
#[track_caller]
fn zstream(scratch: &Scratch, file: &str) -> String {
    Ran::of(Command::new("zstream").arg("dump").arg(scratch.path(file))).done()
}

#[test]
fn snapshots_are_sent_and_received() {
    let scratch = Scratch::new("streams");
    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image_in("one", "a", 256), scratch.image_in("two", "b", 256));
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zpool(&format!("create -m none -O atime=off backup {b}")).done();
    let at = scratch.text("fs");
    daemon
        .zfs(&format!(
            "create -o mountpoint={at} -o sharenfs=rw,no_root_squash,insecure -o recordsize=1M tank/fs"
        ))
        .done();
    let client = Client::mount(&daemon, &at).expect("mounted");
    let large: Vec<u8> = (0..3 << 20).map(|i: u32| (i / 7) as u8).collect();
    client.write_file("/large", 0o644, &large).expect("written");
    client.write_file("/gone", 0o644, b"gone").expect("written");
    daemon.zfs("snapshot tank/fs@one").done();
    client.write_file("/small", 0o600, b"small").expect("written");
    client.unlink("/gone").expect("removed");
    daemon.zfs("snapshot tank/fs@two").done();
    daemon.zfs("bookmark tank/fs@one #mark").done();

    for (name, flags) in [("plain", ""), ("large", "-L"), ("all", "-Lec"), ("raw", "-w")] {
        let (full, next) = (format!("{name}.full"), format!("{name}.next"));
        assert_eq!(send(&daemon, &scratch, &format!("{flags} tank/fs@one"), &full).done(), "");
        assert_eq!(send(&daemon, &scratch, &format!("{flags} -i #mark tank/fs@two"), &next).done(), "");
        assert!(zstream(&scratch, &full).contains("Total records"), "{name}");
        zstream(&scratch, &next);
        let to = format!("backup/{name}");
        let said = receive(&daemon, &scratch, &format!("-v {to}"), &full).done();
        assert!(
            said.starts_with(&format!("receiving full stream of tank/fs@one into {to}@one\nreceived ")),
            "{said}"
        );
        receive(&daemon, &scratch, &to, &next).done();
        let there = scratch.text(name);
        daemon.zfs(&format!("set mountpoint={there} {to}")).done();
        daemon.zfs(&format!("set sharenfs=ro,no_root_squash,insecure {to}")).done();
        let copy = Client::mount(&daemon, &there).expect("mounted");
        assert_eq!(copy.read_file("/large").expect("read"), large, "{name}");
        assert_eq!(copy.read_file("/small").expect("read"), b"small");
        assert!(copy.read_file("/gone").is_err());
        assert_eq!(copy.read_file("/.zfs/snapshot/one/gone").expect("read"), b"gone");
    }
    let guids = |names: &str| daemon.zfs(&format!("get -H -o value guid {names}")).done();
    assert_eq!(guids("tank/fs@one tank/fs@two"), guids("backup/raw@one backup/raw@two"));

    // A tree with all it has, and what came to it since.
    daemon.zfs("create -o test:who=me tank/fs/below").done();
    daemon.zfs("snapshot -r tank/fs@three").done();
    daemon.zfs("hold keep tank/fs@three").done();
    send(&daemon, &scratch, "-R -s tank/fs@two", "tree").done();
    send(&daemon, &scratch, "-R -h -I @two tank/fs@three", "more").done();
    for file in ["tree", "more"] {
        zstream(&scratch, file);
        receive(&daemon, &scratch, "-u -o readonly=on backup/tree", file).done();
    }
    let names = |root: &str| {
        let all = daemon.zfs(&format!("list -H -o name -t filesystem,snapshot -r {root}")).done();
        all.lines().map(|name| name[root.len()..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("backup/tree"), names("tank/fs"));
    let shown = daemon.zfs("get -H -o value,source readonly,recordsize,test:who backup/tree/below").done();
    assert_eq!(shown, "on\tinherited from backup/tree\n1M\tinherited from backup/tree\nme\treceived\n");
    assert!(daemon.zfs("holds -H backup/tree@three").done().starts_with("backup/tree@three\tkeep\t"));
    received_properties(&daemon);
    long_options(&daemon, &scratch);

    places(&daemon, &scratch);
    refusals(&daemon, &scratch);
    goes_on(&daemon, &scratch);
    drop(client);
    stop_and_check(&mut daemon, &scratch.path("two"), "backup");
}

/// What came is told from what was set, and comes back when that goes.
fn received_properties(daemon: &Daemon) {
    let below = "backup/tree/below";
    let received = daemon.zfs(&format!("get -H -s received all {below}")).done();
    assert_eq!(received, format!("{below}\ttest:who\tme\treceived\n"));
    let columns = || {
        daemon.zfs(&format!("get -H -o property,value,received,source test:who,recordsize {below}")).done()
    };
    let recordsize = "recordsize\t1M\t-\tinherited from backup/tree\n";
    assert_eq!(columns(), format!("test:who\tme\tme\treceived\n{recordsize}"));
    daemon.zfs(&format!("set test:who=you {below}")).done();
    assert_eq!(columns(), format!("test:who\tyou\tme\tlocal\n{recordsize}"));
    assert_eq!(daemon.zfs(&format!("get -H -s received all {below}")).done(), "");
    daemon.zfs(&format!("inherit test:who {below}")).done();
    assert_eq!(columns(), format!("test:who\t-\tme\t-\n{recordsize}"));
    daemon.zfs(&format!("inherit -S test:who {below}")).done();
    assert_eq!(columns(), format!("test:who\tme\tme\treceived\n{recordsize}"));
}

/// Each stands for its letter.
fn long_options(daemon: &Daemon, scratch: &Scratch) {
    for (long, short) in [
        ("--props --large-block --embed --compressed --holds", "-pLech"),
        ("--backup --raw", "-bw"),
        ("--replicate --skip-missing --exclude tank/fs/below,tank/other", "-RsX tank/fs/below -X tank/other"),
    ] {
        send(daemon, scratch, &format!("{long} tank/fs@three"), "long").done();
        send(daemon, scratch, &format!("{short} tank/fs@three"), "short").done();
        let read = |file: &str| fs::read(scratch.path(file)).expect("sent");
        assert!(read("long") == read("short"), "{long}");
    }
    // Nothing of what was left out is in the last one.
    receive(daemon, scratch, "-u backup/few", "long").done();
    let few = daemon.zfs("list -H -o name -r -t filesystem,snapshot backup/few").done();
    assert!(few.contains("backup/few@three\n") && !few.contains("below"), "{few}");
    daemon.zfs("destroy -r backup/few").done();
    let said = daemon.zfs("send --dryrun --verbose --parsable -i @one tank/fs@two").done();
    assert_eq!(said, daemon.zfs("send -nvP -i @one tank/fs@two").done());

    // Nobody reads on, so it is seen at work.
    let mut command = daemon.command(&["zfs", "send", "--proctitle", "--large-block", "tank/fs@three"]);
    let mut sender = command.stdout(Stdio::piped()).spawn().expect("runs");
    let title = || fs::read_to_string(format!("/proc/{}/cmdline", sender.id())).unwrap_or_default();
    until("a title", || title().starts_with("zfs: sending tank/fs@three (0%: 0/"));
    assert!(title().trim_end_matches('\0').ends_with("M)"), "{:?}", title());
    let mut from = sender.stdout.take().expect("piped");
    std::io::copy(&mut from, &mut std::io::sink()).expect("read");
    assert!(sender.wait().expect("ends").success());
}

/// Below a target (`-d`, `-e`), without holds (`-h`), and only told (`-n`).
fn places(daemon: &Daemon, scratch: &Scratch) {
    let below = |root: &str| daemon.zfs(&format!("list -H -o name -t all -r {root}")).done();
    let before = below("backup");
    let said = receive(daemon, scratch, "-n -v -d backup", "plain.full").done();
    assert_eq!(said, "would receive full stream of tank/fs@one into backup/fs@one\n");
    assert_eq!(below("backup"), before);
    send(daemon, scratch, "tank/fs/below@three", "below").done();
    receive(daemon, scratch, "-u -d backup", "plain.full").done();
    receive(daemon, scratch, "-u -d backup", "below").done();
    receive(daemon, scratch, "-u -e backup/fs/below", "below").done();
    let deep = "backup/fs/below/below";
    let wanted = ["", "/below", "/below/below"].map(|name| format!("backup/fs{name}\n"));
    let marks = ["@one\n", "@three\n", "@three\n"];
    let wanted = wanted.iter().zip(marks).map(|(name, mark)| format!("{name}{}{mark}", name.trim_end()));
    assert_eq!(below("backup/fs"), wanted.collect::<String>());
    let guid = |name: &str| daemon.zfs(&format!("get -H -o value guid {name}@three")).done();
    assert_eq!(guid(deep), guid("tank/fs/below"));
    for flag in ["-d", "-e"] {
        let refused = |target: &str, why: &str| {
            let ran = receive(daemon, scratch, &format!("{flag} {target}"), "below");
            assert_eq!((ran.status, ran.err), (1, format!("cannot receive: {why}\n")));
        };
        refused("backup/fs@x", "specified fs (backup/fs@x) does not exist");
        refused("backup/fs@one", &format!("invalid argument - snapshot not allowed with {flag}"));
    }
    send(daemon, scratch, "-R -s -h tank/fs@three", "held").done();
    receive(daemon, scratch, "-u -h backup/loose", "held").done();
    assert_eq!(daemon.zfs("holds -H -r backup/loose@three").done(), "");
    daemon.zfs("destroy -r backup/loose").done();
    daemon.zfs("destroy -r backup/fs").done();
}

/// Streams that ended early, and their rest.
fn goes_on(daemon: &Daemon, scratch: &Scratch) {
    let cut = |file: &str, part: usize| {
        let whole = fs::read(scratch.path(file)).expect("sent");
        fs::write(scratch.path("part"), &whole[..whole.len() / part]).expect("written");
    };
    let token = |dataset: &str| {
        let shown = daemon.zfs(&format!("get -H -o value receive_resume_token {dataset}")).done();
        shown.trim_end().to_owned()
    };
    let before = daemon.zfs("list -H -o name -r backup").done();
    for (dataset, file, kind) in
        [("backup/late", "plain.full", "new filesystem"), ("backup/late", "plain.next", "incremental")]
    {
        cut(file, 2);
        let ran = receive(daemon, scratch, &format!("-s {dataset}"), "part");
        let said = format!("cannot receive {kind} stream: checksum mismatch or incomplete stream.\n");
        let tells = format!("    zfs send -t {}\n", token(dataset));
        assert!(ran.status == 1 && ran.err.starts_with(&said) && ran.err.ends_with(&tells), "{ran:?}");
        let about = daemon.zfs(&format!("send -nvP -t {}", token(dataset))).done();
        assert!(about.starts_with("resume token contents:\nnvlist version: 0\n\t"), "{about}");
        assert!(about.lines().last().is_some_and(|line| line.starts_with("size\t")), "{about}");
        let about = daemon.zfs(&format!("send --dryrun --parsable --saved {dataset}")).done();
        assert!(about.contains(&format!("\n\ttoname = {dataset}\n")), "{about}");
        send(daemon, scratch, &format!("--saved {dataset}"), "saved").done();
        assert!(zstream(scratch, "saved").contains("BEGIN record"));
        send(daemon, scratch, &format!("-t {}", token(dataset)), "rest").done();
        let dump = zstream(scratch, "rest");
        assert!(dump.contains("resume_object = ") && dump.contains("Total records"), "{dump}");
        receive(daemon, scratch, &format!("-s {dataset}"), "rest").done();
        assert_eq!(token(dataset), "-");
    }
    let guids = |dataset: &str| daemon.zfs(&format!("get -H -r -t snapshot -o value guid {dataset}")).done();
    assert_eq!(guids("backup/late"), guids("backup/plain"));
    daemon.zfs("destroy -r backup/late").done();

    cut("plain.full", 2);
    receive(daemon, scratch, "-s backup/late", "part");
    daemon.zfs(&format!("set -u mountpoint={} backup/late", scratch.text("late"))).done();
    let ran = daemon.zfs("mount backup/late");
    assert!(ran.err.contains("Contains partially-completed state from \"zfs receive -s\""), "{ran:?}");
    daemon.zfs("receive -A backup/late").done();
    assert_eq!(daemon.zfs("list -H -o name -r backup").done(), before);
    let ran = daemon.zfs("receive -A backup/plain");
    let why = "'backup/plain' does not have any resumable receive state to abort\n";
    assert_eq!((ran.status, ran.err.as_str()), (1, why));
    let ran = send(daemon, scratch, "-t 1-2-3", "none");
    let why = "cannot resume send: resume token is corrupt (invalid format)\n";
    assert_eq!((ran.status, ran.err.as_str()), (255, why));
}

fn refusals(daemon: &Daemon, scratch: &Scratch) {
    let refused = |ran: Ran, why: &str| assert!(ran.status == 1 && ran.err.trim_end() == why, "{ran:?}");
    refused(
        receive(daemon, scratch, "backup/plain", "plain.full"),
        "cannot receive new filesystem stream: destination 'backup/plain' exists\n\
         must specify -F to overwrite it",
    );
    refused(
        send(daemon, scratch, "-i @two tank/fs@one", "none"),
        "warning: cannot send 'tank/fs@one': not an earlier snapshot from the same fs",
    );
    for line in ["tank/fs@none", "-R tank/fs@none", "-R -i @none tank/fs@three", "-I @none tank/fs@three"] {
        refused(send(daemon, scratch, line, "none"), "cannot open 'tank/fs@none': dataset does not exist");
    }
    let elsewhere = send(daemon, scratch, "-R -i tank/fs/below@three tank/fs@three", "none");
    let why = "incremental source must be in same filesystem\nusage:\n";
    assert!(elsewhere.status == 2 && elsewhere.err.starts_with(why), "{elsewhere:?}");
    // A part of the tree lacks the snapshot: it is younger, or it should have it.
    let later = send(daemon, scratch, "-R -P tank/fs@two", "later");
    assert!(later.status == 0, "{later:?}");
    assert!(
        later.err.starts_with("skipping dataset tank/fs/below: snapshot two does not exist\n"),
        "{later:?}"
    );
    daemon.zfs("snapshot tank/fs@alone").done();
    refused(
        send(daemon, scratch, "-R tank/fs@alone", "none"),
        "cannot send tank/fs@alone recursively: snapshot tank/fs/below@alone does not exist\n\
         warning: cannot send 'tank/fs@alone': backup failed",
    );
    let skipped = send(daemon, scratch, "-R -s tank/fs@alone", "few");
    let why = "WARNING: skipping dataset tank/fs/below and its children: snapshot alone does not exist\n";
    assert_eq!((skipped.status, skipped.err.as_str()), (0, why));
    daemon.zfs("destroy tank/fs@alone").done();
    let whole = fs::read(scratch.path("plain.full")).expect("sent");
    for (cut, why) in [
        (100, "cannot receive: failed to read from stream"),
        (whole.len() / 2, "cannot receive new filesystem stream: incomplete stream"),
        (whole.len() - 1, "cannot receive new filesystem stream: incomplete stream"),
    ] {
        fs::write(scratch.path("cut"), &whole[..cut]).expect("written");
        refused(receive(daemon, scratch, "backup/cut", "cut"), why);
    }
    let mut flipped = whole;
    let at = flipped.len() / 3;
    flipped[at] ^= 4;
    fs::write(scratch.path("cut"), &flipped).expect("written");
    let ran = receive(daemon, scratch, "backup/cut", "cut");
    let why = ["checksum mismatch", "invalid backup stream"];
    assert!(ran.status == 1 && why.iter().any(|why| ran.err.trim_end().ends_with(why)), "{ran:?}");
    assert!(!daemon.zfs("list -H -o name").done().contains("cut"), "nothing is left");
    let sized = daemon.zfs("send -nvP -i @one tank/fs@two").done();
    assert!(sized.starts_with("incremental\ttank/fs@one\ttank/fs@two\t"), "{sized}");
}
