//! Fingerprints of certificates.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// SHA-256 of a certificate. It is shown as pairs of capital hexadecimal digits with colons between
/// them, and read with or without those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

/// A text that is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFingerprint;

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02X}", if at == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}

impl FromStr for Fingerprint {
    type Err = NoFingerprint;

    fn from_str(text: &str) -> Result<Fingerprint, NoFingerprint> {
        let digits: Option<Vec<u32>> =
            text.chars().filter(|digit| *digit != ':').map(|digit| digit.to_digit(16)).collect();
        let digits = digits.filter(|digits| digits.len() == 64).ok_or(NoFingerprint)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (pair[0] << 4 | pair[1]) as u8;
        }
        Ok(Fingerprint(bytes))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fingerprint, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|NoFingerprint| de::Error::custom("64 hexadecimal digits are wanted"))
    }
}

impl JsonSchema for Fingerprint {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fingerprint".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^([0-9A-Fa-f]{2}:?){32}$",
            "description": "SHA-256 of a certificate, as hexadecimal digits, perhaps with colons between pairs",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_is_shown_and_nothing_else_is() {
        let known = Fingerprint(std::array::from_fn(|at| 0xba - at as u8));
        let shown = known.to_string();
        assert!(shown.starts_with("BA:B9:") && shown.len() == 95, "{shown}");
        assert_eq!(shown.parse(), Ok(known));
        assert_eq!(shown.replace(':', "").to_lowercase().parse(), Ok(known));
        for bad in ["", "BA:78", &format!("{shown}:00"), &shown.replace('B', "G"), &shown.replace('B', "é")]
        {
            assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
        }
    }
}
