//! Names of datasets, hosts and users, as people and pools give them.

/// Bytes of a dataset's name.
const LONGEST: usize = 200;
/// Bytes of a host's name, as DNS has it, and of a user's, as Linux has it.
const LONGEST_HOST: usize = 253;
const LONGEST_USER: usize = 32;

/// Whether it can stand between two `/` of a dataset's name.
pub fn is_part(part: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.: ".contains(&byte);
    !part.is_empty() && part != "." && part != ".." && part.bytes().all(good)
}

/// Whether it can be a dataset's name. What a pool takes, it says itself; what may stand in a
/// command line of another machine, this does: no option, no space but within.
pub fn is_dataset(name: &str) -> bool {
    let good = |part: &str| is_part(part) && part.trim() == part;
    name.len() <= LONGEST
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.split('/').all(good)
}

/// Whether it can be a host's name, or an address: no option, nothing that a program takes apart.
pub fn is_host(host: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    (1..=LONGEST_HOST).contains(&host.len())
        && host.bytes().all(good)
        && host.starts_with(|first: char| first.is_ascii_alphanumeric() || first == ':')
}

/// Whether it can be a user's name.
pub fn is_user(user: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=LONGEST_USER).contains(&user.len())
        && user.bytes().all(good)
        && user.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
}
