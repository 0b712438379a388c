//! `zpool` and `zfs` as clients of the management API: OpenZFS's options, columns, texts and exit
//! codes.
//!
//! A command is a function from arguments to output and an exit status: 0 done, 1 refused, 2 the
//! command line makes no sense. It holds no state and decides nothing about pools; what it prints
//! comes from the daemon. Facts of syntax and format: OpenZFS's cmd/zpool/zpool_main.c,
//! cmd/zfs/zfs_main.c and lib/libzfs/libzfs_util.c.

mod accounts;
mod advise;
mod alert;
mod analytics;
mod arcstat;
mod ask;
mod audit;
mod certificate;
mod client;
mod clock;
mod command;
mod complete;
mod config;
mod ddt;
mod dedup_estimate;
mod explain;
mod fail;
mod files;
mod getopt;
mod hosts;
mod human;
mod iscsi;
mod job;
mod jobs;
mod json;
mod keeping;
mod kstat;
mod log;
mod login;
mod mount_helper;
mod notify;
mod peer;
mod program;
mod propget;
mod props;
mod replica;
mod roles;
mod session;
mod shell;
mod snapshot;
mod statistics;
mod svc;
mod table;
mod term;
mod title;
mod token;
mod trace;
mod tunable;
mod user;
mod vdevs;
mod version;
mod volume;
mod zfs;
mod zilstat;
mod zinject;
mod zpool;

pub use client::{Client, default_socket, default_state};
pub use command::Io;
pub use human::nicebytes;
pub use program::{Program, run};

use command::{RunOwn, end_own};
use fail::Stop;
use std::io::{IsTerminal, Write};
use term::Screen;

/// `zpool` with these arguments (without the program's name), on this process's standard streams,
/// for the daemon of `host` where one is named. Gives the exit status.
pub fn zpool(args: &[String], host: Option<&str>) -> i32 {
    on_standard_streams(Program::Zpool, args, host)
}

/// `zfs`, likewise.
pub fn zfs(args: &[String], host: Option<&str>) -> i32 {
    on_standard_streams(Program::Zfs, args, host)
}

/// `mount.fuse.cistern`, likewise.
pub fn mount_helper(args: &[String]) -> i32 {
    with_standard_streams(|io| with_client(None, io, |client, io| mount_helper::run(args, client, io)))
}

/// `cistern NAME`, likewise. `None`: there is no such command of the appliance itself.
pub fn own(name: &str, args: &[String], host: Option<&str>) -> Option<i32> {
    with_standard_streams(|io| {
        own_of_user(name, args, io).or_else(|| match hosts::client(host) {
            Ok(client) => run_own(name, args, &client, io),
            Err(stop) => find_own(name).map(|own| own.end(stop, io)),
        })
    })
}

/// A command that is about this user, and needs no daemon to be known.
fn own_of_user(name: &str, args: &[String], io: &mut Io<'_>) -> Option<i32> {
    match name {
        "login" => Some(stranger(io, name, login::LOGIN, login::login, args)),
        "logout" => Some(stranger(io, name, login::LOGOUT, login::logout, args)),
        _ => None,
    }
}

/// `cistern shell`, likewise. With `--confined` it is the console's, which has given up what it
/// needs not before it writes or reads anything.
pub fn shell(args: &[String], host: Option<&str>) -> i32 {
    match (args, host) {
        ([confined], None) if confined == "--confined" => match shell::confine() {
            Ok(line) => with_standard_streams(|io| shell::run_confined(line, io)),
            Err(why) => {
                // There is nowhere left to say that this failed.
                let _ = writeln!(std::io::stdout(), "{why}");
                1
            }
        },
        _ => with_standard_streams(|io| shell::run(args, host, io)),
    }
}

/// A command of the appliance itself by its name, with its arguments, as [`run`] for `zpool` and
/// `zfs`. `None`: there is no such command.
pub fn run_own(name: &str, args: &[String], client: &Client, io: &mut Io<'_>) -> Option<i32> {
    find_own(name).map(|own| own.run(name, args, client, io))
}

/// What a command finds out.
type Ask = fn(&[String], &Client, &mut Io<'_>) -> Result<bool, Stop>;

/// A command that asks a daemon.
enum Own {
    /// With its usage.
    Plain(&'static str, RunOwn),
    /// Likewise. It ends with 0 for yes and 1 for no, so with 2 where it fails.
    Question(&'static str, Ask),
    /// Ends as OpenZFS's program of that name does, and gives its exit status.
    Itself(fn(&[String], &Client, &mut Io<'_>) -> i32),
}

impl Own {
    fn run(&self, name: &str, args: &[String], client: &Client, io: &mut Io<'_>) -> i32 {
        match self {
            Own::Plain(usage, run) => {
                let done = run(args, client, io);
                end_own(io, name, usage, done)
            }
            Own::Question(usage, ask) => match ask(args, client, io) {
                Ok(is_so) => i32::from(!is_so),
                Err(stop) => end_own(io, name, usage, Err(stop)).max(2),
            },
            Own::Itself(run) => run(args, client, io),
        }
    }

    /// Where it is not known whom to ask.
    fn end(&self, stop: Stop, io: &mut Io<'_>) -> i32 {
        let status = nobody_to_ask(io, stop);
        if matches!(self, Own::Question(..)) { status.max(2) } else { status }
    }
}

/// All of them, by their names.
const OWN: &[(&str, Own)] = &[
    ("arcstat", Own::Itself(arcstat::run)),
    ("complete", Own::Itself(complete::run)),
    ("zilstat", Own::Itself(zilstat::run)),
    ("zinject", Own::Itself(zinject::run)),
    ("advise", Own::Plain(advise::USAGE, advise::run)),
    ("alert", Own::Plain(alert::USAGE, alert::run)),
    ("analytics", Own::Plain(analytics::USAGE, analytics::run)),
    ("apply", Own::Plain(config::APPLY, config::apply)),
    ("audit", Own::Plain(audit::USAGE, audit::run)),
    ("certificate", Own::Plain(certificate::USAGE, certificate::run)),
    ("config", Own::Plain(keeping::USAGE, keeping::run)),
    ("dedup-estimate", Own::Plain(dedup_estimate::USAGE, dedup_estimate::run)),
    ("diff", Own::Question(config::DIFF, config::diff)),
    ("explain-space", Own::Plain(explain::USAGE, explain::run)),
    ("export-config", Own::Plain(config::EXPORT, config::export)),
    ("fsstat", Own::Plain(statistics::FSSTAT, statistics::fsstat)),
    ("history", Own::Plain(statistics::HISTORY, statistics::history)),
    ("iscsi", Own::Plain(iscsi::USAGE, iscsi::run)),
    ("iscsistat", Own::Plain(statistics::ISCSISTAT, statistics::iscsistat)),
    ("job", Own::Plain(job::USAGE, job::run)),
    ("kstat", Own::Plain(kstat::USAGE, kstat::run)),
    ("log", Own::Plain(log::USAGE, log::run)),
    ("nfsstat", Own::Plain(statistics::NFSSTAT, statistics::nfsstat)),
    ("notify", Own::Plain(notify::USAGE, notify::run)),
    ("peer", Own::Plain(peer::USAGE, peer::run)),
    ("replica", Own::Plain(replica::USAGE, replica::run)),
    ("session", Own::Plain(session::USAGE, session::run)),
    ("snapshot", Own::Plain(snapshot::USAGE, snapshot::run)),
    ("svc", Own::Plain(svc::USAGE, svc::run)),
    ("token", Own::Plain(token::USAGE, token::run)),
    ("top", Own::Plain(statistics::TOP, statistics::top)),
    ("trace", Own::Plain(trace::USAGE, trace::run)),
    ("tunable", Own::Plain(tunable::USAGE, tunable::run)),
    ("user", Own::Plain(user::USAGE, user::run)),
    ("volume", Own::Plain(volume::USAGE, volume::run)),
    ("whoami", Own::Plain(login::WHOAMI, login::whoami)),
];

fn find_own(name: &str) -> Option<&'static Own> {
    OWN.iter().find(|(known, _)| *known == name).map(|(_, own)| own)
}

/// A command that is asked before there is a daemon that knows us.
fn stranger(
    io: &mut Io<'_>,
    name: &str,
    usage: &str,
    run: fn(&[String], &mut Io<'_>) -> Result<(), Stop>,
    args: &[String],
) -> i32 {
    let done = run(args, io);
    end_own(io, name, usage, done)
}

fn on_standard_streams(program: Program, args: &[String], host: Option<&str>) -> i32 {
    with_standard_streams(|io| with_client(host, io, |client, io| run(program, args, client, io)))
}

/// With the daemon that is asked; where it is not known whom to ask, that is said.
fn with_client<'a>(
    host: Option<&str>,
    io: &'a mut Io<'a>,
    work: impl FnOnce(&Client, &'a mut Io<'a>) -> i32,
) -> i32 {
    match hosts::client(host) {
        Ok(client) => work(&client, io),
        Err(stop) => nobody_to_ask(io, stop),
    }
}

fn nobody_to_ask(io: &mut Io<'_>, stop: Stop) -> i32 {
    command::end(io, Err(stop), |io, text| {
        // There is nowhere left to say that this failed.
        let _ = writeln!(io.err, "{text}");
        2
    })
}

fn with_standard_streams<T>(work: impl for<'a> FnOnce(&'a mut Io<'a>) -> T) -> T {
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let (is_shown, progress) = (stdout.is_terminal(), stderr.is_terminal());
    let colour = is_shown && std::env::var_os("NO_COLOR").is_none();
    let mut out = Screen::new(std::io::BufWriter::new(stdout), is_shown);
    let mut err = Screen::new(stderr, progress);
    let mut io = Io { out: &mut out, err: &mut err, colour, progress, asks: true, title: title::set };
    work(&mut io)
}
