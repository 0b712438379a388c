//! Hostile bytes for every decoder: one target each, a plain function from bytes to nothing.
//!
//! A target calls a decoder and everything that walks what it decoded, and states what must hold
//! whatever the bytes are; to panic, to hang or to allocate beyond [`Target::limit`] is a defect.
//! The same functions run in two places: under libFuzzer (`fuzz/`, where coverage finds the way in)
//! and in `cargo test` (where a seeded mutator over the committed corpus keeps what was found from
//! coming back).
//!
//! Invariants: a target is a pure function of its input; nothing but tests and fuzzers imports this
//! crate.

mod block;
pub mod forge;
mod format;
pub mod image;
pub mod mutate;
mod object;
mod packed;
mod wire;

pub use wire::seeds as wire_seeds;

/// One decoder, or a family of them.
#[derive(Clone, Copy)]
pub struct Target {
    /// Also the name of its corpus folder and of its binary in `fuzz/`.
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Bytes it may hold at a time for each byte of input …
    pub per_byte: usize,
    /// … and however short that is.
    pub fixed: usize,
}

impl Target {
    /// Most bytes that may be allocated at a time for an input of so many bytes.
    pub const fn limit(&self, input: usize) -> usize {
        self.fixed + self.per_byte * input
    }
}

const fn target(name: &'static str, run: fn(&[u8]), per_byte: usize, fixed: usize) -> Target {
    Target { name, run, per_byte, fixed }
}

const KIB: usize = 1 << 10;

/// All of them. The bounds are what the decoders need, with little to spare.
pub const TARGETS: &[Target] = &[
    // An nvlist's pair is 24 bytes and more on disk; in memory it is a name, a value and a place in
    // a vector that doubles.
    target("nvlist", format::nvlist, 32, 4 * KIB),
    // The label's area is always 112 KiB, zeros where the input ends, and each zero may be a string
    // of an array.
    target("label", format::label, 32, 4096 * KIB),
    target("uberblock", format::uberblock, 1, 20 * KIB),
    target("gpt", format::gpt, 1, 64 * KIB),
    target("blkptr", format::blkptr, 4, 20 * KIB),
    target("dnode", object::dnode, 8, 4 * KIB),
    target("objset", object::objset, 8, 8 * KIB),
    target("zap", object::zap, 16, 8 * KIB),
    target("zap_leaf_edit", object::zap_leaf_edit, 32, 64 * KIB),
    target("attributes", object::attributes, 16, 4 * KIB),
    target("spacemap", object::spacemap, 1, 4 * KIB),
    target("lists", object::lists, 2, 4 * KIB),
    // A record decoded, encoded and decoded again.
    target("intent_log", object::intent_log, 6, 4 * KIB),
    target("stream", object::stream, 2, 4 * KIB),
    // A log block is always 64 KiB, zeros where the input ends.
    target("cache_device", object::cache_device, 2, 256 * KIB),
    // A decompressor gets its output buffer (here up to 1 MiB); zstd and deflate keep tables beside
    // it.
    target("decompress", packed::decompress, 1, 1536 * KIB),
    // What is stored, compressed: beside the output, the compressors' own tables.
    target("compress", packed::compress, 8, 8192 * KIB),
    target("rpc_record", wire::record, 4, 256 * KIB),
    target("rpc_message", wire::message, 2, 4 * KIB),
    // A READ of a mebibyte, a READDIR page; the model's own state.
    target("nfs_call", wire::nfs_call, 64, 1536 * KIB),
    target("nfs_handle", wire::nfs_handle, 1, KIB),
    target("sharenfs", wire::sharenfs, 64, 4 * KIB),
    target("api", wire::api, 64, 4 * KIB),
    // Data of a PDU of the largest size that was agreed on.
    target("iscsi_pdu", block::pdu, 20, 160 * KIB),
    target("iscsi_share", block::share, 64, 4 * KIB),
    // A volume, what is read of it, and a step of what fills it with a pattern.
    target("scsi_command", block::command, 64, 512 * KIB),
];

/// The target of this name.
///
/// # Panics
/// When there is none.
pub fn by_name(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("no target is called {name}"))
}
