//! POSIX ACLs on a local mount, beside the kernel's own on a tmpfs: the same commands, by the same
//! users, to the same end.

use std::fs;
use std::path::Path;

use stdx::prng::Prng;

use crate::daemon::{Daemon, Ran, Scratch, program};
use crate::zdb::stop_and_check;

/// As `setpriv` takes them. Groups 50 and 51 have entries of their own, 60 is that of some files.
const USERS: [&str; 5] = [
    "--reuid 1001 --regid 1001 --clear-groups",
    "--reuid 1002 --regid 1002 --groups 50",
    "--reuid 1002 --regid 1002 --groups 50,51",
    "--reuid 1003 --regid 60 --clear-groups",
    "--reuid 1004 --regid 1004 --groups 60,51",
];
const NAMES: [&str; 6] = ["a", "b", "d", "d/a", "d/e", "d/e/a"];

/// What everybody may, and what there is.
fn look(script: &mut String) {
    for user in USERS {
        script.push_str(&format!(
            "setpriv {user} sh -c 'for f in a b d d/a d/e d/e/a; do for t in r w x; do test -$t $f && printf $t; \
             done; (exec 3<>$f) 2>/dev/null && printf +; echo \" $f\"; done'\n"
        ));
    }
    script.push_str("getfacl -n a b d d/a d/e d/e/a 2>&1\nfind . -printf '%p %m %U %G\\n' | sort\n");
}

fn permissions(prng: &mut Prng) -> String {
    ["r", "w", "x"].iter().filter(|_| prng.below(2) == 0).copied().collect::<String>() + "-"
}

fn commands(seed: u64) -> String {
    let mut prng = Prng::new(seed);
    let mut script =
        String::from("mkdir -p d/e; touch a b d/a d/e/a; chown 1001:60 a d/a; chmod 777 . d d/e\n");
    for step in 0..72 {
        if step % 12 == 0 {
            look(&mut script);
        }
        let name = NAMES[prng.below(6) as usize];
        let user = USERS[prng.below(5) as usize];
        let entry = ["u:1001", "u:1002", "g:50", "g:51", "u:", "g:", "o:"][prng.below(7) as usize];
        let entry = format!("{entry}:{}", permissions(&mut prng));
        let default = ["", "-d "][prng.below(2) as usize];
        let (mode, umask) = (prng.below(0o10000), prng.below(0o1000));
        script.push_str(&match prng.below(16) {
            0 => format!("chmod {mode:o} {name}"),
            1 => format!("setpriv {user} chmod {mode:o} {name}"),
            2 => format!("setfacl -b {name}"),
            3 => format!("setfacl -k {name}"),
            4 => format!("setfacl -m m:{} {name}", permissions(&mut prng)),
            5 => format!("setpriv {user} setfacl -m {entry} {name}"),
            6 => format!("(umask {umask:o}; rm -rf d/e; mkdir d/e; touch d/e/a)"),
            7 => format!("(umask {umask:o}; rm -f d/a; setpriv {user} sh -c ': > d/a' || touch d/a)"),
            _ => format!("setfacl {default}-m {entry} {name}"),
        });
        script.push_str(" 2>&1\n");
    }
    look(&mut script);
    script
}

fn run(script: &str, at: &Path) -> String {
    let ran = Ran::of(program("sh", 120).arg("-c").arg(format!("cd '{}'; {script}", at.display())));
    ran.out + &ran.err
}

#[test]
fn acls_on_a_mount_are_those_of_the_kernel() {
    let scratch = Scratch::new("acls");
    let mut daemon = Daemon::start(&scratch);
    let (a, mnt) = (scratch.image("a", 256), scratch.text("mnt"));
    daemon.zpool(&format!("create -O acltype=posix -m {mnt} tank {a}")).done();
    let mut rich = 0;
    for (store, seeds) in [("sa", 0..6), ("on", 6..12)] {
        daemon.zfs(&format!("create -o xattr={store} tank/{store}")).done();
        daemon.zfs(&format!("mount tank/{store}")).done();
        for seed in seeds {
            let own = scratch.path("mnt").join(store).join(seed.to_string());
            let kernel = Path::new("/dev/shm").join(format!("cistern-acls-{}-{seed}", std::process::id()));
            for at in [&own, &kernel] {
                fs::create_dir(at).expect("a folder");
            }
            let script = commands(seed);
            let (ours, theirs) = (run(&script, &own), run(&script, &kernel));
            fs::remove_dir_all(&kernel).expect("removed");
            rich += theirs.matches("user:100").count();
            let (ours, theirs): (Vec<_>, Vec<_>) = (ours.lines().collect(), theirs.lines().collect());
            let differs = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
            let at = differs.unwrap_or(0).saturating_sub(3);
            assert!(
                ours == theirs,
                "seed {seed}: {:#?}\nthe kernel: {:#?}\n{script}",
                ours.iter().skip(at).take(8).collect::<Vec<_>>(),
                theirs.iter().skip(at).take(8).collect::<Vec<_>>()
            );
        }
    }
    assert!(rich > 100, "the commands give {rich} entries");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// At any time: the mount need not be made anew.
#[test]
fn acltype_says_whether_there_are_acls() {
    let scratch = Scratch::new("acltype");
    let mut daemon = Daemon::start(&scratch);
    let (a, mnt) = (scratch.image("a", 256), scratch.text("mnt"));
    daemon.zpool(&format!("create -m {mnt} tank {a}")).done();
    daemon.zfs("mount tank").done();
    let at = scratch.path("mnt");
    fs::write(at.join("f"), "x").expect("written");
    let acltype = || daemon.zfs("get -H -o value,source acltype tank").done();
    let set = || Ran::of(program("setfacl", 20).args(["-m", "u:1001:-"]).arg(at.join("f")));
    let reads = || run("setpriv --reuid 1001 --regid 1001 --clear-groups cat f", &at);
    assert_eq!(acltype(), "off\tdefault\n");
    assert!(set().err.ends_with("Operation not supported\n"));
    for (word, shown) in [
        ("posixacl", "posix\tlocal\n"),
        ("noacl", "off\tlocal\n"),
        ("nfsv4", "nfsv4\tlocal\n"),
        ("posix", "posix\tlocal\n"),
    ] {
        daemon.zfs(&format!("set acltype={word} tank")).done();
        assert_eq!(acltype(), shown);
        let posix = shown.starts_with("posix");
        // The kernel believes what it knows of the file for a second, and setfacl changes nothing
        // that is so already.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(set().status == 0, posix, "{word}");
        assert_eq!(reads() == "x", !posix, "{word}");
    }
    daemon.zfs("create tank/below").done();
    let below = daemon.zfs("get -H -o value,source acltype tank/below").done();
    assert_eq!(below, "posix\tinherited from tank\n");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
