use super::*;
use axum::body::Body;
use axum::middleware::from_fn_with_state;
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
            auditor.begin(asked, asker.clone()).answered(&mut answer.into_response()).await;
        }
    });
}

fn root() -> Asker {
    Asker::local(Arc::new(Actor::administrator(0, 0)))
}

fn guest() -> Asker {
    Asker::local(Arc::new(Actor { rank: Rank::Guest, user: 1000, ..Actor::itself() }))
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
    answer.extensions_mut().insert(Said { who: Some("ada\nroot".into()), ..Said::default() });
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

/// How many records a path has.
fn count(scene: &Scene, path: &str) -> usize {
    scene.written().iter().filter(|one| one.1 == path).count()
}

#[test]
fn refusals_of_one_are_noted_for_a_while_and_those_of_others_and_what_was_done_always() {
    let scene = Scene::new("refusals");
    let (auditor, writer) = scene.begin();
    let post = |path| request(Method::POST, path);
    for _ in 0..2 * OF_ONE {
        note(&auditor, &stranger(), &post("/junk"), StatusCode::UNAUTHORIZED);
        note(&auditor, &guest(), &post("/guest"), StatusCode::FORBIDDEN);
    }
    note(&auditor, &stranger(), &post("/login"), StatusCode::OK);
    note(&auditor, &guest(), &post("/done"), StatusCode::OK);
    let elsewhere = Asker::stranger(IpAddr::from([192, 0, 2, 2]));
    note(&auditor, &elsewhere, &post("/elsewhere"), StatusCode::UNAUTHORIZED);
    for _ in 0..2 * OF_ONE {
        note(&auditor, &root(), &post("/root"), StatusCode::CONFLICT);
    }
    scene.clock.0.fetch_add(MINUTE, Ordering::Relaxed);
    note(&auditor, &stranger(), &post("/later"), StatusCode::UNAUTHORIZED);
    writer.end(Duration::from_secs(60));
    let of_one = OF_ONE as usize;
    for (path, noted) in [
        ("/junk", of_one),
        ("/guest", of_one),
        ("/login", 1),
        ("/done", 1),
        ("/elsewhere", 1),
        ("/root", 2 * of_one),
        ("/later", 1),
    ] {
        assert_eq!(count(&scene, path), noted, "{path}");
    }
    assert!(scene.written().iter().any(|one| one.0 == LOSS && one.2 == WRITER), "the loss is told");
}

#[test]
fn strangers_have_a_bound_together_and_nobody_else_is_in_it() {
    let mut refused = Refused::default();
    let mut noted = 0;
    for number in 0..1_000_u32 {
        let place = Whose::Place(IpAddr::from(number.to_be_bytes()));
        noted += u32::from(refused.has_room(place, 0));
    }
    assert_eq!(noted, OF_STRANGERS);
    assert!(refused.has_room(Whose::User(7), 0) && refused.of_one.len() < MOST_COUNTED);
}

#[test]
fn what_was_done_weighs_as_much_as_who_did_it() {
    let of = |asker: &Asker, role| weight(asker, role, StatusCode::OK);
    assert_eq!(of(&root(), None), Weight::Administrator);
    assert_eq!(of(&guest(), None), Weight::Guest);
    assert_eq!(of(&stranger(), Some(Role::Administrator)), Weight::Administrator);
    assert_eq!(of(&stranger(), Some(Role::ReadOnly)), Weight::Guest);
    assert_eq!(weight(&root(), None, StatusCode::CONFLICT), Weight::Refused);
}

async fn call(routes: axum::Router, asked: Request) -> Response {
    let routes = hyper_util::service::TowerToHyperService::new(routes);
    let Ok(answer) = hyper::service::Service::call(&routes, asked).await;
    answer
}

/// A handler that takes a while, or panics.
async fn slow(request: Request) -> StatusCode {
    assert!(request.uri().path() != "/panics", "as a fault of ours would");
    tokio::time::sleep(Duration::from_millis(100)).await;
    StatusCode::OK
}

#[test]
fn a_request_is_noted_though_its_client_has_gone_or_its_handler_panics() {
    let scene = Scene::new("gone");
    let (auditor, writer) = scene.begin();
    let routes = axum::Router::new().fallback(slow).layer(from_fn_with_state(auditor.clone(), record));
    let asked = |path| {
        let mut asked = request(Method::POST, path);
        asked.extensions_mut().insert(ConnectInfo(root()));
        asked
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let left =
            tokio::time::timeout(Duration::from_millis(10), call(routes.clone(), asked("/left"))).await;
        assert!(left.is_err(), "the client goes before the answer");
        assert_eq!(call(routes.clone(), asked("/panics")).await.status(), StatusCode::INTERNAL_SERVER_ERROR);
        tokio::time::sleep(Duration::from_millis(300)).await;
        let cut = tokio::time::timeout(Duration::from_millis(10), call(routes.clone(), asked("/cut"))).await;
        assert!(cut.is_err());
    });
    // With the runtime ends what is under way.
    drop(runtime);
    drop((routes, auditor));
    writer.end(Duration::from_secs(60));
    let mut written: Vec<(String, u16)> =
        scene.written().into_iter().map(|(_, path, _, status)| (path, status)).collect();
    written.sort_unstable();
    assert_eq!(written, [("/cut".into(), 500), ("/left".into(), 200), ("/panics".into(), 500)]);
}

fn job(id: u64) -> Job {
    Job {
        id,
        kind: "pool.import".to_owned(),
        target: "tank".to_owned(),
        state: api_types::JobState::Running,
        cancellable: false,
        progress: api_types::Progress::default(),
        began: None,
        ended: None,
        asked_by: Some(0),
        result: None,
        problem: None,
    }
}

fn problem(status: u16) -> Problem {
    let text = || "busy".to_owned();
    Problem {
        kind: text(),
        title: text(),
        status,
        detail: text(),
        refused: None,
        second_factors: None,
        service_fault: None,
        exit: 1,
    }
}

/// Begins a job that ends as the path says.
async fn working(request: Request) -> StatusCode {
    match request.uri().path() {
        "/done" => JobNote::of(&job(1)).ended(&Ok::<(), Problem>(())),
        "/fails" => JobNote::of(&job(2)).ended(&Err::<(), Problem>(problem(409))),
        _ => drop(JobNote::of(&job(3))),
    }
    StatusCode::ACCEPTED
}

#[test]
fn a_job_that_fails_is_a_record_of_who_began_it() {
    let scene = Scene::new("jobs");
    let (auditor, writer) = scene.begin();
    let routes = axum::Router::new().fallback(working).layer(from_fn_with_state(auditor.clone(), record));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        for path in ["/done", "/fails", "/panics"] {
            let mut asked = request(Method::POST, path);
            asked.extensions_mut().insert(ConnectInfo(root()));
            assert_eq!(call(routes.clone(), asked).await.status(), StatusCode::ACCEPTED);
        }
    });
    drop((runtime, routes, auditor));
    writer.end(Duration::from_secs(60));
    let failed: Vec<_> = scene.written().into_iter().filter(|(verb, ..)| verb == FAILED).collect();
    let record = |id, status| (FAILED.into(), format!("/v1/jobs/{id}"), "0".into(), status);
    assert_eq!(failed, [record(3, 500), record(2, 409)]);
}

#[test]
fn a_job_that_no_request_began_is_no_record() {
    let note = JobNote::of(&job(1));
    assert!(note.0.is_none());
    note.ended(&Err::<(), Problem>(problem(500)));
}

/// Has an answer when it is let go.
async fn held(let_go: Arc<tokio::sync::Notify>) -> StatusCode {
    let_go.notified().await;
    StatusCode::OK
}

#[test]
fn who_begins_requests_and_hangs_up_has_only_so_many_under_way() {
    let scene = Scene::new("crowd");
    let (auditor, writer) = scene.begin();
    let let_go = Arc::new(tokio::sync::Notify::new());
    let handler = {
        let let_go = let_go.clone();
        move || held(let_go)
    };
    let routes = axum::Router::new().fallback(handler).layer(from_fn_with_state(auditor.clone(), record));
    let asked = |asker| {
        let mut asked = request(Method::POST, "/held");
        asked.extensions_mut().insert(ConnectInfo(asker));
        asked
    };
    let short = Duration::from_millis(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        for _ in 0..OF_ONE_UNDER_WAY {
            let left = tokio::time::timeout(short, call(routes.clone(), asked(guest()))).await;
            assert!(left.is_err(), "he hangs up");
        }
        let answer = call(routes.clone(), asked(guest())).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        for other in [root(), stranger()] {
            let left = tokio::time::timeout(short, call(routes.clone(), asked(other))).await;
            assert!(left.is_err(), "others have places of their own");
        }
        let_go.notify_waiters();
        while auditor.place(&guest()).is_none() {
            tokio::task::yield_now().await;
        }
    });
    drop((runtime, routes, auditor));
    writer.end(Duration::from_secs(60));
}

#[test]
fn a_flood_of_a_guest_keeps_no_administrator_waiting() {
    let scene = Scene::new("flood");
    let (auditor, writer) = scene.begin();
    let post = request(Method::POST, "/v1/pools");
    for _ in 0..20_000 {
        note(&auditor, &guest(), &post, StatusCode::OK);
    }
    let began = std::time::Instant::now();
    note(&auditor, &root(), &request(Method::POST, "/root"), StatusCode::OK);
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    writer.end(Duration::from_secs(60));
    assert_eq!(count(&scene, "/root"), 1);
}

#[test]
fn a_long_path_is_cut_between_characters() {
    assert_eq!(cut(&"ü".repeat(LONGEST)).len(), LONGEST);
    assert_eq!(cut(&format!("a{}", "ü".repeat(LONGEST))).len(), LONGEST - 1);
    assert_eq!(cut("/v1/me"), "/v1/me");
}
