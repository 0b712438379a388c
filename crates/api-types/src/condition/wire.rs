//! A pool's condition on the wire: `condition` is the data, and `status`, `action` and `msgid` are
//! its words, for programs that show them and decide nothing. The words count only where the data
//! is missing, as a program of before sends it, or of a kind that is not known here.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Condition;
use crate::known::Known;

/// The fields of a pool that tell its condition.
#[derive(Serialize, JsonSchema)]
pub struct Told<'a> {
    /// `null` where nothing is wrong; so are its words then.
    condition: Option<&'a Condition>,
    /// What is wrong, in the words of `zpool status`.
    status: Option<Cow<'a, str>>,
    /// What to do.
    action: Option<&'a str>,
    /// OpenZFS's page about it, where there is one.
    msgid: Option<&'a str>,
}

pub fn serialize<S: Serializer>(condition: &Option<Condition>, to: S) -> Result<S::Ok, S::Error> {
    let condition = condition.as_ref();
    let told = Told {
        condition,
        status: condition.map(Condition::status),
        action: condition.map(Condition::action),
        msgid: condition.and_then(Condition::msgid),
    };
    told.serialize(to)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Condition>, D::Error> {
    #[derive(Deserialize)]
    struct Told {
        condition: Option<Known<Condition>>,
        status: Option<String>,
        action: Option<String>,
        msgid: Option<String>,
    }
    let Told { condition, status, action, msgid } = Told::deserialize(from)?;
    if condition.is_none() && status.is_none() {
        return Ok(None);
    }
    let of_words =
        || Condition::Other { status: status.unwrap_or_default(), action: action.unwrap_or_default(), msgid };
    Ok(Some(condition.and_then(Known::value).unwrap_or_else(of_words)))
}

/// The same of a pool that is not imported, which always has one.
pub mod import {
    use super::*;
    use crate::condition::ImportCondition;

    /// The fields of such a pool that tell its condition.
    #[derive(Serialize, JsonSchema)]
    pub struct Told<'a> {
        condition: &'a ImportCondition,
        /// What is wrong, in the words of `zpool import`; `null` where the pool is ready.
        status: Option<Cow<'a, str>>,
        /// What to do.
        action: &'a str,
    }

    pub fn serialize<S: Serializer>(condition: &ImportCondition, to: S) -> Result<S::Ok, S::Error> {
        Told { condition, status: condition.status(), action: condition.action() }.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ImportCondition, D::Error> {
        #[derive(Deserialize)]
        struct Told {
            condition: Option<Known<ImportCondition>>,
            status: Option<String>,
            action: String,
        }
        let Told { condition, status, action } = Told::deserialize(from)?;
        Ok(condition.and_then(Known::value).unwrap_or(ImportCondition::Other { status, action }))
    }
}

#[cfg(test)]
mod tests;
