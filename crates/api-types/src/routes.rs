//! Every path of the interface. `{name}` is one path segment: a dataset's slashes travel as `%2F`
//! (see [`segment`]).

pub const VERSION: &str = "/v1/version";
/// GET the description of this interface, by OpenAPI 3.1
pub const OPENAPI: &str = "/v1/openapi.json";
/// GET every [`crate::Disk`] of the machine
pub const DISKS: &str = "/v1/disks";
/// GET every [`crate::FeatureInfo`] that pools can be given
pub const FEATURES: &str = "/v1/features";
/// GET all · POST [`crate::PoolSpec`] → job
pub const POOLS: &str = "/v1/pools";
/// GET [`crate::PoolStatus`]
pub const POOL: &str = "/v1/pools/{name}";
/// POST [`crate::PoolRelease`] → job
pub const POOL_EXPORT: &str = "/v1/pools/{name}/export";
/// POST → job: the deduplication tables are read into memory
pub const POOL_PREFETCH: &str = "/v1/pools/{name}/prefetch";
/// POST [`crate::PoolRelease`] → job
pub const POOL_DESTROY: &str = "/v1/pools/{name}/destroy";
/// POST [`crate::PoolAdd`] → job
pub const POOL_VDEVS: &str = "/v1/pools/{name}/vdevs";
/// POST [`crate::PoolVdev`] → job
pub const POOL_REMOVE: &str = "/v1/pools/{name}/remove";
/// POST [`crate::PoolOnline`] → job
pub const POOL_ONLINE: &str = "/v1/pools/{name}/online";
/// POST [`crate::PoolOffline`] → job
pub const POOL_OFFLINE: &str = "/v1/pools/{name}/offline";
/// POST [`crate::PoolAttach`] → job
pub const POOL_ATTACH: &str = "/v1/pools/{name}/attach";
/// POST [`crate::PoolVdev`] → job
pub const POOL_DETACH: &str = "/v1/pools/{name}/detach";
/// POST [`crate::PoolAttach`] → job
pub const POOL_REPLACE: &str = "/v1/pools/{name}/replace";
/// POST [`crate::PoolClear`] → job
pub const POOL_CLEAR: &str = "/v1/pools/{name}/clear";
/// POST [`crate::PoolTrim`] → job
pub const POOL_TRIM: &str = "/v1/pools/{name}/trim";
/// POST [`crate::PoolInitialize`] → job
pub const POOL_INITIALIZE: &str = "/v1/pools/{name}/initialize";
/// POST [`crate::PoolReopen`] → job
pub const POOL_REOPEN: &str = "/v1/pools/{name}/reopen";
/// POST [`crate::PoolReguid`] → job
pub const POOL_REGUID: &str = "/v1/pools/{name}/reguid";
/// POST [`crate::PoolCheckpoint`] → job
pub const POOL_CHECKPOINT: &str = "/v1/pools/{name}/checkpoint";
/// POST [`crate::PoolScan`] → job
pub const POOL_SCAN: &str = "/v1/pools/{name}/scan";
/// GET names of what is hurt for good
pub const POOL_ERRORS: &str = "/v1/pools/{name}/errors";
/// POST → job
pub const POOL_SYNC: &str = "/v1/pools/{name}/sync";
/// GET [`crate::PropertiesQuery`] · POST [`crate::PropertiesSet`]
pub const POOL_PROPERTIES: &str = "/v1/pools/{name}/properties";
/// GET [`crate::Upgradable`]
pub const POOL_UPGRADE: &str = "/v1/pools/{name}/upgrade";
/// GET [`crate::HistoryQuery`]
pub const POOL_HISTORY: &str = "/v1/pools/{name}/history";
/// GET [`crate::Counts`] of its intent logs
pub const POOL_LOG: &str = "/v1/pools/{name}/log";
/// GET [`crate::VdevTallies`] of every vdev
pub const POOL_IOSTAT: &str = "/v1/pools/{name}/iostat";
/// GET [`crate::AdviceQuestion`]
pub const POOL_ADVICE: &str = "/v1/pools/{name}/advice";
/// GET [`crate::DedupEstimateQuery`]
pub const POOL_DEDUP_ESTIMATE: &str = "/v1/pools/{name}/dedup-estimate";
/// POST [`crate::Condemn`]
pub const POOL_CONDEMN: &str = "/v1/pools/{name}/condemn";
/// GET those in force · POST [`crate::Fault`], answered with its [`crate::ActiveFault`]
pub const FAULTS: &str = "/v1/faults";
/// POST [`crate::FaultCancel`]
pub const FAULT_CANCEL: &str = "/v1/faults/cancel";
/// GET [`crate::EventsQuery`], of all pools
pub const EVENTS: &str = "/v1/events";
/// GET [`crate::EventStreamQuery`] → [`crate::Event`]s
pub const EVENTS_STREAM: &str = "/v1/events/stream";
/// POST → [`crate::EventsCleared`]
pub const EVENTS_CLEAR: &str = "/v1/events/clear";
/// GET [`crate::LogFilter`] · POST it, answered with itself
pub const LOG: &str = "/v1/log";
/// GET [`crate::Statistics`]
pub const STATISTICS: &str = "/v1/statistics";
/// GET [`crate::SeriesQuery`] → [`crate::History`]
pub const STATISTICS_HISTORY: &str = "/v1/statistics/history";
/// POST [`crate::TraceRequest`] → [`crate::TraceEvent`]s, as they happen
pub const TRACE: &str = "/v1/trace";
/// POST [`crate::ShellSize`] → [`crate::ShellOpened`]
pub const SHELLS: &str = "/v1/shells";
/// GET [`crate::ShellOutputQuery`] → [`crate::ShellEvent`]s, as they happen
pub const SHELL_OUTPUT: &str = "/v1/shells/{name}/output";
/// POST [`crate::ShellInput`]. Answered with nothing once it was typed
pub const SHELL_INPUT: &str = "/v1/shells/{name}/input";
/// POST [`crate::ShellSize`]. Answered with nothing
pub const SHELL_SIZE: &str = "/v1/shells/{name}/size";
/// POST. Answered with nothing
pub const SHELL_CLOSE: &str = "/v1/shells/{name}/close";
/// GET [`crate::DrillDown`]s · POST [`crate::DrillDownRequest`], answered with its
/// [`crate::DrillDown`]
pub const ANALYTICS: &str = "/v1/analytics";
/// GET [`crate::DrillDownQuery`] → [`crate::DrillDownFound`]
pub const DRILL_DOWN: &str = "/v1/analytics/{id}";
/// POST: it takes nothing more, and what it has found stays. Answered with its [`crate::DrillDown`]
pub const DRILL_DOWN_END: &str = "/v1/analytics/{id}/end";
/// POST. Answered with nothing
pub const DRILL_DOWN_REMOVE: &str = "/v1/analytics/{id}/remove";
/// GET [`crate::Worksheet`]s · POST [`crate::WorksheetAdd`], answered with its
/// [`crate::Worksheet`]
pub const WORKSHEETS: &str = "/v1/analytics/worksheets";
/// GET its [`crate::Worksheet`]
pub const WORKSHEET: &str = "/v1/analytics/worksheets/{name}";
/// POST [`crate::WorksheetChange`]. Answered with its [`crate::Worksheet`]
pub const WORKSHEET_CHANGE: &str = "/v1/analytics/worksheets/{name}/change";
/// POST. Answered with nothing
pub const WORKSHEET_REMOVE: &str = "/v1/analytics/worksheets/{name}/remove";
/// POST [`crate::WorksheetOpen`]: its drill-downs run. Answered with a [`crate::DrillDown`] for
/// each of its panes
pub const WORKSHEET_OPEN: &str = "/v1/analytics/worksheets/{name}/open";
/// GET with a [`crate::PaneHistoryQuery`]: what a pane that is kept found, as a
/// [`crate::DrillDownFound`] of that time, whose keys have no filters. Its drill-down has the
/// number 0 where it cannot run any more
pub const WORKSHEET_HISTORY: &str = "/v1/analytics/worksheets/{name}/history";
/// GET the metrics, in the text format of Prometheus
pub const METRICS: &str = "/metrics";
/// POST: nothing of any pool stays in memory that could be read again. Answered with nothing
pub const CACHE_DROP: &str = "/v1/cache/drop";
/// GET [`crate::Counts`] of the cache that all pools share
pub const CACHE: &str = "/v1/cache";
/// POST [`crate::ImportSearch`]: it reads every device, and takes a list that may be long
pub const IMPORTABLE: &str = "/v1/importable";
/// POST [`crate::PoolImport`] → job
pub const IMPORTS: &str = "/v1/imports";
/// POST [`crate::LabelClear`] → job
pub const LABELCLEAR: &str = "/v1/labelclear";
/// GET [`crate::DatasetQuery`] · POST [`crate::DatasetCreate`]
pub const DATASETS: &str = "/v1/datasets";
/// POST [`crate::DatasetCreate`], answered with its [`crate::DatasetPlan`]: nothing is made
pub const DATASET_PLAN: &str = "/v1/datasets/plan";
/// POST [`crate::DatasetQuery`], answered as its GET, but with CHAP secrets in the clear. It is no
/// GET, so that the audit log has it.
pub const DATASET_SECRETS: &str = "/v1/datasets/secrets";
/// GET preview · POST [`crate::DatasetDestroy`] → job
pub const DATASET_DESTROY: &str = "/v1/datasets/{name}/destroy";
/// GET what can be set, as a [`crate::DatasetInfo`] · POST [`crate::PropertiesSet`]
pub const DATASET_PROPERTIES: &str = "/v1/datasets/{name}/properties";
/// POST [`crate::Inherit`]
pub const DATASET_INHERIT: &str = "/v1/datasets/{name}/inherit";
/// POST [`crate::Rename`]
pub const DATASET_RENAME: &str = "/v1/datasets/{name}/rename";
/// POST [`crate::Rollback`], of a snapshot
pub const DATASET_ROLLBACK: &str = "/v1/datasets/{name}/rollback";
/// POST [`crate::Promote`]
pub const DATASET_PROMOTE: &str = "/v1/datasets/{name}/promote";
/// POST [`crate::AbortReceive`]
pub const DATASET_ABORT_RECEIVE: &str = "/v1/datasets/{name}/abort-receive";
/// GET [`crate::Delegation`]s of a dataset and those above it
pub const DATASET_PERMISSIONS: &str = "/v1/datasets/{name}/permissions";
/// POST [`crate::Allow`]
pub const DATASET_ALLOW: &str = "/v1/datasets/{name}/allow";
/// POST [`crate::Unallow`]
pub const DATASET_UNALLOW: &str = "/v1/datasets/{name}/unallow";
/// GET [`crate::Hold`]s of a snapshot
pub const DATASET_HOLDS: &str = "/v1/datasets/{name}/holds";
/// GET [`crate::DeletedFiles`]
pub const DATASET_DELETED: &str = "/v1/datasets/{name}/deleted";
/// GET [`crate::DiffEntry`]s since a snapshot, see [`crate::DiffQuery`]
pub const DATASET_DIFF: &str = "/v1/datasets/{name}/diff";
/// GET [`crate::FilePage`] of a directory, see [`crate::FilesQuery`]
pub const DATASET_FILES: &str = "/v1/datasets/{name}/files";
/// GET the contents of a file of a snapshot, see [`crate::FileQuery`]
pub const DATASET_FILE: &str = "/v1/datasets/{name}/file";
/// GET [`crate::FileVersions`], see [`crate::FileVersionsQuery`]
pub const DATASET_FILE_VERSIONS: &str = "/v1/datasets/{name}/file-versions";
/// POST [`crate::FileRestore`]
pub const FILE_RESTORES: &str = "/v1/file-restores";
/// GET [`crate::SpaceExplained`]
pub const DATASET_SPACE: &str = "/v1/datasets/{name}/space";
/// GET [`crate::SpaceUse`]s by user, group or project, see [`crate::SpaceUseQuery`]
pub const DATASET_SPACE_USE: &str = "/v1/datasets/{name}/space-use";
/// GET [`crate::ProjectQuery`] → [`crate::ProjectPage`] · POST [`crate::ProjectSet`] →
/// [`crate::ProjectsSet`]
pub const DATASET_PROJECTS: &str = "/v1/datasets/{name}/projects";
/// POST [`crate::SnapshotCreate`]
pub const SNAPSHOTS: &str = "/v1/snapshots";
/// POST [`crate::CloneCreate`]
pub const CLONES: &str = "/v1/clones";
/// POST [`crate::BookmarkCreate`]
pub const BOOKMARKS: &str = "/v1/bookmarks";
/// POST [`crate::HoldRequest`]
pub const HOLDS: &str = "/v1/holds";
/// POST [`crate::lock::LockRequest`]
pub const LOCKS: &str = "/v1/locks";
/// POST [`crate::HoldRequest`]
pub const RELEASES: &str = "/v1/releases";
/// POST [`crate::SendRequest`] → [`crate::StreamEvent`]s and a stream
pub const SEND: &str = "/v1/send";
/// POST [`crate::Receive`], then a stream → [`crate::StreamEvent`]s
pub const RECEIVE: &str = "/v1/receive";
/// GET all · POST [`crate::ServiceCreate`] → [`crate::Service`]
pub const SERVICES: &str = "/v1/services";
/// GET [`crate::Service`]
pub const SERVICE: &str = "/v1/services/{name}";
/// GET [`crate::ServiceSpec`] · POST [`crate::ServiceSet`] → [`crate::Service`]
pub const SERVICE_SPEC: &str = "/v1/services/{name}/spec";
/// POST [`crate::ServiceAsk`] → [`crate::Service`]
pub const SERVICE_COMMAND: &str = "/v1/services/{name}/command";
/// POST. Answered with nothing
pub const SERVICE_REMOVE: &str = "/v1/services/{name}/remove";
/// GET [`crate::ServiceLog`]s, oldest first
pub const SERVICE_LOG: &str = "/v1/services/{name}/log";
/// GET [`crate::ServicePlanQuery`] → [`crate::ServicePlan`]
pub const SERVICE_PLAN: &str = "/v1/services/{name}/plan";
/// POST [`crate::ServiceReverse`] → [`crate::ServiceReversed`]
pub const SERVICE_REVERSE: &str = "/v1/services/{name}/reverse";
/// GET list of [`crate::Replica`]
pub const REPLICAS: &str = "/v1/replicas";
/// GET [`crate::ReplicaQuery`] → list of [`crate::ReplicaLoss`]
pub const REPLICA_LOSSES: &str = "/v1/replicas/losses";
/// POST [`crate::ReplicaPromote`] → [`crate::ReplicaPromoted`]
pub const REPLICA_PROMOTE: &str = "/v1/replicas/promote";
/// POST [`crate::ReplicaTest`] → [`crate::ReplicaTested`]
pub const REPLICA_TEST: &str = "/v1/replicas/test";
/// GET list of [`crate::SleepingPolicy`]
pub const SERVICE_POLICIES: &str = "/v1/service-policies";
/// POST [`crate::PolicyWake`]
pub const SERVICE_POLICY_WAKE: &str = "/v1/service-policies/wake";
/// GET [`crate::ServiceClock`]
pub const SERVICE_CLOCK: &str = "/v1/service-clock";
/// POST: the clock of the machine is right. Answered with [`crate::ServiceClock`]
pub const SERVICE_CLOCK_AGREE: &str = "/v1/service-clock/agree";
/// GET list · POST [`crate::MountRequest`]
pub const MOUNTS: &str = "/v1/mounts";
/// POST [`crate::UnmountRequest`]
pub const UNMOUNTS: &str = "/v1/unmounts";
/// GET list · POST [`crate::ShareRequest`]
pub const SHARES: &str = "/v1/shares";
/// POST [`crate::ShareRequest`]
pub const UNSHARES: &str = "/v1/unshares";
/// GET every [`crate::IscsiSession`]
pub const ISCSI_SESSIONS: &str = "/v1/iscsi/sessions";
/// GET every [`crate::Tunable`] · POST [`crate::TunableSet`]
pub const TUNABLES: &str = "/v1/tunables";
/// GET [`crate::PropertyTables`]
pub const PROPERTIES: &str = "/v1/properties";
/// GET those that run and the last that ended
pub const JOBS: &str = "/v1/jobs";
/// GET [`crate::JobQuery`]
pub const JOB: &str = "/v1/jobs/{id}";
/// GET [`crate::JobLog`]
pub const JOB_LOG: &str = "/v1/jobs/{id}/log";
/// POST: it is to end at its next step. Answered with the [`crate::Job`]
pub const JOB_CANCEL: &str = "/v1/jobs/{id}/cancel";

/// GET [`crate::AlertsQuery`] → [`crate::Alert`]s, the newest first
pub const ALERTS: &str = "/v1/alerts";
/// GET [`crate::Alert`]
pub const ALERT: &str = "/v1/alerts/{id}";
/// POST [`crate::AlertAcknowledge`] → [`crate::Alert`]
pub const ALERT_ACKNOWLEDGE: &str = "/v1/alerts/{id}/acknowledge";
/// POST → [`crate::Alert`]: it is over, until it is found again
pub const ALERT_CLEAR: &str = "/v1/alerts/{id}/clear";
/// GET [`crate::AlertReport`] · POST → [`crate::AlertReportSent`]
pub const ALERT_REPORT: &str = "/v1/alert-report";
/// GET every [`crate::AlertCheck`]
pub const ALERT_CHECKS: &str = "/v1/alert-checks";
/// GET [`crate::AlertSettings`] · POST, answered with the same
pub const ALERT_SETTINGS: &str = "/v1/alert-settings";
/// GET every [`crate::RouteStatus`] · POST [`crate::RouteAdd`] → [`crate::AlertRoute`]
pub const ALERT_ROUTES: &str = "/v1/alert-routes";
/// GET [`crate::AlertRoute`]
pub const ALERT_ROUTE: &str = "/v1/alert-routes/{name}";
/// POST [`crate::RouteChange`] → [`crate::AlertRoute`]
pub const ALERT_ROUTE_CHANGE: &str = "/v1/alert-routes/{name}/change";
/// POST: with all that waits
pub const ALERT_ROUTE_REMOVE: &str = "/v1/alert-routes/{name}/remove";
/// POST → [`crate::RouteTested`]
pub const ALERT_ROUTE_TEST: &str = "/v1/alert-routes/{name}/test";

/// GET every [`crate::Peer`] · POST [`crate::PeerAdd`] → [`crate::Peer`]
pub const PEERS: &str = "/v1/peers";
/// GET [`crate::Peer`]
pub const PEER: &str = "/v1/peers/{name}";
/// POST [`crate::PeerChange`] → [`crate::Peer`]
pub const PEER_CHANGE: &str = "/v1/peers/{name}/change";
/// POST: what it has here stays
pub const PEER_REMOVE: &str = "/v1/peers/{name}/remove";
/// POST → [`crate::PeerChecked`]
pub const PEER_CHECK: &str = "/v1/peers/{name}/check";
/// GET list of [`crate::PeerRelation`]
pub const PEER_RELATIONS: &str = "/v1/peers/{name}/relations";
/// GET [`crate::PeerIdentity`]
pub const PEER_IDENTITY: &str = "/v1/peer-identity";
/// POST [`crate::PeerInvite`] → [`crate::PeerInvited`]
pub const PEER_INVITATION: &str = "/v1/peer-invitation";
/// POST [`crate::PeerJoin`] → [`crate::Peer`]
pub const PEER_JOIN: &str = "/v1/peer-join";

/// POST [`crate::FirstAdministrator`] → [`crate::User`]: for who is not logged in
pub const FIRST_ADMINISTRATOR: &str = "/v1/first-administrator";
/// POST [`crate::LogIn`] → [`crate::LoggedIn`] and a cookie: for who is not logged in
pub const LOGIN: &str = "/v1/login";
/// POST: the session ends
pub const LOGOUT: &str = "/v1/logout";
/// GET [`crate::Me`]
pub const ME: &str = "/v1/me";
/// GET every [`crate::User`] · POST [`crate::UserAdd`] → [`crate::User`]
pub const USERS: &str = "/v1/users";
/// GET [`crate::User`]
pub const USER: &str = "/v1/users/{name}";
/// POST [`crate::UserChange`] → [`crate::User`]
pub const USER_CHANGE: &str = "/v1/users/{name}/change";
/// POST: with all sessions and tokens
pub const USER_REMOVE: &str = "/v1/users/{name}/remove";
/// POST [`crate::TotpBegin`] → [`crate::TotpOffer`]
pub const USER_TOTP: &str = "/v1/users/{name}/totp";
/// POST [`crate::TotpConfirm`] → [`crate::RecoveryCodes`]
pub const USER_TOTP_CONFIRM: &str = "/v1/users/{name}/totp/confirm";
/// GET every [`crate::SecurityKey`] · POST [`crate::KeyBegin`] → [`crate::CreationOptions`]
pub const USER_KEYS: &str = "/v1/users/{name}/keys";
/// POST [`crate::KeyConfirm`] → [`crate::KeyMade`]
pub const USER_KEYS_CONFIRM: &str = "/v1/users/{name}/keys/confirm";
/// POST [`crate::KeyRemove`]
pub const USER_KEYS_REMOVE: &str = "/v1/users/{name}/keys/remove";
/// GET every [`crate::UserSession`] that lasts
pub const SESSIONS: &str = "/v1/sessions";
/// POST
pub const SESSION_END: &str = "/v1/sessions/{id}/end";
/// GET every [`crate::Token`] · POST [`crate::TokenAdd`] → [`crate::TokenMade`]
pub const TOKENS: &str = "/v1/tokens";
/// POST
pub const TOKEN_REMOVE: &str = "/v1/tokens/{id}/remove";
/// GET [`crate::AuditQuery`] → [`crate::AuditRecord`]s
pub const AUDIT: &str = "/v1/audit";
/// GET [`crate::CertificateInfo`] · POST [`crate::CertificateSet`], answered with the same
pub const CERTIFICATE: &str = "/v1/certificate";
/// GET [`crate::AcmeStatus`] · POST [`crate::AcmeSet`], answered with the same
pub const CERTIFICATE_ACME: &str = "/v1/certificate/acme";
/// POST: certificates come by ACME no more. Answered with [`crate::AcmeStatus`]
pub const CERTIFICATE_ACME_OFF: &str = "/v1/certificate/acme/off";
/// POST → [`crate::MachineBackup`]: users, tokens and the audit log
pub const MACHINE_BACKUP: &str = "/v1/machine/backup";
/// GET [`crate::Keeping`] · POST [`crate::KeepIn`], answered with the same
pub const MACHINE_KEEPING: &str = "/v1/machine/keeping";
/// GET [`crate::StateVersionsQuery`] → every [`crate::StateVersion`], the newest first
pub const MACHINE_VERSIONS: &str = "/v1/machine/versions";
/// POST [`crate::StateRestore`] → [`crate::StateRestored`]
pub const MACHINE_RESTORE: &str = "/v1/machine/restore";
/// POST: the next start of the daemon restores nothing. Answered with [`crate::Keeping`]
pub const MACHINE_RESTORE_CANCEL: &str = "/v1/machine/restore/cancel";

/// Whether requests of this path, and their answers, are streams without end.
pub fn is_stream(path: &str) -> bool {
    [SEND, RECEIVE].contains(&path) || gives_contents(path)
}

/// Whether a GET of this path gives out what users have stored: each is noted in the audit log.
pub fn gives_contents(path: &str) -> bool {
    is_at(DATASET_FILE, path)
}

/// Whether a POST of this path is keys that are typed into a shell, or the size of its window. What
/// a shell does for them it asks for by requests of its own.
pub fn is_typing(path: &str) -> bool {
    is_at(SHELL_INPUT, path) || is_at(SHELL_SIZE, path)
}

/// Whether a path is that of a route with one parameter.
fn is_at(route: &str, path: &str) -> bool {
    let (Some(open), Some(close)) = (route.find('{'), route.find('}')) else { return route == path };
    let name = path.strip_prefix(&route[..open]).and_then(|rest| rest.strip_suffix(&route[close + 1..]));
    name.is_some_and(|name| !name.contains('/'))
}

/// Whether requests of this path, a POST for what they carry, change nothing and give nothing away.
pub fn is_question(path: &str) -> bool {
    [IMPORTABLE, DATASET_PLAN].contains(&path)
}

/// `route` with its parameter filled in.
pub fn at(route: &str, parameter: &str) -> String {
    let (Some(open), Some(close)) = (route.find('{'), route.find('}')) else {
        return route.to_owned();
    };
    format!("{}{}{}", &route[..open], segment(parameter), &route[close + 1..])
}

/// Percent-encodes everything but RFC 3986's unreserved characters.
pub fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests;
