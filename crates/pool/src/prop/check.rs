//! Whether a value may be set.

use api_types::{DatasetKind, DatasetProperty, Edit, PoolProperty, PropType, PropertyDef};
use ondisk::prop::{self, UserspaceProp};
use ondisk::version::{self, newest_file_system};
use ondisk::znode::VERSION_FUID;
use refusal::{Action, PropertyFault, Refused};
use stdx::number;

use super::{CREATION, RawProps, RawValue, default_of, exact};
use crate::namecheck::MAX_NAME;
use crate::{PoolError, Result};

/// The number of `refreservation=auto` until it is known.
pub const AUTO: u64 = u64::MAX;

/// Known, but of no effect here unless at their default.
const UNBUILT: [DatasetProperty; 8] = [
    DatasetProperty::Encryption,
    DatasetProperty::Keyformat,
    DatasetProperty::Keylocation,
    DatasetProperty::Pbkdf2iters,
    DatasetProperty::Mlslabel,
    DatasetProperty::Longname,
    DatasetProperty::Zoned,
    DatasetProperty::Nbmand,
];

/// Largest record without `large_blocks`.
const OLD_MAX: u64 = 128 << 10;

/// Whether this program does what the value says.
pub fn is_built(prop: DatasetProperty, value: &RawValue) -> bool {
    !UNBUILT.contains(&prop) || *value == default_of(prop.row())
}

/// Judges values for one dataset.
pub struct Checker<'a> {
    /// What is refused with a value.
    pub action: Action,
    /// What kind of dataset it is.
    pub of: DatasetKind,
    /// The dataset is being made: set-once properties may be given.
    pub creating: bool,
    /// Of the pool.
    pub version: u64,
    /// Whether the pool has a feature enabled.
    pub has_feature: &'a dyn Fn(&str) -> bool,
}

impl Checker<'_> {
    fn refuse(&self, fault: PropertyFault) -> PoolError {
        Refused::new(self.action.clone(), fault).into()
    }

    /// All of them, as they will be stored.
    pub fn all(&self, props: &[(String, String)]) -> Result<RawProps> {
        let mut raw = RawProps::default();
        for (name, value) in props {
            if raw.local.iter().any(|(n, _)| n == name) {
                return Err(self.refuse(PropertyFault::Twice { property: name.clone() }));
            }
            let (name, value) = self.one(name, value)?;
            let kept = CREATION.iter().find(|(n, _)| *n == name);
            match (kept, value.number()) {
                (Some((name, _)), Some(number)) => raw.creation.push((name, number)),
                _ => raw.local.push((name, value)),
            }
        }
        // File systems before FUIDs have names as they are.
        let old = |(name, number): &(&str, u64)| *name == "version" && *number < VERSION_FUID;
        if raw.creation.len() > 1 && raw.creation.iter().any(old) {
            return Err(self.refuse(PropertyFault::TooOld));
        }
        // Names that must be normalised must be UTF-8.
        let given = |wanted: &str| raw.creation.iter().find(|(name, _)| *name == wanted).map(|(_, n)| *n);
        match (given("normalization"), given("utf8only")) {
            (Some(1..), None) => raw.creation.push(("utf8only", 1)),
            (Some(1..), Some(0)) => return Err(self.refuse(PropertyFault::Utf8Needed)),
            (None, Some(0)) => raw.creation.push(("normalization", 0)),
            _ => {}
        }
        Ok(raw)
    }

    /// Of a snapshot: users' own.
    pub fn of_snapshot(&self, props: &[(String, String)]) -> Result<RawProps> {
        if props.iter().any(|(name, _)| !prop::is_user_prop(name)) {
            return Err(self.refuse(PropertyFault::NotOfSnapshots));
        }
        if self.version < version::SNAPSHOT_PROPS && !props.is_empty() {
            return Err(self.refuse(PropertyFault::TooOld));
        }
        self.all(props)
    }

    /// One, with its proper name.
    pub fn one(&self, name: &str, value: &str) -> Result<(String, RawValue)> {
        if prop::is_user_prop(name) {
            return self.user(name, value);
        }
        let property = name.to_owned();
        if UserspaceProp::parse(name).is_some() {
            return Err(self.refuse(PropertyFault::Counted { property }));
        }
        let Some(prop) = DatasetProperty::named(name) else {
            return Err(self.refuse(PropertyFault::Unknown { property }));
        };
        let row = prop.row();
        if !row.is_of(self.of) {
            return Err(self.refuse(PropertyFault::NotOfThisType { property }));
        }
        let is_settable = match row.edit() {
            Edit::Never => false,
            Edit::AtCreation => self.creating,
            Edit::Always => true,
        };
        if !is_settable {
            return Err(self.refuse(PropertyFault::ReadOnly { property }));
        }
        let raw = self.parse(name, prop, value)?;
        self.built(prop, value, &raw)?;
        match self.fault(name, prop, value, &raw) {
            Some(fault) => Err(self.refuse(fault)),
            None => Ok((row.name.to_owned(), raw)),
        }
    }

    fn user(&self, name: &str, value: &str) -> Result<(String, RawValue)> {
        if name.len() >= prop::MAX_NAME {
            return Err(self.refuse(PropertyFault::NameTooLong { property: name.to_owned() }));
        }
        if value.len() >= prop::MAX_TEXT {
            return Err(self.refuse(PropertyFault::ValueTooLong));
        }
        Ok((name.to_owned(), RawValue::Text(value.to_owned())))
    }

    fn parse(&self, name: &str, prop: DatasetProperty, value: &str) -> Result<RawValue> {
        let row = prop.row();
        match row.kind {
            PropType::Text(_) => {
                if value.len() >= prop::MAX_TEXT || value.contains('\0') {
                    return Err(self.refuse(PropertyFault::TextTooLong { property: name.to_owned() }));
                }
                Ok(RawValue::Text(value.to_owned()))
            }
            PropType::Choice(..) => {
                let number = row.number_of(value).map(RawValue::Number);
                number.ok_or_else(|| self.refuse(none_of(row)))
            }
            PropType::Number(_) | PropType::Limit(_) if value == "auto" => self.auto(name, prop),
            PropType::Limit(none) if value == "none" => Ok(RawValue::Number(none)),
            PropType::Number(_) if value == "none" => Ok(RawValue::Number(0)),
            PropType::Number(_) | PropType::Limit(_) => {
                let number =
                    number::parse(value).map_err(|message| self.refuse(PropertyFault::Number { message }))?;
                if number == 0 && matches!(prop, DatasetProperty::Quota | DatasetProperty::Refquota) {
                    return Err(self.refuse(PropertyFault::UseNone));
                }
                Ok(RawValue::Number(number))
            }
        }
    }

    /// As large as it has to be: whoever knows the dataset finds out.
    fn auto(&self, name: &str, prop: DatasetProperty) -> Result<RawValue> {
        let property = name.to_owned();
        match (prop, self.of) {
            (DatasetProperty::Refreservation, DatasetKind::Volume) => Ok(RawValue::Number(AUTO)),
            (DatasetProperty::Refreservation, _) => {
                Err(self.refuse(PropertyFault::AutoOfVolumesOnly { property }))
            }
            _ => Err(self.refuse(PropertyFault::NoAuto { property })),
        }
    }

    /// Values that this program could not honour are refused by name.
    fn built(&self, prop: DatasetProperty, value: &str, raw: &RawValue) -> Result<()> {
        if is_built(prop, raw) && (prop, value) != (DatasetProperty::Checksum, "noparity") {
            return Ok(());
        }
        Err(PoolError::Unsupported(format!("{}={value}", prop.row().name)))
    }

    /// Why a value makes no sense here.
    fn fault(&self, name: &str, prop: DatasetProperty, value: &str, raw: &RawValue) -> Option<PropertyFault> {
        let (number, property) = (raw.number().unwrap_or(0), name.to_owned());
        let is_admitted = prop.row().admits(number);
        match prop {
            DatasetProperty::Recordsize | DatasetProperty::Volblocksize => {
                let is_large = (self.has_feature)("large_blocks");
                let most = if is_large { "16M" } else { "128K" }.to_owned();
                let fits = is_admitted && (is_large || number <= OLD_MAX);
                (!fits).then_some(PropertyFault::NoPowerOfTwo { property, most })
            }
            DatasetProperty::SpecialSmallBlocks if !is_admitted => {
                Some(PropertyFault::SmallBlocks { property, value: value.to_owned() })
            }
            DatasetProperty::Mountpoint if value != "none" && value != "legacy" => {
                let is_long = value.split('/').any(|component| component.len() > MAX_NAME);
                let is_relative = !value.starts_with('/');
                let relative = is_relative.then_some(PropertyFault::RelativeMountpoint);
                relative.or(is_long.then_some(PropertyFault::MountpointTooLong))
            }
            _ => self.is_too_old_for(prop, value, raw).then_some(PropertyFault::TooOld),
        }
    }

    /// Whether the pool lacks what the value needs.
    fn is_too_old_for(&self, prop: DatasetProperty, value: &str, raw: &RawValue) -> bool {
        let row = prop.row();
        let lacks = |feature: &str| !(self.has_feature)(feature);
        let lacks_feature = match prop {
            DatasetProperty::Checksum | DatasetProperty::Compression | DatasetProperty::Dedup => {
                feature_of(value).is_some_and(lacks)
            }
            _ => *raw != default_of(row) && row.needs.is_some_and(lacks),
        };
        let is_too_old = match prop {
            // A pool that is too old for one of these refuses the default value as well.
            DatasetProperty::Copies
            | DatasetProperty::Dedup
            | DatasetProperty::Refquota
            | DatasetProperty::Refreservation => since(prop, value) > self.version,
            DatasetProperty::Version => raw.number().unwrap_or(0) > newest_file_system(self.version),
            _ => is_too_new(row.name, raw, self.version),
        };
        lacks_feature || is_too_old
    }
}

/// Whether a value is one that pools of this version do not have.
pub(crate) fn is_too_new(name: &str, value: &RawValue, version: u64) -> bool {
    let native = DatasetProperty::named(name).filter(|prop| *value != default_of(prop.row()));
    native.is_some_and(|prop| since(prop, &exact(prop.row(), value)) > version)
}

/// The version of pools that brought a property or one of its values.
fn since(prop: DatasetProperty, value: &str) -> u64 {
    match (prop, value) {
        (DatasetProperty::Copies, _) => version::COPIES,
        (DatasetProperty::Compression, value) if value.starts_with("gzip") => version::GZIP,
        (DatasetProperty::Refquota | DatasetProperty::Refreservation, _) => version::REF_LIMITS,
        (DatasetProperty::Aclinherit, "passthrough-x") => version::PASSTHROUGH_X,
        (DatasetProperty::Compression, "zle") => version::ZLE,
        (DatasetProperty::Dedup, _) => version::DEDUP,
        _ => version::INITIAL,
    }
}

/// The feature a checksum or compression needs.
fn feature_of(value: &str) -> Option<&str> {
    match value.trim_end_matches(",verify") {
        "lz4" => Some("lz4_compress"),
        name @ ("sha512" | "skein" | "edonr" | "blake3") => Some(name),
        _ => value.starts_with("zstd").then_some("zstd_compress"),
    }
}

fn none_of(row: &PropertyDef) -> PropertyFault {
    PropertyFault::NotOneOf { property: row.name.to_owned(), values: row.values.to_owned() }
}

/// A value of a pool's property, as it will be stored; `action` is refused with it.
pub fn parse_pool_value(name: &str, value: &str, action: &Action) -> Result<(PoolProperty, RawValue)> {
    let refuse = |fault: PropertyFault| PoolError::from(Refused::new(action.clone(), fault));
    let unknown = || refuse(PropertyFault::Unknown { property: name.to_owned() });
    let prop = PoolProperty::named(name).ok_or_else(unknown)?;
    let row = prop.row();
    if row.edit() != Edit::Always || prop == PoolProperty::Readonly {
        return Err(refuse(PropertyFault::ReadOnly { property: row.name.to_owned() }));
    }
    // No table has a limit but the room for it.
    if prop == PoolProperty::DedupTableQuota {
        return Err(PoolError::Unsupported(format!("{}={value}", row.name)));
    }
    let raw = match row.kind {
        PropType::Text(_) => RawValue::Text(value.to_owned()),
        PropType::Choice(..) => RawValue::Number(row.number_of(value).ok_or_else(|| refuse(none_of(row)))?),
        PropType::Number(_) | PropType::Limit(_) => {
            let number = number::parse(value);
            RawValue::Number(number.map_err(|message| refuse(PropertyFault::Number { message }))?)
        }
    };
    match prop {
        PoolProperty::Comment if value.len() > 32 => Err(refuse(PropertyFault::CommentTooLong)),
        PoolProperty::Comment if value.chars().any(|c| !c.is_ascii_graphic() && c != ' ') => {
            Err(refuse(PropertyFault::CommentUnprintable))
        }
        PoolProperty::Ashift if !raw.number().is_some_and(|number| row.admits(number)) => {
            Err(refuse(PropertyFault::Ashift { value: value.to_owned() }))
        }
        _ => Ok((prop, raw)),
    }
}
