//! Two daemons with hostids of their own and the same disks: the second sees that the first lives,
//! and takes the pool when it does not any more. OpenZFS's debugger reads the signs of life.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::daemon::{Daemon, Scratch, program, text, timed};
use crate::zdb::assert_clean;

/// A daemon of a host of this number; neither imports by itself.
pub fn host(scratch: &Scratch, name: &str, id: u32) -> Daemon {
    fs::write(scratch.folder(name).join("hostid"), id.to_le_bytes())
        .expect("four bytes, as zgenhostid writes");
    Daemon::start_with(scratch, name, &[])
}

fn newest_uberblock(image: &str) -> String {
    let out = program("zdb", 60).args(["-luuuu", image]).output().expect("zdb is installed");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn a_pool_in_use_by_one_host_is_refused_to_another() {
    let scratch = Scratch::new("multihost");
    let mut one = host(&scratch, "one", 0x00c0_ffee);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    one.zpool(&format!("create -m none -o multihost=on tank mirror {a} {b}")).done();
    assert_eq!(one.zpool("get -H -o value multihost tank").done(), "on\n");
    one.zpool("sync tank").done();
    thread::sleep(Duration::from_secs(3));
    let shown = newest_uberblock(&a);
    for part in ["mmp_magic = 00000000a11cea11", "mmp_valid = 7", "mmp_write = 1000", "mmp_fail = 10"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    let disks = text(&scratch.path("disks"));
    let two = host(&scratch, "two", 0x00de_cade);
    let refused = timed("refused", || two.zpool(&format!("import -f -d {disks} tank")));
    let words = "pool is imported on host '";
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.err.starts_with("cannot import 'tank': ") && refused.err.contains(words), "{refused:?}");
    assert!(refused.err.contains("(hostid=c0ffee)"), "{refused:?}");

    // Its host is gone: after a while without a sign of life the pool is taken.
    one.kill();
    timed("taken", || two.zpool(&format!("import -f -d {disks} tank")).done());
    assert_eq!(two.zpool("list -H -o health tank").done(), "ONLINE\n");
    two.zpool("export tank").done();
    assert_clean(&scratch.path("disks"), "tank");
    // Who has exported it gets it back without waiting.
    let begun = Instant::now();
    two.zpool(&format!("import -d {disks} tank")).done();
    assert!(begun.elapsed().as_secs() < 10);
    two.zpool("set multihost=off tank").done();
    two.zpool("export tank").done();
    assert_clean(&scratch.path("disks"), "tank");
}

/// An import that waits, here for a sign of life of another host, keeps neither other commands nor
/// an end waiting.
#[test]
fn a_daemon_that_is_to_end_gives_up_an_import_that_waits() {
    let scratch = Scratch::new("watching");
    let mut one = host(&scratch, "one", 0x00c0_ffee);
    let a = scratch.image("a", 128);
    one.zpool(&format!("create -m none -o multihost=on tank {a}")).done();
    one.kill();
    let mut two = host(&scratch, "two", 0x00de_cade);
    let mut import = two.command(&["zpool", "import", "-f", "-d", &text(&scratch.path("disks")), "tank"]);
    let mut import = import.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
    let end = Instant::now() + Duration::from_secs(10);
    while !two.log().contains("watching for another host") {
        assert!(Instant::now() < end, "{}", two.log());
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(two.zpool("list -H").done(), "");
    let begun = Instant::now();
    two.stop();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_ne!(import.wait().expect("ended").code(), Some(0), "nothing was imported");
    // The other host's pool is as it was.
    two.begin();
    timed("taken", || two.zpool(&format!("import -f -d {} tank", text(&scratch.path("disks")))).done());
    two.zpool("export tank").done();
    assert_clean(&scratch.path("disks"), "tank");
}
