//! Datasets and their properties.

use std::hash::{DefaultHasher, Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Warnings;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PropValue {
    pub name: String,
    /// The exact form; empty where the property does not apply.
    pub value: String,
    pub kind: PropKind,
    pub source: Source,
    /// What a stream said of it, whether that counts or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<String>,
}

/// A property to set, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PropertyChange {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct DatasetInfo {
    pub name: String,
    pub kind: DatasetKind,
    pub guid: u64,
    pub createtxg: u64,
    pub props: Vec<PropValue>,
}

impl DatasetInfo {
    /// The exact form of a property; `None`: it was not asked for. Empty where it does not apply.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.props.iter().find(|prop| prop.name == name).map(|prop| prop.value.as_str())
    }

    /// A number that a property is; 0 where it does not apply.
    pub fn number(&self, name: &str) -> u64 {
        self.value(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// The value of a property that was set on it itself.
    pub fn own(&self, name: &str) -> Option<&str> {
        let found = self.props.iter().find(|prop| prop.name == name && prop.source == Source::Local);
        found.map(|prop| prop.value.as_str())
    }

    /// A number that is another as soon as anything of this is. It means nothing to another build.
    pub fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// Which datasets to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasetFilter {
    /// Empty: every dataset of the pool.
    pub roots: Vec<String>,
    /// How deep below the roots; `None`: all the way.
    pub depth: Option<u32>,
    /// Of the roots no children, but their snapshots and bookmarks.
    pub alone: bool,
    /// Empty: file systems and volumes.
    pub kinds: Vec<DatasetKind>,
    /// Only these properties; empty: all.
    pub props: Vec<String>,
}

/// A place in a list of datasets: right behind one of them, whether or not that is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetPlace {
    /// Of a dataset, snapshot or bookmark.
    pub name: String,
    /// Of a snapshot or bookmark, which are listed by age.
    pub createtxg: u64,
}

/// A part of a list of datasets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasetPage {
    /// Perhaps fewer than asked for, though more follow.
    pub datasets: Vec<DatasetInfo>,
    /// Where the next part begins; `None`: nothing follows.
    pub next: Option<DatasetPlace>,
}

/// Query of `GET /v1/datasets`, body of `POST /v1/datasets/secrets`. Lists are comma-separated: no
/// dataset or property has a comma in its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// How many at most, up to 1,000; absent: all. Where more follow, header `Link` leads to them.
    pub limit: Option<u32>,
    /// A cursor, as the `Link` of the page before has it; empty: from the start.
    pub after: String,
}

/// `POST /v1/datasets`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DatasetCreate {
    pub name: String,
    /// Make missing ancestors; an existing dataset is then no error.
    pub parents: bool,
    /// Don't mount it now.
    pub no_mount: bool,
    /// A volume, of `volsize` bytes rounded up to whole blocks.
    pub volume: bool,
    /// Of a volume: no space is kept for what it has not written.
    pub sparse: bool,
    pub props: Vec<PropertyChange>,
    /// Command line for the pool's history; empty: none.
    pub history: String,
}

/// What would come of the properties of a dataset that is to be made, which were judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetPlan {
    pub volume: Option<VolumePlan>,
}

/// A volume that would be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VolumePlan {
    /// Bytes: of it, whole blocks; of a block.
    pub size: u64,
    pub block: u64,
    /// The property that keeps space for it, and how many bytes: 0 for none.
    pub limit: String,
    pub reserved: u64,
}

/// What a change answers: what went wrong beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    pub txg: u64,
    #[serde(flatten)]
    pub warnings: Warnings,
}

/// `POST /v1/datasets/{name}/destroy`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DatasetDestroy {
    pub recursive: bool,
    /// With all clones.
    pub clones: bool,
    /// Snapshots that something keeps go with the last that does.
    pub defer: bool,
    pub history: String,
}

/// What is to be destroyed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DestroyQuery {
    /// A dataset, or snapshots of one: `fs@a`, `fs@a%c,e`.
    pub name: String,
    /// With everything below; of snapshots, those of the same names below.
    pub recursive: bool,
    /// With all clones.
    pub clones: bool,
    /// Snapshots that something keeps are no obstacle.
    pub defer: bool,
}

/// `GET /v1/datasets/{name}/destroy?recursive=…&clones=…&defer=…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DestroyPlan {
    /// What would go, in the order in which it does.
    pub names: Vec<String>,
    /// Bytes that would be freed.
    pub bytes: u64,
}

/// What goes along with what is destroyed; also the query of the preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DestroyOptions {
    pub recursive: bool,
    pub clones: bool,
    pub defer: bool,
}

/// `POST /v1/datasets/{name}/properties` and `POST /v1/pools/{name}/properties`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PropertiesSet {
    pub props: Vec<PropertyChange>,
    /// Change `mountpoint` and the like without mounting anew.
    pub no_mount: bool,
    pub history: String,
}

/// `POST /v1/datasets/{name}/inherit`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Inherit {
    pub property: String,
    /// Back to the received value rather than to the parent's.
    pub received: bool,
    pub history: String,
}

/// `POST /v1/datasets/{name}/rename`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rename {
    pub to: String,
    pub parents: bool,
    /// Of a snapshot: those of the same name below, too.
    pub recursive: bool,
    /// Leave mounts where they are.
    pub no_mount: bool,
    pub history: String,
}

/// `POST /v1/snapshots`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotCreate {
    /// Of one pool: all at one moment, or none.
    pub names: Vec<String>,
    /// Of everything below, too.
    pub recursive: bool,
    pub props: Vec<PropertyChange>,
    pub history: String,
}

/// `POST /v1/datasets/{name}/rollback`, of the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rollback {
    /// Destroy snapshots and bookmarks that are younger.
    pub recursive: bool,
    /// And clones of these.
    pub clones: bool,
    pub history: String,
}

/// `POST /v1/clones`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CloneCreate {
    pub snapshot: String,
    pub name: String,
    pub parents: bool,
    pub no_mount: bool,
    pub props: Vec<PropertyChange>,
    pub history: String,
}

/// `POST /v1/datasets/{name}/promote`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Promote {
    pub history: String,
}

/// `POST /v1/bookmarks`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BookmarkCreate {
    /// A snapshot or a bookmark.
    pub source: String,
    pub name: String,
    pub history: String,
}

/// `POST /v1/holds` and `POST /v1/releases`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HoldRequest {
    pub snapshots: Vec<String>,
    pub tag: String,
    pub recursive: bool,
    pub history: String,
}

/// Whose space is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spender {
    User,
    Group,
    Project,
}

impl Spender {
    /// As in the query.
    pub fn name(self) -> &'static str {
        match self {
            Spender::User => "user",
            Spender::Group => "group",
            Spender::Project => "project",
        }
    }
}

/// Query of `GET /v1/datasets/{name}/space-use`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpaceUseQuery {
    pub of: Spender,
}

/// What one user, group or project uses and may use. Absent: nobody counts that there; limits of 0
/// are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpaceUse {
    pub id: u64,
    /// Bytes.
    pub used: Option<u64>,
    pub quota: Option<u64>,
    pub objects_used: Option<u64>,
    pub objects_quota: Option<u64>,
}

/// Who holds a part of what a dataset uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpaceHolder {
    /// Files that have a name, or a volume; as compressed.
    Contents,
    /// Files without a name, open still or not given back yet: `count`.
    Deleted,
    /// What leads to contents: directories, attributes, pointers, accounting.
    Metadata,
    /// What blocks take beyond their compressed size: copies, sectors filled up, parity beyond the
    /// pool's ratio. Less than nothing where they need less parity than that ratio has.
    Overhead,
    /// A run of snapshots, by the first and the last where these are two; with their clones.
    Snapshots,
    /// Held back by `refreservation`.
    RefReservation,
    Child,
    /// Held back by a child's reservation.
    ChildReservation,
    /// A receive that has not ended.
    Receiving,
    /// The pool's own objects.
    Pool,
    /// Destroyed, and given back in the background.
    Freeing,
    /// Changed while this was looked at, or counted by older software in a way of its own.
    Other,
}

impl SpaceHolder {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SpaceHolder::Contents => "contents",
            SpaceHolder::Deleted => "deleted",
            SpaceHolder::Metadata => "metadata",
            SpaceHolder::Overhead => "overhead",
            SpaceHolder::Snapshots => "snapshots",
            SpaceHolder::RefReservation => "ref-reservation",
            SpaceHolder::Child => "child",
            SpaceHolder::ChildReservation => "child-reservation",
            SpaceHolder::Receiving => "receiving",
            SpaceHolder::Pool => "pool",
            SpaceHolder::Freeing => "freeing",
            SpaceHolder::Other => "other",
        }
    }
}

/// One part, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpacePart {
    pub holder: SpaceHolder,
    pub names: Vec<String>,
    pub clones: Vec<String>,
    pub count: u64,
    pub bytes: i64,
}

/// `GET /v1/datasets/{name}/space`: what `used` is made of. Bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpaceExplained {
    pub name: String,
    pub used: u64,
    /// Of the dataset itself, what no snapshot has.
    pub unique: u64,
    /// On disks, of the dataset's own blocks, parity counted.
    pub raw: u64,
    /// Largest first; their sum is `used`.
    pub parts: Vec<SpacePart>,
}

/// Query of `GET /v1/datasets/{name}/diff`, of the snapshot to begin with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffQuery {
    /// A snapshot, or a file system as it is now.
    pub to: String,
}

/// What became of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffEntry {
    /// `+`, `-`, `M` or `R`.
    pub change: char,
    /// `F` a file, `/` a directory, `@` a link, and the rest of OpenZFS's letters.
    pub node: char,
    /// As [`escape_path`] has it.
    pub path: String,
    pub to: Option<String>,
    /// By how many names it has more; 0 where that is not what changed.
    pub links: i64,
    pub ctime_secs: i64,
    pub ctime_nanos: u32,
}

/// A path as text: a backslash and four octal digits for each byte that is not printable ASCII, for
/// spaces and backslashes.
pub fn escape_path(path: &[u8]) -> String {
    let plain = |byte: u8| byte > b' ' && byte != b'\\' && byte < 0x7f;
    let one = |byte: &u8| if plain(*byte) { char::from(*byte).to_string() } else { format!("\\{byte:04o}") };
    path.iter().map(one).collect()
}

/// The bytes that [`escape_path`] made text of.
pub fn unescape_path(path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, more @ ..] = rest {
        rest = more;
        let octal = more.get(..4).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[4..];
            }
            None => bytes.push(*first),
        }
    }
    bytes
}

/// `GET /v1/datasets/{name}/deleted`: files without a name that are not freed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedFiles {
    pub files: u64,
}

/// One tag on a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    pub tag: String,
    /// Seconds since 1970.
    pub time: u64,
}
