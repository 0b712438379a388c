//! What failures and warnings of the appliance are called, in zfs(8)'s words, and which kind of
//! problem they are.

use api_types::kind;
use appliance::{Failure, NotMountable, Release, Verb, Warning};
use engine_api::Error;

use crate::problem::{Refusal, kind_of, refuse};

/// Younger snapshots and bookmarks that a refused rollback names.
const YOUNGER_MAX: usize = 32;

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        let (kind, text) = match failure {
            Failure::Engine(error) => return error.into(),
            Failure::NoSuchPool { pool } => (kind::NOT_FOUND, format!("no such pool: {pool}")),
            Failure::NoSuchDataset { dataset } => {
                (kind::NOT_FOUND, format!("cannot open '{dataset}': dataset does not exist"))
            }
            Failure::NotMountable { dataset, verb, why } => {
                (kind::REFUSED, not_mountable(&dataset, verb, why))
            }
            Failure::NotLegacy { dataset, mountpoint } => (
                kind::REFUSED,
                format!(
                    "filesystem '{dataset}' cannot be mounted using 'mount'.\n\
                     Use 'zfs set mountpoint={mountpoint}' or 'zfs mount {dataset}'.\n\
                     See zfs(8) for more information."
                ),
            ),
            Failure::RelativeMountpoint { dataset, mountpoint } => {
                (kind::INVALID, format!("cannot mount '{dataset}': '{mountpoint}' is not an absolute path"))
            }
            Failure::PartlyReceived { dataset } => (
                kind::REFUSED,
                format!(
                    "cannot mount '{dataset}': Contains partially-completed state from \
                     \"zfs receive -s\", which can be resumed with \"zfs send -t\""
                ),
            ),
            Failure::Mount { dataset, mountpoint, why } => {
                (kind_of(&why), mount(&dataset, &mountpoint, &why))
            }
            Failure::Remount { mountpoint, why: Error::Refused(why), .. } => {
                (kind::REFUSED, format!("cannot remount {mountpoint}: {why}"))
            }
            Failure::Remount { dataset, mountpoint, why } => {
                (kind_of(&why), mount(&dataset, &mountpoint, &why))
            }
            Failure::NothingToRemount { dataset } => {
                (kind::REFUSED, format!("cannot mount '{dataset}': not currently mounted"))
            }
            Failure::Unmount { what, why } => (kind_of(&why), unmount(&what, &why)),
            Failure::NotAMountpoint { path } => {
                (kind::REFUSED, format!("cannot unmount '{path}': not a mountpoint"))
            }
            Failure::NotCurrentlyMounted { dataset } => {
                (kind::REFUSED, format!("cannot unmount '{dataset}': not currently mounted"))
            }
            Failure::Share { dataset, verb, why } => {
                let Refusal(told) = why.into();
                return refuse(&told.kind, format!("cannot {} '{dataset}': {told}", name(verb)));
            }
            Failure::LegacyShare { dataset, verb } => (kind::REFUSED, legacy_share(&dataset, verb)),
            Failure::AlreadyShared { dataset } => {
                (kind::EXISTS, format!("cannot share '{dataset}': filesystem already shared"))
            }
            Failure::NotCurrentlyShared { dataset } => {
                (kind::REFUSED, format!("cannot unshare '{dataset}': not currently shared"))
            }
            Failure::MountpointInUse { at, why } => (kind::REFUSED, mountpoint_in_use(&at, &why)),
            Failure::Suspended { pool, how } => {
                let verb = match how {
                    Release::Export => "export",
                    Release::Destroy => "destroy",
                };
                (kind::REFUSED, format!("cannot {verb} '{pool}': pool I/O is currently suspended"))
            }
            Failure::MountsOfPool { pool, why } => {
                let Refusal(told) = (*why).into();
                let text = format!("{told}\ncould not destroy '{pool}': could not unmount datasets");
                return refuse(&told.kind, text);
            }
            Failure::YoungerExist { snapshot, younger } => {
                (kind::REFUSED, younger_exist(&snapshot, &younger))
            }
            Failure::ClonesExist { snapshot, clones } => (
                kind::REFUSED,
                format!(
                    "cannot rollback to '{snapshot}': clones of previous snapshots exist\n\
                     use '-R' to force deletion of the following clones and dependents:\n{}",
                    clones.join("\n")
                ),
            ),
            Failure::NoSnapshots => (kind::INVALID, "no snapshots are named".to_owned()),
            Failure::SeveralPools => (kind::INVALID, "snapshots must be in the same pool".to_owned()),
            Failure::HealsAlone => (
                kind::REFUSED,
                "cannot receive: corrective recv can not be used when combined with this flag".to_owned(),
            ),
        };
        refuse(kind, text)
    }
}

fn name(verb: Verb) -> &'static str {
    match verb {
        Verb::Mount => "mount",
        Verb::Share => "share",
        Verb::Unshare => "unshare",
    }
}

fn not_mountable(dataset: &str, verb: Verb, why: NotMountable) -> String {
    let verb = name(verb);
    match why {
        NotMountable::LegacyMountpoint => {
            format!("cannot {verb} '{dataset}': legacy mountpoint\nuse {verb}(8) to {verb} this filesystem")
        }
        NotMountable::NoMountpoint => format!("cannot {verb} '{dataset}': no mountpoint set"),
        NotMountable::CanmountOff => {
            format!("cannot {verb} '{dataset}': 'canmount' property is set to 'off'")
        }
    }
}

fn mount(dataset: &str, mountpoint: &str, error: &Error) -> String {
    let why = match error {
        Error::Busy => "filesystem already mounted".to_owned(),
        Error::NotEmpty => return format!("cannot mount '{mountpoint}': directory is not empty"),
        Error::KeyNotLoaded => "encryption key not loaded".to_owned(),
        Error::Denied | Error::NotPermitted => "Insufficient privileges".to_owned(),
        other => other.to_string(),
    };
    format!("cannot mount '{dataset}': {why}")
}

fn unmount(what: &str, error: &Error) -> String {
    match error {
        Error::Busy => format!("cannot unmount '{what}': pool or dataset is busy"),
        Error::NotFound => format!("cannot unmount '{what}': not currently mounted"),
        other => format!("cannot unmount '{what}': {other}"),
    }
}

fn legacy_share(dataset: &str, verb: Verb) -> String {
    let verb = name(verb);
    let end = if verb == "share" { ", or set the sharenfs or sharesmb property" } else { "" };
    format!(
        "cannot {verb} '{dataset}': legacy share\n\
         use exports(5) or smb.conf(5) to {verb} this filesystem{end}"
    )
}

fn mountpoint_in_use(at: &str, error: &Error) -> String {
    let why = match error {
        Error::NotEmpty => "exists and is not empty".to_owned(),
        error => format!(": {error}"),
    };
    format!("mountpoint '{at}' {why}\nuse '-m' option to provide a different default")
}

fn younger_exist(snapshot: &str, younger: &[String]) -> String {
    let mut text = format!(
        "cannot rollback to '{snapshot}': more recent snapshots or bookmarks exist\n\
         use '-r' to force deletion of the following snapshots and bookmarks:\n{}",
        younger[..younger.len().min(YOUNGER_MAX)].join("\n")
    );
    if younger.len() >= YOUNGER_MAX {
        text.push_str(&format!("\nOutput limited to {YOUNGER_MAX} snapshots/bookmarks"));
    }
    text
}

/// A failure in words.
pub fn failure(failure: Failure) -> String {
    let Refusal(told) = failure.into();
    told.to_string()
}

/// Warnings in words.
pub fn warnings(warnings: Vec<Warning>) -> Vec<String> {
    let words = |warning| match warning {
        Warning::Failed(why) => failure(why),
        Warning::MountedByRootAlone => {
            "filesystem successfully created, but it may only be mounted by root".to_owned()
        }
        Warning::StaleMount { dataset } => {
            format!("the mount of '{dataset}' may show for a minute what was there before")
        }
        Warning::Received(text) => text,
    };
    warnings.into_iter().map(words).collect()
}

#[cfg(test)]
mod tests;
