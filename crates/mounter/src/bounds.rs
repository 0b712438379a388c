//! Which paths the broker takes: plain ones, outside the directories that make up the system.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::fault::Fault;
use crate::protocol::PATH_MOST;

/// Nothing is changed in these, nor at or above them.
const KEPT: &[&str] = &[
    "/bin", "/boot", "/dev", "/efi", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt",
    "/proc", "/root", "/run", "/sbin", "/snap", "/sys", "/usr",
];
/// Nothing here either, but for directories that belong to who asks.
const STATE: &str = "/var";

/// The names of a path from `/` on. It has to be absolute, of names alone, and not longer than the
/// kernel takes it.
///
/// # Errors
/// `EINVAL` of the system.
pub fn names(at: &Path) -> Result<Vec<&OsStr>, Fault> {
    let bytes = at.as_os_str().as_bytes();
    let invalid = || Fault::Os(io::Error::from_raw_os_error(libc::EINVAL));
    if bytes.len() > PATH_MOST || bytes.contains(&0) {
        return Err(invalid());
    }
    let rest = bytes.strip_prefix(b"/").ok_or_else(invalid)?;
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&[u8]> = rest.split(|byte| *byte == b'/').collect();
    if names.iter().any(|name| matches!(*name, b"" | b"." | b"..")) {
        return Err(invalid());
    }
    Ok(names.into_iter().map(OsStr::from_bytes).collect())
}

/// Whether nothing may be changed there, whomever it belongs to.
pub fn is_kept(at: &Path) -> bool {
    at.parent().is_none() || at == Path::new(STATE) || KEPT.iter().any(|kept| at.starts_with(kept))
}

/// Whether a directory there may be changed only where it belongs to who asks.
pub fn is_state(at: &Path) -> bool {
    at.starts_with(STATE)
}

/// Whether it stands directly below `/`.
pub fn is_top(at: &Path) -> bool {
    at.parent().is_none_or(|above| above.parent().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_absolute_and_of_names_alone() {
        let named = |at: &str| names(Path::new(at)).map(|names| names.len()).ok();
        assert_eq!((named("/"), named("/srv"), named("/srv/two words/\n")), (Some(0), Some(1), Some(3)));
        let long = format!("/{}", "a".repeat(PATH_MOST));
        for wrong in ["", "srv", "/srv/", "/srv//a", "/srv/.", "/srv/../etc", "/./srv", "/a\0b", &long] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_system_is_kept() {
        let kept = |at: &str| is_kept(Path::new(at));
        for at in ["/", "/etc", "/etc/cron.d/x", "/usr/local", "/run/cistern", "/var", "/root/.ssh"] {
            assert!(kept(at), "{at}");
        }
        for at in ["/srv", "/etcetera", "/home/ada", "/var/lib/cistern/a", "/tank", "/mnt/usr"] {
            assert!(!kept(at), "{at}");
        }
        assert!(is_state(Path::new("/var/lib/x")) && !is_state(Path::new("/variety/x")));
        assert!(is_top(Path::new("/srv")) && !is_top(Path::new("/srv/a")));
    }
}
