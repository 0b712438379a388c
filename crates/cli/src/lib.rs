//! `zpool` and `zfs` as clients of the management API: OpenZFS's options, columns, texts and exit
//! codes.
//!
//! A command is a function from arguments to output and an exit status: 0 done, 1 refused, 2 the
//! command line makes no sense. It holds no state and decides nothing about pools; what it prints
//! comes from the daemon. Facts of syntax and format: OpenZFS's cmd/zpool/zpool_main.c,
//! cmd/zfs/zfs_main.c and lib/libzfs/libzfs_util.c.

mod accounts;
mod advise;
mod arcstat;
mod client;
mod clock;
mod command;
mod ddt;
mod dedup_estimate;
mod explain;
mod fail;
mod getopt;
mod human;
mod iscsi;
mod jobs;
mod json;
mod kstat;
mod log;
mod mount_helper;
mod program;
mod propget;
mod props;
mod term;
mod title;
mod tunable;
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
use std::io::IsTerminal;

/// `zpool` with these arguments (without the program's name), on this process's standard streams.
/// Gives the exit status.
pub fn zpool(args: &[String]) -> i32 {
    on_standard_streams(Program::Zpool, args)
}

/// `zfs`, likewise.
pub fn zfs(args: &[String]) -> i32 {
    on_standard_streams(Program::Zfs, args)
}

/// `mount.fuse.cistern`, likewise.
pub fn mount_helper(args: &[String]) -> i32 {
    with_standard_streams(|io| mount_helper::run(args, &default_socket(), io))
}

/// `cistern NAME`, likewise. `None`: there is no such command of the appliance itself.
pub fn own(name: &str, args: &[String]) -> Option<i32> {
    with_standard_streams(|io| run_own(name, args, &default_socket(), io))
}

/// A command of the appliance itself by its name, with its arguments, as [`run`] for `zpool` and
/// `zfs`. `None`: there is no such command.
pub fn run_own(name: &str, args: &[String], socket: &std::path::Path, io: &mut Io<'_>) -> Option<i32> {
    let (usage, run): (&str, RunOwn) = match name {
        "arcstat" => return Some(arcstat::run(args, socket, io)),
        "zilstat" => return Some(zilstat::run(args, socket, io)),
        "zinject" => return Some(zinject::run(args, socket, io)),
        "volume" => (volume::USAGE, volume::run),
        "tunable" => (tunable::USAGE, tunable::run),
        "kstat" => (kstat::USAGE, kstat::run),
        "advise" => (advise::USAGE, advise::run),
        "dedup-estimate" => (dedup_estimate::USAGE, dedup_estimate::run),
        "explain-space" => (explain::USAGE, explain::run),
        "iscsi" => (iscsi::USAGE, iscsi::run),
        "log" => (log::USAGE, log::run),
        _ => return None,
    };
    let done = run(args, socket, io);
    Some(end_own(io, name, usage, done))
}

fn on_standard_streams(program: Program, args: &[String]) -> i32 {
    with_standard_streams(|io| run(program, args, &default_socket(), io))
}

fn with_standard_streams<T>(work: impl for<'a> FnOnce(&'a mut Io<'a>) -> T) -> T {
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let colour = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let progress = stderr.is_terminal();
    let (mut out, mut err) = (std::io::BufWriter::new(stdout), stderr);
    let mut io = Io { out: &mut out, err: &mut err, colour, progress, title: title::set };
    work(&mut io)
}
