//! The one binary: composes engine, servers and command line.
//!
//! `cistern serve` is the daemon. `cistern zpool …` and `cistern zfs …` (or this program under the
//! names zpool and zfs) are clients of it. `cistern inspect …` looks at pools without it.

mod alerting;
mod allocator;
mod bench;
mod child;
mod config_file;
mod disk_watch;
mod disks;
mod first_start;
mod host;
mod house;
mod job_list;
mod keep;
mod local;
mod logging;
mod mount_broker;
mod mount_list;
mod options;
mod policy;
mod protocols;
mod remember;
mod remembering;
mod serve;
mod services;
mod state_file;
mod statistics;
mod trial;
mod turns;
mod versions;
mod withdrawn;

use std::io::{self, BufWriter, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use env::Env;

const HELP: &str = "\
Cistern: a unified storage appliance in one program

usage:
  cistern shell                  verbs, questions, recordings, groups of machines; on a terminal also cistern alone
  cistern serve [options]        run the appliance (cistern serve --help)
  cistern zpool COMMAND …        manage pools, as zpool(8)
  cistern zfs COMMAND …          manage file systems, as zfs(8)
  cistern iscsi COMMAND …        which volumes are served by iSCSI (cistern iscsi --help)
  cistern volume attach VOLUME   a volume as a disk of this machine (cistern volume --help)
  cistern inspect PATH …         look into pools without the daemon (cistern inspect --help)
  cistern top [options]          who and what is busiest now (cistern top --help)
  cistern nfsstat [options]      what NFS clients ask for (cistern nfsstat --help)
  cistern iscsistat [options]    what iSCSI initiators ask for, and volumes are asked (cistern iscsistat --help)
  cistern fsstat [options]       what file systems are asked (cistern fsstat --help)
  cistern history [SERIES]…      what the appliance did until now (cistern history --help)
  cistern arcstat [options]      what the cache does (cistern arcstat -h)
  cistern zilstat [options]      what the intent logs do (cistern zilstat -h)
  cistern zinject [options]      make devices fail, to see what a pool makes of it (cistern zinject -h)
  cistern svc COMMAND …          snapshots, scrubs, trims and programs by schedule (cistern svc --help)
  cistern tunable COMMAND …      numbers that may be turned while it runs (cistern tunable --help)
  cistern kstat [NAME]           counters as text, as below /proc/spl/kstat/zfs (cistern kstat --help)
  cistern advise [POOL]          what a log device, memory or a cache device would change
  cistern dedup-estimate NAME    whether deduplication of a pool or dataset would pay, and what memory it wants
  cistern explain-space DATASET  who holds the space that a dataset uses, to the byte
  cistern export-config          the configuration as a file (cistern export-config --help)
  cistern diff FILE              how the appliance differs from such a file
  cistern apply FILE             make the appliance equal to such a file (cistern apply --help)
  cistern config COMMAND …       copies of accounts and certificates in a pool (cistern config --help)
  cistern log [FILTER]           what the daemon logs, and changing that while it runs
  cistern job COMMAND …          work that takes long (cistern job --help)
  cistern login HOST             manage another machine from here (cistern login --help)
  cistern logout HOST            and no longer
  cistern whoami                 as whom the daemon sees this user
  cistern user COMMAND …         accounts for HTTPS (cistern user --help)
  cistern token COMMAND …        keys for programs (cistern token --help)
  cistern session COMMAND …      who is logged in (cistern session --help)
  cistern audit [options]        what was changed, and by whom (cistern audit --help)
  cistern alert COMMAND …        what is wrong, and who looks after it (cistern alert --help)
  cistern notify COMMAND …       whom alerts are told: mail, webhooks, syslog (cistern notify --help)
  cistern peer COMMAND …         other appliances, to replicate with (cistern peer --help)
  cistern certificate COMMAND …  the certificate of HTTPS (cistern certificate --help)
  cistern mount-broker [options] mount file systems for a daemon that may not (cistern mount-broker --help)
  cistern bench classic          measure it on modelled devices (cistern bench --help)
  cistern version

examples:
  cistern serve --state /var/lib/cistern
  cistern zpool create tank mirror /dev/sdb /dev/sdc
  cistern zfs create -o sharenfs=on tank/share
  cistern zpool status
  cistern inspect /dev/sdb

Under the names zpool and zfs the program is those commands: ln -s cistern zpool. Under the name mount.fuse.cistern, in
/sbin, it is what mount(8) and /etc/fstab want (mount.fuse.cistern --help).
The commands reach the daemon through the socket in $CISTERN_SOCKET, or that of another machine by HTTPS:
cistern --host HOST COMMAND, or $CISTERN_HOST.
";

/// How the last upgrade of the package ended (packaging/lib/upgrade-check).
const UPGRADE_NOTE: &str = "/var/lib/cistern-upgrade/note";

fn main() -> ExitCode {
    allocator::keep_free_memory();
    let mut args = std::env::args();
    let program = args.next().unwrap_or_default();
    let args: Vec<String> = args.collect();
    let name = Path::new(&program).file_name().and_then(|name| name.to_str()).unwrap_or("cistern");
    let status = match name {
        "zpool" => cli::zpool(&args, None),
        "zfs" => cli::zfs(&args, None),
        "mount.fuse.cistern" => cli::mount_helper(&args),
        _ => dispatch(&args),
    };
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

fn dispatch(args: &[String]) -> i32 {
    match args {
        [option, host, rest @ ..] if option == "--host" => command(Some(host), rest),
        [option, rest @ ..] if option.starts_with("--host=") => command(option.strip_prefix("--host="), rest),
        args => command(None, args),
    }
}

/// A command, for the daemon of a host where one is named.
fn command(host: Option<&str>, args: &[String]) -> i32 {
    let rest = args.get(1..).unwrap_or(&[]);
    match args.first().map(String::as_str) {
        Some(name @ ("serve" | "mount-broker" | "inspect" | "bench")) if host.is_some() => {
            eprintln!("cistern: '{name}' works on this machine, not through a daemon: --host makes no sense");
            2
        }
        Some("serve") => serve::run(rest),
        Some("mount-broker") => mount_broker::run(rest),
        Some("zpool") => cli::zpool(rest, host),
        Some("zfs") => cli::zfs(rest, host),
        Some("shell") => cli::shell(rest, host),
        Some("inspect") => inspect(rest),
        Some("bench") => bench::run(rest),
        Some("version" | "--version" | "-V") => {
            println!("cistern {}", env!("CARGO_PKG_VERSION"));
            // Of a package alone; one that cannot be read is no reason to keep the version back.
            if let Ok(note) = std::fs::read_to_string(UPGRADE_NOTE) {
                print!("last upgrade: {note}");
            }
            0
        }
        Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            0
        }
        Some(name) => cli::own(name, rest, host).unwrap_or_else(|| {
            eprintln!("cistern: unrecognized command '{name}'");
            eprint!("{HELP}");
            2
        }),
        // A program that runs `cistern` alone wants its usage.
        None if io::stdin().is_terminal() && io::stdout().is_terminal() => cli::shell(&[], host),
        None => {
            eprint!("{HELP}");
            2
        }
    }
}

fn inspect(args: &[String]) -> i32 {
    let mut out = BufWriter::new(io::stdout().lock());
    engine::inspect::run(&Env::real(), args, &mut out, &mut io::stderr().lock())
}
