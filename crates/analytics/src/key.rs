//! By what a drill-down tells requests apart.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use api_types::{Dimension, Protocol, ServedBy};

use crate::seen::Seen;

/// Dimensions of a key at the most.
const DIMENSIONS: usize = api_types::DIMENSIONS;
/// Bytes of a range of offsets.
pub const RANGE: u64 = 16 << 20;

/// What a request is in one dimension; `T` is text, whoever owns it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Value<T = Arc<str>> {
    /// It is nothing there.
    #[default]
    Nothing,
    Protocol(Protocol),
    Text(T),
    Operation(&'static str),
    /// A user by his number.
    User(u32),
    /// The guids of pool and dataset.
    Dataset((u64, u64)),
    File((u64, u64), u64),
    /// From this byte of it on, [`RANGE`] bytes.
    Offset(u64),
    /// Bytes or microseconds from this on, and less than twice as many.
    AtLeast(u64),
    Served(ServedBy),
    /// The guids of pool and leaf vdev.
    Device((u64, u64)),
}

/// By what requests are told apart; what is not used is nothing.
pub type Key = [Value; DIMENSIONS];

/// The same, of a request that is looked at: nothing is counted up that other threads count, too.
pub type KeyOf<'a> = [Value<&'a Arc<str>>; DIMENSIONS];

fn value(dimension: Dimension, seen: &Seen) -> Value<&Arc<str>> {
    let trail = &seen.trail;
    let power = |number: u64| Value::AtLeast(if number == 0 { 0 } else { 1 << number.ilog2() });
    match dimension {
        Dimension::Protocol => Value::Protocol(seen.protocol),
        Dimension::Client => Value::Text(&seen.client),
        Dimension::User => match (&seen.account, trail.user) {
            (Some(account), _) => Value::Text(account),
            (None, Some(user)) => Value::User(user),
            (None, None) => Value::Nothing,
        },
        Dimension::Dataset => trail.dataset.map_or(Value::Nothing, Value::Dataset),
        Dimension::File => match (trail.dataset, trail.object) {
            (Some(dataset), Some(object)) => Value::File(dataset, object),
            // A volume is one file.
            (Some(dataset), None) => Value::Dataset(dataset),
            (None, _) => Value::Nothing,
        },
        Dimension::Operation => Value::Operation(seen.operation),
        Dimension::Offset => {
            trail.offset.map_or(Value::Nothing, |offset| Value::Offset(offset / RANGE * RANGE))
        }
        Dimension::Size => power(trail.bytes),
        Dimension::Latency => power(seen.took() / 1_000),
        Dimension::Served => seen.served_by().map_or(Value::Nothing, Value::Served),
        Dimension::Device => seen.device().map_or(Value::Nothing, Value::Device),
    }
}

/// The key of a request, by these dimensions.
pub fn key_of<'a>(by: &[Dimension], seen: &'a Seen) -> KeyOf<'a> {
    let mut key = KeyOf::default();
    for (part, dimension) in key.iter_mut().zip(by) {
        *part = value(*dimension, seen);
    }
    key
}

/// To be kept.
pub fn owned(key: &KeyOf<'_>) -> Key {
    key.each_ref().map(|value| match *value {
        Value::Nothing => Value::Nothing,
        Value::Protocol(protocol) => Value::Protocol(protocol),
        Value::Text(text) => Value::Text(text.clone()),
        Value::Operation(operation) => Value::Operation(operation),
        Value::User(user) => Value::User(user),
        Value::Dataset(dataset) => Value::Dataset(dataset),
        Value::File(dataset, object) => Value::File(dataset, object),
        Value::Offset(from) => Value::Offset(from),
        Value::AtLeast(from) => Value::AtLeast(from),
        Value::Served(served) => Value::Served(served),
        Value::Device(device) => Value::Device(device),
    })
}

impl Value {
    fn lent(&self) -> Value<&Arc<str>> {
        match self {
            Value::Nothing => Value::Nothing,
            Value::Protocol(protocol) => Value::Protocol(*protocol),
            Value::Text(text) => Value::Text(text),
            Value::Operation(operation) => Value::Operation(operation),
            Value::User(user) => Value::User(*user),
            Value::Dataset(dataset) => Value::Dataset(*dataset),
            Value::File(dataset, object) => Value::File(*dataset, *object),
            Value::Offset(from) => Value::Offset(*from),
            Value::AtLeast(from) => Value::AtLeast(*from),
            Value::Served(served) => Value::Served(*served),
            Value::Device(device) => Value::Device(*device),
        }
    }
}

/// The dataset of a key's file or volume, as a key of its own; `at` is where the key has that.
pub fn dataset_of(key: &Key, at: usize) -> Option<Key> {
    match key.get(at) {
        Some(Value::File(dataset, _) | Value::Dataset(dataset)) => {
            let mut alone = Key::default();
            alone[0] = Value::Dataset(*dataset);
            Some(alone)
        }
        _ => None,
    }
}

/// Whether they are the same.
pub fn is_same(key: &Key, other: &KeyOf<'_>) -> bool {
    key.iter().zip(other).all(|(value, other)| value.lent() == *other)
}

/// A number that is the same for the same keys.
pub fn hash(key: &KeyOf<'_>) -> u64 {
    let mut hasher = Quick::default();
    key.iter().for_each(|value| value.hash(&mut hasher));
    hasher.finish()
}

/// A quick hash, for tables of so few keys that nobody gains by making them meet in one place.
#[derive(Default)]
struct Quick(u64);

impl Quick {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            self.mix(part.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.mix(byte.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.mix(number as u64);
    }

    fn finish(&self) -> u64 {
        // The highest bits are the best.
        self.0 ^ self.0 >> 32
    }
}
