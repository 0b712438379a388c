//! What an administrator may get wrong with the disks of a pool: each command is refused in
//! OpenZFS's words, and nothing has changed then: not what the pools look like, not their
//! histories, not a byte that zdb cares for.
//!
//! Messages: lib/libzfs/libzfs_pool.c, libzfs_util.c, cmd/zpool/zpool_main.c, zpool_vdev.c.

use std::collections::BTreeMap;

use crate::daemon::{Daemon, Scratch};
use crate::suspended::{until, zinject};
use crate::zdb::assert_clean;

/// Pools, and what lies about: `tank` with everything, `rz` and `one`, `gone` exported, disks that
/// are blank or too small.
struct Bay {
    /// Ends before its folder goes.
    daemon: Daemon,
    scratch: Scratch,
    paths: BTreeMap<&'static str, String>,
}

const POOLS: [&str; 3] = ["tank", "rz", "one"];

impl Bay {
    fn new(name: &str) -> Bay {
        let scratch = Scratch::new(name);
        let daemon = Daemon::start(&scratch);
        let disks = ["a", "b", "l", "c", "s", "o", "r1", "r2", "r3"].map(|name| (name, 128));
        let mut paths: BTreeMap<&str, String> =
            disks.into_iter().map(|(name, mib)| (name, scratch.image(name, mib))).collect();
        for (name, mib) in [("n", 128), ("m", 128), ("x", 128), ("small", 72), ("tiny", 32)] {
            paths.insert(name, scratch.image(name, mib));
        }
        let bay = Bay { daemon, scratch, paths };
        for line in [
            "create -m none tank mirror {a} {b} log {l} cache {c} spare {s}",
            "create -m none rz raidz1 {r1} {r2} {r3}",
            "create -m none one {o}",
            "create -m none gone {x}",
            "export gone",
        ] {
            bay.daemon.zpool(&bay.filled(line)).done();
        }
        bay
    }

    /// `{a}` is the path of the disk `a`.
    fn filled(&self, text: &str) -> String {
        let fill = |text: String, (name, path): (&&str, &String)| text.replace(&format!("{{{name}}}"), path);
        self.paths.iter().fold(text.to_owned(), fill)
    }

    /// All that can be seen of the pools.
    fn seen(&self) -> Vec<String> {
        let look = |pool: &&str| {
            let lines = [
                format!("status -g {pool}"),
                format!("list -H -o name,guid,size,health {pool}"),
                format!("history {pool}"),
            ];
            lines.map(|line| self.daemon.zpool(&line)).map(|ran| ran.out + &ran.err)
        };
        POOLS.iter().flat_map(look).collect()
    }

    #[track_caller]
    fn refuses(&self, rows: &[(&str, &str)]) {
        let before = self.seen();
        for (line, message) in rows {
            let (line, message) = (self.filled(line), self.filled(message));
            let ran = self.daemon.zpool(&line);
            assert_eq!((ran.status, ran.err.trim_end(), &ran.out[..]), (1, &message[..], ""), "zpool {line}");
        }
        assert_eq!(self.seen(), before, "after {rows:?}");
    }
}

const HINT: &str = "invalid vdev specification\nuse '-f' to override the following errors:\n";
const REPAIR: &str = "invalid vdev specification\nthe following errors must be manually repaired:\n";

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut bay = Bay::new("refusals");
    bay.refuses(&[
        // A disk that is too small, or not to be had, or not there to be replaced.
        ("replace tank {a} {small}", "cannot replace {a} with {small}: device is too small"),
        ("replace tank {a} {tiny}", "cannot replace {a} with {tiny}: device is too small"),
        ("attach tank {a} {small}", "cannot attach {small} to {a}: device is too small"),
        ("replace tank {r1} {n}", "cannot replace {r1} with {n}: no such device in pool"),
        ("replace tank {s} {n}", "cannot replace {s} with {n}: device is reserved as a hot spare"),
        ("replace tank {c} {n}", "cannot replace {c} with {n}: device is in use as a cache"),
        ("replace tank {l} {s}", "cannot replace {l} with {s}: cannot replace a log with a spare"),
        (
            "replace tank mirror-0 {n}",
            "cannot replace mirror-0 with {n}: already in replacing/spare config; wait for completion or use 'zpool \
             detach'",
        ),
        // Where no side can join or leave.
        (
            "attach rz raidz1-0 {n}",
            "cannot attach {n} to raidz1-0: raidz_expansion feature must be enabled in order to attach a device to raidz",
        ),
        ("attach rz {r1} {n}", "cannot attach {n} to {r1}: can only attach to mirrors and top-level disks"),
        ("attach tank mirror-0 {n}", "cannot attach {n} to mirror-0: can only attach to mirrors and top-level disks"),
        ("detach rz {r1}", "cannot detach {r1}: only applicable to mirror and replacing vdevs"),
        ("detach one {o}", "cannot detach {o}: only applicable to mirror and replacing vdevs"),
        ("detach tank {s}", "cannot detach {s}: device is reserved as a hot spare"),
        ("detach tank {c}", "cannot detach {c}: device is in use as a cache"),
        ("detach tank {n}", "cannot detach {n}: no such device in pool"),
        ("offline one {o}", "cannot offline {o}: no valid replicas"),
        ("offline rz raidz1-0", "cannot offline raidz1-0: operation not supported on this type of pool"),
        ("offline tank {s}", "cannot offline {s}: device is reserved as a hot spare"),
        ("online tank {s}", "cannot online {s}: device is reserved as a hot spare"),
        ("online -e tank {c}", "cannot expand {c}: cannot expand cache devices"),
        // What is not built, and what is no top-level vdev.
        ("remove tank mirror-0", "cannot remove mirror-0: removing data vdevs is not supported by this version of Cistern yet"),
        ("remove tank {a}", "cannot remove {a}: operation not supported on this type of pool"),
        ("remove rz raidz1-0", "cannot remove raidz1-0: removing data vdevs is not supported by this version of Cistern yet"),
        ("remove tank {n}", "cannot remove {n}: no such device in pool"),
        ("remove -s tank", "cannot cancel removal: operation is not in progress"),
        // Vdevs that do not suit.
        ("add nowhere {n}", "cannot open 'nowhere': no such pool"),
        ("add one {tiny}", "cannot add to 'one': device is less than the minimum size (64M)"),
        ("add one {n} {n}", "cannot add to 'one': one or more vdevs refer to the same device"),
        ("add one {n} cache {tiny}", "cannot add to 'one': device is less than the minimum size (64M)"),
        ("clear tank {n}", "cannot clear errors for {n}: no such device in pool"),
        ("clear tank {s}", "cannot clear errors for {s}: device is reserved as a hot spare"),
        ("scrub -s tank", "cannot cancel scrubbing tank: there is no active scrub"),
        ("trim tank {n}", "cannot trim '{n}': no such device in pool"),
        ("trim -s tank {a}", "cannot trim '{a}': there is no active trim"),
        ("reguid -g 0 tank", "cannot reguid 'tank': invalid argument for this pool operation"),
    ]);
    let absent = "cannot open 'nowhere': no such pool";
    bay.refuses(
        &["clear", "scrub", "trim", "resilver", "reguid", "export", "destroy", "sync"]
            .map(|command| format!("{command} nowhere"))
            .each_ref()
            .map(|line| (&line[..], absent)),
    );
    for (line, what) in [
        ("add tank {n}", "pool uses mirror and new vdev is file"),
        ("add tank mirror {n} {m} {x}", "pool uses 2-way mirror and new vdev uses 3-way mirror"),
        ("add rz raidz2 {n} {m} {x}", "pool uses 1 device parity and new vdev uses 2"),
        ("add rz raidz1 {n} {m}", "pool uses 3-way raidz and new vdev uses 2-way raidz"),
    ] {
        bay.refuses(&[(line, &format!("{HINT}mismatched replication level: {what}"))]);
    }
    // Disks in use: those of pools that are open are nobody else's, whoever insists.
    for (line, what) in [
        ("replace {f} tank {a}", "{a} is part of active pool 'tank'"),
        ("replace {f} tank {a} {a}", "{a} is part of active pool 'tank'"),
        ("replace {f} tank {a} {b}", "{b} is part of active pool 'tank'"),
        ("replace {f} tank {a} {r1}", "{r1} is part of active pool 'rz'"),
        ("attach {f} tank {a} {o}", "{o} is part of active pool 'one'"),
        ("attach {f} tank {a} {s}", "{s} is reserved as a hot spare for pool tank"),
        ("add {f} one {a}", "{a} is part of active pool 'tank'"),
        ("add {f} one {r1} {r2}", "{r1} is part of active pool 'rz'\n{r2} is part of active pool 'rz'"),
        ("add {f} one {s}", "{s} is reserved as a hot spare for pool tank"),
        ("add {f} one spare {a}", "{a} is part of active pool 'tank'"),
        ("add {f} one log {l}", "{l} is part of active pool 'tank'"),
        ("create {f} new {r1}", "{r1} is part of active pool 'rz'"),
        ("create {f} new {s}", "{s} is reserved as a hot spare for pool tank"),
    ] {
        bay.refuses(&[
            (&line.replace("{f} ", ""), &format!("{HINT}{what}")),
            (&line.replace("{f}", "-f"), &format!("{REPAIR}{what}")),
        ]);
    }
    bay.refuses(&[
        ("replace tank {a} {x}", &format!("{HINT}{{x}} is part of exported pool 'gone'")),
        ("attach one {o} {x}", &format!("{HINT}{{x}} is part of exported pool 'gone'")),
        ("add one cache {c}", &format!("{HINT}{{c}} is part of unknown pool 'tank'")),
        ("add -f one cache {c}", "cannot add to 'one': one or more vdevs refer to the same device"),
    ]);
    // What cannot grow is not a mistake.
    let (status, size) = (bay.seen()[6].clone(), bay.seen()[7].clone());
    bay.daemon.zpool(&bay.filled("online one {o}")).done();
    bay.daemon.zpool(&bay.filled("online -e one {o}")).done();
    assert_eq!(bay.seen()[6..8], [status, size]);
    judge(&mut bay);
}

#[test]
fn what_goes_on_is_not_disturbed() {
    let mut bay = Bay::new("refusals-busy");
    // The last copy of anything is not given away.
    bay.daemon.zpool(&bay.filled("offline tank {b}")).done();
    bay.refuses(&[
        ("offline tank {a}", "cannot offline {a}: no valid replicas"),
        ("detach tank {a}", "cannot detach {a}: no valid replicas"),
        ("reguid tank", "cannot reguid 'tank': one or more devices is currently unavailable"),
    ]);
    bay.daemon.zpool(&bay.filled("online tank {b}")).done();
    bay.daemon.zpool("wait -t resilver tank").done();

    // A spare that another pool has taken; a replacement under way.
    bay.daemon.zpool(&bay.filled("add rz spare {s}")).done();
    for disk in ["{r2}", "{r3}"] {
        zinject(&bay.daemon, &bay.filled(&format!("-q -d {disk} -D 500:1 -T read rz"))).done();
    }
    bay.daemon.zpool(&bay.filled("replace rz {r1} {n}")).done();
    let status = bay.daemon.zpool("status rz").done();
    assert!(status.contains(" state: ONLINE\n") && status.contains("currently being resilvered"), "{status}");
    let in_progress = [
        ("attach rz {r1} {m}", "cannot attach {m} to {r1}: can only attach to mirrors and top-level disks"),
        (
            "replace rz replacing-0 {m}",
            "cannot replace replacing-0 with {m}: already in replacing/spare config; wait for completion or use 'zpool \
             detach'",
        ),
        ("scrub rz", "cannot scrub rz: currently resilvering"),
        ("scrub -p rz", "cannot pause scrubbing rz: currently resilvering"),
        ("scrub -s rz", "cannot cancel scrubbing rz: currently resilvering"),
        ("reguid rz", "cannot reguid 'rz': one or more devices is currently unavailable"),
    ];
    for (line, message) in in_progress {
        let (line, message) = (bay.filled(line), bay.filled(message));
        let ran = bay.daemon.zpool(&line);
        assert_eq!((ran.status, ran.err.trim_end()), (1, &message[..]), "zpool {line}");
    }
    zinject(&bay.daemon, "-c all").done();
    bay.daemon.zpool("wait -t replace rz").done();

    // A pool that waits for its disks does nothing else meanwhile.
    zinject(&bay.daemon, &bay.filled("-q -d {o} -e nxio one")).done();
    let rows = [
        ("add one {m}", "cannot add to 'one'"),
        ("attach one {o} {m}", "cannot attach {m} to {o}"),
        ("replace one {o} {m}", "cannot replace {o} with {m}"),
        ("offline one {o}", "cannot offline {o}"),
        ("detach one {o}", "cannot detach {o}"),
        ("scrub one", "cannot scrub one"),
        ("reguid one", "cannot reguid 'one'"),
        ("trim one", "operation failed"),
    ];
    let rows = rows.map(|(line, what)| {
        (bay.filled(line), bay.filled(&format!("{what}: pool I/O is currently suspended\n")))
    });
    let (before, said, after) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| bay.daemon.zfs("create one/new"));
        until("the suspension", || bay.daemon.zpool("list -H -o health one").done() == "SUSPENDED\n");
        let before = bay.seen();
        let said = rows.each_ref().map(|(line, _)| bay.daemon.zpool(line));
        let after = bay.seen();
        zinject(&bay.daemon, "-c all").done();
        bay.daemon.zpool("clear one").done();
        waiting.join().expect("no panic").done();
        (before, said, after)
    });
    for (ran, (line, message)) in said.iter().zip(&rows) {
        assert_eq!((ran.status, &ran.err), (1, message), "zpool {line}");
    }
    assert_eq!(before, after);
    judge(&mut bay);
}

/// zdb finds every pool whole.
fn judge(bay: &mut Bay) {
    bay.daemon.stop();
    let folder = bay.scratch.path("disks");
    POOLS.iter().for_each(|pool| drop(assert_clean(&folder, pool)));
}
