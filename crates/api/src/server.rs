//! The socket, the routes and the runtime that serves them.

use crate::app::{App, PATIENT, PROMPT, Refusal, Room};
use crate::caller::{self, Caller};
use crate::handlers::{
    datasets, events, faults, jobs, measure, mounts, pools, projects, snapshots, streams, tunables,
};
use crate::jobs::{Jobs, MOST};
use crate::local::LocalMounts;
use crate::problem::problem;
use api_types::{kind, routes};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, Uri};
use axum::middleware::from_fn;
use axum::routing::{get, post};
use engine_api::Engine;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Largest request body, in bytes: far above any list of names that makes sense.
const BODY_MAX: usize = 1 << 20;
/// How long requests under way may take to end after `stop`.
const GRACE: Duration = Duration::from_secs(5);
/// Blocking threads: as many requests and jobs are in the engine at one time. There is one for each that may be, so none
/// waits for another's.
const BLOCKING_THREADS: usize = PATIENT + PROMPT + MOST;

#[derive(Debug)]
pub struct Config {
    /// Where to listen.
    pub socket: PathBuf,
    /// The socket there, if it listens already: then it stays when the server stops.
    pub inherited: Option<UnixListener>,
    /// Mount file systems locally when they are created, imported or get a mount point.
    pub auto_mount: bool,
    /// Of the daemon, as `zpool version` prints it.
    pub version: String,
}

/// The running server. Dropping it stops it too.
pub struct ApiServer {
    socket: PathBuf,
    stays: bool,
    stop: Option<oneshot::Sender<()>>,
    runtime: Option<tokio::runtime::Runtime>,
    task: Option<tokio::task::JoinHandle<()>>,
}

/// Listens on the socket until stopped. `AddrInUse` where another daemon answers there.
pub fn serve(config: Config, engine: Arc<dyn Engine>, local: Arc<dyn LocalMounts>) -> io::Result<ApiServer> {
    let stays = config.inherited.is_some();
    let listener = config.inherited.map_or_else(|| listen(&config.socket), Ok)?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("api")
        .enable_io()
        .enable_time()
        .build()?;
    let app = App {
        engine,
        local,
        jobs: Jobs::new(),
        room: Room::new(),
        auto_mount: config.auto_mount,
        version: config.version,
    };
    let (stop, stopped) = oneshot::channel();
    let listener = {
        let _inside = runtime.enter();
        tokio::net::UnixListener::from_std(listener)?
    };
    let service = router(app);
    let task = runtime.spawn(async move {
        let until = async move {
            // A dropped sender means stop as well.
            let _ = stopped.await;
        };
        let service = service.into_make_service_with_connect_info::<Caller>();
        if let Err(error) = axum::serve(listener, service).with_graceful_shutdown(until).await {
            tracing::error!(%error, "management API ended");
        }
    });
    Ok(ApiServer { socket: config.socket, stays, stop: Some(stop), runtime: Some(runtime), task: Some(task) })
}

/// Binds the socket for its owner alone, replacing one that nobody answers on.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    if path.exists() {
        if UnixStream::connect(path).is_ok() {
            let text = format!("another daemon answers on {}", path.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
        }
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

impl ApiServer {
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Takes no new request, lets those under way end, removes the socket if it is its own.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        drop(self.stop.take());
        if let Some(task) = self.task.take() {
            // A time-out only means that somebody's request is still in the engine; it is left behind.
            let _ = runtime.block_on(async { tokio::time::timeout(GRACE, task).await });
        }
        runtime.shutdown_timeout(GRACE);
        if !self.stays {
            let _ = std::fs::remove_file(&self.socket);
        }
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.shut_down();
    }
}

fn router(app: App) -> Router {
    Router::new()
        .route(routes::VERSION, get(jobs::version))
        .route(routes::JOBS, get(jobs::list))
        .route(routes::JOB, get(jobs::one))
        .route(routes::POOLS, get(pools::list).post(pools::create))
        .route(routes::POOL, get(pools::one))
        .route(routes::POOL_EXPORT, post(pools::export))
        .route(routes::POOL_DESTROY, post(pools::destroy))
        .route(routes::POOL_VDEVS, post(pools::add))
        .route(routes::POOL_REMOVE, post(pools::remove))
        .route(routes::POOL_ONLINE, post(pools::online))
        .route(routes::POOL_OFFLINE, post(pools::offline))
        .route(routes::POOL_ATTACH, post(pools::attach))
        .route(routes::POOL_DETACH, post(pools::detach))
        .route(routes::POOL_REPLACE, post(pools::replace))
        .route(routes::POOL_CLEAR, post(pools::clear))
        .route(routes::POOL_TRIM, post(pools::trim))
        .route(routes::POOL_INITIALIZE, post(pools::initialize))
        .route(routes::POOL_REGUID, post(pools::reguid))
        .route(routes::POOL_REOPEN, post(pools::reopen))
        .route(routes::POOL_SCAN, post(pools::scan))
        .route(routes::POOL_ERRORS, get(pools::errors))
        .route(routes::POOL_SYNC, post(pools::sync))
        .route(routes::POOL_PREFETCH, post(pools::prefetch))
        .route(routes::POOL_PROPERTIES, get(pools::properties).post(pools::set))
        .route(routes::POOL_UPGRADE, get(pools::upgradable))
        .route(routes::FEATURES, get(pools::features))
        .route(routes::POOL_HISTORY, get(pools::history))
        .route(routes::POOL_LOG, get(measure::log))
        .route(routes::POOL_IOSTAT, get(measure::iostat))
        .route(routes::POOL_ADVICE, get(measure::advice))
        .route(routes::POOL_DEDUP_ESTIMATE, get(measure::dedup_estimate))
        .route(routes::POOL_CONDEMN, post(faults::condemn))
        .route(routes::FAULTS, get(faults::list).post(faults::inject))
        .route(routes::FAULT_CANCEL, post(faults::cancel))
        .route(routes::EVENTS, get(events::list))
        .route(routes::EVENTS_CLEAR, post(events::clear))
        .route(routes::CACHE, get(measure::cache))
        .route(routes::LOG, get(measure::log_filter).post(measure::set_log_filter))
        .route(routes::CACHE_DROP, post(measure::drop_cache))
        .route(routes::IMPORTABLE, post(pools::importable))
        .route(routes::IMPORTS, post(pools::import))
        .route(routes::LABELCLEAR, post(pools::label_clear))
        .route(routes::DATASETS, get(datasets::list).post(datasets::create))
        .route(routes::DATASET_PLAN, post(datasets::plan))
        .route(routes::DATASET_DESTROY, get(datasets::destroy_preview).post(datasets::destroy))
        .route(routes::DATASET_PROPERTIES, post(datasets::set))
        .route(routes::DATASET_INHERIT, post(datasets::inherit))
        .route(routes::DATASET_RENAME, post(datasets::rename))
        .route(routes::DATASET_ROLLBACK, post(snapshots::rollback))
        .route(routes::DATASET_PROMOTE, post(snapshots::promote))
        .route(routes::DATASET_ABORT_RECEIVE, post(streams::abort))
        .route(routes::DATASET_HOLDS, get(snapshots::holds))
        .route(routes::DATASET_DELETED, get(datasets::deleted))
        .route(routes::DATASET_DIFF, get(snapshots::diff))
        .route(routes::DATASET_SPACE, get(datasets::explain_space))
        .route(routes::DATASET_SPACE_USE, get(datasets::space_use))
        .route(routes::DATASET_PROJECTS, get(projects::page).post(projects::set))
        .route(routes::SNAPSHOTS, post(snapshots::create))
        .route(routes::CLONES, post(snapshots::clone))
        .route(routes::BOOKMARKS, post(snapshots::bookmark))
        .route(routes::HOLDS, post(snapshots::hold))
        .route(routes::RELEASES, post(snapshots::release))
        .route(routes::SEND, post(streams::send))
        .route(routes::RECEIVE, post(streams::receive))
        .route(routes::MOUNTS, get(mounts::mounted).post(mounts::mount))
        .route(routes::UNMOUNTS, post(mounts::unmount))
        .route(routes::SHARES, get(mounts::shared).post(mounts::share))
        .route(routes::UNSHARES, post(mounts::unshare))
        .route(routes::ISCSI_SESSIONS, get(measure::iscsi_sessions))
        .route(routes::PROPERTIES, get(datasets::tables))
        .route(routes::TUNABLES, get(tunables::list).post(tunables::set))
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_route)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(from_fn(caller::known))
        .with_state(Arc::new(app))
}

async fn no_such_route(method: Method, uri: Uri) -> Refusal {
    Refusal(problem(kind::BAD_REQUEST, format!("no such request: {method} {}", uri.path())))
}
