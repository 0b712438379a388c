//! What `zfs unshare` withdrew, and when it is offered again.

use crate::daemon::{Daemon, Scratch};

#[test]
fn what_was_withdrawn_comes_back_when_somebody_says_so() {
    let scratch = Scratch::new("shares");
    let mut daemon = Daemon::start(&scratch);
    let image = scratch.image("a", 128);
    daemon.zpool(&format!("create tank {image}")).done();
    daemon.zfs("create -o sharenfs=on tank/s").done();
    daemon.zfs("create tank/s/below").done();
    let withdraw = |why: &str| {
        for name in ["tank/s", "tank/s/below"] {
            let done = daemon.zfs(&format!("unshare {name}"));
            assert_eq!(done.status, 0, "{name} is shared {why}: {done:?}");
            assert_eq!(daemon.zfs(&format!("unshare {name}")).status, 1, "it is withdrawn");
        }
    };
    withdraw("when it is made");
    daemon.zfs("share -a").done();
    withdraw("by share -a");
    daemon.zfs("set sharenfs=rw tank/s").done();
    withdraw("where its property is set");
    daemon.zfs("inherit sharenfs tank/s").done();
    daemon.zfs("set sharenfs=on tank").done();
    withdraw("where it inherits");
    daemon.zfs("destroy -r tank/s").done();
    daemon.zfs("create tank/s").done();
    daemon.zfs("create tank/s/below").done();
    withdraw("when another has its name");
    daemon.stop();
}
