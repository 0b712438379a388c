//! Pools made by OpenZFS: what we say of them is what `zdb` said when they were made.

use crate::support::{Dir, inspect};

/// Pools in the repository, and the text in which `zdb` described them.
const POOLS: [(&str, &str); 4] = [
    ("single-default", "zdb-g_single.txt"),
    ("mirror2", "zdb-g_mirror2.txt"),
    ("snapshots", "zdb-g_snap.txt"),
    ("stripe-of-mirrors", "zdb-g_som.txt"),
];

#[test]
fn real_pools_are_found_clean() {
    for (name, _) in POOLS {
        let dir = Dir::fixture(name);
        let out = inspect(&["-c", &dir.path()]).clean();
        assert!(out.contains("no problems") && out.contains("exactly what is referenced"), "{name}:\n{out}");
        assert!(!out.contains("are bad"), "{name}:\n{out}");
    }
}
