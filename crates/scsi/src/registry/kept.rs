//! What is reserved, through loss of power: as text in a property of the volume, which goes where
//! the volume goes.
//!
//! ```text
//!   <guid of the volume> <type>=<holder> | - { <key>=<port> }        numbers in hexadecimal
//!   <port>: that of the initiator, escaped, @ that of the target; nothing from the @ on: that is 1
//! ```
//! A copy of the volume has another guid: what was reserved is not reserved there. A text that
//! makes no sense, and one that cannot be read, is no empty one: somebody may have been shut out,
//! so the volume is not served until it is known who.

use engine_api::{Error, Volume};

use super::{Registry, Reservation, TYPES};
use crate::limits::{MAX_KEPT, MAX_REGISTRATIONS};
use crate::nexus::Nexus;
use crate::sense::{NO_REGISTRATION_RESOURCES, Refusal};

const PROPERTY: &str = "cistern:reservations";

/// What the volume remembers. Errors: that cannot be read, or makes no sense.
pub fn load(volume: &dyn Volume) -> Result<Registry, Error> {
    let text = volume.note(PROPERTY)?;
    let senseless = || Error::Invalid(format!("property '{PROPERTY}' makes no sense: zfs inherit clears it"));
    parse(&text, volume.id().dataset_guid).ok_or_else(senseless)
}

/// Has the volume remember what is different, if it is to; durable when this returns.
pub fn store(volume: &dyn Volume, before: &Registry, after: &Registry) -> Result<(), Refusal> {
    let guid = volume.id().dataset_guid;
    let text = write(after, guid);
    if text == write(before, guid) {
        return Ok(());
    }
    if text.len() > MAX_KEPT {
        return Err(NO_REGISTRATION_RESOURCES.into());
    }
    Ok(volume.set_note(PROPERTY, &text)?)
}

/// Empty where nothing is to outlive the loss of power.
pub fn write(registry: &Registry, guid: u64) -> String {
    if !registry.persists || registry.keys.is_empty() {
        return String::new();
    }
    let held = registry.reservation.as_ref();
    let held = held.map_or("-".to_owned(), |held| format!("{:x}={}", held.kind, written(&held.holder)));
    let keys = registry.keys.iter().map(|(nexus, key)| format!("{key:x}={}", written(nexus)));
    [format!("{guid:x}"), held].into_iter().chain(keys).collect::<Vec<_>>().join(" ")
}

/// `None` if the text makes no sense. Nothing is reserved by one of another volume.
pub fn parse(text: &str, guid: u64) -> Option<Registry> {
    if text.is_empty() {
        return Some(Registry::default());
    }
    let mut words = text.split(' ');
    if u64::from_str_radix(words.next()?, 16).ok()? != guid {
        return Some(Registry::default());
    }
    let pair = |word: &str| {
        let (number, nexus) = word.split_once('=')?;
        Some((u64::from_str_radix(number, 16).ok()?, read(nexus)?))
    };
    let held = match words.next()? {
        "-" => None,
        word => Some(pair(word)?),
    };
    let mut registry = Registry { persists: true, ..Registry::default() };
    for word in words.take(MAX_REGISTRATIONS) {
        let (key, nexus) = pair(word)?;
        registry.keys.insert(nexus, key);
    }
    if let Some((kind, holder)) = held {
        let kind = TYPES.into_iter().find(|known| u64::from(*known) == kind)?;
        registry.keys.contains_key(&holder).then_some(())?;
        registry.reservation = Some(Reservation { kind, holder });
    }
    Some(registry)
}

fn written(nexus: &Nexus) -> String {
    match nexus.port {
        1 => escaped(&nexus.initiator),
        port => format!("{}@{port:x}", escaped(&nexus.initiator)),
    }
}

fn read(text: &str) -> Option<Nexus> {
    let (initiator, port) = match text.split_once('@') {
        Some((initiator, port)) => (initiator, u16::from_str_radix(port, 16).ok()?),
        None => (text, 1),
    };
    Some(Nexus::new(&plain(initiator)?, port))
}

/// Bytes that stand for themselves.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"%=@".contains(&byte)
}

fn escaped(port: &str) -> String {
    let byte = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") };
    port.bytes().map(byte).collect()
}

fn plain(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut left = text.as_bytes();
    while let [first, rest @ ..] = left {
        left = rest;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            left = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
