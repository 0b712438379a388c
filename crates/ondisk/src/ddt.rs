//! The deduplication table's entries.
