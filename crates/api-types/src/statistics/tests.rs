use super::*;

fn volumes(each: &[(&str, u64)], others: u64) -> Breakdown<VolumeCounts> {
    let counts = |reads| VolumeCounts { reads, read_bytes: reads * 512, ..VolumeCounts::default() };
    let named = |(name, reads): &(&str, u64)| Named { name: (*name).to_owned(), counts: counts(*reads) };
    Breakdown { each: each.iter().map(named).collect(), others: counts(others) }
}

#[test]
fn the_others_take_what_is_not_listed() {
    let all = volumes(&[("a", 9), ("b", 5), ("c", 1)], 2);
    assert_eq!(all.clone().top(1), volumes(&[("a", 9)], 8));
    assert_eq!(all.clone().top(7), all);
    assert_eq!((all.total().reads, all.total().read_bytes), (17, 17 * 512));
    let calls = |pairs: &[(&str, u64)]| NfsCounts {
        calls: pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        ..NfsCounts::default()
    };
    let sum = calls(&[("read", 3)]).plus(&calls(&[("read", 4), ("write", 1)]));
    assert_eq!(sum, calls(&[("read", 7), ("write", 1)]));
}

#[test]
fn differences_are_exact_together_and_never_negative() {
    let before = volumes(&[("a", 9), ("b", 5)], 2);
    // b was put to the others, c is new, and all go on.
    let now = volumes(&[("a", 12), ("c", 4)], 8);
    let since = now.since(&before);
    assert_eq!(since, volumes(&[("a", 3), ("c", 4)], 1));
    assert_eq!(since.total().reads, now.total().reads - before.total().reads);
    // One began anew in between.
    assert_eq!(volumes(&[("a", 1)], 0).since(&before), volumes(&[("a", 0)], 0));
}

#[test]
fn a_daemon_or_pool_that_began_anew_makes_no_negative_rate() {
    let disk = |read_ops| DiskStatistics {
        pool: "tank".into(),
        name: "/dev/sda".into(),
        class: "data".into(),
        health: Health::Online,
        read_errors: 0,
        write_errors: 0,
        checksum_errors: 0,
        io: IoCounters { read_ops, ..IoCounters::default() },
    };
    let at = |run, uptime, reads, read_ops| Statistics {
        run,
        uptime,
        volumes: volumes(&[("tank/v", reads)], 0),
        disks: vec![disk(read_ops)],
        ..Statistics::default()
    };
    let (before, now) = (at(7, 100, 50, 90), at(7, 160, 52, 95));
    let since = now.since(&before);
    assert_eq!((since.uptime, since.volumes.total().reads, since.disks[0].io.read_ops), (60, 2, 5));
    assert_eq!(at(7, 160, 52, 4).since(&before).disks[0].io.read_ops, 4, "the pool was imported anew");
    assert_eq!(at(8, 30, 3, 1).since(&before), at(8, 30, 3, 1));
}

#[test]
fn the_form_on_the_wire_stays() {
    let mut statistics = Statistics { run: 1, uptime: 2, ..Statistics::default() };
    statistics
        .file_systems
        .each
        .push(Named { name: "tank".into(), counts: FileSystemCounts { reads: 3, ..Default::default() } });
    let wire = serde_json::to_value(&statistics).expect("JSON");
    assert_eq!(wire["file_systems"]["each"][0]["name"], "tank");
    assert_eq!(wire["file_systems"]["each"][0]["reads"], 3);
    assert_eq!(wire["file_systems"]["others"]["reads"], 0);
    assert!(wire["nfs"]["clients"]["each"].is_array() && wire["process"]["resident"] == 0, "{wire}");
    assert_eq!(serde_json::from_value::<Statistics>(wire).expect("read"), statistics);
    // An older daemon's answer has fewer members.
    assert_eq!(serde_json::from_str::<Statistics>("{\"run\":1,\"uptime\":2}").expect("read").run, 1);
}
