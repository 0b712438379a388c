use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A clock that stands, and is set.
struct Clock(AtomicI64);

impl Outside for Clock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

const START: i64 = 1_800_000_000;

/// A folder that is removed with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cistern-tls-{}-{number}", std::process::id()));
        // What an earlier run has left.
        drop(fs::remove_dir_all(&path));
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn open(folder: &Path, now: i64) -> Result<Certificates, Unfit> {
    let names = ["shelf.example", "localhost", "not a name"].map(str::to_owned).into();
    Certificates::open(folder.to_owned(), names, Arc::new(Clock(AtomicI64::new(now))))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn the_first_start_makes_one_and_the_next_shows_the_same() {
    let folder = Folder::new();
    let first = open(&folder.0, START).expect("one is made").info();
    assert!(first.self_signed);
    assert_eq!(first.names, ["shelf.example", "localhost", "127.0.0.1", "::1"]);
    assert_eq!(first.not_after - first.not_before, 397 * DAY);
    assert!((first.not_before..first.not_after).contains(&START));
    assert_eq!(first.fingerprint.split(':').filter(|pair| pair.len() == 2).count(), 32);
    assert_eq!((mode(&folder.0.join("key.pem")), mode(&folder.0)), (0o600, 0o700));
    let next = open(&folder.0, START + DAY).expect("it is there");
    assert_eq!(next.info(), first);
    assert!(next.is_for("SHELF.example") && next.is_for("localhost") && !next.is_for("evil.example"));
}

#[test]
fn one_of_ours_is_renewed_before_its_end_and_another_is_not() {
    let folder = Folder::new();
    let clock = Arc::new(Clock(AtomicI64::new(START)));
    let ours =
        Certificates::open(folder.0.clone(), vec!["shelf".into()], clock.clone()).expect("one is made");
    let first = ours.info();
    clock.0.store(first.not_after - 31 * DAY, Ordering::Relaxed);
    ours.renew().expect("nothing to do");
    assert_eq!(ours.info(), first);
    clock.0.store(first.not_after - 29 * DAY, Ordering::Relaxed);
    ours.renew().expect("it is renewed");
    assert!(ours.info().not_after > first.not_after);
    assert_eq!(open(&folder.0, first.not_after).expect("it is kept").info(), ours.info());

    let (certificate, key) = foreign(first.not_after);
    let set = ours.set(&certificate, &key).expect("it is fit");
    clock.0.store(set.not_after - DAY, Ordering::Relaxed);
    ours.renew().expect("it is not ours");
    assert_eq!(ours.info(), set);
}

/// A certificate that somebody else has made, and its key.
fn foreign(now: i64) -> (String, String) {
    let mut params = CertificateParams::new(vec!["*.example.org".to_owned()]).expect("a name");
    let at = |seconds: i64| date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds.unsigned_abs());
    (params.not_before, params.not_after) = (at(now - DAY), at(now + 90 * DAY));
    let key = KeyPair::generate().expect("a key");
    (params.self_signed(&key).expect("a certificate").pem(), key.serialize_pem())
}

#[test]
fn no_request_waits_for_the_disk_of_a_new_one() {
    let folder = Folder::new();
    let kept = open(&folder.0, START).expect("one is made");
    let _changing = lock(&kept.changing);
    assert!(kept.is_for("localhost") && kept.info().self_signed);
    assert!(kept.shown.try_read().is_ok());
}

#[test]
fn what_is_not_fit_is_refused_and_the_old_one_stays() {
    let folder = Folder::new();
    let kept = open(&folder.0, START).expect("one is made");
    let before = kept.info();
    let ((certificate, key), (_, other)) = (foreign(START), foreign(START));
    assert!(matches!(kept.set("", &key), Err(Unfit::NoCertificate)));
    assert!(matches!(kept.set(&certificate, ""), Err(Unfit::NoKey)));
    assert!(matches!(kept.set(&certificate, &certificate), Err(Unfit::NoKey)));
    assert!(matches!(kept.set(&certificate, &other), Err(Unfit::OtherKey)));
    let (old, old_key) = foreign(START - 200 * DAY);
    assert!(matches!(kept.set(&old, &old_key), Err(Unfit::Expired(_))));
    let cut = certificate.replacen("MII", "MIJ", 1);
    assert!(matches!(kept.set(&cut, &key), Err(Unfit::Unreadable)));
    assert!(matches!(kept.set(&certificate.repeat(17), &key), Err(Unfit::TooMany)));
    assert_eq!(kept.info(), before);
    assert_eq!(open(&folder.0, START).expect("it is there").info(), before);
    let set = kept.set(&certificate, &key).expect("it is fit");
    assert!(kept.is_for("a.example.org") && !kept.is_for("a.b.example.org") && !kept.is_for("example.org"));
    assert_eq!(open(&folder.0, START).expect("it is there").info(), set);
}

#[test]
fn a_kill_between_the_two_files_is_made_good() {
    let folder = Folder::new();
    let kept = open(&folder.0, START).expect("one is made");
    let (certificate, key) = foreign(START);
    // As `replace` leaves it after its first rename.
    fs::write(folder.0.join("cert.pem"), &certificate).expect("it is written");
    fs::write(folder.0.join("key.new"), &key).expect("it is written");
    let found = open(&folder.0, START).expect("the next key fits").info();
    assert_ne!(found.fingerprint, kept.info().fingerprint);
    assert!(!folder.0.join("key.new").exists());
    // A key that fits nothing is said, not replaced.
    fs::write(folder.0.join("key.pem"), foreign(START).1).expect("it is written");
    assert!(matches!(open(&folder.0, START), Err(Unfit::OtherKey)));
    fs::remove_file(folder.0.join("key.pem")).expect("it is there");
    assert!(matches!(open(&folder.0, START), Err(Unfit::Io(..))));
}
