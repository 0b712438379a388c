//! What a newer program may say that this one does not understand.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// A value, or what is none as far as this program knows.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Known<T> {
    Value(T),
    Newer(IgnoredAny),
}

impl<T> Known<T> {
    pub fn value(self) -> Option<T> {
        match self {
            Known::Value(value) => Some(value),
            Known::Newer(IgnoredAny) => None,
        }
    }
}
