//! What went wrong beside work that was done: sentences for people, and the same as data.

use refusal::Refused;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::known::Known;

/// Beside an answer. Both lists are of one length and order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warnings {
    #[serde(rename = "warnings")]
    pub sentences: Vec<String>,
    /// A client decides by these. A daemon that is older than the client gives none: then
    /// `zfs create` by somebody who may not mount says one line more.
    #[serde(default, rename = "warned", deserialize_with = "known")]
    pub reasons: Vec<Warning>,
}

impl Warnings {
    pub fn is_empty(&self) -> bool {
        self.sentences.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// A part was not done: a file system that was to be mounted is not.
    Refused(Box<Refused>),
    /// A file system was made for somebody who may not mount it.
    MountedByRootAlone,
    /// A mount may show for a minute what its file system held before.
    StaleMount { dataset: String },
    /// Its sentence alone tells it.
    Other,
}

/// What is not understood is told by its sentence.
fn known<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Warning>, D::Error> {
    let all = Vec::<Known<Warning>>::deserialize(from)?;
    Ok(all.into_iter().map(|warning| warning.value().unwrap_or(Warning::Other)).collect())
}

#[cfg(test)]
mod tests;
