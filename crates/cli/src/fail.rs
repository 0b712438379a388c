//! How a command ends other than well, and OpenZFS's words for why.

use api_types::{Problem, kind};

/// Why a command stops.
#[derive(Debug)]
pub enum Stop {
    /// The command line makes no sense: say so, show the usage, exit 2.
    Usage(String),
    /// Refused: say so, exit 1.
    Fail(String),
    /// Everything has been said.
    Exit(i32),
    /// Our output goes nowhere.
    Output(std::io::Error),
}

pub type Outcome = Result<i32, Stop>;

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Stop {
        Stop::Output(error)
    }
}

pub fn usage<T>(text: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Usage(text.into()))
}

/// Of a command's commands there is none of this name, or none was given.
pub fn no_command<T>(given: Option<&str>) -> Result<T, Stop> {
    given.map_or_else(|| usage("missing command"), |name| usage(format!("unrecognized command '{name}'")))
}

pub fn fail<T>(text: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fail(text.into()))
}

/// What a message is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Noun {
    Pool,
    Dataset,
}

/// OpenZFS's words for a kind of problem (lib/libzfs/libzfs_util.c, `libzfs_error_description` and
/// the two `standard_error` functions).
pub fn reason(problem: &Problem, noun: Noun) -> String {
    let noun_is = |pool: &str, dataset: &str| if noun == Noun::Pool { pool } else { dataset }.to_owned();
    match problem.kind.as_str() {
        kind::NOT_FOUND => noun_is("no such pool", "dataset does not exist"),
        kind::EXISTS => noun_is("pool already exists", "dataset already exists"),
        kind::NOT_EMPTY => noun_is("pool is not empty", "dataset has children"),
        kind::DENIED => "permission denied".into(),
        kind::READ_ONLY => "pool is read-only".into(),
        kind::BUSY => noun_is("pool is busy", "dataset is busy"),
        kind::NAME_TOO_LONG => noun_is("name is too long", "dataset name is too long"),
        kind::NO_SPACE | kind::QUOTA => "out of space".into(),
        kind::KEY_NOT_LOADED => "encryption key not loaded".into(),
        kind::SUSPENDED => "pool I/O is currently suspended".into(),
        _ => problem.to_string(),
    }
}

/// "cannot create 'tank/a': dataset already exists", unless the daemon already said a whole
/// sentence.
pub fn sentence(what: &str, problem: &Problem, noun: Noun) -> String {
    match &problem.refused {
        Some(refused) if refused.is_sentence() => problem.detail.clone(),
        // Of a daemon of another version: what it says is whole, as that of nearly all refusals is.
        None if problem.kind == kind::REFUSED => problem.detail.clone(),
        _ => format!("{what}: {}", reason(problem, noun)),
    }
}

#[cfg(test)]
mod tests;
