//! zpool and zfs against real pools: what they do, what they refuse and in which words, and that a
//! refusal disturbs nothing.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;

use stdx::prng::Prng;

use crate::daemon::{Daemon, Ran, Scratch};
use crate::zdb::assert_clean;

/// A command that has to be refused, with its message.
#[track_caller]
fn refuse(daemon: &Daemon, program: &str, line: &str, message: &str) {
    let ran = if program == "zpool" { daemon.zpool(line) } else { daemon.zfs(line) };
    assert!(ran.status == 1 && ran.out.is_empty(), "{program} {line}: {ran:?}");
    assert_eq!(ran.err.trim_end(), message, "{program} {line}");
}

#[test]
fn pools_of_every_form_are_made_and_zdb_finds_them_whole() {
    let scratch = Scratch::new("forms");
    let mut daemon = Daemon::start(&scratch);
    let image = |name: &str| scratch.image_in(&name[..1], name, 128);
    let pools = [
        ("a", format!("create -m none -o ashift=9 a {}", image("a1"))),
        ("b", format!("create -m none -o ashift=12 b mirror {} {}", image("b1"), image("b2"))),
        (
            "c",
            format!(
                "create -m none c mirror {} {} mirror {} {}",
                image("c1"),
                image("c2"),
                image("c3"),
                image("c4")
            ),
        ),
        ("d", format!("create -m none -d -o feature@lz4_compress=enabled d {}", image("d1"))),
        (
            "e",
            format!("create -m none -o compatibility=legacy -O atime=off e {} {}", image("e1"), image("e2")),
        ),
    ];
    for (name, line) in &pools {
        daemon.zpool(line).done();
        daemon.zfs(&format!("create -p {name}/x/y")).done();
    }
    let get = |props: &str, pool: &str| daemon.zpool(&format!("get -H -o value {props} {pool}")).done();
    assert_eq!(get("ashift", "a"), "9\n");
    assert_eq!(get("feature@lz4_compress,feature@hole_birth", "d"), "active\ndisabled\n");
    assert_eq!(get("compatibility,feature@lz4_compress", "e"), "legacy\ndisabled\n");
    assert_eq!(daemon.zfs("get -H -o value,source atime e/x/y").done(), "off\tinherited from e\n");
    let own = daemon.zpool("list -H -o name,health").done();
    assert_eq!(own, "a\tONLINE\nb\tONLINE\nc\tONLINE\nd\tONLINE\ne\tONLINE\n");
    daemon.stop();
    for (name, _) in &pools {
        let counts = assert_clean(&scratch.path(name), name);
        assert!(counts.contains_key(&format!("{name}/x/y")), "{counts:?}");
    }
}

#[test]
fn datasets_are_made_changed_moved_and_destroyed() {
    let scratch = Scratch::new("datasets");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create -o compression=lz4 tank/fs").done();
    refuse(&daemon, "zfs", "create tank/fs", "cannot create 'tank/fs': dataset already exists");
    refuse(&daemon, "zfs", "create tank/a/b", "cannot create 'tank/a/b': parent does not exist");
    refuse(&daemon, "zfs", "create nopool/x", "cannot create 'nopool/x': no such pool 'nopool'");
    let long = format!("tank/{}", "y".repeat(256));
    refuse(&daemon, "zfs", &format!("create {long}"), &format!("cannot create '{long}': name is too long"));
    refuse(
        &daemon,
        "zfs",
        "set recordsize=12345 tank/fs",
        "cannot set property for 'tank/fs': 'recordsize' must be power of 2 from 512B to 16M",
    );
    daemon.zfs("create -p tank/a/b").done();
    daemon.zfs("set compression=zle tank/a").done();
    let source = |line: &str| daemon.zfs(&format!("get -H -o value,source {line}")).done();
    assert_eq!(source("compression tank/a/b"), "zle\tinherited from tank/a\n");
    daemon.zfs("inherit compression tank/a").done();
    assert!(source("compression tank/a/b").ends_with("\tdefault\n"));
    daemon.zfs("rename tank/fs tank/a/moved").done();
    refuse(&daemon, "zfs", "rename tank/fs tank/x", "cannot open 'tank/fs': dataset does not exist");
    let refused = daemon.zfs("destroy tank/a");
    let children =
        "cannot destroy 'tank/a': filesystem has children\nuse '-r' to destroy the following datasets:\n";
    assert!(refused.status == 1 && refused.err.starts_with(children), "{refused:?}");
    assert!(refused.err.contains("\ntank/a/b\n") && refused.err.contains("\ntank/a/moved\n"), "{refused:?}");
    assert!(daemon.zfs("destroy -rnv tank/a").done().contains("would destroy tank/a/b\n"));
    assert_eq!(daemon.zfs("list -H -o name").done(), "tank\ntank/a\ntank/a/b\ntank/a/moved\n");
    daemon.zfs("destroy -r tank/a").done();
    assert_eq!(daemon.zfs("list -H -o name").done(), "tank\n");
    let history = daemon.zpool("history tank").done();
    for line in ["zfs create -p tank/a/b", "zfs rename tank/fs tank/a/moved", "zfs destroy -r tank/a"] {
        assert!(history.contains(line), "{line} in {history}");
    }
    daemon.zpool("sync").done();
    assert!(daemon.zpool("iostat tank").done().contains("tank"));
    assert!(daemon.zpool("status tank").done().contains("errors: No known data errors"));
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

#[test]
fn exported_pools_are_found_and_imported_under_any_name() {
    let scratch = Scratch::new("import");
    let mut daemon = Daemon::start(&scratch);
    let (a, folder) = (scratch.image("a", 128), scratch.text("disks"));
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create tank/fs").done();
    let guid = daemon.zpool("get -H -o value guid tank").done().trim().to_owned();
    daemon.zpool("export tank").done();
    let listing = daemon.zpool(&format!("import -d {folder}")).done();
    assert!(listing.contains(&format!("  pool: tank\n    id: {guid}\n state: ONLINE\n")), "{listing}");
    let nothing = "cannot import 'nothing': no such pool available";
    refuse(&daemon, "zpool", &format!("import -d {folder} nothing"), nothing);
    daemon.zpool(&format!("import -d {folder} {guid} other")).done();
    assert_eq!(daemon.zfs("list -H -o name").done(), "other\nother/fs\n");
    daemon.zpool("export other").done();
    daemon.zpool(&format!("import -d {folder} -o readonly=on other")).done();
    refuse(&daemon, "zfs", "create other/x", "cannot create 'other/x': pool is read-only");
    daemon.zpool("export other").done();
    let exported =
        format!("use '-f' to override the following error:\n{a} is a member of exported pool \"other\"");
    refuse(&daemon, "zpool", &format!("labelclear {a}"), &exported);
    assert_clean(&scratch.path("disks"), "other");
    daemon.zpool(&format!("labelclear -f {a}")).done();
    refuse(
        &daemon,
        "zpool",
        &format!("import -d {folder} other"),
        "cannot import 'other': no such pool available",
    );
    daemon.stop();
}

#[test]
fn bad_devices_and_names_are_refused_and_disturb_nothing() {
    let scratch = Scratch::new("bad");
    let mut daemon = Daemon::start(&scratch);
    let (a, b, folder) = (scratch.image("a", 128), scratch.image("b", 128), scratch.text("disks"));
    daemon.zpool(&format!("create -m none tank mirror {a} {b}")).done();
    let c = scratch.image_in("more", "c", 128);
    let missing = scratch.text("missing.img");
    let cases = [
        (format!("other {missing}"), format!("cannot resolve path '{missing}'")),
        (
            format!("other {a}"),
            format!(
                "invalid vdev specification\nuse '-f' to override the following errors:\n\
                 {a} is part of active pool 'tank'"
            ),
        ),
        (
            format!("-f other {a}"),
            format!(
                "invalid vdev specification\nthe following errors must be manually repaired:\n\
                 {a} is part of active pool 'tank'"
            ),
        ),
        (format!("mirror {c}"), "cannot create 'mirror': name is reserved".to_owned()),
        (
            format!("-o ashift=17 other {c}"),
            "invalid 'ashift=17' property: only values between 9 and 16 are allowed.".to_owned(),
        ),
        (
            format!("a/b {c}"),
            "cannot create 'a/b': invalid character '/' in pool name\nuse 'zfs create' to create a dataset"
                .to_owned(),
        ),
    ];
    for (line, message) in cases {
        refuse(&daemon, "zpool", &format!("create -m none {line}"), &message);
    }
    refuse(
        &daemon,
        "zpool",
        &format!("labelclear -f {a}"),
        &format!("failed to clear label for {a}: device is in use"),
    );
    assert_eq!(daemon.zpool("frobnicate").status, 2);
    refuse(&daemon, "zpool", "status nopool", "cannot open 'nopool': no such pool");
    assert_eq!(daemon.zpool("list -H -o name,health").done(), "tank\tONLINE\n");
    daemon.zpool("export tank").done();
    assert_clean(&scratch.path("disks"), "tank");

    // One side garbage: the mirror does without it. Both gone: the pool is not there.
    let mut garbage = vec![0; 128 << 20];
    Prng::new(5).fill(&mut garbage);
    fs::write(&b, &garbage).expect("overwritten");
    daemon.zpool(&format!("import -d {folder} tank")).done();
    assert_eq!(daemon.zpool("list -H -o name,health").done(), "tank\tDEGRADED\n");
    daemon.zfs("create tank/still-works").done();
    daemon.zpool("export tank").done();
    File::options().write(true).open(&a).and_then(|file| file.set_len(0)).expect("truncated");
    refuse(
        &daemon,
        "zpool",
        &format!("import -d {folder} tank"),
        "cannot import 'tank': no such pool available",
    );
    daemon.stop();
}

/// With /etc/hostid the machine is the same for every daemon on it; without, a daemon of another
/// state folder is a stranger, and has to be told.
#[test]
fn a_pool_left_active_comes_back_to_its_own_machine() {
    let scratch = Scratch::new("active");
    let mut first = Daemon::start(&scratch);
    let (a, folder) = (scratch.image("a", 128), scratch.text("disks"));
    first.zpool(&format!("create -m none tank {a}")).done();
    first.zfs("create tank/fs").done();
    first.kill();
    let mut second = Daemon::start_with(&scratch, "second", &[]);
    let is_named = Path::new("/etc/hostid").exists();
    let import = second.zpool(&format!("import -d {folder} tank"));
    if !is_named {
        assert_eq!(import.status, 1, "{import:?}");
        assert!(import.err.contains("pool was previously in use from another system"), "{import:?}");
        second.zpool(&format!("import -f -d {folder} tank")).done();
    }
    assert_eq!(second.zfs("list -H -o name").done(), "tank\ntank/fs\n");
    second.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

#[test]
fn cache_devices_are_added_lost_brought_back_and_removed() {
    let scratch = Scratch::new("cache");
    let mut daemon = Daemon::start(&scratch);
    let (a, c, d) = (scratch.image("a", 128), scratch.image("c", 128), scratch.image("d", 128));
    daemon.zpool(&format!("create -m none tank {a} cache {c}")).done();
    daemon.zpool(&format!("add tank cache {d}")).done();
    let state = |daemon: &Daemon, path: &str| {
        let status = daemon.zpool("status tank").done();
        let line = status.lines().skip_while(|line| *line != "\tcache").find(|line| line.contains(path));
        line.and_then(|line| line.split_whitespace().nth(1).map(str::to_owned))
    };
    assert_eq!(state(&daemon, &c).as_deref(), Some("ONLINE"));
    assert_eq!(state(&daemon, &d).as_deref(), Some("ONLINE"));
    let busy = format!(
        "invalid vdev specification\nuse '-f' to override the following errors:\n{d} is part of unknown pool 'tank'"
    );
    refuse(&daemon, "zpool", &format!("add tank cache {d}"), &busy);
    let same = "cannot add to 'tank': one or more vdevs refer to the same device";
    refuse(&daemon, "zpool", &format!("add -f tank cache {d}"), same);
    let mirror = "invalid vdev specification: cache requires at least 1 devices";
    refuse(&daemon, "zpool", &format!("add tank cache mirror {c} {d}"), mirror);
    daemon.zpool(&format!("remove tank {c}")).done();
    assert_eq!(state(&daemon, &c), None);
    refuse(&daemon, "zpool", "remove tank nothing", "cannot remove nothing: no such device in pool");
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");

    let away = format!("{d}.away");
    fs::rename(&d, &away).unwrap();
    daemon.begin();
    assert_eq!(state(&daemon, &d).as_deref(), Some("UNAVAIL"));
    assert_eq!(daemon.zpool("list -H -o health tank").done(), "ONLINE\n");
    refuse(&daemon, "zpool", &format!("online tank {d}"), &format!("cannot online {d}: no such device"));
    fs::rename(&away, &d).unwrap();
    daemon.zpool(&format!("online tank {d}")).done();
    assert_eq!(state(&daemon, &d).as_deref(), Some("ONLINE"));
    daemon.zpool(&format!("remove tank {d}")).done();
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

#[test]
fn what_create_would_do_is_told_in_openzfs_lines() {
    let scratch = Scratch::new("create-dry");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create tank/fs").done();
    let said = |line: &str| {
        let ran = daemon.zfs(line);
        (ran.status, ran.out, ran.err)
    };
    let done = |out: &str, err: &str| (0, out.to_owned(), err.to_owned());
    assert_eq!(
        said("create -nv -V 128M tank/v"),
        done("would create tank/v\n\tvolsize=134217728\n\trefreservation=138412032\n", "")
    );
    // What is known better than it was asked for comes last: blocks that are not the usual ones,
    // whole blocks.
    let warning = "Warning: volblocksize (8192) is less than the default minimum block size (16384).\n\
                   To reduce wasted space a volblocksize of 16384 is recommended.\n";
    let lines = "compression\tlz4\nvolblocksize\t8192\nvolsize\t33005568\nrefreservation\t36151296\n";
    let lines: String = lines.lines().map(|line| format!("property\t{line}\n")).collect();
    assert_eq!(
        said("create -nP -V 33000000 -b 8K -o compression=lz4 tank/v"),
        done(&format!("create\ttank/v\n{lines}"), warning)
    );
    assert_eq!(
        said("create -s -nP -V 1T tank/v"),
        done("create\ttank/v\nproperty\tvolsize\t1099511627776\n", "")
    );
    // A size of nothing is refused by who makes volumes.
    assert_eq!(
        said("create -nP -V 0 tank/v"),
        done("create\ttank/v\nproperty\tvolsize\t0\nproperty\trefreservation\t1835008\n", "")
    );
    assert_eq!(
        said("create -s -nP -V 1.5GiB tank/v"),
        done("create\ttank/v\nproperty\tvolsize\t1610612736\n", "")
    );
    assert_eq!(
        said("create -p -nv -V 1M -o refreservation=none tank/x/v"),
        done(
            "would create ancestors of tank/x/v\nwould create tank/x/v\n\tvolsize=1048576\n\trefreservation=none\n",
            ""
        )
    );
    // Only the pool and the properties are looked at; with -p what exists is done.
    assert_eq!(said("create -nv tank/fs"), done("would create tank/fs\n", ""));
    assert_eq!(said("create -p -nv tank/fs"), done("", ""));
    assert_eq!(said("create -n -V 1M tank/no/v"), done("", ""));
    let refusals = [
        ("create -n -V 1M none/v", "cannot open 'none': no such pool"),
        ("create -V 1M none/v", "cannot open 'none': no such pool"),
        ("create -V 0 tank/v", "cannot create 'tank/v': volume size cannot be zero"),
        ("create -n -V much tank/v", "bad volume size 'much': bad numeric value 'much'"),
        ("create -n -V 1M -b 8Q tank/v", "bad volume block size '8Q': invalid numeric suffix 'Q'"),
        ("create -n -V 16E tank/v", "bad volume size '16E': numeric value is too large"),
        ("create -n -o used=1 tank/x", "cannot verify 'tank/x': 'used' is readonly"),
        (
            "create -n -V 1M -o atime=off tank/v",
            "cannot verify 'tank/v': 'atime' does not apply to datasets of this type",
        ),
    ];
    refusals.iter().for_each(|(line, why)| refuse(&daemon, "zfs", line, why));
    assert_eq!(daemon.zfs("list -H -o name").done(), "tank\ntank/fs\n");
    // Told as it is done, too; and that nothing is to be kept is the volume's own value.
    assert_eq!(
        said("create -v -V 1M -o refreservation=none tank/v"),
        done("create tank/v\n\tvolsize=1048576\n\trefreservation=none\n", "")
    );
    daemon.zfs("create -s -V 1M tank/w").done();
    let get = |name: &str| daemon.zfs(&format!("get -H -o value,source refreservation {name}")).done();
    assert_eq!((get("tank/v"), get("tank/w")), ("none\tlocal\n".into(), "none\tdefault\n".into()));
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

#[test]
fn the_file_system_to_boot_from_is_shown_by_its_name() {
    let scratch = Scratch::new("bootfs");
    let mut daemon = Daemon::start(&scratch);
    daemon.zpool(&format!("create -m none tank {}", scratch.image("a", 128))).done();
    daemon.zfs("create tank/root").done();
    let shown = || daemon.zpool("get -H -o value,source bootfs tank").done();
    assert_eq!(shown(), "-\tdefault\n");
    daemon.zpool("set bootfs=tank/root tank").done();
    assert_eq!(shown(), "tank/root\tlocal\n");
    daemon.zfs("rename tank/root tank/other").done();
    assert_eq!(shown(), "tank/other\tlocal\n");
    daemon.zfs("destroy tank/other").done();
    assert_eq!(shown(), "-\tdefault\n");
    daemon.stop();
}

/// The user of a command is that of the program that asked, whoever the daemon is.
#[test]
fn histories_say_who_asked() {
    let scratch = Scratch::new("who");
    let mut daemon = Daemon::start(&scratch);
    let [a, b] = ["a", "b"].map(|name| scratch.image(name, 128));
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("allow -u 1000 create,mount,snapshot,rename tank").done();
    let theirs = |words: &[&str]| {
        let ran = Ran::of(daemon.command(words).uid(1000).gid(1000));
        assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
    };
    daemon.zpool(&format!("add tank {b}")).done();
    theirs(&["zfs", "create", "tank/theirs"]);
    theirs(&["zfs", "rename", "tank/theirs", "tank/own"]);
    theirs(&["zfs", "snapshot", "tank/own@one"]);
    let history = daemon.zpool("history -l tank").done();
    let says = |command: &str, who: &str| {
        history.lines().any(|line| line.contains(&format!("{command} [user {who}")))
    };
    for command in [format!("zpool create -m none tank {a}"), format!("zpool add tank {b}")] {
        assert!(says(&command, "0 (root) on "), "{command}: {history}");
    }
    for command in ["zfs create tank/theirs", "zfs rename tank/theirs tank/own", "zfs snapshot tank/own@one"]
    {
        assert!(says(command, "1000"), "{command}: {history}");
    }
    daemon.stop();
}
