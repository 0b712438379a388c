//! The command line of `cistern serve`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use iscsi::Portal;

use crate::keep::FOLDER;
use crate::logging;

pub const HELP: &str = "\
usage: cistern serve [options]

Runs the appliance in the foreground until it is told to stop (Ctrl-C, SIGTERM); then exports its pools.

  --state DIR          where the socket and the list of pools are kept   (default: /var/lib/cistern as root,
                       $XDG_STATE_HOME/cistern or ~/.local/state/cistern otherwise)
  --socket PATH        the management socket                              (default: DIR/cistern.sock)
  --nfs ADDR:PORT      where NFS and MOUNT are answered, or 'off'; clients of other machines need 0.0.0.0:2049 or
                       [::]:2049 (default: 127.0.0.1:2049 as root, 127.0.0.1:12049 otherwise; port 0 picks one)
  --https ADDR:PORT    where the web console and the management API are served, or 'off'; browsers and commands of other
                       machines need 0.0.0.0:8443 or [::]:8443 (default: 127.0.0.1:8443; port 0 picks one)
  --old-handles        take NFS file handles of versions before handles were sealed, which anybody can guess
  --iscsi ADDR:PORT[,TAG]   a portal where iSCSI is answered, usually at port 3260, and the tag of its portal group;
                       may be repeated                                    (default: off; port 0 picks one; tag 1)
  --search PATH        folder or device to look for pools in; may be repeated   (default: /dev, DIR/disks)
  --cachefile PATH     the list of imported pools for zdb and 'zpool import -c', or 'none'   (default: DIR/zpool.cache)
  --cache SIZE         memory for the block cache, as 512M or 8G; up to a quarter of it is lent to what clients
                       send and have not taken yet                        (default: a quarter of memory, or of what the
                       control group allows, at most 4G)
  --dirty SIZE         memory for unwritten data, of each pool            (default: a tenth of memory, at most half the cache)
  --keep DIR           a folder in memory: what volumes have answered is there for the next process when this one dies,
                       flushed or not, and so is what NFS clients were told of changes; 'off': it is lost
                       (default: /dev/shm)
  --mount-broker PATH  the socket of 'cistern mount-broker', which mounts for this daemon; 'off': the daemon mounts by
                       itself, which takes root or fusermount3            (default: off)
  --checks-every SPAN  how often the checks look that find alerts, from 1s on                (default: 60s)
  --automount          mount file systems through FUSE when they are created or imported
  --first-start        on the first start, make the pool tank on image files under DIR/disks and share tank/share
  --trial              schedules need not wait: whenever no service has anything to do, the calendar leaps to when one
                       has. To try a month of snapshots in minutes, never for data that matters: it takes a state
                       folder of its own
  --config FILE        options of this list as name = value, for what the command line leaves out (cistern.toml(5)), or
                       'off'                  (default: /etc/cistern/cistern.toml where that is there)
  --log FILTER         error, warn, info, debug or trace, also by part: info,nfs=debug   (default: $CISTERN_LOG or info);
                       'cistern log' changes it while the daemon runs

examples:
  cistern serve --state /var/lib/cistern
  cistern serve --state ./var --nfs 127.0.0.1:12049 --first-start
  cistern serve --cache 8G --nfs '[::]:2049' --iscsi '[::]:3260' --automount
  cistern serve --iscsi 10.0.0.1:3260,1 --iscsi 10.0.1.1:3260,2
";

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Value,
    /// A value each time that it is given.
    Values,
    /// Nothing, or `on` or `off` behind an equals sign.
    Switch,
}

/// An option, and how the configuration file has it.
#[derive(Debug)]
pub struct Named {
    /// Without its dashes.
    pub name: &'static str,
    pub takes: Takes,
    /// A value as the file writes it.
    pub example: &'static str,
}

const fn named(name: &'static str, takes: Takes, example: &'static str) -> Named {
    Named { name, takes, example }
}

/// All that the configuration file may have.
pub const OPTIONS: &[Named] = &[
    named("state", Takes::Value, "\"/var/lib/cistern\""),
    named("socket", Takes::Value, "\"/run/cistern/cistern.sock\""),
    named("nfs", Takes::Value, "\"[::]:2049\""),
    named("https", Takes::Value, "\"[::]:8443\""),
    named("old-handles", Takes::Switch, "true"),
    named("iscsi", Takes::Values, "[\"10.0.0.1:3260,1\", \"10.0.1.1:3260,2\"]"),
    named("search", Takes::Values, "[\"/dev/disk/by-id\", \"/srv/images\"]"),
    named("cachefile", Takes::Value, "\"none\""),
    named("cache", Takes::Value, "\"8G\""),
    named("dirty", Takes::Value, "\"1G\""),
    named("keep", Takes::Value, "\"/dev/shm\""),
    named("mount-broker", Takes::Value, "\"/run/cistern/mount.sock\""),
    named("checks-every", Takes::Value, "\"60s\""),
    named("automount", Takes::Switch, "true"),
    named("first-start", Takes::Switch, "true"),
    named("log", Takes::Value, "\"info,nfs=debug\""),
];

/// Where HTTPS is answered unless somebody says otherwise.
const DEFAULT_HTTPS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8443);

/// How often checks look unless somebody says otherwise.
const CHECKS_EVERY: Duration = Duration::from_secs(60);

/// What the daemon is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub state: PathBuf,
    pub socket: Option<PathBuf>,
    /// `None`: no NFS.
    pub nfs: Option<SocketAddr>,
    /// `None`: no HTTPS.
    pub https: Option<SocketAddr>,
    pub old_handles: bool,
    /// None: no iSCSI.
    pub iscsi: Vec<Portal>,
    pub search: Vec<String>,
    /// `None`: in the state folder.
    pub cachefile: Option<String>,
    pub cache: usize,
    pub dirty: u64,
    /// `None`: what is not flushed dies with the program.
    pub keep: Option<PathBuf>,
    /// `None`: this program mounts by itself.
    pub mount_broker: Option<PathBuf>,
    /// How often checks look.
    pub checks_every: Duration,
    pub automount: bool,
    pub first_start: bool,
    /// The calendar leaps.
    pub trial: bool,
    pub log: Option<String>,
}

/// What a command line says; `None`: help is wanted. `memory` is this machine's, in bytes;
/// `is_root` tells which ports can be had.
pub fn parse(args: &[String], memory: u64, is_root: bool) -> Result<Option<Options>, String> {
    let default_nfs = if is_root { "127.0.0.1:2049" } else { "127.0.0.1:12049" };
    let mut options = Options {
        state: cli::default_state(is_root),
        socket: None,
        nfs: default_nfs.parse().ok(),
        https: Some(DEFAULT_HTTPS),
        old_handles: false,
        iscsi: Vec::new(),
        search: Vec::new(),
        cachefile: None,
        cache: (memory / 4).clamp(64 << 20, 4 << 30) as usize,
        dirty: 0,
        keep: Some(PathBuf::from(FOLDER)),
        mount_broker: None,
        checks_every: CHECKS_EVERY,
        automount: false,
        first_start: false,
        trial: false,
        log: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let (name, inline) = match arg.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (arg.as_str(), None),
        };
        let mut value =
            || inline.clone().or_else(|| args.next().cloned()).ok_or(format!("{name} wants a value"));
        match name {
            "--state" => options.state = PathBuf::from(value()?),
            "--socket" => options.socket = Some(PathBuf::from(value()?)),
            "--search" => options.search.push(value()?),
            "--cachefile" => options.cachefile = Some(value()?),
            "--log" => {
                let filter = value()?;
                logging::parse(&filter)?;
                options.log = Some(filter);
            }
            "--nfs" => options.nfs = place(name, &value()?)?,
            "--https" => options.https = place(name, &value()?)?,
            "--iscsi" => portal(&value()?, &mut options.iscsi)?,
            "--cache" => options.cache = size(&value()?)? as usize,
            "--dirty" => options.dirty = size(&value()?)?,
            "--keep" => options.keep = Some(value()?).filter(|text| text != "off").map(PathBuf::from),
            "--mount-broker" => {
                options.mount_broker = Some(value()?).filter(|text| text != "off").map(PathBuf::from);
            }
            "--checks-every" => options.checks_every = span(name, &value()?)?,
            "--automount" => options.automount = switch(name, inline.as_deref())?,
            "--old-handles" => options.old_handles = switch(name, inline.as_deref())?,
            "--trial" => options.trial = switch(name, inline.as_deref())?,
            "--first-start" => options.first_start = switch(name, inline.as_deref())?,
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("unrecognized option '{arg}'")),
        }
    }
    if options.dirty == 0 {
        options.dirty = (options.cache as u64 / 2).min((memory / 10).max(16 << 20));
    }
    Ok(Some(options))
}

fn switch(option: &str, text: Option<&str>) -> Result<bool, String> {
    match text {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(format!("{option} wants on or off, or nothing, not '{other}'")),
    }
}

fn place(option: &str, text: &str) -> Result<Option<SocketAddr>, String> {
    if text == "off" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| format!("{option} wants ADDR:PORT or off, not '{text}'"))
}

fn span(option: &str, text: &str) -> Result<Duration, String> {
    let wrong = || format!("{option} wants a span of time as 30s, 5m or 1h, not '{text}'");
    let seconds = stdx::span::parse(text, &stdx::span::UNITS).filter(|seconds| *seconds > 0);
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// One more, or none at all.
fn portal(text: &str, portals: &mut Vec<Portal>) -> Result<(), String> {
    if text == "off" {
        portals.clear();
        return Ok(());
    }
    let portal = text.parse().map_err(|_| format!("--iscsi wants ADDR:PORT[,TAG] or off, not '{text}'"))?;
    portals.push(portal);
    Ok(())
}

/// Bytes, with K, M, G or T behind.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a size: write 512M or 8G");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    if bytes < 1 << 20 { Err(format!("{text} is too little: at least 1M")) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests;
