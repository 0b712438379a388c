//! Log devices by command line: every verb, the words of refusals, and OpenZFS's judgement
//! afterwards.

use std::fs;

use crate::daemon::{Daemon, Scratch};
use crate::zdb::assert_clean;

/// The state of a vdev among the logs, and `None` where it is not listed.
fn state(daemon: &Daemon, name: &str) -> Option<String> {
    let status = daemon.zpool("status tank").done();
    let line = status.lines().skip_while(|line| *line != "\tlogs\t").find(|line| line.contains(name));
    line.and_then(|line| line.split_whitespace().nth(1).map(str::to_owned))
}

#[track_caller]
fn refuse(daemon: &Daemon, line: &str, message: &str) {
    let ran = daemon.zpool(line);
    assert_eq!((ran.status, ran.err.trim_end()), (1, message), "zpool {line}");
}

#[test]
fn log_devices_are_added_mirrored_replaced_and_removed() {
    let scratch = Scratch::new("logs");
    let mut daemon = Daemon::start(&scratch);
    let images: Vec<String> = ["a", "b", "c", "d"].iter().map(|name| scratch.image(name, 128)).collect();
    let [a, b, c, d] = images.as_slice() else { panic!("four images") };
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zpool(&format!("add tank log {b}")).done();
    assert_eq!(state(&daemon, b).as_deref(), Some("ONLINE"));
    daemon.zpool(&format!("attach tank {b} {c}")).done();
    assert_eq!(state(&daemon, "mirror-1").as_deref(), Some("ONLINE"));
    daemon.zpool(&format!("offline tank {b}")).done();
    assert_eq!(state(&daemon, b).as_deref(), Some("OFFLINE"));
    assert_eq!(state(&daemon, "mirror-1").as_deref(), Some("DEGRADED"));
    refuse(&daemon, &format!("detach tank {c}"), &format!("cannot detach {c}: no valid replicas"));
    daemon.zpool(&format!("online tank {b}")).done();
    daemon.zpool(&format!("replace tank {c} {d}")).done();
    assert_eq!((state(&daemon, c), state(&daemon, d).as_deref()), (None, Some("ONLINE")));
    daemon.zpool(&format!("detach tank {b}")).done();
    assert_eq!((state(&daemon, "mirror-1"), state(&daemon, d).as_deref()), (None, Some("ONLINE")));
    let only = "only applicable to mirror and replacing vdevs";
    refuse(&daemon, &format!("detach tank {d}"), &format!("cannot detach {d}: {only}"));
    daemon.zpool(&format!("add tank log mirror {b} {c}")).done();
    daemon.zpool("clear tank").done();
    daemon.zpool(&format!("remove tank {d}")).done();
    assert_eq!(daemon.zpool("list -H -o health tank").done(), "ONLINE\n");
    let data = "removing data vdevs is not supported by this version of Cistern yet";
    refuse(&daemon, &format!("remove tank {a}"), &format!("cannot remove {a}: {data}"));
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
    daemon.begin();
    daemon.zpool("remove tank mirror-2").done();
    assert_eq!(state(&daemon, "mirror"), None);
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}

#[test]
fn a_pool_without_its_log_is_imported_when_told_so() {
    let scratch = Scratch::new("logless");
    let mut daemon = Daemon::start(&scratch);
    let (a, b, c) = (scratch.image("a", 128), scratch.image("b", 128), scratch.image("c", 128));
    daemon.zpool(&format!("create -m none tank {a} log mirror {b} {c}")).done();
    daemon.zpool("export tank").done();
    for side in [&b, &c] {
        fs::rename(side, format!("{side}.away")).expect("renamed");
        fs::create_dir_all(scratch.path("away")).expect("made");
        fs::rename(format!("{side}.away"), scratch.path("away").join(side.rsplit('/').next().unwrap()))
            .expect("moved");
    }
    let folder = scratch.path("disks");
    let folder = folder.display();
    let refused = daemon.zpool(&format!("import -d {folder} tank"));
    let expected = format!(
        "The devices below are missing or corrupted, use '-m' to import the pool anyway:\n\
         \t    mirror-1 [log]\n\t      {b}\n\t      {c}\n\n\
         cannot import 'tank': one or more devices is currently unavailable"
    );
    assert_eq!((refused.status, refused.err.trim_end()), (1, expected.as_str()));
    daemon.zpool(&format!("import -m -d {folder} tank")).done();
    assert_eq!(state(&daemon, "mirror-1").as_deref(), Some("UNAVAIL"));
    daemon.zpool("remove tank mirror-1").done();
    assert_eq!(daemon.zpool("list -H -o health tank").done(), "ONLINE\n");
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}
