//! The management API over HTTPS: curl and openssl as clients, who may do what, and strangers who
//! mean no good.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::daemon::{Daemon, Scratch, program, text};

pub const PASSWORD: &str = "correct horse battery";
const JSON: &str = "Content-Type: application/json";

/// A daemon with HTTPS, and an administrator `ada`.
pub struct Site {
    pub daemon: Daemon,
    pub port: u16,
    /// Of the administrator.
    token: String,
}

/// What curl was answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn is(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    pub fn problem(&self) -> String {
        self.json()["type"].as_str().unwrap_or_default().to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Where HTTPS is served.
pub fn port_of(daemon: &Daemon) -> u16 {
    let line =
        daemon.banner.lines().find_map(|line| line.trim().strip_prefix("web          https://127.0.0.1:"));
    let port = line.and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{}", daemon.banner));
    port.parse().expect("a port")
}

impl Site {
    pub fn start(scratch: &Scratch) -> Site {
        Site::start_with(scratch, &[])
    }

    pub fn start_with(scratch: &Scratch, more: &[&str]) -> Site {
        Site::of(Daemon::start_with(scratch, "state", &[&["--https", "127.0.0.1:0"], more].concat()))
    }

    /// A daemon that was started with HTTPS, and has no account.
    pub fn of(daemon: Daemon) -> Site {
        let mut site = Site { port: port_of(&daemon), daemon, token: String::new() };
        let code = site.code();
        let first = json!({"code": code, "name": "ada", "password": PASSWORD});
        site.post("/v1/first-administrator", &[], &first).is(200);
        site.token = site.log_in("ada").token(&site, json!({"name": "all", "role": "administrator"}));
        site
    }

    /// Ends the daemon, by a kill or not, and begins it again.
    pub fn restart(&mut self, kill: bool) {
        match kill {
            true => self.daemon.kill(),
            false => self.daemon.stop(),
        }
        self.begin();
    }

    /// Starts the daemon again.
    pub fn begin(&mut self) {
        self.daemon.begin();
        self.port = port_of(&self.daemon);
    }

    /// The one-time code that the daemon has printed.
    fn code(&self) -> String {
        let line = self.daemon.banner.lines().find_map(|line| line.split_once("with the code "));
        let (_, rest) = line.unwrap_or_else(|| panic!("{}", self.daemon.banner));
        rest.split(' ').next().unwrap_or_default().to_owned()
    }

    fn ask(&self, verb: &str, path: &str, headers: &[&str], body: Option<&str>) -> Answer {
        self.curl(&["-X", verb], path, headers, body)
    }

    pub fn curl(&self, more: &[&str], path: &str, headers: &[&str], body: Option<&str>) -> Answer {
        let mut curl = program("curl", 60);
        curl.args(["-sS", "-i", "-H", "Expect:", "--cacert", &text(&self.daemon.state.join("tls/cert.pem"))]);
        curl.args(more).arg(format!("https://127.0.0.1:{}{path}", self.port));
        for header in headers {
            curl.args(["-H", header]);
        }
        if let Some(body) = body {
            curl.args(["--data-binary", body]);
            if !headers.iter().any(|header| header.starts_with("Content-Type")) {
                curl.args(["-H", JSON]);
            }
        }
        let out = curl.output().expect("curl runs");
        let answer = String::from_utf8_lossy(&out.stdout).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("{path}: {answer} {}", text_of(&out.stderr)));
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub fn post(&self, path: &str, headers: &[&str], body: &Value) -> Answer {
        self.ask("POST", path, headers, Some(&body.to_string()))
    }

    pub fn get(&self, path: &str, headers: &[&str]) -> Answer {
        self.ask("GET", path, headers, None)
    }

    fn log_in(&self, name: &str) -> Session {
        Session::of(&self.post("/v1/login", &[], &json!({"name": name, "password": PASSWORD})).is(200))
    }

    pub fn bearer(&self) -> String {
        bearer(&self.token)
    }

    pub fn add_user(&self, name: &str, role: &str) -> Value {
        let new = json!({"name": name, "password": PASSWORD, "role": role});
        self.post("/v1/users", &[&self.bearer()], &new).is(200).json()
    }

    /// A token of a new user.
    pub fn user(&self, name: &str, role: &str, dataset: Option<&str>) -> String {
        self.add_user(name, role);
        let new = json!({"user": name, "name": "t", "role": role, "dataset": dataset});
        let made = self.post("/v1/tokens", &[&self.bearer()], &new).is(200).json();
        bearer(made["secret"].as_str().expect("a secret"))
    }

    /// Logs this machine's user in, who has his hosts below this folder. Gives the site's address.
    pub fn log_in_from(&self, config: &Path) -> String {
        let address = format!("127.0.0.1:{}", self.port);
        let shown = self.daemon.run(&["certificate", "show", "--json"]).done();
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        let fingerprint = shown["fingerprint"].as_str().expect("a fingerprint");
        let mut login = self.daemon.command(&["login", &address, "-u", "ada", "--fingerprint", fingerprint]);
        login.env("XDG_CONFIG_HOME", config).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut login = login.spawn().expect("it starts");
        let password = format!("{PASSWORD}\n");
        login.stdin.take().expect("piped").write_all(password.as_bytes()).expect("written");
        assert!(login.wait().expect("it ends").success());
        address
    }

    pub fn pool(&self, scratch: &Scratch) {
        let a = scratch.image("a", 256);
        self.daemon.zpool(&format!("create -m none tank {a}")).done();
        self.daemon.zfs("create tank/a").done();
        self.daemon.zfs("create tank/b").done();
    }
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub struct Session {
    pub cookie: String,
    pub csrf: String,
}

impl Session {
    /// Of the answer of a login.
    pub fn of(answer: &Answer) -> Session {
        let cookie = answer.header("set-cookie").expect("a cookie").to_owned();
        for word in ["Secure", "HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(word), "{cookie}");
        }
        let csrf = answer.json()["csrf"].as_str().expect("a secret").to_owned();
        Session {
            cookie: format!("Cookie: {}", cookie.split(';').next().unwrap_or_default()),
            csrf: format!("X-CSRF-Token: {csrf}"),
        }
    }

    fn token(&self, site: &Site, new: Value) -> String {
        let made = site.post("/v1/tokens", &[&self.cookie, &self.csrf], &new).is(200).json();
        made["secret"].as_str().expect("a secret").to_owned()
    }
}

#[test]
fn the_first_administrator_is_made_once_and_logs_in() {
    let scratch = Scratch::new("https-first");
    let site = Site::start(&scratch);
    let again = json!({"code": site.code(), "name": "eve", "password": PASSWORD});
    assert_eq!(
        site.post("/v1/first-administrator", &[], &again).is(409).problem(),
        "/problems/no-first-code"
    );
    for (name, password) in [("ada", "wrong password"), ("nobody", PASSWORD), ("ada' --", "x")] {
        let wrong = site.post("/v1/login", &[], &json!({"name": name, "password": password})).is(401);
        assert_eq!(wrong.problem(), "/problems/unauthenticated", "{name}");
    }
    let session = site.log_in("ada");
    for version in ["--http1.1", "--http2"] {
        let me = site.curl(&[version], "/v1/me", &[&session.cookie], None).is(200);
        assert_eq!(me.head.starts_with("HTTP/2"), version == "--http2", "{me:?}");
        assert_eq!((&me.json()["name"], &me.json()["role"]), (&json!("ada"), &json!("administrator")));
        assert_eq!(me.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(me.header("cache-control"), Some("no-store"));
        assert!(me.header("strict-transport-security").is_none(), "it signs itself: {me:?}");
        assert!(!me.head.to_lowercase().contains("access-control"), "{me:?}");
    }
    site.post("/v1/logout", &[&session.cookie, &session.csrf], &json!({})).is(200);
    site.get("/v1/me", &[&session.cookie]).is(401);
    site.get("/v1/me", &[&bearer("cistern_1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")]).is(401);
    assert!(!site.daemon.log().contains(&site.code()), "the code is on the console alone");
    assert!(!site.daemon.log().contains(PASSWORD));
}

#[test]
fn another_site_gets_nothing_done() {
    let scratch = Scratch::new("https-cross");
    let site = Site::start(&scratch);
    let session = site.log_in("ada");
    let (cookie, csrf) = (session.cookie.as_str(), session.csrf.as_str());
    let new = json!({"name": "eve", "password": PASSWORD, "role": "administrator"}).to_string();
    let try_it = |headers: &[&str]| site.ask("POST", "/v1/users", headers, Some(&new));
    let own = format!("Origin: https://127.0.0.1:{}", site.port);
    for headers in [
        vec![cookie],
        vec![cookie, "X-CSRF-Token: x"],
        vec![cookie, csrf, "Origin: https://evil.example"],
        vec![cookie, csrf, "Origin: null"],
        vec![cookie, csrf, "Sec-Fetch-Site: cross-site"],
        vec![cookie, csrf, &own, "Sec-Fetch-Site: same-site"],
    ] {
        assert_eq!(try_it(&headers).is(403).problem(), "/problems/cross-site", "{headers:?}");
    }
    try_it(&[cookie, csrf, "Content-Type: text/plain"]).is(400);
    assert_eq!(
        site.get("/v1/me", &[cookie, "Host: evil.example"]).is(421).problem(),
        "/problems/misdirected"
    );
    let login = json!({"name": "ada", "password": PASSWORD}).to_string();
    site.ask("POST", "/v1/login", &["Origin: https://evil.example"], Some(&login)).is(403);
    site.ask("POST", "/v1/login", &["Content-Type: text/plain"], Some(&login)).is(400);
    let users = site.get("/v1/users", &[cookie]).is(200).json();
    assert_eq!(users.as_array().map(Vec::len), Some(1), "{users}");
    try_it(&[cookie, csrf, &own, "Sec-Fetch-Site: same-origin"]).is(200);
}

#[test]
fn a_token_does_no_more_than_it_is_for() {
    let scratch = Scratch::new("https-tokens");
    let site = Site::start(&scratch);
    site.pool(&scratch);
    let reads = site.user("reader", "read-only", None);
    let works = site.user("worker", "operator", None);
    let held = site.user("held", "administrator", Some("tank/a"));
    let snapshot =
        |who: &str, name: &str| site.post("/v1/snapshots", &[who], &json!({"names": [name]})).status;
    assert_eq!([snapshot(&reads, "tank/a@r"), snapshot(&works, "tank/a@w")], [403, 200]);
    assert_eq!(
        [snapshot(&held, "tank/b@h"), snapshot(&held, "tank@h"), snapshot(&held, "tank/a@h")],
        [403, 403, 200]
    );
    site.get("/v1/pools/tank/history", &[&reads]).is(200);
    let make = |who: &str, name: &str| site.post("/v1/datasets", &[who], &json!({"name": name})).status;
    assert_eq!([make(&works, "tank/w"), make(&held, "tank/ab"), make(&held, "tank/a/b")], [403, 403, 200]);
    let rename = json!({"to": "tank/c"});
    site.post("/v1/datasets/tank%2Fa/rename", &[&held], &rename).is(403);
    let set = json!({"props": [{"name": "compression", "value": "lz4"}]});
    site.post("/v1/datasets/tank%2Fa/properties", &[&works], &set).is(403);
    site.post("/v1/datasets/tank%2Fb/properties", &[&held], &set).is(403);
    site.post("/v1/datasets/tank%2Fa/properties", &[&held], &set).is(200);
    site.post("/v1/pools/tank/scan", &[&held], &json!({"command": "scrub"})).is(403);
    site.post("/v1/pools/tank/scan", &[&works], &json!({"command": "scrub"})).is(202);
    // It makes no more of itself.
    let more = json!({"name": "more", "role": "administrator"});
    for who in [&reads, &works, &held] {
        site.post("/v1/tokens", &[who], &more).is(403);
        site.get("/v1/audit", &[who]).is(403);
    }
    // What is delegated to the account may be done, whatever the role.
    site.daemon.zfs("allow -u worker create,mount tank/b").done();
    assert_eq!(make(&works, "tank/b/w"), 200);
    let shown = site.daemon.zfs("allow tank/b").done();
    assert!(shown.contains("\tuser worker create,mount\n"), "{shown}");
    let nobody = site.daemon.zfs("allow -u shirker create tank/b");
    assert!(nobody.err.contains("invalid user shirker\n"), "{}", nobody.err);
    assert_ne!(nobody.status, 0);
    // Nobody is let in any more who is disabled.
    site.post("/v1/users/worker/change", &[&site.bearer()], &json!({"disabled": true})).is(200);
    site.get("/v1/me", &[&works]).is(401);
}

#[test]
fn every_route_is_for_whom_the_table_says() {
    let scratch = Scratch::new("https-routes");
    let site = Site::start(&scratch);
    let who = [
        ("stranger", None),
        ("reader", Some(site.user("reader", "read-only", None))),
        ("operator", Some(site.user("operator", "operator", None))),
        ("held", Some(site.user("held", "administrator", Some("tank/a")))),
        ("administrator", Some(site.bearer())),
    ];
    for (verb, route, right) in api::routes() {
        // A login without a password is refused as one that is wrong.
        if route == "/v1/login" {
            continue;
        }
        let path = route.replace("{name}", "none").replace("{id}", "999999");
        for (name, token) in &who {
            let headers: Vec<&str> = token.iter().map(String::as_str).collect();
            // These do not end by themselves soon.
            let is_long = ["/v1/events/stream", "/v1/trace"].contains(&route);
            let time: &[&str] = if is_long { &["--max-time", "2"] } else { &[] };
            let body = (verb == "POST").then_some("{}");
            let status = site.curl(&[&["-X", verb], time].concat(), &path, &headers, body).status;
            let told = format!("{name}: {verb} {route}: {status}");
            let (is_let_in, is_known) = (status != 403, status != 401);
            use api::Right::{Account, Administrator, Anyone, Delegated, Operator, Reader, Stranger};
            match (*name, right) {
                ("stranger", Stranger) => assert!(is_let_in && is_known, "{told}"),
                ("stranger", _) => assert!(!is_known, "{told}"),
                ("administrator", _) => assert!(is_let_in && is_known, "{told}"),
                ("reader", _) if verb == "POST" => assert!(!is_let_in, "{told}"),
                (_, Stranger | Anyone | Reader) => assert!(is_let_in && is_known, "{told}"),
                (_, Account | Administrator) => assert!(!is_let_in, "{told}"),
                ("operator", Operator) => assert!(is_let_in && is_known, "{told}"),
                (_, Operator) => assert!(!is_let_in, "{told}"),
                // What it comes to is decided in the engine.
                (_, Delegated) => assert!(is_known, "{told}"),
            }
        }
    }
    site.get("/v1/no/such/route", &[]).is(401);
}

#[test]
fn half_open_handshakes_starve_nobody() {
    let scratch = Scratch::new("https-half-open");
    let site = Site::start(&scratch);
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("it is raised");
    let before = site.daemon.resident();
    let half = |_| {
        let mut stream = TcpStream::connect(("127.0.0.1", site.port)).expect("it listens");
        // The first bytes of a handshake. Who finds no place is cut off.
        drop(stream.write_all(&[22, 3, 1, 2, 0, 1]));
        stream
    };
    let crowd: Vec<TcpStream> = (0..2_000).map(half).collect();
    for _ in 0..5 {
        let began = Instant::now();
        site.daemon.zpool("list").done();
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
    // From another address.
    site.curl(&["--interface", "127.0.0.2"], "/v1/me", &[&site.bearer()], None).is(200);
    let grown = site.daemon.resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
    // The time of a handshake ends them, and the place is free again.
    let free = || {
        let mut curl = program("curl", 60);
        curl.args(["-sS", "-k", "-o", "/dev/null", &format!("https://127.0.0.1:{}/v1/version", site.port)]);
        curl.output().expect("curl runs").status.success()
    };
    crate::suspended::until("the places are free", free);
    drop(crowd);
}

#[test]
fn large_and_slow_requests_of_strangers_end() {
    let scratch = Scratch::new("https-slow");
    let site = Site::start(&scratch);
    let large = json!({"name": "x".repeat(20 << 10), "password": "y"}).to_string();
    site.ask("POST", "/v1/login", &[], Some(&large)).is(400);
    // Who sends so long a head may be cut off before the answer is read.
    let long = format!("X-Long: {}", "x".repeat(40 << 10));
    let url = format!("https://127.0.0.1:{}/v1/version", site.port);
    for version in ["--http1.1", "--http2"] {
        let mut curl = program("curl", 60);
        curl.args([version, "-s", "-k", "-o", "/dev/null", "-w", "%{http_code}", "-H", &long, &url]);
        let status = text_of(&curl.output().expect("curl runs").stdout);
        assert!(["431", "000"].contains(&status.as_str()), "{version}: {status}");
    }
    // A body that does not come: the answer does, though the client goes on.
    let request = format!(
        "POST /v1/login HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n{JSON}\\r\\nContent-Length: 100\\r\\n\\r\\n{{"
    );
    let line = format!(
        "(printf '{request}'; sleep 20) | openssl s_client -quiet -connect 127.0.0.1:{} 2>/dev/null",
        site.port
    );
    let out = program("sh", 60).args(["-c", &line]).output().expect("openssl runs");
    assert!(text_of(&out.stdout).starts_with("HTTP/1.1 400"), "{}", text_of(&out.stdout));
    // Five wrong tries, and the next has to wait.
    let wrong = json!({"name": "ada", "password": "wrong password"});
    let answers: Vec<Answer> = (0..7).map(|_| site.post("/v1/login", &[], &wrong)).collect();
    let waits = answers.iter().find(|answer| answer.status == 429).expect("one has to wait");
    assert!(waits.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()), "{waits:?}");
    site.get("/v1/me", &[&site.bearer()]).is(200);
}

#[test]
fn the_own_account_is_changed_with_its_password_alone() {
    let scratch = Scratch::new("https-own");
    let site = Site::start(&scratch);
    let session = site.log_in("ada");
    let by_session = [session.cookie.as_str(), session.csrf.as_str()];
    let bearer = site.bearer();
    let new = json!({"password": "another horse battery"});
    site.post("/v1/users/ada/change", &by_session, &new).is(401);
    site.post("/v1/users/ada/change", &[&bearer], &new).is(401);
    site.post("/v1/users/ada/totp", &by_session, &json!({})).is(401);
    site.post("/v1/users/ada/totp", &by_session, &json!({"password": PASSWORD})).is(200);
    // Tokens of others are not kept, and end with the password that an administrator gives.
    let worker = site.user("worker", "operator", None);
    let kept = json!({"password": "another horse battery", "keep_tokens": true});
    site.post("/v1/users/worker/change", &[&bearer], &kept).is(422);
    site.get("/v1/me", &[&worker]).is(200);
    site.post("/v1/users/worker/change", &[&bearer], &new).is(200);
    site.get("/v1/me", &[&worker]).is(401);
    let own = json!({"password": "another horse battery", "old_password": PASSWORD, "keep_tokens": true});
    site.post("/v1/users/ada/change", &by_session, &own).is(200);
    site.get("/v1/me", &[&session.cookie]).is(401);
    site.get("/v1/me", &[&bearer]).is(200);
    let own = json!({"password": PASSWORD, "old_password": "another horse battery"});
    site.post("/v1/users/ada/change", &[&bearer], &own).is(200);
    site.get("/v1/me", &[&bearer]).is(401);
}

#[test]
fn another_certificate_is_shown_at_once() {
    let scratch = Scratch::new("https-certificate");
    let mut site = Site::start(&scratch);
    let first = site.get("/v1/certificate", &[&site.bearer()]).is(200).json();
    assert!(site.daemon.banner.contains(first["fingerprint"].as_str().expect("a text")), "{first}");
    let (cert, key) = (scratch.text("new.pem"), scratch.text("new.key"));
    let made = program("openssl", 60)
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "30",
        ])
        .args(["-subj", "/CN=other", "-addext", "subjectAltName=DNS:shelf.example,IP:127.0.0.1"])
        .args(["-keyout", &key, "-out", &cert])
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", text_of(&made.stderr));
    let read = |path: &str| fs::read_to_string(path).expect("it is there");
    let own_key = read(&text(&site.daemon.state.join("tls/key.pem")));
    let set = |key: &str| {
        site.post("/v1/certificate", &[&site.bearer()], &json!({"certificate": read(&cert), "key": key}))
    };
    set(&own_key).is(422);
    set("").is(422);
    // Who is connected stays so: its connection is older than the certificate.
    let line = format!(
        "(printf 'GET /v1/version HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'; sleep 4; \
         printf 'GET /v1/version HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n'; sleep 1) \
         | openssl s_client -quiet -connect 127.0.0.1:{} 2>/dev/null",
        site.port
    );
    let stays =
        std::thread::spawn(move || program("sh", 60).args(["-c", &line]).output().expect("openssl runs"));
    std::thread::sleep(Duration::from_secs(1));
    let second = set(&read(&key)).is(200).json();
    assert_ne!(second["fingerprint"], first["fingerprint"]);
    let out = text_of(&stays.join().expect("it ends").stdout);
    assert_eq!(out.matches("HTTP/1.1 200").count(), 2, "{out}");
    // curl trusts what is in the folder now, and takes it.
    assert_eq!(site.get("/v1/certificate", &[&site.bearer()]).is(200).json(), second);
    site.get("/v1/version", &["Host: shelf.example"]).is(200);
    site.daemon.stop();
    site.daemon.begin();
    site.port = port_of(&site.daemon);
    assert_eq!(site.get("/v1/certificate", &[&site.bearer()]).is(200).json(), second);
}

#[test]
fn the_audit_log_says_who_did_what() {
    let scratch = Scratch::new("https-audit");
    let mut site = Site::start(&scratch);
    site.pool(&scratch);
    let works = site.user("worker", "operator", None);
    site.post("/v1/snapshots", &[&works], &json!({"names": ["tank/a@s"]})).is(200);
    // It has a snapshot, so the job fails.
    let job = site.post("/v1/datasets/tank%2Fa/destroy", &[&works], &json!({})).is(202).json();
    site.post("/v1/tunables", &[&works], &json!({})).is(403);
    site.post("/v1/login", &[], &json!({"name": "eve", "password": PASSWORD})).is(401);
    let found = |site: &Site, who: &str, path: &str, status: u16| {
        let records = site.get(&format!("/v1/audit?user={who}&limit=1000"), &[&site.bearer()]).is(200).json();
        let records = records.as_array().expect("a list").clone();
        let is_it = |one: &&Value| one["path"] == json!(path) && one["status"] == json!(status);
        records.iter().find(is_it).unwrap_or_else(|| panic!("{who} {path} {status}: {records:?}")).clone()
    };
    // One thread writes, a moment later.
    std::thread::sleep(Duration::from_secs(1));
    let snapshot = found(&site, "worker", "/v1/snapshots", 200);
    assert!(
        snapshot["by"]["token"]["id"].is_u64() && snapshot["address"] == json!("127.0.0.1"),
        "{snapshot}"
    );
    found(&site, "worker", "/v1/datasets/tank%2Fa/destroy", 202);
    let failed = found(&site, "worker", &format!("/v1/jobs/{}", job["id"]), 409);
    assert_eq!((&failed["verb"], &failed["by"]), (&json!("FAILED"), &snapshot["by"]), "{failed}");
    assert_eq!(failed["target"], json!("dataset.destroy tank/a"));
    found(&site, "worker", "/v1/tunables", 403);
    assert_eq!(found(&site, "eve", "/v1/login", 401)["by"], json!("nobody"));
    assert_eq!(found(&site, "0", "/v1/pools", 202)["by"], json!({"socket": {"uid": 0}}));
    let all = site.get("/v1/audit?limit=1000", &[&site.bearer()]).is(200).body;
    assert!(!all.contains(PASSWORD) && !all.contains("cistern_"), "no secret is in it");
    // A kill may lose the last records, and nothing before.
    site.daemon.kill();
    site.daemon.begin();
    site.port = port_of(&site.daemon);
    found(&site, "worker", "/v1/snapshots", 200);
    let backup = site.post("/v1/machine/backup", &[&site.bearer()], &json!({})).is(200).json();
    assert!(
        fs::metadata(backup["path"].as_str().expect("a path")).is_ok_and(|file| file.len() > 0),
        "{backup}"
    );
}

#[test]
fn a_database_that_is_damaged_or_newer_keeps_no_data_service_away() {
    let scratch = Scratch::new("https-damaged");
    let mut site = Site::start(&scratch);
    site.pool(&scratch);
    site.daemon.stop();
    let database = site.daemon.state.join("machine.db");
    fs::write(&database, b"this is no database, and never was one").expect("it is written");
    site.daemon.begin();
    assert!(site.daemon.banner.contains("was damaged and is kept as"), "{}", site.daemon.banner);
    site.daemon.zfs("list tank/a").done();
    // The backup of the stop has the accounts.
    site.port = port_of(&site.daemon);
    site.get("/v1/me", &[&site.bearer()]).is(200);
    site.daemon.stop();
    // A directory that cannot be locked stands for what cannot be opened at all.
    let lock = site.daemon.state.join("machine.lock");
    fs::remove_file(&lock).expect("it is there");
    fs::create_dir(&lock).expect("it is made");
    site.daemon.begin();
    assert!(site.daemon.banner.contains("web          off: "), "{}", site.daemon.banner);
    assert!(site.daemon.banner.contains("NFS          "), "{}", site.daemon.banner);
    site.daemon.zfs("list tank/a").done();
    site.daemon.stop();
}
