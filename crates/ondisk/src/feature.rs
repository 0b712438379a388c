//! Pool versions and feature flags.

/// The first pool version.
pub const VERSION_INITIAL: u64 = 1;
/// The last numbered version, before feature flags.
pub const VERSION_LAST_LEGACY: u64 = 28;
/// The version of every pool with feature flags.
pub const VERSION_FEATURES: u64 = 5000;

/// Whether a version is one that ever was.
pub const fn version_is_supported(version: u64) -> bool {
    (version >= VERSION_INITIAL && version <= VERSION_LAST_LEGACY) || version == VERSION_FEATURES
}
