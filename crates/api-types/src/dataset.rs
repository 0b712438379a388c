//! Datasets and their properties.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatasetKind {
    Filesystem,
    Volume,
    Snapshot,
    Bookmark,
}

impl DatasetKind {
    /// As in `zfs get type`.
    pub fn name(self) -> &'static str {
        match self {
            DatasetKind::Filesystem => "filesystem",
            DatasetKind::Volume => "volume",
            DatasetKind::Snapshot => "snapshot",
            DatasetKind::Bookmark => "bookmark",
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "from")]
pub enum Source {
    None,
    Default,
    Local,
    Inherited(String),
    Received,
    Temporary,
}

/// How a value is shown to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PropKind {
    /// Bytes.
    Size,
    Count,
    Ratio,
    Percent,
    /// Seconds since 1970.
    Time,
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropValue {
    pub name: String,
    /// The exact form; empty where the property does not apply.
    pub value: String,
    pub kind: PropKind,
    pub source: Source,
}

/// A property to set, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropSet {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dataset {
    pub name: String,
    pub kind: DatasetKind,
    pub guid: u64,
    pub createtxg: u64,
    pub props: Vec<PropValue>,
}

/// Query of `GET /v1/datasets`. Lists are comma-separated: no dataset or property has a comma in its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatasetQuery {
    /// Names; empty: every pool.
    pub roots: String,
    /// How deep below the roots; absent: all the way.
    pub depth: Option<u32>,
    /// Of [`DatasetKind`]'s names; empty: file systems and volumes.
    pub kinds: String,
    /// Only these properties; empty: all.
    pub props: String,
}

/// `POST /v1/datasets`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatasetCreate {
    pub name: String,
    /// Make missing ancestors; an existing dataset is then no error.
    pub parents: bool,
    /// Don't mount it now.
    pub no_mount: bool,
    pub props: Vec<PropSet>,
    /// Command line for the pool's history; empty: none.
    pub history: String,
}

/// What a change answers: what went wrong beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    pub txg: u64,
    pub warnings: Vec<String>,
}

/// `POST /v1/datasets/{name}/destroy`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatasetDestroy {
    pub recursive: bool,
    /// With all clones.
    pub clones: bool,
    /// Snapshots that something keeps go with the last that does.
    pub defer: bool,
    /// Unmount though in use.
    pub force: bool,
    pub history: String,
}

/// `GET /v1/datasets/{name}/destroy?recursive=…&clones=…&defer=…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestroyPreview {
    /// What would go, in the order in which it does.
    pub names: Vec<String>,
    /// Bytes that would be freed.
    pub bytes: u64,
}

/// Query of the preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DestroyQuery {
    pub recursive: bool,
    pub clones: bool,
    pub defer: bool,
}

/// `POST /v1/datasets/{name}/properties` and `POST /v1/pools/{name}/properties`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PropertiesSet {
    pub props: Vec<PropSet>,
    /// Change `mountpoint` and the like without mounting anew.
    pub no_mount: bool,
    pub history: String,
}

/// `POST /v1/datasets/{name}/inherit`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inherit {
    pub property: String,
    /// Back to the received value rather than to the parent's.
    pub received: bool,
    pub history: String,
}

/// `POST /v1/datasets/{name}/rename`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rename {
    pub to: String,
    pub parents: bool,
    pub force: bool,
    /// Of a snapshot: those of the same name below, too.
    pub recursive: bool,
    /// Leave mounts where they are.
    pub no_mount: bool,
    pub history: String,
}

/// `POST /v1/snapshots`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotCreate {
    /// Of one pool: all at one moment, or none.
    pub names: Vec<String>,
    /// Of everything below, too.
    pub recursive: bool,
    pub props: Vec<PropSet>,
    pub history: String,
}

/// `POST /v1/datasets/{name}/rollback`, of the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rollback {
    /// Destroy snapshots and bookmarks that are younger.
    pub recursive: bool,
    /// And clones of these.
    pub clones: bool,
    /// Unmount clones though in use.
    pub force: bool,
    pub history: String,
}

/// `POST /v1/clones`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CloneCreate {
    pub snapshot: String,
    pub name: String,
    pub parents: bool,
    pub no_mount: bool,
    pub props: Vec<PropSet>,
    pub history: String,
}

/// `POST /v1/datasets/{name}/promote`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Promote {
    pub history: String,
}

/// `POST /v1/bookmarks`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BookmarkCreate {
    /// A snapshot or a bookmark.
    pub source: String,
    pub name: String,
    pub history: String,
}

/// `POST /v1/holds` and `POST /v1/releases`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HoldRequest {
    pub snapshots: Vec<String>,
    pub tag: String,
    pub recursive: bool,
    pub history: String,
}

/// One tag on a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub tag: String,
    /// Seconds since 1970.
    pub time: u64,
}
