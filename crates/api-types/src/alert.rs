//! Alerts: what is wrong and a person should know, from the moment when it was found until it is
//! over; and what checks find that out.
//!
//! Times are in seconds since 1970. Sentences about an alert are made by the daemon; what it is, is
//! data.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::known::Known;
use crate::{Health, PaneMeasure, SuspendCause, Weekday};

/// How bad it is, by what it does to data and to those who use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It becomes a trouble if nobody does anything.
    #[default]
    Warning,
    /// Something has failed, and data is still served.
    Error,
    /// Data is lost or not served, or is with the next failure.
    Critical,
}

impl Severity {
    pub const ALL: [Severity; 3] = [Severity::Warning, Severity::Error, Severity::Critical];

    /// As it is written, typed and kept.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Critical => "critical",
        }
    }

    /// `None`: there is none of that name.
    pub fn of_word(word: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|severity| severity.word() == word)
    }
}

/// A disk of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolDisk {
    pub pool: String,
    pub guid: u64,
    /// Its path, or what `zpool status` calls it.
    pub name: String,
}

/// What a disk says of itself (SMART) that makes a failure likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SmartSign {
    /// Its own verdict is that it fails.
    Verdict,
    /// Sectors that were replaced by spare ones.
    Reallocated(u64),
    /// Sectors that cannot be read, and wait to be replaced.
    Pending(u64),
    /// Sectors that could not be read when the disk tested itself.
    Uncorrectable(u64),
    /// Errors of media and data integrity that NVMe counts.
    MediaErrors(u64),
    /// Percent of the endurance that is used up.
    Worn(u64),
    /// Percent of spare blocks that are left, which is below what the disk wants.
    SpareLow(u64),
    /// Its last test of itself failed.
    SelfTest,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlertKind {
    /// A pool that was imported when the program last ran is not there.
    PoolAbsent {
        pool: String,
    },
    PoolSuspended {
        pool: String,
        cause: Option<SuspendCause>,
    },
    /// Its vdevs lack something.
    PoolUnhealthy {
        pool: String,
        health: Health,
    },
    /// Files or objects that are damaged for good.
    DataErrors {
        pool: String,
        errors: u64,
    },
    /// Percent of its space are in use.
    PoolFull {
        pool: String,
        percent: u8,
    },
    /// Percent, as property `fragmentation` has it.
    PoolFragmented {
        pool: String,
        percent: u8,
    },
    /// Of a dataset, without those below it.
    TooManySnapshots {
        dataset: String,
        snapshots: u64,
        limit: u64,
    },
    /// What volumes promise beyond what they have and what is reserved for them, and the room that
    /// there is for it: bytes.
    OverCommitted {
        pool: String,
        promised: u64,
        room: u64,
    },
    DiskUnhealthy {
        disk: PoolDisk,
        health: Health,
    },
    /// Errors since they were last cleared.
    DiskErrors {
        disk: PoolDisk,
        read: u64,
        write: u64,
        checksum: u64,
    },
    /// It takes much longer than the others of its vdev: microseconds of an I/O on average.
    DiskSlow {
        disk: PoolDisk,
        micros: u64,
        others: u64,
    },
    /// By SMART.
    DiskFailing {
        device: String,
        model: String,
        serial: String,
        signs: Vec<SmartSign>,
    },
    /// By SMART: degrees Celsius.
    DiskHot {
        device: String,
        celsius: u64,
    },
    /// Bytes that programs can have, and all.
    MemoryLow {
        available: u64,
        total: u64,
    },
    /// That of HTTPS.
    CertificateEnds {
        fingerprint: String,
        not_after: i64,
    },
    /// An interface that is up has no carrier.
    LinkDown {
        interface: String,
    },
    UpsOnBattery {
        ups: String,
        charge: Option<u64>,
        seconds: Option<u64>,
    },
    /// Its battery is nearly empty: the daemon stops.
    UpsLow {
        ups: String,
    },
    /// The newest snapshot of a dataset is older than its property `org.cistern:freshness` allows,
    /// or a service that looks after it, in seconds. `newest` is when it was taken; `None`: there
    /// is none.
    Stale {
        dataset: String,
        newest: Option<i64>,
        limit: u64,
        /// `None`: the property says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<String>,
    },
    /// Seconds by which the wall clock was set, or jumped.
    ClockJumped {
        seconds: i64,
    },
    /// A replica is further behind its source than its service allows, in seconds. `current`: all
    /// that the source had then is there; `None`: nothing is.
    ReplicaLags {
        service: String,
        dataset: String,
        current: Option<i64>,
        limit: u64,
    },
    /// Another appliance does not answer, or not as a peer.
    PeerFails {
        peer: String,
        why: String,
    },
    /// Seconds by which the clock of a peer is ahead of the one here.
    PeerClock {
        peer: String,
        ahead: i64,
    },
    /// Of one of the services that look after data.
    ServiceFailed {
        service: String,
        why: String,
    },
    /// A pane of a worksheet is above what its alert allows: in what the measure says, and of what
    /// alone, if not of the whole pane.
    PaneAbove {
        worksheet: String,
        /// The first is 1.
        pane: u64,
        measure: PaneMeasure,
        value: u64,
        above: u64,
        seconds: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        values: Option<Vec<String>>,
    },
    /// A check has not ended for so many seconds.
    CheckSilent {
        check: AlertCheckName,
        seconds: u64,
    },
    /// A check could not look.
    CheckFailed {
        check: AlertCheckName,
        why: String,
    },
    /// Messages of a route do not arrive.
    RouteFailing {
        route: String,
        tries: u64,
        why: String,
    },
    /// So many were found that not each is an alert of its own.
    TooManyAlerts {
        left_out: u64,
    },
}

/// Who finds alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlertCheckName {
    /// Health, space and errors of pools and their disks.
    Pools,
    /// How quick disks are, one beside the other.
    Speed,
    /// How many snapshots there are, how old the newest are, and what volumes promise.
    Datasets,
    /// What disks say of themselves.
    Smart,
    Memory,
    Network,
    Certificate,
    Ups,
    Clock,
    /// Whether messages arrive.
    Delivery,
    /// What services report by themselves.
    Services,
    /// Whether other appliances answer, and what their clocks say.
    Peers,
    /// What drill-downs of worksheets find that have alerts.
    Analytics,
    /// Of the checks themselves.
    Checks,
}

impl AlertCheckName {
    pub fn word(self) -> &'static str {
        match self {
            AlertCheckName::Pools => "pools",
            AlertCheckName::Speed => "speed",
            AlertCheckName::Datasets => "datasets",
            AlertCheckName::Smart => "smart",
            AlertCheckName::Memory => "memory",
            AlertCheckName::Network => "network",
            AlertCheckName::Certificate => "certificate",
            AlertCheckName::Ups => "ups",
            AlertCheckName::Clock => "clock",
            AlertCheckName::Delivery => "delivery",
            AlertCheckName::Services => "services",
            AlertCheckName::Peers => "peers",
            AlertCheckName::Analytics => "analytics",
            AlertCheckName::Checks => "checks",
        }
    }
}

/// Why an alert is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClearCause {
    /// It is not found any more. Why is not known.
    NotFound,
    /// The number that was too high or too low is good again.
    WithinLimits,
    /// The disk is online again. Whether it was repaired is not known: an import makes disks
    /// online, too.
    OnlineAgain,
    /// The counters of errors are at zero: they were cleared, or the pool was imported anew.
    CountersReset,
    /// The disk is no part of the pool any more.
    LeftPool,
    /// The pool is not imported any more.
    PoolGone,
    /// The dataset is not there any more, or is not asked to be fresh.
    DatasetGone,
    /// The check is off.
    SwitchedOff,
    /// It was about a moment, and some time has passed.
    Expired,
    /// Who reported it says so.
    Reported,
    /// Somebody has cleared it.
    ByHand { by: String },
}

/// That somebody knows, and looks after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acknowledged {
    pub by: String,
    pub at: i64,
}

/// That it is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cleared {
    pub at: i64,
    /// `None`: one that only a newer program knows.
    #[serde(deserialize_with = "known")]
    pub cause: Option<ClearCause>,
    /// In words.
    pub why: String,
}

/// `GET /v1/alerts/{id}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alert {
    /// Never given twice.
    pub id: u64,
    /// The worst that it has been.
    pub severity: Severity,
    /// `None`: of a kind that only a newer program knows.
    #[serde(deserialize_with = "known")]
    pub what: Option<AlertKind>,
    /// What it is about: a pool, a disk, a dataset, …
    pub subject: String,
    pub title: String,
    pub text: String,
    /// What to do.
    pub advice: String,
    /// When it was found first and last.
    pub since: i64,
    pub last_seen: i64,
    /// How often it was found.
    pub count: u64,
    /// It comes and goes: it stays open until it has been away for half an hour.
    pub flapping: bool,
    pub acknowledged: Option<Acknowledged>,
    pub cleared: Option<Cleared>,
}

fn known<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Known<T>>::deserialize(from)?.and_then(Known::value))
}

/// Query of `GET /v1/alerts`: the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AlertsQuery {
    /// Those that are over, too.
    pub all: bool,
    /// This bad or worse.
    pub severity: Severity,
    /// Entries of a page, up to 1,000.
    pub limit: Option<u32>,
    /// Where the page before has ended.
    pub after: String,
}

/// `POST /v1/alerts/{id}/acknowledge`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AlertAcknowledge {
    /// Nobody looks after it any more.
    pub undo: bool,
}

/// How a check is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// It has not looked yet.
    Waiting,
    Good,
    /// It could not look.
    Failed,
    /// It does not end.
    Silent,
    /// It has nothing to look at, or is switched off.
    Off,
}

/// `GET /v1/alert-checks`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlertCheck {
    pub name: AlertCheckName,
    pub state: CheckState,
    /// Why it is off, failed or silent.
    pub why: Option<String>,
    /// When it has ended last.
    pub last: Option<i64>,
    /// Milliseconds that it took.
    pub took_ms: u64,
}

/// `GET /v1/alert-settings` · `POST`: from where on something is an alert. Percent, unless said
/// otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AlertSettings {
    /// Of a pool's space in use: a warning, an error, critical.
    #[schemars(range(min = 1, max = 100))]
    pub full_warning: u8,
    #[schemars(range(min = 1, max = 100))]
    pub full_error: u8,
    #[schemars(range(min = 1, max = 100))]
    pub full_critical: u8,
    #[schemars(range(min = 1, max = 100))]
    pub fragmented: u8,
    /// Snapshots of one dataset.
    #[schemars(range(min = 1))]
    pub snapshots: u64,
    /// Of the room that there is: what volumes may promise.
    #[schemars(range(min = 1, max = 100_000))]
    pub over_commit: u32,
    /// Of memory: what has to be available.
    #[schemars(range(min = 0, max = 100))]
    pub memory: u8,
    /// Days before a certificate ends.
    #[schemars(range(min = 0, max = 3_650))]
    pub certificate_days: u32,
    /// How much slower than the others of its vdev a disk may be: 400 is four times.
    #[schemars(range(min = 110, max = 100_000))]
    pub slow_disk: u32,
    /// Degrees Celsius.
    #[schemars(range(min = 20, max = 120))]
    pub hot_disk: u64,
    /// Disks are asked by smartctl.
    pub smart: bool,
    /// The UPS by Network UPS Tools, as `NAME@HOST` or `NAME@HOST:PORT`; `None`: there is none.
    pub ups: Option<String>,
    /// When its battery is nearly empty, the daemon exports its pools and ends.
    pub ups_stops: bool,
    /// A report is told each week, on this day at this hour of the machine's time zone.
    pub report: bool,
    pub report_day: Weekday,
    #[schemars(range(min = 0, max = 23))]
    pub report_hour: u8,
}

impl Default for AlertSettings {
    fn default() -> AlertSettings {
        AlertSettings {
            full_warning: 80,
            full_error: 90,
            full_critical: 96,
            fragmented: 70,
            snapshots: 2_000,
            over_commit: 200,
            memory: 3,
            certificate_days: 14,
            slow_disk: 400,
            hot_disk: 60,
            smart: true,
            ups: None,
            ups_stops: true,
            report: true,
            report_day: Weekday::Monday,
            report_hour: 7,
        }
    }
}

/// What has become of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlertTurn {
    Raised,
    /// Its severity is higher.
    Worsened,
    Cleared,
}

impl AlertTurn {
    pub const ALL: [AlertTurn; 3] = [AlertTurn::Raised, AlertTurn::Worsened, AlertTurn::Cleared];

    pub fn word(self) -> &'static str {
        match self {
            AlertTurn::Raised => "raised",
            AlertTurn::Worsened => "worsened",
            AlertTurn::Cleared => "cleared",
        }
    }

    /// `None`: there is none of that name.
    pub fn of_word(word: &str) -> Option<AlertTurn> {
        AlertTurn::ALL.into_iter().find(|turn| turn.word() == word)
    }
}

/// In the stream of events: what has become of an alert. `GET /v1/alerts/{id}` has the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlertEvent {
    pub id: u64,
    pub turn: AlertTurn,
    pub severity: Severity,
    pub subject: String,
    pub title: String,
}

/// `GET /v1/alert-report`: the report of the last week, as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlertReport {
    /// The time that it is about: seconds since 1970.
    pub from: i64,
    pub to: i64,
    /// One line.
    pub title: String,
    /// What there is to know, a sentence each.
    pub summary: Vec<String>,
    /// All of it as text.
    pub text: String,
    /// All of it as a page of HTML, with its pictures within.
    pub html: String,
}

/// `POST /v1/alert-report`: the report is sent now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlertReportSent {
    /// The routes that it goes by. What does not arrive is tried again.
    pub routes: Vec<String>,
}
