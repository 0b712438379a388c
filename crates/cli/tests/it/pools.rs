//! `zpool`

use crate::fake::{FakeEngine, POOL_GET, bucket, with_extras};
use crate::{Daemon, Ran, refused, said};
use engine_api::refusal::{Action, ImportFault, Reason, Refused};
use engine_api::{Condition, DedupTables, Health, Removal, RemovalState, Rewound, SweepState, SweepStatus};

#[test]
fn listings_equal_those_of_the_real_pool() {
    let daemon = Daemon::captured();
    assert_eq!(daemon.zpool("list -v"), said(include_str!("captures/zpool-list.txt")));
    assert_eq!(daemon.zpool("status"), said(include_str!("captures/zpool-status.txt")));
    assert_eq!(daemon.zpool("get -Hp all"), said(POOL_GET));
}

#[test]
fn devices_beside_the_tree_have_headings() {
    let daemon = Daemon::start(FakeEngine::with(vec![with_extras()]));
    assert_eq!(daemon.zpool("list -v"), said(include_str!("captures/zpool-list-extras.txt")));
    assert_eq!(daemon.zpool("status"), said(include_str!("captures/zpool-status-extras.txt")));
    assert_eq!(
        daemon.zpool("iostat -v").out.lines().skip(9).collect::<Vec<_>>(),
        [
            "    vdd         -      -      0      0      0      0",
            "logs            -      -      -      -      -      -",
            "  vde        136K  79.9M      0      0      0      0",
            "cache           -      -      -      -      -      -",
            "  vdf       23.7M  57.8M      3      0      0      0",
            "----------  -----  -----  -----  -----  -----  -----",
        ]
    );
    let json = |line: &str| serde_json::from_str::<serde_json::Value>(&daemon.zpool(line).out).expect("JSON");
    for command in ["status -j", "list -vj"] {
        let pool = &json(command)["pools"]["g_som"];
        assert_eq!(pool["logs"]["vde"]["class"], "log");
        assert_eq!(pool["l2cache"]["vdf"]["state"], "ONLINE");
        assert_eq!(
            (&pool["spares"]["vdg"]["class"], &pool["spares"]["vdg"]["state"]),
            (&"spare".into(), &"AVAIL".into())
        );
    }
    assert_eq!(
        json("status -j")["pools"]["g_som"]["vdevs"]["g_som"]["vdevs"].as_object().expect("two").len(),
        2
    );
    let flat = &json("status -j --json-flat-vdevs")["pools"]["g_som"]["vdevs"];
    assert!(flat["vdg"].is_object());
    assert_eq!((&flat["vda"]["parent"], &flat["mirror-0"]["parent"]), (&"mirror-0".into(), &"g_som".into()));
    assert_eq!(flat["mirror-0"]["vdevs"]["vda"], flat["vda"]);
    {
        let pool = daemon.engine.named("g_som");
        let spare = &mut pool.status.lock().expect("unpoisoned").spares[0];
        (spare.health, spare.physical, spare.note) = (Health::Unavail, 0, Some("cannot open".into()));
    }
    let status = daemon.zpool("status").out;
    assert!(status.contains("\tspares\n\t  vdg       UNAVAIL   cannot open\n"), "{status}");
    assert_eq!(json("status -j")["pools"]["g_som"]["spares"]["vdg"]["aux"], "OPEN_FAILED");
    let list = daemon.zpool("list -v").out;
    assert!(
        list.ends_with("  vdg           -      -      -        -         -      -      -      -   UNAVAIL\n"),
        "{list}"
    );
}

#[test]
fn list_in_every_form() {
    let daemon = Daemon::captured();
    assert_eq!(
        daemon.zpool("list"),
        said(
            "NAME        SIZE  ALLOC   FREE  CKPOINT  EXPANDSZ   FRAG    CAP  DEDUP    HEALTH  ALTROOT\n\
             g_mirror2   112M  28.4M  83.6M        -         -    11%    25%  1.00x    ONLINE  -\n"
        )
    );
    assert_eq!(
        daemon.zpool("list -Hp -o name,size,frag,cap,health,feature@lz4_compress g_mirror2"),
        said("g_mirror2\t117440512\t11\t25\tONLINE\tactive\n")
    );
    assert_eq!(
        daemon.zpool("list -j --json-int -o name,size,health"),
        said(
            "{\"output_version\":{\"command\":\"zpool list\",\"vers_major\":0,\"vers_minor\":1},\"pools\":{\"g_mirror2\":{\
             \"name\":\"g_mirror2\",\"type\":\"POOL\",\"state\":\"ONLINE\",\"pool_guid\":8688522676606861654,\"txg\":100,\
             \"spa_version\":5000,\"zpl_version\":5,\"properties\":{\
             \"size\":{\"value\":117440512,\"source\":{\"type\":\"NONE\",\"data\":\"-\"}},\
             \"health\":{\"value\":\"ONLINE\",\"source\":{\"type\":\"NONE\",\"data\":\"-\"}}}}}}\n"
        )
    );
    assert_eq!(daemon.zpool("list nosuch"), refused("cannot open 'nosuch': no such pool"));
    let bad = daemon.zpool("list -o name,nonsense");
    assert_eq!(bad.status, 2);
    assert!(
        bad.err.starts_with("bad property list: invalid property 'nonsense'\nusage:\n\tlist "),
        "{}",
        bad.err
    );
    assert!(bad.err.contains("the following properties are supported:"));
    assert_eq!(Daemon::start(FakeEngine::default()).zpool("list"), said("no pools available\n"));
}

#[test]
fn get_lines_up_its_columns() {
    let daemon = Daemon::captured();
    assert_eq!(
        daemon.zpool("get size,health,ashift,comment g_mirror2"),
        said(
            "NAME       PROPERTY  VALUE     SOURCE\n\
             g_mirror2  size      112M      -\n\
             g_mirror2  health    ONLINE    -\n\
             g_mirror2  ashift    0         default\n\
             g_mirror2  comment   -         default\n"
        )
    );
    assert_eq!(daemon.zpool("get").status, 2);
    assert_eq!(daemon.zpool("get size nosuch"), refused("cannot open 'nosuch': no such pool"));
}

#[test]
fn set_checks_what_can_be_checked_here() {
    let daemon = Daemon::captured();
    assert_eq!(daemon.zpool("set comment=shelf g_mirror2"), said(""));
    assert_eq!(daemon.zpool("get -H -o value,source comment g_mirror2"), said("shelf\tlocal\n"));
    assert_eq!(
        daemon.zpool("set size=1 g_mirror2"),
        refused("cannot set property for 'g_mirror2': 'size' is readonly")
    );
    assert_eq!(
        daemon.zpool("set nonsense=1 g_mirror2"),
        refused("cannot set property for 'g_mirror2': invalid property 'nonsense'")
    );
    assert_eq!(daemon.zpool("set comment=x nosuch"), refused("cannot open 'nosuch': no such pool"));
    assert_eq!(daemon.zpool("set comment g_mirror2").status, 2);
}

#[test]
fn status_of_a_pool_with_problems() {
    let daemon = Daemon::captured();
    assert_eq!(daemon.zpool("status -x"), said("all pools are healthy\n"));
    assert_eq!(daemon.zpool("status -x g_mirror2"), said("pool 'g_mirror2' is healthy\n"));
    {
        let pool = daemon.engine.named("g_mirror2");
        let mut status = pool.status.lock().expect("unpoisoned");
        status.health = Health::Degraded;
        status.scan = None;
        status.condition = Some(Condition::Other {
            status:
                "One or more devices could not be used because the label is missing or invalid.  Sufficient \
                 replicas exist for the pool to continue functioning in a degraded state."
                    .into(),
            action: "Replace the device using 'zpool replace'.".into(),
            msgid: Some("ZFS-8000-4J".into()),
        });
        status.data_errors = 2;
        status.root.health = Health::Degraded;
        let mirror = &mut status.root.children[0];
        mirror.health = Health::Degraded;
        mirror.children[1].health = Health::Unavail;
        mirror.children[1].checksum_errors = 1234;
        mirror.children[1].note = Some("corrupted data".into());
    }
    assert_eq!(
        daemon.zpool("status -x"),
        said(
            "  pool: g_mirror2\n state: DEGRADED\n\
             status: One or more devices could not be used because the label is missing or\n\
             \tinvalid.  Sufficient replicas exist for the pool to continue\n\
             \tfunctioning in a degraded state.\n\
             action: Replace the device using 'zpool replace'.\n\
             \x20  see: https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-4J\n\
             config:\n\n\
             \tNAME        STATE     READ WRITE CKSUM\n\
             \tg_mirror2   DEGRADED     0     0     0\n\
             \t  mirror-0  DEGRADED     0     0     0\n\
             \t    vda     ONLINE       0     0     0\n\
             \t    vdb     UNAVAIL      0     0 1.21K  corrupted data\n\n\
             errors: 2 data errors, use '-v' for a list\n"
        )
    );
    let json: serde_json::Value = serde_json::from_str(&daemon.zpool("status -j").out).expect("JSON");
    let pool = &json["pools"]["g_mirror2"];
    assert_eq!(
        (pool["msgid"].as_str(), pool["moreinfo"].as_str()),
        (Some("ZFS-8000-4J"), Some("https://openzfs.github.io/openzfs-docs/msg/ZFS-8000-4J"))
    );
    let mirror = &pool["vdevs"]["g_mirror2"]["vdevs"]["mirror-0"];
    assert_eq!(mirror["vdevs"]["vdb"]["checksum_errors"], "1.21K");
    assert_eq!(mirror["vdevs"]["vdb"]["path"], "/dev/vdb");
    assert_eq!((&mirror["vdevs"]["vdb"]["aux"], mirror.get("aux")), (&"CORRUPT_DATA".into(), None));
    let json: serde_json::Value = serde_json::from_str(&daemon.zpool("status -jitvD").out).expect("JSON");
    let pool = &json["pools"]["g_mirror2"];
    assert_eq!(pool["errlist"][1], "<0x36>:<0x2>");
    assert_eq!(pool["dedup_stats"]["obj_count"], "0");
    let leaf = &pool["vdevs"]["g_mirror2"]["vdevs"]["mirror-0"]["vdevs"]["vda"];
    let told = ["slow_ios", "init_state", "trim_notsup"].map(|name| leaf[name].as_str().unwrap_or_default());
    assert_eq!(told, ["0", "UNINITIALIZED", "1"]);
    assert_eq!(daemon.zpool("status --json-int").status, 2);
}

#[test]
fn scrubs_are_asked_for_waited_for_and_shown() {
    let daemon = Daemon::captured();
    assert_eq!(daemon.zpool("scrub g_mirror2"), said(""));
    let status = daemon.zpool("status").out;
    assert!(status.contains("\n  scan: scrub in progress since "), "{status}");
    assert!(
        status.contains("\t28.4M / 28.4M scanned, 0B / 28.4M issued\n\t0B repaired, 0.00% done, no est"),
        "{status}"
    );
    let again = refused("cannot scrub g_mirror2: currently scrubbing; use 'zpool scrub -s' to cancel scrub");
    assert_eq!(daemon.zpool("scrub g_mirror2"), again);
    assert_eq!(daemon.zpool("scrub -p g_mirror2"), said(""));
    let json: serde_json::Value = serde_json::from_str(&daemon.zpool("status -j").out).expect("JSON");
    let stats = &json["pools"]["g_mirror2"]["scan_stats"];
    assert_eq!((&stats["function"], &stats["state"]), (&"SCRUB".into(), &"SCANNING".into()));
    // The one is a date, the other never is.
    let seconds = |name: &str| stats[name].as_str().and_then(|text| text.parse::<u64>().ok());
    assert!(seconds("start_time").is_none() && seconds("pass_start").is_some(), "{stats}");
    // What pauses is not waited for.
    assert_eq!(daemon.zpool("wait -t scrub g_mirror2"), said(""));
    assert_eq!(daemon.zpool("scrub -s g_mirror2"), said(""));
    assert_eq!(daemon.zpool("wait -Hp -t trim,scrub g_mirror2 1"), said("\t0\t0\n"));
    assert_eq!(daemon.zpool("wait -t free,trim g_mirror2 1"), said("    FREE    TRIM\n       0       0\n"));
    assert_eq!(daemon.zpool("prefetch -t ddt g_mirror2"), said(""));
    let ran = daemon.zpool("ddtprune -d 30 g_mirror2");
    let why = "cannot prune dedup table on 'g_mirror2': operation not supported on this type of pool\n";
    assert_eq!((ran.status, ran.err.as_str()), (255, why));
    assert!(daemon.zpool("status").out.contains("\n  scan: scrub canceled on "));
    assert_eq!(daemon.zpool("scrub nosuch"), refused("cannot open 'nosuch': no such pool"));
    for (line, why) in [
        ("scrub", "missing pool name argument"),
        ("scrub -sp g_mirror2", "invalid option combination: -s and -p are mutually exclusive"),
        ("scrub -ws g_mirror2", "invalid option combination: -w cannot be used with -p or -s"),
        ("resilver", "missing pool name argument"),
        ("wait", "missing 'pool' argument"),
        ("wait -t sleep g_mirror2", "invalid activity 'sleep'"),
        ("prefetch g_mirror2", "unsupported prefetch type"),
        ("ddtprune -d 0 g_mirror2", "invalid days value"),
        ("ddtprune -p 101 g_mirror2", "invalid percentage value"),
        ("ddtprune -p 5 -d 3 g_mirror2", "-d cannot be combined with -p option"),
        ("ddtprune g_mirror2", "missing amount option (-d|-p <value>)"),
    ] {
        let ran = daemon.zpool(line);
        assert!(ran.status == 2 && ran.err.starts_with(why), "{line}: {ran:?}");
    }
}

#[test]
fn what_is_hurt_is_named() {
    let daemon = Daemon::captured();
    daemon.engine.named("g_mirror2").status.lock().expect("unpoisoned").data_errors = 2;
    assert!(daemon.zpool("status").out.ends_with("\nerrors: 2 data errors, use '-v' for a list\n"));
    assert!(daemon.zpool("status -v").out.ends_with(
        "\nerrors: Permanent errors have been detected in the following files:\n\n        \
         g_mirror2/fs:/some file\n        <0x36>:<0x2>\n"
    ));
}

#[test]
fn iostat_since_import_and_what_comes_later() {
    let daemon = Daemon::captured();
    assert_eq!(
        daemon.zpool("iostat"),
        said(
            "              capacity     operations     bandwidth \n\
             pool        alloc   free   read  write   read  write\n\
             ----------  -----  -----  -----  -----  -----  -----\n\
             g_mirror2   28.4M  83.6M     10     2K     4K     3M\n"
        )
    );
    assert_eq!(
        daemon.zpool("iostat -Hp g_mirror2"),
        said("g_mirror2\t29796864\t87643648\t10\t2048\t4096\t3145728\n")
    );
    let verbose = daemon.zpool("iostat -v").out;
    assert!(verbose.contains("\n    vda         -      -      0      0      0      0\n"), "{verbose}");
    let twice = daemon.zpool("iostat -H g_mirror2 0.01 2");
    assert_eq!(twice.out.lines().count(), 2, "{twice:?}");
    assert!(twice.out.lines().nth(1).expect("two lines").ends_with("\t0\t0\t0\t0"));
    assert_eq!(daemon.zpool("iostat 0").status, 2);
}

#[test]
fn create_list_export_import_destroy() {
    let daemon = Daemon::with_tank();
    assert_eq!(daemon.mounts.list(), ["tank /tank"]);
    assert_eq!(daemon.zpool("export tank"), said(""));
    assert_eq!(daemon.mounts.list(), [""; 0]);
    let (a, b) = (daemon.file("a.img"), daemon.file("b.img"));
    let wide = a.len() + 4;
    assert_eq!(
        daemon.zpool("import"),
        said(&format!(
            "  pool: tank\n    id: 4242\n state: ONLINE\n\
             action: The pool can be imported using its name or numeric identifier.\nconfig:\n\n\
             \t{:wide$}  ONLINE\n\t  {:wide2$}  ONLINE\n\t    {a}  ONLINE\n\t    {b}  ONLINE\n",
            "tank",
            "mirror-0",
            wide2 = wide - 2
        ))
    );
    assert_eq!(daemon.zpool("import -s -N 4242"), said(""));
    assert_eq!(daemon.mounts.list(), [""; 0]);
    assert_eq!(
        daemon.zpool("import tank"),
        refused(
            "cannot import 'tank': a pool with that name already exists\n\
             use the form 'zpool import <pool | id> <newpool>' to give it a new name"
        )
    );
    assert_eq!(daemon.zpool("destroy tank"), said(""));
    assert_eq!(daemon.zpool("destroy tank"), refused("cannot open 'tank': no such pool"));
    assert_eq!(daemon.zpool("import tank"), refused("cannot import 'tank': no such pool available"));
    let none = daemon.zpool("import");
    assert_eq!(none, Ran { status: 0, out: String::new(), err: "no pools available to import\n".into() });
    let destroyed = daemon.zpool("import -D").out;
    assert!(
        destroyed
            .starts_with("  pool: tank\n    id: 4242\n state: ONLINE (DESTROYED)\naction: The pool can be")
    );
    assert_eq!(daemon.zpool("import -D nosuch"), refused("cannot import 'nosuch': no such pool available"));
    assert_eq!(daemon.zpool("import -D tank"), said(""));
    assert_eq!(daemon.zpool("list -H -o name"), said("tank\n"));
    assert_eq!(daemon.zpool("destroy tank"), said(""));
    assert_eq!(daemon.zpool("import -a"), none);
    assert_eq!(daemon.zpool("import -aD"), said(""));
}

#[test]
fn what_create_refuses() {
    let daemon = Daemon::with_tank();
    let (a, b, c) = (daemon.file("1.img"), daemon.file("2.img"), daemon.file("3.img"));
    assert_eq!(
        daemon.zpool(&format!("create tank {a}")),
        refused("cannot create 'tank': pool already exists")
    );
    assert_eq!(
        daemon.zpool(&format!("create x mirror {a} {b} {c} mirror {a} {b}")),
        refused(
            "invalid vdev specification\nuse '-f' to override the following errors:\n\
             mismatched replication level: both 3-way and 2-way mirror vdevs are present"
        )
    );
    assert_eq!(
        daemon.zpool(&format!("create -n x mirror {a} {b}")),
        said(&format!(
            "would create 'x' with the following layout:\n\n\tx\n\t  mirror\n\t    {a}\n\t    {b}\n"
        ))
    );
    assert_eq!(daemon.zpool("list -H -o name"), said("tank\n"));
    for (line, why) in [
        ("create mirrored /x", "cannot create 'mirrored': name is reserved"),
        ("create 1st /x", "cannot create '1st': name must begin with a letter"),
        ("create a%b /x", "cannot create 'a%b': invalid character '%' in pool name"),
        (
            "create a/b /x",
            "cannot create 'a/b': invalid character '/' in pool name\nuse 'zfs create' to create a dataset",
        ),
        ("create x /no/such", "cannot resolve path '/no/such'"),
        ("create -R tmp x /x", "invalid alternate root 'tmp': must be an absolute path"),
        ("create -m tmp x /x", "invalid mountpoint 'tmp': must be an absolute path, 'legacy', or 'none'"),
        ("create -o comment=1 -o comment=2 x /x", "property 'comment' specified multiple times"),
        ("create -n -o a=1 x /x", "property 'a' is not a valid pool property"),
        ("create -n -O QuOta=1G x /x", "property 'QuOta' is not a valid filesystem property"),
        ("create -n -O ATIME=on x /x", "property 'ATIME' is not a valid filesystem property"),
        (
            "create -O userquota@never-heard-of=1G x /x",
            "cannot create 'x': 'userquota@never-heard-of' has an invalid user/group name",
        ),
    ] {
        assert_eq!(daemon.zpool(line), refused(why), "{line}");
    }
    for (line, first) in [
        ("create", "missing pool name argument\nusage:\n\tcreate [-fnd]"),
        ("create x", "missing vdev specification\n"),
        ("create -o ashift x /x", "missing '=' for -o option\n"),
        ("create -Z", "invalid option 'Z'\n"),
        ("create -o", "missing argument for 'o' option\n"),
    ] {
        let ran = daemon.zpool(line);
        assert_eq!(ran.status, 2, "{line}");
        assert!(ran.err.starts_with(first), "{line}: {}", ran.err);
    }
}

#[test]
fn refusals_of_the_engine_are_told_whole() {
    let daemon = Daemon::start(FakeEngine::default());
    let message = "pool was previously in use from another system.\n\
                   Last accessed by other (hostid=1) at Sat Nov 21 05:25:05 2026\n\
                   The pool can be imported, use 'zpool import -f' to import the pool.";
    let reason = Reason::Os { message: message.to_owned() };
    let refusal = Refused::new(Action::Import { pool: "tank".into() }, reason);
    *daemon.engine.refusal.lock().expect("unpoisoned") = Some(refusal.into());
    let why = format!("cannot import 'tank': {message}");
    assert_eq!(daemon.zpool("import tank"), refused(&why));
    assert_eq!(daemon.zpool("import -n tank").status, 2);
    assert_eq!(daemon.zpool("import -m tank"), refused(&why));
}

#[test]
fn history_labelclear_sync_version() {
    let daemon = Daemon::with_tank();
    let (a, b) = (daemon.file("a.img"), daemon.file("b.img"));
    let plain = daemon.zpool("history");
    let create = format!("zpool create tank mirror {a} {b}");
    assert!(plain.out.starts_with("History for 'tank':\n2026-11-2"), "{plain:?}");
    assert!(plain.out.ends_with(&format!(" {create}\n\n")), "{plain:?}");
    let long = daemon.zpool("history -il tank").out;
    assert!(long.contains(&format!(" {create} [user 0 (root) on box:linux]\n")), "{long}");
    assert!(long.contains(" [txg:4] set feature@lz4_compress=enabled [on box]\n"), "{long}");
    assert_eq!(
        daemon.zpool(&format!("labelclear {a}")),
        refused(&format!(
            "use '-f' to override the following error:\n{a} is a member of exported pool \"tank\""
        ))
    );
    assert_eq!(daemon.zpool(&format!("labelclear -f {a}")), said(""));
    assert_eq!(
        daemon.zpool("labelclear /no/such"),
        refused("failed to open /no/such: No such file or directory")
    );
    assert_eq!(daemon.zpool("sync"), said(""));
    assert_eq!(daemon.zpool("sync nosuch"), refused("cannot open 'nosuch': no such pool"));
    assert!(daemon.zpool("version").out.ends_with("\ncistern-daemon-1.2.3\n"));
}

#[test]
fn programs_know_their_commands() {
    let daemon = Daemon::start(FakeEngine::default());
    assert_eq!(
        daemon.zpool("split tank new"),
        refused("zpool split: not supported by this version of Cistern yet")
    );
    assert_eq!(
        daemon.zfs("redact tank@a b c"),
        refused("zfs redact: not supported by this version of Cistern yet")
    );
    let unknown = daemon.zpool("frobnicate");
    assert_eq!(unknown.status, 2);
    assert!(unknown.err.starts_with("unrecognized command 'frobnicate'\nusage: zpool command args ..."));
    assert_eq!(daemon.zfs("").status, 2);
    let help = daemon.zpool("--help");
    assert_eq!(help.status, 0);
    assert!(help.out.contains("\n\tcreate [-fnd] [-o property=value] ... \n"));
    let one = daemon.zfs("help list");
    assert_eq!(one.status, 0);
    assert!(
        one.out.contains("examples:\n\tzfs list\n")
            && one.out.contains("\tcompressratio           NO       NO   ")
    );
    // Behind a command it is an option that makes no sense, as in OpenZFS: the same text,
    // elsewhere.
    for line in ["create --help", "create -?", "create -? tank"] {
        let asked = daemon.zpool(line);
        assert_eq!((asked.status, asked.out.as_str()), (2, ""), "zpool {line}");
        assert_eq!(asked.err, daemon.zpool("help create").out);
    }
    assert_eq!((daemon.zpool("list -p -?").status, daemon.zfs("list -?").status), (2, 2));
    assert_eq!((daemon.zpool("-?").status, daemon.zfs("-?").status), (0, 0));
}

#[test]
fn every_built_command_has_examples_and_rejects_strange_options() {
    let daemon = Daemon::start(FakeEngine::default());
    for line in [
        "create",
        "destroy",
        "labelclear",
        "list",
        "iostat",
        "status",
        "import",
        "export",
        "history",
        "get",
        "set",
        "sync",
        "version",
    ] {
        assert!(daemon.zpool(&format!("help {line}")).out.contains("\nexamples:\n\tzpool "), "zpool {line}");
        assert_eq!(daemon.zpool(&format!("{line} -Z")).status, 2, "zpool {line} -Z");
    }
    for line in [
        "create", "destroy", "rename", "list", "set", "get", "inherit", "mount", "unmount", "share",
        "unshare",
    ] {
        assert!(daemon.zfs(&format!("help {line}")).out.contains("\nexamples:\n\tzfs "), "zfs {line}");
        assert_eq!(daemon.zfs(&format!("{line} -Z")).status, 2, "zfs {line} -Z");
    }
}

#[test]
fn removals_classes_and_trims_are_shown() {
    let daemon = Daemon::captured();
    {
        let pool = daemon.engine.named("g_mirror2");
        let mut status = pool.status.lock().expect("unpoisoned");
        status.removal = Some(Removal {
            state: RemovalState::Finished,
            vdev: 1,
            name: String::new(),
            start: 1_800_000_000,
            end: 1_800_000_000 + 3_900,
            to_copy: 12_650_000,
            copied: 12_650_000,
            mapping: 96,
        });
        let mirror = &mut status.root.children[0];
        mirror.class = Some("special".into());
        let trim = |state| SweepStatus { state, percent: 42, time: 1_800_000_000, supported: true };
        mirror.children[0].trim = trim(SweepState::Running);
        mirror.children[1].trim = trim(SweepState::Complete);
    }
    let status = daemon.zpool("status").out;
    let removed = "remove: Removal of vdev 1 copied 12.1M in 1h5m, completed on ";
    assert!(status.contains(removed), "{status}");
    assert!(status.contains("2027\n\t96 memory used for removed device mappings\n"), "{status}");
    assert!(status.contains("\n\tspecial\t\n\t  mirror-0"), "{status}");
    let json: serde_json::Value = serde_json::from_str(&daemon.zpool("status -jp").out).expect("JSON");
    assert_eq!(
        json["pools"]["g_mirror2"]["removal_stats"],
        serde_json::json!({
            "name": "indirect-1", "state": "FINISHED", "removing_vdev": "1", "start_time": "1800000000",
            "end_time": "1800003900", "to_copy": "12650000", "copied": "12650000", "mapping_memory": "96",
        })
    );
    assert!(status.contains("     0     0     0  (trimming)\n"), "{status}");
    assert!(!status.contains("trimmed"), "{status}");
    let status = daemon.zpool("status -t").out;
    assert!(
        status.contains("  (42% trimmed, started at ") && status.contains("% trimmed, completed at "),
        "{status}"
    );
    let list = daemon.zpool("list -v").out;
    assert!(list.contains("\nspecial ") && list.contains("\n  mirror-0"), "{list}");
}

#[test]
fn trimming_is_asked_for_by_disk_or_by_pool() {
    let daemon = Daemon::captured();
    let none = "cannot trim: no devices in pool support trim operations";
    assert_eq!(daemon.zpool("trim g_mirror2"), refused(none));
    for (line, why) in [
        ("trim", "missing pool name argument"),
        ("trim -c -s g_mirror2", "-c cannot be combined with other options"),
        ("trim -c -w g_mirror2", "-w cannot be used with -c or -s options"),
        ("trim -s -r 1M g_mirror2", "-r cannot be combined with the -c or -s options"),
        ("trim -a g_mirror2", "-a cannot be combined with individual zpools or vdevs"),
        ("trim -r fast g_mirror2", "invalid value for rate"),
        ("initialize", "missing pool name argument"),
        ("initialize -c -u g_mirror2", "-u cannot be combined with other options"),
        ("initialize -s -w g_mirror2", "-w cannot be used with -c, -sor -u"),
        ("initialize -a g_mirror2", "-a cannot be combined with individual pools or vdevs"),
    ] {
        let ran = daemon.zpool(line);
        assert!(ran.err.starts_with(why) && ran.status == 2, "{line}: {ran:?}");
    }
    let stranger = "cannot trim 'sdz': no such device in pool";
    assert_eq!(daemon.zpool("trim g_mirror2 sdz"), refused(stranger));
}

#[test]
fn going_back_is_explained() {
    let daemon = Daemon::captured();
    assert_eq!(daemon.zpool("export g_mirror2").status, 0);
    let damaged = Refused::new(Action::Import { pool: "g_mirror2".into() }, ImportFault::Damaged);
    *daemon.engine.refusal.lock().expect("unpoisoned") = Some(damaged.into());
    let ran = daemon.zpool("import g_mirror2");
    assert_eq!((ran.status, ran.err.as_str()), (1, "cannot import 'g_mirror2': I/O error\n"));
    assert!(
        ran.out.starts_with(
            "\tEnsure all pool devices are present and accessible, then retry the import.\n\tIf"
        )
    );
    *daemon.engine.refusal.lock().expect("unpoisoned") = None;
    {
        let exported = daemon.engine.exported("g_mirror2");
        let rewound = Rewound { time: 1_800_000_000, lost: 7, data_errors: 0 };
        exported.status.lock().expect("unpoisoned").rewound = Some(rewound);
    }
    let ran = daemon.zpool("import -Fn g_mirror2");
    assert!(ran.out.starts_with("Would be able to return g_mirror2 to its state as of "), "{ran:?}");
    assert!(ran.out.ends_with(" 2027.\nWould discard approximately 7 seconds of transactions.\n"), "{ran:?}");
    assert_eq!(ran.status, 1);
    let ran = daemon.zpool("import -F g_mirror2");
    assert!(ran.out.starts_with("Pool g_mirror2 returned to its state as of "), "{ran:?}");
    assert!(ran.out.ends_with("Discarded approximately 7 seconds of transactions.\n"), "{ran:?}");
    assert_eq!(ran.status, 0);
}

#[test]
fn upgrades_are_listed_and_made() {
    let daemon = Daemon::with_tank();
    let settled = "This system supports ZFS pool feature flags.\n\nAll pools are formatted using feature flags.\n\n\
                   Every feature flags pool has all supported and requested features enabled.\n";
    assert_eq!(daemon.zpool("upgrade"), said(settled));
    daemon.zpool("set version=28 tank");
    let listed = daemon.zpool("upgrade").out;
    assert!(
        listed.contains("\nVER  POOL\n---  ------------\n28   tank\n\nUse 'zpool upgrade -v' for a list"),
        "{listed}"
    );
    let short = daemon.zpool("upgrade -V 27 tank").out;
    assert!(
        short.ends_with("Pool 'tank' is already formatted using more current version '28'.\n\n"),
        "{short}"
    );
    daemon.zpool("set feature@lz4_compress=disabled tank");
    let made = daemon.zpool("upgrade tank").out;
    assert!(
        made.ends_with(
            "Successfully upgraded 'tank' from version 28 to feature flags.\n\
             Enabled the following features on 'tank':\n  lz4_compress\n\n"
        ),
        "{made}"
    );
    let all = daemon.zpool("upgrade -a").out;
    assert!(all.contains("All pools are already formatted using feature flags.\n\nEvery"), "{all}");
    let shown = daemon.zpool("upgrade -v").out;
    assert!(
        shown.contains("\nasync_destroy                         (read-only compatible)\n     Destroy"),
        "{shown}"
    );
    assert!(
        shown.contains("\n 1   Initial ZFS version\n") && shown.contains("\n 28  Multiple vdev"),
        "{shown}"
    );
    assert_eq!(daemon.zpool("upgrade -V 29 tank").status, 2);
}

#[test]
fn status_shows_what_the_tables_of_deduplication_hold() {
    let daemon = Daemon::captured();
    let without = daemon.zpool("status -D").out;
    assert!(without.ends_with("errors: No known data errors\n\n dedup: no DDT entries\n"), "{without}");
    let tables = DedupTables {
        entries: 1003,
        on_disk: 90 << 10,
        in_core: 160 << 10,
        buckets: vec![bucket(1, 1000), bucket(4, 3)],
    };
    daemon.engine.named("g_mirror2").status.lock().expect("unpoisoned").dedup = tables;
    let text = daemon.zpool("status -D").out;
    let start = text.find(" dedup:").expect("it is there");
    assert_eq!(
        &text[start..],
        " dedup: DDT entries 1003, size 90K on disk, 160K in core\n\
         \n\
         bucket              allocated                       referenced          \n\
         ______   ______________________________   ______________________________\n\
         refcnt   blocks   LSIZE   PSIZE   DSIZE   blocks   LSIZE   PSIZE   DSIZE\n\
         ------   ------   -----   -----   -----   ------   -----   -----   -----\n\
         \x20    1     1000    125M   62.5M   62.5M     1000    125M   62.5M   62.5M\n\
         \x20    4        3    384K    192K    192K       12   1.50M    768K    768K\n\
         \x20Total     1003    125M   62.7M   62.7M     1012    126M   63.2M   63.2M\n\n"
    );
}
