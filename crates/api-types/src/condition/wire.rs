//! A pool's condition on the wire: `condition` is the data, and `status`, `action` and `msgid` are
//! its words, for programs that show them and decide nothing. The words count only where the data
//! is missing, as a program of before sends it, or of a kind that is not known here.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Condition;
use crate::known::Known;

pub fn serialize<S: Serializer>(condition: &Option<Condition>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Told<'a> {
        condition: Option<&'a Condition>,
        status: Option<Cow<'a, str>>,
        action: Option<&'a str>,
        msgid: Option<&'a str>,
    }
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

    pub fn serialize<S: Serializer>(condition: &ImportCondition, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told<'a> {
            condition: &'a ImportCondition,
            status: Option<Cow<'a, str>>,
            action: &'a str,
        }
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
