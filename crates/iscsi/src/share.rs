//! How a volume says that it is served by iSCSI: a user property, so that it stays with the volume
//! wherever that goes.
//!
//! `on` makes the volume LUN 0 of a target of its own. Else options, with commas between them:
//!
//! | option | is |
//! |---|---|
//! | `target=iqn.…` | the target that it belongs to; several volumes may say the same |
//! | `lun=7` | its number there |
//! | `initiator=iqn.…` | who may see it, once or more often; nobody said: everybody |
//! | `group=2` | the portal groups that its target is reached by, likewise; none said: all. All volumes of a target say the same |
//! | `user=…,secret=…` | who sees it has to prove to be that, by CHAP |
//! | `mutual_user=…,mutual_secret=…` | what the target answers, where it is asked for a proof: another secret than the initiator's (RFC 7143 9.2.1) |
//! | `sealed=…`, `mutual_sealed=…` | those secrets as volumes keep them (`seal`) |

use crate::seal::unseal;

/// The property.
pub const PROPERTY: &str = "cistern:iscsi";
/// Of targets that nobody gave a name.
pub const PREFIX: &str = "iqn.2026-01.org.cistern:";
/// Longest name of a target or initiator (RFC 7143 4.2.7.1).
const MAX_NAME: usize = 223;
/// Numbers of units that REPORT LUNS can say.
const MAX_LUN: u16 = 0x3fff;

/// Who an initiator says that it is, and what proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub secret: String,
    /// The target's own, for initiators that ask.
    pub mutual: Option<(String, String)>,
}

/// What the property says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub target: Option<String>,
    pub lun: u16,
    pub initiators: Vec<String>,
    /// In order; none stands for all.
    pub groups: Vec<u16>,
    pub credentials: Option<Credentials>,
}

impl Share {
    /// Whether it is for this initiator.
    pub fn names(&self, initiator: &str) -> bool {
        self.initiators.is_empty() || self.initiators.iter().any(|one| one == initiator)
    }

    /// Whether an initiator may see it who has proved to be this user.
    pub fn admits(&self, initiator: &str, user: Option<&str>) -> bool {
        self.names(initiator) && self.credentials.as_ref().is_none_or(|own| Some(own.user.as_str()) == user)
    }

    /// Whether its target is behind the portals of a group.
    pub fn is_reached_by(&self, group: u16) -> bool {
        self.groups.is_empty() || self.groups.contains(&group)
    }

    /// The name of its target.
    pub fn target_of(&self, dataset: &str) -> String {
        self.target.clone().unwrap_or_else(|| {
            let clean = |c: char| match c.to_ascii_lowercase() {
                '/' => ':',
                c if c.is_ascii_alphanumeric() || "-.:".contains(c) => c,
                _ => '-',
            };
            let name: String = dataset.chars().map(clean).collect();
            let mut target = format!("{PREFIX}{name}");
            target.truncate(MAX_NAME);
            target
        })
    }
}

/// What a value of the property means; in words what is wrong with it, else. `None`: it is off.
pub fn parse(value: &str) -> Result<Option<Share>, String> {
    if matches!(value, "" | "off") {
        return Ok(None);
    }
    let mut share = Share::default();
    if value == "on" {
        return Ok(Some(share));
    }
    let (mut user, mut secret, mut mutual_user, mut mutual_secret) = (None, None, None, None);
    for option in value.split(',') {
        let (name, value) = option.split_once('=').ok_or_else(|| format!("'{option}' is no option"))?;
        match name {
            "target" => share.target = Some(checked_name(value)?),
            "initiator" => share.initiators.push(checked_name(value)?),
            "group" => {
                let group = value.parse().ok().filter(|group| *group > 0);
                share.groups.push(group.ok_or_else(|| format!("'{value}' is no portal group"))?);
            }
            "lun" => {
                let lun = value.parse().ok().filter(|lun| *lun <= MAX_LUN);
                share.lun = lun.ok_or_else(|| format!("'{value}' is no number of a unit"))?;
            }
            "user" => user = Some(value.to_owned()),
            "secret" => secret = Some(value.to_owned()),
            "mutual_user" => mutual_user = Some(value.to_owned()),
            "mutual_secret" => mutual_secret = Some(value.to_owned()),
            "sealed" => secret = Some(opened(value)?),
            "mutual_sealed" => mutual_secret = Some(opened(value)?),
            _ => return Err(format!("'{name}' is no option")),
        }
    }
    share.groups.sort_unstable();
    share.groups.dedup();
    let mutual = pair(mutual_user, mutual_secret)?;
    share.credentials = match (pair(user, secret)?, mutual) {
        (Some((_, secret)), Some((_, own))) if secret == own => {
            return Err("the target's secret must be another than the initiator's".into());
        }
        (Some((user, secret)), mutual) => Some(Credentials { user, secret, mutual }),
        (None, None) => None,
        (None, Some(_)) => return Err("a mutual user is nothing without a user".into()),
    };
    if share.target.is_none() && share.lun != 0 {
        return Err("a unit with a number belongs to a target".into());
    }
    Ok(Some(share))
}

/// Who, and what proves it: both or none.
fn pair(user: Option<String>, secret: Option<String>) -> Result<Option<(String, String)>, String> {
    match (user, secret) {
        (Some(user), Some(secret)) if !user.is_empty() && is_secret(&secret) => Ok(Some((user, secret))),
        (None, None) => Ok(None),
        _ => {
            Err("a user and a secret of 12 to 64 characters, without spaces and quotes, belong together"
                .into())
        }
    }
}

fn opened(sealed: &str) -> Result<String, String> {
    unseal(sealed).ok_or_else(|| "a sealed secret is not whole".to_owned())
}

/// What can be told from the text around it.
fn is_secret(secret: &str) -> bool {
    (12..=64).contains(&secret.len()) && !secret.contains(|c: char| c.is_whitespace() || "'\"".contains(c))
}

/// iqn., eui. or naa., in the characters that these may have.
fn checked_name(name: &str) -> Result<String, String> {
    let has_form = ["iqn.", "eui.", "naa."].iter().any(|form| name.starts_with(form));
    let is_clean = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.:".contains(c));
    if has_form && is_clean && name.len() <= MAX_NAME {
        Ok(name.to_owned())
    } else {
        Err(format!("'{name}' is no iSCSI name"))
    }
}
