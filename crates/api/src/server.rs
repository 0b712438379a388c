//! The socket, the routes and the runtime that serves them.

use crate::app::{App, BLOCKING, Shared};
use crate::caller::Asker;
use crate::door::Door;
use crate::handlers::{
    datasets, events, faults, jobs, measure, mounts, permissions, pools, projects, snapshots, streams,
    tunables,
};
use crate::openapi::{Description, Document, Frames, Line, Nothing, Operation, Started, Types};
use crate::problem::{Refusal, refuse};
use crate::program::Program;
use crate::rights::{Right, admit};
use crate::words::failure;
use api_types::{
    AbortReceive, ActiveFault, Advice, AdviceQuestion, Allow, BookmarkCreate, Changed, CloneCreate, Condemn,
    Counts, DatasetCreate, DatasetDestroy, DatasetInfo, DatasetPlan, DatasetQuery, DedupEstimate,
    DedupEstimateQuery, Delegation, DeletedFiles, DestroyOptions, DestroyPlan, DiffEntry, DiffQuery,
    EventsCleared, EventsQuery, Fault, FaultCancel, FeatureInfo, HistoryQuery, HistoryRecord, Hold,
    HoldRequest, ImportSearch, Importable, Inherit, IscsiSession, Job, JobQuery, LabelClear, LogFilter,
    Mount, MountOutcome, MountRequest, PoolAdd, PoolAttach, PoolCheckpoint, PoolClear, PoolImport,
    PoolInitialize, PoolOffline, PoolOnline, PoolReguid, PoolRelease, PoolReopen, PoolScan, PoolSpec,
    PoolStatus, PoolTrim, PoolVdev, ProjectPage, ProjectQuery, ProjectSet, ProjectsSet, Promote, PropValue,
    PropertiesQuery, PropertiesSet, PropertyTables, Receive, Rename, Rollback, SendRequest, Share,
    ShareRequest, SnapshotCreate, SpaceExplained, SpaceUse, SpaceUseQuery, Tunable, TunableSet, Unallow,
    UnmountRequest, Upgradable, VdevTallies, Version, Zevent, kind, routes,
};
use appliance::{Appliance, Ledger, MOST_JOBS, Record, untold};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::from_fn;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
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

/// A request that there is, and who carries it out.
struct Route {
    verb: &'static str,
    says: Operation,
    handler: MethodRouter<Shared>,
}

fn read<H: Handler<T, Shared>, T: 'static>(says: Operation, handler: H) -> Route {
    Route { verb: "GET", says, handler: get(handler) }
}

fn change<H: Handler<T, Shared>, T: 'static>(says: Operation, handler: H) -> Route {
    Route { verb: "POST", says, handler: post(handler) }
}

/// Makes the table of requests of its rows: whom each is for, its path and who carries it out, then
/// its query, its body and its answer, and what it does.
macro_rules! requests {
    ($($tag:literal { $(
        $verb:ident($right:ident, $path:path, $handler:path;
            $query:ty, $body:ty => $answer:ty, $summary:literal);
    )+ })+) => {
        /// Every request that there is.
        fn table() -> Vec<Route> {
            vec![$($($verb(
                Operation {
                    path: $path,
                    right: Right::$right,
                    tag: $tag,
                    summary: $summary,
                    types: Types::of::<$query, $body, $answer>(),
                },
                $handler,
            ),)+)+]
        }
    };
}

requests! {
    "General" {
        read(Anyone, routes::VERSION, jobs::version;
            Nothing, Nothing => Version, "The version of the daemon and of this interface.");
        read(Anyone, routes::OPENAPI, document;
            Nothing, Nothing => Description, "This description.");
        read(Anyone, routes::PROPERTIES, datasets::tables;
            Nothing, Nothing => PropertyTables, "All properties of datasets and pools, and their values.");
        read(Anyone, routes::FEATURES, pools::features;
            Nothing, Nothing => Vec<FeatureInfo>, "The features that pools can be given.");
        read(Anyone, routes::TUNABLES, tunables::list;
            Nothing, Nothing => Vec<Tunable>, "Tunables: numbers that may be set while the daemon runs.");
        change(Administrator, routes::TUNABLES, tunables::set;
            Nothing, TunableSet => (), "Sets a tunable until the daemon ends.");
        read(Administrator, routes::LOG, measure::log_filter;
            Nothing, Nothing => LogFilter, "What the daemon logs.");
        change(Administrator, routes::LOG, measure::set_log_filter;
            Nothing, LogFilter => LogFilter, "Sets what the daemon logs.");
        read(Anyone, routes::CACHE, measure::cache;
            Nothing, Nothing => Counts, "Counters of the cache that all pools share.");
        change(Administrator, routes::CACHE_DROP, measure::drop_cache;
            Nothing, Nothing => (), "Drops all blocks of all pools from memory.");
        read(Administrator, routes::ISCSI_SESSIONS, measure::iscsi_sessions;
            Nothing, Nothing => Vec<IscsiSession>, "Sessions of iSCSI initiators, with their counters.");
    }
    "Jobs" {
        read(Anyone, routes::JOBS, jobs::list;
            Nothing, Nothing => Vec<Job>, "Jobs that run, and the last that ended.");
        read(Anyone, routes::JOB, jobs::one;
            JobQuery, Nothing => Job, "A job. Waits for its progress if `wait_ms` is set.");
        change(Anyone, routes::JOB_CANCEL, jobs::cancel;
            Nothing, Nothing => Job, "Cancels a job: it ends at its next step.");
    }
    "Events" {
        read(Administrator, routes::EVENTS, events::list;
            EventsQuery, Nothing => Vec<Zevent>, "Events of all pools. Waits for one if `wait_ms` is set.");
        change(Administrator, routes::EVENTS_CLEAR, events::clear;
            Nothing, Nothing => EventsCleared, "Clears all events.");
    }
    "Pools" {
        read(Anyone, routes::POOLS, pools::list;
            Nothing, Nothing => Vec<PoolStatus>, "All imported pools.");
        change(Administrator, routes::POOLS, pools::create;
            Nothing, PoolSpec => Started, "Creates a pool.");
        read(Anyone, routes::POOL, pools::one;
            Nothing, Nothing => PoolStatus, "A pool: health, vdevs, and what is wrong.");
        change(Administrator, routes::POOL_EXPORT, pools::export;
            Nothing, PoolRelease => Started, "Exports a pool.");
        change(Administrator, routes::POOL_DESTROY, pools::destroy;
            Nothing, PoolRelease => Started, "Destroys a pool.");
        change(Administrator, routes::IMPORTABLE, pools::importable;
            Nothing, ImportSearch => Vec<Importable>, "Looks for pools that can be imported.");
        change(Administrator, routes::IMPORTS, pools::import;
            Nothing, PoolImport => Started, "Imports a pool.");
        change(Anyone, routes::POOL_SYNC, pools::sync;
            Nothing, PoolRelease => Started, "Syncs the open transaction group; `force`: even an empty one.");
        change(Administrator, routes::POOL_PREFETCH, pools::prefetch;
            Nothing, PoolRelease => Started, "Reads the deduplication tables into memory.");
        change(Administrator, routes::POOL_REGUID, pools::reguid;
            Nothing, PoolReguid => Started, "Gives a pool another guid.");
        change(Administrator, routes::POOL_CHECKPOINT, pools::checkpoint;
            Nothing, PoolCheckpoint => Started, "Takes a checkpoint, or discards the one that there is.");
        change(Administrator, routes::POOL_SCAN, pools::scan;
            Nothing, PoolScan => Started, "Begins, pauses or stops a scrub, or restarts a resilver.");
        read(Administrator, routes::POOL_ERRORS, pools::errors;
            Nothing, Nothing => Vec<String>, "Names of files and objects that are damaged for good.");
        read(Anyone, routes::POOL_PROPERTIES, pools::properties;
            PropertiesQuery, Nothing => Vec<PropValue>, "The properties of a pool.");
        change(Administrator, routes::POOL_PROPERTIES, pools::set;
            Nothing, PropertiesSet => Changed, "Sets properties of a pool.");
        read(Anyone, routes::POOL_UPGRADE, pools::upgradable;
            Nothing, Nothing => Upgradable, "The version of a pool, and features that it could be given.");
        read(Administrator, routes::POOL_HISTORY, pools::history;
            HistoryQuery, Nothing => Vec<HistoryRecord>, "The history of a pool.");
        read(Anyone, routes::POOL_LOG, measure::log;
            Nothing, Nothing => Counts, "Counters of the intent logs of a pool.");
        read(Anyone, routes::POOL_IOSTAT, measure::iostat;
            Nothing, Nothing => Vec<VdevTallies>, "Queues and histograms of each vdev.");
        read(Administrator, routes::POOL_ADVICE, measure::advice;
            AdviceQuestion, Nothing => Advice, "What log devices, memory and cache devices would change.");
        read(Administrator, routes::POOL_DEDUP_ESTIMATE, measure::dedup_estimate;
            DedupEstimateQuery, Nothing => DedupEstimate, "What deduplication would bring.");
    }
    "Devices" {
        change(Administrator, routes::POOL_VDEVS, pools::add;
            Nothing, PoolAdd => Started, "Adds vdevs to a pool.");
        change(Administrator, routes::POOL_REMOVE, pools::remove;
            Nothing, PoolVdev => Started, "Removes a vdev from a pool.");
        change(Administrator, routes::POOL_ONLINE, pools::online;
            Nothing, PoolOnline => Started, "Brings a device online.");
        change(Administrator, routes::POOL_OFFLINE, pools::offline;
            Nothing, PoolOffline => Started, "Takes a device offline, or faults it.");
        change(Administrator, routes::POOL_ATTACH, pools::attach;
            Nothing, PoolAttach => Started, "Attaches a device to another, as its mirror.");
        change(Administrator, routes::POOL_DETACH, pools::detach;
            Nothing, PoolVdev => Started, "Detaches a device from a mirror.");
        change(Administrator, routes::POOL_REPLACE, pools::replace;
            Nothing, PoolAttach => Started, "Replaces a device.");
        change(Administrator, routes::POOL_CLEAR, pools::clear;
            Nothing, PoolClear => Started, "Clears the errors of one vdev or of all.");
        change(Administrator, routes::POOL_TRIM, pools::trim;
            Nothing, PoolTrim => Started, "Begins, suspends or cancels the trimming of devices.");
        change(Administrator, routes::POOL_INITIALIZE, pools::initialize;
            Nothing, PoolInitialize => Started, "Begins, suspends or cancels the initializing of devices.");
        change(Administrator, routes::POOL_REOPEN, pools::reopen;
            Nothing, PoolReopen => Started, "Reopens all devices of a pool.");
        change(Administrator, routes::LABELCLEAR, pools::label_clear;
            Nothing, LabelClear => Started, "Clears the labels of a device that no pool uses.");
    }
    "Faults" {
        change(Administrator, routes::POOL_CONDEMN, faults::condemn;
            Nothing, Condemn => (), "Marks a device as faulted or degraded.");
        read(Administrator, routes::FAULTS, faults::list;
            Nothing, Nothing => Vec<ActiveFault>, "Injected faults that are in force.");
        change(Administrator, routes::FAULTS, faults::inject;
            Nothing, Fault => ActiveFault, "Injects a fault: a device or blocks fail.");
        change(Administrator, routes::FAULT_CANCEL, faults::cancel;
            Nothing, FaultCancel => Vec<ActiveFault>, "Ends an injected fault. The answer is those left.");
    }
    "Datasets" {
        read(Anyone, routes::DATASETS, datasets::list;
            DatasetQuery, Nothing => Vec<DatasetInfo>, "Datasets and their properties.");
        change(Delegated, routes::DATASETS, datasets::create;
            Nothing, DatasetCreate => Changed, "Creates a file system or a volume.");
        change(Anyone, routes::DATASET_PLAN, datasets::plan;
            Nothing, DatasetCreate => DatasetPlan, "What would be created; nothing is changed.");
        read(Anyone, routes::DATASET_DESTROY, datasets::destroy_preview;
            DestroyOptions, Nothing => DestroyPlan, "What would be destroyed; nothing is changed.");
        change(Delegated, routes::DATASET_DESTROY, datasets::destroy;
            Nothing, DatasetDestroy => Started, "Destroys a dataset or snapshots.");
        change(Delegated, routes::DATASET_PROPERTIES, datasets::set;
            Nothing, PropertiesSet => Changed, "Sets properties of a dataset.");
        change(Delegated, routes::DATASET_INHERIT, datasets::inherit;
            Nothing, Inherit => Changed, "Has a dataset inherit a property again.");
        change(Delegated, routes::DATASET_RENAME, datasets::rename;
            Nothing, Rename => Changed, "Renames a dataset or a snapshot.");
        read(Anyone, routes::DATASET_PERMISSIONS, permissions::list;
            Nothing, Nothing => Vec<Delegation>, "Permissions that are delegated at a dataset and above it.");
        change(Delegated, routes::DATASET_ALLOW, permissions::allow;
            Nothing, Allow => Changed, "Delegates permissions.");
        change(Delegated, routes::DATASET_UNALLOW, permissions::unallow;
            Nothing, Unallow => Changed, "Revokes delegated permissions.");
        read(Anyone, routes::DATASET_DELETED, datasets::deleted;
            Nothing, Nothing => DeletedFiles, "Deleted files whose space is not freed yet.");
        read(Anyone, routes::DATASET_SPACE, datasets::explain_space;
            Nothing, Nothing => SpaceExplained, "What the space of a dataset is used for.");
        read(Delegated, routes::DATASET_SPACE_USE, datasets::space_use;
            SpaceUseQuery, Nothing => Vec<SpaceUse>, "What each user, group or project uses and may use.");
        read(Administrator, routes::DATASET_PROJECTS, projects::page;
            ProjectQuery, Nothing => ProjectPage, "Projects of a directory and of what is in it.");
        change(Administrator, routes::DATASET_PROJECTS, projects::set;
            Nothing, ProjectSet => ProjectsSet, "Sets the projects of files and directories.");
    }
    "Snapshots" {
        change(Delegated, routes::SNAPSHOTS, snapshots::create;
            Nothing, SnapshotCreate => Changed, "Takes snapshots, all at one moment.");
        change(Delegated, routes::CLONES, snapshots::clone;
            Nothing, CloneCreate => Changed, "Creates a clone of a snapshot.");
        change(Delegated, routes::BOOKMARKS, snapshots::bookmark;
            Nothing, BookmarkCreate => Changed, "Creates a bookmark of a snapshot or a bookmark.");
        change(Delegated, routes::HOLDS, snapshots::hold;
            Nothing, HoldRequest => Changed, "Holds snapshots.");
        change(Delegated, routes::RELEASES, snapshots::release;
            Nothing, HoldRequest => Changed, "Releases holds of snapshots.");
        read(Anyone, routes::DATASET_HOLDS, snapshots::holds;
            Nothing, Nothing => Vec<Hold>, "The holds of a snapshot.");
        read(Delegated, routes::DATASET_DIFF, snapshots::diff;
            DiffQuery, Nothing => Vec<DiffEntry>, "Files that changed since a snapshot.");
        change(Delegated, routes::DATASET_ROLLBACK, snapshots::rollback;
            Nothing, Rollback => Changed, "Rolls a dataset back to a snapshot.");
        change(Delegated, routes::DATASET_PROMOTE, snapshots::promote;
            Nothing, Promote => Changed, "Promotes a clone.");
    }
    "Streams" {
        change(Delegated, routes::SEND, streams::send;
            Nothing, Line<SendRequest> => Frames, "Sends snapshots.");
        change(Delegated, routes::RECEIVE, streams::receive;
            Nothing, Line<Receive> => Frames, "Receives a stream.");
        change(Delegated, routes::DATASET_ABORT_RECEIVE, streams::abort;
            Nothing, AbortReceive => Changed, "Destroys what an interrupted receive has left.");
    }
    "Mounts and shares" {
        read(Anyone, routes::MOUNTS, mounts::mounted;
            Nothing, Nothing => Vec<Mount>, "File systems that are mounted on this machine.");
        change(Administrator, routes::MOUNTS, mounts::mount;
            Nothing, MountRequest => MountOutcome, "Mounts file systems.");
        change(Administrator, routes::UNMOUNTS, mounts::unmount;
            Nothing, UnmountRequest => MountOutcome, "Unmounts file systems.");
        read(Anyone, routes::SHARES, mounts::shared;
            Nothing, Nothing => Vec<Share>, "File systems that are shared.");
        change(Administrator, routes::SHARES, mounts::share;
            Nothing, ShareRequest => MountOutcome, "Shares file systems.");
        change(Administrator, routes::UNSHARES, mounts::unshare;
            Nothing, ShareRequest => MountOutcome, "Ends the shares of file systems.");
    }
}

/// What is served of it.
static DOCUMENT: LazyLock<Document> =
    LazyLock::new(|| Document::of(table().into_iter().map(|route| (route.verb, route.says))));

async fn document(headers: HeaderMap) -> Response {
    DOCUMENT.answer(&headers)
}

/// Verb and path of every request, and whom it is for.
pub fn routes() -> Vec<(&'static str, &'static str, Right)> {
    table().into_iter().map(|Route { verb, says, .. }| (verb, says.path, says.right)).collect()
}

fn router(app: Shared) -> Router {
    let with = |router: Router<Shared>, Route { says: Operation { path, right, .. }, handler, .. }: Route| {
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

#[cfg(test)]
mod tests;
