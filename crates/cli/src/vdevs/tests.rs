use super::*;

/// A line in which a number stands for the file of that number.
fn parse_line(line: &str, files: &Files) -> Result<NewVdevs, String> {
    let word =
        |word: &str| word.parse::<usize>().map_or_else(|_| word.to_owned(), |n| files.paths[n].clone());
    let words: Vec<String> = line.split_whitespace().map(word).collect();
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
    let parsed = |line: &str| parse_line(line, &f).expect(line);
    let leaves =
        |wanted: &[usize]| wanted.iter().map(|&n| VdevSpec::Leaf(f.paths[n].clone())).collect::<Vec<_>>();
    let two = parsed("mirror 0 1 mirror 2 3");
    assert_eq!(two.data.len(), 2);
    assert_eq!(two.data[1], VdevSpec::Mirror(leaves(&[2, 3])));
    let raidz = [
        VdevSpec::Raidz { parity: 2, children: leaves(&[0, 1, 2]) },
        VdevSpec::Raidz { parity: 1, children: leaves(&[3, 0]) },
    ];
    assert_eq!(parsed("raidz2 0 1 2 raidz 3 0").data, raidz);
    let apart = parsed("0 special mirror 1 2 dedup 3 special 0");
    assert_eq!((apart.data, apart.dedup), (leaves(&[0]), leaves(&[3])));
    assert_eq!(apart.special, [VdevSpec::Mirror(leaves(&[1, 2])), leaves(&[0]).remove(0)]);
    // A group behind single devices is data, whatever they are for; single devices go on with them.
    for (class, singles) in [("cache", (1, 0)), ("spare", (0, 1))] {
        let layout = parsed(&format!("{class} 0 mirror 1 2 3"));
        assert_eq!(layout.data, [VdevSpec::Mirror(leaves(&[1, 2, 3]))], "{class}");
        assert_eq!((layout.cache.len(), layout.spares.len()), singles);
    }
    let classes = parsed("0 log mirror 1 2 cache 3 0");
    assert_eq!((classes.data.len(), classes.logs.len()), (1, 1));
    assert_eq!(classes.cache, [f.paths[3].clone(), f.paths[0].clone()]);
    assert_eq!(parsed(""), NewVdevs::default());
}

#[test]
fn what_the_grammar_refuses() {
    let f = files("refused", &[64, 64, 64]);
    let refused = |line: &str| parse_line(line, &f).expect_err(line);
    let many = format!("raidz{}", " 0".repeat(256));
    for (line, why) in [
        ("mirror 0", "mirror requires at least 2 devices"),
        ("raidz3 0 1 2", "raidz3 requires at least 4 devices"),
        (many.as_str(), "raidz supports no more than 255 devices"),
        ("0 log raidz 1 2", "unsupported 'log' device: raidz"),
        ("0 special raidz 1 2", "unsupported 'special' device: raidz"),
        ("0 dedup raidz 1 2", "unsupported 'special' device: raidz"),
        ("0 special", "special requires at least 1 device"),
        ("0 1 cache mirror", "cache requires at least 1 devices"),
        ("0 1 cache log", "cache requires at least 1 devices"),
        ("0 1 cache", "cache requires at least 1 devices"),
        ("0 log cache 1", "log requires at least 1 device"),
        ("0 log 1 log 2", "'log' can be specified only once"),
        ("0 cache 1 cache 2", "'cache' can be specified only once"),
        ("0 spare 1 spare 2", "'spare' can be specified only once"),
    ] {
        assert_eq!(refused(line), format!("invalid vdev specification: {why}"), "{line}");
    }
    assert!(refused("raidz4 0").starts_with("cannot open 'raidz4': no such device"));
    assert!(refused("draid 0").contains("'draid' vdevs are not supported"));
    assert_eq!(refused("/no/such/file"), "cannot resolve path '/no/such/file'");
    assert_eq!(refused("/tmp"), "cannot use '/tmp': must be a block device or regular file");
    assert!(refused("nonsense").starts_with("cannot open 'nonsense': no such device in /dev\n"));
}

#[test]
fn redundancy_that_does_not_match() {
    let f = files("redundancy", &[64, 64, 64, 64, 64, 256]);
    let told = |line: &str| mismatches(&parse_line(line, &f).expect(line).data);
    for line in ["0 5", "raidz 0 1 2 mirror 3 4"] {
        assert_eq!(told(line), [""; 0], "{line}");
    }
    for (line, why) in [
        ("0 mirror 1 2", "both file and mirror vdevs are present"),
        ("mirror 0 1 mirror 2 3 4", "both 2-way and 3-way mirror vdevs are present"),
        ("raidz 0 1 raidz2 2 3 4", "both 1 and 2 device parity raidz vdevs are present"),
        ("raidz 0 1 raidz 2 3 4", "both 2-way and 3-way raidz vdevs are present"),
        (
            "mirror 0 1 raidz2 2 3 4",
            "raidz and mirror vdevs with different redundancy, 2 vs. 1 (2-way) are present",
        ),
    ] {
        assert_eq!(told(line), [format!("mismatched replication level: {why}")], "{line}");
    }
    assert_eq!(told("mirror 0 5"), ["mirror contains devices of different sizes"]);
}
