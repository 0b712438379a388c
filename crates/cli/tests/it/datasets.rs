//! `zfs`: datasets and properties.

use crate::fake::{FakeEngine, GET};
use crate::{Daemon, Ran, refused, said};

fn misused(ran: &Ran, first: &str) {
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.err.starts_with(first), "{}", ran.err);
    assert!(ran.err.contains("usage:\n\t"), "{}", ran.err);
}

#[test]
fn listings_equal_those_of_the_real_pool() {
    let daemon = Daemon::captured();
    assert_eq!(
        daemon.zfs("list -t all -o name,used,avail,refer,origin"),
        said(include_str!("captures/zfs-list.txt"))
    );
    assert_eq!(daemon.zfs("get -Hp -t all all"), said(GET));
}

#[test]
fn list_in_every_form() {
    let daemon = Daemon::captured();
    assert_eq!(
        daemon.zfs("list g_mirror2/tree"),
        said(
            "NAME             USED  AVAIL     REFER  MOUNTPOINT\n\
             g_mirror2/tree  18.0M  19.6M     17.7M  /g_mirror2/tree\n"
        )
    );
    assert_eq!(
        daemon.zfs("list -H -d 1 -S used -o name,used g_mirror2"),
        said(
            "g_mirror2\t36.4M\ng_mirror2/tree\t18.0M\ng_mirror2/vol\t13.0M\ng_mirror2/rs_1M\t1.77M\n\
             g_mirror2/off\t1.44M\ng_mirror2/rs_512\t1.03M\ng_mirror2/rs_8k\t982K\n"
        )
    );
    assert_eq!(
        daemon.zfs("list -Hp -t vol,snap -r -s creation -o name,volsize g_mirror2/vol"),
        said("g_mirror2/vol\t6291456\ng_mirror2/vol@s1\t6291456\n")
    );
    assert_eq!(daemon.zfs("list -H -o name g_mirror2/off@s1"), said("g_mirror2/off@s1\n"));
    assert_eq!(
        daemon.zfs("list -j -o name,used g_mirror2/off@s1"),
        said(
            "{\"output_version\":{\"command\":\"zfs list\",\"vers_major\":0,\"vers_minor\":1},\"datasets\":{\
             \"g_mirror2/off@s1\":{\"name\":\"g_mirror2/off@s1\",\"type\":\"SNAPSHOT\",\"pool\":\"g_mirror2\",\
             \"createtxg\":\"84\",\"dataset\":\"g_mirror2/off\",\"snapshot_name\":\"s1\",\"properties\":{\
             \"used\":{\"value\":\"18K\",\"source\":{\"type\":\"NONE\",\"data\":\"-\"}}}}}}\n"
        )
    );
}

/// As sanoid, syncoid, zrepl and democratic-csi ask.
#[test]
fn scripts_get_what_openzfs_gives_them() {
    let daemon = Daemon::captured();
    let snapshot = "g_mirror2/tree@s1";
    assert_eq!(daemon.zfs("list -H -t snapshot -o name g_mirror2/tree"), said(&format!("{snapshot}\n")));
    assert_eq!(
        daemon.zfs("list -Hp -t snap -d 1 -s creation -o name g_mirror2/tree"),
        said(&format!("{snapshot}\n"))
    );
    assert_eq!(daemon.zfs("list -H -o name -t snapshot -r g_mirror2").out.lines().count(), 7);
    assert_eq!(daemon.zfs("list -H -o name -t snapshot g_mirror2"), said("g_mirror2@s1\n"));
    assert_eq!(daemon.zfs("list -H -o name -t filesystem,snapshot g_mirror2/off"), said("g_mirror2/off\n"));
    assert_eq!(daemon.zfs("list -H -t bookmark g_mirror2"), said(""));
    assert_eq!(
        daemon.zfs("get -H -t snapshot -o name,value type g_mirror2/off"),
        said("g_mirror2/off@s1\tsnapshot\n")
    );
    assert_eq!(
        daemon.zfs("get -Hrp -o name,value type g_mirror2/off"),
        said("g_mirror2/off\tfilesystem\ng_mirror2/off@s1\tsnapshot\n")
    );
    assert_eq!(daemon.zfs("get -H name g_mirror2/off"), said("g_mirror2/off\tname\tg_mirror2/off\t-\n"));
    assert_eq!(
        daemon.zfs("get -Hpd 1 -t snapshot -o name,property createtxg g_mirror2/off"),
        said("g_mirror2/off@s1\tcreatetxg\n")
    );
    let all = daemon.zfs("list -o all g_mirror2/off").out;
    let titles: Vec<&str> = all.lines().next().expect("a heading").split_whitespace().collect();
    assert!(titles[0] == "NAME" && titles.contains(&"USED") && titles.contains(&"XATTR"), "{all}");
    assert!(daemon.zpool("list -H -o all").out.starts_with("g_mirror2\t"));
    let broken = daemon.zfs("list -j g_mirror2 g_mirror2/no");
    assert_eq!((broken.status, broken.out.as_str()), (1, ""));
    assert_eq!(daemon.zfs("set com.x:a=1 atime=off com.x:b=two g_mirror2/off g_mirror2/tree"), said(""));
    assert_eq!(
        daemon
            .zfs("get -H -s local -o name,property,value com.x:a,com.x:b,atime g_mirror2/off g_mirror2/tree")
            .out
            .lines()
            .count(),
        6
    );
    assert_eq!(daemon.zpool("get -H -p -o value,source capacity g_mirror2"), said("25\t-\n"));
}

#[test]
fn list_tells_what_it_cannot_find_and_goes_on() {
    let daemon = Daemon::captured();
    let some = daemon.zfs("list -H -o name g_mirror2/no g_mirror2/off nopool");
    assert_eq!(some.status, 1);
    assert_eq!(some.out, "g_mirror2/off\n");
    assert_eq!(
        some.err,
        "cannot open 'g_mirror2/no': dataset does not exist\ncannot open 'nopool': dataset does not exist\n"
    );
    assert_eq!(
        daemon.zfs("list g_mirror2//x"),
        refused("cannot open 'g_mirror2//x': empty component or misplaced '@' or '#' delimiter in name")
    );
    assert_eq!(
        daemon.zfs("list -t volume g_mirror2/off"),
        refused("cannot open 'g_mirror2/off': operation not applicable to datasets of this type")
    );
    misused(&daemon.zfs("list -o name,foo"), "bad property list: invalid property 'foo'\n");
    misused(&daemon.zfs("list -s foo"), "invalid property 'foo'\n");
    misused(&daemon.zfs("list -t everything"), "invalid type 'everything'\n");
    misused(&daemon.zfs("list --json-int"), "'--json-int' only works with '-j' option\n");
    let none = Daemon::start(FakeEngine::default()).zfs("list");
    assert_eq!(none, Ran { status: 0, out: String::new(), err: "no datasets available\n".into() });
}

#[test]
fn get_in_every_form() {
    let daemon = Daemon::captured();
    assert_eq!(
        daemon.zfs("get compression,quota,used,mounted,com.x:y g_mirror2/off g_mirror2"),
        said(
            "NAME           PROPERTY     VALUE           SOURCE\n\
             g_mirror2      compression  lz4             local\n\
             g_mirror2      quota        none            default\n\
             g_mirror2      used         36.4M           -\n\
             g_mirror2      mounted      yes             -\n\
             g_mirror2      com.x:y      -               -\n\
             g_mirror2/off  compression  off             local\n\
             g_mirror2/off  quota        none            default\n\
             g_mirror2/off  used         1.44M           -\n\
             g_mirror2/off  mounted      yes             -\n\
             g_mirror2/off  com.x:y      -               -\n"
        )
    );
    assert_eq!(
        daemon.zfs("get -r -H -o name,value,source -s inherited -t filesystem xattr g_mirror2/off"),
        said("g_mirror2/off\tsa\tinherited from g_mirror2\n")
    );
    assert_eq!(daemon.zfs("get -Hp -o value used,quota g_mirror2"), said("38177280\n0\n"));
    assert_eq!(
        daemon.zfs("get -j --json-int used g_mirror2/off"),
        said(
            "{\"output_version\":{\"command\":\"zfs get\",\"vers_major\":0,\"vers_minor\":1},\"datasets\":{\
             \"g_mirror2/off\":{\"name\":\"g_mirror2/off\",\"type\":\"FILESYSTEM\",\"pool\":\"g_mirror2\",\
             \"createtxg\":54,\"properties\":{\"used\":{\"value\":1512960,\"source\":{\"type\":\"NONE\",\
             \"data\":\"-\"}}}}}}\n"
        )
    );
    misused(&daemon.zfs("get"), "missing property argument\n");
    misused(&daemon.zfs("get -o name,size used"), "invalid column name 'size'\n");
    misused(&daemon.zfs("get -s here used"), "invalid source 'here'\n");
    misused(&daemon.zfs("get nonsense g_mirror2"), "bad property list: invalid property 'nonsense'\n");
}

#[test]
fn create_and_its_refusals() {
    let daemon = Daemon::with_tank();
    assert_eq!(daemon.zfs("create -o compression=lz4 tank/a"), said(""));
    assert_eq!(daemon.zfs("get -H -o value,source compression tank/a"), said("lz4\tlocal\n"));
    assert_eq!(daemon.zfs("create -p tank/b/c/d"), said(""));
    assert_eq!(daemon.zfs("create -p tank/b/c/d"), said(""));
    assert_eq!(daemon.zfs("create -u tank/unmounted"), said(""));
    assert_eq!(
        daemon.mounts.list(),
        ["tank /tank", "tank/a /tank/a", "tank/b /tank/b", "tank/b/c /tank/b/c", "tank/b/c/d /tank/b/c/d"]
    );
    assert_eq!(daemon.zfs("create -nv tank/x"), said("would create tank/x\n"));
    assert_eq!(
        daemon.zfs("create -p -nP -o atime=off tank/x/y"),
        said("create_ancestors\ttank/x/y\ncreate\ttank/x/y\nproperty\tatime\toff\n")
    );
    assert_eq!(daemon.zfs("create -p tank"), said(""), "it is there");
    let long = "n".repeat(251);
    for (line, why) in [
        ("create tank/a".to_owned(), "cannot create 'tank/a': dataset already exists".to_owned()),
        ("create tank/no/child".into(), "cannot create 'tank/no/child': parent does not exist".into()),
        ("create nopool/a".into(), "cannot create 'nopool/a': no such pool 'nopool'".into()),
        ("create tank".into(), "cannot create 'tank': missing dataset name".into()),
        ("create -p nopool".into(), "cannot create 'nopool': no such pool 'nopool'".into()),
        ("create tank/a/".into(), "cannot create 'tank/a/': trailing slash in name".into()),
        (
            "create tank/a@b".into(),
            "cannot create 'tank/a@b': snapshot delimiter '@' is not expected here".into(),
        ),
        (format!("create tank/{long}"), format!("cannot create 'tank/{long}': name is too long")),
        ("create -o used=1 tank/x".into(), "cannot create 'tank/x': 'used' is readonly".into()),
        ("create -o foo=1 tank/x".into(), "cannot create 'tank/x': invalid property 'foo'".into()),
        (
            "create -o compression=brotli tank/x".into(),
            "cannot create 'tank/x': 'compression' must be one of 'on | off | lzjb': brotli".into(),
        ),
        ("create -n nopool/a".into(), "cannot open 'nopool': no such pool".into()),
    ] {
        assert_eq!(daemon.zfs(&line), refused(&why), "{line}");
    }
    misused(&daemon.zfs("create"), "missing filesystem argument\n");
    misused(&daemon.zfs("create -o atime tank/x"), "missing '=' for property=value argument\n");
}

#[test]
fn destroy_asks_for_what_it_takes_along() {
    let daemon = Daemon::with_tank();
    assert_eq!(daemon.zfs("create -p tank/a/b/c"), said(""));
    assert_eq!(
        daemon.zfs("destroy tank/a"),
        refused(
            "cannot destroy 'tank/a': filesystem has children\n\
             use '-r' to destroy the following datasets:\ntank/a/b/c\ntank/a/b"
        )
    );
    assert_eq!(
        daemon.zfs("destroy -nvr tank/a/b"),
        said("would destroy tank/a/b/c\nwould destroy tank/a/b\n")
    );
    assert_eq!(daemon.zfs("destroy -nrp tank/a/b/c"), said("destroy\ttank/a/b/c\n"));
    assert_eq!(
        daemon.zfs("destroy tank"),
        refused(
            "cannot destroy 'tank': operation does not apply to pools\n\
             use 'zfs destroy -r tank' to destroy all datasets in the pool\n\
             use 'zpool destroy tank' to destroy the pool itself"
        )
    );
    daemon.mounts.busy.lock().expect("unpoisoned").push("/tank/a/b/c".into());
    assert_eq!(
        daemon.zfs("destroy -r tank/a"),
        refused("cannot unmount '/tank/a/b/c': pool or dataset is busy")
    );
    assert_eq!(
        daemon.zfs("destroy -rf tank/a"),
        refused("cannot unmount '/tank/a/b/c': pool or dataset is busy"),
        "force takes it from nobody"
    );
    daemon.mounts.busy.lock().expect("unpoisoned").clear();
    assert_eq!(daemon.zfs("destroy -rf tank/a"), said(""));
    assert_eq!(daemon.mounts.list(), ["tank /tank"]);
    assert_eq!(daemon.zfs("list -H -o name"), said("tank\n"));
    assert_eq!(daemon.zfs("destroy tank/a"), refused("cannot open 'tank/a': dataset does not exist"));
    assert_eq!(daemon.zfs("create tank/b"), said(""));
    assert_eq!(daemon.zfs("destroy -rv tank"), said("will destroy tank/b\nwill destroy tank\n"));
    assert_eq!(daemon.zfs("list -H -o name"), said("tank\n"));
    assert_eq!(daemon.mounts.list(), ["tank /tank"]);
}

#[test]
fn set_and_inherit() {
    let daemon = Daemon::with_tank();
    assert_eq!(daemon.zfs("create tank/a"), said(""));
    assert_eq!(daemon.zfs("set atime=off com.x:note=hello tank/a tank"), said(""));
    assert_eq!(daemon.zfs("get -H -o value atime tank/a"), said("off\n"));
    assert_eq!(daemon.zfs("get -H -o value com.x:note tank"), said("hello\n"));
    assert_eq!(daemon.zfs("inherit -r atime tank"), said(""));
    assert_eq!(daemon.zfs("get -H -o value,source atime tank/a"), said("on\tdefault\n"));
    assert_eq!(
        daemon.zfs("set used=5 tank/a"),
        refused("cannot set property for 'tank/a': 'used' is readonly")
    );
    assert_eq!(
        daemon.zfs("set foo=5 tank/a"),
        refused("cannot set property for 'tank/a': invalid property 'foo'")
    );
    assert_eq!(daemon.zfs("set atime=on tank/no"), refused("cannot open 'tank/no': dataset does not exist"));
    misused(&daemon.zfs("set"), "missing arguments\n");
    misused(&daemon.zfs("set tank/a"), "missing property=value argument(s)\n");
    misused(&daemon.zfs("set atime=on"), "missing dataset name(s)\n");
    misused(&daemon.zfs("set atime=on tank/a exec=on"), "invalid argument order\n");
    assert_eq!(daemon.zfs("inherit used tank"), refused("used property is read-only"));
    assert_eq!(
        daemon.zfs("inherit quota tank"),
        refused(
            "'quota' property cannot be inherited\nuse 'zfs set quota=none' to clear\n\
             use 'zfs inherit -S quota' to revert to received value"
        )
    );
    misused(&daemon.zfs("inherit foo tank"), "invalid property 'foo'\n");
}

#[test]
fn rename_takes_mounts_along() {
    let daemon = Daemon::with_tank();
    assert_eq!(daemon.zfs("create -p tank/a/b"), said(""));
    assert_eq!(daemon.zfs("rename tank/a tank/z"), said(""));
    assert_eq!(daemon.mounts.list(), ["tank /tank", "tank/z /tank/z", "tank/z/b /tank/z/b"]);
    for (line, why) in [
        ("rename tank/no tank/x", "cannot open 'tank/no': dataset does not exist"),
        ("rename tank/z tank/no/x", "cannot create 'tank/no/x': parent does not exist"),
        ("rename tank/z other/z", "cannot rename to 'other/z': datasets must be within same pool"),
        (
            "rename tank/z tank/z/in",
            "cannot rename to 'tank/z/in': New dataset name cannot be a descendant of current dataset name",
        ),
        (
            "rename tank/z tank/b//c",
            "cannot rename to 'tank/b//c': empty component or misplaced '@' or '#' delimiter in name",
        ),
    ] {
        assert_eq!(daemon.zfs(line), refused(why), "{line}");
    }
    misused(&daemon.zfs("rename tank/z"), "missing target dataset argument\n");
    misused(&daemon.zfs("rename -up tank/z tank/y"), "-u and -p options are mutually exclusive\n");
}

#[test]
fn file_systems_are_upgraded() {
    let daemon = Daemon::with_tank();
    let current = "This system is currently running ZFS filesystem version 5.\n\n";
    daemon.zfs("create tank/old");
    daemon.zfs("set version=3 tank/old");
    let listed = daemon.zfs("upgrade").out;
    assert!(
        listed.starts_with(current)
            && listed.ends_with("\n\nVER  FILESYSTEM\n---  ------------\n 3   tank/old\n")
    );
    let lower = Ran {
        status: 1,
        out: "tank/old: can not be downgraded; it is already at version 3\n0 filesystems upgraded\n".into(),
        err: String::new(),
    };
    assert_eq!(daemon.zfs("upgrade -V 2 tank/old"), lower);
    assert_eq!(
        daemon.zfs("upgrade -r tank"),
        said("1 filesystems upgraded\n1 filesystems already at this version\n")
    );
    let all_new = format!("{current}All filesystems are formatted with the current version.\n");
    assert_eq!(daemon.zfs("upgrade"), said(&all_new));
    assert!(daemon.zfs("upgrade -v").out.contains("\n 4   userquota, groupquota properties\n"));
    misused(&daemon.zfs("upgrade -r"), "");
    misused(&daemon.zfs("upgrade -V 6 tank"), "invalid version 6");
}

#[test]
fn options_of_send_that_do_not_go_together() {
    let daemon = Daemon::captured();
    for (line, why) in [
        ("", "missing snapshot argument\n"),
        ("tank/a@1 tank/a@2", "too many arguments\n"),
        ("-i", "missing argument for 'i' option\n"),
        ("--exclude", "missing argument for '--exclude' option\n"),
        ("--large-blocks tank/a@1", "invalid option '--large-blocks'\n"),
        ("-U tank/a@1", "invalid option 'U'\n"),
        ("-i @0 -I @1 tank/a@2", "usage:\n"),
        ("--resume 1-2-3 --props", "invalid flags combined with -t\n"),
        ("--resume 1-2-3 --saved", "invalid flags combined with -t\n"),
        ("-t 1-2-3 tank/a@1", "too many arguments\n"),
        ("--saved --compressed tank/a", "incompatible flags combined with saved send flag\n"),
        ("-S -i @1 tank/a", "incompatible flags combined with saved send flag\n"),
        ("-S tank/a@1", "saved send must specify the dataset with partially-received state\n"),
        ("-R -X tank tank/a@1", "-X tank: not a valid non-root dataset name.\n"),
        ("-R --exclude=tank/a,tank//b tank/a@1", "-X tank//b: not a valid non-root dataset name.\n"),
        ("-n -R -i g_mirror2/off@s0 g_mirror2@s1", "incremental source must be in same filesystem\n"),
        ("-n -I @s0@1 g_mirror2@s1", "invalid incremental source\n"),
        ("-n --skip-missing tank/a@1", "skip-missing flag can only be used in conjunction with replicate\n"),
    ] {
        misused(&daemon.zfs(&format!("send {line}")), why);
    }
    for (line, why) in [
        ("-X tank/b tank/a@1", "Cannot specify dataset exclusion (-X) on a non-recursive send."),
        ("--raw --redact mark tank/a@1", "Error: raw sends may not be redacted."),
        ("-n --replicate -i #mark tank/a@1", "Error: multiple snapshots cannot be sent from a bookmark."),
        ("-n -R --redact mark tank/a@1", "Error: multiple snapshots cannot be sent redacted."),
        ("-n -R -i tank/b@0 tank/a@1", "cannot open 'tank/a': dataset does not exist"),
        ("-n tank/a#1", "cannot open 'tank/a#1': bookmark delimiter '#' is not expected here"),
        ("-n --replicate tank/a", "Error: Unsupported flag with filesystem or bookmark."),
        ("-n --redact mark tank/a@1", "zfs send --redact: not supported by this version of Cistern yet"),
    ] {
        assert_eq!(daemon.zfs(&format!("send {line}")), refused(why), "{line}");
    }
}

#[test]
fn allow_tells_its_own_usage_and_what_is_wrong() {
    let daemon = Daemon::start(FakeEngine::default());
    let help = daemon.zfs("allow -h");
    assert_eq!((help.status, help.err.as_str()), (0, ""));
    assert!(help.out.starts_with("Usage: \tallow <filesystem|volume>\n\tallow [-ldug] "), "{}", help.out);
    for line in [
        "\n\nOptions:\n  -h          show this help message and exit\n",
        "\nNAME             TYPE          \tNOTES\n",
        "\nallow            subcommand    \tMust also have the permission that is being\n\t\t\t\tallowed\n",
        "\nuserprop         other         \tAllows changing any user property\n",
        "\nreadonly         property      \t\n",
    ] {
        assert!(help.out.contains(line), "{line:?}\n{}", help.out);
    }
    assert!(!help.out.contains("\ncreation ") && !help.out.contains("  -r "), "{}", help.out);
    assert!(daemon.zfs("unallow -h").out.contains("  -r          remove permissions recursively\n"));
    let wrong = daemon.zfs("allow -u joe tank");
    assert_eq!((wrong.status, wrong.out.as_str()), (2, ""));
    assert!(wrong.err.ends_with("\n\nzfs: error: wrong number of parameters\n"), "{}", wrong.err);
    let wrong = daemon.zfs("allow -x tank");
    assert_eq!(wrong.status, 2);
    assert!(
        wrong.err.starts_with("invalid option 'x'\nusage:\n\tallow <filesystem|volume>\n"),
        "{}",
        wrong.err
    );
    for (name, why) in [
        ("none", "dataset does not exist"),
        ("tank@s", "snapshot delimiter '@' is not expected here"),
        ("/tank", "leading slash in name"),
    ] {
        let missing = daemon.zfs(&format!("allow {name}"));
        let expected = format!("cannot open '{name}': {why}\nFailed to open dataset: {name}\n");
        assert_eq!((missing.status, missing.err), (255, expected));
    }
}
