//! `zpool` and `zfs` as clients of the management API: OpenZFS's options, columns, texts and exit codes.
//!
//! A command is a function from arguments to output and an exit status: 0 done, 1 refused, 2 the command line makes no
//! sense. It holds no state and decides nothing about pools; what it prints comes from the daemon. Facts of syntax and
//! format: OpenZFS's cmd/zpool/zpool_main.c, cmd/zfs/zfs_main.c and lib/libzfs/libzfs_util.c.

mod client;
mod clock;
mod fail;
mod getopt;
mod human;
mod jobs;
mod json;
mod program;
mod propget;
mod props;
mod term;
mod usage;
mod vdevs;
mod zfs;
mod zpool;

pub use client::{Client, default_socket};
pub use program::{Io, Program, run};

use std::io::IsTerminal;

/// `zpool` with these arguments (without the program's name), on this process's standard streams. Gives the exit
/// status.
pub fn zpool(args: &[String]) -> i32 {
    on_standard_streams(Program::Zpool, args)
}

/// `zfs`, likewise.
pub fn zfs(args: &[String]) -> i32 {
    on_standard_streams(Program::Zfs, args)
}

fn on_standard_streams(program: Program, args: &[String]) -> i32 {
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let colour = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let progress = stderr.is_terminal();
    let (mut out, mut err) = (std::io::BufWriter::new(stdout), stderr);
    let mut io = Io { out: &mut out, err: &mut err, colour, progress };
    run(program, args, &default_socket(), &mut io)
}
