//! The daemon dies, or is told to stop, and starts again while clients change names: for them that
//! is a pause.
//!
//! The client is one of ours that does as kernels do: what is not answered it sends again, with the
//! number that the call had, over a new connection, for as long as it takes.

use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stdx::prng::Prng;
use sunrpc::client::{CallError, Client};
use sunrpc::msg::{AuthSys, Credential};
use sunrpc::xdr::{Decoder, Encoder};

use crate::daemon::{Daemon, Scratch, say};
use crate::zdb::stop_and_check;

/// Procedures (RFC 1813).
const SETATTR: u32 = 2;
const LOOKUP: u32 = 3;
const CREATE: u32 = 8;
const MKDIR: u32 = 9;
const SYMLINK: u32 = 10;
const REMOVE: u32 = 12;
const RMDIR: u32 = 13;
const RENAME: u32 = 14;
const LINK: u32 = 15;
/// Statuses.
const NOENT: u32 = 2;
const NOT_SYNC: u32 = 10_002;
const JUKEBOX: u32 = 10_008;

const PATIENCE: Duration = Duration::from_secs(120);
const KILLS: u64 = 20;
const CLIENTS: u64 = 4;

/// A client that is never told that its server has gone.
struct Stubborn<'a> {
    addr: String,
    client: Option<Client>,
    xid: u32,
    resent: &'a AtomicU64,
}

impl<'a> Stubborn<'a> {
    fn new(addr: &str, number: u64, resent: &'a AtomicU64) -> Stubborn<'a> {
        Stubborn { addr: addr.to_owned(), client: None, xid: (number as u32) << 24, resent }
    }

    fn ask(&mut self, procedure: u32, args: &[u8]) -> Result<Vec<u8>, CallError> {
        let client = match &mut self.client {
            Some(client) => client,
            none => {
                let credential = Credential::Sys(AuthSys::new(0, 0, &[]));
                let client = Client::connect(&*self.addr, 100_003, 3, credential)?;
                client.set_timeout(Some(PATIENCE))?;
                none.insert(client)
            }
        };
        client.set_next_xid(self.xid);
        client.call(procedure, args)
    }

    /// The status, and what follows it.
    fn call(&mut self, procedure: u32, args: &Encoder) -> (u32, Vec<u8>) {
        loop {
            self.xid += 1;
            let start = Instant::now();
            let reply = loop {
                match self.ask(procedure, args.bytes()) {
                    Ok(reply) => break reply,
                    Err(CallError::Failed(how)) => panic!("{procedure}: {how:?}"),
                    Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
                }
                self.client = None;
                self.resent.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            };
            let status = Decoder::new(&reply).u32().expect("a status");
            if status != JUKEBOX {
                return (status, reply[4..].to_vec());
            }
        }
    }

    #[track_caller]
    fn done(&mut self, what: &str, procedure: u32, args: &Encoder) -> Vec<u8> {
        let (status, reply) = self.call(procedure, args);
        assert_eq!(status, 0, "{what}");
        reply
    }

    /// Something new in a directory: its handle. `rest`: the arguments behind the name.
    #[track_caller]
    fn make(&mut self, procedure: u32, dir: &[u8], name: &str, rest: impl FnOnce(&mut Encoder)) -> Vec<u8> {
        let mut args = place(dir, name);
        rest(&mut args);
        let reply = self.done(&format!("make {name}"), procedure, &args);
        let mut reply = Decoder::new(&reply);
        assert_eq!(reply.u32(), Ok(1), "a handle follows");
        reply.opaque(64).expect("a handle").to_vec()
    }

    #[track_caller]
    fn remove(&mut self, procedure: u32, dir: &[u8], name: &str) {
        self.done(&format!("remove {name}"), procedure, &place(dir, name));
    }
}

fn place(dir: &[u8], name: &str) -> Encoder {
    let mut args = Encoder::new();
    args.opaque(dir);
    args.opaque(name.as_bytes());
    args
}

/// A mode, and times that are the server's: with these a creation has two records.
fn sattr(args: &mut Encoder, mode: u32) {
    [1, mode, 0, 0, 0, 1, 1].into_iter().for_each(|word| args.u32(word));
}

/// A tree is made, changed and removed, name by name. Nobody else is at work in it.
fn work(client: &mut Stubborn<'_>, root: &[u8], round: u64) {
    let dir =
        client.make(MKDIR, root, &format!("dir-{}-{round}", client.xid >> 24), |args| sattr(args, 0o755));
    let inner = client.make(MKDIR, &dir, "inner", |args| sattr(args, 0o700));
    for number in 0..6 {
        let name = format!("file-{number}");
        let file = client.make(CREATE, &dir, &name, |args| {
            args.u32(1 + number % 2);
            if number % 2 == 0 { sattr(args, 0o600) } else { args.u64(round << 8 | u64::from(number)) }
        });
        let mut link = Encoder::new();
        link.opaque(&file);
        link.opaque(&inner);
        link.opaque(name.as_bytes());
        client.done("link", LINK, &link);
        let mut rename = place(&dir, &name);
        rename.opaque(&inner);
        rename.opaque(format!("moved-{number}").as_bytes());
        client.done("rename", RENAME, &rename);
        client.make(SYMLINK, &dir, &format!("symlink-{number}"), |args| {
            sattr(args, 0o777);
            args.opaque(b"to somewhere");
        });
        change_guarded(client, &file, &inner, &format!("moved-{number}"));
    }
    for number in 0..6 {
        client.remove(REMOVE, &dir, &format!("symlink-{number}"));
        client.remove(REMOVE, &inner, &format!("moved-{number}"));
        client.remove(REMOVE, &inner, &format!("file-{number}"));
        let (status, _) = client.call(REMOVE, &place(&inner, &format!("file-{number}")));
        assert_eq!(status, NOENT, "that is another call");
    }
    client.remove(RMDIR, &dir, "inner");
    client.remove(RMDIR, root, &format!("dir-{}-{round}", client.xid >> 24));
}

/// Changes the mode, which is refused unless nothing was changed since the client looked. Doing
/// again what a log says is a change, too: then it looks again.
fn change_guarded(client: &mut Stubborn<'_>, file: &[u8], dir: &[u8], name: &str) {
    const MODE: u32 = 0o640;
    let change = |client: &mut Stubborn<'_>| {
        let reply = client.done("lookup", LOOKUP, &place(dir, name));
        // Handle (as the file's, with its length), that attributes follow, attributes: the last of
        // them is the ctime.
        let attrs = &reply[4 + file.len().next_multiple_of(4) + 4..];
        let mut args = Encoder::new();
        args.opaque(file);
        [1, MODE, 0, 0, 0, 0, 0, 1].into_iter().for_each(|word| args.u32(word));
        args.raw(&attrs[76..84]);
        (client.call(SETATTR, &args).0, attrs[4..8] == MODE.to_be_bytes(), args)
    };
    loop {
        let (status, is_done, args) = change(client);
        assert!(!is_done, "{name}: the change was made, and refused when it was sent again");
        if status == 0 {
            assert_eq!(client.call(SETATTR, &args).0, NOT_SYNC, "that is another call");
            return;
        }
        assert_eq!(status, NOT_SYNC, "change {name}");
    }
}

fn mount(daemon: &Daemon, export: &str) -> Vec<u8> {
    let addr = format!("{}:{}", daemon.host, daemon.port);
    let mut client =
        Client::connect(addr, 100_005, 3, Credential::Sys(AuthSys::new(0, 0, &[]))).expect("connected");
    let mut args = Encoder::new();
    args.opaque(export.as_bytes());
    let reply = client.call(1, args.bytes()).expect("MNT");
    Decoder::new(&reply[4..]).opaque(64).expect("a handle").to_vec()
}

#[test]
fn clients_do_not_notice_that_the_daemon_dies_or_restarts() {
    let scratch = Scratch::new("restart");
    let mut daemon = Daemon::start(&scratch);
    let (a, b, mnt) = (scratch.image("a", 1024), scratch.image("b", 1024), scratch.text("mnt"));
    daemon.zpool(&format!("create -m {mnt} tank mirror {a} {b}")).done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash,insecure tank/share").done();
    let root = mount(&daemon, &format!("{mnt}/share"));
    let addr = format!("{}:{}", daemon.host, daemon.port);
    let (over, resent, rounds) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut client = Stubborn::new(&addr, number, &resent);
            let (root, over, rounds) = (&root, &over, &rounds);
            scope.spawn(move || {
                let _told = OnPanic(over);
                for round in 0.. {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    work(&mut client, root, round);
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut prng = Prng::new(18);
        for kill in 0..KILLS {
            std::thread::sleep(Duration::from_millis(100 + prng.below(400)));
            if over.load(Ordering::SeqCst) {
                break;
            }
            // A clean restart loses answers, too: what was sent to a connection that is closed with
            // calls unread.
            if kill % 4 == 3 {
                daemon.stop();
            } else {
                daemon.kill();
            }
            daemon.begin();
        }
        over.store(true, Ordering::SeqCst);
    });
    let (resent, rounds) = (resent.into_inner(), rounds.into_inner());
    say(&format!("{rounds} trees made and removed, connected again {resent} times"));
    assert!(rounds > CLIENTS && resent > KILLS, "too little happened to say much");
    let listed = crate::libnfs::Client::mount(&daemon, &format!("{mnt}/share")).expect("mounted").list("/");
    assert_eq!(listed.expect("listed"), [], "all that was made was removed");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// Somebody else holds the sockets of the daemon: who comes while there is none waits.
#[test]
fn a_restart_is_a_pause_where_the_sockets_are_handed_over() {
    let scratch = Scratch::new("handed");
    let mut daemon = Daemon::start(&scratch);
    let (a, mnt) = (scratch.image("a", 512), scratch.text("mnt"));
    daemon.zpool(&format!("create -m {mnt} tank {a}")).done();
    daemon.zfs("set sharenfs=rw,no_root_squash,insecure tank").done();
    daemon.stop();
    let nfs = TcpListener::bind((&*daemon.host, daemon.port)).expect("the daemon has gone");
    let management = UnixListener::bind(daemon.socket()).expect("the daemon has gone");
    let copy = |socket: BorrowedFd<'_>| socket.try_clone_to_owned().expect("a copy");
    daemon.hand(vec![copy(nfs.as_fd()), copy(management.as_fd())]);
    daemon.begin();
    let addr = format!("{}:{}", daemon.host, daemon.port);
    let resent = AtomicU64::new(0);
    for (round, by_signal) in [false, true].into_iter().enumerate() {
        let root = mount(&daemon, &mnt);
        if by_signal {
            daemon.kill();
        } else {
            daemon.stop();
        }
        let mut list = daemon.command(&["zpool", "list"]);
        let mut list = list.stdout(std::process::Stdio::null()).spawn().expect("started");
        std::thread::scope(|scope| {
            let make = scope.spawn(|| {
                let mut client = Stubborn::new(&addr, 9, &resent);
                client.make(MKDIR, &root, &format!("dir-{round}"), |args| sattr(args, 0o755))
            });
            std::thread::sleep(Duration::from_millis(300));
            daemon.begin();
            make.join().expect("it was made");
        });
        assert!(
            list.wait().expect("it ends").success(),
            "it is answered, if only before the pool is imported"
        );
    }
    assert_eq!(resent.load(Ordering::Relaxed), 0, "nobody was sent away");
    daemon.stop();
    assert!(daemon.socket().exists(), "it is not the daemon's");

    // One that no option names is somebody's mistake.
    let odd = TcpListener::bind((&*daemon.host, 0)).expect("a free port");
    let script = "LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=odd exec \"$0\" serve --state \"$1\" --nfs off --https off 3<&0";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, crate::daemon::PROGRAM, &scratch.text("other")]).stdin(OwnedFd::from(odd));
    let ran = crate::daemon::Ran::of(&mut shell);
    assert!(ran.status == 1 && ran.err.contains("socket 'odd' (127."), "{ran:?}");
    assert!(ran.err.contains("no option names its address"), "{ran:?}");
}

/// Tells the others when its thread has failed.
struct OnPanic<'a>(&'a AtomicBool);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}
