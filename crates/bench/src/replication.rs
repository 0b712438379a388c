//! Replication on loopback, to another appliance and to a host with OpenZFS's commands by OpenSSH:
//! what it takes to see that many datasets have not changed, and how fast a stream goes, beside the
//! sender and the receiver alone, a pool of the same machine, and the same as a user types it.
//!
//! The appliance and the host are a second daemon, whose commands an sshd of this program's own
//! has.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use load::{Blocks, Crowd, Fail, Work};

use crate::http::Http;
use crate::options::Options;
use crate::ours::{Build, Ours};
use crate::process::{Server, ended, wait_until};
use crate::results::{Figure, Results};

pub const PART: &str = "replication";

const DATASETS: usize = 1_000;
/// Bytes of the file system whose stream is timed.
const STREAM: u64 = 1 << 30;
/// How often it is timed.
const TURNS: usize = 5;
const PORT: u16 = 21_222;
const HTTPS: u16 = 21_443;
/// How long a session may take.
const MOST: Duration = Duration::from_secs(900);

pub fn measure(ours: &mut Ours, options: &Options, about: &str) -> Result<Results, Fail> {
    eprintln!("bench: {PART}");
    ours.start_anew(&["--checks-every", "1d"])?;
    let share = ours.make_share()?;
    let blocks = Blocks { block: 1 << 20, size: STREAM, is_random: false };
    share.run(Work::Write { blocks, is_sync: false }, &Crowd::new(1, Duration::from_secs(600)))?;
    let mut http = Http::connect(&ours.socket())?;
    for number in 0..DATASETS {
        let name = if number == 0 { "all".to_owned() } else { format!("all/{number:04}") };
        let body = format!(r#"{{"name":"bench/{name}","no_mount":true}}"#);
        http.ask("POST", "/v1/datasets", &body)?;
    }

    let there = appliance(ours, options)?;
    let host = Host::start(&options.dir.join("sshd"), &there)?;

    let create = |name: &str, from: &str, to: &str, more: &[&str]| -> Result<(), Fail> {
        let (from, to) = (format!("bench/{from}"), format!("{to}/{from}"));
        let words =
            ["svc", "create", "auto-sync", name, "--from", &from, "--to", &to, "--schedule", "yearly"];
        ours.command(&[&words[..], more].concat()).map(drop)
    };
    let speeds = by_turns(ours, &there, &options.dir.join("stream"))?;
    let begun = Instant::now();
    create("many", "all", "peer://there/bench/peer", &["--recursive"])?;
    let first_of_peer = session(ours, "many", "", begun)?;
    let (_, before) = state(ours, "many")?;
    std::thread::sleep(Duration::from_millis(1_100));
    let begun = Instant::now();
    ours.command(&["svc", "run", "many"])?;
    let unchanged_of_peer = session(ours, "many", &before, begun)?;
    // The first session says which key is to be let in.
    let ssh = format!("ssh://root@127.0.0.1:{PORT}/bench");
    create("stream", "share", &ssh, &[])?;
    wait_until("the first session", || {
        state(ours, "stream").is_ok_and(|it| it.0.starts_with("maintenance"))
    })?;
    host.authorize(&ours.ssh_key())?;
    let (_, before) = state(ours, "stream")?;
    // A session is told from the one before by its second.
    std::thread::sleep(Duration::from_millis(1_100));
    let begun = Instant::now();
    ours.command(&["svc", "clear", "stream"])?;
    let stream = session(ours, "stream", &before, begun)?;
    let begun = Instant::now();
    create("all", "all", &ssh, &["--recursive"])?;
    let first = session(ours, "all", "", begun)?;
    let (_, before) = state(ours, "all")?;
    std::thread::sleep(Duration::from_millis(1_100));
    let begun = Instant::now();
    ours.command(&["svc", "run", "all"])?;
    let unchanged = session(ours, "all", &before, begun)?;
    let typed = host.typed(ours)?;

    let figure = |name: &str, value: String, goal: &str| Figure {
        name: name.to_owned(),
        value,
        goal: goal.to_owned(),
    };
    let slower = speeds.sent.max(speeds.received);
    let speed = |seconds: f64| format!("{:.0} MB/s", STREAM as f64 / seconds / 1e6);
    Ok(Results {
        part: PART.to_owned(),
        title: "Replication".to_owned(),
        about: about.to_owned(),
        figures: vec![
            figure(
                "zfs send of 1 GiB alone, and zfs receive",
                format!("{} and {}", speed(speeds.sent), speed(speeds.received)),
                "",
            ),
            figure("a replica of it in a pool of the same machine", speed(speeds.pool), ""),
            figure("on another appliance", speed(speeds.peer), ""),
            figure("÷ the slower of send and receive", format!("{:.2}", slower / speeds.peer), "> 0.80"),
            figure(
                "÷ the same without TLS, in the same machine",
                format!("{:.2}", speeds.pool / speeds.peer),
                "",
            ),
            figure(
                "1,000 datasets there that have not changed",
                format!("{unchanged_of_peer:.1} s"),
                "< 3 s",
            ),
            figure("the first replicas of 1,000 empty datasets there", format!("{first_of_peer:.1} s"), ""),
            figure("a replica of 1 GiB on a host, by SSH", speed(stream), ""),
            figure("the same by zfs send | ssh host zfs receive", speed(typed), ""),
            figure(
                "1,000 datasets there that have not changed, by SSH",
                format!("{unchanged:.1} s"),
                "< 30 s",
            ),
            figure("the first replicas of 1,000 empty datasets, by SSH", format!("{first:.1} s"), ""),
        ],
        ..Results::default()
    })
}

/// Another appliance, which is a peer; and a second pool of ours.
fn appliance(ours: &Ours, options: &Options) -> Result<Ours, Fail> {
    let build = Build::peer(options)?;
    let disk = build.image();
    fs::create_dir_all(disk.parent().ok_or("an image lies in a folder")?)?;
    File::create(&disk)?.set_len(8 << 30)?;
    let there = Ours::start(build, &["--checks-every", "1d", "--https", &format!("127.0.0.1:{HTTPS}")])?;
    there.make_pool()?;
    let code = there.command(&["peer", "invite", "ours", "--allow", "bench/peer"])?;
    there.command(&["zfs", "create", "-u", "bench/peer"])?;
    ours.command(&["peer", "join", "there", &format!("127.0.0.1:{HTTPS}"), code.trim()])?;
    let beside = options.dir.join("beside");
    File::create(&beside)?.set_len(4 << 30)?;
    ours.command(&["zpool", "create", "-m", "none", "beside", &beside.to_string_lossy()])?;
    Ok(there)
}

/// Seconds that the share takes.
#[derive(Clone, Copy)]
struct Took {
    sent: f64,
    received: f64,
    /// As a replica in another pool here, and on the other appliance.
    pool: f64,
    peer: f64,
}

/// The median of several turns of each. The first, in which both daemons get memory that they keep
/// from then on, does not count.
fn by_turns(ours: &Ours, there: &Ours, file: &Path) -> Result<Took, Fail> {
    ours.command(&["zfs", "snapshot", "bench/share@apart"])?;
    // No turn is to wait for the file to be written.
    timed(ours, "cistern zfs send -Lec bench/share@apart > FILE && sync FILE", file)?;
    let mut turns = Vec::new();
    for turn in 0..=TURNS {
        let replica = |kind: &str, to: &str| -> Result<f64, Fail> {
            let (name, to) = (format!("{kind}{turn}"), format!("{to}{turn}"));
            let begun = Instant::now();
            let words = ["svc", "create", "auto-sync", &name, "--from", "bench/share", "--to", &to];
            ours.command(&[&words[..], &["--schedule", "yearly"]].concat())?;
            let took = session(ours, &name, "", begun)?;
            ours.command(&["svc", "remove", &name])?;
            Ok(took)
        };
        turns.push(Took {
            pool: replica("pool", "beside/share")?,
            peer: replica("peer", "peer://there/bench/peer/share")?,
            sent: timed(ours, "cistern zfs send -Lec bench/share@apart > /dev/null", file)?,
            received: timed(there, "cistern zfs receive -u bench/apart < FILE", file)?,
        });
        let gone = [
            (ours, "beside", format!("beside/share{turn}")),
            (there, "bench", format!("bench/peer/share{turn}")),
            (there, "bench", "bench/apart".to_owned()),
        ];
        for (at, pool, name) in gone {
            at.command(&["zfs", "destroy", "-r", &name])?;
            at.command(&["zpool", "wait", "-t", "free", pool])?;
        }
    }
    fs::remove_file(file)?;
    let median = |of: fn(&Took) -> f64| {
        let mut all: Vec<f64> = turns[1..].iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Ok(Took {
        sent: median(|it| it.sent),
        received: median(|it| it.received),
        pool: median(|it| it.pool),
        peer: median(|it| it.peer),
    })
}

/// Seconds that a shell takes for a script at a daemon.
fn timed(at: &Ours, script: &str, file: &Path) -> Result<f64, Fail> {
    let script =
        script.replace("FILE", &file.to_string_lossy()).replace("cistern", &at.program().to_string_lossy());
    let begun = Instant::now();
    ended(Command::new("sh").args(["-c", &script]).env("CISTERN_SOCKET", at.socket()))?;
    Ok(begun.elapsed().as_secs_f64())
}

/// A service's state, and what it says of its last session.
fn state(ours: &Ours, name: &str) -> Result<(String, String), Fail> {
    let shown = ours.command(&["svc", "show", name])?;
    let line = |what: &str| {
        let line = shown.lines().find_map(|line| line.strip_prefix(what));
        line.unwrap_or_default().trim().to_owned()
    };
    Ok((line("state "), line("last ")))
}

/// Waits for the end of a session, which has to succeed; seconds since `begun`. `before`: what was
/// said of the one before.
fn session(ours: &Ours, name: &str, before: &str, begun: Instant) -> Result<f64, Fail> {
    while begun.elapsed() < MOST {
        let (state, last) = state(ours, name)?;
        if !state.starts_with("running") && last != before && last != "-" {
            return match state.starts_with("online") {
                true => Ok(begun.elapsed().as_secs_f64()),
                false => Err(format!("service '{name}' is {state}").into()),
            };
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("service '{name}' is not done after {} s", MOST.as_secs()).into())
}

/// An sshd, for whoever is let in to find the commands of a daemon.
struct Host {
    folder: PathBuf,
    _server: Server,
}

impl Host {
    fn start(folder: &Path, there: &Ours) -> Result<Host, Fail> {
        let bin = folder.join("bin");
        fs::create_dir_all(&bin)?;
        // The folder that it shuts its unprivileged part in.
        fs::create_dir_all("/run/sshd")?;
        for name in ["zfs", "zpool"] {
            drop(fs::remove_file(bin.join(name)));
            symlink(there.program(), bin.join(name))?;
        }
        for key in ["host_key", "client_key"] {
            drop(fs::remove_file(folder.join(key)));
            let mut keygen = Command::new("ssh-keygen");
            ended(keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key)))?;
        }
        let (at, socket) = (folder.display(), there.socket());
        // A shell that is not the first one reads no ~/.bashrc: what that does is not measured.
        let config = format!(
            "Port {PORT}\nListenAddress 127.0.0.1\nHostKey {at}/host_key\nPidFile none\nStrictModes no\n\
             AuthorizedKeysFile {at}/authorized_keys\nUsePAM no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\n\
             SetEnv CISTERN_SOCKET={} PATH={at}/bin:/usr/sbin:/usr/bin:/sbin:/bin SHLVL=2\n",
            socket.display()
        );
        fs::write(folder.join("config"), config)?;
        let log = File::create(folder.join("log"))?;
        let mut sshd = Command::new("/usr/sbin/sshd");
        sshd.args(["-D", "-e", "-f"]).arg(folder.join("config")).stdin(Stdio::null());
        let server = Server(sshd.stdout(Stdio::null()).stderr(log).spawn()?);
        wait_until("sshd", || std::net::TcpStream::connect(("127.0.0.1", PORT)).is_ok())?;
        Ok(Host { folder: folder.to_owned(), _server: server })
    }

    /// Lets in this key, and the one of [`Host::typed`].
    fn authorize(&self, key: &Path) -> Result<(), Fail> {
        let both = fs::read_to_string(key)? + &fs::read_to_string(self.folder.join("client_key.pub"))?;
        Ok(fs::write(self.folder.join("authorized_keys"), both)?)
    }

    /// Seconds for the newest snapshot of the share, by a shell.
    fn typed(&self, ours: &Ours) -> Result<f64, Fail> {
        ours.command(&["zfs", "snapshot", "bench/share@typed"])?;
        let (program, at) = (ours.program().display(), self.folder.display());
        let script = format!(
            "{program} zfs send -Lec bench/share@typed | ssh -F none -c aes128-gcm@openssh.com -p {PORT} -i {at}/client_key \
             -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes root@127.0.0.1 \
             zfs receive -s -u bench/typed"
        );
        let begun = Instant::now();
        ended(Command::new("sh").args(["-c", &script]).env("CISTERN_SOCKET", ours.socket()))?;
        Ok(begun.elapsed().as_secs_f64())
    }
}
