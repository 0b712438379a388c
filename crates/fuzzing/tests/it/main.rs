//! Hostile bytes against decoders, and hostile pools against the whole engine.

mod decoders;
mod fields;
mod memory;
mod pools;
mod setup;
mod unsupported;

#[global_allocator]
static COUNTED: memory::Counted = memory::Counted;
