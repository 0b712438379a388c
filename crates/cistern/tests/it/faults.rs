//! Blocks that fail by command: what a scrub says of them, and what is left when they don't any
//! more.

use std::fs;

use crate::daemon::{Daemon, Scratch, text};
use crate::suspended::{until, zinject};
use crate::zdb::assert_clean;

fn scrub(daemon: &Daemon) -> String {
    daemon.zpool("scrub tank").done();
    daemon.zpool("wait -t scrub tank").done();
    daemon.zpool("status -v tank").done()
}

#[test]
fn blocks_of_a_file_fail_and_no_others() {
    let scratch = Scratch::new("blocks");
    let mut daemon = Daemon::start(&scratch);
    let (a, b, at) = (scratch.image("a", 128), scratch.image("b", 128), scratch.folder("mnt"));
    let c = scratch.image("c", 128);
    daemon.zpool(&format!("create -m {} tank raidz {a} {b} {c}", text(&at))).done();
    daemon.zfs("mount tank").done();
    for name in ["hurt", "well"] {
        let noise: Vec<u8> =
            (0..1_u32 << 18).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        fs::write(at.join(name), noise).expect("written");
    }
    let path = text(&at.join("hurt"));
    // The third block of 128 KiB.
    let added = zinject(&daemon, &format!("-a -t data -e checksum -r 256K,384K {path}")).done();
    assert!(added.contains(" range: [2, 2]\n") && added.contains("  pool: tank\n"), "{added}");
    let listed = zinject(&daemon, "").done();
    let row: Vec<&str> = listed.lines().nth(2).expect("one handler").split_whitespace().collect();
    assert_eq!((row[0], row[1], row[4], row[5], row[6]), ("1", "tank", "data", "0", "0x00"), "{listed}");
    let status = scrub(&daemon);
    assert!(status.contains("tank:/hurt") && !status.contains("tank:/well"), "{status}");
    let listed = zinject(&daemon, "").done();
    let hits: u64 =
        listed.lines().nth(2).and_then(|row| row.split_whitespace().last()?.parse().ok()).expect("a number");
    assert!(hits > 0, "{listed}");
    // By bookmark, and one copy alone of what has three: a block of the pool's directory.
    zinject(&daemon, "-c 1").done();
    daemon.zpool("clear tank").done();
    zinject(&daemon, "-q -t mosdir -C 1 -e io tank").done();
    let status = scrub(&daemon);
    assert!(status.contains("errors: No known data errors"), "{status}");
    let refused = zinject(&daemon, "-b 0:ffffff:0:0 tank");
    assert_eq!((refused.status, &refused.err[..]), (1, "failed to add handler: no such block is on disk\n"));
    let refused = zinject(&daemon, "-p spa_open tank");
    assert!(refused.status == 1 && refused.err.contains("panics (-p) are not supported"), "{refused:?}");
    zinject(&daemon, "-c all").done();
    daemon.zpool("clear tank").done();
    until("the end", || scrub(&daemon).contains("errors: No known data errors"));
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}
