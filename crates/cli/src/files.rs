//! Whether this process may use files of the machine that it runs on: the shell of the console may
//! not ([`crate::shell`]), and whoever names one there is told so.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fail::{Stop, fail};

static NONE: AtomicBool = AtomicBool::new(false);

/// Said of whatever takes a file.
const WHY: &str = "this shell has no files; 'cistern' on a machine of yours has, with --host";

/// From now on there are none.
pub fn forbid() {
    NONE.store(true, Ordering::Relaxed);
}

/// Whether there are none.
pub fn are_absent() -> bool {
    NONE.load(Ordering::Relaxed)
}

/// Refuses a file where there are none.
pub fn check(path: &str) -> Result<(), Stop> {
    match are_absent() {
        true => fail(format!("{path}: {WHY}")),
        false => Ok(()),
    }
}

/// Why a file could not be read or written.
pub fn words(error: &io::Error) -> String {
    match are_absent() {
        true => WHY.to_owned(),
        false => stdx::os_error::words(error),
    }
}
