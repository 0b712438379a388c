//! Names of datasets, as people and pools give them.

/// Whether it can stand between two `/` of a dataset's name.
pub fn is_part(part: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.: ".contains(&byte);
    !part.is_empty() && part != "." && part != ".." && part.bytes().all(good)
}
