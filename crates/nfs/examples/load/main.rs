//! Load for any NFSv3 server over TCP, by raw calls on one connection with a chosen number in flight.
//!
//! ```text
//! load HOST:PORT PATH WORK [--size BYTES] [--block BYTES] [--depth N] [--files N] [--seconds N] [--mount-port P]
//! WORK: write | read | randread | randwrite | create | stat | unlink | null
//! ```
//!
//! `write` makes the file that `read`, `randread` and `randwrite` use (and ends with a COMMIT that is part of the
//! time); `create`, `stat` and `unlink` work on the same `--files` names. Prints one line: MB/s, operations a second,
//! and the median and 99th percentile of the latency.

mod nfs3;
mod work;

use std::process::ExitCode;
use std::time::Duration;

/// What the command line asks for.
pub struct Options {
    pub server: String,
    pub mount_port: Option<u16>,
    pub path: String,
    pub work: String,
    pub size: u64,
    pub block: u32,
    pub depth: usize,
    pub files: u64,
    pub limit: Option<Duration>,
}

const USAGE: &str = "usage: load HOST:PORT PATH write|read|randread|randwrite|create|stat|unlink|null \
[--size BYTES] [--block BYTES] [--depth N] [--files N] [--seconds N] [--mount-port P]";

fn parse(mut args: impl Iterator<Item = String>) -> Option<Options> {
    let (server, path, work) = (args.next()?, args.next()?, args.next()?);
    let mut options = Options {
        server,
        mount_port: None,
        path,
        work,
        size: 1 << 28,
        block: 1 << 20,
        depth: 1,
        files: 10_000,
        limit: None,
    };
    while let Some(flag) = args.next() {
        let value: u64 = args.next()?.parse().ok()?;
        match flag.as_str() {
            "--size" => options.size = value,
            "--block" => options.block = value.try_into().ok()?,
            "--depth" => options.depth = value.try_into().ok()?,
            "--files" => options.files = value,
            "--seconds" => options.limit = Some(Duration::from_secs(value)),
            "--mount-port" => options.mount_port = Some(value.try_into().ok()?),
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match work::run(&options) {
        Ok(result) => {
            println!("{}", result.line(&options));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}
