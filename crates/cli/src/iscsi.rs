//! `cistern iscsi`: which volumes are served by iSCSI, and as what. It reads and sets a property of
//! the volumes, no more.

use crate::client::Client;
use crate::command::{Io, refusal};
use crate::fail::{Noun, Stop, no_command};
use crate::getopt;
use crate::human::{nicebytes, nicenum, nicetime};
use crate::props::ISCSI;
use crate::table;
use api_types::{
    Changed, DatasetInfo, DatasetKind, IscsiSession, IscsiTally, IscsiUnit, PropertiesSet, PropertyChange,
    routes,
};

pub const USAGE: &str = "\
usage: cistern iscsi list
       cistern iscsi sessions [-H] [-p] [-j]
       cistern iscsi map VOLUME [-t TARGET] [-l LUN] [-g TAG]... [-i INITIATOR]... [-u USER -s SECRET] [-U USER -S SECRET]
       cistern iscsi unmap VOLUME

Says which volumes are served by iSCSI, and changes that. It is kept with the volume, as the property cistern:iscsi.

sessions tells who is logged in, and what they do to each unit: commands and bytes read and written, the mean time of one,
and how many commands are under way, and were at the most.

  -H             no header, and a tab between fields
  -p             exact numbers; times in nanoseconds
  -j             JSON, with histograms of the times
  -t TARGET      the target's name: iqn.…            (default: one of the volume's own)
  -l LUN         the volume's number there           (default: the lowest that is free)
  -g TAG         a portal group that the target is behind (default: as the target's other volumes say, or all)
  -i INITIATOR   who may see it: iqn.…               (default: everybody)
  -u, -s         what an initiator proves, by CHAP: a user, and a secret of 12 to 64 characters
  -U, -S         what the target answers to initiators that ask for a proof

examples:
  cistern iscsi map tank/vm1
  cistern iscsi map tank/vm2 -t iqn.2026-01.org.example:vms -i iqn.1998-01.com.vmware:esx1
  cistern iscsi map tank/vm4 -t iqn.2026-01.org.example:fast -g 2
  zfs set shareiscsi=on tank/vm3
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") if rest.is_empty() => list(client, io),
        Some("sessions") => sessions(rest, client, io),
        Some("map") => map(rest, client, io),
        Some("unmap") => match rest {
            [volume] => set(client, volume, "off", &format!("cistern iscsi unmap {volume}")),
            _ => Err(Stop::Usage("missing volume argument".into())),
        },
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

/// Volumes with what their shares say.
fn shares(client: &Client) -> Result<Vec<(String, String)>, Stop> {
    let path = format!("{}?kinds=volume&props={ISCSI}", routes::DATASETS);
    let volumes: Vec<DatasetInfo> = client.get(&path)?;
    let share = |volume: DatasetInfo| {
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
        writeln!(io.out, "{volume}\t{share}")?;
    }
    Ok(())
}

const HEAD: [&str; 14] = [
    "INITIATOR",
    "TARGET",
    "GROUP",
    "CONNECTIONS",
    "LUN",
    "VOLUME",
    "READS",
    "READ",
    "TIME",
    "WRITES",
    "WRITTEN",
    "TIME",
    "QUEUE",
    "MOST",
];

fn sessions(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &[])?;
    options.none()?;
    let sessions: Vec<IscsiSession> = client.get(routes::ISCSI_SESSIONS)?;
    if options.has("j") {
        return table::json(io, &sessions);
    }
    let is_exact = options.has("p");
    let units = sessions.iter().flat_map(|session| session.units.iter().map(move |unit| (session, unit)));
    let rows = units.map(|(session, unit)| row(session, unit, is_exact)).collect();
    table::print(io, HEAD, rows, options.has("H"))
}

fn row(session: &IscsiSession, unit: &IscsiUnit, is_exact: bool) -> [String; 14] {
    let count = |number: u64| if is_exact { number.to_string() } else { nicenum(number) };
    let bytes = |number: u64| if is_exact { number.to_string() } else { nicebytes(number) };
    let mean = |tally: &IscsiTally| {
        let mean = tally.time / tally.commands.max(1);
        if is_exact { mean.to_string() } else { nicetime(mean) }
    };
    let of = |tally: &IscsiTally| [count(tally.commands), bytes(tally.bytes), mean(tally)];
    let ([reads, read, read_time], [writes, written, write_time]) = (of(&unit.reads), of(&unit.writes));
    [
        session.initiator.clone(),
        session.target.clone(),
        session.group.to_string(),
        session.connections.to_string(),
        unit.lun.to_string(),
        unit.volume.clone(),
        reads,
        read,
        read_time,
        writes,
        written,
        write_time,
        unit.queue.to_string(),
        unit.queue_most.to_string(),
    ]
}

fn map(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "t:l:g:i:u:s:U:S:", &[])?;
    let [volume] = options.operands.as_slice() else {
        return Err(Stop::Usage("missing volume argument".into()));
    };
    must_be_volume(client, volume)?;
    let mut share = Vec::new();
    if let Some(target) = options.value("t") {
        share.push(format!("target={target}"));
        let others = of_target(&shares(client)?, target);
        let lun = options.value("l").map_or_else(|| free_number(&others).to_string(), str::to_owned);
        share.push(format!("lun={lun}"));
        if options.value("g").is_none() {
            share
                .extend(others.first().into_iter().flat_map(|other| said(other, "group")).map(str::to_owned));
        }
    } else if let Some(lun) = options.value("l") {
        share.push(format!("lun={lun}"));
    }
    share.extend(options.values("g").map(|group| format!("group={group}")));
    share.extend(options.values("i").map(|initiator| format!("initiator={initiator}")));
    for (option, name) in [("u", "user"), ("s", "secret"), ("U", "mutual_user"), ("S", "mutual_secret")] {
        share.extend(options.value(option).map(|value| format!("{name}={value}")));
    }
    let value = if share.is_empty() { "on".to_owned() } else { share.join(",") };
    set(client, volume, &value, &format!("cistern iscsi map {volume}"))?;
    writeln!(io.out, "{volume}")?;
    Ok(())
}

/// The property says something of volumes only; set for a file system, it would speak for the
/// volumes below.
fn must_be_volume(client: &Client, name: &str) -> Result<(), Stop> {
    let path = format!("{}?roots={}&depth=0&props=type", routes::DATASETS, routes::segment(name));
    let refused = |error| refusal(&format!("cannot open '{name}'"), error, Noun::Dataset);
    let found: Vec<DatasetInfo> = client.get(&path).map_err(refused)?;
    match found.iter().find(|dataset| dataset.name == name).map(|dataset| dataset.kind) {
        Some(DatasetKind::Volume) => Ok(()),
        Some(_) => Err(Stop::Fail(format!("cannot share '{name}': not a volume"))),
        None => Err(Stop::Fail(format!("cannot open '{name}': dataset does not exist"))),
    }
}

/// Shares of volumes of a target.
fn of_target(shares: &[(String, String)], target: &str) -> Vec<String> {
    let wanted = format!("target={target}");
    let shares = shares.iter().map(|(_, share)| share);
    shares.filter(|share| said(share, "target").any(|option| option == wanted)).cloned().collect()
}

/// What a share says under a name, as it says it.
fn said<'a>(share: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let is_it = move |option: &&str| option.split_once('=').is_some_and(|(known, _)| known == name);
    share.split(',').filter(is_it)
}

/// The lowest number that none of a target's volumes has.
fn free_number(others: &[String]) -> u16 {
    let number = |share: &String| {
        let lun = said(share, "lun").next().and_then(|option| option.split_once('='));
        lun.and_then(|(_, lun)| lun.parse::<u16>().ok()).unwrap_or(0)
    };
    let taken: Vec<u16> = others.iter().map(number).collect();
    (0..u16::MAX).find(|number| !taken.contains(number)).unwrap_or(0)
}

fn set(client: &Client, volume: &str, value: &str, history: &str) -> Result<(), Stop> {
    let props = vec![PropertyChange { name: ISCSI.to_owned(), value: value.to_owned() }];
    let request = PropertiesSet { props, no_mount: false, history: history.to_owned() };
    let path = routes::at(routes::DATASET_PROPERTIES, volume);
    let refused = |error| refusal(&format!("cannot share '{volume}'"), error, Noun::Dataset);
    client.post::<Changed>(&path, &request).map(drop).map_err(refused)
}
