//! The table of requests: whom each is for, what it takes and gives, and who carries it out.
//!
//! What is served and what is described ([`crate::openapi`]) come from the same rows.

use crate::app::Shared;
use crate::audit::{Auditor, record};
use crate::caller::Asker;
use crate::denied::{Unserved, unauthenticated};
use crate::feed::Whom;
use crate::gate::{Common, Gate, pass};
use crate::handlers::{
    accounts, alerts, analytics, certificate, datasets, events, faults, files, jobs, keeping, keys, measure,
    mounts, peers, permissions, pools, projects, replicas, services, session, shells, snapshots, streams,
    tokens, trace, tunables, worksheets,
};
use crate::openapi::{
    Contents, Description, Document, Events, Frames, Line, Listed, Metrics, Nothing, Operation, Started,
    Streamed, Types,
};
use crate::precondition::{self, Subject};
use crate::problem::refuse;
use crate::rights::{BODY_MAX, Bodies, Right};
use crate::statistics::counted;
use api_types::lock::LockRequest;
use api_types::{
    AbortReceive, AcmeSet, AcmeStatus, ActiveFault, Advice, AdviceQuestion, Alert, AlertAcknowledge,
    AlertCheck, AlertReport, AlertReportSent, AlertRoute, AlertSettings, AlertsQuery, Allow, AuditQuery,
    AuditRecord, BookmarkCreate, CertificateInfo, CertificateSet, Changed, CloneCreate, Condemn, Counts,
    CreationOptions, DatasetCreate, DatasetDestroy, DatasetInfo, DatasetPlan, DatasetQuery, DedupEstimate,
    DedupEstimateQuery, Delegation, DeletedFiles, DestroyOptions, DestroyPlan, DiffEntry, DiffQuery, Disk,
    DrillDown, DrillDownFound, DrillDownQuery, DrillDownRequest, EventStreamQuery, EventsCleared,
    EventsQuery, Fault, FaultCancel, FeatureInfo, FilePage, FileQuery, FileRestore, FileVersions,
    FileVersionsQuery, FilesQuery, FirstAdministrator, History, HistoryQuery, HistoryRecord, Hold,
    HoldRequest, ImportSearch, Importable, Inherit, IscsiSession, Job, JobLog, JobQuery, KeepIn, Keeping,
    KeyBegin, KeyConfirm, KeyMade, KeyRemove, LabelClear, LogFilter, LogIn, LoggedIn, MachineBackup, Me,
    Mount, MountOutcome, MountRequest, PaneHistoryQuery, Peer, PeerAdd, PeerChange, PeerChecked,
    PeerIdentity, PeerInvite, PeerInvited, PeerJoin, PeerRelation, PolicyWake, PoolAdd, PoolAttach,
    PoolCheckpoint, PoolClear, PoolImport, PoolInitialize, PoolOffline, PoolOnline, PoolReguid, PoolRelease,
    PoolReopen, PoolScan, PoolSpec, PoolStatus, PoolTrim, PoolVdev, ProjectPage, ProjectQuery, ProjectSet,
    ProjectsSet, Promote, PropValue, PropertiesQuery, PropertiesSet, PropertyTables, Receive, RecoveryCodes,
    Rename, Replica, ReplicaLoss, ReplicaPromote, ReplicaPromoted, ReplicaQuery, ReplicaTest, ReplicaTested,
    Rollback, RouteAdd, RouteChange, RouteStatus, RouteTested, SecurityKey, SendRequest, SeriesQuery,
    Service, ServiceAsk, ServiceClock, ServiceCreate, ServiceLog, ServicePlan, ServicePlanQuery,
    ServiceReverse, ServiceReversed, ServiceSet, ServiceSpec, Share, ShareRequest, ShellEvent, ShellInput,
    ShellOpened, ShellOutputQuery, ShellSize, SleepingPolicy, SnapshotCreate, SpaceExplained, SpaceUse,
    SpaceUseQuery, StateRestore, StateRestored, StateVersion, StateVersionsQuery, Statistics, Token,
    TokenAdd, TokenMade, TotpBegin, TotpConfirm, TotpOffer, TraceEvent, TraceRequest, Tunable, TunableSet,
    Unallow, UnmountRequest, Upgradable, User, UserAdd, UserChange, UserSession, VdevTallies, Version,
    Worksheet, WorksheetAdd, WorksheetChange, WorksheetOpen, Zevent, kind, routes,
};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit};
use axum::handler::Handler;
use axum::http::{Method, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use std::sync::{Arc, LazyLock};

/// The part of the table that is about accounts.
const ACCOUNTS: &str = "Accounts";

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
    Route { verb: "POST", says: Operation { takes_keys: true, ..says }, handler: post(handler) }
}

/// A change whose answer cannot be given again: a secret, a stream, or what is for strangers.
fn single<H: Handler<T, Shared>, T: 'static>(says: Operation, handler: H) -> Route {
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
                    takes_keys: false,
                    types: Types::of::<$query, $body, $answer>(),
                },
                $handler,
            ),)+)+]
        }
    };
}

requests! {
    "General" {
        read(Stranger, routes::VERSION, jobs::version;
            Nothing, Nothing => Version, "The version of the daemon and of this interface.");
        read(Stranger, routes::OPENAPI, document;
            Nothing, Nothing => Description, "This description.");
        read(Anyone, routes::PROPERTIES, datasets::tables;
            Nothing, Nothing => PropertyTables, "All properties of datasets and pools, and their values.");
        read(Anyone, routes::FEATURES, pools::features;
            Nothing, Nothing => Vec<FeatureInfo>, "The features that pools can be given.");
        read(Reader, routes::DISKS, measure::disks;
            Nothing, Nothing => Vec<Disk>, "Disks of the machine, and what uses them.");
        read(Anyone, routes::TUNABLES, tunables::list;
            Nothing, Nothing => Vec<Tunable>, "Tunables: numbers that may be set while the daemon runs.");
        change(Administrator, routes::TUNABLES, tunables::set;
            Nothing, TunableSet => (), "Sets a tunable until the daemon ends.");
        read(Reader, routes::LOG, measure::log_filter;
            Nothing, Nothing => LogFilter, "What the daemon logs.");
        change(Administrator, routes::LOG, measure::set_log_filter;
            Nothing, LogFilter => LogFilter, "Sets what the daemon logs.");
        read(Reader, routes::STATISTICS, measure::statistics;
            Nothing, Nothing => Statistics, "Counters of clients, file systems, volumes and disks.");
        read(Reader, routes::STATISTICS_HISTORY, measure::history;
            SeriesQuery, Nothing => History, "What the appliance did until now, in several resolutions.");
        single(Operator, routes::TRACE, trace::begin;
            Nothing, TraceRequest => Streamed<TraceEvent>, "Shows requests of clients one by one, as they end.");
        read(Operator, routes::ANALYTICS, analytics::list;
            Nothing, Nothing => Vec<DrillDown>, "Drill-downs that run or are kept, with what they cost.");
        single(Operator, routes::ANALYTICS, analytics::begin;
            Nothing, DrillDownRequest => DrillDown, "Begins a drill-down, which ends by itself.");
        read(Operator, routes::DRILL_DOWN, analytics::one;
            DrillDownQuery, Nothing => DrillDownFound, "What a drill-down has found.");
        change(Operator, routes::DRILL_DOWN_END, analytics::end;
            Nothing, Nothing => DrillDown, "Ends a drill-down; what it has found stays.");
        change(Operator, routes::DRILL_DOWN_REMOVE, analytics::remove;
            Nothing, Nothing => (), "Removes a drill-down.");
        read(Operator, routes::WORKSHEETS, worksheets::list;
            Nothing, Nothing => Vec<Worksheet>, "Worksheets: drill-downs that are kept under a name.");
        change(Operator, routes::WORKSHEETS, worksheets::add;
            Nothing, WorksheetAdd => Worksheet, "Keeps a worksheet under a new name.");
        read(Operator, routes::WORKSHEET, worksheets::one;
            Nothing, Nothing => Worksheet, "A worksheet.");
        change(Operator, routes::WORKSHEET_CHANGE, worksheets::change;
            Nothing, WorksheetChange => Worksheet, "Sets all panes of a worksheet.");
        change(Operator, routes::WORKSHEET_REMOVE, worksheets::remove;
            Nothing, Nothing => (), "Removes a worksheet.");
        single(Operator, routes::WORKSHEET_OPEN, worksheets::open;
            Nothing, WorksheetOpen => Vec<DrillDown>, "Has the drill-downs of a worksheet run: one for each pane.");
        read(Operator, routes::WORKSHEET_HISTORY, worksheets::history;
            PaneHistoryQuery, Nothing => DrillDownFound, "What a pane that is kept found, of up to a year.");
        single(Reader, routes::SHELLS, shells::open;
            Nothing, ShellSize => ShellOpened, "Opens a shell of the console, for the session that asks.");
        read(Reader, routes::SHELL_OUTPUT, shells::output;
            ShellOutputQuery, Nothing => Streamed<ShellEvent>, "Shows what a shell shows, until it has ended.");
        single(Reader, routes::SHELL_INPUT, shells::input;
            Nothing, ShellInput => (), "Types into a shell.");
        single(Reader, routes::SHELL_SIZE, shells::size;
            Nothing, ShellSize => (), "Sets how large the terminal of a shell is.");
        single(Reader, routes::SHELL_CLOSE, shells::close;
            Nothing, Nothing => (), "Ends a shell.");
        read(Reader, routes::METRICS, measure::metrics;
            Nothing, Nothing => Metrics, "The same and more, in the text format of Prometheus.");
        read(Anyone, routes::CACHE, measure::cache;
            Nothing, Nothing => Counts, "Counters of the cache that all pools share.");
        change(Administrator, routes::CACHE_DROP, measure::drop_cache;
            Nothing, Nothing => (), "Drops all blocks of all pools from memory.");
        read(Reader, routes::ISCSI_SESSIONS, measure::iscsi_sessions;
            Nothing, Nothing => Vec<IscsiSession>, "Sessions of iSCSI initiators, with their counters.");
    }
    "Accounts" {
        single(Stranger, routes::FIRST_ADMINISTRATOR, accounts::first;
            Nothing, FirstAdministrator => User, "Creates the first administrator.");
        single(Stranger, routes::LOGIN, session::log_in;
            Nothing, LogIn => LoggedIn, "Begins a session, which is in the cookie of the answer.");
        single(Anyone, routes::LOGOUT, session::log_out;
            Nothing, Nothing => (), "Ends the session that it comes with.");
        read(Anyone, routes::ME, session::me;
            Nothing, Nothing => Me, "Who asks, and by what.");
        read(Administrator, routes::USERS, accounts::list;
            Nothing, Nothing => Vec<User>, "All accounts.");
        change(Administrator, routes::USERS, accounts::add;
            Nothing, UserAdd => User, "Creates an account.");
        read(Account, routes::USER, accounts::one;
            Nothing, Nothing => User, "An account.");
        change(Account, routes::USER_CHANGE, accounts::change;
            Nothing, UserChange => User, "Changes an account.");
        change(Administrator, routes::USER_REMOVE, accounts::remove;
            Nothing, Nothing => (), "Removes an account, its sessions and tokens.");
        single(Account, routes::USER_TOTP, accounts::begin_totp;
            Nothing, TotpBegin => TotpOffer, "Offers a second factor, which counts once it is confirmed.");
        single(Account, routes::USER_TOTP_CONFIRM, accounts::confirm_totp;
            Nothing, TotpConfirm => RecoveryCodes, "Confirms a second factor by a code of it.");
        read(Account, routes::USER_KEYS, keys::list;
            Nothing, Nothing => Vec<SecurityKey>, "The security keys of an account.");
        single(Account, routes::USER_KEYS, keys::begin;
            Nothing, KeyBegin => CreationOptions, "Has a browser make a security key for its account.");
        single(Account, routes::USER_KEYS_CONFIRM, keys::confirm;
            Nothing, KeyConfirm => KeyMade, "Keeps a security key that a browser has made.");
        change(Account, routes::USER_KEYS_REMOVE, keys::remove;
            Nothing, KeyRemove => (), "Removes a security key.");
        read(Account, routes::SESSIONS, accounts::sessions;
            Nothing, Nothing => Vec<UserSession>, "One's own sessions; an administrator sees all.");
        change(Account, routes::SESSION_END, accounts::end_session;
            Nothing, Nothing => (), "Ends a session.");
        read(Account, routes::TOKENS, tokens::list;
            Nothing, Nothing => Vec<Token>, "One's own tokens; an administrator sees all.");
        single(Account, routes::TOKENS, tokens::add;
            Nothing, TokenAdd => TokenMade, "Creates a token.");
        change(Account, routes::TOKEN_REMOVE, tokens::remove;
            Nothing, Nothing => (), "Removes a token.");
        read(Administrator, routes::AUDIT, accounts::audit;
            AuditQuery, Nothing => Listed<AuditRecord>, "What was asked for, and by whom.");
    }
    "Machine" {
        read(Anyone, routes::CERTIFICATE, certificate::show;
            Nothing, Nothing => CertificateInfo, "The certificate of HTTPS.");
        change(Administrator, routes::CERTIFICATE, certificate::set;
            Nothing, CertificateSet => CertificateInfo, "Sets the certificate of HTTPS.");
        read(Reader, routes::CERTIFICATE_ACME, certificate::acme;
            Nothing, Nothing => AcmeStatus, "How certificates come by ACME, and what kept one away.");
        change(Administrator, routes::CERTIFICATE_ACME, certificate::set_acme;
            Nothing, AcmeSet => AcmeStatus, "Has certificates come by ACME, and asks for one at once.");
        change(Administrator, routes::CERTIFICATE_ACME_OFF, certificate::end_acme;
            Nothing, Nothing => AcmeStatus, "Has certificates come by ACME no more.");
        change(Administrator, routes::MACHINE_BACKUP, accounts::backup;
            Nothing, Nothing => MachineBackup, "Copies the machine's database.");
        read(Administrator, routes::MACHINE_KEEPING, keeping::show;
            Nothing, Nothing => Keeping, "The pool that versions of the machine's state go to.");
        change(Administrator, routes::MACHINE_KEEPING, keeping::keep;
            Nothing, KeepIn => Keeping, "Has versions of the machine's state go to a pool, or nowhere.");
        read(Administrator, routes::MACHINE_VERSIONS, keeping::versions;
            StateVersionsQuery, Nothing => Vec<StateVersion>, "Versions of the machine's state in a pool.");
        change(Administrator, routes::MACHINE_RESTORE, keeping::restore;
            Nothing, StateRestore => StateRestored, "Restores a version at the next start of the daemon.");
        change(Administrator, routes::MACHINE_RESTORE_CANCEL, keeping::cancel;
            Nothing, Nothing => Keeping, "Has the next start of the daemon restore nothing.");
    }
    "Jobs" {
        read(Anyone, routes::JOBS, jobs::list;
            Nothing, Nothing => Vec<Job>, "Jobs that run, and the last that ended.");
        read(Anyone, routes::JOB, jobs::one;
            JobQuery, Nothing => Job, "A job. Waits for its progress if `wait_ms` is set.");
        read(Anyone, routes::JOB_LOG, jobs::log;
            Nothing, Nothing => JobLog, "What a job did, and when: its last steps.");
        change(Anyone, routes::JOB_CANCEL, jobs::cancel;
            Nothing, Nothing => Job, "Cancels a job: it ends at its next step.");
    }
    "Events" {
        read(Reader, routes::EVENTS, events::list;
            EventsQuery, Nothing => Vec<Zevent>, "Events of all pools. Waits for one if `wait_ms` is set.");
        read(Reader, routes::EVENTS_STREAM, events::stream;
            EventStreamQuery, Nothing => Events, "All that happens from now on, or from an event on.");
        change(Administrator, routes::EVENTS_CLEAR, events::clear;
            Nothing, Nothing => EventsCleared, "Clears all events.");
    }
    "Alerts" {
        read(Reader, routes::ALERTS, alerts::list;
            AlertsQuery, Nothing => Listed<Alert>, "Alerts, the newest first: what is wrong, or was.");
        read(Reader, routes::ALERT, alerts::one;
            Nothing, Nothing => Alert, "An alert.");
        change(Operator, routes::ALERT_ACKNOWLEDGE, alerts::acknowledge;
            Nothing, AlertAcknowledge => Alert, "Says that somebody looks after an alert, or nobody any more.");
        change(Operator, routes::ALERT_CLEAR, alerts::clear;
            Nothing, Nothing => Alert, "Clears an alert. It is raised anew when it is found again.");
        read(Reader, routes::ALERT_CHECKS, alerts::checks;
            Nothing, Nothing => Vec<AlertCheck>, "The checks that find alerts, and how they do.");
        read(Reader, routes::ALERT_SETTINGS, alerts::settings;
            Nothing, Nothing => AlertSettings, "From where on something is an alert.");
        change(Administrator, routes::ALERT_SETTINGS, alerts::set_settings;
            Nothing, AlertSettings => AlertSettings, "Sets from where on something is an alert.");
        read(Reader, routes::ALERT_REPORT, alerts::report;
            Nothing, Nothing => AlertReport, "The report of the last week.");
        change(Operator, routes::ALERT_REPORT, alerts::send_report;
            Nothing, Nothing => AlertReportSent, "Sends the report of the last week by all routes that take it.");
        read(Reader, routes::ALERT_ROUTES, alerts::route_list;
            Nothing, Nothing => Vec<RouteStatus>, "The routes that alerts are told by, and how they do.");
        change(Administrator, routes::ALERT_ROUTES, alerts::add_route;
            Nothing, RouteAdd => AlertRoute, "Adds a route.");
        read(Reader, routes::ALERT_ROUTE, alerts::route;
            Nothing, Nothing => AlertRoute, "A route, without its secret.");
        change(Administrator, routes::ALERT_ROUTE_CHANGE, alerts::change_route;
            Nothing, RouteChange => AlertRoute, "Changes a route.");
        change(Administrator, routes::ALERT_ROUTE_REMOVE, alerts::remove_route;
            Nothing, Nothing => (), "Removes a route, with what waits for it.");
        change(Administrator, routes::ALERT_ROUTE_TEST, alerts::test_route;
            Nothing, Nothing => RouteTested, "Sends a test by a route, and waits for how it goes.");
    }
    "Peers" {
        read(Reader, routes::PEERS, peers::list;
            Nothing, Nothing => Vec<Peer>, "Other appliances that this one knows.");
        change(Administrator, routes::PEERS, peers::add;
            Nothing, PeerAdd => Peer, "Makes another appliance known by its fingerprint.");
        read(Reader, routes::PEER, peers::one;
            Nothing, Nothing => Peer, "Another appliance, and what it may keep here.");
        change(Administrator, routes::PEER_CHANGE, peers::change;
            Nothing, PeerChange => Peer, "Sets where a peer listens, and what it may keep here.");
        change(Administrator, routes::PEER_REMOVE, peers::remove;
            Nothing, Nothing => (), "Removes a peer. What it has here stays.");
        change(Operator, routes::PEER_CHECK, peers::check;
            Nothing, Nothing => PeerChecked, "Asks a peer whether it is there, and what it says of itself.");
        read(Reader, routes::PEER_RELATIONS, peers::relations;
            Nothing, Nothing => Vec<PeerRelation>, "Asks a peer what it replicates to this machine.");
        read(Reader, routes::PEER_IDENTITY, peers::own;
            Nothing, Nothing => PeerIdentity, "By what other appliances know this one.");
        single(Administrator, routes::PEER_INVITATION, peers::invite;
            Nothing, PeerInvite => PeerInvited, "Gives out a code by which another appliance becomes a peer.");
        single(Administrator, routes::PEER_JOIN, peers::join;
            Nothing, PeerJoin => Peer, "Becomes a peer of the appliance that has given out a code.");
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
        change(Operator, routes::POOL_PREFETCH, pools::prefetch;
            Nothing, PoolRelease => Started, "Reads the deduplication tables into memory.");
        change(Administrator, routes::POOL_REGUID, pools::reguid;
            Nothing, PoolReguid => Started, "Gives a pool another guid.");
        change(Administrator, routes::POOL_CHECKPOINT, pools::checkpoint;
            Nothing, PoolCheckpoint => Started, "Takes a checkpoint, or discards the one that there is.");
        change(Operator, routes::POOL_SCAN, pools::scan;
            Nothing, PoolScan => Started, "Begins, pauses or stops a scrub, or restarts a resilver.");
        read(Reader, routes::POOL_ERRORS, pools::errors;
            Nothing, Nothing => Vec<String>, "Names of files and objects that are damaged for good.");
        read(Anyone, routes::POOL_PROPERTIES, pools::properties;
            PropertiesQuery, Nothing => Vec<PropValue>, "The properties of a pool.");
        change(Administrator, routes::POOL_PROPERTIES, pools::set;
            Nothing, PropertiesSet => Changed, "Sets properties of a pool.");
        read(Anyone, routes::POOL_UPGRADE, pools::upgradable;
            Nothing, Nothing => Upgradable, "The version of a pool, and features that it could be given.");
        read(Reader, routes::POOL_HISTORY, pools::history;
            HistoryQuery, Nothing => Vec<HistoryRecord>, "The history of a pool.");
        read(Anyone, routes::POOL_LOG, measure::log;
            Nothing, Nothing => Counts, "Counters of the intent logs of a pool.");
        read(Anyone, routes::POOL_IOSTAT, measure::iostat;
            Nothing, Nothing => Vec<VdevTallies>, "Queues and histograms of each vdev.");
        read(Reader, routes::POOL_ADVICE, measure::advice;
            AdviceQuestion, Nothing => Advice, "What log devices, memory and cache devices would change.");
        read(Reader, routes::POOL_DEDUP_ESTIMATE, measure::dedup_estimate;
            DedupEstimateQuery, Nothing => DedupEstimate, "What deduplication would bring.");
    }
    "Devices" {
        change(Administrator, routes::POOL_VDEVS, pools::add;
            Nothing, PoolAdd => Started, "Adds vdevs to a pool.");
        change(Administrator, routes::POOL_REMOVE, pools::remove;
            Nothing, PoolVdev => Started, "Removes a vdev from a pool.");
        change(Operator, routes::POOL_ONLINE, pools::online;
            Nothing, PoolOnline => Started, "Brings a device online.");
        change(Operator, routes::POOL_OFFLINE, pools::offline;
            Nothing, PoolOffline => Started, "Takes a device offline, or faults it.");
        change(Administrator, routes::POOL_ATTACH, pools::attach;
            Nothing, PoolAttach => Started, "Attaches a device to another, as its mirror.");
        change(Administrator, routes::POOL_DETACH, pools::detach;
            Nothing, PoolVdev => Started, "Detaches a device from a mirror.");
        change(Administrator, routes::POOL_REPLACE, pools::replace;
            Nothing, PoolAttach => Started, "Replaces a device.");
        change(Operator, routes::POOL_CLEAR, pools::clear;
            Nothing, PoolClear => Started, "Clears the errors of one vdev or of all.");
        change(Operator, routes::POOL_TRIM, pools::trim;
            Nothing, PoolTrim => Started, "Begins, suspends or cancels the trimming of devices.");
        change(Operator, routes::POOL_INITIALIZE, pools::initialize;
            Nothing, PoolInitialize => Started, "Begins, suspends or cancels the initializing of devices.");
        change(Administrator, routes::POOL_REOPEN, pools::reopen;
            Nothing, PoolReopen => Started, "Reopens all devices of a pool.");
        change(Administrator, routes::LABELCLEAR, pools::label_clear;
            Nothing, LabelClear => Started, "Clears the labels of a device that no pool uses.");
    }
    "Faults" {
        change(Administrator, routes::POOL_CONDEMN, faults::condemn;
            Nothing, Condemn => (), "Marks a device as faulted or degraded.");
        read(Reader, routes::FAULTS, faults::list;
            Nothing, Nothing => Vec<ActiveFault>, "Injected faults that are in force.");
        change(Administrator, routes::FAULTS, faults::inject;
            Nothing, Fault => ActiveFault, "Injects a fault: a device or blocks fail.");
        change(Administrator, routes::FAULT_CANCEL, faults::cancel;
            Nothing, FaultCancel => Vec<ActiveFault>, "Ends an injected fault. The answer is those left.");
    }
    "Datasets" {
        read(Anyone, routes::DATASETS, datasets::list;
            DatasetQuery, Nothing => Listed<DatasetInfo>, "Datasets and their properties, perhaps in pages.");
        single(Administrator, routes::DATASET_SECRETS, datasets::list_with_secrets;
            Nothing, DatasetQuery => Vec<DatasetInfo>, "Datasets and their properties, with CHAP secrets.");
        change(Delegated, routes::DATASETS, datasets::create;
            Nothing, DatasetCreate => Changed, "Creates a file system or a volume.");
        change(Anyone, routes::DATASET_PLAN, datasets::plan;
            Nothing, DatasetCreate => DatasetPlan, "What would be created; nothing is changed.");
        read(Anyone, routes::DATASET_DESTROY, datasets::destroy_preview;
            DestroyOptions, Nothing => DestroyPlan, "What would be destroyed; nothing is changed.");
        change(Delegated, routes::DATASET_DESTROY, datasets::destroy;
            Nothing, DatasetDestroy => Started, "Destroys a dataset or snapshots.");
        read(Anyone, routes::DATASET_PROPERTIES, datasets::settings;
            Nothing, Nothing => DatasetInfo, "What can be set of a dataset, and its values.");
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
        read(Reader, routes::DATASET_PROJECTS, projects::page;
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
        change(Administrator, routes::LOCKS, snapshots::lock;
            Nothing, LockRequest => Changed, "Locks snapshots until a time, before which nobody destroys them.");
        read(Anyone, routes::DATASET_HOLDS, snapshots::holds;
            Nothing, Nothing => Vec<Hold>, "The holds of a snapshot.");
        read(Delegated, routes::DATASET_DIFF, snapshots::diff;
            DiffQuery, Nothing => Vec<DiffEntry>, "Files that changed since a snapshot.");
        read(Reader, routes::DATASET_FILES, files::list;
            FilesQuery, Nothing => FilePage, "What is in a directory of a snapshot or file system.");
        read(Reader, routes::DATASET_FILE_VERSIONS, files::versions;
            FileVersionsQuery, Nothing => FileVersions, "What a file was in each snapshot.");
        read(Administrator, routes::DATASET_FILE, files::read;
            FileQuery, Nothing => Contents, "The contents of a file of a snapshot.");
        change(Administrator, routes::FILE_RESTORES, files::restore;
            Nothing, FileRestore => Started, "Copies a file of a snapshot back.");
        change(Delegated, routes::DATASET_ROLLBACK, snapshots::rollback;
            Nothing, Rollback => Changed, "Rolls a dataset back to a snapshot.");
        change(Delegated, routes::DATASET_PROMOTE, snapshots::promote;
            Nothing, Promote => Changed, "Promotes a clone.");
    }
    "Streams" {
        single(Delegated, routes::SEND, streams::send;
            Nothing, Line<SendRequest> => Frames, "Sends snapshots.");
        single(Delegated, routes::RECEIVE, streams::receive;
            Nothing, Line<Receive> => Frames, "Receives a stream.");
        change(Delegated, routes::DATASET_ABORT_RECEIVE, streams::abort;
            Nothing, AbortReceive => Changed, "Destroys what an interrupted receive has left.");
    }
    "Services" {
        read(Reader, routes::SERVICES, services::list;
            Nothing, Nothing => Vec<Service>, "All services, how they stand and what they do next.");
        change(Administrator, routes::SERVICES, services::create;
            Nothing, ServiceCreate => Service, "Creates a service.");
        read(Reader, routes::SERVICE, services::one;
            Nothing, Nothing => Service, "A service, how it stands and what it does next.");
        read(Reader, routes::SERVICE_SPEC, services::spec;
            Nothing, Nothing => ServiceSpec, "What a service is set to do.");
        change(Administrator, routes::SERVICE_SPEC, services::set;
            Nothing, ServiceSet => Service, "Sets what a service does.");
        change(Operator, routes::SERVICE_COMMAND, services::command;
            Nothing, ServiceAsk => Service, "Enables, disables, runs or clears a service.");
        change(Administrator, routes::SERVICE_REMOVE, services::remove;
            Nothing, Nothing => (), "Removes a service. Its snapshots stay.");
        read(Reader, routes::SERVICE_LOG, services::log;
            Nothing, Nothing => Vec<ServiceLog>, "What a service did, oldest first.");
        read(Reader, routes::SERVICE_PLAN, services::plan;
            ServicePlanQuery, Nothing => ServicePlan, "What a service would do now or in the next days.");
        change(Administrator, routes::SERVICE_REVERSE, replicas::reverse;
            Nothing, ServiceReverse => ServiceReversed, "Has a service replicate the other way.");
        read(Reader, routes::SERVICE_POLICIES, services::sleeping;
            Nothing, Nothing => Vec<SleepingPolicy>, "What datasets keep of services and is not at work.");
        change(Administrator, routes::SERVICE_POLICY_WAKE, services::wake;
            Nothing, PolicyWake => (), "Says that a dataset is no replica: a service that came along begins.");
        read(Reader, routes::SERVICE_CLOCK, services::clock;
            Nothing, Nothing => ServiceClock, "What time services go by.");
        read(Reader, routes::REPLICAS, replicas::list;
            Nothing, Nothing => Vec<Replica>, "Datasets that are replicas.");
        read(Reader, routes::REPLICA_LOSSES, replicas::losses;
            ReplicaQuery, Nothing => Vec<ReplicaLoss>, "What would be lost if a replica were promoted now.");
        change(Administrator, routes::REPLICA_PROMOTE, replicas::promote;
            Nothing, ReplicaPromote => ReplicaPromoted, "Has a replica take the place of its source.");
        change(Administrator, routes::REPLICA_TEST, replicas::test;
            Nothing, ReplicaTest => ReplicaTested, "Clones a replica, to try a fail-over.");
        change(Administrator, routes::SERVICE_CLOCK_AGREE, services::agree;
            Nothing, Nothing => ServiceClock, "Says that the clock of the machine is right.");
    }
    "Mounts and shares" {
        read(Anyone, routes::MOUNTS, mounts::mounted;
            Nothing, Nothing => Vec<Mount>, "File systems that are mounted on this machine.");
        change(Operator, routes::MOUNTS, mounts::mount;
            Nothing, MountRequest => MountOutcome, "Mounts file systems.");
        change(Operator, routes::UNMOUNTS, mounts::unmount;
            Nothing, UnmountRequest => MountOutcome, "Unmounts file systems.");
        read(Anyone, routes::SHARES, mounts::shared;
            Nothing, Nothing => Vec<Share>, "File systems that are shared.");
        change(Operator, routes::SHARES, mounts::share;
            Nothing, ShareRequest => MountOutcome, "Shares file systems.");
        change(Operator, routes::UNSHARES, mounts::unshare;
            Nothing, ShareRequest => MountOutcome, "Ends the shares of file systems.");
    }
}

/// What is served of it.
static DOCUMENT: LazyLock<Document> =
    LazyLock::new(|| Document::of(table().into_iter().map(|route| (route.verb, route.says))));

async fn document() -> Response {
    DOCUMENT.answer()
}

/// The description of all requests by OpenAPI, as it is served.
pub fn description() -> Bytes {
    DOCUMENT.text()
}

/// Verb and path of every request, and whom it is for.
pub fn routes() -> Vec<(&'static str, &'static str, Right)> {
    table().into_iter().map(|Route { verb, says, .. }| (verb, says.path, says.right)).collect()
}

/// Who carries them out; with an audit log, what was asked is noted there.
pub fn router(app: Shared, auditor: Option<Auditor>) -> Router {
    let (bodies, under_way) = (Bodies::default(), precondition::under_way());
    let common = Arc::new(Common { app: app.clone(), bodies, under_way });
    let with = |router: Router<Shared>, Route { says, handler, .. }: Route| {
        let Operation { path, right, tag, takes_keys, .. } = says;
        // Accounts are administrators' business.
        let whom = if tag == ACCOUNTS { Whom::Administrators } else { Whom::Readers };
        let (subject, common) = (Subject::of(path), common.clone());
        let gate = Arc::new(Gate { right, whom, takes_keys, subject, common });
        let guarded = move |asker, request, next| pass(gate.clone(), asker, request, next);
        router.route(path, handler.route_layer(from_fn(guarded)))
    };
    let router = table()
        .into_iter()
        .fold(Router::new(), with)
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_route)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(from_fn_with_state(app.clone(), counted))
        .with_state(app);
    match auditor {
        Some(auditor) => router.layer(from_fn_with_state(auditor, record)),
        None => router,
    }
}

async fn no_such_route(ConnectInfo(asker): ConnectInfo<Asker>, method: Method, uri: Uri) -> Unserved {
    match asker.is_stranger() {
        true => unauthenticated(),
        false => refuse(kind::BAD_REQUEST, format!("no such request: {method} {}", uri.path())).into(),
    }
}

#[cfg(test)]
mod tests;
