//! Command lines of which OpenZFS refuses what makes no sense, and takes what does: each was wrong
//! here once.

use std::fs;

use crate::daemon::{Daemon, Scratch};
use crate::zdb::stop_and_check;

/// Status and what is said where a command is refused, with paths of disks filled in.
struct Bench {
    daemon: Daemon,
    scratch: Scratch,
}

impl Bench {
    fn new(name: &str) -> Bench {
        let scratch = Scratch::new(name);
        let daemon = Daemon::start(&scratch);
        Bench { daemon, scratch }
    }

    /// `{a}` is the path of a disk of that name.
    fn filled(&self, line: &str) -> String {
        let mut words = line.split('{');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |line, word| {
            let (name, rest) = word.split_once('}').expect("a closing brace");
            line + &self.scratch.text(&format!("disks/{name}.img")) + rest
        })
    }

    fn zpool(&self, line: &str) -> crate::daemon::Ran {
        self.daemon.zpool(&self.filled(line))
    }

    #[track_caller]
    fn refuses(&self, line: &str, message: &str) {
        let ran = self.zpool(line);
        assert_eq!((ran.status, ran.err.trim_end()), (1, &*self.filled(message)), "zpool {line}");
    }
}

#[test]
fn new_pools_get_what_they_were_given_or_are_not_made() {
    let bench = Bench::new("new-pools");
    for disk in ["a", "b", "c", "d", "e", "f"] {
        bench.scratch.image(disk, 128);
    }
    // Also where nothing is to be made.
    for value in ["9999", "8", "17"] {
        let why = format!("invalid 'ashift={value}' property: only values between 9 and 16 are allowed.");
        bench.refuses(&format!("create -n -o ashift={value} q {{a}}"), &why);
        bench.refuses(&format!("create -o ashift={value} q {{a}}"), &why);
    }
    bench.refuses("create -n -o ashift=on q {a}", "ashift must be a number.");
    let twice = |class| format!("invalid vdev specification: '{class}' can be specified only once");
    for class in ["log", "cache", "spare"] {
        bench.refuses(&format!("create q {{a}} {class} {{b}} {class} {{c}}"), &twice(class));
    }
    bench.refuses("create -O QuOta=1G q {a}", "property 'QuOta' is not a valid filesystem property");
    bench.refuses("create -O ATIME=on q {a}", "property 'ATIME' is not a valid filesystem property");
    bench.refuses(
        "create -o compatibility=/no/such/set q {a}",
        "cannot create 'q': could not read/parse feature file(s): /no/such/set",
    );

    // A mirror behind spares is data, and a set of features may be any file.
    let set = bench.scratch.text("set");
    fs::write(&set, "async_destroy lz4_compress # two\nskein,bookmarks\n").expect("written");
    let line = format!(
        "create -m none -o compatibility={set} -O userquota@root=10M q spare {{c}} mirror {{d}} {{e}}"
    );
    bench.zpool(&line).done();
    let status = bench.daemon.zpool("status q").done();
    assert!(status.contains("\t  mirror-0 "), "{status}");
    let enabled = bench.daemon.zpool("get -H -o property,value all q").done();
    let mut enabled: Vec<&str> = enabled
        .lines()
        .filter(|line| line.starts_with("feature@") && !line.ends_with("disabled"))
        .filter_map(|line| line.strip_prefix("feature@")?.split('\t').next())
        .collect();
    enabled.sort_unstable();
    // With what these need.
    assert_eq!(enabled, ["async_destroy", "bookmarks", "extensible_dataset", "lz4_compress", "skein"]);
    assert_eq!(bench.daemon.zfs("get -H -o value userquota@0 q").done(), "10M\n");
    bench.refuses(
        "set compatibility=/no/such/set q",
        "cannot set property for 'q': could not read/parse feature file(s): /no/such/set",
    );
    bench.zpool("destroy q").done();
}

#[test]
fn a_disk_that_joins_has_sectors_as_the_pool_wants_them() {
    let mut bench = Bench::new("new-sectors");
    for disk in ["a", "b", "c", "d"] {
        bench.scratch.image(disk, 128);
    }
    let ashift = |bench: &Bench| bench.daemon.zpool("get -H -o value,source ashift q").done();
    bench.zpool("create -m none q {a}").done();
    assert_eq!(ashift(&bench), "0\tdefault\n");
    bench.zpool("destroy q").done();
    bench.zpool("create -f -m none -o ashift=9 q {a}").done();
    assert_eq!(ashift(&bench), "9\tlocal\n");
    // An image file likes 4 KiB best: the pool's own size is what counts.
    bench.zpool("replace -w q {a} {b}").done();
    bench.zpool("set ashift=13 q").done();
    assert_eq!(ashift(&bench), "13\tlocal\n");
    let why = "new device has a different optimal sector size; use the option '-o ashift=N' to override the optimal size";
    bench.refuses("replace q {b} {c}", &format!("cannot replace {{b}} with {{c}}: {why}"));
    bench.zpool("replace -w -o ashift=9 q {b} {c}").done();
    bench.zpool("add q {d}").done();
    bench.zpool("set ashift=0 q").done();
    assert_eq!(ashift(&bench), "0\tlocal\n");
    let (disks, daemon) = (bench.scratch.path("disks"), &mut bench.daemon);
    stop_and_check(daemon, &disks, "q");
}

#[test]
fn names_and_kinds_are_judged() {
    let bench = Bench::new("judged");
    bench.scratch.image("a", 128);
    let (daemon, full) = (&bench.daemon, bench.scratch.text("full"));
    bench.zpool("create -m none q {a}").done();
    daemon.zfs("create -s -V 10M q/vol").done();
    daemon.zfs(&format!("create -o mountpoint={full} q/fs")).done();
    daemon.zfs("snapshot q/vol@s").done();
    let unfit = "cannot set property for 'q': operation not supported on this type of pool";
    bench.refuses("set bootfs=q/vol q", unfit);
    bench.refuses("set bootfs=q/vol@s q", unfit);
    bench.zpool("set bootfs=q/fs q").done();
    bench.refuses(
        "resilver q",
        "cannot restart resilver on q: this action requires the resilver_defer feature",
    );
    bench.zpool("set feature@resilver_defer=enabled q").done();
    bench.zpool("resilver q").done();
    let events = daemon.zpool("events q/fs");
    assert!(events.status == 2 && events.err.starts_with("invalid pool name 'q/fs'\n"), "{events:?}");

    let moved = daemon.zfs("rename q/fs q/vol/fs");
    let why = "cannot create 'q/vol/fs': parent is not a filesystem\n";
    assert_eq!((moved.status, &*moved.err), (1, why));
    let mapped = daemon.run(&["iscsi", "map", "q/fs"]);
    assert_eq!((mapped.status, &*mapped.err), (1, "cannot share 'q/fs': not a volume\n"));
    assert_eq!(daemon.zfs("get -H -o value cistern:iscsi q/fs").done(), "-\n");

    // Nothing that is wanted lies at what is named: that is no mistake where a depth is given.
    let none = daemon.zfs("list -d 0 -t snapshot q/vol");
    assert_eq!((none.status, &*none.out, &*none.err), (0, "", "no datasets available\n"));
    let long = format!("user:{}", "n".repeat(245));
    daemon.zfs(&format!("set {long}={} q/fs", "v".repeat(8190))).done();
    assert_eq!(daemon.zfs(&format!("get -H -o value {long} q/fs")).done().trim_end().len(), 8190);

    // A directory with something in it is mounted over, unless that is not wanted.
    fs::create_dir_all(&full).and_then(|()| fs::write(bench.scratch.path("full/x"), "x")).expect("written");
    daemon.zfs("set overlay=off q/fs").done();
    let refused = daemon.zfs("mount q/fs");
    let why = format!("cannot mount '{full}': directory is not empty\n");
    assert_eq!((refused.status, &*refused.err), (1, &*why));
    daemon.zfs("inherit overlay q/fs").done();
    daemon.zfs("mount q/fs").done();
    assert!(!bench.scratch.path("full/x").exists());
    daemon.zfs("unmount q/fs").done();
    assert!(bench.scratch.path("full/x").exists());
}

#[test]
fn iostat_takes_vdevs() {
    let bench = Bench::new("iostat-vdevs");
    for disk in ["a", "b", "c"] {
        bench.scratch.image(disk, 128);
    }
    bench.zpool("create -m none q mirror {a} {b} cache {c}").done();
    let names = |line: &str| {
        let out = bench.zpool(line).done();
        let rows = out.lines().filter_map(|row| row.split_whitespace().next());
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    let a = bench.filled("{a}");
    assert_eq!(names("iostat -H {a}"), [a.as_str()]);
    assert_eq!(names("iostat -H q {b} mirror-0"), ["mirror-0".to_owned(), bench.filled("{b}")]);
    assert_eq!(names("iostat -H {c}"), [bench.filled("{c}")]);
    let shown = bench.zpool("iostat {a}").done();
    assert!(shown.lines().nth(1).is_some_and(|row| row.starts_with("vdev ")), "{shown}");
    assert!(shown.lines().last().is_some_and(|row| row.starts_with("-----")), "{shown}");
    bench.refuses("iostat nothing", "Unable to parse pools/vdevs list.");
    let mixed = bench.zpool("iostat q {a} nothing");
    let text = "Expected either a list of pools, or list of vdevs in \"q\", but got:\n\
                \t{a} (vdev in this pool)\n\tnothing (unknown)\n";
    assert!(mixed.status == 2 && mixed.err.starts_with(&bench.filled(text)), "{mixed:?}");
}

#[test]
fn programs_say_more_of_devices() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new("scripts");
    for disk in ["a", "b"] {
        bench.scratch.image(disk, 128);
    }
    bench.zpool("create -m none q mirror {a} {b}").done();
    let folder = bench.scratch.folder("programs");
    let programs = [
        (
            "disk",
            "[ \"$1\" = -h ] && echo tells the disk && exit\necho name=$(basename $VDEV_PATH .img)\necho empty=",
        ),
        ("own", "echo words of its own\necho never=seen"),
        ("fails", "echo failed=yes\nexit 1"),
    ];
    for (name, text) in programs {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("changed");
    }
    let run = |line: &str, as_root: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut command = bench.daemon.command(&[&["zpool"], &words[..]].concat());
        command.env("ZPOOL_SCRIPTS_PATH", &folder).env("ZPOOL_SCRIPTS_AS_ROOT", as_root);
        crate::daemon::Ran::of(&mut command)
    };
    for command in ["status", "iostat"] {
        let refused = run(&format!("{command} -c disk"), "no");
        let why = "Can't run -c with root privileges unless ZPOOL_SCRIPTS_AS_ROOT is set.\n";
        assert_eq!((refused.status, &*refused.err), (1, why), "{command}");
        let listed = run(&format!("{command} -c"), "no").done();
        let head = format!("Available 'zpool {command} -c' commands:\n");
        assert!(
            listed.starts_with(&head) && listed.contains("  disk            tells the disk\n"),
            "{listed}"
        );
        let shown = run(&format!("{command} -c disk,own,fails,/bin/true,nothing q"), "1").done();
        let (a, b) = (bench.filled("{a}"), bench.filled("{b}"));
        let row = |of: &str| shown.lines().find(|line| line.contains(of)).unwrap_or_default().to_owned();
        assert!(row(&a).ends_with("     a      -  words of its own"), "{shown}");
        assert!(row(&b).ends_with("     b      -  words of its own"), "{shown}");
        assert!(row("read").ends_with("  name  empty") || row("READ").ends_with("  name  empty"), "{shown}");
        assert!(!shown.contains("never") && !shown.contains("failed"), "{shown}");
    }
}
