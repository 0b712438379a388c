//! Certificates by ACME, with pebble as the authority, which nobody here wrote, and curl and
//! openssl as clients.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::daemon::{Daemon, Ran, Scratch, program, text};
use crate::https::Site;

const NAME: &str = "nas.example.org";
const OTHER: &str = "files.example.org";

/// A process that ends with the test.
struct Part(Child);

impl Part {
    fn start(program: &str, args: &[&str], env: &[(&str, &str)], log: &str) -> Part {
        let log = fs::File::options().create(true).append(true).open(log).expect("a log");
        let mut command = Command::new(program);
        command.args(args).envs(env.iter().copied()).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        Part(command.spawn().unwrap_or_else(|error| panic!("{program}: {error}")))
    }

    fn signal(&self, signal: &str) {
        Command::new("kill").args([signal, &self.0.id().to_string()]).status().expect("kill");
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Ports that are free now.
fn free_ports<const N: usize>() -> [u16; N] {
    let taken = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    taken.map(|listener| listener.local_addr().expect("an address").port())
}

/// Runs openssl with words separated by spaces.
fn openssl(line: &str) {
    let out = program("openssl", 60).args(line.split_whitespace()).output().expect("openssl runs");
    assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
}

/// pebble, and a DNS that says 127.0.0.1 of every name.
struct Authority {
    folder: String,
    directory: String,
    management: u16,
    dns: u16,
    pebble: Option<Part>,
    _names: Part,
}

impl Authority {
    /// One that proves names at a port, and whose certificates last so many seconds.
    fn start(scratch: &Scratch, tls_port: u16, lasts: u64) -> Authority {
        let folder = text(&scratch.folder("authority"));
        let file = |name: &str| format!("{folder}/{name}");
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        openssl(&format!(
            "req -x509 {key} -days 30 -subj /CN=root -addext basicConstraints=critical,CA:TRUE \
             -keyout {folder}/root.key -out {folder}/root.pem"
        ));
        fs::write(file("ext"), "subjectAltName=DNS:localhost,IP:127.0.0.1").expect("written");
        openssl(&format!("req {key} -subj /CN=localhost -keyout {folder}/own.key -out {folder}/own.csr"));
        openssl(&format!(
            "x509 -req -in {folder}/own.csr -CA {folder}/root.pem -CAkey {folder}/root.key -CAcreateserial \
             -days 30 -extfile {folder}/ext -out {folder}/own.pem"
        ));
        let dns = UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let [port, management, control] = free_ports();
        let config = json!({"pebble": {
            "listenAddress": format!("127.0.0.1:{port}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": file("own.pem"),
            "privateKey": file("own.key"),
            "httpPort": 1,
            "tlsPort": tls_port,
            "certificateValidityPeriod": lasts,
        }});
        fs::write(file("config.json"), config.to_string()).expect("written");
        let names = Part::start(
            "pebble-challtestsrv",
            &[
                "-defaultIPv4",
                "127.0.0.1",
                "-defaultIPv6",
                "",
                "-dns01",
                &format!("127.0.0.1:{dns}"),
                "-management",
                &format!("127.0.0.1:{control}"),
                "-http01",
                "",
                "-https01",
                "",
                "-tlsalpn01",
                "",
            ],
            &[],
            &file("names.log"),
        );
        let directory = format!("https://localhost:{port}/dir");
        let mut authority = Authority { folder, directory, management, dns, pebble: None, _names: names };
        authority.begin();
        authority
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// Starts pebble, which has forgotten all that was before.
    fn begin(&mut self) {
        let dns = format!("127.0.0.1:{}", self.dns);
        let args = ["-config", &self.file("config.json"), "-dnsserver", &dns];
        // It proves names at once; of its nonces it refuses some, as it does unless told otherwise.
        let pebble = Part::start("pebble", &args, &[("PEBBLE_VA_NOSLEEP", "1")], &self.file("pebble.log"));
        self.pebble = Some(pebble);
        // Its directory is there last.
        for (url, to) in [
            (format!("https://localhost:{}/roots/0", self.management), "chain.pem"),
            (self.directory.clone(), "directory.json"),
        ] {
            crate::suspended::until("pebble is there", || {
                let mut curl = program("curl", 10);
                curl.args(["-sS", "--cacert", &self.file("root.pem"), "-o", &self.file(to), &url]);
                curl.output().expect("curl runs").status.success()
            });
        }
    }

    /// Requests that it has seen.
    fn seen(&self) -> usize {
        self.log().matches("calling handler").count()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.file("pebble.log")).unwrap_or_default()
    }
}

fn set(site: &Site, authority: &Authority, names: &[&str]) -> Ran {
    let root = authority.file("root.pem");
    let mut words = vec!["certificate", "acme", "--directory", &authority.directory, "--ca-file", &root];
    for name in names {
        words.extend(["--domain", name]);
    }
    words.extend(["--email", "ada@example.org", "--agree-tos"]);
    site.daemon.run(&words)
}

/// What is set, and how it went.
fn status(site: &Site) -> Value {
    let (status, answer) = site.daemon.ask("GET", "/v1/certificate/acme", None);
    assert_eq!(status, 200, "{answer}");
    answer["acme"].clone()
}

fn shown(site: &Site) -> String {
    let (_, shown) = site.daemon.ask("GET", "/v1/certificate", None);
    shown["fingerprint"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned()
}

/// A daemon on a port that stays.
fn start(scratch: &Scratch) -> Site {
    let [port] = free_ports();
    Site::start_with(scratch, &["--https", &format!("127.0.0.1:{port}")])
}

/// Whether curl, which trusts pebble's root and nothing else, is served under a name.
fn is_served(site: &Site, authority: &Authority, name: &str) -> bool {
    let mut curl = program("curl", 30);
    curl.args(["-sS", "-o", "/dev/null", "--cacert", &authority.file("chain.pem")]);
    curl.args(["--resolve", &format!("{name}:{}:127.0.0.1", site.port)]);
    curl.arg(format!("https://{name}:{}/v1/version", site.port));
    curl.output().expect("curl runs").status.success()
}

#[track_caller]
fn until(site: &Site, what: &str, seconds: u64, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let now = status(site);
        if is_so(&now) {
            return now;
        }
        assert!(began.elapsed() < Duration::from_secs(seconds), "{what}: {now}\n{}", site.daemon.log());
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[track_caller]
fn comes(site: &Site, seconds: u64) -> Value {
    let has_come = |acme: &Value| acme["tries"] == json!(0) && acme["next"] != json!(0);
    until(site, "a certificate comes", seconds, has_come)
}

/// What openssl sees that offers `alpn`: the protocol that was agreed on and the certificate.
fn seen(site: &Site, name: &str, alpn: &str) -> String {
    let line = format!(
        "timeout 20 openssl s_client -connect 127.0.0.1:{} -servername {name} -alpn {alpn} </dev/null 2>&1",
        site.port
    );
    let out = program("sh", 60).args(["-c", &line]).output().expect("openssl runs");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn a_certificate_comes_from_an_authority_and_is_shown_at_once() {
    let scratch = Scratch::new("acme-comes");
    let mut site = start(&scratch);
    let authority = Authority::start(&scratch, site.port, 90 * 86_400);
    assert_eq!(status(&site), Value::Null);
    let own = shown(&site);
    set(&site, &authority, &[NAME, OTHER]).done();
    let acme = comes(&site, 60);
    assert!(is_served(&site, &authority, NAME) && is_served(&site, &authority, OTHER), "{}", authority.log());
    assert!(!is_served(&site, &authority, "evil.example.org"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let days = (acme["next"].as_u64().expect("a time") - now) / 86_400;
    assert!((57..=60).contains(&days), "{acme}");
    assert_ne!(shown(&site), own);
    let text = site.daemon.run(&["certificate", "show"]).done();
    for part in [NAME, OTHER, "Pebble Intermediate CA", "from        https://localhost", "next        2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Who asks for a proof that nobody is waiting for gets nothing, and nothing is served to him.
    for name in [NAME, "evil.example.org"] {
        let told = seen(&site, name, "acme-tls/1");
        assert!(told.contains("no peer certificate available"), "{told}");
    }
    assert!(seen(&site, NAME, "acme-tls/1,h2").contains("ALPN protocol: h2"));
    assert!(seen(&site, NAME, "h2").contains("Pebble Intermediate CA"));
    // As long as it comes by ACME it is not replaced by hand.
    let pem = fs::read_to_string(site.daemon.state.join("tls/cert.pem")).expect("it is there");
    let key = fs::read_to_string(site.daemon.state.join("tls/key.pem")).expect("it is there");
    let by_hand = json!({"certificate": pem, "key": key});
    let (refused, why) = site.daemon.ask("POST", "/v1/certificate", Some(&by_hand.to_string()));
    assert_eq!((refused, &why["type"]), (409, &json!("/problems/refused")), "{why}");
    // A restart asks nobody: what was set is kept, the certificate too.
    let (before, asked) = (shown_by(&site, &authority), authority.seen());
    site.daemon.stop();
    site.daemon.begin();
    assert_eq!((shown_by(&site, &authority), status(&site)), (before, acme));
    assert_eq!(authority.seen(), asked);
    let secrets = site.daemon.log();
    assert!(!secrets.contains("key_pkcs8") && !secrets.contains("PRIVATE KEY"), "{secrets}");
    site.daemon.run(&["certificate", "acme", "off"]).done();
    assert_eq!(status(&site), Value::Null);
    assert!(is_served(&site, &authority, NAME), "it stays until its end");
    assert_eq!(site.daemon.ask("POST", "/v1/certificate", Some(&by_hand.to_string())).0, 200);
}

/// The fingerprint, as the command says it.
fn shown_by(site: &Site, authority: &Authority) -> String {
    assert!(is_served(site, authority, NAME));
    let text = site.daemon.run(&["certificate", "show"]).done();
    text.lines().next().expect("a line").to_owned()
}

#[test]
fn a_certificate_is_renewed_in_time_and_an_authority_that_is_gone_takes_none_away() {
    let scratch = Scratch::new("acme-renewed");
    let site = start(&scratch);
    // Two thirds of it are a minute, the least that there is between two certificates.
    let mut authority = Authority::start(&scratch, site.port, 90);
    set(&site, &authority, &[NAME]).done();
    comes(&site, 60);
    let first = shown_by(&site, &authority);
    let began = Instant::now();
    while shown_by(&site, &authority) == first {
        assert!(began.elapsed() < Duration::from_secs(120), "{}\n{}", status(&site), authority.log());
        std::thread::sleep(Duration::from_secs(1));
    }
    comes(&site, 10);
    let second = shown_by(&site, &authority);
    // It is gone, and comes back without memory: until then the certificate stays.
    authority.pebble = None;
    set(&site, &authority, &[NAME]).done();
    let failed = until(&site, "the failure is told", 60, |acme| {
        acme["failure"]["fault"] == json!("unreachable") && acme["is_asking"] == json!(false)
    });
    let wait = failed["next"].as_i64().expect("a time") - failed["failure"]["at"].as_i64().expect("a time");
    assert!((60..=90).contains(&wait), "{failed}");
    assert_eq!(shown_by(&site, &authority), second);
    let text = site.daemon.run(&["certificate", "show"]).done();
    assert!(
        text.contains("failed      2") && text.contains("unreachable: localhost cannot be reached"),
        "{text}"
    );
    authority.begin();
    set(&site, &authority, &[NAME]).done();
    comes(&site, 60);
    assert_ne!(shown_by(&site, &authority), second, "with another account");
}

#[test]
fn a_name_that_leads_elsewhere_is_told_as_such() {
    let scratch = Scratch::new("acme-elsewhere");
    let site = start(&scratch);
    let [nobody] = free_ports();
    let authority = Authority::start(&scratch, nobody, 90 * 86_400);
    let own = shown(&site);
    set(&site, &authority, &[NAME]).done();
    let failed = until(&site, "the failure is told", 60, |acme| acme["failure"] != Value::Null);
    assert_eq!(failed["failure"]["fault"], json!("not-proven"), "{failed}");
    assert!(failed["failure"]["why"].as_str().is_some_and(|why| why.starts_with(NAME)), "{failed}");
    assert_eq!(shown(&site), own);
    // Refused before anybody is asked.
    for (names, more) in
        [("*.example.org", ""), ("192.0.2.1", ""), (NAME, "--directory=http://localhost/dir")]
    {
        let mut words = vec!["certificate", "acme", "--domain", names, "--agree-tos"];
        words.extend(Some(more).filter(|more| !more.is_empty()));
        assert_ne!(site.daemon.run(&words).status, 0, "{words:?}");
    }
    assert_ne!(site.daemon.run(&["certificate", "acme", "--domain", NAME]).status, 0, "no terms");
    assert_eq!(status(&site)["domains"], json!([NAME]));
}

#[test]
fn an_order_that_a_kill_has_ended_is_made_again() {
    let scratch = Scratch::new("acme-kill");
    let mut site = start(&scratch);
    let authority = Authority::start(&scratch, site.port, 90 * 86_400);
    let own = shown(&site);
    // Stopped, it leaves the order in its midst.
    let pebble = authority.pebble.as_ref().expect("it runs");
    pebble.signal("-STOP");
    set(&site, &authority, &[NAME]).done();
    until(&site, "it asks", 30, |acme| acme["is_asking"] == json!(true) && acme["tries"] == json!(1));
    site.daemon.kill();
    pebble.signal("-CONT");
    site.daemon.begin();
    assert_eq!(shown(&site), own);
    let waits = status(&site);
    assert_eq!((&waits["tries"], &waits["is_asking"]), (&json!(1), &json!(false)), "not at once: {waits}");
    // Killed again when the authority has it in hand: whatever came of it, one whole certificate is
    // shown, and the end is the same.
    comes(&site, 120);
    set(&site, &authority, &[NAME]).done();
    std::thread::sleep(Duration::from_millis(1_500));
    site.daemon.kill();
    site.daemon.begin();
    assert!(is_served(&site, &authority, NAME));
    comes(&site, 120);
    assert!(is_served(&site, &authority, NAME));
}

#[test]
fn without_https_nobody_is_asked_and_only_administrators_say_who_is() {
    let scratch = Scratch::new("acme-off");
    let mut site = start(&scratch);
    let mut authority = Authority::start(&scratch, site.port, 90 * 86_400);
    for (name, role) in [("reader", "read-only"), ("worker", "operator")] {
        let bearer = site.user(name, role, None);
        let asked = json!({"domains": [NAME], "directory": authority.directory, "agree_terms": true});
        site.post("/v1/certificate/acme", &[&bearer], &asked).is(403);
        site.post("/v1/certificate/acme/off", &[&bearer], &json!({})).is(403);
        site.get("/v1/certificate/acme", &[&bearer]).is(200);
    }
    authority.pebble = None;
    set(&site, &authority, &[NAME]).done();
    until(&site, "the failure is told", 60, |acme| acme["failure"] != Value::Null);
    site.daemon.stop();
    let daemon = Daemon::start_with(&scratch, "state", &["--https", "off"]);
    authority.begin();
    let asked = authority.seen();
    let refused = daemon.run(&["certificate", "acme", "--domain", NAME, "--agree-tos"]);
    assert!(refused.status != 0 && refused.err.contains("HTTPS is off"), "{}{}", refused.out, refused.err);
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(authority.seen(), asked, "nobody was asked");
}
