//! Sentences about names, files, properties, vdevs, scans, imports and jobs.

use std::fmt::{self, Display, Formatter};

use crate::file::FileFault;
use crate::import::{ImportFault, Member};
use crate::job::JobFault;
use crate::lock::LockFault;
use crate::name::NameFault;
use crate::property::PropertyFault;
use crate::scan::{ScanFault, SweepFault};
use crate::state::StateFault;
use crate::vdev::{Use, VdevFault};

impl Display for NameFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let point = |delimiter: char| if delimiter == '@' { "snapshot" } else { "bookmark" };
        f.write_str(match self {
            NameFault::TooDeep => "maximum name nesting depth exceeded",
            NameFault::TooLong | NameFault::PoolTooLong => "name is too long",
            NameFault::LeadingSlash => "leading slash in name",
            NameFault::TrailingSlash => "trailing slash in name",
            NameFault::EmptyComponent => "empty component or misplaced '@' or '#' delimiter in name",
            NameFault::SeveralDelimiters => "multiple '@' and/or '#' delimiters in name",
            NameFault::SelfReference => "self reference, '.' is found in name",
            NameFault::ParentReference => "parent reference, '..' is found in name",
            NameFault::Unexpected(sign) => {
                return write!(f, "{} delimiter '{sign}' is not expected here", point(*sign));
            }
            NameFault::Missing(sign) => {
                return write!(f, "missing '{sign}' delimiter in {} name", point(*sign));
            }
            NameFault::Percent => "invalid character % in name",
            NameFault::Character(bad) => return write!(f, "invalid character '{bad}' in name"),
            NameFault::PoolMissing => "missing pool name",
            NameFault::PoolBegin => "name must begin with a letter",
            NameFault::PoolCharacter(bad) => return write!(f, "invalid character '{bad}' in pool name"),
            NameFault::PoolReserved => "name is reserved\npool name may have been omitted",
        })
    }
}

impl Display for FileFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FileFault::Name => {
                f.write_str("a name in the path is empty, '.', '..', too long, or has a slash or a NUL")
            }
            FileFault::Missing { at } => write!(f, "there is no '{at}'"),
            FileFault::Link { at } => write!(f, "'{at}' is a symbolic link, and none is followed"),
            FileFault::NotDirectory { at } => write!(f, "'{at}' is not a directory"),
            FileFault::NotFile { at } => write!(f, "'{at}' is not a regular file"),
            FileFault::Exists { at } => write!(f, "there is a file '{at}' already"),
            FileFault::NotSnapshot => f.write_str("it is not in a snapshot"),
        }
    }
}

impl Display for PropertyFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PropertyFault::Unknown { property } => write!(f, "invalid property '{property}'"),
            PropertyFault::Twice { property } => write!(f, "property '{property}' specified multiple times"),
            PropertyFault::NotOfThisType { property } => {
                write!(f, "'{property}' does not apply to datasets of this type")
            }
            PropertyFault::ReadOnly { property } => write!(f, "'{property}' is readonly"),
            PropertyFault::Counted { property } => {
                write!(f, "'{property}' is kept by the file system itself")
            }
            PropertyFault::NameTooLong { property } => write!(f, "property name '{property}' is too long"),
            PropertyFault::ValueTooLong => f.write_str("property value too long"),
            PropertyFault::TextTooLong { property } => write!(f, "'{property}' is too long"),
            PropertyFault::NotOneOf { property, values } => {
                write!(f, "'{property}' must be one of '{values}'")
            }
            PropertyFault::Number { message } | PropertyFault::Value { message } => f.write_str(message),
            PropertyFault::TooOld => {
                f.write_str("pool and or dataset must be upgraded to set this property or value")
            }
            PropertyFault::NotOfSnapshots => f.write_str("this property can not be modified for snapshots"),
            PropertyFault::Utf8Needed => f.write_str("'utf8only' must be set 'on' if normalization chosen"),
            PropertyFault::UseNone => f.write_str("use 'none' to disable quota/refquota"),
            PropertyFault::AutoOfVolumesOnly { property } => {
                write!(f, "'{property}=auto' only allowed on volumes")
            }
            PropertyFault::NoAuto { property } => write!(f, "'auto' is invalid value for '{property}'"),
            PropertyFault::NoPowerOfTwo { property, most } => {
                write!(f, "'{property}' must be power of 2 from 512B to {most}")
            }
            PropertyFault::SmallBlocks { property, value } => write!(
                f,
                "invalid '{property}={value}' property: must be zero or a power of 2 from 512B to 1M"
            ),
            PropertyFault::RelativeMountpoint => {
                f.write_str("'mountpoint' must be an absolute path, 'none', or 'legacy'")
            }
            PropertyFault::MountpointTooLong => f.write_str("component of 'mountpoint' is too long"),
            PropertyFault::NoSuchPrincipal { property } => {
                write!(f, "'{property}' has an invalid user/group name")
            }
            PropertyFault::VolumeSizeZero => f.write_str("'volsize' cannot be zero"),
            PropertyFault::VolumeSizeMissing => f.write_str("missing volume size"),
            PropertyFault::VolumeSizeTooLarge => f.write_str("volume size exceeds limit for this system"),
            PropertyFault::VolumeEmpty => f.write_str("volume size cannot be zero"),
            PropertyFault::VolumeSizeUneven { block } => {
                write!(f, "'volsize' must be a multiple of volume block size ({block})")
            }
            PropertyFault::Downgrade { now } => {
                write!(f, "Can not downgrade; already at version {now}")
            }
            PropertyFault::NotInherited { property, can_be_none: true } => {
                write!(f, "'{property}' property cannot be inherited\nuse 'zfs set {property}=none' to clear")
            }
            PropertyFault::NotInherited { property, can_be_none: false } => {
                write!(f, "'{property}' property cannot be inherited")
            }
            PropertyFault::InheritReadOnly { property } => write!(f, "{property} property is read-only"),
            PropertyFault::UnknownFeature { feature } => write!(f, "invalid feature '{feature}'"),
            PropertyFault::FeatureValue { feature, creating } => {
                let end = if *creating { "" } else { " at creation time, then to 'enabled'" };
                write!(f, "property 'feature@{feature}' can only be set to 'enabled' or 'disabled'{end}")
            }
            PropertyFault::FeatureWithVersion => {
                f.write_str("'feature@' and 'version' properties cannot be specified together")
            }
            PropertyFault::NoVersion { version } => {
                write!(f, "property 'version' number {version} is invalid.")
            }
            PropertyFault::AltrootLater => {
                f.write_str("property 'altroot' can only be set during pool creation or import")
            }
            PropertyFault::NoHostid => f.write_str("requires a non-zero system hostid"),
            PropertyFault::NoBootfs { name } => write!(f, "'{name}' is an invalid name"),
            PropertyFault::CommentTooLong => f.write_str("comment must not exceed 32 characters"),
            PropertyFault::CommentUnprintable => f.write_str("comment may only have printable characters"),
            PropertyFault::Ashift { value } => write!(
                f,
                "property 'ashift' number {value} is invalid, only values between 9 and 16 are allowed"
            ),
            PropertyFault::RelativeCachefile => {
                f.write_str("property 'cachefile' must be empty, an absolute path, or 'none'")
            }
            PropertyFault::CachefileName { value } => write!(f, "'{value}' is not a valid file"),
            PropertyFault::CachefileFolder { folder } => write!(f, "'{folder}' is not a valid directory"),
            PropertyFault::UnreadableSet { set } => write!(f, "could not read/parse feature file(s): {set}"),
            PropertyFault::UnknownInSet { set, word } => {
                write!(f, "invalid feature(s) in local compatibility files: {set} ({word})")
            }
        }
    }
}

impl Display for VdevFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VdevFault::LogOnRaidz => "unsupported 'log' device: raidz",
            VdevFault::Parity { parity } => return write!(f, "raidz with {parity} parities"),
            VdevFault::Nested { group } => return write!(f, "{group} of something else than devices"),
            VdevFault::TooFew { group, least } => {
                return write!(f, "{group} requires at least {least} devices");
            }
            VdevFault::TooMany { group, most } => {
                return write!(f, "{group} supports no more than {most} devices");
            }
            VdevFault::RaidzBesideRemoved => {
                "invalid config; a pool with removing/removed vdevs does not support adding raidz or dRAID \
                 vdevs"
            }
            VdevFault::Device { path, message } => return write!(f, "{path}: {message}"),
            VdevFault::OneTooSmall { least } => {
                return write!(f, "one or more devices is less than the minimum size ({least}M)");
            }
            VdevFault::TooSmallForPool { least } => {
                return write!(f, "device is less than the minimum size ({least}M)");
            }
            VdevFault::SameTwice => "one or more vdevs refer to the same device",
            VdevFault::SameTwiceOrTaken => {
                "one or more vdevs refer to the same device, or one of\n\
                 the devices is part of an active md or lvm device"
            }
            VdevFault::InUse { uses, can_force } => {
                f.write_str(match can_force {
                    true => "use '-f' to override the following errors:",
                    false => "the following errors must be manually repaired:",
                })?;
                return uses.iter().try_for_each(|one| write!(f, "\n{one}"));
            }
            VdevFault::IsSpare => "device is reserved as a hot spare",
            VdevFault::IsCache => "device is in use as a cache",
            VdevFault::CacheNotExpandable => "cannot expand cache devices",
            VdevFault::SpareBusy => "Pool busy; removal may already be in progress",
            VdevFault::NotMirror => "can only attach to mirrors and top-level disks",
            VdevFault::RaidzExpansion => {
                "raidz_expansion feature must be enabled in order to attach a device to raidz"
            }
            VdevFault::NeedsRebuildFeature => {
                "device_rebuild feature must be enabled in order to use sequential reconstruction"
            }
            VdevFault::NotRebuildable => "only mirror and dRAID vdevs support sequential reconstruction",
            VdevFault::OnlyBySpare => "can only be replaced by another hot spare",
            VdevFault::LogBySpare => "cannot replace a log with a spare",
            VdevFault::Replacing => "cannot replace a replacing device",
            VdevFault::InReplacement => {
                "already in replacing/spare config; wait for completion or use 'zpool detach'"
            }
            VdevFault::DeviceBusy { path } => return write!(f, "{path} is busy"),
            VdevFault::TooSmall => "device is too small",
            VdevFault::SectorSize => {
                "new device has a different optimal sector size; use the option '-o ashift=N' to override \
                 the optimal size"
            }
            VdevFault::NotDetachable => "only applicable to mirror and replacing vdevs",
            VdevFault::NoReplicas => "no valid replicas",
            VdevFault::DataNotRemovable => {
                "removing data vdevs is not supported by this version of Cistern yet"
            }
            VdevFault::Unavailable => "one or more devices is currently unavailable",
            VdevFault::LogsNotReplayed { datasets } => {
                return write!(
                    f,
                    "its intent logs have not been replayed yet; mount these datasets first: {}",
                    datasets.join(", ")
                );
            }
        })
    }
}

impl Display for Use {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Use::Spare { path, pool } => write!(f, "{path} is reserved as a hot spare for pool {pool}"),
            Use::Part { path, pool, state } => write!(f, "{path} is part of {state} pool '{pool}'"),
            Use::Content { path, kind } => write!(f, "{path} contains a filesystem of type '{kind}'"),
            Use::Mbr { path } => write!(
                f,
                "{path} does not contain an EFI label but it may contain partition\ninformation in the MBR."
            ),
            // OpenZFS keeps such a table and takes a partition; here the disk is used as it is.
            Use::Gpt { path } => write!(f, "{path} contains an EFI label with partitions."),
        }
    }
}

impl Display for ScanFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScanFault::Scrubbing => "currently scrubbing; use 'zpool scrub -s' to cancel scrub",
            ScanFault::Resilvering => "currently resilvering",
            ScanFault::Rebuilding => "currently sequentially resilvering",
            ScanFault::ErrorScrubbing => {
                "currently error scrubbing; use 'zpool scrub -s' to cancel error scrub"
            }
            ScanFault::ScrubPaused => "scrub is paused; use 'zpool scrub' to resume scrub",
            ScanFault::ScrubPausedFirst => {
                "scrub is paused; use 'zpool scrub' to resume or 'zpool scrub -s' to cancel scrub"
            }
            ScanFault::ErrorScrubPaused => {
                "error scrub is paused; use 'zpool scrub -e' to resume error scrub"
            }
            ScanFault::NoScrub => "there is no active scrub",
            ScanFault::NeedsResilverDefer => "this action requires the resilver_defer feature",
        })
    }
}

impl Display for SweepFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SweepFault::NoDevice => "no such device in pool",
            SweepFault::OutOfUse => "invalid device",
            SweepFault::NotSupported => "trim operations are not supported by this device",
            SweepFault::Trimming => "currently trimming",
            SweepFault::NoTrim => "there is no active trim",
            SweepFault::Initializing => "currently initializing",
            SweepFault::NoInitialization => "there is no active initialization",
        })
    }
}

const UNAVAILABLE: &str = "one or more devices is currently unavailable";

impl Display for ImportFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ImportFault::NotFound => "no such pool available",
            ImportFault::Several => "more than one matching pool\nimport by numeric ID instead",
            ImportFault::NameTaken => {
                "a pool with that name already exists\n\
                 use the form 'zpool import <pool | id> <newpool>' to give it a new name"
            }
            ImportFault::UnknownVersion => "pool is formatted using an unsupported ZFS version",
            ImportFault::Features { guids } => {
                f.write_str(
                    "unsupported version or feature\n\
                     This pool uses the following feature(s) not supported by this system:",
                )?;
                return guids.iter().try_for_each(|guid| write!(f, "\n\t{guid}"));
            }
            ImportFault::Foreign { host, hostid } => {
                return write!(
                    f,
                    "pool was previously in use from another system.\n\
                     Last accessed by {} (hostid={hostid:x})\n\
                     The pool can be imported, use 'zpool import -f' to import the pool.",
                    known(host)
                );
            }
            ImportFault::Multihost { host, hostid } => {
                return write!(
                    f,
                    "pool is imported on host '{}' (hostid={hostid:x}).\n\
                     Export the pool on the other system, then run 'zpool import'.",
                    known(host)
                );
            }
            ImportFault::MultihostClaim => "I/O errors occurred while writing the multihost claim.",
            ImportFault::MultihostNoHostid => {
                "pool has the multihost property on and the system's hostid is not set.\n\
                 Set a unique system hostid with the zgenhostid(8) command."
            }
            ImportFault::MultihostDamaged { hours } => {
                return write!(
                    f,
                    "its multihost settings are damaged: another host that uses it may be silent for {hours} \
                     hours."
                );
            }
            ImportFault::Cancelled => "the import was cancelled",
            // `strerror(EIO)`
            ImportFault::Damaged => "I/O error",
            ImportFault::Unavailable | ImportFault::MissingLogs { .. } => UNAVAILABLE,
            ImportFault::VdevKind { kind } => {
                return write!(f, "vdevs of type '{kind}' are not supported yet");
            }
            ImportFault::Configuration { message } | ImportFault::Failed { message } => message,
            ImportFault::CorruptCachefile => "invalid or corrupt cache file contents",
        })
    }
}

impl Display for LockFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            LockFault::Locked { until } => {
                write!(f, "it is locked until {until}, which can only be prolonged")
            }
            LockFault::HasLocked { snapshot, until } => write!(f, "'{snapshot}' is locked until {until}"),
            LockFault::Time => f.write_str("a lock ends within ten years from now, and has not ended yet"),
        }
    }
}

impl Display for JobFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JobFault::Interrupted => {
                "the program ended before this was done\n\
                 look with 'zpool status' and 'zfs list' what came of it"
            }
            JobFault::Cancelled => "the job was cancelled",
            JobFault::Ended => "it has ended",
            JobFault::NotCancellable => "it cannot be cancelled at this step",
        })
    }
}

impl Display for StateFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            StateFault::NotChosen => f.write_str("no pool is chosen for it"),
            StateFault::Away => f.write_str("the pool is not imported"),
            StateFault::NoFileSystem { dataset } => write!(f, "there is no file system '{dataset}'"),
            StateFault::NoVersion => f.write_str("no version is there, or none that is old enough"),
            StateFault::OtherVersion => f.write_str("another version is there than the one that was shown"),
            StateFault::NewerFormat { found, known } => write!(
                f,
                "the version has format {found}, and this program knows formats up to {known}: it takes a \
                 newer program"
            ),
            StateFault::NewerDatabase { found, known } => write!(
                f,
                "the database in it is of version {found}, and this program knows versions up to {known}: it \
                 takes a newer program"
            ),
            StateFault::Damaged { message } => write!(f, "the version is damaged: {message}"),
            StateFault::TooLarge { bytes, most } => {
                write!(f, "it has {bytes} bytes, and a version has {most} at the most")
            }
            StateFault::NoNumber => f.write_str("no number for a version is left"),
            StateFault::NoDatabase => f.write_str("the machine's database could not be opened"),
            StateFault::UnderWay => f.write_str("somebody else is restoring; try again later"),
        }
    }
}

fn known(host: &str) -> &str {
    if host.is_empty() { "<unknown>" } else { host }
}

/// What `zpool import` says when logs are missing, with the tree of them (`zpool_import_props`).
pub(super) fn missing_logs(f: &mut Formatter<'_>, pool: &str, logs: &[Member]) -> fmt::Result {
    f.write_str("The devices below are missing or corrupted, use '-m' to import the pool anyway:\n")?;
    for Member { name, is_log, devices } in logs {
        writeln!(f, "\t    {name}{}", if *is_log { " [log]" } else { "" })?;
        devices.iter().try_for_each(|device| writeln!(f, "\t      {device}"))?;
    }
    write!(f, "\ncannot import '{pool}': {UNAVAILABLE}")
}
