//! What initiator and target agree on for a session.
//!
//! Source: RFC 7143 13.

use crate::keys::{Keys, offers};
use crate::limits::{BURST, CONNECTIONS_A_SESSION, DEFAULT_SEGMENT, FIRST_BURST, SEGMENT};
use crate::pdu::Digests;

/// See the module. Sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    pub digests: Digests,
    /// Of data in one PDU that they take.
    pub their_segment: usize,
    pub max_burst: usize,
    pub first_burst: usize,
    pub initial_r2t: bool,
    pub immediate_data: bool,
    pub max_connections: usize,
    /// The connection joins a session, which has agreed on what holds for all of its connections.
    pub joins: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            digests: Digests::default(),
            their_segment: DEFAULT_SEGMENT,
            max_burst: 256 << 10,
            first_burst: 64 << 10,
            initial_r2t: true,
            immediate_data: true,
            max_connections: 1,
            joins: false,
        }
    }
}

/// A number in a range, in decimal or hex; `None`: that is none.
fn number(value: &str, least: u64, most: u64) -> Option<u64> {
    let parsed = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => value.parse().ok()?,
    };
    (least..=most).contains(&parsed).then_some(parsed)
}

fn boolean(value: &str) -> Option<bool> {
    match value {
        "Yes" => Some(true),
        "No" => Some(false),
        _ => None,
    }
}

fn word(value: bool) -> String {
    if value { "Yes" } else { "No" }.to_owned()
}

/// Sets a parameter to what the initiator wants; the answer.
fn as_wanted(own: &mut bool, value: &str) -> Option<String> {
    *own = boolean(value)?;
    Some(word(*own))
}

/// Sets a parameter to what the initiator wants, or to the most that we take; the answer.
fn at_most(own: &mut usize, wanted: Option<u64>, most: usize) -> Option<String> {
    *own = most.min(wanted? as usize);
    Some(own.to_string())
}

const REJECT: &str = "Reject";
/// What only the first connection of a session asks for.
const LEADING: [&str; 12] = [
    "MaxConnections",
    "InitialR2T",
    "ImmediateData",
    "MaxBurstLength",
    "FirstBurstLength",
    "DefaultTime2Wait",
    "DefaultTime2Retain",
    "MaxOutstandingR2T",
    "DataPDUInOrder",
    "DataSequenceInOrder",
    "ErrorRecoveryLevel",
    "TaskReporting",
];
const LARGEST: u64 = (1 << 24) - 1;

impl Parameters {
    /// With which one more connection of a session begins.
    pub fn joining(session: &Parameters) -> Parameters {
        let Parameters { digests, their_segment, .. } = Parameters::default();
        Parameters { digests, their_segment, joins: true, ..session.clone() }
    }

    /// The answer to one key, if it has one.
    pub fn negotiate(&mut self, key: &str, value: &str) -> Option<String> {
        if self.joins && LEADING.contains(&key) {
            return Some("Irrelevant".to_owned());
        }
        let answer = match key {
            // Said, not asked.
            "InitiatorName" | "InitiatorAlias" | "TargetName" | "TargetAlias" | "SessionType" => return None,
            "MaxRecvDataSegmentLength" => match number(value, 512, LARGEST) {
                Some(segment) => {
                    self.their_segment = segment as usize;
                    return None;
                }
                None => None,
            },
            "HeaderDigest" | "DataDigest" => self.digest(key, value),
            "InitialR2T" => as_wanted(&mut self.initial_r2t, value),
            "ImmediateData" => as_wanted(&mut self.immediate_data, value),
            "MaxBurstLength" => at_most(&mut self.max_burst, number(value, 512, LARGEST), BURST),
            "FirstBurstLength" => at_most(&mut self.first_burst, number(value, 512, LARGEST), FIRST_BURST),
            "MaxConnections" => {
                at_most(&mut self.max_connections, number(value, 1, 65535), CONNECTIONS_A_SESSION)
            }
            "MaxOutstandingR2T" => number(value, 1, 65535).map(|_| "1".to_owned()),
            "DefaultTime2Wait" => number(value, 0, 3600).map(|wait| wait.to_string()),
            "DefaultTime2Retain" => number(value, 0, 3600).map(|_| "0".to_owned()),
            "ErrorRecoveryLevel" => number(value, 0, 2).map(|_| "0".to_owned()),
            "DataPDUInOrder" | "DataSequenceInOrder" => boolean(value).map(|_| word(true)),
            "OFMarker" | "IFMarker" => boolean(value).map(|_| word(false)),
            "OFMarkInt" | "IFMarkInt" => Some("Irrelevant".to_owned()),
            "iSCSIProtocolLevel" => number(value, 0, 31).map(|level| level.min(1).to_string()),
            "TaskReporting" => offers(value, "RFC3720").then(|| "RFC3720".to_owned()),
            _ => Some("NotUnderstood".to_owned()),
        };
        Some(answer.unwrap_or_else(|| REJECT.to_owned()))
    }

    /// When all keys of a text are answered: the first burst is part of one, also in what was said.
    pub fn settle(&mut self, reply: &mut Keys) {
        if self.first_burst > self.max_burst {
            self.first_burst = self.max_burst;
            reply.replace("FirstBurstLength", self.first_burst.to_string());
        }
    }

    /// What we say of ourselves.
    pub fn own() -> (&'static str, String) {
        ("MaxRecvDataSegmentLength", SEGMENT.to_string())
    }

    /// The first of theirs that we have.
    fn digest(&mut self, key: &str, list: &str) -> Option<String> {
        let chosen = list.split(',').find(|one| matches!(*one, "CRC32C" | "None"))?;
        let on = offers(chosen, "CRC32C");
        match key {
            "HeaderDigest" => self.digests.header = on,
            _ => self.digests.data = on,
        }
        Some(chosen.to_owned())
    }
}
