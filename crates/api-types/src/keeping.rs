//! Versions of the machine's state that are kept in a pool, so that they outlive the system disk.
//!
//! Times are in seconds since 1970.

use refusal::Refused;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::account::Role;
use crate::problem::Problem;

/// The file system of a pool that has them. Whatever lies at or below a dataset with this as a part
/// of its name is for administrators alone, also where it was received from another machine.
pub const MACHINE_DATASET: &str = ".cistern";

/// Whether a dataset, snapshot or bookmark of this name is for administrators alone.
pub fn is_of_machine(name: &str) -> bool {
    let dataset = name.split(['@', '#']).next().unwrap_or(name);
    dataset.split('/').any(|part| part == MACHINE_DATASET)
}

/// `GET /v1/machine/keeping`: where versions go, and how that goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Keeping {
    /// `None`: nowhere.
    pub pool: Option<String>,
    /// The file system that they are in.
    pub dataset: Option<String>,
    /// The newest one that is there.
    pub newest: Option<StateVersion>,
    /// How many are there, and bytes of them.
    pub versions: u64,
    pub bytes: u64,
    /// Why the last one was not written; `None` where it was, or none was due.
    pub failure: Option<KeepFailure>,
    /// What the next start of the daemon puts in place.
    pub staged: Option<StagedVersion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeepFailure {
    /// Since when it has failed for this reason.
    pub since: i64,
    pub problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StagedVersion {
    pub pool: String,
    pub number: u64,
    /// When it was written.
    pub time: i64,
}

/// `POST /v1/machine/keeping`: a version is written there at once, and after each change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeepIn {
    /// `None`: nowhere any more. What is there stays.
    pub pool: Option<String>,
    /// The command line for the pool's history.
    pub history: String,
}

/// `GET /v1/machine/versions`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StateVersionsQuery {
    /// Else the pool that versions go to.
    pub pool: Option<String>,
}

/// A version, without what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateVersion {
    /// Grows by one with each.
    pub number: u64,
    /// When it was written.
    pub time: i64,
    /// Bytes.
    pub size: u64,
    /// What it says of itself; `None` where that is damaged, or of a newer program.
    pub about: Option<StateAbout>,
    /// Why it cannot be restored, as far as its beginning tells.
    pub fault: Option<Refused>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateAbout {
    /// Name of the machine that wrote it.
    pub host: String,
    /// Version of the program that wrote it.
    pub program: String,
    pub format: u32,
    /// How many accounts are in it.
    pub users: u32,
}

/// `POST /v1/machine/restore`: the next start of the daemon puts a version in place of what is
/// there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StateRestore {
    pub pool: String,
    /// The newest up to this number; else the newest up to this time; else the newest.
    pub version: Option<u64>,
    pub time: Option<i64>,
    /// What a dry run said: it is refused if another one is there now.
    pub checksum: Option<String>,
    /// Only say what it would change.
    pub dry_run: bool,
}

/// What a restoration changes, at the next start of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateRestored {
    pub version: StateVersion,
    /// Of all of it: 64 hexadecimal digits.
    pub checksum: String,
    /// Accounts that come, go or change. All sessions end.
    pub accounts: Vec<AccountChange>,
    /// Tokens that are valid again, or no more.
    pub tokens_come: u64,
    pub tokens_go: u64,
    /// SHA-256 of the certificate of HTTPS. A version without one leaves it as it is.
    pub certificate_now: Option<String>,
    pub certificate_then: Option<String>,
    /// Where versions go.
    pub pool_now: Option<String>,
    pub pool_then: Option<String>,
    /// It will happen; otherwise this was a dry run.
    pub staged: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountChange {
    pub name: String,
    /// `None`: it comes.
    pub now: Option<AccountState>,
    /// `None`: it goes.
    pub then: Option<AccountState>,
    /// Password, second factor or recovery codes are others.
    pub other_secrets: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountState {
    pub role: Role,
    pub uid: u32,
    pub disabled: bool,
    pub has_totp: bool,
}

#[cfg(test)]
mod tests {
    use super::is_of_machine;

    #[test]
    fn what_is_of_the_machine_is_known_by_a_part_of_its_name() {
        for name in ["t/.cistern", "t/.cistern@s", "t/.cistern#b", "t/.cistern/x", "b/copy/t/.cistern"] {
            assert!(is_of_machine(name), "{name}");
        }
        for name in ["t", "t/cistern", "t/.cistern2", "t/a.cistern", "t@.cistern", "t/a@b"] {
            assert!(!is_of_machine(name), "{name}");
        }
    }
}
