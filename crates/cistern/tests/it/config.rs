//! The configuration as a file: what one appliance exports makes another one equal.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::daemon::{Daemon, PROGRAM, Ran, Scratch};
use crate::delegation::{JOE, command_as};

const HOSTILE: &str = "\"\"\"\\u0000 = ]\n[end]\t# '' \u{e9}\u{7f}";
const SHEET: &str = "who ] writes \u{e9}";
const SECRET: &str = "correcthorse1";
const MUTUAL: &str = "batterystaple";

fn pool(scratch: &Scratch, name: &str) -> Daemon {
    let daemon = Daemon::start_with(scratch, name, &[]);
    let image = scratch.image(name, 512);
    daemon.zpool(&format!("create -m none tank {image}")).done();
    daemon
}

fn add_user(daemon: &Daemon, words: &[&str]) {
    let mut command = daemon.command(&[&["user", "add", "--password-stdin"], words].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("piped");
    std::io::Write::write_all(&mut stdin, b"correct horse battery\n").expect("written");
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}

/// Some of everything that can be set.
fn fill(daemon: &Daemon) {
    for line in [
        "set compression=zstd-3 atime=off tank",
        "create -o sharenfs=rw=@10.0.2.0/24 -o mountpoint=/nowhere/shares -o canmount=off tank/shares",
        "create -o casesensitivity=insensitive -o normalization=formD -o quota=200M tank/shares/win",
        "create -o reservation=20M -o recordsize=1M -o userquota@1000=5M -o groupobjquota@7=30 tank/shares/a",
        "create -s -V 64M -b 4K tank/small",
        "create -V 32M -o compression=lz4 tank/thick",
        "create -s -V 64M tank/vm",
        "allow -s @ops snapshot,rollback tank",
        "allow -u 61001 @ops,mount tank/shares",
        "allow -ld -g 5 send tank/shares",
        "allow -d -e hold tank/shares/a",
        "allow -c destroy tank/shares",
        "set copies=2 tank/thick",
    ] {
        daemon.zfs(line).done();
    }
    daemon.run(&["zfs", "set", &format!("com.example:note={HOSTILE}"), "tank/shares/a"]).done();
    daemon.run(&["zfs", "set", "com.example:empty=", "tank/shares"]).done();
    let target = ["-t", "iqn.2026-01.org.example:vms"];
    let chap = ["-u", "joe", "-s", SECRET, "-U", "nas", "-S", MUTUAL];
    daemon.run(&[&["iscsi", "map", "tank/vm", "-l", "3"], &target[..], &chap[..]].concat()).done();
    daemon.run(&["iscsi", "map", "tank/small"]).done();
    // Their numbers are in another order than their names.
    add_user(daemon, &["eve"]);
    add_user(daemon, &["bob", "--role", "operator", "--uid", "61001"]);
    add_user(daemon, &["ada", "--role", "administrator"]);
    daemon.run(&["user", "change", "eve", "--disable"]).done();
    daemon.run(&["tunable", "set", "zfs_txg_timeout=7"]).done();
    daemon.run(&["log", "info,nfs=debug"]).done();
    for line in [
        "svc create auto-snap home --target tank/shares --recursive --exclude tank/shares/win --level hourly=24 \
            --level night:daily@02:30=90d,least=3 --budget 20% --stale-after 1d",
        "svc create auto-scrub scrub --pool tank --schedule monthly@1 --window 22:00-06:00 --disabled",
        "svc create auto-trim trim --schedule weekly@sunday --zone Europe/Berlin",
        "svc create script report --schedule yearly --seconds 60 --disabled -- /bin/true -a --b=c",
        "notify add log syslog --to udp:127.0.0.1:9 --least error",
        "notify add ops mail --server 127.0.0.1:9 --tls none --from nas@example.org --to ops@example.org --disable",
        "alert settings full_warning=75 ups_stops=off",
    ] {
        daemon.run(&line.split_whitespace().collect::<Vec<_>>()).done();
    }
    let by = r#"{"by":["file","operation"],"filter":{"dataset":"tank/vm","slower_us":100}}"#;
    let (status, begun) = daemon.ask("POST", "/v1/analytics", Some(by));
    assert_eq!(status, 200, "{begun}");
    let id = begun["id"].to_string();
    let worksheet = |words: &[&str]| daemon.run(&[&["analytics", "worksheet"], words].concat()).done();
    worksheet(&["save", SHEET, &id, &id, "-x", "latencies"]);
    worksheet(&["alert", SHEET, "2", "operations", "500", "-v", "tank/vm", "-v", "READ \"x\""]);
}

fn export(daemon: &Daemon) -> String {
    daemon.run(&["export-config"]).done()
}

fn mode(path: &str) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn what_one_appliance_exports_makes_another_one_equal() {
    let scratch = Scratch::new("config");
    let (mut one, mut other) = (pool(&scratch, "one"), pool(&scratch, "other"));
    fill(&one);
    let (open, full) = (scratch.text("open.toml"), scratch.text("full.toml"));
    one.run(&["export-config", "-o", &open]).done();
    let said = one.run(&["export-config", "--secrets", "-o", &full]);
    assert!(said.status == 0 && said.err.contains("secrets in the clear"), "{said:?}");
    assert_eq!((mode(&open), mode(&full)), (0o644, 0o600));
    let text = fs::read_to_string(&open).expect("read");
    assert_eq!(text, export(&one));
    assert!(!text.contains(SECRET) && !text.contains(MUTUAL) && !text.contains("sealed"), "{text}");
    assert!(fs::read_to_string(&full).expect("read").contains(SECRET));
    let json: Value = serde_json::from_str(&one.run(&["export-config", "--json"]).done()).expect("JSON");
    assert_eq!(json["dataset"]["tank/shares/a"]["properties"]["com.example:note"], HOSTILE);
    assert_eq!(json["worksheet"][SHEET]["panes"][1]["alert"]["values"][1], "READ \"x\"");
    for file in [&open, &full] {
        let equal = one.run(&["diff", file]);
        assert_eq!(equal, Ran { status: 0, out: String::new(), err: String::new() });
    }

    // Without its secret the mapping cannot be had, and so nothing is.
    let before = export(&other);
    let refused = other.run(&["apply", "-y", &open]);
    assert!(refused.status == 1 && refused.err.contains("tank/vm: its CHAP secret is not in"), "{refused:?}");
    let differs = other.run(&["diff", "--json", &full]);
    assert_eq!(differs.status, 1, "{differs:?}");
    assert!(!differs.out.contains(SECRET) && !differs.out.contains(MUTUAL), "{differs:?}");
    let asked = other.command(&["apply", &full]).stdin(Stdio::null()).output().expect("it runs");
    assert_eq!(asked.status.code(), Some(1), "nobody has agreed");
    let plan = other.run(&["apply", "-n", &full]).done();
    assert!(
        plan.contains("user ada: add, administrator") && plan.contains("change ada --password"),
        "{plan}"
    );
    assert!(!plan.contains(SECRET), "{plan}");
    assert_eq!(export(&other), before, "nothing was changed");

    let done = other.run(&["apply", "-y", &full]);
    assert!(done.status == 0 && done.err.is_empty() && !done.out.contains(SECRET), "{done:?}");
    assert_eq!(export(&other), text);
    let again = other.run(&["apply", "-y", "--prune", &full]);
    assert!(again.status == 0 && again.out == "nothing is to be changed\n", "{again:?}");
    assert_eq!(other.run(&["diff", &full]).status, 0);
    // Also what only shows with secrets is the same, and no history has one.
    let copy = scratch.text("copy.toml");
    other.run(&["export-config", "--secrets", "-o", &copy]);
    assert_eq!(fs::read(&copy).expect("read"), fs::read(&full).expect("read"));
    let history = other.zpool("history -il tank").done();
    assert!(history.contains("cistern apply") && !history.contains(SECRET), "{history}");
    for daemon in [&one, &other] {
        assert!(!daemon.log().contains(SECRET) && !daemon.log().contains(MUTUAL), "{}", daemon.log());
        let audit = daemon.run(&["audit"]).done();
        assert!(audit.contains("/v1/datasets/secrets") && !audit.contains(SECRET), "{audit}");
    }
    one.stop();
    other.stop();
}

#[test]
fn what_a_file_does_not_have_stays_and_is_taken_away_when_asked_for() {
    let scratch = Scratch::new("config-prune");
    let mut daemon = pool(&scratch, "state");
    let file = scratch.text("file.toml");
    daemon.zfs("create -s -V 64M tank/v").done();
    add_user(&daemon, &["zoe", "--role", "administrator"]);
    daemon.run(&["export-config", "-o", &file]).done();
    let before = export(&daemon);
    fill(&daemon);
    let kept = daemon.run(&["apply", "-y", &file]).done();
    for line in [
        "tank/shares: not in the file, stays as it is",
        "only with --prune: tank: inherit atime (is off)",
        "only with --prune: tank: take from @ops: rollback,snapshot",
        "only with --prune: user bob: remove",
        "only with --prune: tunable zfs_txg_timeout: back to 5 (is 7)",
        "only with --prune: service home: remove; what it has made stays",
        "only with --prune: route ops: remove, with its secret",
        "only with --prune: worksheet who ] writes \u{e9}: remove, with its alerts",
        "alerts: set full_warning=80 (is 75), ups_stops=on (is off)",
    ] {
        assert!(kept.contains(line), "{line}: {kept}");
    }
    daemon.run(&["apply", "-y", "--prune", &file]).done();
    let users = daemon.run(&["user", "list", "-H"]).done();
    assert!(users.starts_with("zoe\t") && users.lines().count() == 1, "{users}");
    assert!(daemon.zfs("list -H -o name").done().contains("tank/shares/a\n"), "no dataset is destroyed");
    daemon.zfs("destroy -r tank/shares").done();
    for volume in ["small", "thick", "vm"] {
        daemon.zfs(&format!("destroy tank/{volume}")).done();
    }
    assert_eq!(export(&daemon), before);

    // A volume grows and does not shrink, and all that cannot be had is told at once.
    let edit = |from: &str, to: &str| {
        assert!(before.contains(from), "{before}");
        fs::write(&file, before.replace(from, to)).expect("written");
    };
    edit("volsize = \"67108864\"", "volsize = \"128M\"");
    daemon.run(&["apply", "-y", &file]).done();
    assert_eq!(daemon.zfs("get -Hp -o value volsize tank/v").done(), "134217728\n");
    edit("[end]", "[dataset.\"none/a\"]\n[dataset.\"tank/v/a\"]\n[tunable]\nnothing = 1\n[end]");
    let refused = daemon.run(&["apply", "-y", &file]);
    for why in [
        "there is no pool 'none'",
        "tank/v/a: 'tank/v' is no file system",
        "tank/v: has 134217728 bytes, and is not made smaller: the file says 67108864",
        "there is no tunable 'nothing'",
    ] {
        assert!(refused.status == 1 && refused.err.contains(why), "{why}: {refused:?}");
    }
    daemon.stop();
}

#[test]
fn a_step_that_fails_is_told_and_those_before_it_stay() {
    let scratch = Scratch::new("config-fails");
    let mut daemon = pool(&scratch, "state");
    let file = scratch.text("file.toml");
    let more = "[dataset.\"tank/a\"]\n[dataset.\"tank/b\".properties]\nsharenfs = \"nonsense\"\n[dataset.\"tank/c\"]\n";
    let text = export(&daemon).replace("[end]", &format!("{more}[end]"));
    fs::write(&file, &text).expect("written");
    let failed = daemon.run(&["apply", "-y", &file]);
    assert_eq!(failed.status, 1, "{failed:?}");
    for line in
        ["step 2 of 3 failed: tank/b: make a file system", "sharenfs", "1 done, 2 not done; run it again"]
    {
        assert!(failed.err.contains(line), "{line}: {failed:?}");
    }
    let names = || daemon.zfs("list -H -o name").done();
    assert_eq!(names(), "tank\ntank/a\n");
    fs::write(&file, text.replace("nonsense", "off")).expect("written");
    assert!(daemon.run(&["apply", "-y", &file]).done().ends_with("\n2 done\n"));
    assert_eq!(names(), "tank\ntank/a\ntank/b\ntank/c\n");
    daemon.stop();
}

#[test]
fn a_file_that_makes_no_sense_changes_nothing() {
    let scratch = Scratch::new("config-hostile");
    let mut daemon = pool(&scratch, "state");
    let file = scratch.text("file.toml");
    let before = export(&daemon);
    let more = |text: &str| before.replace("[end]", &format!("{text}\n[end]"));
    for (text, why) in [
        (before.replace("[end]", ""), "without '[end]'"),
        (before[..before.len() / 2].to_owned(), "line "),
        (String::new(), "there is no 'version = 1'"),
        (more("[dataset.\"tank/new\"]\nsize = 1"), "unknown field `size`"),
        (more("[dataset.\"tank/new\"]\nkind = 1"), "column 8: wanted string or table"),
        (more("[dataset.\"tank/new\"]\n[dataset.\"tank/new\"]"), "duplicate key"),
        (more("[dataset.\"tank/../new\"]"), "parent reference, '..' is found in name"),
        (more("[dataset.\"tank/a\\nb\"]"), "invalid character '?' in name"),
        (more("[dataset.\"tank/a\\u0000\"]"), "invalid character '?' in name"),
        (more("[dataset.\"tank/new\".properties]\n\"a:b\" = \"\\u0000\""), "and no NUL"),
        (more("[service.new]\nspec = { kind = \"fly\" }"), "unknown variant `fly`"),
        (more("[route.new]\ntarget = { syslog = 1 }"), "column 21: wanted string or table"),
        (more("[tunable]\nzfs_txg_timeout = 0"), "is not between"),
    ] {
        fs::write(&file, text).expect("written");
        let told = [daemon.run(&["diff", &file]), daemon.run(&["apply", "-y", "--prune", &file])];
        let [differs, refused] = &told;
        assert!(refused.status == 1 && refused.err.contains(why), "{why}: {refused:?}");
        // A line of its own where the file itself is wrong.
        let is_readable = why == "is not between";
        assert_eq!(differs.status, if is_readable { 1 } else { 2 }, "{why}: {differs:?}");
        let said = if is_readable { &differs.out } else { &differs.err };
        assert!(said.contains(why) && (is_readable || said.contains("file.toml: line ")), "{differs:?}");
    }
    File::create(&file).and_then(|file| file.set_len(100 << 20)).expect("written");
    let large = daemon.run(&["apply", "-y", &file]);
    assert!(large.status == 1 && large.err.contains("it has more than"), "{large:?}");
    assert_eq!(export(&daemon), before);

    // Whatever keeps `diff` from an answer is not the answer that something differs.
    fs::write(&file, &before).expect("written");
    assert_eq!(daemon.run(&["diff", &file]).status, 0);
    fs::write(&file, more("[dataset.\"tank/new\"]")).expect("written");
    assert_eq!(daemon.run(&["diff", &file]).status, 1);
    let full = File::options().write(true).open("/dev/full").expect("a full device");
    let status = daemon.command(&["diff", &file]).stdout(full).stderr(Stdio::null()).status();
    assert_eq!(status.expect("it runs").code(), Some(2));
    for words in [&["diff"][..], &["diff", "/nowhere/file"], &["--host", "none.invalid", "diff", &file]] {
        assert_eq!(daemon.run(words).status, 2, "{words:?}");
    }
    daemon.stop();
    assert_eq!(daemon.run(&["diff", &file]).status, 2, "there is no daemon");
}

#[test]
fn what_lets_a_route_in_is_in_no_export_and_stays_where_it_is() {
    let scratch = Scratch::new("config-routes");
    let (mut one, mut other) = (pool(&scratch, "one"), pool(&scratch, "other"));
    let file = scratch.text("file.toml");
    let url = format!("https://127.0.0.1:9/{SECRET}");
    one.run(&["notify", "add", "chat", "webhook", "--form", "slack", "--url", &url]).done();
    let mail =
        "notify add ops mail --server 127.0.0.1 --from a@b.example --to c@d.example --user u --secret-stdin";
    let mut command = one.command(&mail.split(' ').collect::<Vec<_>>());
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it runs");
    std::io::Write::write_all(&mut child.stdin.take().expect("piped"), MUTUAL.as_bytes()).expect("written");
    assert!(child.wait().expect("it ends").success());
    one.run(&["export-config", "--secrets", "-o", &file]);
    let text = fs::read_to_string(&file).expect("read");
    assert!(text.contains("[route.chat]\n") && text.contains("[route.ops]\n"), "{text}");
    assert!(!text.contains(SECRET) && !text.contains(MUTUAL), "{text}");
    assert_eq!(one.run(&["diff", &file]).status, 0);

    // Elsewhere it is made with what a person has written, and with nothing else.
    let refused = other.run(&["apply", "-y", &file]);
    assert!(refused.status == 1 && refused.err.contains("route chat: the file has not its whole URL"));
    fs::write(&file, text.replace("https://127.0.0.1:9/…", &url)).expect("written");
    let done = other.run(&["apply", "-y", &file]);
    assert!(
        done.status == 0 && done.out.contains("route chat: add, slack:https://127.0.0.1:9/…"),
        "{done:?}"
    );
    assert!(!done.out.contains(SECRET), "{done:?}");
    assert_eq!(export(&other), text);
    let again = other.run(&["apply", "-y", "--prune", &file]);
    assert_eq!((again.status, again.out.as_str()), (0, "nothing is to be changed\n"));
    assert!(again.err.contains("route chat: keeps its secret"), "{again:?}");

    // What is there keeps it when something else is set.
    fs::write(&file, text.replace("least = \"warning\"", "least = \"error\"")).expect("written");
    one.run(&["apply", "-y", &file]).done();
    let routes: Value = serde_json::from_str(&one.run(&["notify", "list", "--json"]).done()).expect("JSON");
    assert_eq!(routes[1]["route"]["has_secret"], true, "{routes}");
    assert_eq!(routes[0]["route"]["least"], "error", "{routes}");
    let sent = one.run(&["notify", "test", "chat"]);
    assert!(sent.status == 1 && !sent.err.contains("/…"), "{sent:?}");
    for daemon in [&mut one, &mut other] {
        assert!(!daemon.log().contains(SECRET) && !daemon.log().contains(MUTUAL), "{}", daemon.log());
        daemon.stop();
    }
}

#[test]
fn an_export_replaces_a_file_as_a_whole_and_nothing_else() {
    let scratch = Scratch::new("config-export");
    let mut daemon = pool(&scratch, "state");
    let (file, link) = (scratch.text("file.toml"), scratch.text("link.toml"));
    fs::write(&file, "before").expect("written");
    symlink(&file, &link).expect("a link");
    daemon.run(&["export-config", "--secrets", "-o", &link]).done();
    assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
    assert_eq!((fs::read_to_string(&file).expect("read"), mode(&file)), (export(&daemon), 0o600));
    let folder = scratch.folder("folder");
    for place in ["/dev/null", "/dev/stdout", folder.to_str().expect("text")] {
        let refused = daemon.run(&["export-config", "--secrets", "-o", place]);
        assert!(refused.status == 1 && refused.err.contains("no regular file"), "{refused:?}");
    }
    let shown = daemon.run(&["export-config", "--secrets"]);
    assert!(shown.status == 2 && shown.out.is_empty(), "{shown:?}");
    let full = File::options().write(true).open("/dev/full").expect("a full device");
    let status = daemon.command(&["export-config"]).stdout(full).stderr(Stdio::null()).status();
    assert_eq!(status.expect("it runs").code(), Some(1));
    let left: Vec<_> = fs::read_dir(scratch.path("")).expect("a folder").flatten().collect();
    assert!(!left.iter().any(|entry| entry.file_name().to_string_lossy().contains(".new-")), "{left:?}");
    daemon.stop();
}

#[test]
fn what_a_stream_brought_is_told_and_in_force_again_when_nothing_is_set() {
    let scratch = Scratch::new("config-received");
    let mut daemon = pool(&scratch, "state");
    let file = scratch.text("file.toml");
    daemon.zfs("create -o compression=zstd -o com.example:note=sent tank/from").done();
    daemon.zfs("snapshot tank/from@a").done();
    daemon.copy("-p tank/from@a", "tank/to").done();
    daemon.run(&["export-config", "-o", &file]).done();
    let text = fs::read_to_string(&file).expect("read");
    assert!(text.contains("[dataset.\"tank/to\".received]\n"), "{text}");
    assert_eq!(daemon.run(&["diff", &file]).status, 0);
    daemon.zfs("set compression=off tank/to").done();
    daemon.run(&["apply", "-y", "--prune", &file]).done();
    let source = daemon.zfs("get -H -o value,source compression tank/to").done();
    assert_eq!(source, "zstd\treceived\n");
    assert_eq!(daemon.run(&["diff", &file]), Ran { status: 0, out: String::new(), err: String::new() });
    let other = text.replace("received]\n", "received]\natime = \"off\"\n");
    fs::write(&file, other).expect("written");
    let told = daemon.run(&["diff", &file]);
    assert!(told.status == 1 && told.out.contains("a stream brought nothing for atime"), "{told:?}");
    assert!(daemon.run(&["apply", "-y", &file]).done().ends_with("nothing is to be changed\n"));
    daemon.stop();
}

#[test]
fn an_apply_that_the_daemon_does_not_survive_goes_on_when_it_is_run_again() {
    let scratch = Scratch::new("config-kill");
    let (mut one, mut other) = (pool(&scratch, "one"), pool(&scratch, "other"));
    fill(&one);
    for number in 0..40 {
        one.zfs(&format!("create -o com.example:n={number} tank/shares/n{number}")).done();
    }
    let full = scratch.text("full.toml");
    one.run(&["export-config", "--secrets", "-o", &full]);
    for pause in [30, 150, 400] {
        let mut apply = other.command(&["apply", "-y", &full]);
        let mut apply = apply.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        std::thread::sleep(Duration::from_millis(pause));
        other.kill();
        // Without a daemon it has failed, unless it was done by then.
        apply.wait().expect("it ends");
        other.begin();
    }
    let mut apply = other.command(&["apply", "-y", &full]);
    let mut apply = apply.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    std::thread::sleep(Duration::from_millis(100));
    apply.kill().expect("killed");
    apply.wait().expect("it ends");
    // What the killed one had under way may come in between the look and the first step.
    if other.run(&["apply", "-y", &full]).status != 0 {
        other.run(&["apply", "-y", &full]).done();
    }
    assert_eq!(export(&other), export(&one));
    assert_eq!(other.run(&["apply", "-y", &full]).done(), "nothing is to be changed\n");
    one.stop();
    other.stop();
}

#[test]
fn who_is_no_administrator_is_refused() {
    let scratch = Scratch::new("config-joe");
    let mut daemon = pool(&scratch, "state");
    let file = scratch.text("file.toml");
    daemon.run(&["export-config", "-o", &file]).done();
    let as_joe = |words: &[&str]| -> Ran {
        let mut command: Command = command_as(JOE, None, PROGRAM);
        Ran::of(command.args(words).env("CISTERN_SOCKET", daemon.socket()))
    };
    let cases: [(&[&str], i32); 3] =
        [(&["export-config"], 1), (&["diff", &file], 2), (&["apply", "-y", &file], 1)];
    for (words, status) in cases {
        let ran = as_joe(words);
        let why = format!("permission denied: user number {JOE} may see only a part");
        assert!(ran.status == status && ran.out.is_empty() && ran.err.contains(&why), "{ran:?}");
    }
    // Nor does anybody else get secrets by the interface itself.
    let mut curl = command_as(JOE, None, "curl");
    let url = "http://cistern/v1/datasets/secrets";
    let denied = Ran::of(curl.args(["-sS", "--data", "{}", "--unix-socket"]).arg(daemon.socket()).arg(url));
    assert!(denied.out.contains("/problems/denied"), "{denied:?}");
    daemon.stop();
}
