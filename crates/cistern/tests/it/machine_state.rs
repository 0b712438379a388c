//! The machine's state in a pool: a lost system disk, versions of then, kills, pools that are full
//! or away, files from strangers, and users who want to read it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stdx::prng::Prng;

use crate::daemon::{Daemon, Scratch, text};
use crate::delegation::{JOE, run_as};
use crate::https::Site;
use crate::libnfs::Client;
use crate::suspended::{until, zinject};
use crate::zdb::{assert_readable, stop_and_check};

fn config(daemon: &Daemon, line: &str) -> crate::daemon::Ran {
    daemon.run(&[&["config"], &line.split_whitespace().collect::<Vec<_>>()[..]].concat())
}

fn pool(scratch: &Scratch, name: &str, mib: u64) -> Daemon {
    let daemon = Daemon::start(scratch);
    let image = scratch.image(name, mib);
    daemon.zpool(&format!("create -m none {name} {image}")).done();
    daemon
}

fn add_user(daemon: &Daemon, name: &str) {
    let mut command = daemon.command(&["user", "add", "--password-stdin", name]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"correct horse battery\n").expect("written");
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}

fn users(daemon: &Daemon) -> Vec<String> {
    let listed = daemon.run(&["user", "list", "-H"]).done();
    listed.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
}

fn keeping(daemon: &Daemon) -> Value {
    serde_json::from_str(&config(daemon, "keep --json").done()).expect("JSON")
}

/// The versions of a pool, the newest first.
fn versions(daemon: &Daemon, pool: &str) -> Vec<Value> {
    let listed = config(daemon, &format!("list {pool} --json")).done();
    serde_json::from_str::<Vec<Value>>(&listed).expect("JSON")
}

fn numbers(daemon: &Daemon, pool: &str) -> Vec<u64> {
    versions(daemon, pool).iter().map(|version| version["number"].as_u64().expect("a number")).collect()
}

fn newest(daemon: &Daemon) -> u64 {
    keeping(daemon)["newest"]["number"].as_u64().unwrap_or(0)
}

#[track_caller]
fn refused(ran: crate::daemon::Ran, why: &str) {
    assert!(ran.status == 1 && ran.err.contains(why), "{ran:?}");
}

#[test]
fn a_lost_system_disk_costs_no_account() {
    let scratch = Scratch::new("state-lost");
    let mut site = Site::start_with(&scratch, &[]);
    let disks = text(&scratch.folder("disks"));
    let image = scratch.image("a", 256);
    site.daemon.zpool(&format!("create -m none tank {image}")).done();
    let none = config(&site.daemon, "keep").done();
    assert_eq!(none, "no pool gets copies of the machine's state (cistern config keep POOL)\n");
    refused(config(&site.daemon, "list"), "no pool is chosen for it");
    let joe = site.user("joe", "operator", None);
    let shown = config(&site.daemon, "keep tank").done();
    assert!(
        shown.contains("dataset   tank/.cistern\nnewest    1 of ") && shown.contains("failure   none\n"),
        "{shown}"
    );
    // What has not changed is not written again.
    config(&site.daemon, "keep tank").done();
    assert_eq!(numbers(&site.daemon, "tank"), [1]);
    site.daemon.stop();
    site.begin();
    // After a change a version comes by itself, and one at the end.
    site.user("eve", "read-only", None);
    until("a version of eve", || newest(&site.daemon) == 2);
    let history = site.daemon.zpool("history tank").done();
    assert!(history.contains("cistern config keep tank"), "{history}");
    let about = &versions(&site.daemon, "tank")[0];
    assert_eq!((&about["about"]["users"], &about["fault"]), (&json!(3), &Value::Null), "{about}");
    site.user("zoe", "read-only", None);
    site.daemon.stop();
    assert_readable(&scratch.path("disks"), "tank");
    let certificate = |site: &Site| fs::read(site.daemon.state.join("tls/cert.pem")).expect("read");
    let before = certificate(&site);

    // The system disk goes while the daemon runs.
    site.begin();
    site.daemon.kill();
    fs::remove_dir_all(&site.daemon.state).expect("gone");
    scratch.folder("state");
    site.begin();
    assert_ne!(certificate(&site), before);
    assert!(users(&site.daemon).is_empty());
    site.get("/v1/me", &[&joe]).is(401);
    site.daemon.zpool(&format!("import -f -d {disks} tank")).done();
    let list = config(&site.daemon, "list tank").done();
    assert!(list.starts_with("NUMBER  TIME ") && list.lines().count() == 4, "{list}");
    let done = config(&site.daemon, "restore tank -y").done();
    for line in [
        "version 3, written ",
        "account joe comes: operator, number 2000000001\n",
        "account ada comes: administrator",
        "tokens: 4 are valid again, 0 no more",
        "certificate of HTTPS: SHA-256 ",
        "versions go to pool tank then",
        "systemctl restart cistern",
    ] {
        assert!(done.contains(line), "{line}: {done}");
    }
    assert!(users(&site.daemon).is_empty(), "nothing is restored before the restart");
    assert!(config(&site.daemon, "keep").done().contains("restore   version 3 of pool tank, of "));
    site.daemon.stop();
    site.begin();
    assert!(site.daemon.banner.contains("version 3 of pool tank was restored"), "{}", site.daemon.banner);
    assert_eq!(users(&site.daemon), ["ada", "eve", "joe", "zoe"]);
    assert_eq!(certificate(&site), before);
    assert_eq!(site.get("/v1/me", &[&joe]).is(200).json()["name"], json!("joe"));
    site.get("/v1/me", &[&site.bearer()]).is(200);
    for kept in ["machine.db.replaced-1", "tls.replaced-1/key.pem"] {
        assert!(site.daemon.state.join(kept).exists(), "{kept}");
    }
    for gone in ["restore", "restore.new", "machine.db.version"] {
        assert!(!site.daemon.state.join(gone).exists(), "{gone}");
    }
    // It goes on where it was.
    assert_eq!(keeping(&site.daemon)["pool"], json!("tank"));
    add_user(&site.daemon, "bob");
    config(&site.daemon, "keep tank").done();
    assert_eq!(newest(&site.daemon), 4);
    let log = site.daemon.log();
    assert!(!log.contains("BEGIN PRIVATE KEY") && !log.contains("argon2"), "{log}");
    stop_and_check(&mut site.daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_version_of_then_is_restored_by_number_or_time() {
    let scratch = Scratch::new("state-then");
    let mut daemon = pool(&scratch, "tank", 256);
    for name in ["ada", "bob", "eve"] {
        add_user(&daemon, name);
        config(&daemon, "keep tank").done();
        // Times are in whole seconds.
        std::thread::sleep(Duration::from_millis(1_100));
    }
    assert_eq!(numbers(&daemon, "tank"), [3, 2, 1]);
    let listed = config(&daemon, "list -H").done();
    let time = |number: &str| {
        let line = listed.lines().find(|line| line.starts_with(&format!("{number}\t"))).expect("listed");
        line.split('\t').nth(1).expect("a time").replace('.', " ")
    };
    let restore = |more: &[&str]| daemon.run(&[&["config", "restore", "tank"], more].concat());
    let gone = |ran: String| ran.lines().filter(|line| line.ends_with(" goes")).count();
    for (at, number, goes) in [
        (&*time("1"), 1, 2),
        (&time("2")[..16], 0, 0),
        (&time("3"), 3, 0),
        ("2", 2, 1),
        ("77", 3, 0),
        ("2100-01-01", 3, 0),
    ] {
        let shown = restore(&["-n", "--at", at]);
        match number {
            // To the minute: which one that is tells the clock.
            0 => assert!(shown.status == 0 || shown.err.contains("old enough"), "{shown:?}"),
            _ => {
                let out = shown.done();
                assert!(out.starts_with(&format!("version {number}, written ")), "{at}: {out}");
                assert_eq!(gone(out), goes, "{at}");
            }
        }
    }
    refused(restore(&["-n", "--at", "2001-01-01 10:00"]), "no version is there, or none that is old enough");
    refused(restore(&["-n", "--at", "0"]), "no version is there, or none that is old enough");
    assert_eq!(restore(&["--at", "yesterday"]).status, 2);
    refused(daemon.run(&["config", "restore", "other", "-n"]), "'other': no such pool");
    let nobody =
        daemon.command(&["config", "restore", "tank"]).stdin(Stdio::null()).output().expect("it runs");
    assert_eq!(nobody.status.code(), Some(1), "nobody has agreed");
    assert_eq!(keeping(&daemon)["staged"], Value::Null, "what is only shown is not staged");

    // What was agreed to is what is restored.
    let asked = json!({"pool": "tank", "version": 1, "checksum": "00"}).to_string();
    let answer = post(&daemon, "/v1/machine/restore", &asked);
    assert!(answer.contains("another version is there"), "{answer}");
    restore(&["-y", "--at", "1"]).done();
    restore(&["-y", "--at", "2"]).done();
    assert_eq!(keeping(&daemon)["staged"]["number"], json!(2));
    config(&daemon, "restore --cancel").done();
    daemon.stop();
    daemon.begin();
    assert_eq!(users(&daemon), ["ada", "bob", "eve"]);
    daemon.run(&["config", "restore", "tank", "-y", "--at", "1"]).done();
    // A kill is a restart as well.
    daemon.kill();
    daemon.begin();
    assert_eq!(users(&daemon), ["ada"]);
    daemon.stop();
    daemon.begin();
    assert_eq!(users(&daemon), ["ada"], "it was restored once");
    until("a version of it", || newest(&daemon) == 4);

    let off = config(&daemon, "keep off");
    assert!(off.status == 0 && off.err.contains("zfs destroy -r tank/.cistern"), "{off:?}");
    add_user(&daemon, "zoe");
    daemon.stop();
    daemon.begin();
    assert_eq!(numbers(&daemon, "tank"), [4, 3, 2, 1], "nothing is written any more");
    daemon.zfs("destroy -r tank/.cistern").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// What the daemon answers.
fn post(daemon: &Daemon, path: &str, body: &str) -> String {
    let mut curl = crate::daemon::program("curl", 60);
    curl.args(["-sS", "--unix-socket", &text(&daemon.socket()), "--data-binary", body]);
    let out = curl.arg(format!("http://localhost{path}")).output().expect("curl runs");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn a_kill_leaves_each_version_whole() {
    const ROUNDS: u64 = 14;
    let scratch = Scratch::new("state-kill");
    let mut daemon = pool(&scratch, "tank", 256);
    add_user(&daemon, "ada");
    config(&daemon, "keep tank").done();
    let (mut prng, mut last) = (Prng::new(21), 1);
    let mut were_written = 0;
    for round in 0..ROUNDS {
        let switch = if round % 2 == 0 { "--disable" } else { "--enable" };
        daemon.run(&["user", "change", "ada", switch]).done();
        let mut keep = daemon.command(&["config", "keep", "tank"]);
        let mut keep = keep.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        std::thread::sleep(Duration::from_millis(prng.next_u64() % 60));
        daemon.kill();
        drop(keep.wait());
        daemon.begin();
        // Before the daemon has looked, or after it.
        let all = versions(&daemon, "tank");
        assert!(all.iter().all(|version| version["fault"].is_null()), "{all:?}");
        let now = all[0]["number"].as_u64().expect("a number");
        assert!(now >= last, "{now} after {last}");
        were_written += u64::from(now > last);
        let shown = config(&daemon, "restore tank -n").done();
        assert!(shown.starts_with("version "), "{shown}");
        config(&daemon, "keep tank").done();
        last = newest(&daemon);
    }
    assert!(last > ROUNDS / 2, "{last}");
    crate::daemon::say(&format!(
        "{were_written} of {ROUNDS} versions were there after the kill, {last} in all"
    ));
    for number in numbers(&daemon, "tank") {
        config(&daemon, &format!("restore tank -n --at {number}")).done();
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_pool_that_is_full_away_or_suspended_is_told_and_holds_nothing_up() {
    let scratch = Scratch::new("state-away");
    let mut daemon = pool(&scratch, "tank", 128);
    let other = scratch.image("other", 128);
    daemon.zpool(&format!("create -m none other {other}")).done();
    add_user(&daemon, "ada");
    config(&daemon, "keep tank").done();
    assert_eq!(newest(&daemon), 1);

    // Full.
    daemon.zfs("create tank/all").done();
    let free = daemon.zfs("get -Hp -o value available tank").done();
    daemon.zfs(&format!("set refreservation={} tank/all", free.trim_end())).done();
    add_user(&daemon, "bob");
    let full = config(&daemon, "keep tank");
    let is_told = full.out.contains("out of space") || full.out.contains("quota");
    assert!(full.status == 1 && is_told && full.out.contains("newest    1 of "), "{full:?}");
    assert_eq!(users(&daemon), ["ada", "bob"]);
    let told = daemon.log().matches("was not written into the pool").count();
    assert_eq!(told, 1, "{}", daemon.log());
    config(&daemon, "keep tank");
    daemon.zfs("set refreservation=none tank/all").done();
    config(&daemon, "keep tank").done();
    assert_eq!(newest(&daemon), 2);

    // Away. After a start no version is a minute away.
    daemon.stop();
    daemon.begin();
    daemon.zpool("export tank").done();
    refused(config(&daemon, "keep tank"), "cannot keep the machine's state in 'tank': no such pool");
    daemon.run(&["user", "change", "bob", "--disable"]).done();
    let away = || keeping(&daemon)["failure"]["problem"]["detail"].as_str().map(str::to_owned);
    until("it is told", || away().as_deref() == Some("the pool is not imported"));
    let disks = text(&scratch.path("disks"));
    daemon.zpool(&format!("import -d {disks} tank renamed")).done();
    until("a version by itself", || newest(&daemon) == 3);
    let now = keeping(&daemon);
    assert_eq!((&now["pool"], &now["failure"]), (&json!("renamed"), &Value::Null));
    daemon.zpool("export renamed").done();
    daemon.zpool(&format!("import -d {disks} renamed tank")).done();

    // Without its disk.
    daemon.stop();
    daemon.begin();
    let disk = scratch.text("disks/tank.img");
    zinject(&daemon, &format!("-q -d {disk} -e nxio tank")).done();
    daemon.run(&["user", "change", "bob", "--enable"]).done();
    let begun = Instant::now();
    until("it is told", || {
        let failure = keeping(&daemon)["failure"]["problem"]["type"].as_str().map(str::to_owned);
        failure.as_deref() == Some("/problems/suspended")
    });
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    let begun = Instant::now();
    daemon.zfs("create other/fs").done();
    assert_eq!(users(&daemon), ["ada", "bob"]);
    assert_ne!(config(&daemon, "list tank").status, 0);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let before = 3;
    zinject(&daemon, "-c all").done();
    daemon.zpool("clear tank").done();
    until("a version by itself", || newest(&daemon) > before);
    assert_readable_after_stop(&mut daemon, &scratch);
}

fn assert_readable_after_stop(daemon: &mut Daemon, scratch: &Scratch) {
    daemon.stop();
    for pool in ["tank", "other"] {
        assert_readable(&scratch.path("disks"), pool);
    }
}

/// Mounts the file system of the versions, which nobody does.
fn opened(daemon: &Daemon, scratch: &Scratch) -> PathBuf {
    let at = scratch.folder("vault");
    let dataset = "tank/.cistern";
    refused(daemon.zfs(&format!("mount {dataset}")), "no mountpoint set");
    daemon.zfs(&format!("set mountpoint={} {dataset}", text(&at))).done();
    refused(daemon.zfs(&format!("mount {dataset}")), "'canmount' property is set to 'off'");
    daemon.zfs(&format!("set canmount=noauto {dataset}")).done();
    daemon.zfs(&format!("mount {dataset}")).done();
    at
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn files_of_strangers_are_told_and_not_restored() {
    let scratch = Scratch::new("state-hostile");
    let mut daemon = pool(&scratch, "tank", 256);
    add_user(&daemon, "ada");
    config(&daemon, "keep tank").done();
    let at = opened(&daemon, &scratch);
    let entries: Vec<PathBuf> =
        fs::read_dir(&at).expect("read").map(|entry| entry.expect("one").path()).collect();
    let [whole] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((mode(&at), mode(whole)), (0o700, 0o600));
    let good = fs::read(whole).expect("read");
    let time = whole.file_name().and_then(|name| name.to_str()).expect("text")[11..].to_owned();
    let put = |number: u64, bytes: &[u8]| {
        fs::write(at.join(format!("{number:010}-{time}")), bytes).expect("written");
    };
    let harmed = |offset: usize, with: &[u8]| {
        let mut bytes = good.clone();
        bytes[offset..][..with.len()].copy_from_slice(with);
        bytes
    };
    let cases: [(u64, &str, Vec<u8>); 8] = [
        (10, "it is no version of a machine's state", b"x".to_vec()),
        (11, "it is no version of a machine's state", Vec::new()),
        (12, "not as long as it has to be", good[..good.len() - 1].to_vec()),
        (13, "not as long as it has to be", good[..100].to_vec()),
        (14, "its checksum is wrong", harmed(good.len() / 2, &[good[good.len() / 2] ^ 1])),
        (15, "its head contradicts itself", harmed(12, &[0xff; 4])),
        (16, "the version has format 9", harmed(8, &[9, 0, 0, 0])),
        (17, "its name is that of another", good.clone()),
    ];
    for (number, _, bytes) in &cases {
        put(*number, bytes);
    }
    let before = daemon.resident_most();
    // Huge, and nothing in it.
    let sparse = fs::File::create(at.join(format!("{:010}-{time}", 18))).expect("made");
    sparse.set_len(1 << 42).expect("a sparse file");
    std::os::unix::fs::symlink("/etc/passwd", at.join(format!("{:010}-{time}", 19))).expect("a link");
    fs::create_dir(at.join(format!("{:010}-{time}", 20))).expect("a folder");
    fs::write(at.join("version.part"), b"half").expect("written");
    let listed = config(&daemon, "list -H").done();
    assert_eq!(listed.lines().count(), 9, "{listed}");
    for (number, why, _) in &cases {
        // The bytes in the middle are looked at by who wants them.
        let line = listed.lines().find(|line| line.starts_with(&format!("{number}\t"))).expect("listed");
        assert!(line.contains(why) || *number == 14, "{why}: {line}");
        refused(config(&daemon, &format!("restore tank -y --at {number}")), why);
    }
    refused(config(&daemon, "restore tank -y"), "its name is that of another");
    assert_eq!(keeping(&daemon)["staged"], Value::Null);
    assert!(!daemon.state.join("restore").exists() && !daemon.state.join("restore.new").exists());
    assert!(daemon.resident_most() - before < 64 << 10, "it takes no memory: KiB");
    config(&daemon, "restore tank -n --at 1").done();

    // They are in nobody's way. A version's name has its second, and that of theirs is over.
    std::thread::sleep(Duration::from_millis(1_100));
    daemon.run(&["user", "change", "ada", "--disable"]).done();
    config(&daemon, "keep tank").done();
    assert_eq!(newest(&daemon), 18);
    config(&daemon, "restore tank -n --at 1").done();
    // The last number there is leaves none.
    put(9_999_999_999, &good);
    daemon.run(&["user", "change", "ada", "--enable"]).done();
    let told = config(&daemon, "keep tank");
    assert!(told.status == 1 && told.out.contains("no number for a version is left"), "{told:?}");
    fs::remove_file(at.join(format!("9999999999-{time}"))).expect("gone");
    let told = config(&daemon, "keep tank").done();
    // 'keep' has put the properties back.
    assert!(told.contains("failure   none"), "{told}");
    let props = daemon.zfs("get -H -o value canmount,mountpoint,sharenfs tank/.cistern").done();
    assert_eq!(props, "off\nnone\noff\n");
    drop(daemon.zfs("unmount tank/.cistern"));
    daemon.stop();
    assert_readable(&scratch.path("disks"), "tank");
}

#[test]
fn who_is_no_administrator_reaches_nothing_of_it() {
    let scratch = Scratch::new("state-others");
    let mut daemon = Daemon::start(&scratch);
    let (image, other, at) = (scratch.image("tank", 256), scratch.image("other", 128), scratch.text("at"));
    let share = "-O sharenfs=rw,no_root_squash,insecure,crossmnt -O canmount=noauto";
    daemon.zpool(&format!("create -m {at} {share} tank {image}")).done();
    daemon.zpool(&format!("create -m none other {other}")).done();
    add_user(&daemon, "ada");
    config(&daemon, "keep tank").done();
    daemon.zfs("snapshot tank/.cistern@s").done();
    daemon.zfs("create tank/own").done();
    let all = "allow,bookmark,canmount,clone,create,destroy,diff,hold,mount,mountpoint,promote,readonly,receive,\
               release,rename,rollback,send,sharenfs,snapshot,snapdir,userprop,userquota";
    for pool in ["tank", "other"] {
        daemon.zfs(&format!("allow -u {JOE} {all} {pool}")).done();
    }
    let joe = |line: &str| run_as(&daemon, JOE, line);
    for line in [
        "zfs send tank/.cistern@s",
        "zfs send -i @a tank/.cistern@s",
        "zfs clone tank/.cistern@s tank/own/copy",
        "zfs set sharenfs=on tank/.cistern",
        "zfs set canmount=on tank/.cistern",
        "zfs set mountpoint=/mnt tank/.cistern",
        "zfs inherit sharenfs tank/.cistern",
        "zfs set snapdir=visible tank/.cistern",
        "zfs rename tank/.cistern tank/own/moved",
        "zfs rename tank/own other/.cistern",
        "zfs rename tank/own tank/.cistern/own",
        "zfs rollback tank/.cistern@s",
        "zfs create tank/.cistern/x",
        "zfs create other/.cistern",
        "zfs create -p other/.cistern/x",
        "zfs destroy -r tank/.cistern",
        "zfs allow -u 7 send tank/.cistern",
        "zfs diff tank/.cistern@s",
        "zfs mount tank/.cistern",
    ] {
        let ran = joe(line);
        assert!(ran.status != 0 && ran.out.len() < 64, "{line}: {ran:?}");
    }
    for line in ["config keep", "config keep off", "config list tank", "config restore tank -y"] {
        refused(joe(line), "permission denied");
    }
    // With all of the pool as well; but its snapshots come and go.
    joe("zfs snapshot -r tank@all").done();
    let streams = joe("zfs send -R tank@all");
    assert!(streams.status != 0 && !streams.out.contains("CSTNSTAT"), "{}", streams.err);
    joe("zfs destroy -r tank@all").done();
    // A stream that would become one.
    daemon.zfs("snapshot tank/own@s").done();
    let shell = format!(
        "{0} zfs send tank/own@s | setpriv --reuid={JOE} --regid={JOE} --clear-groups {0} zfs receive other/.cistern",
        crate::daemon::PROGRAM
    );
    let mut sh = crate::daemon::program("sh", 60);
    let received = crate::daemon::Ran::of(sh.args(["-c", &shell]).env("CISTERN_SOCKET", daemon.socket()));
    assert!(received.status != 0 && received.err.contains("permission denied"), "{received:?}");
    assert!(!daemon.zfs("list -H -o name -r other").done().contains(".cistern"));

    // The share above does not reach it.
    let client = Client::mount(&daemon, &at).expect("the share is served");
    assert!(client.open("/.cistern", libc::O_RDONLY).is_err());
    assert!(Client::mount(&daemon, &format!("{at}/.cistern")).is_err());
    drop(client);
    assert_eq!(daemon.zfs("get -H -o value sharenfs,mounted tank/.cistern").done(), "off\nno\n");
    // zdb takes the table of delegations for lost.
    for pool in ["tank", "other"] {
        daemon.zfs(&format!("unallow -u {JOE} {pool}")).done();
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_replica_is_data_and_can_be_restored_from() {
    let scratch = Scratch::new("state-replica");
    let mut daemon = pool(&scratch, "tank", 256);
    let other = scratch.image("other", 256);
    daemon.zpool(&format!("create -m none other {other}")).done();
    add_user(&daemon, "ada");
    config(&daemon, "keep tank").done();
    daemon.zfs("snapshot -r tank@s").done();
    let sent = daemon.copy("-R tank@s", "-d -F other");
    assert_eq!(sent.status, 0, "{sent:?}");
    daemon.stop();
    daemon.begin();
    add_user(&daemon, "bob");
    config(&daemon, "keep tank").done();
    assert_eq!((numbers(&daemon, "tank"), numbers(&daemon, "other")), (vec![2, 1], vec![1]));
    let shown = config(&daemon, "restore other -y").done();
    assert!(shown.contains("account bob goes"), "{shown}");
    daemon.stop();
    daemon.begin();
    assert_eq!(users(&daemon), ["ada"]);
    // Versions go where they went: a replica becomes that only by somebody who says so.
    until("a version of it", || newest(&daemon) == 3);
    assert_eq!((&keeping(&daemon)["pool"], numbers(&daemon, "other")), (&json!("tank"), vec![1]));
    let moved = config(&daemon, "keep other");
    assert!(moved.status == 0 && moved.err.contains("what is in tank/.cistern stays"), "{moved:?}");
    assert_eq!(numbers(&daemon, "other"), [2, 1]);
    stop_and_check(&mut daemon, &scratch.path("disks"), "other");
}
