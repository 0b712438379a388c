use super::*;

/// Groups below a folder of their own, with these files.
fn groups(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = std::env::temp_dir().join(format!("cistern-host-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&root));
    for (file, text) in files {
        let file = root.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(file, text).expect("written");
    }
    root
}

#[test]
fn the_least_limit_of_a_group_and_those_above_counts() {
    let root = groups(
        "least",
        &[
            ("system.slice/memory.max", "1073741824\n"),
            ("system.slice/cistern.service/memory.max", "max\n"),
            ("system.slice/cistern.service/memory.high", "536870912\n"),
            ("system.slice/other.service/memory.max", "4096\n"),
            ("memory/docker/a/memory.limit_in_bytes", "268435456\n"),
        ],
    );
    let cases = [
        ("0::/system.slice/cistern.service\n", Some(512 << 20)),
        ("0::/system.slice\n", Some(1 << 30)),
        ("0::/\n", None),
        ("", None),
        ("4:cpu,cpuacct:/docker/a\n3:memory:/docker/a\n", Some(256 << 20)),
        ("3:memory:/docker/a\n0::/system.slice/cistern.service\n", Some(256 << 20)),
        ("nonsense\n0::/nowhere/at/all\n", None),
    ];
    for (text, wanted) in cases {
        assert_eq!(group_memory(text, &root), wanted, "{text}");
    }
    fs::remove_dir_all(root).expect("removed");
}

/// Its own group is the root that it sees, whatever its path is outside.
#[test]
fn a_container_has_the_limit_of_the_root_that_it_sees() {
    let root = groups("container", &[("memory.max", "536870912\n")]);
    assert_eq!(group_memory("0::/docker/abc\n", &root), Some(512 << 20));
    fs::remove_dir_all(root).expect("removed");
}

#[test]
fn the_names_beside_ones_own_are_ones_own() {
    let hosts = "127.0.0.1 localhost\n# 127.0.1.1 old.example nas\n127.0.1.1 nas.example.org nas # here\n\
                 ::1 localhost\n192.0.2.7\n192.0.2.8 other.example other nas2\n";
    assert_eq!(names_in(hosts, "nas"), ["nas", "nas.example.org"]);
    assert_eq!(names_in(hosts, "nas.example.org"), ["nas.example.org", "nas"]);
    assert_eq!(names_in("", "nas"), ["nas"]);
}
