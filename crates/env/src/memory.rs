//! What the system does with this process's memory.

/// From now on the kernel gives this process memory in small pages only, also where the allocator
/// asks for huge ones.
///
/// The server has hundreds of threads at times, each with pages of its own in the allocator for
/// each size of block. With huge pages the first byte in each of them cost clearing two megabytes,
/// which was half of the processor time of many small requests; memory that nobody had asked for
/// stayed resident.
pub fn use_small_pages() {
    // SAFETY: PR_SET_THP_DISABLE takes one flag, the other arguments must be 0, and it touches no
    // memory of ours. Where the kernel knows no such thing, nothing changes.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}
