//! `key=value` texts of login and text negotiation.
//!
//! Source: RFC 7143 6.

use crate::limits::{KEYS, TEXT};

/// Keys with their values, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys(pub Vec<(String, String)>);

impl Keys {
    /// `None`: too many, too long, or not such a text.
    pub fn parse(bytes: &[u8]) -> Option<Keys> {
        if bytes.len() > TEXT {
            return None;
        }
        let mut keys = Vec::new();
        for pair in bytes.split(|byte| *byte == 0).filter(|pair| !pair.is_empty()) {
            let pair = std::str::from_utf8(pair).ok()?;
            let (key, value) = pair.split_once('=')?;
            if keys.len() == KEYS || key.is_empty() || key.len() > 63 {
                return None;
            }
            keys.push((key.to_owned(), value.to_owned()));
        }
        Some(Keys(keys))
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    pub fn add(&mut self, key: &str, value: impl Into<String>) {
        self.0.push((key.to_owned(), value.into()));
    }

    /// Another value of a key, where there is one.
    pub fn replace(&mut self, key: &str, value: String) {
        self.0.iter_mut().filter(|(known, _)| known == key).for_each(|(_, own)| *own = value.clone());
    }

    pub fn encode(&self) -> Vec<u8> {
        let pairs = self.0.iter().map(|(key, value)| format!("{key}={value}\0"));
        pairs.collect::<String>().into_bytes()
    }
}

/// Whether a value is one of a list such as `CRC32C,None`.
pub fn offers(list: &str, value: &str) -> bool {
    list.split(',').any(|offered| offered == value)
}
