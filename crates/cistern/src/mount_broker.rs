//! `cistern mount-broker`: a process of its own that mounts for a daemon without capabilities, in
//! the machine's mount namespace. What it does for whom is crate `mounter`'s.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use mounter::{Flags, Service, listen};
use nix::unistd::User;
use sockets::inherited::Inherited;
use stdx::os_error::words;

use crate::logging;

const HELP: &str = "\
usage: cistern mount-broker --user USER [options]

Mounts the file systems of a daemon that runs as USER and may not mount: 'cistern serve --mount-broker PATH'. Runs in the
foreground as root, with CAP_SYS_ADMIN and CAP_DAC_OVERRIDE alone, and without the daemon's disks and network. What is
mounted stays when it ends. See cistern-serve(8).

  --user USER          who may ask: a name or a number
  --socket PATH        where the broker listens; systemd's socket of that path is taken, else one is made
                       (default: /run/cistern/mount.sock)
  --nosuid             mount without set-user-ID programs, whatever a property says
  --nodev              mount without devices, whatever a property says
  --log FILTER         error, warn, info, debug or trace                  (default: $CISTERN_LOG or info)

example:
  cistern mount-broker --user cistern --nodev
";

/// As cistern-mount.socket has it.
const SOCKET: &str = "/run/cistern/mount.sock";

#[derive(Debug, PartialEq, Eq)]
struct Options {
    user: String,
    socket: PathBuf,
    forced: Flags,
    log: Option<String>,
}

/// Exit status of the broker.
pub fn run(args: &[String]) -> i32 {
    let options = match parse(args) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return 0;
        }
        Err(why) => return misused(&why),
    };
    let user = match user(&options.user) {
        Ok(user) => user,
        Err(why) => return misused(&why),
    };
    if let Err(why) = logging::start(options.log.as_deref()) {
        return misused(&why);
    }
    let error = match listener(&options.socket, user) {
        Ok(listener) => {
            tracing::info!(socket = %options.socket.display(), user, "mounts for this user");
            Service::new(listener, user, options.forced).run()
        }
        Err(error) => error,
    };
    eprintln!("cistern mount-broker: {}: {}", options.socket.display(), words(&error));
    1
}

fn misused(why: &str) -> i32 {
    eprintln!("cistern mount-broker: {why}\nsee 'cistern mount-broker --help'");
    2
}

/// `None`: help is wanted.
fn parse(args: &[String]) -> Result<Option<Options>, String> {
    let (mut user, mut log) = (None, None);
    let (mut socket, mut forced) = (PathBuf::from(SOCKET), Flags::default());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let (name, inline) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let mut value =
            || inline.clone().or_else(|| args.next().cloned()).ok_or(format!("{name} wants a value"));
        match name {
            "--user" => user = Some(value()?),
            "--socket" => socket = PathBuf::from(value()?),
            "--log" => log = Some(value()?),
            "--nosuid" => forced = forced.and(Flags::NO_SETUID),
            "--nodev" => forced = forced.and(Flags::NO_DEVICES),
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("unrecognized option '{arg}'")),
        }
    }
    let user = user.ok_or("--user is missing: who may ask?")?;
    Ok(Some(Options { user, socket, forced, log }))
}

/// The number of a user by his name or number.
fn user(text: &str) -> Result<u32, String> {
    let number = match text.parse() {
        Ok(number) => number,
        Err(_) => match User::from_name(text) {
            Ok(Some(user)) => user.uid.as_raw(),
            Ok(None) => return Err(format!("there is no user '{text}'")),
            Err(errno) => return Err(format!("user '{text}': {}", words(&errno.into()))),
        },
    };
    match number {
        0 => Err("root mounts by itself: the broker is for a user without capabilities".into()),
        number => Ok(number),
    }
}

/// The socket that was handed over, else one of its own that only the user may connect to.
fn listener(path: &Path, user: u32) -> io::Result<OwnedFd> {
    let inherited = Inherited::take()?;
    if let Some(socket) = inherited.unix(path) {
        return Ok(socket.into());
    }
    // Of a broker before this one.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let socket = listen(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    chown(path, Some(user), None)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Option<Options>, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn whom_it_serves_has_to_be_said() {
        let options =
            said("--user cistern --socket=/tmp/s --nodev --nosuid").expect("right").expect("options");
        assert_eq!((options.user.as_str(), options.socket), ("cistern", PathBuf::from("/tmp/s")));
        assert!(options.forced.has(Flags::NO_DEVICES) && options.forced.has(Flags::NO_SETUID));
        assert_eq!(said("--help"), Ok(None));
        for wrong in ["", "--socket /tmp/s", "--user", "--user a --suid"] {
            assert!(said(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn root_is_not_served() {
        assert_eq!(user("107"), Ok(107));
        assert!(user("0").is_err() && user("root").is_err() && user("nobody there").is_err());
    }
}
