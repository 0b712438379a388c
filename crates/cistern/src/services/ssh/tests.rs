use std::env::temp_dir;
use std::os::unix::fs::PermissionsExt;

use env::OsEntropy;

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = temp_dir().join(format!("cistern-ssh-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn the_key_is_made_once_and_is_nobody_elses() {
    let folder = Folder::new("key");
    let ssh = Ssh::new(&folder.0, Arc::new(OsEntropy));
    ssh.make_key().expect("a key");
    let (key, known) = ssh.keys();
    assert!(key.starts_with("ssh-ed25519 AAAA") && key.contains(" cistern@"), "{key}");
    assert!(known.ends_with("/ssh/known_hosts"), "{known}");
    let mode = |name: &str| {
        let path = folder.0.join("ssh").join(name);
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!((mode(""), mode(KEY)), (0o700, 0o600));
    // What a killed program has left goes, and the key stays.
    for left in ["to-0123", "new-0123", "new-0123.pub"] {
        fs::write(folder.0.join("ssh").join(left), "").expect("written");
    }
    let ssh = Ssh::new(&folder.0, Arc::new(OsEntropy));
    ssh.make_key().expect("the same key");
    assert_eq!(ssh.keys().0, key);
    let names =
        fs::read_dir(folder.0.join("ssh")).expect("listed").map(|it| it.expect("an entry").file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, [KEY, &format!("{KEY}.pub")]);
}

/// What [`watch`] makes of a shell's script, whose output nobody reads.
fn watched(script: &str, bounds: &Bounds<'_>) -> Result<Option<i32>, Broken> {
    let mut command = Command::new("sh");
    let mut child = command.args(["-c", script]).process_group(0).spawn().expect("a shell");
    let (_tell, told) = channel();
    watch(&mut child, &Moved::default(), &told, bounds)
}

#[test]
fn what_does_not_end_is_ended_with_all_that_it_began() {
    let stop = Cancel::default();
    let second = Duration::from_secs(1);
    let bounds = |silence, most| Bounds { silence, most, stop: &stop };
    assert_eq!(watched("exit 3", &bounds(20 * second, None)), Ok(Some(3)));
    assert_eq!(watched("kill -9 $$", &bounds(20 * second, None)), Ok(None));
    let began = Instant::now();
    let forever = "sleep 1000 & sleep 1001";
    assert_eq!(watched(forever, &bounds(second, None)), Err(Broken::Silent { seconds: 1 }));
    assert_eq!(watched(forever, &bounds(60 * second, Some(second))), Err(Broken::Silent { seconds: 1 }));
    stop.cancel();
    assert_eq!(watched(forever, &bounds(60 * second, None)), Err(Broken::Stopped));
    assert!(began.elapsed() < 10 * second, "{:?}", began.elapsed());
}

#[test]
fn what_a_login_writes_is_no_sign_that_it_is_connected() {
    let heard = |text: &[u8]| {
        let (from, mut to) = io::pipe().expect("a pipe");
        let (tell, told) = channel();
        let tail = Mutex::new(Tail::new(100));
        to.write_all(text).expect("there is room");
        drop(to);
        hear(from, &tail, &tell);
        (told.try_recv().is_ok(), tail.into_inner().expect("nobody panicked").text())
    };
    assert_eq!(heard(b"hello\norg.cistern:connected\nbye\n"), (true, "hello\nbye\n".to_owned()));
    assert_eq!(heard(b"not org.cistern:connected"), (false, "not org.cistern:connected".to_owned()));
    assert!(!heard(&[b'x'; 30_000]).0);
}
