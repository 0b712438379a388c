//! Whether a value may be set.

use ondisk::blkptr::MAX_BLOCK;
use ondisk::prop::{self, Prop, PropType, UserspaceProp, dataset_prop, pool_prop};
use ondisk::version::{self, newest_file_system};
use ondisk::znode::VERSION_FUID;
use refusal::{Action, PropertyFault, Refused};
use stdx::number;

use super::{CREATION, RawProps, RawValue, none_number};
use crate::namecheck::MAX_NAME;
use crate::{PoolError, Result};

/// The number of `refreservation=auto` until it is known.
pub const AUTO: u64 = u64::MAX;

/// Known, but of no effect here unless at their default.
const UNBUILT: [&str; 8] =
    ["encryption", "keyformat", "keylocation", "pbkdf2iters", "mlslabel", "longname", "zoned", "nbmand"];

/// Largest record without `large_blocks`.
const OLD_MAX: u64 = 128 << 10;
/// Largest block of data that special vdevs take.
const SPECIAL_MAX: u64 = 1 << 20;

/// Whether this program does what the value says.
pub fn is_built(prop: &Prop, value: &RawValue) -> bool {
    !UNBUILT.contains(&prop.name) || *value == super::default_of(prop)
}

/// Judges values for one dataset.
pub struct Checker<'a> {
    /// What is refused with a value.
    pub action: Action,
    /// What kind of dataset it is: [`prop::FILESYSTEM`] or [`prop::VOLUME`].
    pub of: u8,
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
            (Some(1..), Some(0)) => {
                return Err(self.refuse(PropertyFault::Utf8Needed));
            }
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
        let Some(prop) = dataset_prop(name) else {
            return Err(self.refuse(PropertyFault::Unknown { property }));
        };
        if !prop.is_of(self.of) {
            return Err(self.refuse(PropertyFault::NotOfThisType { property }));
        }
        if prop.is_readonly() || (prop.is_once() && !self.creating) {
            return Err(self.refuse(PropertyFault::ReadOnly { property }));
        }
        let raw = self.parse(name, prop, value)?;
        self.built(prop, value, &raw)?;
        self.sensible(name, prop, value, &raw)?;
        Ok((prop.name.to_owned(), raw))
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

    fn parse(&self, name: &str, prop: &Prop, value: &str) -> Result<RawValue> {
        match prop.kind {
            PropType::Text(_) => {
                if value.len() >= prop::MAX_TEXT || value.contains('\0') {
                    return Err(self.refuse(PropertyFault::TextTooLong { property: name.to_owned() }));
                }
                Ok(RawValue::Text(value.to_owned()))
            }
            PropType::Choice(..) => {
                let number = prop.number_of(value).map(RawValue::Number);
                number.ok_or_else(|| self.refuse(none_of(prop)))
            }
            PropType::Number(_) if value == "auto" => self.auto(name, prop),
            PropType::Number(_) if value == "none" => Ok(RawValue::Number(none_number(prop.name))),
            PropType::Number(_) => {
                let number =
                    number::parse(value).map_err(|message| self.refuse(PropertyFault::Number { message }))?;
                if number == 0 && matches!(prop.name, "quota" | "refquota") {
                    return Err(self.refuse(PropertyFault::UseNone));
                }
                Ok(RawValue::Number(number))
            }
        }
    }

    /// As large as it has to be: whoever knows the dataset finds out.
    fn auto(&self, name: &str, prop: &Prop) -> Result<RawValue> {
        let property = name.to_owned();
        match prop.name {
            "refreservation" if self.of == prop::VOLUME => Ok(RawValue::Number(AUTO)),
            "refreservation" => Err(self.refuse(PropertyFault::AutoOfVolumesOnly { property })),
            _ => Err(self.refuse(PropertyFault::NoAuto { property })),
        }
    }

    /// Values that this program could not honour are refused by name.
    fn built(&self, prop: &Prop, value: &str, raw: &RawValue) -> Result<()> {
        let refuse = || Err(PoolError::Unsupported(format!("{}={value}", prop.name)));
        if !is_built(prop, raw) {
            return refuse();
        }
        match prop.name {
            "checksum" if value == "noparity" => refuse(),
            "aclmode" if value == "nfsv4" => refuse(),
            _ => Ok(()),
        }
    }

    fn sensible(&self, name: &str, prop: &Prop, value: &str, raw: &RawValue) -> Result<()> {
        let number = raw.number().unwrap_or(0);
        let feature = |name: &str| (self.has_feature)(name);
        match prop.name {
            "recordsize" | "volblocksize" => {
                let (max, most) =
                    if feature("large_blocks") { (MAX_BLOCK, "16M") } else { (OLD_MAX, "128K") };
                if !number.is_power_of_two() || !(512..=max).contains(&number) {
                    let (property, most) = (name.to_owned(), most.to_owned());
                    return Err(self.refuse(PropertyFault::NoPowerOfTwo { property, most }));
                }
            }
            "special_small_blocks" if number != 0 => {
                if !number.is_power_of_two() || !(512..=SPECIAL_MAX).contains(&number) {
                    let (property, value) = (name.to_owned(), value.to_owned());
                    return Err(self.refuse(PropertyFault::SmallBlocks { property, value }));
                }
                if !feature("allocation_classes") {
                    return Err(self.refuse(PropertyFault::TooOld));
                }
            }
            "mountpoint" if value != "none" && value != "legacy" => {
                if !value.starts_with('/') {
                    return Err(self.refuse(PropertyFault::RelativeMountpoint));
                }
                if value.split('/').any(|component| component.len() > MAX_NAME) {
                    return Err(self.refuse(PropertyFault::MountpointTooLong));
                }
            }
            "filesystem_limit" | "snapshot_limit"
                if number != ondisk::prop::UNLIMITED && !feature("filesystem_limits") =>
            {
                return Err(self.refuse(PropertyFault::TooOld));
            }
            "dnodesize" if number != 0 && !feature("large_dnode") => {
                return Err(self.refuse(PropertyFault::TooOld));
            }
            "checksum" | "compression" | "dedup" if !feature_of(value).is_none_or(feature) => {
                return Err(self.refuse(PropertyFault::TooOld));
            }
            // A pool that is too old for one of these refuses the default value as well.
            "copies" | "dedup" | "refquota" | "refreservation" if since(prop.name, value) > self.version => {
                return Err(self.refuse(PropertyFault::TooOld));
            }
            _ if is_too_new(prop.name, raw, self.version) => {
                return Err(self.refuse(PropertyFault::TooOld));
            }
            "version" if number > newest_file_system(self.version) => {
                return Err(self.refuse(PropertyFault::TooOld));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether a value is one that pools of this version do not have.
pub(crate) fn is_too_new(name: &str, value: &RawValue, version: u64) -> bool {
    let native = dataset_prop(name).filter(|prop| *value != super::default_of(prop));
    native.is_some_and(|prop| since(prop.name, &super::exact(prop, value)) > version)
}

/// The version of pools that brought a property or one of its values.
fn since(name: &str, value: &str) -> u64 {
    match (name, value) {
        ("copies", _) => version::COPIES,
        ("compression", value) if value.starts_with("gzip") => version::GZIP,
        ("refquota" | "refreservation", _) => version::REF_LIMITS,
        ("aclinherit", "passthrough-x") => version::PASSTHROUGH_X,
        ("compression", "zle") => version::ZLE,
        ("dedup", _) => version::DEDUP,
        _ => version::INITIAL,
    }
}

/// The feature a checksum or compression needs.
fn feature_of(value: &str) -> Option<&'static str> {
    match value.trim_end_matches(",verify") {
        "lz4" => Some("lz4_compress"),
        "sha512" => Some("sha512"),
        "skein" => Some("skein"),
        "edonr" => Some("edonr"),
        "blake3" => Some("blake3"),
        _ => value.starts_with("zstd").then_some("zstd_compress"),
    }
}

fn none_of(prop: &Prop) -> PropertyFault {
    PropertyFault::NotOneOf { property: prop.name.to_owned(), values: prop.values.to_owned() }
}

/// A value of a pool's property, as it will be stored; `action` is refused with it.
pub fn parse_pool_value(name: &str, value: &str, action: &Action) -> Result<(&'static Prop, RawValue)> {
    let refuse = |fault: PropertyFault| PoolError::from(Refused::new(action.clone(), fault));
    let unknown = || refuse(PropertyFault::Unknown { property: name.to_owned() });
    let prop = pool_prop(name).ok_or_else(unknown)?;
    if prop.is_readonly() || prop.is_once() || prop.name == "readonly" {
        return Err(refuse(PropertyFault::ReadOnly { property: prop.name.to_owned() }));
    }
    // No table has a limit but the room for it.
    if prop.name == "dedup_table_quota" {
        return Err(PoolError::Unsupported(format!("{}={value}", prop.name)));
    }
    let raw = match prop.kind {
        PropType::Text(_) => RawValue::Text(value.to_owned()),
        PropType::Choice(..) => RawValue::Number(prop.number_of(value).ok_or_else(|| refuse(none_of(prop)))?),
        PropType::Number(_) => {
            let number = number::parse(value);
            RawValue::Number(number.map_err(|message| refuse(PropertyFault::Number { message }))?)
        }
    };
    match prop.name {
        "comment" if value.len() > 32 => Err(refuse(PropertyFault::CommentTooLong)),
        "comment" if value.chars().any(|c| !c.is_ascii_graphic() && c != ' ') => {
            Err(refuse(PropertyFault::CommentUnprintable))
        }
        "ashift" if !matches!(raw.number(), Some(0 | 9..=16)) => {
            Err(refuse(PropertyFault::Ashift { value: value.to_owned() }))
        }
        _ => Ok((prop, raw)),
    }
}
