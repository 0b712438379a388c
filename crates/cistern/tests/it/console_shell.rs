//! Shells of the console: what they may do and for whom, what they have given up, and what ends
//! them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::daemon::{Daemon, PATIENCE, Scratch, program, text};
use crate::https::{Answer, PASSWORD, Session, Site};
use crate::suspended::until;

/// A shell, and who reads what it shows.
struct Shell<'a> {
    site: &'a Site,
    session: &'a Session,
    id: String,
    curl: Child,
    events: Receiver<Value>,
    /// What was shown and nobody has waited for yet.
    shown: String,
    ended: Option<Value>,
}

fn log_in(site: &Site, name: &str) -> Session {
    Session::of(&site.post("/v1/login", &[], &json!({"name": name, "password": PASSWORD})).is(200))
}

/// An account, and a session of it.
fn account(site: &Site, name: &str, role: &str) -> Session {
    site.add_user(name, role);
    log_in(site, name)
}

fn ask(site: &Site, session: &Session, path: &str, body: &Value) -> Answer {
    site.post(path, &[&session.cookie, &session.csrf], body)
}

fn opened(site: &Site, session: &Session) -> Answer {
    ask(site, session, "/v1/shells", &json!({"columns": 200, "rows": 50}))
}

impl<'a> Shell<'a> {
    #[track_caller]
    fn open(site: &'a Site, session: &'a Session) -> Shell<'a> {
        let id = opened(site, session).is(200).json()["id"].as_str().expect("a name").to_owned();
        let mut shell = Shell::attach(site, session, id);
        shell.expect("cistern local");
        shell
    }

    fn attach(site: &'a Site, session: &'a Session, id: String) -> Shell<'a> {
        let mut curl = reader(site, session, &id);
        let lines = BufReader::new(curl.stdout.take().expect("a pipe"));
        let (tell, events) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let event = line.strip_prefix("data: ").map(|data| serde_json::from_str(data).expect("JSON"));
                if event.is_some_and(|event| tell.send(event).is_err()) {
                    return;
                }
            }
        });
        Shell { site, session, id, curl, events, shown: String::new(), ended: None }
    }

    fn at(&self, what: &str) -> String {
        format!("/v1/shells/{}/{what}", self.id)
    }

    fn type_text(&self, text: &str) {
        ask(self.site, self.session, &self.at("input"), &json!({"text": text})).is(200);
    }

    /// Takes one more event; false: none comes.
    fn take(&mut self, until: Instant) -> bool {
        match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(event) => {
                match event["output"]["text"].as_str() {
                    Some(text) => self.shown += text,
                    None => self.ended = Some(event),
                }
                true
            }
            Err(_) => false,
        }
    }

    /// Waits for a text, and gives all that was shown before it.
    #[track_caller]
    fn expect(&mut self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            assert!(self.take(end), "'{text}' does not come:\n{}\n{:?}", self.shown, self.ended);
        }
    }

    /// Types a line and waits for the next prompt; gives what was shown between.
    #[track_caller]
    fn line(&mut self, line: &str) -> String {
        self.type_text(&format!("{line}\r"));
        self.expect("\u{1b}[?2004l");
        self.expect("cistern local")
    }

    /// Waits for its end, and gives why.
    #[track_caller]
    fn end(&mut self, patience: Duration) -> String {
        let end = Instant::now() + patience;
        while self.ended.is_none() {
            assert!(self.take(end), "it does not end:\n{}", self.shown);
        }
        let event = self.ended.take().unwrap_or_default();
        event["ended"]["why"].as_str().map_or_else(|| event.to_string(), str::to_owned)
    }
}

impl Drop for Shell<'_> {
    fn drop(&mut self) {
        // It has ended where the stream has.
        drop(self.curl.kill());
        drop(self.curl.wait());
    }
}

/// Who takes what a shell shows.
fn reader(site: &Site, session: &Session, id: &str) -> Child {
    let mut curl = program("curl", 180);
    curl.args(["-sS", "-N", "--cacert", &text(&site.daemon.state.join("tls/cert.pem"))]);
    curl.args(["-H", &session.cookie, &format!("https://127.0.0.1:{}/v1/shells/{id}/output", site.port)]);
    curl.stdout(Stdio::piped()).spawn().expect("curl runs")
}

/// Numbers of the processes of shells that a daemon has begun.
fn processes(daemon: u32) -> Vec<u32> {
    let told = Command::new("pgrep").args(["-P", &daemon.to_string(), "-f", "shell --confined"]).output();
    let told = told.expect("pgrep runs").stdout;
    String::from_utf8_lossy(&told).lines().map(|line| line.parse().expect("a number")).collect()
}

fn status(process: u32, name: &str) -> String {
    let all = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it is there");
    let line = all.lines().find_map(|line| line.strip_prefix(name)).expect("the line is there");
    line.trim_start_matches(':').split_whitespace().next().unwrap_or_default().to_owned()
}

#[test]
fn a_shell_does_what_its_account_may_and_has_no_files() {
    let scratch = Scratch::new("console-shell");
    let site = Site::start(&scratch);
    site.pool(&scratch);
    let (ada, vera) = (log_in(&site, "ada"), account(&site, "vera", "read-only"));
    let mut shell = Shell::open(&site, &ada);
    let [process] = processes(site.daemon.pid())[..] else { panic!("one shell is one process") };
    // Root has no place here, whatever the filter lets through.
    assert_eq!(["Seccomp", "NoNewPrivs", "Uid"].map(|name| status(process, name)), ["2", "1", "65534"]);
    let environment = std::fs::read(format!("/proc/{process}/environ")).expect("it is read");
    assert!(!String::from_utf8_lossy(&environment).contains("PATH="), "{environment:?}");

    assert!(shell.line("whoami").contains("ada"));
    shell.line("zfs create tank/made");
    assert_eq!(site.daemon.zfs("list -H -o name tank/made").done(), "tank/made\n");
    let who = site.get("/v1/audit?limit=1", &[&site.bearer()]).is(200).json()[0].clone();
    assert_eq!(
        (&who["who"], &who["path"], &who["address"]),
        (&json!("ada"), &json!("/v1/datasets"), &json!("127.0.0.1"))
    );
    assert!(who["by"]["session"]["id"].is_u64(), "{who}");

    // What is typed while a command is at work is the next one, from its first key on.
    let mut ahead = Shell::open(&site, &ada);
    ahead.type_text("zfs create tank/one\rzfs destroy tank/one\rexit\r");
    assert_eq!(ahead.end(PATIENCE), "exited");

    let secret = scratch.text("secret");
    std::fs::write(&secret, "[appliance]\nname = \"told\"\n").expect("written");
    let made = scratch.text("made");
    for line in [
        format!("apply {secret}"),
        format!("diff {secret}"),
        format!("export-config -o {made}"),
        format!("certificate set {secret} {secret}"),
        format!("arcstat -o {made} 1 1"),
        format!("record start {made}"),
        format!("run {secret}"),
        "switch local".to_owned(),
        "login 127.0.0.1".to_owned(),
        "create group x local".to_owned(),
    ] {
        let said = shell.line(&line);
        assert!(said.contains("no files") && !said.contains("told"), "{line}: {said}");
    }
    for line in [
        format!("zpool create other {made}"),
        "zpool status -c id".to_owned(),
        "volume attach tank/a".to_owned(),
    ] {
        let said = shell.line(&line);
        assert!(said.contains("this shell has none"), "{line}: {said}");
    }
    assert!(shell.line("zfs receive tank/got < /etc/passwd").contains("too many arguments"));
    assert!(shell.line("zfs receive tank/got").contains("can not be read from a terminal"));
    assert!(!scratch.path("made").exists());

    let mut viewer = Shell::open(&site, &vera);
    assert!(viewer.line("zpool list -H -o name").contains("tank"));
    for line in ["zfs create tank/no", "create filesystem tank/no", "user list", "zpool destroy tank"] {
        let said = viewer.line(line);
        assert!(said.contains("permission denied"), "{line}: {said}");
    }
    assert_eq!(site.daemon.zfs("list -H -o name -r tank").done(), "tank\ntank/a\ntank/b\ntank/made\n");
}

#[test]
fn nobody_else_has_a_part_in_a_shell_and_there_are_eight() {
    let scratch = Scratch::new("console-shells");
    let site = Site::start(&scratch);
    let ada = log_in(&site, "ada");
    let mut shell = Shell::open(&site, &ada);
    // Neither another session of the account, nor another account, nor a token, nor root.
    let (again, eve) = (log_in(&site, "ada"), account(&site, "eve", "administrator"));
    let typed = json!({"text": "zfs list\r"});
    for other in [&again, &eve] {
        for (what, body) in [("input", &typed), ("size", &json!({})), ("close", &json!(null))] {
            assert_eq!(ask(&site, other, &shell.at(what), body).is(404).problem(), "/problems/not-found");
        }
        site.get(&shell.at("output"), &[&other.cookie]).is(404);
    }
    site.get(&shell.at("output"), &[&site.bearer()]).is(404);
    site.post(&shell.at("input"), &[&site.bearer()], &typed).is(404);
    assert_eq!(site.daemon.ask("POST", &shell.at("input"), Some(&typed.to_string())).0, 404);
    for (status, problem) in [
        site.daemon.ask("POST", "/v1/shells", None),
        (400, site.post("/v1/shells", &[&site.bearer()], &json!({})).is(400).json()),
    ] {
        assert!(
            status == 400 && problem["detail"].as_str().is_some_and(|why| why.contains("cistern shell")),
            "{problem}"
        );
    }
    assert!(shell.line("whoami").contains("ada"), "and it goes on");
    let large = json!({"text": "x".repeat((64 << 10) + 1)});
    ask(&site, &ada, &shell.at("input"), &large).is(422);
    ask(&site, &ada, &shell.at("size"), &json!({"columns": 0})).is(422);

    // What was shown before is shown to who comes again; the one before reads no more.
    let mut second = Shell::attach(&site, &ada, shell.id.clone());
    second.expect("whoami");
    assert_eq!(shell.end(PATIENCE), "\"taken\"");

    let mut ids = vec![
        shell.id.clone(),
        opened(&site, &again).is(200).json()["id"].as_str().expect("a name").to_owned(),
    ];
    assert_eq!(opened(&site, &ada).is(409).problem(), "/problems/busy");
    let others: Vec<Session> = ["b", "c", "d"].iter().map(|name| account(&site, name, "read-only")).collect();
    for session in others.iter().flat_map(|session| [session, session]) {
        ids.push(opened(&site, session).is(200).json()["id"].as_str().expect("a name").to_owned());
    }
    assert_eq!((ids.len(), processes(site.daemon.pid()).len()), (8, 8));
    assert_eq!(opened(&site, &eve).is(409).problem(), "/problems/busy");
    ask(&site, &again, &format!("/v1/shells/{}/close", ids[1]), &json!(null)).is(200);
    until("its process is gone", || processes(site.daemon.pid()).len() == 7);
    until("its place is free", || opened(&site, &eve).status == 200);
    let names = site.get("/v1/audit?limit=100", &[&site.bearer()]).is(200).json();
    let of_that = names.as_array().expect("a list").iter().filter(|one| one.to_string().contains(&ids[1]));
    let verbs: Vec<&str> = of_that.filter_map(|one| one["verb"].as_str()).collect();
    assert_eq!(verbs.len(), 3, "opened, closed and ended: {verbs:?}");
    assert!(!names.to_string().contains("/input"), "what is typed is no record: {names}");
}

#[test]
fn a_shell_ends_with_its_session_and_leaves_no_process_behind() {
    let scratch = Scratch::new("console-shell-ends");
    let mut site = Site::start(&scratch);
    site.pool(&scratch);
    {
        let vera = account(&site, "vera", "operator");
        let mut shell = Shell::open(&site, &vera);
        shell.type_text("exit\r");
        assert_eq!(shell.end(PATIENCE), "exited");
        // Ctrl-C ends a command and not the shell.
        let mut shell = Shell::open(&site, &vera);
        shell.type_text("zpool iostat 1\r");
        shell.expect("bandwidth");
        shell.type_text("\u{3}");
        shell.expect("interrupted");
        assert!(shell.line("whoami").contains("vera"));
        // A role is not what it was: the session has ended, and the shell with it.
        let less = json!({"role": "read-only"});
        site.post("/v1/users/vera/change", &[&site.bearer()], &less).is(200);
        assert_eq!(shell.end(PATIENCE), "session");
        until("no process is left", || processes(site.daemon.pid()).is_empty());
    }
    let vera = log_in(&site, "vera");
    let mut shell = Shell::open(&site, &vera);
    let me = site.get("/v1/sessions", &[&vera.cookie]).is(200).json()[0]["id"].clone();
    ask(&site, &log_in(&site, "ada"), &format!("/v1/sessions/{me}/end"), &json!(null)).is(200);
    assert_eq!(shell.end(PATIENCE), "session");
    drop(shell);

    // A daemon that is told to end ends them, and so does one that is killed while one is at work.
    let ada = log_in(&site, "ada");
    for is_killed in [false, true] {
        let mut shell = Shell::open(&site, &ada);
        shell.type_text("zpool iostat 1\r");
        shell.expect("bandwidth");
        let [process] = processes(site.daemon.pid())[..] else { panic!("one shell is one process") };
        drop(shell);
        site.restart(is_killed);
        until("its process is gone", || !std::path::Path::new(&format!("/proc/{process}")).exists());
    }
}

#[test]
fn output_that_nobody_takes_costs_the_daemon_a_bound() {
    const MIB: u64 = 1 << 20;
    let scratch = Scratch::new("console-shell-flood");
    let site = Site::start(&scratch);
    site.pool(&scratch);
    // Long words of users, which many file systems have from one.
    for part in 0..5 {
        let word = |number| json!({"name": format!("test:{part}-{number}"), "value": "x".repeat(8000)});
        let props: Vec<Value> = (0..14).map(word).collect();
        let path = "/v1/datasets/tank%2Fa/properties";
        assert_eq!(site.daemon.ask("POST", path, Some(&json!({"props": props}).to_string())).0, 200);
    }
    (0..20).for_each(|number| drop(site.daemon.zfs(&format!("create tank/a/{number}")).done()));
    let all = "get -r all tank/a";
    let length = site.daemon.zfs(all).done().len() as u64;
    assert!(length > 10 * MIB, "{length}");
    let ada = log_in(&site, "ada");
    let mut shell = Shell::open(&site, &ada);
    // Somebody who takes nothing comes instead.
    let mut stuck = reader(&site, &ada, &shell.id);
    assert_eq!(shell.end(PATIENCE), "\"taken\"");
    site.daemon.zfs(all).done();
    let before = site.daemon.resident();
    shell.type_text(&format!("zfs {all}\r"));
    std::thread::sleep(Duration::from_secs(5));
    let grown = site.daemon.resident().saturating_sub(before);
    assert!(grown < 6 * MIB, "{grown} bytes more");
    // The daemon serves others meanwhile, and has done with the shell after a minute.
    site.daemon.zpool("list").done();
    let begun = Instant::now();
    while !processes(site.daemon.pid()).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(100), "it does not end");
        std::thread::sleep(Duration::from_millis(500));
    }
    stuck.kill().expect("curl was there still");
    let mut taken = String::new();
    stuck.stdout.take().expect("a pipe").read_to_string(&mut taken).expect("text");
    stuck.wait().expect("our child");
    assert!((taken.len() as u64) < length, "{}", taken.len());
    let why = site.get("/v1/audit?limit=1", &[&site.bearer()]).is(200).json();
    assert_eq!((&why[0]["verb"], &why[0]["target"]), (&json!("ENDED"), &json!("unread")), "{why}");
}

#[test]
fn a_daemon_without_any_privilege_has_shells_all_the_same() {
    let scratch = Scratch::new("console-shell-user");
    let mut daemon = Daemon::start_as(&scratch, 4242, &[]);
    daemon.stop();
    daemon.extra = ["--https", "127.0.0.1:0"].map(str::to_owned).to_vec();
    daemon.begin();
    let site = Site::of(daemon);
    let ada = log_in(&site, "ada");
    let mut shell = Shell::open(&site, &ada);
    assert!(shell.line("whoami").contains("ada"));
    let [process] = processes(site.daemon.pid())[..] else { panic!("one shell is one process") };
    assert_eq!(["Seccomp", "Uid"].map(|name| status(process, name)), ["2", "4242"]);
}
