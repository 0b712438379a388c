//! Enumerations of which each number on disk has a name.

/// Declares one: its variants by number, each with the name that `zdb` prints.
macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $raw:literal $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($variant = $raw),* }

        impl $name {
            /// All of them, by number.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The kind of this number, if there is one.
            pub const fn from_raw(raw: u8) -> Option<$name> {
                match raw { $($raw => Some($name::$variant),)* _ => None }
            }

            /// OpenZFS's name, as zdb prints it.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
        }
    };
}

pub(crate) use kinds;
