//! The appliance's shell in a browser: opened, read, typed into and closed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes that are typed by one request at the most.
pub const SHELL_INPUT: usize = 64 << 10;
/// Columns and rows of a terminal at the most; one of each at the least.
pub const SHELL_SIDE: u16 = 1000;

/// `POST /v1/shells`, and `POST /v1/shells/{name}/size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShellSize {
    pub columns: u16,
    pub rows: u16,
}

impl Default for ShellSize {
    fn default() -> ShellSize {
        ShellSize { columns: 80, rows: 24 }
    }
}

/// A shell that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellOpened {
    pub id: String,
}

/// `GET /v1/shells/{name}/output`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShellOutputQuery {
    /// Where to go on: the `next` of the last event that was taken. What is kept from there on is
    /// told, and no more than 256 KiB of what was told before.
    pub after: u64,
}

/// `POST /v1/shells/{name}/input`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShellInput {
    /// What is typed, as a terminal sends it: no more than 64 KiB.
    pub text: String,
}

/// One event of `GET /v1/shells/{name}/output`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShellEvent {
    /// What the shell shows, for a terminal. `at` is the number of bytes before it, `next` that
    /// with its own.
    Output { at: u64, next: u64, text: String },
    /// The last: somebody else of the session reads from now on.
    Taken,
    /// The last: the shell has ended.
    Ended { why: ShellEnd },
}

/// Why a shell has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShellEnd {
    /// By `exit`, or because it could not go on.
    Exited,
    /// By `POST /v1/shells/{name}/close`.
    Closed,
    /// Nothing was typed for 15 minutes.
    Idle,
    /// Nobody has read what it shows for a minute.
    Unread,
    /// The session that opened it has ended.
    Session,
}

impl ShellEnd {
    pub fn name(self) -> &'static str {
        match self {
            ShellEnd::Exited => "exited",
            ShellEnd::Closed => "closed",
            ShellEnd::Idle => "idle",
            ShellEnd::Unread => "unread",
            ShellEnd::Session => "session",
        }
    }
}
