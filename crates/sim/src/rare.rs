//! Rare paths of the engine that runs of the simulator have to take: whoever tries seeds that never
//! come there proves nothing about them.
//!
//! The engine marks each of them ([`stdx::mark`]). The list here says which are to be taken. A mark
//! that is not in it is noticed once it is taken, and not before.

use stdx::mark;

/// By the names that the engine marks them with.
const PATHS: [&str; 12] = [
    "block rewritten in a later pass",
    "columns of a raidz found wrong by trying",
    "dedup references wait for the next group",
    "discarded checkpoint gives space back",
    "gang block",
    "gang block rewritten",
    "hot spare steps in",
    "import goes back to an older group",
    "log block from stock",
    "log chain breaks",
    "log record replayed",
    "suspended pool goes on",
];

/// Those that nothing in this process has taken so far.
pub fn unmet() -> Vec<&'static str> {
    let met = mark::met();
    PATHS.into_iter().filter(|path| !met.contains(path)).collect()
}

/// Marks that something in this process has taken and that are not in the list.
pub fn unlisted() -> Vec<&'static str> {
    mark::met().into_iter().filter(|path| !PATHS.contains(path)).collect()
}
