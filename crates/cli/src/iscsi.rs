//! `cistern iscsi`: which volumes are served by iSCSI, and as what. It reads and sets a property of the volumes, no more.

use crate::client::Client;
use crate::fail::{Noun, Stop, sentence};
use crate::getopt;
use crate::program::{Io, end_own};
use crate::props::ISCSI;
use api_types::{Changed, Dataset, PropSet, PropertiesSet, routes};
use std::path::Path;

const USAGE: &str = "\
usage: cistern iscsi list
       cistern iscsi map VOLUME [-t TARGET] [-l LUN] [-i INITIATOR]... [-u USER -s SECRET] [-U USER -S SECRET]
       cistern iscsi unmap VOLUME

Says which volumes are served by iSCSI, and changes that. It is kept with the volume, as the property cistern:iscsi.

  -t TARGET      the target's name: iqn.…            (default: one of the volume's own)
  -l LUN         the volume's number there           (default: the lowest that is free)
  -i INITIATOR   who may see it: iqn.…               (default: everybody)
  -u, -s         what an initiator proves, by CHAP: a user, and a secret of 12 to 64 characters
  -U, -S         what the target answers to initiators that ask for a proof

examples:
  cistern iscsi map tank/vm1
  cistern iscsi map tank/vm2 -t iqn.2026-01.org.example:vms -i iqn.1998-01.com.vmware:esx1
  zfs set shareiscsi=on tank/vm3
";

/// Runs it and gives its exit status.
pub fn run(args: &[String], socket: &Path, io: &mut Io<'_>) -> i32 {
    let done = try_run(args, &Client::new(socket), io);
    end_own(io, "iscsi", USAGE, done)
}

fn try_run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") if rest.is_empty() => list(client, io),
        Some("map") => map(rest, client, io),
        Some("unmap") => match rest {
            [volume] => set(client, volume, "off", &format!("cistern iscsi unmap {volume}")),
            _ => Err(Stop::Usage("missing volume argument".into())),
        },
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        Some(other) => Err(Stop::Usage(format!("unrecognized command '{other}'"))),
        None => Err(Stop::Usage("missing command".into())),
    }
}

/// Volumes with what their shares say.
fn shares(client: &Client) -> Result<Vec<(String, String)>, Stop> {
    let path = format!("{}?kinds=volume&props={ISCSI}", routes::DATASETS);
    let volumes: Vec<Dataset> = client.get(&path)?;
    let share = |volume: Dataset| {
        let value = volume.props.into_iter().next().map_or_else(String::new, |prop| prop.value);
        (volume.name, value)
    };
    Ok(volumes
        .into_iter()
        .map(share)
        .filter(|(_, share)| !matches!(share.as_str(), "" | "off" | "-"))
        .collect())
}

fn list(client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    for (volume, share) in shares(client)? {
        let is_secret = |option: &&str| option.starts_with("secret=") || option.starts_with("mutual_secret=");
        let shown: Vec<&str> = share.split(',').filter(|option| !is_secret(option)).collect();
        writeln!(io.out, "{volume}\t{}", shown.join(","))?;
    }
    Ok(())
}

fn map(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "t:l:i:u:s:U:S:", &[])?;
    let [volume] = options.operands.as_slice() else {
        return Err(Stop::Usage("missing volume argument".into()));
    };
    let mut share = Vec::new();
    if let Some(target) = options.value("t") {
        share.push(format!("target={target}"));
        let lun = match options.value("l") {
            Some(lun) => lun.to_owned(),
            None => free_number(&shares(client)?, target).to_string(),
        };
        share.push(format!("lun={lun}"));
    } else if let Some(lun) = options.value("l") {
        share.push(format!("lun={lun}"));
    }
    share.extend(options.values("i").map(|initiator| format!("initiator={initiator}")));
    for (option, name) in [("u", "user"), ("s", "secret"), ("U", "mutual_user"), ("S", "mutual_secret")] {
        share.extend(options.value(option).map(|value| format!("{name}={value}")));
    }
    let value = if share.is_empty() { "on".to_owned() } else { share.join(",") };
    set(client, volume, &value, &format!("cistern iscsi map {volume}"))?;
    writeln!(io.out, "{volume}")?;
    Ok(())
}

/// The lowest number that no volume of a target has.
fn free_number(shares: &[(String, String)], target: &str) -> u16 {
    let of_target =
        |share: &&str| share.split(',').any(|option| option.strip_prefix("target=") == Some(target));
    let number = |share: &str| {
        let lun = share.split(',').find_map(|option| option.strip_prefix("lun="));
        lun.and_then(|lun| lun.parse::<u16>().ok()).unwrap_or(0)
    };
    let shares = shares.iter().map(|(_, share)| share.as_str());
    let taken: Vec<u16> = shares.filter(of_target).map(number).collect();
    (0..u16::MAX).find(|number| !taken.contains(number)).unwrap_or(0)
}

fn set(client: &Client, volume: &str, value: &str, history: &str) -> Result<(), Stop> {
    let props = vec![PropSet { name: ISCSI.to_owned(), value: value.to_owned() }];
    let request = PropertiesSet { props, no_mount: false, history: history.to_owned() };
    let path = routes::at(routes::DATASET_PROPERTIES, volume);
    let refused = |error: crate::client::CallError| match error.problem() {
        Ok(problem) => Stop::Fail(sentence(&format!("cannot share '{volume}'"), &problem, Noun::Dataset)),
        Err(stop) => stop,
    };
    client.post::<Changed>(&path, &request).map(drop).map_err(refused)
}
