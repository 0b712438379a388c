//! Structures that are nothing but 64-bit numbers in a row: most bonus buffers of the meta object
//! set.
//!
//! Where an older form of such a structure is shorter, its missing numbers read as 0; what a newer
//! form adds beyond the fields listed is padding here, written as 0.

/// Declares a struct of `u64` fields, and how it lies on disk: `MIN..=SIZE` bytes, fields in order,
/// then zeros.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub struct $name:ident [$min:expr, $size:expr, $what:literal] {
            $($(#[$field_meta:meta])* $field:ident,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: u64,)*
        }

        impl $name {
            /// Bytes it has when written.
            pub const SIZE: usize = $size;
            /// Bytes of its oldest form.
            pub const MIN_SIZE: usize = $min;

            /// From a bonus buffer of at least its oldest form's size.
            pub fn decode(bytes: &[u8]) -> Result<Self, $crate::malformed::Malformed> {
                if bytes.len() < Self::MIN_SIZE {
                    return Err($crate::malformed::Malformed::at($what, bytes.len()));
                }
                let mut from = $crate::malformed::Reader::new(bytes, $crate::malformed::Endian::Little);
                Ok($name { $($field: from.u64().unwrap_or(0),)* })
            }

            /// All fields, little endian.
            pub fn encode(&self) -> [u8; $size] {
                let mut bytes = [0; $size];
                let mut to = $crate::malformed::Writer::new(&mut bytes, $crate::malformed::Endian::Little);
                $(to.u64(self.$field);)*
                bytes
            }

            /// From the numbers of a ZAP's entry, as many as its oldest form has at least.
            pub fn from_words(words: &[u64]) -> Result<Self, $crate::malformed::Malformed> {
                let all = Self::SIZE / 8;
                let bytes: Vec<u8> = words.iter().take(all).flat_map(|word| word.to_le_bytes()).collect();
                Self::decode(&bytes)
            }

            /// The numbers of a ZAP's entry, in its newest form.
            pub fn to_words(&self) -> Vec<u64> {
                self.encode().as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
            }
        }
    };
}

pub(crate) use words;
