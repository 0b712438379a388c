//! `cistern volume`: volumes as disks of this machine, without an initiator. It names the place;
//! programs connect there.

use api_types::{DatasetInfo, DatasetKind, NBD_SOCKET, routes};

use crate::client::Client;
use crate::command::{Io, refusal};
use crate::fail::{Noun, Stop, no_command};

pub const USAGE: &str = "\
usage: cistern volume attach VOLUME

Prints where a volume can be had as a network block device (NBD). It is a socket beside the daemon's own, for who may
manage the daemon; for other machines there is iSCSI.

examples:
  qemu-img info \"$(cistern volume attach tank/vm1)\"
  nbdcopy disk.raw \"$(cistern volume attach tank/vm1)\"
  qemu-system-x86_64 -drive file=\"$(cistern volume attach tank/vm1)\",format=raw
  nbd-client -unix /var/lib/cistern/nbd.sock -N tank/vm1 /dev/nbd0      the kernel's own client, as root
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["attach", volume] => attach(volume, client, io),
        ["attach"] => Err(Stop::Usage("missing volume argument".into())),
        ["attach", ..] => Err(Stop::Usage("too many arguments".into())),
        ["help" | "--help" | "-h"] => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other.first().copied()),
    }
}

fn attach(volume: &str, client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let Some(socket) = client.socket() else {
        return client.must_be_here("cistern volume attach");
    };
    let cannot = format!("cannot attach '{volume}'");
    let path = format!("{}?roots={}&depth=0&props=volsize", routes::DATASETS, routes::segment(volume));
    let found: Vec<DatasetInfo> =
        client.get(&path).map_err(|error| refusal(&cannot, error, Noun::Dataset))?;
    if found.iter().any(|dataset| dataset.kind != DatasetKind::Volume) {
        return Err(Stop::Fail(format!("{cannot}: not a volume")));
    }
    let place = socket.canonicalize().unwrap_or_else(|_| socket.to_owned()).with_file_name(NBD_SOCKET);
    writeln!(io.out, "nbd+unix:///{}?socket={}", escaped(volume), escaped(&place.to_string_lossy()))?;
    Ok(())
}

/// For a URI: all but what stands for itself there, and slashes, as %XX.
fn escaped(text: &str) -> String {
    routes::segment(text).replace("%2F", "/")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_are_safe_in_a_uri() {
        assert_eq!(escaped("tank/vm 1:a%b"), "tank/vm%201%3Aa%25b");
    }
}
