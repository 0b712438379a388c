//! The program's allocator, and how long it keeps what is free.
//!
//! The cache hands out and takes back blocks of all sizes from many threads; the system's allocator
//! keeps too much.

use libmimalloc_sys::{mi_option_get, mi_option_set, mi_option_t};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Small pages from the first byte on: this runs before mimalloc does (`prim.c`: a constructor of
/// priority 101), whose first page would else be a huge one. To clear that took up to a sixth of
/// the time of `cistern --version`.
#[used]
#[unsafe(link_section = ".init_array.00100")]
static SMALL_PAGES: extern "C" fn() = use_small_pages;

/// Before `main`: calls the kernel, and nothing of std that would want to be started first.
extern "C" fn use_small_pages() {
    env::memory::use_small_pages();
}

/// `mi_option_purge_delay` of mimalloc 2 and 3 (`mimalloc.h`), in ms; the crate has no name for it.
const PURGE_DELAY: mi_option_t = 15;
/// mimalloc 3's own.
const USUAL: i64 = 1_000;
const MINUTE: i64 = 60_000;

/// Gives free memory back to the system after a minute in place of a second.
///
/// A writer's blocks are free again when their group is out, every few seconds, and wanted for the
/// next. To give them back meanwhile, and have the kernel clear them anew, was a fifth of what
/// writing large blocks cost. Only for the first thread before it starts others; who has set
/// `MIMALLOC_PURGE_DELAY` keeps it.
pub fn keep_free_memory() {
    // SAFETY: no other thread runs that could use options; 15 is one of them.
    unsafe {
        if mi_option_get(PURGE_DELAY) == USUAL {
            mi_option_set(PURGE_DELAY, MINUTE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing but the constructor can have seen to it here.
    #[test]
    fn no_page_is_huge() {
        let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").expect("the kernel's account");
        let huge = rollup.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
        assert_eq!(huge.map(str::trim), Some("0 kB"));
    }

    /// A new version of mimalloc may number its options anew, or have other habits.
    #[test]
    fn the_option_is_the_one_that_is_meant() {
        keep_free_memory();
        // SAFETY: reads a number.
        assert_eq!(unsafe { mi_option_get(PURGE_DELAY) }, MINUTE);
    }
}
