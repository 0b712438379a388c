use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use engine_api::Cancel;
use services::autotier::command::Deed;

use super::*;

static NUMBER: AtomicU64 = AtomicU64::new(0x7e51_0000);

/// A folder of this test's own.
struct Scratch(String);

impl Scratch {
    fn new() -> Scratch {
        let number = NUMBER.fetch_add(1, Relaxed);
        let at = std::env::temp_dir().join(format!("cistern-rsync-{}-{number:x}", std::process::id()));
        for side in ["from", "to"] {
            fs::create_dir_all(at.join(side)).expect("made");
        }
        Scratch(at.to_str().expect("text").to_owned())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn errand<'a>(scratch: &Scratch, more: &[&str], names: &[&[u8]], stop: &'a Cancel) -> Errand<'a> {
    let fixed = ["-ltiiS", "--from0", "--files-from=-", "--out-format==%i %l %n", "--outbuf=L"];
    let sides = [format!("{}/from/", scratch.0), format!("{}/to/.", scratch.0)];
    let words = fixed.iter().chain(more).map(|word| (*word).to_owned());
    let names = names.iter().flat_map(|name| name.iter().copied().chain([0])).collect();
    Errand { arguments: words.chain(sides).collect(), names, by_ssh: false, stuck_after: 10, stop }
}

fn run_it(errand: &Errand<'_>) -> (RsyncEnd, String, Vec<Said>) {
    let mut heard = Vec::new();
    let (end, said) = run(errand, Path::new("/"), &mut |said| heard.push(said), NUMBER.fetch_add(1, Relaxed));
    (end, said, heard)
}

#[test]
fn what_is_named_is_copied_and_told_by_its_whole_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let (scratch, stop) = (Scratch::new(), Cancel::default());
    let names: [&[u8]; 5] = [b"-n", b"new\nline\r", b"\xff\\#012", b" a  b ", b"host:x"];
    for name in names {
        let at = std::path::Path::new(&scratch.0).join("from").join(OsStr::from_bytes(name));
        fs::write(at, name).expect("written");
    }
    fs::write(format!("{}/from/not-named", scratch.0), "x").expect("written");
    let (end, said, heard) = run_it(&errand(&scratch, &[], &names, &stop));
    assert_eq!((end, said.as_str()), (RsyncEnd::Exited { status: 0 }, ""));
    let sent: Vec<&[u8]> = heard
        .iter()
        .filter_map(|said| match said {
            Said::File { deed: Deed::Send, path, .. } => Some(&path[..]),
            _ => None,
        })
        .collect();
    assert!(names.iter().all(|name| sent.contains(name)) && sent.len() == 5, "{heard:?}");
    assert_eq!(fs::read_dir(format!("{}/to", scratch.0)).expect("listed").count(), 5);
}

#[test]
fn what_fails_says_how_and_a_flood_of_it_is_bounded() {
    let (scratch, stop) = (Scratch::new(), Cancel::default());
    let missing: Vec<Vec<u8>> = (0..2_000).map(|number| format!("missing-{number}").into_bytes()).collect();
    let missing: Vec<&[u8]> = missing.iter().map(Vec::as_slice).collect();
    let (end, said, _) = run_it(&errand(&scratch, &[], &missing, &stop));
    assert_eq!(end, RsyncEnd::Exited { status: 23 });
    assert!(said.len() <= SAID && said.contains("code 23"), "{said}");
    let (end, said, _) = run_it(&errand(&scratch, &["--no-such-option"], &[], &stop));
    assert!(end == RsyncEnd::Exited { status: 1 } && said.contains("no-such-option"), "{said}");
    fs::remove_dir(format!("{}/to", scratch.0)).expect("removed");
    let (end, ..) = run_it(&errand(&scratch, &[], &[b"x"], &stop));
    assert!(matches!(end, RsyncEnd::Exited { status: 3 | 11 | 23 }), "a folder is not made: {end:?}");
}

#[test]
fn what_hangs_or_is_stopped_ends_with_all_of_it() {
    let (scratch, stop) = (Scratch::new(), Cancel::default());
    fs::write(format!("{}/from/a", scratch.0), vec![1; 1 << 20]).expect("written");
    // A remote shell that never answers.
    let sides = ["--rsh=sh -c 'sleep 1000'", "host:/x"];
    let mut hanging = errand(&scratch, &sides[..1], &[b"a"], &stop);
    *hanging.arguments.last_mut().expect("a target") = sides[1].to_owned();
    let began = Instant::now();
    let (end, ..) = run_it(&hanging);
    assert_eq!(end, RsyncEnd::Stuck { seconds: 10 });
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    stop.cancel();
    let began = Instant::now();
    let (end, ..) = run_it(&hanging);
    assert!(end == RsyncEnd::Stopped && began.elapsed() < Duration::from_secs(5));
}

#[test]
fn lines_end_at_either_end_and_none_is_too_long() {
    let (from, mut to) = io::pipe().expect("a pipe");
    let (send, lines) = sync_channel(LINES);
    let text = [b"one\rtwo\n\n".to_vec(), vec![b'x'; LONGEST + 1], b"\nlast\nunfinished".to_vec()].concat();
    thread::spawn(move || drop(to.write_all(&text)));
    read_lines(from, &send);
    drop(send);
    assert_eq!(lines.into_iter().collect::<Vec<_>>(), [b"one".to_vec(), b"two".to_vec(), b"last".to_vec()]);
}
