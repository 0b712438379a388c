//! Disks that are devices of this machine, not files: loop devices over images.

use std::path::Path;
use std::process::Command;

use crate::daemon::{Daemon, Ran, Scratch, program};
use crate::zdb::assert_clean;

/// A loop device over an image, detached at the end.
struct Loop(String);

impl Loop {
    fn over(image: &str) -> Loop {
        let mut losetup = program("losetup", 20);
        losetup.args(["--find", "--show", image]);
        Loop(Ran::of(&mut losetup).done().trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        drop(Command::new("losetup").args(["--detach", &self.0]).status());
    }
}

/// What zdb reads in the label of a device or a file about its own vdev: type and path.
fn labelled(device: &str) -> Vec<String> {
    let text = Ran::of(program("zdb", 20).args(["-l", device])).done();
    let says = |line: &&str| line.starts_with("type: 'file'") || line.starts_with("type: 'disk'");
    let mut said: Vec<String> = text.lines().map(str::trim).filter(says).map(str::to_owned).collect();
    said.dedup();
    said
}

/// A pool that was made on image files is imported from devices with the same content, as when an
/// image was written to a disk. OpenZFS opens no device whose label says `file`, so the labels say
/// `disk` from then on. A disk that was copied into a file is still a disk, for it may go back.
#[test]
fn images_that_were_copied_to_devices_are_imported() {
    let scratch = Scratch::new("devices");
    let mut daemon = Daemon::start(&scratch);
    let images = ["a", "b"].map(|name| scratch.image(name, 128));
    daemon.zpool(&format!("create -m none tank mirror {} {}", images[0], images[1])).done();
    daemon.zfs("create -o mountpoint=none tank/fs").done();
    daemon.zpool("export tank").done();
    assert_eq!(labelled(&images[0]), ["type: 'file'"]);

    let loops = images.each_ref().map(|image| Loop::over(image));
    let devices = loops.each_ref().map(|device| device.0.as_str());
    daemon.zpool(&format!("import -d {} -d {} tank", devices[0], devices[1])).done();
    let status = daemon.zpool("status -P tank").done();
    assert!(devices.iter().all(|device| status.contains(device)), "{status}");
    assert!(status.contains(" state: ONLINE"), "{status}");
    daemon.zfs("snapshot tank/fs@on-devices").done();
    daemon.zpool("export tank").done();
    assert_eq!(labelled(devices[0]), ["type: 'disk'"]);

    drop(loops);
    let folder = scratch.path("disks");
    daemon.zpool(&format!("import -d {} tank", folder.display())).done();
    assert!(daemon.zfs("list -H -o name -t snapshot").done().contains("tank/fs@on-devices"));
    daemon.stop();
    assert_eq!(labelled(&images[0]), ["type: 'disk'"]);
    assert_clean(Path::new(&folder), "tank");
}
