//! OpenZFS's words about a pool that is not imported.
//!
//! Source: cmd/zpool/zpool_main.c (`show_import`).

use std::borrow::Cow;

use crate::condition::ImportCondition;

impl ImportCondition {
    /// What is not as it should be.
    pub fn status(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(match self {
            ImportCondition::Ready => return None,
            ImportCondition::Foreign => "The pool was last accessed by another system.",
            ImportCondition::Degraded | ImportCondition::Unavailable => {
                "One or more devices are missing from the system."
            }
            ImportCondition::Damaged => "The pool metadata is incomplete or corrupted.",
            ImportCondition::UnknownVersion => "The pool is formatted using an incompatible version.",
            ImportCondition::UnknownFeatures { features } => {
                let mut text =
                    "The pool uses the following feature(s) not supported on this system:\n".to_owned();
                for feature in features {
                    match &feature.description {
                        Some(description) => text += &format!("\t{} ({description})\n", feature.guid),
                        None => text += &format!("\t{}\n", feature.guid),
                    }
                }
                return Some(Cow::Owned(text));
            }
            ImportCondition::Other { status, .. } => return status.as_deref().map(Cow::Borrowed),
        }))
    }

    /// What to do with it.
    pub fn action(&self) -> &str {
        match self {
            ImportCondition::Ready => "The pool can be imported using its name or numeric identifier.",
            ImportCondition::Foreign => {
                "The pool can be imported using its name or numeric identifier and\n\tthe '-f' flag."
            }
            ImportCondition::Degraded => {
                "The pool can be imported despite missing or damaged devices.  The\n\tfault tolerance of the pool \
                 may be compromised if imported."
            }
            ImportCondition::Damaged => "The pool cannot be imported due to damaged devices or data.",
            ImportCondition::Unavailable => {
                "The pool cannot be imported. Attach the missing\n\tdevices and try again."
            }
            ImportCondition::UnknownVersion => {
                "The pool cannot be imported.  Access the pool on a system running newer\n\tsoftware, or recreate \
                 the pool from backup."
            }
            ImportCondition::UnknownFeatures { .. } => {
                "The pool cannot be imported. Access the pool on a system that supports\n\tthe required \
                 feature(s), or recreate the pool from backup."
            }
            ImportCondition::Other { action, .. } => action.as_str(),
        }
    }
}

#[cfg(test)]
mod tests;
