//! Deduplication as an administrator sees it: what is foretold, and what is there then, beside what
//! zdb says of the same.

use crate::daemon::{Daemon, Scratch};
use crate::libnfs::Client;
use crate::zdb::{assert_readable, zdb};

/// The table of a histogram, as far as its last line.
fn table(text: &str) -> &str {
    let from = text.find("bucket ").unwrap_or_else(|| panic!("no table: {text}"));
    let total = text[from..].find(" Total ").unwrap_or_else(|| panic!("no end: {text}")) + from;
    let end = text[total..].find('\n').map_or(text.len(), |end| total + end);
    &text[from..end]
}

/// The line of ratios.
fn ratios(text: &str) -> &str {
    text.lines().find(|line| line.starts_with("dedup = ")).unwrap_or_else(|| panic!("no ratios: {text}"))
}

#[test]
fn what_is_foretold_and_what_comes_of_it_is_what_zdb_says() {
    let scratch = Scratch::new("dedup");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let text: Vec<u8> = (0..300_000).map(|i: u32| (i / 11 % 251) as u8).collect();
    let write = |daemon: &Daemon, name: &str, props: &str| {
        let at = scratch.text(name);
        daemon
            .zfs(&format!(
                "create -u -o mountpoint={at} -o sharenfs=rw,no_root_squash,insecure {props} tank/{name}"
            ))
            .done();
        let client = Client::mount(daemon, &at).expect("mounted");
        for n in 0..5 {
            client.write_file(&format!("/same{n}"), 0o644, &text).expect("written");
            client.write_file(&format!("/own{n}"), 0o644, &text[n + 1..]).expect("written");
        }
        client.write_file("/small", 0o644, b"embedded").expect("written");
    };
    write(&daemon, "plain", "-o recordsize=16k");
    write(&daemon, "twice", "-o recordsize=16k -o copies=2 -o checksum=sha256");
    daemon.zfs("snapshot tank/plain@s").done();
    // What a log wrote as data is not deduplicated, as in OpenZFS.
    write(&daemon, "real", "-o recordsize=32k -o dedup=on -o sync=disabled");
    daemon.zpool("sync tank").done();
    daemon.zpool("prefetch -t ddt tank").done();
    let props =
        "get -Hp -o value dedup_table_quota,bcloneused,bcloneratio,dedup_table_size,last_scrubbed_txg tank";
    let told = daemon.zpool(props).done();
    let told: Vec<&str> = told.lines().collect();
    assert_eq!((&told[..3], told[4]), (&["auto", "0", "1.00"][..], "0"));
    assert!(told[3].parse::<u64>().is_ok_and(|size| size > 0), "{told:?}");
    let refused = daemon.zpool("set dedup_table_quota=1G tank");
    assert!(
        refused.status == 1 && refused.err.contains("dedup_table_quota=1G: not supported"),
        "{refused:?}"
    );
    daemon.zpool("scrub -w tank").done();
    assert_ne!(daemon.zpool("get -Hp -o value last_scrubbed_txg tank").done(), "0\n");
    let foretold = daemon.run(&["dedup-estimate", "tank"]).done();
    let status = daemon.zpool("status -D tank").done();
    let shown = daemon.zpool("list -H -o dedup tank").done();
    daemon.stop();

    let folder = scratch.path("disks");
    assert_readable(&folder, "tank");
    let simulated = zdb(&folder, &["-S", "tank"]).done();
    assert_eq!(table(&foretold), table(&simulated));
    assert_eq!(ratios(&foretold), ratios(&simulated));
    let real = zdb(&folder, &["-DD", "tank"]).done();
    let all = real.split_once("aggregated over all DDTs").map_or("", |(_, all)| all);
    assert_eq!(table(&status), table(all));
    // The pool cuts off where zdb rounds.
    let number = |text: &str| text.trim().trim_end_matches('x').parse::<f64>().expect("a ratio");
    let rounded = ratios(all).trim_start_matches("dedup = ").split(',').next().map_or(0.0, number);
    assert!((-0.001..0.011).contains(&(rounded - number(&shown))), "{shown} and {rounded}");
}
