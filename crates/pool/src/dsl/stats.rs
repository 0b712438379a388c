//! What a dataset uses, and the other things it says of itself.
//!
//! Sources: module/zfs/dsl_dataset.c (`dsl_dataset_stats`), dsl_dir.c (`dsl_dir_stats`).

use std::collections::HashMap;

use api_types::{DatasetKind, PropKind, PropValue, Source};
use dmu::DmuError;
use dmu::zap::Value;
use ondisk::bookmark::{BookmarkPhys, FLAG_HAS_FBN};
use ondisk::dsl_dataset::{DslDatasetPhys, FLAG_DEFER_DESTROY, FLAG_INCONSISTENT};
use ondisk::dsl_dir::{DslDirPhys, FIELD_SNAPSHOTS_CHANGED, FLAG_USED_BREAKDOWN};
use ondisk::objset::ObjsetType;
use ondisk::prop::{
    BOOKMARK, DATASET, FILESYSTEM, Prop, SUFFIX_RECEIVED, UserspaceProp, VOLUME, dataset_prop, is_user_prop,
};

use super::Dsl;
use super::counts::Counted;
use super::dataset::available;
use super::names::Found;
use super::prop::{Chain, Own, raw};
use crate::prop::{CREATION, RawValue, exact, prop_kind, types_of};
use crate::{PoolError, Result};

/// A ratio of nothing: 1.00.
const RATIO_ONE: u64 = 100;

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
}

impl Subject<'_> {
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
        let mut shown = self.describe_all(subject, names)?;
        if subject.has_received() {
            shown.iter_mut().for_each(|shown| shown.received = self.received_value(subject, &shown.name));
        }
        Ok(shown)
    }

    fn describe_all(&self, subject: &Subject<'_>, names: &[String]) -> Result<Vec<PropValue>> {
        let mut shown = Vec::new();
        if !names.is_empty() {
            for name in names {
                shown.push(self.describe_one(subject, name)?);
            }
            return Ok(shown);
        }
        for prop in DATASET.iter().filter(|prop| !prop.hidden) {
            if self.applies(subject, prop)?
                && let Some(value) = self.native(subject, prop)?
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
        let absent = |name: &str, kind| PropValue {
            name: name.to_owned(),
            value: String::new(),
            kind,
            source: Source::None,
            received: None,
        };
        if is_user_prop(name) {
            let value = subject.chain.user_value(name, subject.own.as_ref());
            return Ok(match value {
                Some((value, source)) => PropValue {
                    value: value.text().map_or_else(String::new, str::to_owned),
                    source,
                    ..absent(name, PropKind::Text)
                },
                None => absent(name, PropKind::Text),
            });
        }
        if let Some(since) = name
            .strip_prefix("written@")
            .or_else(|| name.strip_prefix("written").filter(|rest| rest.starts_with('#')))
        {
            let written = self.written_since(subject.found, since)?;
            let value = written.map_or_else(String::new, |bytes| bytes.to_string());
            let source = if value.is_empty() { Source::None } else { Source::Local };
            return Ok(PropValue { value, source, ..absent(name, PropKind::Size) });
        }
        if let Some((prop, who)) = UserspaceProp::parse(name) {
            let kind = if prop.objects { PropKind::Count } else { PropKind::Size };
            return Ok(match self.spending_of(subject, prop, who)? {
                Some(number) => {
                    PropValue { value: number.to_string(), source: Source::Local, ..absent(name, kind) }
                }
                None => absent(name, kind),
            });
        }
        let prop = dataset_prop(name)
            .ok_or_else(|| PoolError::Invalid(format!("bad property list: invalid property '{name}'")))?;
        if !self.applies(subject, prop)? {
            return Ok(absent(prop.name, prop_kind(prop)));
        }
        Ok(self.native(subject, prop)?.unwrap_or_else(|| absent(prop.name, prop_kind(prop))))
    }

    /// Whether a dataset has a property: a snapshot has what its head could have, and what only
    /// snapshots have.
    fn applies(&self, subject: &Subject<'_>, prop: &Prop) -> Result<bool> {
        if !prop.is_of(types_of(subject.kind)) {
            return Ok(false);
        }
        let is_same_for_all = prop.is_of(FILESYSTEM) == prop.is_of(VOLUME);
        if subject.kind != DatasetKind::Snapshot || is_same_for_all {
            return Ok(true);
        }
        let found = subject.found;
        Ok(prop.is_of(types_of(self.head_kind(found.object, &found.phys)?)))
    }

    fn native(&self, subject: &Subject<'_>, prop: &'static Prop) -> Result<Option<PropValue>> {
        let of_key = self.of_key(subject.found.dir.object, prop.name)?;
        let (value, source) = if let Some(value) = of_key {
            (value, Source::None)
        } else if prop.is_readonly() {
            let uncounted = prop.name.ends_with("_count") && self.statistic(subject, prop.name)?.is_none();
            if uncounted {
                let value = exact(prop, &crate::prop::default_of(prop));
                let name = prop.name.to_owned();
                return Ok(Some(PropValue {
                    name,
                    value,
                    kind: prop_kind(prop),
                    source: Source::Default,
                    received: None,
                }));
            }
            let Some(value) = self.statistic(subject, prop.name)? else { return Ok(None) };
            (value, if prop.name.ends_with("_count") { Source::Local } else { Source::None })
        } else if matches!(prop.name, "volsize" | "volblocksize") {
            let Some(value) = self.of_volume(subject, prop.name)? else { return Ok(None) };
            let source = match prop.name {
                "volsize" => Source::Local,
                _ if value == crate::prop::default_of(prop) => Source::Default,
                _ => Source::None,
            };
            (value, source)
        } else if CREATION.iter().any(|(name, _)| *name == prop.name) {
            let Some(value) = self.kept_in_content(subject, prop.name)? else { return Ok(None) };
            (value, Source::None)
        } else {
            subject.chain.value(prop, subject.own.as_ref())
        };
        let value = self.text_of(subject, prop, &value, &source);
        Ok(Some(PropValue {
            name: prop.name.to_owned(),
            value,
            kind: prop_kind(prop),
            source,
            received: None,
        }))
    }

    fn text_of(&self, subject: &Subject<'_>, prop: &Prop, value: &RawValue, source: &Source) -> String {
        match (prop.name, value) {
            ("mountpoint", RawValue::Text(text)) => {
                let altroot = self.altroot();
                crate::prop::mountpoint(text, source, subject.chain.dir_name(), altroot.as_deref())
            }
            _ => exact(prop, value),
        }
    }

    fn received_value(&self, subject: &Subject<'_>, name: &str) -> Option<String> {
        let stored = subject.received(name)?;
        match dataset_prop(name) {
            Some(prop) => {
                let value = raw(prop, stored);
                Some(self.text_of(subject, prop, &value, &Source::Received))
            }
            None => stored.as_text().map(str::to_owned),
        }
    }

    /// What the object set itself keeps.
    fn kept_in_content(&self, subject: &Subject<'_>, name: &str) -> Result<Option<RawValue>> {
        if subject.kind == DatasetKind::Volume {
            return Ok(None);
        }
        let was_open = self.if_open(subject.found.object).is_some();
        let props = match self.open_object(subject.found.object) {
            Ok(dataset) => self.parts.fs_format.props(dataset.objset()),
            Err(_) => return Ok(None),
        };
        if !was_open {
            self.close_idle(subject.found.object);
        }
        let Ok(props) = props else { return Ok(None) };
        Ok(props.into_iter().find(|(n, _)| *n == name).map(|(_, number)| RawValue::Number(number)))
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
    fn of_volume(&self, subject: &Subject<'_>, name: &str) -> Result<Option<RawValue>> {
        let dataset = match self.open_object(subject.found.object) {
            Ok(dataset) if dataset.objset().kind() == ObjsetType::Zvol => dataset,
            _ => return Ok(None),
        };
        // What is not received whole has no size yet.
        if dataset.is_inconsistent() {
            return Ok(None);
        }
        let number = match name {
            "volsize" => super::volume::size_of(dataset.objset())?,
            _ => super::volume::block_of(dataset.objset())?,
        };
        Ok(Some(RawValue::Number(number)))
    }

    fn statistic(&self, subject: &Subject<'_>, name: &str) -> Result<Option<RawValue>> {
        let phys = &subject.found.phys;
        let snapshot = subject.kind == DatasetKind::Snapshot;
        let dir = subject.found.dir.phys();
        let number = match name {
            "type" => return Ok(Some(RawValue::Text(subject.kind.name().to_owned()))),
            "name" => return Ok(Some(RawValue::Text(subject.name.to_owned()))),
            "origin" => return self.origin_name(&dir),
            "clones" => return self.clones_of(phys),
            "receive_resume_token" => return Ok(self.resume_token(subject.found)?.map(RawValue::Text)),
            "encryptionroot" | "redact_snaps" | "prevsnap" => return Ok(None),
            "used" if snapshot => phys.unique_bytes,
            "used" => dir.used_bytes,
            "available" => self.available_of(subject.found)?,
            "compressratio" if !snapshot => ratio(dir.uncompressed_bytes, dir.compressed_bytes),
            "compressratio" | "refcompressratio" => ratio(phys.uncompressed_bytes, phys.compressed_bytes),
            "written" => self.written(phys)?,
            "userrefs" => self.holds_on(phys)?,
            "filesystem_count" => return self.counted(subject, Counted::Filesystems),
            "snapshot_count" => return self.counted(subject, Counted::Snapshots),
            "snapshots_changed" => return self.dir_field(subject, FIELD_SNAPSHOTS_CHANGED),
            _ => match plain(name, phys, &dir, subject.found.object) {
                Some(number) => number,
                None => return Ok(None),
            },
        };
        Ok(Some(RawValue::Number(number)))
    }

    fn counted(&self, subject: &Subject<'_>, what: Counted) -> Result<Option<RawValue>> {
        Ok(self.count_of(&subject.found.dir, what)?.map(RawValue::Number))
    }

    fn dir_field(&self, subject: &Subject<'_>, field: &str) -> Result<Option<RawValue>> {
        let object = subject.found.dir.object;
        if !self.mos.is_zapified(object)? {
            return Ok(None);
        }
        Ok(self.mos.find(object, field)?.map(RawValue::Number))
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
        let mut names = Vec::new();
        for head in self.clone_heads(phys)? {
            names.push(self.dir(self.mos.dataset(head)?.dir_obj)?.name());
        }
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
    let value = |prop: &str| -> Option<String> {
        let counted = phys.flags & FLAG_HAS_FBN != 0;
        Some(match prop {
            "type" => "bookmark".to_owned(),
            "name" => name.to_owned(),
            "creation" => phys.creation_time.to_string(),
            "createtxg" => phys.creation_txg.to_string(),
            "guid" => phys.guid.to_string(),
            "referenced" if counted => phys.referenced_bytes_refd.to_string(),
            "logicalreferenced" if counted => phys.uncompressed_bytes_refd.to_string(),
            "refcompressratio" if counted => {
                let ratio = ratio(phys.uncompressed_bytes_refd, phys.compressed_bytes_refd);
                format!("{}.{:02}", ratio / 100, ratio % 100)
            }
            "ivsetguid" if phys.ivset_guid != 0 => phys.ivset_guid.to_string(),
            _ => return None,
        })
    };
    let shown = |prop: &Prop, value: String| PropValue {
        name: prop.name.to_owned(),
        value,
        kind: prop_kind(prop),
        source: Source::None,
        received: None,
    };
    if names.is_empty() {
        let all = DATASET.iter().filter(|prop| !prop.hidden && prop.is_of(BOOKMARK));
        return Ok(all.filter_map(|prop| Some(shown(prop, value(prop.name)?))).collect());
    }
    let one = |name: &String| match dataset_prop(name) {
        Some(prop) => Ok(shown(prop, value(prop.name).unwrap_or_default())),
        None if is_user_prop(name) || name.contains(['@', '#']) => {
            let (name, value, kind) = (name.clone(), String::new(), PropKind::Text);
            Ok(PropValue { name, value, kind, source: Source::None, received: None })
        }
        None => Err(PoolError::Invalid(format!("bad property list: invalid property '{name}'"))),
    };
    names.iter().map(one).collect()
}

/// The statistics that are one field.
fn plain(name: &str, phys: &DslDatasetPhys, dir: &DslDirPhys, object: u64) -> Option<u64> {
    let breakdown = dir.flags & FLAG_USED_BREAKDOWN != 0;
    Some(match name {
        "creation" => phys.creation_time,
        "createtxg" => phys.creation_txg,
        "guid" => phys.guid,
        "objsetid" => object,
        "referenced" => phys.referenced_bytes,
        "logicalreferenced" => phys.uncompressed_bytes,
        "logicalused" => dir.uncompressed_bytes,
        "unique" => phys.unique_bytes,
        "usedbysnapshots" if breakdown => dir.used_snap,
        "usedbydataset" if breakdown => dir.used_head,
        "usedbychildren" if breakdown => dir.used_child + dir.used_child_rsrv,
        "usedbyrefreservation" if breakdown => dir.used_refrsrv,
        "numclones" => phys.num_children.saturating_sub(1),
        "defer_destroy" => u64::from(phys.flags & FLAG_DEFER_DESTROY != 0),
        "inconsistent" => u64::from(phys.flags & FLAG_INCONSISTENT != 0),
        _ => return None,
    })
}
