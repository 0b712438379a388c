//! `nfsstat`, `iscsistat`, `fsstat`, `top` and `history`, as tables and as JSON.

use api_types::{Breakdown, FileSystemCounts, IscsiCounts, Named, NfsCounts, VolumeCounts};
use serde_json::Value;

use super::fake::FakeEngine;
use super::{Daemon, refused, said};

fn named<T>(name: &str, counts: T) -> Named<T> {
    Named { name: name.to_owned(), counts }
}

/// Of some clients and datasets.
fn counted() -> Daemon {
    let daemon = Daemon::start(FakeEngine::default());
    let files = |reads| FileSystemCounts {
        new_files: 3,
        lookups: 70_000,
        reads,
        read_bytes: reads * 4096,
        read_time: reads * 2000,
        ..FileSystemCounts::default()
    };
    let volume = VolumeCounts { writes: 8, write_bytes: 65_536, write_time: 800, ..VolumeCounts::default() };
    *daemon.engine.activity.lock().expect("unpoisoned") = (
        Breakdown { each: vec![named("tank/b", files(20)), named("tank/a", files(10))], others: files(1) },
        Breakdown { each: vec![named("tank/v", volume)], others: VolumeCounts::default() },
    );
    let client = |calls: &[(&str, u64)], refused| NfsCounts {
        calls: calls.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        refused,
        read_bytes: 1536,
        ..NfsCounts::default()
    };
    let mut counts = daemon.mounts.counted.lock().expect("unpoisoned");
    counts.nfs.clients = Breakdown {
        each: vec![named("192.0.2.7", client(&[("read", 30), ("getattr", 10)], 2))],
        others: client(&[("write", 60)], 0),
    };
    let initiator =
        IscsiCounts { reads: 4, read_bytes: 2048, read_time: 4000, others: 1, ..IscsiCounts::default() };
    counts.iscsi.initiators.each = vec![named("iqn.x:\u{1b}[2Jy", initiator)];
    drop(counts);
    daemon
}

#[test]
fn fsstat_has_the_columns_of_illumos() {
    let daemon = counted();
    let all = daemon.own("fsstat", "");
    assert_eq!(
        all.out,
        "  new  name   name  attr  attr lookup rddir  read  read  write write\n \
          file remov   chng   get   set    ops   ops   ops bytes    ops bytes\n    \
             3     0      0     0     0  68.4K     0    10   40K      0     0 tank/a\n    \
             3     0      0     0     0  68.4K     0    20   80K      0     0 tank/b\n    \
             3     0      0     0     0  68.4K     0     1    4K      0     0 (other)\n    \
             9     0      0     0     0   205K     0    31  124K      0     0 zfs\n"
    );
    assert_eq!(
        daemon.own("fsstat", "-H -p tank/b"),
        said("3\t0\t0\t0\t0\t70000\t0\t20\t81920\t0\t0\ttank/b\n")
    );
    let nowhere = daemon.own("fsstat", "/nowhere");
    assert_eq!(nowhere, refused("no file system is mounted or shared at '/nowhere'"));
    let json: Value = serde_json::from_str(&daemon.own("fsstat", "-j").out).expect("JSON");
    assert_eq!(json["file_systems"]["each"][0]["name"], "tank/b");
    assert!(json["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{json}");
    assert_eq!(daemon.own("fsstat", "tank 0").status, 2);
    // Nothing came in the second look.
    let two = daemon.own("fsstat", "-H -p tank/b 1 2").out;
    assert_eq!(two.lines().nth(1), Some("0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\ttank/b"));
}

#[test]
fn nfsstat_tells_of_procedures_and_of_clients() {
    let daemon = counted();
    let text = daemon.own("nfsstat", "").out;
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines.contains(&vec!["calls", "badcalls", "repeats", "mount"]), "{text}");
    assert!(lines.contains(&vec!["102", "2", "0", "0"]), "{text}");
    assert!(text.contains("Version 3: (100 calls)\n"), "{text}");
    assert!(
        lines.contains(&vec!["30", "30%", "60", "60%", "0", "0%", "0", "0%", "0", "0%", "0", "0%"]),
        "{text}"
    );
    let bare = daemon.own("nfsstat", "-s -H -p").out;
    assert!(bare.contains("\nread\t30\n") && bare.starts_with("calls\t102\n"), "{bare}");
    assert_eq!(
        daemon.own("nfsstat", "-l -H -p"),
        said("192.0.2.7\t40\t30\t1536\t0\t0\t10\t2\n(other)\t60\t0\t1536\t60\t0\t0\t0\n")
    );
    assert_eq!(daemon.own("nfsstat", "tank").status, 2);
}

#[test]
fn iscsistat_tells_of_initiators_and_of_volumes() {
    let daemon = counted();
    // Initiators call themselves as they like, and command no terminal.
    assert_eq!(daemon.own("iscsistat", "-H -p"), said("iqn.x:?[2Jy\t4\t2048\t1000\t0\t0\t0\t1\t0\n"));
    assert_eq!(daemon.own("iscsistat", "-v -H"), said("tank/v\t0\t0B\t-\t8\t64K\t100ns\t0\t0B\t0\n"));
    assert!(daemon.own("iscsistat", "").out.starts_with("INITIATOR "));
}

#[test]
fn top_prints_where_nobody_looks() {
    let daemon = counted();
    let shown = daemon.own("top", "--once");
    assert_eq!((shown.status, shown.err.as_str()), (0, ""));
    for title in ["CLIENT ", "FILE SYSTEM ", "VOLUME ", "DISK "] {
        assert!(shown.out.contains(title), "{}", shown.out);
    }
    let json: Value = serde_json::from_str(&daemon.own("top", "-j --once").out).expect("JSON");
    // Nobody did anything meanwhile.
    assert_eq!(json["nfs"]["clients"]["each"][0]["calls"]["read"], 0);
    for wrong in ["-v everything", "-s size", "-i 0", "-n many", "tank"] {
        assert_eq!(daemon.own("top", wrong).status, 2, "{wrong}");
    }
}

#[test]
fn without_a_history_that_is_said() {
    let daemon = counted();
    let said = daemon.own("history", "nfs.calls");
    assert_eq!(said.status, 1);
    assert!(said.err.contains("there is no history"), "{}", said.err);
    assert_eq!(daemon.own("history", "-s soon").status, 2);
}
