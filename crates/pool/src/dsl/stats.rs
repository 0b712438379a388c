//! What a dataset uses, and the other things it says of itself.
//!
//! Sources: module/zfs/dsl_dataset.c (`dsl_dataset_stats`), dsl_dir.c (`dsl_dir_stats`).

use std::cell::OnceCell;
use std::collections::HashMap;

use api_types::{DatasetKind, DatasetProperty, Edit, PropKind, PropValue, PropertyDef, Source};
use dmu::DmuError;
use dmu::zap::Value;
use env::lock;
use ondisk::bookmark::{BookmarkPhys, FLAG_HAS_FBN};
use ondisk::dsl_dataset::{DslDatasetPhys, FLAG_DEFER_DESTROY, FLAG_INCONSISTENT};
use ondisk::dsl_dir::{DslDirPhys, FIELD_SNAPSHOTS_CHANGED, FLAG_USED_BREAKDOWN};
use ondisk::objset::ObjsetType;
use ondisk::prop::{SUFFIX_RECEIVED, UserspaceProp, is_user_prop};

use super::Dsl;
use super::counts::Counted;
use super::dataset::available;
use super::names::Found;
use super::prop::{Chain, Own, raw};
use crate::prop::{RawValue, default_of, exact};
use crate::{PoolError, Result};

/// A ratio of nothing: 1.00.
const RATIO_ONE: u64 = 100;

/// A property without a value.
fn absent(name: &str, kind: PropKind) -> PropValue {
    PropValue { name: name.to_owned(), value: String::new(), kind, source: Source::None, received: None }
}

fn ratio(uncompressed: u64, compressed: u64) -> u64 {
    uncompressed.saturating_mul(100).checked_div(compressed).unwrap_or(RATIO_ONE)
}

/// A dataset about to be described.
pub(crate) struct Subject<'a> {
    pub name: &'a str,
    pub found: &'a Found,
    pub kind: DatasetKind,
    pub chain: &'a Chain,
    pub own: Option<Own>,
    /// What its object set keeps, once that was asked for.
    content: OnceCell<Vec<(&'static str, u64)>>,
}

impl<'a> Subject<'a> {
    pub fn new(
        name: &'a str,
        found: &'a Found,
        kind: DatasetKind,
        chain: &'a Chain,
        own: Option<Own>,
    ) -> Subject<'a> {
        Subject { name, found, kind, chain, own, content: OnceCell::new() }
    }

    /// Values that it has itself, not those from above.
    fn values(&self) -> &HashMap<String, Value> {
        self.own.as_ref().map_or_else(|| self.chain.values(), |own| &own.values)
    }

    fn has_received(&self) -> bool {
        self.values().keys().any(|stored| stored.ends_with(SUFFIX_RECEIVED))
    }

    fn received(&self, name: &str) -> Option<&Value> {
        self.values().get(&format!("{name}{SUFFIX_RECEIVED}"))
    }
}

impl Dsl {
    /// The properties asked for (all where `names` is empty), in order. What does not apply is left
    /// out of "all", and shown empty where it was asked for.
    pub(crate) fn describe(&self, subject: &Subject<'_>, names: &[String]) -> Result<Vec<PropValue>> {
        let shown = self.describe_all(subject, names)?;
        Ok(self.with_received(subject, shown))
    }

    fn describe_all(&self, subject: &Subject<'_>, names: &[String]) -> Result<Vec<PropValue>> {
        match names {
            [] => self.describe_those(subject, &|_| true),
            names => names.iter().map(|name| self.describe_one(subject, name)).collect(),
        }
    }

    /// What can be set, once at least, with the properties that users have made.
    pub(crate) fn describe_settings(&self, subject: &Subject<'_>) -> Result<Vec<PropValue>> {
        let shown = self.describe_those(subject, &|row| row.edit() != Edit::Never)?;
        Ok(self.with_received(subject, shown))
    }

    fn with_received(&self, subject: &Subject<'_>, mut shown: Vec<PropValue>) -> Vec<PropValue> {
        if subject.has_received() {
            shown.iter_mut().for_each(|shown| shown.received = self.received_value(subject, &shown.name));
        }
        shown
    }

    /// Of those that everybody is shown the ones that are wanted, and those of users.
    fn describe_those(
        &self,
        subject: &Subject<'_>,
        is_wanted: &dyn Fn(&PropertyDef) -> bool,
    ) -> Result<Vec<PropValue>> {
        let mut shown = Vec::new();
        let rows = DatasetProperty::ALL.iter().filter(|prop| prop.row().is_listed() && is_wanted(prop.row()));
        for prop in rows {
            if self.applies(subject, prop.row())?
                && let Some(value) = self.native(subject, *prop)?
            {
                shown.push(value);
            }
        }
        let mut users = subject.chain.user_names();
        users.extend(subject.own.iter().flat_map(Own::user_names));
        users.sort();
        users.dedup();
        for name in users {
            let value = self.describe_one(subject, &name)?;
            if value.source != Source::None {
                shown.push(value);
            }
        }
        Ok(shown)
    }

    fn describe_one(&self, subject: &Subject<'_>, name: &str) -> Result<PropValue> {
        if is_user_prop(name) {
            let mut shown = absent(name, PropKind::Text);
            if let Some((value, source)) = subject.chain.user_value(name, subject.own.as_ref()) {
                (shown.value, shown.source) = (value.text().unwrap_or("").to_owned(), source);
            }
            return Ok(shown);
        }
        if let Some(since) = name.strip_prefix("written").filter(|rest| rest.starts_with(['@', '#'])) {
            let written = self.written_since(subject.found, since.strip_prefix('@').unwrap_or(since))?;
            let value = written.map_or_else(String::new, |bytes| bytes.to_string());
            let source = if value.is_empty() { Source::None } else { Source::Local };
            return Ok(PropValue { value, source, ..absent(name, PropKind::Size) });
        }
        if let Some((prop, who)) = UserspaceProp::parse(name) {
            let kind = if prop.objects { PropKind::Count } else { PropKind::Size };
            let mut shown = absent(name, kind);
            if let Some(number) = self.spending_of(subject, prop, who)? {
                (shown.value, shown.source) = (number.to_string(), Source::Local);
            }
            return Ok(shown);
        }
        let prop = DatasetProperty::named(name)
            .ok_or_else(|| PoolError::Invalid(format!("bad property list: invalid property '{name}'")))?;
        let row = prop.row();
        let value = if self.applies(subject, row)? { self.native(subject, prop)? } else { None };
        Ok(value.unwrap_or_else(|| absent(row.name, row.reads.kind())))
    }

    /// Whether a dataset has a property: a snapshot has what its head could have, and what only
    /// snapshots have.
    fn applies(&self, subject: &Subject<'_>, row: &PropertyDef) -> Result<bool> {
        if !row.is_of(subject.kind) {
            return Ok(false);
        }
        let is_same_for_all = row.is_of(DatasetKind::Filesystem) == row.is_of(DatasetKind::Volume);
        if subject.kind != DatasetKind::Snapshot || is_same_for_all {
            return Ok(true);
        }
        let found = subject.found;
        Ok(row.is_of(self.head_kind(found.object, &found.phys)?))
    }

    fn native(&self, subject: &Subject<'_>, prop: DatasetProperty) -> Result<Option<PropValue>> {
        let found = match self.of_key(subject.found.dir.object, prop)? {
            Some(value) => Some((value, Source::None)),
            None => self.value_of(subject, prop)?,
        };
        let Some((value, source)) = found else { return Ok(None) };
        let row = prop.row();
        let value = self.text_of(subject, prop, &value, &source);
        Ok(Some(PropValue { value, source, ..absent(row.name, row.reads.kind()) }))
    }

    fn text_of(
        &self,
        subject: &Subject<'_>,
        prop: DatasetProperty,
        value: &RawValue,
        source: &Source,
    ) -> String {
        match (prop, value) {
            (DatasetProperty::Mountpoint, RawValue::Text(text)) => {
                let altroot = lock(&self.altroot).clone();
                crate::prop::mountpoint(text, source, subject.chain.dir_name(), altroot.as_deref())
            }
            _ => exact(prop.row(), value),
        }
    }

    fn received_value(&self, subject: &Subject<'_>, name: &str) -> Option<String> {
        let stored = subject.received(name)?;
        match DatasetProperty::named(name) {
            Some(prop) => {
                let value = raw(prop.row(), stored);
                Some(self.text_of(subject, prop, &value, &Source::Received))
            }
            None => stored.as_text().map(str::to_owned),
        }
    }

    /// What the object set itself keeps.
    fn kept_in_content(&self, subject: &Subject<'_>, name: &str) -> Option<RawValue> {
        if subject.kind == DatasetKind::Volume {
            return None;
        }
        // What cannot be read shows nothing of it, and the rest all the same.
        let props = subject.content.get_or_init(|| self.content_of(subject.found.object).unwrap_or_default());
        props.iter().find(|(n, _)| *n == name).map(|(_, number)| RawValue::Number(*number))
    }

    fn content_of(&self, object: u64) -> Result<Vec<(&'static str, u64)>> {
        let was_open = self.if_open(object).is_some();
        let props = self.parts.fs_format.props(self.open_object(object)?.objset());
        if !was_open {
            self.close_idle(object);
        }
        Ok(props?)
    }

    /// `None` where nobody counts, or there is no such id.
    fn spending_of(&self, subject: &Subject<'_>, prop: UserspaceProp, who: &str) -> Result<Option<u64>> {
        let Ok(id) = who.parse() else { return Ok(None) };
        if !matches!(subject.kind, DatasetKind::Filesystem | DatasetKind::Snapshot) {
            return Ok(None);
        }
        let dataset = self.open_object(subject.found.object)?;
        match self.parts.fs_format.spending(dataset.objset(), prop, id) {
            Ok(number) => Ok(Some(number)),
            Err(DmuError::Unsupported(_) | DmuError::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A volume keeps its size in object 2, and its blocks in object 1.
    fn of_volume(&self, subject: &Subject<'_>, prop: DatasetProperty) -> Result<Option<(RawValue, Source)>> {
        let dataset = match self.open_object(subject.found.object) {
            Ok(dataset) if dataset.objset().kind() == ObjsetType::Zvol => dataset,
            _ => return Ok(None),
        };
        // What is not received whole has no size yet.
        if dataset.is_inconsistent() {
            return Ok(None);
        }
        if prop == DatasetProperty::Volsize {
            let size = super::volume::size_of(dataset.objset())?;
            return Ok(Some((RawValue::Number(size), Source::Local)));
        }
        let block = RawValue::Number(super::volume::block_of(dataset.objset())?);
        let source = if block == default_of(prop.row()) { Source::Default } else { Source::None };
        Ok(Some((block, source)))
    }

    /// The value of a property, wherever it is kept; `None` where the dataset has none. Each
    /// property has its arm.
    fn value_of(&self, subject: &Subject<'_>, prop: DatasetProperty) -> Result<Option<(RawValue, Source)>> {
        use DatasetProperty::*;
        let (phys, dir) = (&subject.found.phys, subject.found.dir.phys());
        let is_snapshot = subject.kind == DatasetKind::Snapshot;
        let has_breakdown = dir.flags & FLAG_USED_BREAKDOWN != 0;
        let text = |text: &str| Some(RawValue::Text(text.to_owned()));
        let number = |number: u64| Some(RawValue::Number(number));
        let value = match prop {
            Type => text(subject.kind.name()),
            Name => text(subject.name),
            Creation => number(phys.creation_time),
            Createtxg => number(phys.creation_txg),
            Guid => number(phys.guid),
            Objsetid => number(subject.found.object),
            Used if is_snapshot => number(phys.unique_bytes),
            Used => number(dir.used_bytes),
            Available => number(self.available_of(subject.found)?),
            Referenced => number(phys.referenced_bytes),
            Unique => number(phys.unique_bytes),
            Written => number(self.written(phys)?),
            Logicalused => number(dir.uncompressed_bytes),
            Logicalreferenced => number(phys.uncompressed_bytes),
            Compressratio if !is_snapshot => number(ratio(dir.uncompressed_bytes, dir.compressed_bytes)),
            Compressratio | Refcompressratio => number(ratio(phys.uncompressed_bytes, phys.compressed_bytes)),
            Usedbysnapshots if has_breakdown => number(dir.used_snap),
            Usedbydataset if has_breakdown => number(dir.used_head),
            Usedbychildren if has_breakdown => number(dir.used_child + dir.used_child_rsrv),
            Usedbyrefreservation if has_breakdown => number(dir.used_refrsrv),
            Usedbysnapshots | Usedbydataset | Usedbychildren | Usedbyrefreservation => None,
            Origin => self.origin_name(&dir)?,
            Clones => self.clones_of(phys)?,
            Numclones => number(phys.num_children.saturating_sub(1)),
            Userrefs => number(self.holds_on(phys)?),
            DeferDestroy => number(u64::from(phys.flags & FLAG_DEFER_DESTROY != 0)),
            Inconsistent => number(u64::from(phys.flags & FLAG_INCONSISTENT != 0)),
            SnapshotsChanged => {
                let changed = self.mos.field(subject.found.dir.object, FIELD_SNAPSHOTS_CHANGED)?;
                changed.map(RawValue::Number)
            }
            ReceiveResumeToken => self.resume_token(subject.found)?.map(RawValue::Text),
            FilesystemCount => return self.counted(subject, prop, Counted::Filesystems).map(Some),
            SnapshotCount => return self.counted(subject, prop, Counted::Snapshots).map(Some),
            Volsize | Volblocksize => return self.of_volume(subject, prop),
            Version | Utf8only | Normalization | Casesensitivity => {
                self.kept_in_content(subject, prop.row().name)
            }
            // Of this machine, of what is encrypted, of what is redacted, and what nobody keeps.
            Mounted | Encryptionroot | Keystatus | Keyguid | Ivsetguid | Redacted | RedactSnaps
            | Prevsnap | Useraccounting => None,
            Quota | Reservation | Recordsize | Mountpoint | Sharenfs | Checksum | Compression | Atime
            | Devices | Exec | Setuid | Readonly | Zoned | Snapdir | Aclmode | Aclinherit | Canmount
            | Iscsioptions | Xattr | Copies | Vscan | Nbmand | Sharesmb | Refquota | Refreservation
            | Primarycache | Secondarycache | StmfSbdLu | Logbias | Dedup | Mlslabel | Sync | Dnodesize
            | Volmode | FilesystemLimit | SnapshotLimit | Snapdev | Acltype | Context | Fscontext
            | Defcontext | Rootcontext | Relatime | RedundantMetadata | Overlay | Encryption
            | Keylocation | Keyformat | Pbkdf2salt | Pbkdf2iters | SpecialSmallBlocks | Prefetch
            | Volthreading | Direct | Longname => {
                return Ok(Some(subject.chain.value(prop, subject.own.as_ref())));
            }
        };
        Ok(value.map(|value| (value, Source::None)))
    }

    /// Where nobody counts, the value is the default.
    fn counted(
        &self,
        subject: &Subject<'_>,
        prop: DatasetProperty,
        what: Counted,
    ) -> Result<(RawValue, Source)> {
        Ok(match self.count_of(&subject.found.dir, what)? {
            Some(count) => (RawValue::Number(count), Source::Local),
            None => (default_of(prop.row()), Source::Default),
        })
    }

    /// Bytes that may still be written to a head dataset.
    pub(crate) fn available_of(&self, found: &Found) -> Result<u64> {
        let room = found.dir.available(self.pool_size(), None, false);
        let quota = self.local_number(&found.dir, "refquota")?;
        let reserved = self.local_number(&found.dir, "refreservation")?;
        Ok(available(room, found.phys.referenced_bytes, found.phys.unique_bytes, quota, reserved))
    }

    fn origin_name(&self, dir: &DslDirPhys) -> Result<Option<RawValue>> {
        if dir.origin_obj == 0 || Some(dir.origin_obj) == self.origin_snap() {
            return Ok(None);
        }
        Ok(Some(RawValue::Text(self.dataset_name(dir.origin_obj)?)))
    }

    fn clones_of(&self, phys: &DslDatasetPhys) -> Result<Option<RawValue>> {
        let heads = self.clone_heads(phys)?.into_iter();
        let mut names = heads.map(|head| self.dataset_name(head)).collect::<Result<Vec<_>>>()?;
        names.sort();
        Ok((!names.is_empty()).then(|| RawValue::Text(names.join(","))))
    }

    /// Whether a head is a file system or a volume.
    pub(crate) fn head_kind(&self, object: u64, phys: &DslDatasetPhys) -> Result<DatasetKind> {
        if let Some(open) = self.if_open(object) {
            return Ok(kind_of(open.objset().kind()));
        }
        if phys.bp.is_hole() {
            return Ok(DatasetKind::Filesystem);
        }
        let root = self.parts.store().read(&phys.bp, env::IoClass::SyncRead);
        let root = root.map_err(|_| PoolError::Io)?;
        let phys = ondisk::objset::ObjsetPhys::decode(&root)?;
        Ok(kind_of(phys.objset_type))
    }
}

fn kind_of(objset_type: ObjsetType) -> DatasetKind {
    if objset_type == ObjsetType::Zvol { DatasetKind::Volume } else { DatasetKind::Filesystem }
}

/// What a bookmark says of itself, in order; what it does not know is left out of "all", and empty
/// where it was asked for (module/zfs/dsl_bookmark.c, `dsl_bookmark_fetch_props`).
pub(crate) fn describe_bookmark(name: &str, phys: &BookmarkPhys, names: &[String]) -> Result<Vec<PropValue>> {
    let value = |prop: DatasetProperty| -> Option<String> {
        let counted = phys.flags & FLAG_HAS_FBN != 0;
        Some(match prop {
            DatasetProperty::Type => DatasetKind::Bookmark.name().to_owned(),
            DatasetProperty::Name => name.to_owned(),
            DatasetProperty::Creation => phys.creation_time.to_string(),
            DatasetProperty::Createtxg => phys.creation_txg.to_string(),
            DatasetProperty::Guid => phys.guid.to_string(),
            DatasetProperty::Referenced if counted => phys.referenced_bytes_refd.to_string(),
            DatasetProperty::Logicalreferenced if counted => phys.uncompressed_bytes_refd.to_string(),
            DatasetProperty::Refcompressratio if counted => {
                let ratio = ratio(phys.uncompressed_bytes_refd, phys.compressed_bytes_refd);
                format!("{}.{:02}", ratio / 100, ratio % 100)
            }
            DatasetProperty::Ivsetguid if phys.ivset_guid != 0 => phys.ivset_guid.to_string(),
            _ => return None,
        })
    };
    let shown = |prop: DatasetProperty, value: String| PropValue {
        value,
        ..absent(prop.row().name, prop.row().reads.kind())
    };
    if names.is_empty() {
        let is_shown = |row: &PropertyDef| row.is_listed() && row.is_of(DatasetKind::Bookmark);
        let all = DatasetProperty::ALL.iter().filter(|prop| is_shown(prop.row()));
        return Ok(all.filter_map(|prop| Some(shown(*prop, value(*prop)?))).collect());
    }
    let one = |name: &String| match DatasetProperty::named(name) {
        Some(prop) => Ok(shown(prop, value(prop).unwrap_or_default())),
        None if is_user_prop(name) || name.contains(['@', '#']) => Ok(absent(name, PropKind::Text)),
        None => Err(PoolError::Invalid(format!("bad property list: invalid property '{name}'"))),
    };
    names.iter().map(one).collect()
}
