//! Why a request of an administrator was refused, as data: what was to be done, with which object,
//! and why it was not.
//!
//! ```text
//!   pool ──▶ engine-api ──▶ HTTP problem (JSON) ──▶ client
//!                                └─ words ─▶ OpenZFS's sentence
//! ```
//! Whoever refuses says what he knows and no sentence. `words` makes the sentence, OpenZFS's, and
//! nothing else does; a `message` in a reason is what something below says. A console may say the
//! same in other words, and a script decides by the data.
//!
//! Invariant: nobody reads a sentence to find out what it says.

mod action;
mod file;
mod import;
mod job;
mod lock;
mod mount;
mod name;
mod property;
mod reason;
mod scan;
mod state;
mod stream;
mod vdev;
mod words;

pub use action::{Action, Stream};
pub use file::FileFault;
pub use import::{ImportFault, Member};
pub use job::JobFault;
pub use lock::LockFault;
pub use mount::MountFault;
pub use name::NameFault;
pub use property::PropertyFault;
pub use reason::{Dependents, Reason, Upgrade};
pub use scan::{ScanFault, SweepFault};
pub use state::StateFault;
pub use stream::{ReceiveFault, SendFault};
pub use vdev::{Use, VdevFault};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A refusal: nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    /// What was to be done; `None` where the reason says it, or only whoever asked knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Why it was not.
    pub reason: Reason,
}

impl Refused {
    /// What was to be done, and why it was not.
    pub fn new(action: Action, reason: impl Into<Reason>) -> Refused {
        Refused { action: Some(action), reason: reason.into() }
    }

    /// The reason alone.
    pub fn because(reason: impl Into<Reason>) -> Refused {
        Refused { action: None, reason: reason.into() }
    }

    /// Each of these; one alone as it is.
    pub fn several(all: Vec<Refused>) -> Refused {
        match <[Refused; 1]>::try_from(all) {
            Ok([one]) => one,
            Err(all) => Refused::because(Reason::Several(all)),
        }
    }

    /// The same reason, for something else that was to be done.
    #[must_use]
    pub fn instead(self, action: Action) -> Refused {
        Refused { action: Some(action), ..self }
    }
}

impl std::error::Error for Refused {}
