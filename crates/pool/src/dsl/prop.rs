//! Properties as they lie in the pool: a ZAP a directory, inherited downwards.
//!
//! A value is looked for, from the dataset upwards: under its own name with `$iuv`, under its own
//! name, and, unless `$inherit` says otherwise, as received (`$recvd`). What nobody set has its
//! default. A snapshot has values of its own too, and else those of the dataset it was taken of.
//!
//! Source: module/zfs/dsl_prop.c.

use std::collections::HashMap;
use std::sync::Arc;

use api_types::{DatasetProperty, Edit, PropType, PropertyDef, Source};
use dmu::store::{Dedup, Keep, Scope};
use dmu::zap::Value;
use dmu::{DmuError, ObjsetPolicy, RedundantMetadata, Tx};
use env::Tunable;
use ondisk::blkptr::MAX_BLOCK;
use ondisk::dsl_dataset::FLAG_UNIQUE_ACCURATE;
use ondisk::objset::ObjsetSize;
use ondisk::prop::{
    CHECKSUM_VERIFY, COMPRESS_BITS, HAS_RECEIVED, SUFFIX_INHERIT, SUFFIX_IUV, SUFFIX_RECEIVED, UNLIMITED,
};
use ondisk::{ChecksumKind, CompressKind, version};
use stdx::names::is_at_or_below;

use super::Dsl;
use super::dataset::Core;
use super::dir::{Dir, Used};
use crate::Result;
use crate::prop::{FsProps, RawProps, RawValue, default_of};
use crate::sums::Sums;

/// Slots of a dnode under `dnodesize=auto`.
const AUTO_DNODE_SLOTS: u8 = 2;
const DNODE_SLOT: u64 = 512;

/// The property ZAPs from a directory up to the root, read once.
#[derive(Clone)]
pub(crate) struct Chain(Arc<Level>);

struct Level {
    dir_name: String,
    values: HashMap<String, Value>,
    above: Option<Chain>,
    /// What a dataset does that nobody told whether to compress.
    compresses: bool,
}

impl Chain {
    /// Reads a directory's ZAP; `above` is its parent's chain.
    pub fn read(dsl: &Dsl, dir: &Dir, dir_name: String, above: Option<Chain>) -> Result<Chain> {
        let values = read_zap(dsl, dir.phys().props_zapobj)?;
        let compresses = dsl.parts.env.tunable(Tunable::DefaultCompression) != 0;
        Ok(Chain(Arc::new(Level { dir_name, values, above, compresses })))
    }

    /// Of a directory and all above it.
    pub fn of(dsl: &Dsl, dir: &Arc<Dir>) -> Result<Chain> {
        let above = dir.parent().map(|parent| Chain::of(dsl, &parent)).transpose()?;
        Chain::read(dsl, dir, dir.name(), above)
    }

    pub fn dir_name(&self) -> &str {
        &self.0.dir_name
    }

    /// What is stored for the directory itself.
    pub fn values(&self) -> &HashMap<String, Value> {
        &self.0.values
    }

    /// The names of users' properties set here or above.
    pub fn user_names(&self) -> Vec<String> {
        let mut names = self.0.above.as_ref().map_or_else(Vec::new, Chain::user_names);
        names.extend(self.0.values.keys().filter_map(|name| user_name(name)));
        names.sort();
        names.dedup();
        names
    }

    /// The value of a name and where it comes from; `None` where nobody set it. `below` says that
    /// the dataset itself is further down (or a snapshot).
    fn find(
        &self,
        name: &str,
        inherited: bool,
        known: &dyn Fn(&Value) -> bool,
        below: bool,
    ) -> Option<(Value, Source)> {
        let level = &*self.0;
        let from = || if below { Source::Inherited(level.dir_name.clone()) } else { Source::Local };
        if let Some(value) = level.values.get(&format!("{name}{SUFFIX_IUV}")).filter(|value| known(value)) {
            return Some((value.clone(), from()));
        }
        if let Some(value) = level.values.get(name) {
            return Some((value.clone(), from()));
        }
        if !level.values.contains_key(&format!("{name}{SUFFIX_INHERIT}"))
            && let Some(value) = level.values.get(&format!("{name}{SUFFIX_RECEIVED}"))
        {
            return Some((value.clone(), if below { from() } else { Source::Received }));
        }
        if !inherited {
            return None;
        }
        level.above.as_ref()?.find(name, inherited, known, true)
    }

    /// The effective value of a property; `own` are a snapshot's own values.
    pub fn value(&self, prop: DatasetProperty, own: Option<&Own>) -> (RawValue, Source) {
        let row = prop.row();
        let known = |value: &Value| match row.kind {
            PropType::Choice(..) => row.word_of(value.first()).is_some(),
            _ => true,
        };
        let inherited = row.is_inherited();
        let above = || match own {
            Some(_) if !inherited => None,
            _ => self.find(row.name, inherited, &known, own.is_some()),
        };
        match own.and_then(|own| own.find(row.name, inherited)).or_else(above) {
            Some((value, source)) => (raw(row, &value), source),
            None => (self.default_of(prop), Source::Default),
        }
    }

    fn default_of(&self, prop: DatasetProperty) -> RawValue {
        match prop {
            DatasetProperty::Compression if !self.0.compresses => RawValue::Number(CompressKind::Off as u64),
            _ => default_of(prop.row()),
        }
    }

    /// The effective value of a user's property.
    pub fn user_value(&self, name: &str, own: Option<&Own>) -> Option<(RawValue, Source)> {
        let found = own
            .and_then(|own| own.find(name, true))
            .or_else(|| self.find(name, true, &|_| true, own.is_some()))?;
        Some((RawValue::from_zap(&found.0), found.1))
    }
}

/// The properties a snapshot has itself.
pub(crate) struct Own {
    pub values: HashMap<String, Value>,
}

impl Own {
    pub fn read(dsl: &Dsl, props_obj: u64) -> Result<Own> {
        let values = if props_obj == 0 { HashMap::new() } else { read_zap(dsl, props_obj)? };
        Ok(Own { values })
    }

    pub fn user_names(&self) -> Vec<String> {
        self.values.keys().filter_map(|name| user_name(name)).collect()
    }

    fn find(&self, name: &str, inherited: bool) -> Option<(Value, Source)> {
        if let Some(value) = self.values.get(name) {
            return Some((value.clone(), Source::Local));
        }
        let hidden = inherited && self.values.contains_key(&format!("{name}{SUFFIX_INHERIT}"));
        let received = self.values.get(&format!("{name}{SUFFIX_RECEIVED}")).filter(|_| !hidden)?;
        Some((received.clone(), Source::Received))
    }
}

fn user_name(stored: &str) -> Option<String> {
    let name = stored.split('$').next().unwrap_or(stored);
    name.contains(':').then(|| name.to_owned())
}

/// A stored value as what the property has.
pub(super) fn raw(row: &PropertyDef, value: &Value) -> RawValue {
    match row.kind {
        PropType::Text(_) => RawValue::Text(value.as_text().unwrap_or("").to_owned()),
        _ => RawValue::Number(value.first()),
    }
}

/// Whether a property's name may have something behind it.
fn fits(name: &str, suffix: &str) -> bool {
    name.len() + suffix.len() <= ondisk::zap::MAX_NAME
}

/// What a stream with properties takes away from a dataset that did not tell them from others.
fn is_cleared(stored: &str) -> bool {
    match DatasetProperty::named(stored) {
        Some(prop) => prop.row().edit() == Edit::Always && prop != DatasetProperty::Volsize,
        None => stored.contains(':') && !stored.contains('$'),
    }
}

fn read_zap(dsl: &Dsl, object: u64) -> Result<HashMap<String, Value>> {
    Ok(dsl.mos.entries(object)?.into_iter().collect())
}

impl Dsl {
    /// The effective properties of a dataset.
    pub fn fs_props(&self, object: u64) -> Result<FsProps> {
        let phys = self.mos.dataset(object)?;
        let dir = self.dir(phys.dir_obj)?;
        let chain = Chain::of(self, &dir)?;
        let own = phys.is_snapshot().then(|| Own::read(self, phys.props_obj)).transpose()?;
        let settable = DatasetProperty::ALL.iter().filter(|prop| prop.row().edit() != Edit::Never);
        let values = settable.map(|prop| {
            let (value, source) = chain.value(*prop, own.as_ref());
            (prop.row().name, value, source)
        });
        Ok(FsProps { values: values.collect() })
    }

    /// Stores local values and tells the directories and datasets whom they concern. Syncing
    /// context.
    pub(crate) fn write_props(&self, dir: &Arc<Dir>, props: &RawProps, tx: &Tx) -> Result<()> {
        for (name, value) in &props.local {
            self.write_prop(dir, name, Some(value), tx)?;
        }
        Ok(())
    }

    /// Sets one, or with `None` takes the local value away.
    pub(crate) fn write_prop(
        &self,
        dir: &Arc<Dir>,
        name: &str,
        value: Option<&RawValue>,
        tx: &Tx,
    ) -> Result<()> {
        let zap = dir.phys().props_zapobj;
        self.mos.remove(zap, &format!("{name}{SUFFIX_IUV}"), tx)?;
        match value {
            Some(value) => {
                self.mos.remove(zap, &format!("{name}{SUFFIX_INHERIT}"), tx)?;
                self.mos.set(zap, name, value.to_zap(), tx)?;
            }
            None => {
                self.mos.remove(zap, name, tx)?;
                // What was received before counts no more, nor what comes with later streams.
                if self.tells_received(dir)? && fits(name, SUFFIX_INHERIT) {
                    self.mos.set(zap, &format!("{name}{SUFFIX_INHERIT}"), 0u64, tx)?;
                }
            }
        }
        self.apply(dir, name, value.and_then(RawValue::number), tx)
    }

    /// What a stream may carry of a dataset or snapshot: properties that it has itself, or with
    /// `received` those that it was sent.
    pub fn sendable_props(&self, name: &str, received: bool) -> Result<Vec<(String, RawValue)>> {
        let _config = self.reading();
        let found = self.find(name)?;
        let zap = if found.is_snapshot() { found.phys.props_obj } else { found.dir.phys().props_zapobj };
        let values = if zap == 0 { HashMap::new() } else { read_zap(self, zap)? };
        let mut names: Vec<&str> = values.keys().filter_map(|stored| stored.split('$').next()).collect();
        names.sort_unstable();
        names.dedup();
        let mut props = Vec::new();
        for name in names {
            let is_settable = match DatasetProperty::named(name) {
                Some(prop) => prop.row().edit() == Edit::Always,
                None => name.contains(':'),
            };
            let with = |suffix: &str| values.get(&format!("{name}{suffix}"));
            let own = with(SUFFIX_IUV).or_else(|| values.get(name)).filter(|_| !received);
            let sent = with(SUFFIX_RECEIVED).filter(|_| received || with(SUFFIX_INHERIT).is_none());
            if let Some(value) = own.or(sent).filter(|_| is_settable) {
                props.push((name.to_owned(), RawValue::from_zap(value)));
            }
        }
        Ok(props)
    }

    /// Whether a dataset tells what it received from what was set: it was received with properties,
    /// or one above it was.
    fn tells_received(&self, dir: &Arc<Dir>) -> Result<bool> {
        for dir in dir.and_above() {
            if self.mos.find_value(dir.phys().props_zapobj, HAS_RECEIVED)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Stores what a stream says of a dataset, in place of what streams said before; as long as
    /// those cannot be told from others, all that it has counts as such. Limits that do not fit any
    /// more are left out. Syncing context.
    pub(crate) fn write_received(&self, dir: &Arc<Dir>, props: &[(String, RawValue)], tx: &Tx) -> Result<()> {
        let zap = dir.phys().props_zapobj;
        let old = self.version() < version::RECEIVED_PROPS;
        let before = read_zap(self, zap)?;
        if !self.tells_received(dir)? {
            for name in before.keys().filter(|name| is_cleared(name)) {
                if !(old && props.iter().any(|(kept, _)| kept == name)) {
                    self.write_prop(dir, name, None, tx)?;
                }
            }
        }
        let before = read_zap(self, zap)?;
        let is_own =
            |name: &str| before.contains_key(name) || before.contains_key(&format!("{name}{SUFFIX_INHERIT}"));
        for name in before.keys().filter_map(|stored| stored.strip_suffix(SUFFIX_RECEIVED)) {
            if !props.iter().any(|(kept, _)| kept == name) {
                self.mos.remove(zap, &format!("{name}{SUFFIX_RECEIVED}"), tx)?;
                if !is_own(name) {
                    self.apply(dir, name, None, tx)?;
                }
            }
        }
        for (name, value) in props {
            if !fits(name, SUFFIX_RECEIVED) {
                tracing::warn!(dataset = dir.name(), name, "the name of a received property is too long");
                continue;
            }
            let number = value.number().unwrap_or(0);
            let is_reservation = matches!(name.as_str(), "reservation" | "refreservation");
            if is_reservation && number > dir.available(self.pool_size(), None, false) {
                tracing::warn!(dataset = dir.name(), name, number, "a received reservation does not fit");
                continue;
            }
            if crate::prop::is_too_new(name, value, self.version()) {
                tracing::warn!(dataset = dir.name(), name, "the pool is too old for a received property");
                continue;
            }
            if old {
                // Such pools do not tell one from the other.
                self.write_prop(dir, name, Some(value), tx)?;
                continue;
            }
            self.mos.set(zap, &format!("{name}{SUFFIX_RECEIVED}"), value.to_zap(), tx)?;
            if !is_own(name) {
                self.apply(dir, name, value.number(), tx)?;
            }
        }
        if old { Ok(()) } else { Ok(self.mos.set(zap, HAS_RECEIVED, 0u64, tx)?) }
    }

    /// What a property changes beside its value: limits are kept in the directory or dataset
    /// itself, too, and zstd is in use as soon as it is asked for
    /// (`dsl_dataset_set_compression_sync`). `None`: it is set no more.
    fn apply(&self, dir: &Arc<Dir>, name: &str, limit: Option<u64>, tx: &Tx) -> Result<()> {
        let head = dir.phys().head_dataset_obj;
        let number = limit.unwrap_or(0);
        match name {
            "quota" => dir.edit(&self.mos, tx, |phys| phys.quota = number)?,
            "reservation" => dir.set_reserved(&self.mos, number, tx)?,
            "refquota" => {
                if let Some(open) = self.if_open(head) {
                    open.core.state(|state| state.quota = number);
                }
            }
            "filesystem_limit" | "snapshot_limit" if limit.is_some_and(|limit| limit != UNLIMITED) => {
                self.begin_counting(dir, tx)?;
            }
            "refreservation" if head != 0 => self.set_refreservation(dir, head, number, tx)?,
            "compression" if head != 0 && compress_kind(number) == Some(CompressKind::Zstd) => {
                self.use_feature(head, "zstd_compress", tx)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn set_refreservation(&self, dir: &Arc<Dir>, head: u64, number: u64, tx: &Tx) -> Result<()> {
        let phys = self.mos.dataset(head)?;
        let is_known = phys.flags & FLAG_UNIQUE_ACCURATE != 0;
        let unique = if is_known { phys.unique_bytes } else { self.recount_unique(head, tx)?.unique_bytes };
        let before = self.mos_refreserved(dir)?;
        let delta = number.saturating_sub(unique).wrapping_sub(before.saturating_sub(unique)) as i64;
        dir.used(&self.mos, Used::RefReserve, Sums::allocated(delta), tx)?;
        if let Some(open) = self.if_open(head) {
            open.core.state(|state| state.reserved = number);
        }
        Ok(())
    }

    /// The refreservation that is accounted for now: what the directory holds back plus what is
    /// unique already.
    fn mos_refreserved(&self, dir: &Arc<Dir>) -> Result<u64> {
        let phys = dir.phys();
        if phys.used_refrsrv == 0 {
            return Ok(0);
        }
        Ok(phys.used_refrsrv + self.mos.dataset(phys.head_dataset_obj)?.unique_bytes)
    }

    /// How the blocks of a dataset with these properties are written from now on.
    pub(super) fn policy_for(&self, core: &Core, props: &FsProps) -> ObjsetPolicy {
        let policy = self.policy(props);
        core.set_dedups(policy.dedup.is_some());
        policy
    }

    fn policy(&self, props: &FsProps) -> ObjsetPolicy {
        let features = self.features();
        let metadata_compression = features.metadata_compression();
        let compression = props.number("compression");
        let compression_kind = compress_kind(compression);
        let checksum = ChecksumKind::from_raw(props.number("checksum") as u8);
        let slots = match props.number("dnodesize") {
            _ if !features.is_enabled("large_dnode") => 1,
            0 => 1,
            1 => AUTO_DNODE_SLOTS,
            bytes => (bytes / DNODE_SLOT).clamp(1, 32) as u8,
        };
        let (objects, projects) =
            (features.is_enabled("userobj_accounting"), features.is_enabled("project_quota"));
        ObjsetPolicy {
            checksum: match checksum {
                None | Some(ChecksumKind::On | ChecksumKind::Inherit) => ChecksumKind::Fletcher4,
                Some(kind) => kind,
            },
            compression: match compression_kind {
                None | Some(CompressKind::On | CompressKind::Inherit) => metadata_compression,
                Some(kind) => kind,
            },
            complevel: (compression >> COMPRESS_BITS) as i32,
            copies: props.number("copies").clamp(1, 3) as u8,
            max_copies: 3,
            redundant_metadata: match props.number("redundant_metadata") {
                1 => RedundantMetadata::Most,
                2 => RedundantMetadata::Some,
                3 => RedundantMetadata::None,
                _ => RedundantMetadata::All,
            },
            metadata_compression,
            recordsize: props.number("recordsize").clamp(512, MAX_BLOCK) as u32,
            dnode_slots: slots,
            embedded_data: features.is_active("embedded_data"),
            hole_birth: features.is_active("hole_birth"),
            objset_size: if projects { ObjsetSize::V3 } else { ObjsetSize::V2 },
            used_in_bytes: true,
            account_space: true,
            account_objects: objects,
            account_projects: projects,
            keep: Keep {
                primary: Scope::from_raw(props.number("primarycache")),
                secondary: Scope::from_raw(props.number("secondarycache")),
            },
            special_small: props.number("special_small_blocks"),
            dedup: dedup_of(props.number("dedup")),
        }
        .of_pool(self.version())
    }

    /// Open datasets at and below a directory take over their properties.
    pub(crate) fn refresh_policies(&self, name: &str) -> Result<()> {
        for dataset in self.open_datasets() {
            if is_at_or_below(&dataset.core.dir.name(), name) && !dataset.is_snapshot() {
                let props = self.fs_props(dataset.object())?;
                dataset.objset().set_policy(self.policy_for(&dataset.core, &props));
            }
        }
        Ok(())
    }

    /// The value a dataset itself has of a property that is not inherited.
    pub(crate) fn local_number(&self, dir: &Dir, name: &str) -> std::result::Result<u64, DmuError> {
        let zap = dir.phys().props_zapobj;
        if let Some(number) = self.mos.find(zap, name)? {
            return Ok(number);
        }
        if self.mos.find_value(zap, &format!("{name}{SUFFIX_INHERIT}"))?.is_none()
            && let Some(number) = self.mos.find(zap, &format!("{name}{SUFFIX_RECEIVED}"))?
        {
            return Ok(number);
        }
        let default = DatasetProperty::named(name).map(|prop| default_of(prop.row()));
        Ok(default.and_then(|value| value.number()).unwrap_or(0))
    }
}

/// The algorithm that a number of `compression` asks for; its level is left out.
fn compress_kind(number: u64) -> Option<CompressKind> {
    CompressKind::from_raw((number & ((1 << COMPRESS_BITS) - 1)) as u8)
}

/// What a number of `dedup` asks for. A checksum that is not to be trusted alone is verified
/// (`dmu_write_policy`).
fn dedup_of(number: u64) -> Option<(ChecksumKind, Dedup)> {
    let checksum = match ChecksumKind::from_raw((number & !CHECKSUM_VERIFY) as u8)? {
        ChecksumKind::On => ChecksumKind::Sha256,
        ChecksumKind::Off | ChecksumKind::Inherit => return None,
        checksum => checksum,
    };
    let verify = number & CHECKSUM_VERIFY != 0 || !checksum.is_dedup_strength();
    Some((checksum, if verify { Dedup::Verify } else { Dedup::On }))
}
