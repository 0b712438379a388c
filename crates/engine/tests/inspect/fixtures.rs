//! Pools made by OpenZFS: what we say of them is what `zdb` said when they were made.

use sha2::{Digest, Sha256};

use crate::support::{Dir, inspect};

/// Pools in the repository, and the text in which `zdb` described them.
const POOLS: [(&str, &str); 4] = [
    ("single-default", "zdb-g_single.txt"),
    ("mirror2", "zdb-g_mirror2.txt"),
    ("snapshots", "zdb-g_snap.txt"),
    ("stripe-of-mirrors", "zdb-g_som.txt"),
];

fn hashes(dir: &Dir) -> Vec<Vec<u8>> {
    let hash = |path: &String| Sha256::digest(std::fs::read(path).unwrap()).to_vec();
    dir.disk_paths().iter().map(hash).collect()
}

#[test]
fn real_pools_are_found_clean_and_left_alone() {
    for (name, _) in POOLS {
        let dir = Dir::fixture(name);
        let before = hashes(&dir);
        let out = inspect(&["-c", &dir.path()]).clean();
        assert!(out.contains("no problems") && out.contains("exactly what is referenced"), "{name}:\n{out}");
        assert!(!out.contains("are bad") && !out.contains("checksum errors"), "{name}:\n{out}");
        inspect(&["-luCdm", "--history", &dir.path()]).clean();
        assert!(hashes(&dir) == before, "{name}: a look has changed a disk");
    }
}

#[test]
fn datasets_are_listed_as_zdb_lists_them() {
    for (name, zdb) in POOLS {
        let dir = Dir::fixture(name);
        let zdb = dir.text(zdb).expect("the fixture has zdb's words");
        let sorted = |text: &str| {
            let lines = text.lines().map(str::trim_end).filter(|line| line.starts_with("Dataset "));
            let mut lines: Vec<String> = lines.map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let ours = sorted(&inspect(&["-d", &dir.path()]).clean());
        assert!(ours.len() > 3);
        assert_eq!(ours, sorted(&zdb), "{name}");
    }
}

#[test]
fn the_configuration_reads_as_zdb_prints_it() {
    for (name, zdb) in POOLS {
        let dir = Dir::fixture(name);
        let zdb = dir.text(zdb).unwrap();
        let out = inspect(&["-C", &dir.path()]).clean();
        let lines = |text: &str| -> Vec<String> {
            let from = text.lines().skip_while(|line| !line.starts_with("MOS Configuration:")).skip(1);
            from.take_while(|line| !line.is_empty() && !line.starts_with("Dataset"))
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(lines(&out), lines(&zdb), "{name}");
    }
}

#[test]
fn labels_read_as_zdb_prints_them() {
    for (name, _) in POOLS {
        let dir = Dir::fixture(name);
        let zdb = dir.text("zdb-labels.txt").expect("the fixture has zdb's words");
        let out = inspect(&["-l", &dir.file("disk0.img")]).clean();
        let label = |text: &str| -> Vec<String> {
            let from = text.lines().skip_while(|line| line.trim_end() != "LABEL 0").skip(2);
            from.take_while(|line| !line.contains("Uberblock") && !line.starts_with("---"))
                .map(|line| line.trim_end().to_owned())
                .collect()
        };
        assert_eq!(label(&out), label(&zdb), "{name}");
        assert!(out.matches("\ttxg = ").count() > 10, "{out}");
    }
}

#[test]
fn objects_lead_from_the_root_to_the_blocks_of_a_file() {
    let dir = Dir::fixture("mirror2");
    let list = inspect(&["-o", "g_mirror2/off@s1", &dir.path()]).clean();
    let rows = |kind: &str| list.lines().filter(|line| line.contains(kind)).count();
    assert_eq!(rows("ZFS master node"), 1, "{list}");
    assert!(rows("ZFS plain file, ") > 10, "{list}");
    let root = inspect(&["-o", "g_mirror2/off@s1", "34", &dir.path()]).clean();
    assert!(root.contains("m = 2 (directory)") && root.contains("mode               40755"), "{root}");
    let folder = inspect(&["-o", "g_mirror2/off@s1", "2", &dir.path()]).clean();
    let large = folder.lines().find_map(|line| line.trim().strip_prefix("t300000 = ")).expect("it is there");
    let large = large.split(' ').next().unwrap();
    let file = inspect(&["-bo", "g_mirror2/off@s1", large, &dir.path()]).clean();
    assert!(file.contains("size               300000"), "{file}");
    assert_eq!(file.lines().filter(|line| line.trim().starts_with("L0 ")).count(), 3, "{file}");
    assert!(file.contains("L1 ") && file.contains("sha256 lz4 F=3"), "{file}");
}

#[test]
fn structures_of_the_pool_itself_are_decoded() {
    let dir = Dir::fixture("snapshots");
    let all = inspect(&["-o", "mos", &dir.path()]).clean();
    let number = |kind: &str| {
        let line = all.lines().find(|line| line.contains(kind)).unwrap_or_else(|| panic!("{kind}:\n{all}"));
        line.split_whitespace().next().unwrap().to_owned()
    };
    for (kind, shown) in [
        ("object directory", "root_dataset = "),
        ("packed nvlist", "name: 'g_snap'"),
        ("DSL dataset", "deadlist_obj"),
        ("DSL directory", "used_bytes"),
        ("SPA space map", "ALLOC"),
    ] {
        let object = if kind == "object directory" { "1".into() } else { number(kind) };
        let out = inspect(&["-o", "mos", &object, &dir.path()]).clean();
        assert!(out.contains(shown), "{kind}:\n{out}");
    }
}

#[test]
fn machines_get_json() {
    let dir = Dir::fixture("mirror2");
    let out = inspect(&["--json", "-c", "--metadata", &dir.path()]).clean();
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["devices"].as_array().unwrap().len(), 2);
    assert_eq!(json["pools"][0]["name"], "g_mirror2");
    assert_eq!(json["pools"][0]["verify"]["clean"], true);
    assert_eq!(json["pools"][0]["config"]["vdev_tree"]["children"][0]["type"], "mirror");
}
