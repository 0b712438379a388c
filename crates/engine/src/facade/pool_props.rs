//! Properties of pools: those of a new one judged, those of an imported one gathered.

use ::pool::PoolError;
use ::pool::feature::{is_allowed, is_built};
use ::pool::prop::{Checker, RawProps, RawValue, default_of, exact, parse_pool_value};
use engine_api::{
    DatasetKind, Error, FeatureInfo, PoolProperty, PoolSpec, PoolStatus, PropKind, PropValue, PropertyChange,
    Result, Source, Upgradable,
};
use ondisk::feature::{self, Feature, READONLY_COMPAT};
use ondisk::version;
use refusal::{Action, NameFault, PropertyFault, Refused};

use super::cachefile::CacheFile;
use super::change::pairs;
use super::compatibility::members;
use super::convert::api_error;
use super::pool::LocalPool;

/// What the options of `zpool create` come to.
pub(super) struct ForCreate {
    pub version: u64,
    pub features: Vec<&'static Feature>,
    pub ashift: Option<u64>,
    /// To be kept in the pool.
    pub stored: Vec<(String, String)>,
    pub compatibility: Option<String>,
    pub comment: Option<String>,
    pub cachefile: CacheFile,
}

pub(super) fn for_create(spec: &PoolSpec) -> Result<ForCreate> {
    check_name(&spec.name)?;
    let action = Action::Create { name: spec.name.clone() };
    let refuse = |fault: PropertyFault| Refused::new(action.clone(), fault);
    let mut made = ForCreate {
        version: version::FEATURES,
        features: Vec::new(),
        ashift: None,
        stored: Vec::new(),
        compatibility: None,
        comment: None,
        cachefile: CacheFile::of_new(&spec.props, spec.altroot.is_some() || spec.temporary_name.is_some())
            .map_err(refuse)?,
    };
    let mut wanted: Vec<(&'static Feature, bool)> = Vec::new();
    for PropertyChange { name, value } in &spec.props {
        if let Some(short) = name.strip_prefix("feature@") {
            wanted.push((named_feature(short, value, &refuse)?, value == "enabled"));
            continue;
        }
        match name.as_str() {
            "compatibility" => made.compatibility = Some(value.clone()),
            "version" => {
                let number = value.parse().unwrap_or(0);
                if !version::is_known(number) {
                    return Err(refuse(PropertyFault::NoVersion { version: number }).into());
                }
                made.version = number;
            }
            "cachefile" | "altroot" => {}
            _ => {
                let (prop, raw) = parse_pool_value(name, value, &action).map_err(api_error)?;
                if prop == PoolProperty::Comment {
                    made.comment = Some(value.clone());
                    continue;
                }
                if prop == PoolProperty::Ashift {
                    made.ashift = raw.number().filter(|shift| *shift != 0);
                }
                made.stored.push((prop.row().name.to_owned(), value.clone()));
            }
        }
    }
    if made.version < version::FEATURES {
        return match wanted.is_empty() {
            true => Ok(made),
            false => Err(refuse(PropertyFault::FeatureWithVersion).into()),
        };
    }
    made.features = features(spec, &made.compatibility, &wanted).map_err(refuse)?;
    let missing = not_built(spec);
    if !missing.is_empty() {
        tracing::info!(
            features = missing.join(","),
            "features of the set that are not built and stay disabled"
        );
    }
    Ok(made)
}

fn named_feature(
    name: &str,
    value: &str,
    refuse: &dyn Fn(PropertyFault) -> Refused,
) -> Result<&'static Feature> {
    let unknown = || refuse(PropertyFault::UnknownFeature { feature: name.to_owned() });
    let feature = feature::by_name(name).ok_or_else(unknown)?;
    match value {
        "enabled" if !is_allowed(feature) => Err(Error::Unsupported(format!("feature@{}", feature.name))),
        "enabled" | "disabled" => Ok(feature),
        _ => Err(refuse(PropertyFault::FeatureValue { feature: name.to_owned(), creating: true }).into()),
    }
}

/// Features that the new pool was to have and this program has not.
fn not_built(spec: &PoolSpec) -> Vec<&'static str> {
    if spec.no_features {
        return Vec::new();
    }
    let option = |name: &str| spec.props.iter().rev().find(|prop| prop.name == name);
    let Ok(names) = members(option("compatibility").map(|prop| prop.value.as_str())) else {
        return Vec::new();
    };
    let missing = |name: &&str| {
        feature::by_name(name).is_some_and(|feature| !is_built(feature))
            && option(&format!("feature@{name}")).is_none()
    };
    names.into_iter().filter(missing).collect()
}

fn features(
    spec: &PoolSpec,
    compatibility: &Option<String>,
    wanted: &[(&'static Feature, bool)],
) -> std::result::Result<Vec<&'static Feature>, PropertyFault> {
    let names = if spec.no_features { Vec::new() } else { members(compatibility.as_deref())? };
    let mut features: Vec<&'static Feature> =
        names.iter().filter_map(|name| feature::by_name(name)).collect();
    features.retain(|feature| is_built(feature));
    for &(feature, enabled) in wanted {
        features.retain(|other| other.name != feature.name);
        if enabled {
            features.push(feature);
        }
    }
    Ok(features)
}

/// Refuses names that OpenZFS refuses.
pub(super) fn check_name(name: &str) -> Result<()> {
    match name_fault(name) {
        Some(fault) => Err(Refused::new(Action::Create { name: name.to_owned() }, fault).into()),
        None => Ok(()),
    }
}

fn name_fault(name: &str) -> Option<NameFault> {
    let reserved = |word: &str| name == word || (name.starts_with(word) && word != "log");
    if name.len() > 255 - 2 - "$ORIGIN@$ORIGIN".len() {
        return Some(NameFault::PoolTooLong);
    }
    match name.chars().next() {
        None => return Some(NameFault::PoolMissing),
        Some(first) if !first.is_ascii_alphabetic() => return Some(NameFault::PoolBegin),
        Some(_) => {}
    }
    let bad = name.chars().find(|c| !(c.is_ascii_alphanumeric() || "_-.: ".contains(*c)));
    if let Some(bad) = bad {
        return Some(NameFault::PoolCharacter(bad));
    }
    let is_reserved = ["mirror", "raidz", "draid", "spare"].into_iter().any(reserved) || name == "log";
    is_reserved.then_some(NameFault::PoolReserved)
}

impl ForCreate {
    /// Properties of the root dataset, checked.
    pub fn root_props(&self, action: Action, props: &[PropertyChange]) -> Result<RawProps> {
        let has_feature = |name: &str| self.features.iter().any(|feature| feature.name == name);
        let (of, version) = (DatasetKind::Filesystem, self.version);
        let checker = Checker { action, of, creating: true, version, has_feature: &has_feature };
        checker.all(&pairs(props)).map_err(api_error)
    }
}

/// The features that pools can be given.
pub(super) fn supported() -> Vec<FeatureInfo> {
    let info = |feature: &Feature| FeatureInfo {
        name: feature.name.to_owned(),
        description: feature.description.to_owned(),
        readonly_compatible: feature.is(READONLY_COMPAT),
    };
    feature::FEATURES.iter().filter(|feature| is_built(feature)).map(info).collect()
}

/// What an upgrade of the pool would bring.
pub(super) fn upgradable(pool: &::pool::Pool) -> Upgradable {
    let compatibility = pool.config().compatibility;
    let admitted: Option<Vec<&str>> = match compatibility.as_deref() {
        None | Some("off") => None,
        // A set that cannot be read admits nothing.
        sets => Some(members(sets).unwrap_or_default()),
    };
    let has = |feature: &&Feature| pool.core().features.is_enabled(feature.name);
    let disabled = feature::FEATURES.iter().filter(|feature| is_built(feature) && !has(feature));
    let disabled: Vec<&str> = disabled.map(|feature| feature.name).collect();
    let is_admitted = |name: &&&str| admitted.as_ref().is_none_or(|admitted| admitted.contains(*name));
    Upgradable {
        version: pool.core().version(),
        requested: disabled.iter().filter(is_admitted).map(|name| (*name).to_owned()).collect(),
        disabled: disabled.iter().map(|name| (*name).to_owned()).collect(),
        stays_legacy: compatibility.as_deref() == Some("legacy"),
    }
}

/// All properties of a pool, or those named.
pub(super) fn all(pool: &LocalPool, status: &PoolStatus, names: &[String]) -> Result<Vec<PropValue>> {
    let cachefile = pool.cachefile_shown();
    let pool: &::pool::Pool = pool.inner();
    let stored = pool.dsl.pool_props().map_err(api_error)?;
    let subject = Subject { pool, status, cachefile, stored };
    let mut values: Vec<PropValue> = Vec::new();
    for prop in PoolProperty::ALL {
        let row = prop.row();
        if row.is_listed() || names.iter().any(|name| name == row.name) {
            let (value, source) = subject.value_of(*prop)?;
            let (name, kind) = (row.name.to_owned(), row.reads.kind());
            values.push(PropValue { name, value, kind, source, received: None });
        }
    }
    values.extend(feature_values(pool));
    if names.is_empty() {
        return Ok(values);
    }
    let mut chosen = Vec::new();
    for name in names {
        let found = values.iter().find(|value| value.name == *name);
        let unknown = || Refused::because(PropertyFault::Unknown { property: name.clone() });
        chosen.push(found.cloned().ok_or_else(unknown)?);
    }
    Ok(chosen)
}

/// `bootfs` is kept as a number, and shown by the name that its dataset has now.
fn boot_of(pool: &::pool::Pool, object: u64) -> Result<(String, Source)> {
    match pool.dsl.dataset_name(object) {
        _ if object == 0 => Ok((String::new(), Source::Default)),
        Ok(name) => Ok((name, Source::Local)),
        // Nothing has that number any more.
        Err(PoolError::NotFound | PoolError::Corrupt(_)) => Ok((String::new(), Source::Default)),
        Err(error) => Err(api_error(error)),
    }
}

fn feature_values(pool: &::pool::Pool) -> Vec<PropValue> {
    let features = &pool.core().features;
    let mut values = Vec::new();
    for feature in feature::FEATURES {
        let (state, source) = match features.count(feature.name) {
            None => ("disabled", Source::Local),
            Some(0) => ("enabled", Source::Local),
            Some(_) => ("active", Source::Local),
        };
        let name = format!("feature@{}", feature.name);
        values.push(PropValue { name, value: state.into(), kind: PropKind::Text, source, received: None });
    }
    for (guid, count) in features.all() {
        if feature::by_guid(&guid).is_none() {
            let state = if count > 0 { "readonly" } else { "inactive" };
            let name = format!("unsupported@{guid}");
            let (value, source) = (state.into(), Source::Local);
            values.push(PropValue { name, value, kind: PropKind::Text, source, received: None });
        }
    }
    values
}

/// A pool about to be described.
struct Subject<'a> {
    pool: &'a ::pool::Pool,
    status: &'a PoolStatus,
    cachefile: Option<String>,
    /// What the pool keeps in its property ZAP.
    stored: Vec<(String, RawValue)>,
}

impl Subject<'_> {
    fn stored(&self, prop: PoolProperty) -> Option<&RawValue> {
        self.stored.iter().find(|(name, _)| name == prop.row().name).map(|(_, raw)| raw)
    }

    /// The stored value, or the default.
    fn kept(&self, prop: PoolProperty) -> (String, Source) {
        let row = prop.row();
        match self.stored(prop) {
            Some(raw) => (exact(row, raw), Source::Local),
            None => (exact(row, &default_of(row)), Source::Default),
        }
    }

    /// What is kept elsewhere, if anything is.
    fn or_kept(&self, text: Option<String>, prop: PoolProperty) -> (String, Source) {
        text.map_or_else(|| self.kept(prop), |text| (text, Source::Local))
    }

    /// The value of a property, wherever it is kept. Each property has its arm.
    fn value_of(&self, prop: PoolProperty) -> Result<(String, Source)> {
        use PoolProperty::*;
        let (core, root, status) = (self.pool.core(), &self.status.root, self.status);
        let text = |text: &str| (text.to_owned(), Source::None);
        let stat = |number: u64| (number.to_string(), Source::None);
        let unset = || (prop.row().default_text(), Source::Default);
        Ok(match prop {
            Size => stat(root.size),
            Allocated => stat(root.allocated),
            Free => stat(root.size.saturating_sub(root.allocated)),
            Capacity => stat((root.allocated * 100).checked_div(root.size).unwrap_or(0)),
            Fragmentation => {
                (root.fragmentation.map_or_else(String::new, |percent| percent.to_string()), Source::None)
            }
            Health => text(status.health.name()),
            Guid | LoadGuid => stat(status.guid),
            Freeing => stat(self.pool.dsl.freeing()),
            Dedupratio => {
                let ratio = core.ddt.report().ratio();
                (format!("{}.{:02}", ratio / 100, ratio % 100), Source::None)
            }
            Leaked | Bcloneused | Bclonesaved => stat(0),
            Bcloneratio => text("1.00"),
            DedupTableSize => stat(core.ddt.report().on_disk),
            DedupTableQuota => unset(),
            LastScrubbedTxg => stat(core.scan.last_scrubbed()),
            Expandsize if root.expandable > 0 => stat(root.expandable),
            Checkpoint if root.checkpoint > 0 => stat(root.checkpoint),
            Expandsize | Checkpoint => text(""),
            Readonly => text(if status.readonly { "on" } else { "off" }),
            Altroot => core.altroot.clone().map_or_else(unset, |root| (root, Source::Local)),
            Version if core.version() == version::FEATURES => unset(),
            Version => (core.version().to_string(), Source::Local),
            Comment => self.or_kept(self.pool.config().comment, prop),
            Compatibility => self.or_kept(self.pool.config().compatibility, prop),
            Cachefile => self.or_kept(self.cachefile.clone(), prop),
            Bootfs => match self.stored(prop) {
                Some(RawValue::Number(object)) => boot_of(self.pool, *object)?,
                _ => self.kept(prop),
            },
            Delegation | Autoreplace | Failmode | Listsnapshots | Autoexpand | Ashift | Multihost
            | Autotrim | Name | Maxblocksize | Maxdnodesize | Tname => self.kept(prop),
        })
    }
}

#[cfg(test)]
mod tests;
