//! kill -9 in the middle of each kind of job, and of changes of accounts: what was answered is so,
//! and what was not answered was done as a whole or not at all.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stdx::prng::Prng;

use crate::daemon::{Daemon, Scratch, say, text};
use crate::delegation::ask;
use crate::zdb::assert_clean;

/// How often each deed is cut off.
const ROUNDS: u64 = 4;

/// Jobs that do not wait for the disk that the list of jobs is on: they are written down at their
/// end.
const REMEDIES: [&str; 2] = ["pool.online", "pool.replace"];

/// A command that begins a job, and how it is seen that it was done.
struct Deed {
    /// Of the job.
    kind: &'static str,
    /// What makes it possible, with the names of images after `@`.
    before: &'static [&'static str],
    command: &'static str,
    /// A command, and what its output has once the deed is done and never before.
    sign: (&'static str, &'static str),
    /// Makes it undone.
    after: &'static [&'static str],
}

const DEEDS: [Deed; 17] = [
    Deed {
        kind: "pool.create",
        before: &[],
        command: "zpool create -f -m none -o ashift=12 new mirror @c @d",
        sign: ("zpool list -H -o name", "new\n"),
        after: &["zpool destroy -f new"],
    },
    Deed {
        kind: "pool.destroy",
        before: &["zpool create -f -m none old @c", "zfs create old/a"],
        command: "zpool destroy -f old",
        sign: ("cistern !old", ""),
        after: &[],
    },
    Deed {
        kind: "pool.export",
        before: &["zpool create -f -m none away @c", "zfs create away/a"],
        command: "zpool export away",
        sign: ("cistern !away", ""),
        after: &["zpool import -d @ away", "zpool destroy -f away"],
    },
    Deed {
        kind: "pool.import",
        before: &["zpool create -f -m none back @c", "zfs create back/a", "zpool export back"],
        command: "zpool import -d @ back",
        sign: ("zpool list -H -o name", "back\n"),
        after: &["zpool destroy -f back"],
    },
    Deed {
        kind: "dataset.destroy",
        before: &["cistern tree"],
        command: "zfs destroy -r tank/tree",
        sign: ("cistern !tree", ""),
        after: &[],
    },
    Deed {
        kind: "pool.attach",
        before: &[],
        command: "zpool attach -f tank @a @b",
        sign: ("zpool status tank", "mirror-0"),
        after: &["zpool wait -t resilver tank", "zpool detach tank @b"],
    },
    Deed {
        kind: "pool.detach",
        before: &["zpool attach -f -w tank @a @b"],
        command: "zpool detach tank @b",
        sign: ("cistern !mirror-0", ""),
        after: &[],
    },
    Deed {
        kind: "pool.replace",
        before: &["zpool attach -f -w tank @a @b"],
        command: "zpool replace -f tank @b @c",
        sign: ("zpool status tank", "/c.img"),
        after: &["zpool wait -t replace tank", "zpool detach tank @c"],
    },
    Deed {
        kind: "pool.add",
        before: &[],
        command: "zpool add -f tank log @c",
        sign: ("zpool status tank", "logs"),
        after: &["zpool remove tank @c"],
    },
    Deed {
        kind: "pool.remove",
        before: &["zpool add -f tank log @c"],
        command: "zpool remove tank @c",
        sign: ("cistern !logs", ""),
        after: &[],
    },
    Deed {
        kind: "pool.scan",
        before: &["zpool create -f -m none fresh @c"],
        command: "zpool scrub fresh",
        sign: ("zpool status fresh", "  scan: scrub"),
        after: &["zpool wait -t scrub fresh", "zpool destroy -f fresh"],
    },
    Deed {
        kind: "pool.initialize",
        before: &["zpool create -f -m none fresh @c"],
        command: "zpool initialize fresh",
        sign: ("zpool status -i fresh", "% initialized"),
        after: &["zpool wait -t initialize fresh", "zpool destroy -f fresh"],
    },
    Deed {
        kind: "pool.trim",
        before: &["zpool create -f -m none fresh @c"],
        command: "zpool trim fresh",
        sign: ("zpool status -t fresh", "% trimmed"),
        after: &["zpool wait -t trim fresh", "zpool destroy -f fresh"],
    },
    Deed {
        kind: "pool.checkpoint",
        before: &[],
        command: "zpool checkpoint tank",
        sign: ("zpool status tank", "checkpoint: created"),
        after: &["zpool checkpoint -d -w tank"],
    },
    Deed {
        kind: "pool.offline",
        before: &["zpool attach -f -w tank @a @b"],
        command: "zpool offline tank @b",
        sign: ("zpool status tank", "OFFLINE"),
        after: &["zpool online tank @b", "zpool wait -t resilver tank", "zpool detach tank @b"],
    },
    Deed {
        kind: "pool.online",
        before: &["zpool attach -f -w tank @a @b", "zpool offline tank @b"],
        command: "zpool online tank @b",
        sign: ("cistern !OFFLINE", ""),
        after: &["zpool wait -t resilver tank", "zpool detach tank @b"],
    },
    Deed {
        kind: "pool.reguid",
        before: &["cistern guid"],
        command: "zpool reguid tank",
        sign: ("cistern guid", ""),
        after: &[],
    },
];

/// A daemon with a pool, and what a test keeps of it.
struct House {
    daemon: Daemon,
    disks: String,
    guid: String,
}

impl House {
    fn words(&self, line: &str) -> Vec<String> {
        let image = |word: &str| match word.strip_prefix('@') {
            Some("") => self.disks.clone(),
            Some(name) => format!("{}/{name}.img", self.disks),
            None => word.to_owned(),
        };
        line.split_whitespace().map(image).collect()
    }

    fn run(&mut self, line: &str) -> String {
        match line {
            "cistern tree" => self.plant(),
            "cistern guid" => self.guid = self.guid_now(),
            _ => {
                let words = self.words(line);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                return self.daemon.run(&words).done();
            }
        }
        String::new()
    }

    /// Datasets and snapshots that are destroyed at once.
    fn plant(&self) {
        self.daemon.zfs("create tank/tree").done();
        for number in 0..12 {
            self.daemon.zfs(&format!("create tank/tree/{number}")).done();
        }
        self.daemon.zfs("snapshot -r tank/tree@one").done();
    }

    fn guid_now(&self) -> String {
        self.daemon.zpool("get -H -o value guid tank").done()
    }

    /// Whether a deed was done; panics where it was half done.
    fn is_done(&self, deed: &Deed) -> bool {
        match deed.sign.0 {
            "cistern guid" => self.guid_now() != self.guid,
            "cistern !tree" => {
                let all = self.daemon.zfs("list -H -r -o name -t all tank").done();
                let left = all.lines().filter(|line| line.starts_with("tank/tree")).count();
                assert!([0, 26].contains(&left), "a part of it is gone:\n{all}");
                left == 0
            }
            gone if gone.starts_with("cistern !") => {
                let what = gone.strip_prefix("cistern !").expect("as asked");
                !self.daemon.zpool("status").done().contains(what)
            }
            line => {
                let words: Vec<&str> = line.split_whitespace().collect();
                self.daemon.run(&words).done().contains(deed.sign.1)
            }
        }
    }

    fn jobs(&self) -> Vec<Value> {
        let answer = ask(&self.daemon, 0, ("GET", "/v1/jobs", ""));
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// The last job of a kind with a higher number.
    fn job_of(&self, kind: &str, above: u64) -> Option<Value> {
        let jobs = self.jobs().into_iter();
        let mut of_kind = jobs.filter(|job| job["kind"] == kind && job["id"].as_u64() > Some(above));
        of_kind.next_back()
    }
}

/// Waits until a command has ended, or for so long; gives how long that was.
fn wait(child: &mut Child, pause: Duration) -> Duration {
    let began = Instant::now();
    while began.elapsed() < pause && child.try_wait().expect("it is ours").is_none() {
        std::thread::sleep(Duration::from_micros(200));
    }
    began.elapsed()
}

/// What came of a deed that was cut off.
struct Cut {
    is_done: bool,
    /// Of its job; `none`: there is no job.
    state: String,
    /// Until the end of the command, or the kill.
    took: Duration,
}

fn cut_off(house: &mut House, deed: &Deed, pause: Duration) -> Cut {
    for line in deed.before {
        house.run(line);
    }
    assert!(!house.is_done(deed), "{}: done before it was begun", deed.kind);
    let above = house.jobs().iter().filter_map(|job| job["id"].as_u64()).max().unwrap_or(0);
    let words = house.words(deed.command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = house.daemon.command(&words);
    let mut command = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let took = wait(&mut command, pause);
    house.daemon.kill();
    let was_answered = command.wait().expect("it ends").success();
    house.daemon.begin();

    let is_done = house.is_done(deed);
    let told = format!("{} after {pause:?}", deed.kind);
    assert!(is_done || !was_answered, "{told}: it was answered, and is not so");
    let Some(job) = house.job_of(deed.kind, above) else {
        let is_remedy = REMEDIES.contains(&deed.kind);
        assert!(!was_answered && (is_remedy || !is_done), "{told}: it was done, and no job says so");
        return Cut { is_done, state: "none".into(), took };
    };
    let state = job["state"].as_str().expect("a state").to_owned();
    match state.as_str() {
        "done" => assert!(is_done, "{told}: the job says that it was done: {job}"),
        "failed" => {
            assert_eq!(job["problem"]["type"], "/problems/interrupted", "{told}: {job}");
            assert!(!was_answered, "{told}: {job}");
        }
        _ => panic!("{told}: nothing runs any more: {job}"),
    }
    Cut { is_done, state, took }
}

#[test]
fn of_each_job_that_a_kill_cuts_off_it_is_known_what_became_of_it() {
    let scratch = Scratch::new("kills");
    for name in ["a", "b", "c", "d"] {
        scratch.image(name, 128);
    }
    let disks = text(&scratch.path("disks"));
    let mut house = House { daemon: Daemon::start(&scratch), disks, guid: String::new() };
    house.run("zpool create -f -m none tank @a");
    let mut prng = Prng::new(47);
    let mut counts: BTreeMap<(String, bool), u32> = BTreeMap::new();
    for deed in &DEEDS {
        // As long as it takes where nobody cuts it off, so that cuts are in the middle of it.
        let mut whole = Duration::ZERO;
        for round in 0..ROUNDS {
            let part = prng.below(u64::try_from(whole.as_micros()).expect("short") + 1);
            let pause = if round == 0 { Duration::from_secs(5) } else { Duration::from_micros(part) };
            let Cut { is_done, state, took } = cut_off(&mut house, deed, pause);
            if round == 0 {
                whole = took;
                assert!(is_done, "{}: it had 5 s", deed.kind);
            }
            *counts.entry((state, is_done)).or_default() += 1;
            // Sent again, it is done.
            if !is_done {
                house.run(deed.command);
                assert!(house.is_done(deed), "{}: sent again, it is not done", deed.kind);
            }
            for line in deed.after {
                house.run(line);
            }
        }
    }
    say(&format!("{counts:?}"));
    let cut = counts.iter().filter(|((state, _), _)| state != "done").map(|(_, count)| count).sum::<u32>();
    assert!(cut > 10, "too few were cut off to say much: {counts:?}");
    house.run("zpool export tank");
    house.daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

/// How often the daemon is killed while accounts are changed, and how many changes have to be kept
/// at the least.
const LIFE_TIMES: u64 = 12;
const ENOUGH: u32 = 50;

/// Names of accounts, and what they may.
type Users = BTreeMap<String, String>;

fn users(daemon: &Daemon) -> Users {
    let answer = ask(daemon, 0, ("GET", "/v1/users", ""));
    let users: Vec<Value> = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    users.iter().map(|user| (text(&user["name"]), text(&user["role"]))).collect()
}

#[test]
fn a_change_of_accounts_that_a_kill_cuts_off_is_whole_or_was_not_made() {
    let scratch = Scratch::new("kills-machine");
    let mut daemon = Daemon::start(&scratch);
    let mut prng = Prng::new(74);
    let mut known = users(&daemon);
    let (mut kept, mut cut, mut round) = (0, 0, 0);
    // A slow machine makes few changes in a round.
    while round < LIFE_TIMES || kept <= ENOUGH {
        round += 1;
        assert!(round < 20 * LIFE_TIMES, "{kept} changes in {round} lives say little");
        let end = Instant::now() + Duration::from_millis(150 + prng.below(400));
        let (socket, before) = (text(&daemon.socket()), known.clone());
        let sender = std::thread::spawn(move || send_changes(&socket, round, before));
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        daemon.kill();
        let (answered, open, count) = sender.join().expect("it ended");
        daemon.begin();
        let found = users(&daemon);
        assert!(found == answered || found == open, "found {found:#?}\nwanted {answered:#?}\nor {open:#?}");
        kept += count;
        cut += u32::from(answered != open && found == answered);
        known = found;
    }
    say(&format!("{kept} changes kept, {cut} not made"));
    assert!(!daemon.log().contains("damaged"), "{}", daemon.log());
    daemon.stop();
}

/// Sends changes until the daemon is gone: what is so then, what is so if the last one was made
/// too, and how many were answered.
fn send_changes(socket: &str, round: u64, mut users: Users) -> (Users, Users, u32) {
    let mut answered = 0;
    for step in 0_u64.. {
        let name = format!("u{}", (round * 31 + step) % 7);
        let mut next = users.clone();
        let (path, body) = match users.get(&name) {
            None => {
                next.insert(name.clone(), "operator".into());
                let new = json!({"name": name, "role": "operator", "password": "correct horse battery"});
                ("/v1/users".into(), new.to_string())
            }
            Some(_) if step % 3 == 0 => {
                next.remove(&name);
                (format!("/v1/users/{name}/remove"), String::new())
            }
            Some(role) => {
                let role = if role == "operator" { "read-only" } else { "operator" };
                next.insert(name.clone(), role.into());
                (format!("/v1/users/{name}/change"), json!({"role": role}).to_string())
            }
        };
        let mut curl = std::process::Command::new("curl");
        curl.args(["-s", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", socket]);
        curl.args(["-X", "POST", "-d", &body]).arg(format!("http://cistern{path}"));
        let ran = crate::daemon::Ran::of(&mut curl);
        match (ran.status, ran.out.as_str()) {
            (0, "200") => {
                users = next;
                answered += 1;
            }
            (0, other) => panic!("{path} {body}: {other}"),
            _ => return (users, next, answered),
        }
    }
    unreachable!("it goes on until the daemon is gone")
}
