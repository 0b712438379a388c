use super::*;

fn parse_line(line: &str) -> Result<NewVdevs, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&words).map_err(|stop| match stop {
        Stop::Fail(text) => text,
        other => panic!("{other:?}"),
    })
}

/// Files in a folder that goes when the test ends.
struct Files {
    folder: std::path::PathBuf,
    paths: Vec<String>,
}

impl std::ops::Index<usize> for Files {
    type Output = String;
    fn index(&self, at: usize) -> &String {
        &self.paths[at]
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Files of these sizes in MiB.
fn files(name: &str, sizes: &[u64]) -> Files {
    let folder = std::env::temp_dir().join(format!("cistern-cli-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let make = |(count, size): (usize, &u64)| {
        let path = folder.join(format!("{count}.img"));
        std::fs::File::create(&path).and_then(|file| file.set_len(size << 20)).expect("a sparse file");
        path.display().to_string()
    };
    Files { paths: sizes.iter().enumerate().map(make).collect(), folder }
}

#[test]
fn grammar() {
    let f = files("grammar", &[64, 64, 64, 64]);
    let two = parse_line(&format!("mirror {} {} mirror {} {}", f[0], f[1], f[2], f[3])).expect("valid");
    assert_eq!(two.data.len(), 2);
    assert_eq!(
        two.data[1],
        VdevSpec::Mirror(vec![VdevSpec::Leaf(f[2].clone()), VdevSpec::Leaf(f[3].clone())])
    );
    let refused = |line: &str| parse_line(line).expect_err(line);
    assert_eq!(
        refused(&format!("mirror {}", f[0])),
        "invalid vdev specification: mirror requires at least 2 devices"
    );
    let raidz =
        parse_line(&format!("raidz2 {} {} {} raidz {} {}", f[0], f[1], f[2], f[3], f[0])).expect("valid");
    let leaves = |wanted: &[usize]| wanted.iter().map(|&n| VdevSpec::Leaf(f[n].clone())).collect();
    assert_eq!(
        raidz.data,
        [
            VdevSpec::Raidz { parity: 2, children: leaves(&[0, 1, 2]) },
            VdevSpec::Raidz { parity: 1, children: leaves(&[3, 0]) }
        ]
    );
    assert_eq!(
        refused(&format!("raidz3 {} {} {}", f[0], f[1], f[2])),
        "invalid vdev specification: raidz3 requires at least 4 devices"
    );
    assert_eq!(
        refused(&format!("raidz{}", format!(" {}", f[0]).repeat(256))),
        "invalid vdev specification: raidz supports no more than 255 devices"
    );
    assert_eq!(
        refused(&format!("{} log raidz {} {}", f[0], f[1], f[2])),
        "invalid vdev specification: unsupported 'log' device: raidz"
    );
    for class in ["special", "dedup"] {
        assert_eq!(
            refused(&format!("{} {class} raidz {} {}", f[0], f[1], f[2])),
            "invalid vdev specification: unsupported 'special' device: raidz"
        );
    }
    assert!(refused(&format!("raidz4 {}", f[0])).starts_with("cannot open 'raidz4': no such device"));
    assert!(refused(&format!("draid {}", f[0])).contains("'draid' vdevs are not supported"));
    let line = format!("{} special mirror {} {} dedup {} special {}", f[0], f[1], f[2], f[3], f[0]);
    let apart = parse_line(&line).expect(&line);
    assert_eq!((apart.data, apart.dedup), (leaves(&[0]), leaves(&[3])));
    assert_eq!(apart.special, [VdevSpec::Mirror(leaves(&[1, 2])), leaves(&[0]).remove(0)]);
    assert_eq!(
        refused(&format!("{} special", f[0])),
        "invalid vdev specification: special requires at least 1 device"
    );
    for end in ["cache mirror", "cache log", "cache"] {
        let line = format!("{} {} {end}", f[0], f[1]);
        assert_eq!(refused(&line), "invalid vdev specification: cache requires at least 1 devices", "{line}");
    }
    assert_eq!(
        refused(&format!("{} log cache {}", f[0], f[1])),
        "invalid vdev specification: log requires at least 1 device"
    );
    for class in ["log", "cache", "spare"] {
        assert_eq!(
            refused(&format!("{} {class} {} {class} {}", f[0], f[1], f[2])),
            format!("invalid vdev specification: '{class}' can be specified only once")
        );
    }
    // A group behind single devices is data, whatever they are for; single devices go on with them.
    for class in ["cache", "spare"] {
        let line = format!("{class} {} mirror {} {} {}", f[0], f[1], f[2], f[3]);
        let layout = parse_line(&line).expect(&line);
        assert_eq!(layout.data, [VdevSpec::Mirror(leaves(&[1, 2, 3]))], "{line}");
        assert_eq!((layout.cache.len(), layout.spares.len()), if class == "cache" { (1, 0) } else { (0, 1) });
    }
    let classes = parse_line(&format!("{} log mirror {} {} cache {} {}", f[0], f[1], f[2], f[3], f[0]));
    let classes = classes.expect("valid");
    assert_eq!((classes.data.len(), classes.logs.len()), (1, 1));
    assert_eq!(classes.cache, [f[3].clone(), f[0].clone()]);
    assert_eq!(refused("/no/such/file"), "cannot resolve path '/no/such/file'");
    assert_eq!(refused("/tmp"), "cannot use '/tmp': must be a block device or regular file");
    assert!(refused("nonsense").starts_with("cannot open 'nonsense': no such device in /dev\n"));
    assert_eq!(parse_line(""), Ok(NewVdevs::default()));
}

#[test]
fn redundancy_that_does_not_match() {
    let f = files("redundancy", &[64, 64, 64, 64, 64, 256]);
    let told = |line: &str| mismatches(&parse_line(line).expect(line).data);
    assert_eq!(told(&format!("{} {}", f[0], f[5])), [""; 0]);
    assert_eq!(
        told(&format!("{} mirror {} {}", f[0], f[1], f[2])),
        ["mismatched replication level: both file and mirror vdevs are present"]
    );
    assert_eq!(
        told(&format!("mirror {} {} mirror {} {} {}", f[0], f[1], f[2], f[3], f[4])),
        ["mismatched replication level: both 2-way and 3-way mirror vdevs are present"]
    );
    assert_eq!(
        told(&format!("raidz {} {} raidz2 {} {} {}", f[0], f[1], f[2], f[3], f[4])),
        ["mismatched replication level: both 1 and 2 device parity raidz vdevs are present"]
    );
    assert_eq!(
        told(&format!("raidz {} {} raidz {} {} {}", f[0], f[1], f[2], f[3], f[4])),
        ["mismatched replication level: both 2-way and 3-way raidz vdevs are present"]
    );
    assert_eq!(told(&format!("raidz {} {} {} mirror {} {}", f[0], f[1], f[2], f[3], f[4])), [""; 0]);
    assert_eq!(
        told(&format!("mirror {} {} raidz2 {} {} {}", f[0], f[1], f[2], f[3], f[4])),
        [
            "mismatched replication level: raidz and mirror vdevs with different redundancy, 2 vs. 1 (2-way) are present"
        ]
    );
    assert_eq!(told(&format!("mirror {} {}", f[0], f[5])), ["mirror contains devices of different sizes"]);
}
