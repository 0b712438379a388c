//! Strangers who want nothing but the server's memory, threads and connections; and that others do
//! not notice them.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use iscsi::{Digests, Pdu};
use load::{Initiator, Unit};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};
use sunrpc::msg::{AuthSys, Call, Credential, put_call};
use sunrpc::record::mark;
use sunrpc::xdr::Encoder;

use crate::daemon::{Daemon, Scratch, say};
use crate::iscsi::{LISTEN, portal};
use crate::libnfs::Client;
use crate::nfs3::{File, READ, read_args};
use crate::zdb::stop_and_check;

/// Memory that the daemon has, and what it is told.
const MEMORY: u64 = 512 << 20;
const CACHE: [&str; 2] = ["--cache", "256M"];
/// Connections to each server; half of them never read, the others say nothing.
const CROWD: u32 = 1000;
const SPAN: Duration = Duration::from_secs(3);
/// Bytes of a file and a volume, which are asked for in pieces.
const SIZE: u64 = 64 << 20;

/// A control group that limits memory, gone at the end. Of either version; `None`: this machine has
/// none to give.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Group> {
        let name = format!("cistern-e2e-{}", std::process::id());
        let one = Path::new("/sys/fs/cgroup/memory");
        let (parent, limit) = if one.is_dir() {
            (one, "memory.limit_in_bytes")
        } else {
            // Where the root's processes may have other groups beside them: on a machine, not in a
            // container.
            drop(fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory"));
            (Path::new("/sys/fs/cgroup"), "memory.max")
        };
        let group = Group(parent.join(name));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join(limit), MEMORY.to_string()).ok()?;
        // Nothing is to be put aside on a disk.
        drop(fs::write(group.0.join("memory.swap.max"), "0"));
        Some(group)
    }

    fn entrance(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its processes have just ended; that takes a moment.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// From an address of this machine's own network, of which there are millions.
fn connection(from: Ipv4Addr, to: SocketAddrV4) -> Option<TcpStream> {
    let own = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
    bind(own.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(from, 0))).expect("loopback");
    connect(own.as_raw_fd(), &SockaddrIn::from(to)).ok()?;
    let stream = TcpStream::from(own);
    stream.set_write_timeout(Some(Duration::from_millis(100))).expect("a timeout");
    Some(stream)
}

/// The `number`th stranger's address. Some hundreds share one.
fn address(number: u32) -> Ipv4Addr {
    match number % 3 {
        0 => Ipv4Addr::new(127, 77, 0, 1),
        _ => Ipv4Addr::new(127, 78, (number / 250) as u8, (1 + number % 250) as u8),
    }
}

/// Sends until nothing more goes in.
fn press(stream: &mut TcpStream, bytes: &[u8]) {
    // It may have been cut off.
    let _as_much_as_goes = stream.write_all(bytes);
}

/// READs of a megabyte each, one after the other.
fn many_reads(handle: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    for xid in 0..64 {
        let args = read_args(handle, u64::from(xid) << 20, 1 << 20);
        let credential = Credential::Sys(AuthSys::new(0, 0, &[]));
        let call = Call { xid, program: 100_003, version: 3, procedure: READ, credential, args: &args };
        let mut out = Encoder::new();
        put_call(&mut out, &call);
        wire.extend(mark(out.len()));
        wire.extend(out.bytes());
    }
    wire
}

/// A login, and commands that read half a megabyte each.
fn log_in_and_read(mut stream: TcpStream, target: &str, number: u32) -> Option<TcpStream> {
    let names = format!("InitiatorName=iqn.crowd:{number}\0TargetName={target}\0");
    let login = Pdu::new(0x43, 0x87).put(8, &[0x80, 0, 0, 0, 0, 1]).put_u32(24, 1);
    login.with_data(names.into_bytes()).write(&mut stream, Digests::default()).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    let answer = Pdu::read(&mut stream, Digests::default(), 8192).ok()??;
    assert_eq!(answer.field::<2>(36), [0, 0], "it may log in");
    let mut wire = Vec::new();
    for number in 1..=100 {
        let mut cdb = [0; 16];
        (cdb[0], cdb[12]) = (0x88, 4);
        cdb[6..10].copy_from_slice(&(number * 1024_u32).to_be_bytes());
        let command = Pdu::new(0x01, 0xc0).put_u32(16, number).put_u32(20, 512 << 10).put_u32(24, number);
        command.put(32, &cdb).write(&mut wire, Digests::default()).expect("to memory");
    }
    press(&mut stream, &wire);
    Some(stream)
}

/// Who is served while the crowd is there: operations that each has done so far.
#[derive(Default)]
struct Served {
    nfs: AtomicU64,
    iscsi: AtomicU64,
    is_over: AtomicBool,
}

impl Served {
    fn counted(&self) -> [u64; 2] {
        [self.nfs.load(SeqCst), self.iscsi.load(SeqCst)]
    }

    /// How many each does in that time.
    fn in_span(&self) -> [u64; 2] {
        let before = self.counted();
        thread::sleep(SPAN);
        let after = self.counted();
        [after[0] - before[0], after[1] - before[1]]
    }

    /// Small and large ones by turns.
    fn over_nfs(&self, file: &mut File) {
        for turn in 0.. {
            if self.is_over.load(SeqCst) {
                break;
            }
            let len = if turn % 8 == 0 { 1 << 20 } else { 4 << 10 };
            file.read((turn * 37 % 63) << 20, len).expect("a client that behaves is served");
            if turn % 16 == 0 {
                file.write_stable((turn % 60) << 20, &[7; 4096]).expect("a client that behaves is served");
            }
            self.nfs.fetch_add(1, SeqCst);
        }
    }

    fn over_iscsi(&self, initiator: &mut Initiator, unit: &Unit) {
        for turn in 0.. {
            if self.is_over.load(SeqCst) {
                break;
            }
            let len = if turn % 8 == 0 { 1 << 20 } else { 4 << 10 };
            initiator.read(unit, (turn * 37 % 63) << 20, len).expect("an initiator that behaves is served");
            if turn % 16 == 0 {
                initiator
                    .write(unit, (turn % 60) << 20, &[7; 4096])
                    .expect("an initiator that behaves is served");
            }
            self.iscsi.fetch_add(1, SeqCst);
        }
    }
}

/// All that want to do harm, as long as they are kept.
fn gather(nfs: SocketAddrV4, iscsi: SocketAddrV4, handle: &[u8], target: &str) -> Vec<TcpStream> {
    let mut crowd = Vec::new();
    let reads = many_reads(handle);
    for number in 0..CROWD {
        let never_reads = number % 2 == 0;
        if let Some(mut stream) = connection(address(number), nfs) {
            match never_reads {
                true => press(&mut stream, &reads),
                // Nothing, half a mark, a part of a large record, and more of it.
                false => press(
                    &mut stream,
                    &[&[0x80, 0x10, 0, 0][..], &vec![0; 90_000]].concat()
                        [..[0, 2, 9000, 90_000][number as usize / 2 % 4]],
                ),
            }
            crowd.push(stream);
        }
        if let Some(stream) = connection(address(number), iscsi) {
            crowd.extend(if never_reads { log_in_and_read(stream, target, number) } else { Some(stream) });
        }
    }
    crowd
}

#[test]
fn a_crowd_that_never_reads_starves_nobody() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("as many files as may be open");
    let scratch = Scratch::new("crowd");
    let group = Group::new();
    if group.is_none() {
        say("no control group of memory can be made here: only how much the daemon takes is judged");
    }
    let entrance = group.as_ref().map(Group::entrance);
    let mut daemon = Daemon::start_in(&scratch, entrance, &[&CACHE[..], &LISTEN[..]].concat());
    let (a, mnt) = (scratch.image("a", 1024), scratch.text("mnt"));
    daemon.zpool(&format!("create -m {mnt} tank {a}")).done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash,insecure tank/fs").done();
    daemon.zfs(&format!("create -V {SIZE} -o cistern:iscsi=on tank/v")).done();
    let (export, target) = (format!("{mnt}/fs"), "iqn.2026-01.org.cistern:tank:v");
    let bytes: Vec<u8> = (0..SIZE as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let client = Client::mount(&daemon, &export).expect("mounted");
    client.write_file("/file", 0o644, &bytes).expect("written");
    let unit = Unit::parse(&format!("iscsi://{}/{target}/0", portal(&daemon))).expect("a unit");
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    (0..SIZE / (1 << 20))
        .for_each(|at| initiator.write(&unit, at << 20, &bytes[..1 << 20]).expect("written"));
    drop(bytes);
    let mut file = File::open(&daemon, &export, "file");
    let handle = file.handle().to_vec();
    let parse = |text: String| text.parse::<SocketAddrV4>().expect("an address");
    let (nfs, iscsi) = (parse(format!("{}:{}", daemon.host, daemon.port)), parse(portal(&daemon)));

    let served = Served::default();
    let (before, beside, after) = thread::scope(|scope| {
        scope.spawn(|| served.over_nfs(&mut file));
        scope.spawn(|| served.over_iscsi(&mut initiator, &unit));
        let before = served.in_span();
        let begun = Instant::now();
        let crowd = gather(nfs, iscsi, &handle, target);
        say(&format!("{} came in {:.1} s", crowd.len(), begun.elapsed().as_secs_f64()));
        let beside = [(); 3].map(|()| served.in_span());
        // Others come, and find their way in.
        let newcomer = Client::mount(&daemon, &export).expect("mounted");
        assert_eq!(newcomer.stat("/file").expect("there").size, SIZE);
        Initiator::log_in(&unit).expect("a session");
        assert!(daemon.zpool("list -H -o name").done() == "tank\n");
        drop(crowd);
        let after = served.in_span();
        served.is_over.store(true, SeqCst);
        (before, beside, after)
    });
    let most = daemon.resident_most() >> 10;
    say(&format!(
        "{before:?} operations alone, {beside:?} beside the crowd, {after:?} after; {most} MiB at most"
    ));
    // How many is a figure for a quiet machine; here other tests take their share of the
    // processors.
    for span in beside {
        assert!(
            span.iter().all(|served| *served > 0),
            "who was served before is not served beside a crowd: {span:?}"
        );
    }
    assert!(most <= MEMORY >> 20, "{most} MiB");
    drop((client, initiator, file));
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
    drop(group);
}

/// More than iSCSI has connections for.
const FLOOD: u32 = 2_500;
/// A login takes no longer beside a flood of them.
const AT_MOST: Duration = Duration::from_secs(10);

/// Logins that go no further: nothing, half a request, one of a name that is not known, one that
/// stays where it is.
fn begin_a_login(number: u32, iscsi: SocketAddrV4) -> Option<TcpStream> {
    let mut stream = connection(address(number), iscsi)?;
    let request = |flags: u8, target: &str| {
        let names = format!("InitiatorName=iqn.flood:{number}\0TargetName={target}\0");
        let pdu = Pdu::new(0x43, flags).put(8, &[0x80, 0, 0, 0, 0, 1]).put_u32(24, 1);
        let mut wire = Vec::new();
        pdu.with_data(names.into_bytes()).write(&mut wire, Digests::default()).expect("to memory");
        wire
    };
    match number % 4 {
        0 => {}
        1 => press(&mut stream, &request(0x87, "iqn.2026-01.org.cistern:tank:v")[..50]),
        2 => press(&mut stream, &request(0x87, "iqn.2026-01.org.cistern:nothing")),
        _ => press(&mut stream, &request(0x04, "iqn.2026-01.org.cistern:tank:v")),
    }
    Some(stream)
}

/// Strangers hold as many connections as there may be, and take each anew that is ended; for who
/// means it there is a place.
#[test]
fn a_flood_of_logins_locks_no_initiator_out() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("as many files as may be open");
    let scratch = Scratch::new("flood");
    let mut daemon = Daemon::start_in(&scratch, None, &LISTEN);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create -V 16M -o cistern:iscsi=on tank/v").done();
    let target = "iqn.2026-01.org.cistern:tank:v";
    let unit = Unit::parse(&format!("iscsi://{}/{target}/0", portal(&daemon))).expect("a unit");
    let iscsi = portal(&daemon).parse::<SocketAddrV4>().expect("an address");
    let (is_over, begun) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut old = Initiator::log_in(&unit).expect("a session");
    let slowest = thread::scope(|scope| {
        for half in 0..2 {
            let (is_over, begun) = (&is_over, &begun);
            scope.spawn(move || {
                let mut held = std::collections::VecDeque::new();
                for number in (half..).step_by(2).take_while(|_| !is_over.load(SeqCst)) {
                    held.extend(begin_a_login(number % 10_000, iscsi));
                    begun.fetch_add(1, SeqCst);
                    if held.len() > FLOOD as usize / 2 {
                        held.pop_front();
                    }
                }
            });
        }
        while begun.load(SeqCst) < u64::from(FLOOD) {
            thread::sleep(Duration::from_millis(50));
        }
        let mut slowest = Duration::ZERO;
        for turn in 0..20_u64 {
            let begun = Instant::now();
            let mut new = Initiator::log_in(&unit).expect("who means it logs in");
            new.write(&unit, turn << 16, &[turn as u8; 4096]).expect("and works");
            slowest = slowest.max(begun.elapsed());
            old.read(&unit, turn << 16, 4096).expect("who was there before works on");
        }
        is_over.store(true, SeqCst);
        slowest
    });
    say(&format!("{} logins begun, ours took {slowest:?} at most", begun.load(SeqCst)));
    assert!(slowest < AT_MOST, "{slowest:?}");
    drop(old);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// More than the management API has threads.
const STALLED: usize = 70;

/// Commands whose input does not come, or whose end is not near.
struct Stalled(Vec<Child>);

impl Drop for Stalled {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

#[test]
fn receives_that_stall_keep_no_other_command_waiting() {
    let scratch = Scratch::new("stalled");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let mut stalled = Stalled(Vec::new());
    let mut begin = |words: &[&str]| {
        let mut command = daemon.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        stalled.0.push(command.spawn().expect("runs"));
    };
    (0..STALLED).for_each(|number| begin(&["zfs", "receive", &format!("tank/r{number}")]));
    (0..STALLED).for_each(|_| begin(&["zpool", "events", "-f"]));
    // Until all of them have been heard.
    thread::sleep(Duration::from_secs(3));
    for line in ["list -H -o name", "status", "events"] {
        let begun = Instant::now();
        let mut command = daemon.command(&[&["zpool"], &line.split(' ').collect::<Vec<_>>()[..]].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("runs");
        while child.try_wait().expect("our child").is_none() {
            if begun.elapsed() > Duration::from_secs(20) {
                drop(child.kill());
                panic!("zpool {line} has no answer");
            }
            thread::sleep(Duration::from_millis(20));
        }
        let mut said = String::new();
        child.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
        assert!(said.contains("tank") || said.contains("pool_create"), "zpool {line}: {said}");
    }
    drop(stalled);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
