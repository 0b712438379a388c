//! `mount.fuse.cistern`: what mount(8) runs for `mount -t fuse.cistern DATASET DIRECTORY`, and for
//! such lines of /etc/fstab.
//!
//! It mounts file systems whose mountpoint is `legacy`, which `zfs mount` leaves to mount(8). Its
//! exit status is mount(8)'s. Source: cmd/mount_zfs.c.

use crate::client::Client;
use crate::command::Io;
use crate::fail::Stop;
use crate::getopt;
use api_types::{MountOutcome, MountRequest, kind, routes};
use stdx::os_error::words;

const USAGE: &str = "\
usage: mount -t fuse.cistern [-o OPTIONS] DATASET DIRECTORY

Mounts a file system whose mountpoint is 'legacy'. mount(8) runs this program under the name of mount.fuse.cistern, for which
there is a link in /sbin: ln -s \"$(command -v cistern)\" /sbin/mount.fuse.cistern

examples:
  mount -t fuse.cistern tank/home /home
  mount -t fuse.cistern -o ro,noatime tank/media /srv/media
  tank/home  /home  fuse.cistern  defaults,nofail,x-systemd.requires=cistern.service  0  0      in /etc/fstab
";

/// Exit statuses of mount(8).
const MISUSE: i32 = 1;
const SYSTEM_ERROR: i32 = 2;
const FAILED: i32 = 32;

/// What lines of fstab say to others than the file system.
const FOR_OTHERS: [&str; 12] = [
    "defaults", "auto", "noauto", "nofail", "_netdev", "user", "nouser", "users", "nousers", "owner",
    "group", "zfsutil",
];

/// Runs it and gives its exit status.
pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> i32 {
    let (text, status) = match try_run(args, client, io) {
        Ok(()) => return 0,
        Err(Stop::Exit(status)) => return status,
        Err(Stop::Usage(text)) => (format!("mount.fuse.cistern: {text}\n{USAGE}"), MISUSE),
        Err(Stop::Fail(text)) => (format!("{text}\n"), FAILED),
        Err(Stop::Output(error)) => (format!("mount.fuse.cistern: {}\n", words(&error)), SYSTEM_ERROR),
    };
    // There is nowhere left to say that this failed.
    let _ = io.err.write_all(text.as_bytes());
    status
}

fn try_run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    if matches!(args, [help] if help == "--help") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    // mount(8) puts its options behind the operands: sloppy, fake, no mtab, verbose; a namespace,
    // and the type.
    let options = getopt::parse_mixed(args, "sfnvhN:o:t:")?;
    if options.has("h") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    let [dataset, directory] = options.operands.as_slice() else {
        return Err(Stop::Usage("a dataset and a directory are wanted".into()));
    };
    client.must_be_here("mount")?;
    let mountpoint = std::fs::canonicalize(directory).map_err(|error| {
        Stop::Fail(format!("cannot mount '{dataset}' on '{directory}': {}", words(&error)))
    })?;
    let said = options.values("o").flat_map(|list| list.split(','));
    let own = |option: &&str| !FOR_OTHERS.contains(option) && !option.starts_with("x-") && !option.is_empty();
    let request = MountRequest {
        dataset: dataset.clone(),
        mountpoint: mountpoint.to_string_lossy().into_owned(),
        options: said.filter(own).map(str::to_owned).collect(),
        ..MountRequest::default()
    };
    if options.has("f") {
        return Ok(());
    }
    match client.post::<MountOutcome>(routes::MOUNTS, &request) {
        Ok(_) => Ok(()),
        Err(error) => {
            let problem = error.problem()?;
            Err(Stop::Fail(match problem.kind.as_str() {
                kind::NOT_FOUND => {
                    format!("filesystem '{dataset}' cannot be mounted, unable to open the dataset")
                }
                kind::BUSY => format!("filesystem '{dataset}' is already mounted"),
                kind::DENIED => format!("filesystem '{dataset}' cannot be mounted: Insufficient privileges"),
                _ => problem.detail,
            }))
        }
    }
}
