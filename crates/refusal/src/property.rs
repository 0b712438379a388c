//! What is wrong with a property or its value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a property cannot be set, or given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum PropertyFault {
    /// There is no such property.
    Unknown {
        property: String,
    },
    /// Given twice.
    Twice {
        property: String,
    },
    NotOfThisType {
        property: String,
    },
    ReadOnly {
        property: String,
    },
    /// Used space, which the file system counts itself.
    Counted {
        property: String,
    },
    NameTooLong {
        property: String,
    },
    /// Of a user's own property.
    ValueTooLong,
    TextTooLong {
        property: String,
    },
    /// `values`: as `zfs get` lists them.
    NotOneOf {
        property: String,
        values: String,
    },
    /// What `stdx::number` says of the text.
    Number {
        message: String,
    },
    /// What pool or dataset are too old for.
    TooOld,
    NotOfSnapshots,
    Utf8Needed,
    /// `quota=0`.
    UseNone,
    AutoOfVolumesOnly {
        property: String,
    },
    NoAuto {
        property: String,
    },
    NoPowerOfTwo {
        property: String,
        most: String,
    },
    SmallBlocks {
        property: String,
        value: String,
    },
    RelativeMountpoint,
    MountpointTooLong,
    /// The user or group in `userquota@…`.
    NoSuchPrincipal {
        property: String,
    },
    VolumeSizeZero,
    VolumeSizeMissing,
    VolumeSizeTooLarge,
    /// A new volume.
    VolumeEmpty,
    /// `block`: the volume's block size, as people read it.
    VolumeSizeUneven {
        block: String,
    },
    /// The version that a file system has.
    Downgrade {
        now: u64,
    },
    NotInherited {
        property: String,
        can_be_none: bool,
    },
    InheritReadOnly {
        property: String,
    },

    // Of pools.
    UnknownFeature {
        feature: String,
    },
    /// `creating`: `disabled` is a value, too.
    FeatureValue {
        feature: String,
        creating: bool,
    },
    FeatureWithVersion,
    NoVersion {
        version: u64,
    },
    AltrootLater,
    NoHostid,
    NoBootfs {
        name: String,
    },
    CommentTooLong,
    CommentUnprintable,
    Ashift {
        value: String,
    },
    RelativeCachefile,
    CachefileName {
        value: String,
    },
    CachefileFolder {
        folder: String,
    },
    /// A file of features that cannot be read.
    UnreadableSet {
        set: String,
    },
    UnknownInSet {
        set: String,
        word: String,
    },
    /// What the value means is not understood: the words of its own language.
    Value {
        message: String,
    },
}
