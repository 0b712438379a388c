//! Who is calling.
//!
//! Supplementary groups come from /proc/PID/status, as libfuse's fuse_getgroups reads them, and
//! only where they matter: when the engine refused without them (a refused call changed nothing, so
//! it is simply made again), and eagerly where a mode with setgid is given, since setgid silently
//! depends on membership.

use crate::request::Header;
use engine_api::{Cred, Error, Origin, Result};
use stdx::posix;

/// Call with the caller's credential, groups added where a first try without them was refused.
pub fn as_caller<T>(req: &Header, origin: Origin, call: impl Fn(&Cred) -> Result<T>) -> Result<T> {
    match call(&without_groups(req, origin)) {
        Err(Error::Denied | Error::NotPermitted) if req.uid != 0 => call(&with_groups(req, origin)),
        answer => answer,
    }
}

/// The same where a new mode is part of the call.
pub fn as_caller_with_mode<T>(
    req: &Header,
    origin: Origin,
    mode: Option<u32>,
    call: impl Fn(&Cred) -> Result<T>,
) -> Result<T> {
    let depends_on_groups = mode.is_some_and(|mode| mode & posix::SETGID != 0) && req.uid != 0;
    if depends_on_groups { call(&with_groups(req, origin)) } else { as_caller(req, origin, call) }
}

fn without_groups(req: &Header, origin: Origin) -> Cred {
    Cred { origin, ..Cred::user(req.uid, req.gid) }
}

fn with_groups(req: &Header, origin: Origin) -> Cred {
    let status = std::fs::read_to_string(format!("/proc/{}/status", req.pid)).unwrap_or_default();
    Cred { groups: groups_in(&status), ..without_groups(req, origin) }
}

/// The numbers of the line "Groups:"; none where the process is gone or the line is odd.
fn groups_in(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap_or_default();
    line.split_ascii_whitespace().filter_map(|group| group.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
