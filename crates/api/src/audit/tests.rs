use super::*;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use machine::AuditFilter;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicI64;
use stdx::behalf::Actor;

/// A clock that is set, and numbers that are always the same.
struct Clock(AtomicI64);

impl Outside for Clock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

/// A database in a folder that goes with its test.
struct Scene {
    folder: PathBuf,
    machine: Arc<Machine>,
    clock: Arc<Clock>,
}

impl Scene {
    fn new(name: &str) -> Scene {
        let folder = std::env::temp_dir().join(format!("cistern-audit-{name}-{}", std::process::id()));
        // What an earlier run has left.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).expect("a folder");
        let clock = Arc::new(Clock(AtomicI64::new(1_800_000_000)));
        let (machine, _) = Machine::open(&folder, clock.clone()).expect("a database");
        Scene { folder, machine: Arc::new(machine), clock }
    }

    fn begin(&self) -> (Auditor, Writer) {
        begin(self.machine.clone(), self.clock.clone()).expect("a thread")
    }

    /// Verb, path, who and status of what was written, the newest first.
    fn written(&self) -> Vec<(String, String, String, u16)> {
        let records = self.machine.audit(None, 1_000, &AuditFilter::default()).expect("it can be read");
        records.into_iter().map(|one| (one.verb, one.path, one.who, one.status)).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn request(verb: Method, path: &str) -> Request {
    Request::builder().method(verb).uri(path).body(Body::empty()).expect("a request")
}

fn note(auditor: &Auditor, asker: &Asker, asked: &Request, answer: impl IntoResponse) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(async {
        if let Some(asked) = Asked::of(asked) {
            auditor.note(asked, asker, &mut answer.into_response()).await;
        }
    });
}

fn root() -> Asker {
    Asker::local(Arc::new(Actor::administrator(0, 0)))
}

fn stranger() -> Asker {
    Asker::stranger(IpAddr::from([192, 0, 2, 1]))
}

#[test]
fn what_changes_something_is_written_and_what_reads_is_not() {
    let scene = Scene::new("written");
    let (auditor, writer) = scene.begin();
    let post = request(Method::POST, "/v1/datasets/tank%2Fa/destroy?x=secret");
    note(&auditor, &root(), &post, StatusCode::ACCEPTED);
    note(&auditor, &root(), &request(Method::GET, "/v1/pools"), StatusCode::OK);
    note(&auditor, &root(), &request(Method::HEAD, "/v1/pools"), StatusCode::OK);
    let mut answer = StatusCode::UNAUTHORIZED.into_response();
    answer.extensions_mut().insert(Said { who: Some("ada\nroot".into()), target: None });
    note(&auditor, &stranger(), &request(Method::POST, "/v1/login"), answer);
    writer.end(Duration::from_secs(10));
    // The query is not in it, a name is one line, and the path is as it was sent.
    assert_eq!(
        scene.written(),
        [
            ("POST".into(), "/v1/login".into(), "ada\\u{a}root".into(), 401),
            ("POST".into(), "/v1/datasets/tank%2Fa/destroy".into(), "0".into(), 202),
        ]
    );
}

#[test]
fn strangers_do_not_push_out_what_others_did() {
    let scene = Scene::new("strangers");
    let (auditor, writer) = scene.begin();
    let login = request(Method::POST, "/v1/login");
    for _ in 0..2 * STRANGERS {
        note(&auditor, &stranger(), &login, StatusCode::UNAUTHORIZED);
    }
    note(&auditor, &root(), &request(Method::POST, "/v1/pools"), StatusCode::ACCEPTED);
    scene.clock.0.fetch_add(MINUTE, Ordering::Relaxed);
    note(&auditor, &stranger(), &login, StatusCode::UNAUTHORIZED);
    writer.end(Duration::from_secs(60));
    let written = scene.written();
    let of_strangers = written.iter().filter(|one| one.1 == "/v1/login").count();
    assert_eq!(of_strangers, STRANGERS as usize + 1, "as many as a minute has, and one of the next");
    assert!(written.iter().any(|one| one.1 == "/v1/pools"));
    assert!(written.iter().any(|one| one.0 == LOSS && one.2 == WRITER), "the loss is told");
}

#[test]
fn a_long_path_is_cut_between_characters() {
    assert_eq!(cut(&"ü".repeat(LONGEST)).len(), LONGEST);
    assert_eq!(cut(&format!("a{}", "ü".repeat(LONGEST))).len(), LONGEST - 1);
    assert_eq!(cut("/v1/me"), "/v1/me");
}
