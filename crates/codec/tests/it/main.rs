//! Blocks written by OpenZFS.
