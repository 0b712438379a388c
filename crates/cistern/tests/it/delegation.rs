//! Users who are no administrators: what they see, what they are refused, what `zfs allow` gives
//! them.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::daemon::{Daemon, PROGRAM, Ran, Scratch, text};
use crate::zdb::stop_and_check;

pub const JOE: u32 = 61001;
const NOBODY: u32 = 61002;
const STAFF: u32 = 61050;

/// A command line as a user of this number, in a group of the same number and perhaps another.
pub fn command_as(user: u32, more: Option<u32>, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    let groups = more.map_or("--clear-groups".to_owned(), |group| format!("--groups={group}"));
    command.args([format!("--reuid={user}"), format!("--regid={user}"), groups]).arg(program);
    command
}

/// `zfs` or `zpool` as a user.
pub fn run_as(daemon: &Daemon, user: u32, line: &str) -> Ran {
    let mut command = command_as(user, None, PROGRAM);
    Ran::of(command.args(line.split(' ')).env("CISTERN_SOCKET", daemon.socket()).env("TZ", "UTC"))
}

fn joe(daemon: &Daemon, line: &str) -> Ran {
    run_as(daemon, JOE, line)
}

#[track_caller]
fn denied(ran: &Ran, words: &str) {
    assert_eq!((ran.status, ran.err.as_str()), (1, &*format!("{words}\n")), "{ran:?}");
}

fn pool(scratch: &Scratch) -> Daemon {
    let daemon = Daemon::start(scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create tank/d").done();
    daemon.zfs("snapshot tank/d@s").done();
    daemon
}

/// zdb knows of the table of those that something is delegated to, and takes what it leads to for
/// lost (`count_dir_mos_objects`): so all of it goes before zdb looks.
fn check(mut daemon: Daemon, scratch: &Scratch) {
    daemon.zfs("destroy -r tank/d").done();
    for who in [&format!("-u {JOE}"), "-s @more"] {
        daemon.zfs(&format!("unallow {who} tank")).done();
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_user_sees_much_and_changes_nothing() {
    let scratch = Scratch::new("deleg-sees");
    let daemon = pool(&scratch);
    for line in [
        "zfs list -t all",
        "zfs get all tank/d",
        "zfs allow tank/d",
        "zpool list",
        "zpool status",
        "zpool status -v",
        "zpool get all tank",
        "zpool iostat",
        "zpool sync tank",
        "zfs create -n tank/d/x",
        "zfs destroy -n tank/d@s",
    ] {
        run_as(&daemon, NOBODY, line).done();
    }
    let image = scratch.image("b", 128);
    let (make, add) = (format!("zpool create other {image}"), format!("zpool add tank {image}"));
    let cases = [
        ("zfs create tank/d/x", "cannot create 'tank/d/x': permission denied"),
        ("zfs destroy tank/d@s", "cannot destroy snapshots: permission denied"),
        ("zfs snapshot tank/d@t", "cannot create snapshots : permission denied"),
        ("zfs rollback tank/d@s", "cannot rollback 'tank/d': permission denied"),
        ("zfs clone tank/d@s tank/c", "cannot create 'tank/c': permission denied"),
        ("zfs rename tank/d tank/e", "cannot rename 'tank/d': permission denied"),
        ("zfs set compression=off tank/d", "cannot set property for 'tank/d': permission denied"),
        ("zfs inherit compression tank/d", "cannot inherit compression for 'tank/d': permission denied"),
        ("zfs bookmark tank/d@s tank/d#b", "cannot create bookmark 'tank/d#b': permission denied"),
        ("zfs hold keep tank/d@s", "cannot hold: permission denied"),
        ("zfs release keep tank/d@s", "cannot release: permission denied"),
        ("zfs allow -u 61001 create tank/d", "cannot set permissions on 'tank/d': permission denied"),
        ("zfs mount tank/d", "cannot mount 'tank/d': Insufficient privileges"),
        ("zpool history tank", "cannot get history for 'tank': permission denied"),
        ("zpool scrub tank", "cannot scrub tank: permission denied"),
        ("zpool set comment=x tank", "cannot set property for 'tank': permission denied"),
        ("zpool export tank", "cannot export 'tank': permission denied"),
        ("zpool destroy tank", "cannot destroy 'tank': permission denied"),
        (&*make, "cannot create 'other': permission denied"),
        (&*add, "cannot add to 'tank': permission denied"),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(line, words)| {
            let ran = run_as(&daemon, NOBODY, line);
            let is_so = (ran.status, ran.err.as_str()) == (1, &*format!("{words}\n"));
            (!is_so).then(|| format!("{line}: {ran:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for line in
        ["zpool import", "zfs send tank/d@s", "zfs userspace tank/d", "zfs diff tank/d@s", "zpool events"]
    {
        let ran = run_as(&daemon, NOBODY, line);
        assert!(ran.status != 0 && ran.err.contains("ermission denied"), "{line}: {ran:?}");
    }
    assert_eq!(daemon.zfs("list -H -o name -t all").done(), "tank\ntank/d\ntank/d@s\n");
    check(daemon, &scratch);
}

#[test]
fn what_was_allowed_is_shown_and_in_force() {
    let scratch = Scratch::new("deleg-allow");
    let daemon = pool(&scratch);
    daemon.zfs(&format!("allow -u {JOE} create,mount,snapshot,@more tank/d")).done();
    daemon.zfs(&format!("allow -g {STAFF} hold tank/d")).done();
    daemon.zfs(&format!("allow -ld -u {NOBODY} quota tank/d")).done();
    daemon.zfs(&format!("allow -d -u {JOE} destroy tank")).done();
    daemon.zfs("allow -l everyone userprop tank/d").done();
    daemon.zfs("allow -s @more rollback,compression tank").done();
    daemon.zfs("allow -c send,@more tank/d").done();
    let shown = "---- Permissions on tank/d -------------------------------------------\n\
        Create time permissions:\n\
        \t@more,send\n\
        Local permissions:\n\
        \teveryone userprop\n\
        Local+Descendent permissions:\n\
        \tuser (unknown: 61001) @more,create,mount,snapshot\n\
        \tuser (unknown: 61002) quota\n\
        \tgroup (unknown: 61050) hold\n\
        ---- Permissions on tank ---------------------------------------------\n\
        Permission sets:\n\
        \t@more compression,rollback\n\
        Descendent permissions:\n\
        \tuser (unknown: 61001) destroy\n";
    assert_eq!(daemon.zfs("allow tank/d").done(), shown);
    assert_eq!(joe(&daemon, "zfs allow tank/d").done(), shown);

    joe(&daemon, "zfs create tank/d/own").done();
    joe(&daemon, "zfs snapshot tank/d@mine").done();
    joe(&daemon, "zfs set compression=zle tank/d").done();
    joe(&daemon, "zfs set com.example:who=joe tank/d").done();
    denied(
        &joe(&daemon, "zfs set com.example:who=joe tank/d/own"),
        "cannot set property for 'tank/d/own': permission denied",
    );
    joe(&daemon, "zfs rollback tank/d@mine").done();
    joe(&daemon, "zfs destroy tank/d@mine").done();
    denied(&joe(&daemon, "zfs hold keep tank/d@s"), "cannot hold: permission denied");
    let mut as_staff = command_as(JOE, Some(STAFF), PROGRAM);
    as_staff.args(["zfs", "hold", "keep", "tank/d@s"]).env("CISTERN_SOCKET", daemon.socket());
    Ran::of(&mut as_staff).done();
    // Who made it has what is for creators, in his own dataset alone.
    assert!(
        daemon
            .zfs("allow tank/d/own")
            .done()
            .contains("Local permissions:\n\tuser (unknown: 61001) @more,send\n")
    );
    daemon.zfs("snapshot tank/d/own@s").done();
    // What is local does not count for snapshots.
    assert_ne!(joe(&daemon, "zfs send tank/d/own@s").status, 0);
    // Properties that say how this program serves a volume are an administrator's.
    denied(
        &joe(&daemon, "zfs set cistern:iscsi=on tank/d"),
        "cannot set property for 'tank/d': permission denied",
    );

    // He may not pass on what he has unless he was given that, too.
    let pass_on = format!("zfs allow -u {NOBODY} snapshot tank/d");
    denied(&joe(&daemon, &pass_on), "cannot set permissions on 'tank/d': permission denied");
    daemon.zfs(&format!("allow -u {JOE} allow tank/d")).done();
    joe(&daemon, &pass_on).done();
    let more = format!("zfs allow -u {NOBODY} promote tank/d");
    denied(&joe(&daemon, &more), "cannot set permissions on 'tank/d': permission denied");
    let allow = format!("zfs allow -u {NOBODY} allow tank/d");
    denied(&joe(&daemon, &allow), "cannot set permissions on 'tank/d': permission denied");
    let others = format!("zfs unallow -u {NOBODY} snapshot tank/d");
    denied(&joe(&daemon, &others), "cannot set permissions on 'tank/d': permission denied");
    joe(&daemon, &format!("zfs unallow -u {JOE} snapshot tank/d")).done();
    denied(&joe(&daemon, "zfs snapshot tank/d@u"), "cannot create snapshots : permission denied");

    daemon.zpool("set delegation=off tank").done();
    denied(&joe(&daemon, "zfs create tank/d/two"), "cannot create 'tank/d/two': permission denied");
    daemon.zpool("set delegation=on tank").done();
    joe(&daemon, "zfs create tank/d/two").done();
    daemon.zfs(&format!("unallow -r -u {JOE} tank")).done();
    daemon.zfs("unallow -e tank/d").done();
    let shown = daemon.zfs("allow tank/d/own").done();
    assert!(!shown.contains("61001") && !shown.contains("everyone"), "{shown}");
    denied(&joe(&daemon, "zfs create tank/d/three"), "cannot create 'tank/d/three': permission denied");
    // The history says who it was.
    let history = daemon.zpool("history -il tank").done();
    assert!(history.contains(&format!("zfs create tank/d/own [user {JOE}")), "{history}");
    assert!(history.contains("permission update tank/d ("), "{history}");
    daemon.zfs("release keep tank/d@s").done();
    check(daemon, &scratch);
}

/// `zfs send … | zfs receive TARGET`, the second as joe.
fn joe_receives(daemon: &Daemon, scratch: &Scratch, send: &str, target: &str) -> Ran {
    let file = scratch.path("stream");
    let mut sender = daemon.command(&["zfs", "send"]);
    sender.args(send.split(' ')).stdout(std::fs::File::create(&file).expect("made"));
    Ran::of(&mut sender).done();
    let mut command = command_as(JOE, None, PROGRAM);
    command.args(["zfs", "receive", target]).env("CISTERN_SOCKET", daemon.socket());
    Ran::of(command.stdin(std::fs::File::open(&file).expect("there")))
}

#[test]
fn what_is_received_counts_for_a_limit_of_snapshots() {
    let scratch = Scratch::new("deleg-limit");
    let daemon = pool(&scratch);
    daemon.zfs("create tank/d/from").done();
    for name in ["one", "two", "three"] {
        daemon.zfs(&format!("snapshot tank/d/from@{name}")).done();
    }
    daemon.zfs("create tank/d/to").done();
    daemon.zfs(&format!("allow -u {JOE} create,mount,receive tank/d/to")).done();
    daemon.zfs("set snapshot_limit=0 tank/d/to").done();
    let list = || daemon.zfs("list -H -r -t all -o name tank/d/to").done();
    let receive = |send: &str| joe_receives(&daemon, &scratch, send, "tank/d/to/it");
    let full = |what: &str, ran: Ran| {
        let words = format!("cannot receive {what} stream: destination tank/d/to/it space quota exceeded.\n");
        assert_eq!((ran.status, ran.err), (1, words));
    };
    full("new filesystem", receive("tank/d/from@one"));
    assert_eq!(list(), "tank/d/to\n");
    daemon.zfs("set snapshot_limit=1 tank/d/to").done();
    receive("tank/d/from@one").done();
    full("incremental", receive("-i @one tank/d/from@two"));
    assert_eq!(list(), "tank/d/to\ntank/d/to/it\ntank/d/to/it@one\n");
    // Who may set the limit may exceed it.
    daemon.zfs(&format!("allow -l -u {JOE} snapshot_limit tank/d/to")).done();
    receive("-i @one tank/d/from@two").done();
    daemon.zfs("set snapshot_limit=2 tank/d/to/it").done();
    full("incremental", receive("-i @two tank/d/from@three"));
    assert_eq!(daemon.zfs("get -H -p -o value snapshot_count tank/d/to").done(), "2\n");
    check(daemon, &scratch);
}

#[test]
fn who_may_not_mount_does_not_and_takes_no_mount_away() {
    let scratch = Scratch::new("deleg-mounts");
    let daemon = Daemon::start_with(&scratch, "state", &["--automount"]);
    let (a, at) = (scratch.image("a", 256), scratch.text("at"));
    daemon.zpool(&format!("create -m {at} tank {a}")).done();
    daemon.zfs("create tank/d").done();
    daemon.zfs("create tank/d/old").done();
    let all = "create,mount,destroy,rename,mountpoint,canmount,snapshot,rollback";
    daemon.zfs(&format!("allow -u {JOE} {all} tank/d")).done();
    let made = joe(&daemon, "zfs create tank/d/new");
    let words = "filesystem successfully created, but it may only be mounted by root";
    denied(&made, words);
    assert_eq!(daemon.zfs("get -H -o value mounted tank/d/new").done(), "no\n");
    let busy = format!("cannot unmount '{at}/d/old': permission denied");
    denied(&joe(&daemon, "zfs destroy tank/d/old"), &busy);
    denied(&joe(&daemon, "zfs rename tank/d/old tank/d/older"), &busy);
    denied(&joe(&daemon, "zfs set mountpoint=/etc tank/d/old"), &busy);
    denied(&joe(&daemon, "zfs unmount tank/d/old"), "cannot unmount 'tank/d/old': permission denied");
    assert_eq!(daemon.zfs("get -H -o value mounted tank/d/old").done(), "yes\n");
    // A rollback leaves the mount, and needs no right to it.
    joe(&daemon, "zfs snapshot tank/d/old@s").done();
    joe(&daemon, "zfs rollback tank/d/old@s").done();
    assert_eq!(daemon.zfs("get -H -o value mounted tank/d/old").done(), "yes\n");
    joe(&daemon, "zfs rename tank/d/new tank/d/newer").done();
    // A directory that his file system could have been mounted at is not his: the daemon, as root,
    // leaves it alone.
    let others = scratch.folder("others");
    std::fs::create_dir(others.join("empty")).expect("made");
    joe(&daemon, &format!("zfs set mountpoint={} tank/d/newer", text(&others))).done();
    denied(&joe(&daemon, "zfs create tank/d/newer/empty"), words);
    joe(&daemon, "zfs destroy -r tank/d/newer").done();
    assert!(others.join("empty").is_dir());
    daemon.zfs("unmount -a").done();
    check(daemon, &scratch);
}

/// The answer to one request with curl as a user.
pub fn ask(daemon: &Daemon, user: u32, (verb, path, body): (&str, &str, &str)) -> String {
    let mut curl = command_as(user, None, "curl");
    curl.args(["-s", "-m", "60", "--unix-socket", &text(&daemon.socket()), "-X", verb]);
    if verb == "POST" {
        curl.args(["--data-binary", "@-"]);
    }
    curl.arg(format!("http://cistern{path}")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = curl.spawn().expect("curl is needed for this test");
    child.stdin.take().expect("piped").write_all(body.as_bytes()).expect("curl reads");
    String::from_utf8_lossy(&child.wait_with_output().expect("it ends").stdout).into_owned()
}

/// The same, and what became of the job that it may have begun.
fn request(daemon: &Daemon, user: u32, asked: (&str, &str, &str)) -> String {
    let mut answer = ask(daemon, user, asked);
    for _ in 0..20 {
        let Some(id) = answer.strip_prefix("{\"id\":").and_then(|rest| rest.split(',').next()) else { break };
        if !answer.contains("\"state\":\"running\"") {
            break;
        }
        answer = ask(daemon, user, ("GET", &format!("/v1/jobs/{id}?wait_ms=5000"), ""));
    }
    answer
}

/// What is asked of each route that whom something was delegated to may use: `WHO` is another name
/// for each who asks.
const DELEGATED: &[(&str, &str, &str)] = &[
    ("POST", "/v1/datasets", r#"{"name":"tank/d/new-WHO"}"#),
    ("POST", "/v1/datasets/tank%2Fd%2Fold-WHO/destroy", "{}"),
    ("POST", "/v1/datasets/tank%2Fd/properties", r#"{"props":[{"name":"quota","value":"64M"}]}"#),
    ("POST", "/v1/datasets/tank%2Fd/inherit", r#"{"property":"compression"}"#),
    ("POST", "/v1/datasets/tank%2Fd%2Fmove-WHO/rename", r#"{"to":"tank/d/moved-WHO"}"#),
    ("POST", "/v1/datasets/tank%2Fd%2Fback@s/rollback", "{}"),
    ("POST", "/v1/datasets/tank%2Fd%2Fclone-WHO/promote", "{}"),
    ("POST", "/v1/datasets/tank%2Fd%2Fback/abort-receive", "{}"),
    (
        "POST",
        "/v1/datasets/tank%2Fd/allow",
        r#"{"grants":[{"who":{"user":7},"local":true,"permissions":["hold"]}]}"#,
    ),
    (
        "POST",
        "/v1/datasets/tank%2Fd/unallow",
        r#"{"grants":[{"who":{"user":NUMBER},"local":true,"permissions":["exec"]}]}"#,
    ),
    ("GET", "/v1/datasets/tank%2Fd@s/diff?to=tank%2Fd@t", ""),
    ("GET", "/v1/datasets/tank%2Fd/space-use?of=user", ""),
    ("POST", "/v1/snapshots", r#"{"names":["tank/d@new-WHO"]}"#),
    ("POST", "/v1/clones", r#"{"snapshot":"tank/d@s","name":"tank/d/c-WHO"}"#),
    ("POST", "/v1/bookmarks", r#"{"source":"tank/d@s","name":"tank/d#b-WHO"}"#),
    ("POST", "/v1/holds", r#"{"snapshots":["tank/d@s"],"tag":"WHO"}"#),
    ("POST", "/v1/releases", r#"{"snapshots":["tank/d@s"],"tag":"WHO"}"#),
    ("POST", "/v1/send", "{\"snapshot\":\"tank/d@s\"}\n"),
    ("POST", "/v1/receive", "{\"target\":\"tank/d/in-WHO\"}\nno stream"),
];

#[test]
fn every_request_is_for_whom_it_is_for() {
    let scratch = Scratch::new("deleg-routes");
    let daemon = pool(&scratch);
    daemon.zfs("snapshot tank/d@t").done();
    daemon.zfs("create tank/d/back").done();
    daemon.zfs("snapshot tank/d/back@s").done();
    let who = [("root", 0), ("joe", JOE), ("nobody", NOBODY)];
    for (name, _) in who {
        daemon.zfs(&format!("create tank/d/old-{name}")).done();
        daemon.zfs(&format!("create tank/d/move-{name}")).done();
        daemon.zfs(&format!("create tank/d/from-{name}")).done();
        daemon.zfs(&format!("snapshot tank/d/from-{name}@s")).done();
        daemon.zfs(&format!("clone tank/d/from-{name}@s tank/d/clone-{name}")).done();
    }
    let all = "create,destroy,mount,quota,compression,rename,rollback,promote,allow,hold,release,diff,snapshot,clone,\
               bookmark,send,receive,userused,userquota,userobjused,userobjquota,exec";
    daemon.zfs(&format!("allow -u {JOE} {all} tank/d")).done();
    let is_denied = |user: u32, verb: &str, path: &str, body: &str| {
        let answer = request(&daemon, user, (verb, path, body));
        assert!(!answer.is_empty(), "{verb} {path}: no answer");
        assert!(!answer.contains("no such request"), "{verb} {path}: {answer}");
        // The description of the interface names it, too, but not in quotes.
        answer.contains("\"/problems/denied\"")
    };
    for (verb, route, right) in api::routes() {
        // A name that nothing has: who is let in is told that.
        let path = route.replace("{name}", "none").replace("{id}", "1");
        for (name, user) in who {
            match right {
                api::Right::Stranger | api::Right::Anyone => {
                    assert!(!is_denied(user, verb, &path, ""), "{name}: {verb} {path}");
                }
                // Nobody but root has an account or a rank on the socket.
                api::Right::Account
                | api::Right::Reader
                | api::Right::Operator
                | api::Right::Administrator => {
                    assert_eq!(is_denied(user, verb, &path, ""), user != 0, "{name}: {verb} {path}");
                }
                api::Right::Delegated => {
                    let is_this =
                        |(known, path, _): &&(&str, &str, &str)| *known == verb && leads_to(path, route);
                    let (_, path, body) =
                        DELEGATED.iter().find(is_this).unwrap_or_else(|| panic!("{verb} {route}"));
                    let filled = |text: &str| text.replace("WHO", name).replace("NUMBER", &user.to_string());
                    let is_denied = is_denied(user, verb, &filled(path), &filled(body));
                    assert_eq!(is_denied, user == NOBODY, "{name}: {verb} {path}");
                }
            }
        }
    }
    // What was done was done by those who might.
    let there = |name: &str| daemon.zfs(&format!("list -H -o name {name}")).status == 0;
    for (name, user) in who {
        assert_eq!(there(&format!("tank/d/new-{name}")), user != NOBODY);
        assert_eq!(there(&format!("tank/d/old-{name}")), user == NOBODY);
        assert_eq!(there(&format!("tank/d@new-{name}")), user != NOBODY);
        assert_eq!(there(&format!("tank/d/moved-{name}")), user != NOBODY);
        assert_eq!(there(&format!("tank/d/c-{name}")), user != NOBODY);
    }
    check(daemon, &scratch);
}

/// Whether a path is one of a route.
fn leads_to(path: &str, route: &str) -> bool {
    let path = path.split('?').next().unwrap_or(path);
    let parts = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    let (path, route) = (parts(path), parts(route));
    path.len() == route.len()
        && path.iter().zip(&route).all(|(part, known)| known.starts_with('{') || part == known)
}

/// This thread, and no other, goes on as a user: what it connects to sees him.
fn become_user(user: u32) {
    // SAFETY: it takes plain numbers; the C library, which would change all threads, is not asked.
    let outcome = unsafe { libc::syscall(libc::SYS_setresuid, user, user, user) };
    assert_eq!(outcome, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn a_crowd_of_one_user_keeps_nobody_out() {
    let scratch = Scratch::new("deleg-crowd");
    let daemon = pool(&scratch);
    // More connections than he can have, half a request in each.
    let socket = daemon.socket();
    let crowd = std::thread::spawn(move || {
        become_user(JOE);
        let half = b"POST /v1/datasets HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\nxxx";
        let one = |_| {
            let mut stream = UnixStream::connect(&socket).expect("a listening daemon");
            // Who finds no place is cut off.
            drop(stream.write_all(half));
            stream
        };
        (0..400).map(one).collect::<Vec<_>>()
    });
    let crowd = crowd.join().expect("it has them");
    for _ in 0..5 {
        daemon.zpool("list").done();
        run_as(&daemon, NOBODY, "zpool list").done();
    }
    let refused = joe(&daemon, "zpool list");
    assert_eq!((refused.status, refused.err.as_str()), (1, "too many connections; try again later\n"));
    drop(crowd);
    crate::suspended::until("his places are free", || joe(&daemon, "zpool list").status == 0);
    drop(UnixStream::connect(daemon.socket()).expect("root may come in"));
    check(daemon, &scratch);
}
