//! Why something was not done, and what went wrong beside what was: data, never sentences. What
//! they are called is decided where they are shown.

use api_types::{
    ClaimFault, NotNow, PeerFault, PolicyFault, Problem, RsyncEnd, ScriptEnd, ServiceFault, SyncRefusal,
    TierRefusal,
};
use engine_api::Error;
use engine_api::refusal::FileFault;
pub use services::failover::NotReplicated;

pub type Result<T> = std::result::Result<T, Failure>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The engine refused, or failed.
    Engine(Error),
    /// No pool of that name is here.
    NoSuchPool { pool: String },
    /// No dataset of that name is of the kind that is asked for.
    NoSuchDataset { dataset: String },
    /// Its properties keep a file system from being mounted or shared.
    NotMountable { dataset: String, verb: Verb, why: NotMountable },
    /// mount(8) is to mount what has a mount point of its own.
    NotLegacy { dataset: String, mountpoint: String },
    /// mount(8) is to mount at a path that is not absolute.
    RelativeMountpoint { dataset: String, mountpoint: String },
    /// A stream for it was received in part.
    PartlyReceived { dataset: String },
    /// `Busy`: it is mounted already. `NotEmpty`: so is not the directory.
    Mount { dataset: String, mountpoint: String, why: Error },
    /// A mount did not get other options.
    Remount { dataset: String, mountpoint: String, why: Error },
    /// The job that was to mount it, and others after it, was cancelled.
    MountCancelled { dataset: String },
    /// What is to be mounted anew is not mounted.
    NothingToRemount { dataset: String },
    /// `what` is a file system, or where it is mounted. `Busy`: it is in use.
    Unmount { what: String, why: Error },
    /// What is to be unmounted, where none of our file systems is mounted.
    NotAMountpoint { path: String },
    /// A file system that is to be unmounted.
    NotCurrentlyMounted { dataset: String },
    /// A file system is not offered, or not withdrawn.
    Share { dataset: String, verb: Verb, why: Error },
    /// Its properties do not say that it is shared.
    LegacyShare { dataset: String, verb: Verb },
    /// A file system that is to be offered.
    AlreadyShared { dataset: String },
    /// A file system that is to be withdrawn.
    NotCurrentlyShared { dataset: String },
    /// Where the root of a new pool would be mounted. `NotEmpty`: there are entries.
    MountpointInUse { at: String, why: Error },
    /// A pool that waits for its devices is let go of by force only.
    Suspended { pool: String, how: Release },
    /// A pool that is to be destroyed has mounts that cannot be unmounted.
    MountsOfPool { pool: String, why: Box<Failure> },
    /// A rollback would destroy what is younger, and was not told to.
    YoungerExist { snapshot: String, younger: Vec<String> },
    /// A rollback would destroy clones of what is younger, and was not told to.
    ClonesExist { snapshot: String, clones: Vec<String> },
    /// No snapshots are named.
    NoSnapshots,
    /// Snapshots of several pools are named.
    SeveralPools,
    /// A corrective receive mounts nothing, and takes no option about mounts.
    HealsAlone,
    /// A job that was to be cancelled cannot be where it is.
    NotCancellable { job: u64 },
    /// A job that was to be cancelled has ended.
    JobEnded { job: u64 },
    /// It is about a service.
    Service(NotServed),
    /// It is about a replica.
    Replica(NotReplicated),
    /// A file, as `dataset:path`, is not looked at.
    File { name: String, why: FileFault },
    /// A file of a snapshot, as `dataset:path`, is not copied back.
    Restore { name: String, why: NotRestored },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Engine(error)
    }
}

/// Why a file is not copied back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRestored {
    /// It is none, or cannot be where it is to be.
    File(FileFault),
    /// A file system refused it.
    Engine(Error),
    /// The job was cancelled.
    Cancelled,
}

/// Why a service was not made, set, asked or run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotServed {
    /// No service has this id.
    Unknown {
        id: String,
    },
    /// A service that is to be made is there.
    Exists {
        id: String,
    },
    /// That is no id of a service.
    BadId {
        id: String,
    },
    /// A service that is to be set is of another kind, and stays so.
    OtherKind {
        id: String,
    },
    /// What a service is to do cannot be done.
    Fault(ServiceFault),
    /// A service is in no state for that.
    NotNow(NotNow),
    /// The dataset that keeps what a service is set to do is not here, or was not looked at yet.
    Away {
        id: String,
    },
    /// What a dataset keeps of services cannot be changed, for it makes no sense.
    Policy {
        dataset: String,
        fault: PolicyFault,
    },
    /// No stream brought such a service to this dataset.
    NotAsleep {
        dataset: String,
        id: String,
    },
    TooMany,
    /// There is nothing to keep services in.
    NoShelf,
    /// What was asked of a service could not be kept; says why, for people.
    NotKept {
        why: String,
    },
    /// A service was disabled, and what it was at has not ended yet.
    StillRuns {
        id: String,
    },
    /// A pool does not answer a service.
    Slow {
        pool: String,
    },
    /// A service's program did not end well.
    Script {
        program: String,
        end: ScriptEnd,
    },
    /// A replica that a person has to look at.
    Sync {
        dataset: String,
        why: SyncRefusal,
    },
    /// A peer cannot be asked.
    Peer {
        peer: String,
        why: PeerFault,
    },
    /// A peer has refused it, as it says itself.
    Told {
        peer: String,
        problem: Box<Problem>,
    },
    /// It is not a peer's to do.
    Claim(ClaimFault),
    /// Another host was not reached, or did not do what it was to do.
    Remote {
        host: String,
        why: RemoteFault,
    },
    /// Files are not copied or moved until a person has changed something.
    Tier {
        why: TierRefusal,
    },
    /// rsync did not end well; the last of what it said, for people.
    Rsync {
        end: RsyncEnd,
        said: String,
    },
    /// What was copied to a folder may not be durable; says why, for people.
    NotWrittenOut {
        path: String,
        message: String,
    },
    /// So many files have the same size and time at the target, and hold something else there.
    OtherContent {
        files: u64,
    },
    /// So many files and folders have too long a path, or attributes that cannot be read.
    LeftOut {
        files: u64,
    },
    /// The replica that is to be the parent of another one is not whole yet.
    ParentFirst {
        parent: String,
    },
    /// No byte moved for so long.
    Stuck {
        seconds: u64,
    },
    /// The service was disabled or set anew, or the program ends.
    Stopped,
    /// There was still something to do after so many rounds.
    Restless {
        rounds: u32,
    },
    /// A fault of ours.
    Defect,
}

impl From<NotServed> for Failure {
    fn from(why: NotServed) -> Failure {
        Failure::Service(why)
    }
}

/// Why another host was not reached by SSH, or did not do something. `said`: the end of what a
/// program wrote, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteFault {
    /// `ssh` cannot be run on this machine, or has no key and gets none.
    NoProgram { why: String },
    /// There is no connection, or no more.
    Unreachable { said: String },
    /// The host's key is another than the one that is known, or is not known. `known`: the file
    /// that has those that are.
    HostKey { known: String, said: String },
    /// It does not let this user in, who has this public key.
    Login { user: Option<String>, key: String },
    /// It has not answered for so long.
    Silent { seconds: u64 },
    /// It has no command `zfs`.
    NoCommand { said: String },
    /// It has no pool of this name.
    NoSuchPool { pool: String },
    /// The user may not do that there.
    Denied { said: String },
    /// `zfs` did not do it.
    Refused { said: String },
    /// Something else is there by now under the name of a snapshot.
    Another { snapshot: String },
    /// What it prints is not what `zfs` prints, or too much.
    Unintelligible { line: String },
}

impl From<NotReplicated> for Failure {
    fn from(why: NotReplicated) -> Failure {
        Failure::Replica(why)
    }
}

/// What is to be done with a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Mount,
    Share,
    Unshare,
}

/// The property that keeps a file system from being mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotMountable {
    LegacyMountpoint,
    NoMountpoint,
    CanmountOff,
}

/// How a pool leaves this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    Export,
    Destroy,
}

/// Failures beside what was done.
pub(crate) fn warnings(failures: Vec<Failure>) -> Vec<Warning> {
    failures.into_iter().map(Warning::Failed).collect()
}

/// What went wrong beside what was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A file system that was to be mounted, or to be mounted again, is not.
    Failed(Failure),
    /// A file system was made for somebody who may not mount it.
    MountedByRootAlone,
    /// A mount may show for a minute what its file system held before.
    StaleMount { dataset: String },
    /// What the engine says of a stream that it received, in OpenZFS's words.
    Received(String),
}
