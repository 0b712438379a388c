//! The socket, the routes and the runtime that serves them.

use crate::app::{App, BLOCKING, Shared};
use crate::caller::Asker;
use crate::door::Door;
use crate::handlers::{
    datasets, events, faults, jobs, measure, mounts, permissions, pools, projects, snapshots, streams,
    tunables,
};
use crate::problem::{Refusal, refuse};
use crate::program::Program;
use crate::rights::{Right, admit};
use crate::words::failure;
use api_types::{kind, routes};
use appliance::{Appliance, Ledger, MOST_JOBS, Record, untold};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::{Method, Uri};
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, get, post};
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
/// Blocking threads: as many requests and jobs are in the engine at one time. There is one for each
/// that may be, so none waits for another's.
const BLOCKING_THREADS: usize = BLOCKING + MOST_JOBS;

#[derive(Debug)]
pub struct Config {
    /// Where to listen.
    pub socket: PathBuf,
    /// The socket there, if it listens already: then it stays when the server stops.
    pub inherited: Option<UnixListener>,
    /// Of the daemon, as `zpool version` prints it.
    pub version: String,
}

/// The running server. Dropping it stops it too.
pub struct ApiServer {
    app: Shared,
    socket: PathBuf,
    stays: bool,
    stop: Option<oneshot::Sender<()>>,
    runtime: Option<tokio::runtime::Runtime>,
    task: Option<tokio::task::JoinHandle<()>>,
}

/// Listens on the socket until stopped. `AddrInUse` where another daemon answers there. `jobs` are
/// those of the program before, and where they are written down.
pub fn serve(
    config: Config,
    appliance: Appliance,
    program: Arc<dyn Program>,
    jobs: (Record, impl Ledger + 'static),
) -> io::Result<ApiServer> {
    let stays = config.inherited.is_some();
    let listener = config.inherited.map_or_else(|| listen(&config.socket, FOR_ALL), Ok)?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("api")
        .enable_io()
        .enable_time()
        .build()?;
    let (stop, stopped) = oneshot::channel();
    let listener = {
        let _inside = runtime.enter();
        Door::new(tokio::net::UnixListener::from_std(listener)?)
    };
    let app = Shared::new(App::new(appliance, program, config.version, jobs));
    let service = router(app.clone());
    let task = runtime.spawn(async move {
        let until = async move {
            // A dropped sender means stop as well.
            let _ = stopped.await;
        };
        let service = service.into_make_service_with_connect_info::<Asker>();
        if let Err(error) = axum::serve(listener, service).with_graceful_shutdown(until).await {
            tracing::error!(%error, "management API ended");
        }
    });
    Ok(ApiServer {
        app,
        socket: config.socket,
        stays,
        stop: Some(stop),
        runtime: Some(runtime),
        task: Some(task),
    })
}

/// Who may connect to a socket, as a mode: its owner alone, or everybody on this machine.
pub const FOR_OWNER: u32 = 0o600;
const FOR_ALL: u32 = 0o666;

/// Binds a socket, replacing one that nobody answers on.
pub fn listen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    if path.exists() {
        if UnixStream::connect(path).is_ok() {
            let text = format!("another daemon answers on {}", path.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
        }
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    Ok(listener)
}

impl ApiServer {
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Mounts what wants to be mounted by itself and isn't, where file systems are
    /// ([`Appliance::auto_mount`]): for the start, when pools are there that nobody has imported
    /// just now. What cannot be is logged. Nothing is mounted before what this gives is called.
    pub fn mount_all(&self) -> impl FnOnce() + Send + use<> {
        let app = self.app.clone();
        move || {
            if !app.appliance.auto_mount {
                return;
            }
            for pool in app.engine().pools() {
                let mounted = app.appliance.mount_all(&pool.name(), &[], false, &mut untold);
                mounted.failed.into_iter().map(failure).for_each(|why| tracing::error!("{why}"));
            }
        }
    }

    /// Takes no new request, lets those under way end, removes the socket if it is its own.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        drop(self.stop.take());
        if let Some(task) = self.task.take() {
            // A time-out only means that somebody's request is still in the engine; it is left
            // behind.
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

/// A request that there is, and whom it is for.
struct Route {
    verb: &'static str,
    path: &'static str,
    right: Right,
    handler: MethodRouter<Shared>,
}

fn read<H: Handler<T, Shared>, T: 'static>(right: Right, path: &'static str, handler: H) -> Route {
    Route { verb: "GET", path, right, handler: get(handler) }
}

fn change<H: Handler<T, Shared>, T: 'static>(right: Right, path: &'static str, handler: H) -> Route {
    Route { verb: "POST", path, right, handler: post(handler) }
}

/// Every request that there is.
fn table() -> Vec<Route> {
    use Right::{Administrator, Anyone, Delegated};
    vec![
        read(Anyone, routes::VERSION, jobs::version),
        read(Anyone, routes::JOBS, jobs::list),
        read(Anyone, routes::JOB, jobs::one),
        change(Anyone, routes::JOB_CANCEL, jobs::cancel),
        read(Anyone, routes::POOLS, pools::list),
        change(Administrator, routes::POOLS, pools::create),
        read(Anyone, routes::POOL, pools::one),
        change(Administrator, routes::POOL_EXPORT, pools::export),
        change(Administrator, routes::POOL_DESTROY, pools::destroy),
        change(Administrator, routes::POOL_VDEVS, pools::add),
        change(Administrator, routes::POOL_REMOVE, pools::remove),
        change(Administrator, routes::POOL_ONLINE, pools::online),
        change(Administrator, routes::POOL_OFFLINE, pools::offline),
        change(Administrator, routes::POOL_ATTACH, pools::attach),
        change(Administrator, routes::POOL_DETACH, pools::detach),
        change(Administrator, routes::POOL_REPLACE, pools::replace),
        change(Administrator, routes::POOL_CLEAR, pools::clear),
        change(Administrator, routes::POOL_TRIM, pools::trim),
        change(Administrator, routes::POOL_INITIALIZE, pools::initialize),
        change(Administrator, routes::POOL_REGUID, pools::reguid),
        change(Administrator, routes::POOL_CHECKPOINT, pools::checkpoint),
        change(Administrator, routes::POOL_REOPEN, pools::reopen),
        change(Administrator, routes::POOL_SCAN, pools::scan),
        read(Administrator, routes::POOL_ERRORS, pools::errors),
        change(Anyone, routes::POOL_SYNC, pools::sync),
        change(Administrator, routes::POOL_PREFETCH, pools::prefetch),
        read(Anyone, routes::POOL_PROPERTIES, pools::properties),
        change(Administrator, routes::POOL_PROPERTIES, pools::set),
        read(Anyone, routes::POOL_UPGRADE, pools::upgradable),
        read(Anyone, routes::FEATURES, pools::features),
        read(Administrator, routes::POOL_HISTORY, pools::history),
        read(Anyone, routes::POOL_LOG, measure::log),
        read(Anyone, routes::POOL_IOSTAT, measure::iostat),
        read(Administrator, routes::POOL_ADVICE, measure::advice),
        read(Administrator, routes::POOL_DEDUP_ESTIMATE, measure::dedup_estimate),
        change(Administrator, routes::POOL_CONDEMN, faults::condemn),
        read(Administrator, routes::FAULTS, faults::list),
        change(Administrator, routes::FAULTS, faults::inject),
        change(Administrator, routes::FAULT_CANCEL, faults::cancel),
        read(Administrator, routes::EVENTS, events::list),
        change(Administrator, routes::EVENTS_CLEAR, events::clear),
        read(Anyone, routes::CACHE, measure::cache),
        read(Administrator, routes::LOG, measure::log_filter),
        change(Administrator, routes::LOG, measure::set_log_filter),
        change(Administrator, routes::CACHE_DROP, measure::drop_cache),
        change(Administrator, routes::IMPORTABLE, pools::importable),
        change(Administrator, routes::IMPORTS, pools::import),
        change(Administrator, routes::LABELCLEAR, pools::label_clear),
        read(Anyone, routes::DATASETS, datasets::list),
        change(Delegated, routes::DATASETS, datasets::create),
        change(Anyone, routes::DATASET_PLAN, datasets::plan),
        read(Anyone, routes::DATASET_DESTROY, datasets::destroy_preview),
        change(Delegated, routes::DATASET_DESTROY, datasets::destroy),
        change(Delegated, routes::DATASET_PROPERTIES, datasets::set),
        change(Delegated, routes::DATASET_INHERIT, datasets::inherit),
        change(Delegated, routes::DATASET_RENAME, datasets::rename),
        change(Delegated, routes::DATASET_ROLLBACK, snapshots::rollback),
        change(Delegated, routes::DATASET_PROMOTE, snapshots::promote),
        change(Delegated, routes::DATASET_ABORT_RECEIVE, streams::abort),
        read(Anyone, routes::DATASET_PERMISSIONS, permissions::list),
        change(Delegated, routes::DATASET_ALLOW, permissions::allow),
        change(Delegated, routes::DATASET_UNALLOW, permissions::unallow),
        read(Anyone, routes::DATASET_HOLDS, snapshots::holds),
        read(Anyone, routes::DATASET_DELETED, datasets::deleted),
        read(Delegated, routes::DATASET_DIFF, snapshots::diff),
        read(Anyone, routes::DATASET_SPACE, datasets::explain_space),
        read(Delegated, routes::DATASET_SPACE_USE, datasets::space_use),
        read(Administrator, routes::DATASET_PROJECTS, projects::page),
        change(Administrator, routes::DATASET_PROJECTS, projects::set),
        change(Delegated, routes::SNAPSHOTS, snapshots::create),
        change(Delegated, routes::CLONES, snapshots::clone),
        change(Delegated, routes::BOOKMARKS, snapshots::bookmark),
        change(Delegated, routes::HOLDS, snapshots::hold),
        change(Delegated, routes::RELEASES, snapshots::release),
        change(Delegated, routes::SEND, streams::send),
        change(Delegated, routes::RECEIVE, streams::receive),
        read(Anyone, routes::MOUNTS, mounts::mounted),
        change(Administrator, routes::MOUNTS, mounts::mount),
        change(Administrator, routes::UNMOUNTS, mounts::unmount),
        read(Anyone, routes::SHARES, mounts::shared),
        change(Administrator, routes::SHARES, mounts::share),
        change(Administrator, routes::UNSHARES, mounts::unshare),
        read(Administrator, routes::ISCSI_SESSIONS, measure::iscsi_sessions),
        read(Anyone, routes::PROPERTIES, datasets::tables),
        read(Anyone, routes::TUNABLES, tunables::list),
        change(Administrator, routes::TUNABLES, tunables::set),
    ]
}

/// Verb and path of every request, and whom it is for.
pub fn routes() -> Vec<(&'static str, &'static str, Right)> {
    table().into_iter().map(|route| (route.verb, route.path, route.right)).collect()
}

fn router(app: Shared) -> Router {
    let with = |router: Router<Shared>, Route { path, right, handler, .. }: Route| {
        let guarded = move |asker, request, next| admit(right, asker, request, next);
        router.route(path, handler.route_layer(from_fn(guarded)))
    };
    table()
        .into_iter()
        .fold(Router::new(), with)
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_route)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(app)
}

async fn no_such_route(method: Method, uri: Uri) -> Refusal {
    refuse(kind::BAD_REQUEST, format!("no such request: {method} {}", uri.path()))
}
