//! `cistern peer`: other appliances, what each may keep here, and what it may read.

use crate::client::{Address, Client, fingerprint};
use crate::command::Io;
use crate::fail::{Stop, fail, no_command, usage};
use crate::getopt::Parsed;
use crate::svc::{self, kept};
use crate::table::{plain, time};
use crate::{ask, getopt, table};
use api_types::{
    Peer, PeerAdd, PeerChange, PeerChecked, PeerGrant, PeerIdentity, PeerInvite, PeerInvited, PeerJoin,
    PeerRead, PeerRelation, Secret, SyncReplica, routes,
};

pub const USAGE: &str = "\
usage: cistern peer id [--json]
       cistern peer invite NAME [--address HOST[:PORT]] [--allow DATASET]... [--group GROUP]
       cistern peer join NAME HOST[:PORT] [CODE] [--allow DATASET]... [--group GROUP]
       cistern peer add NAME --fingerprint FINGERPRINT [--address HOST[:PORT]] [--allow DATASET]... [--group GROUP]
       cistern peer list [-H] [--json]
       cistern peer show NAME [--json]
       cistern peer set NAME [--address HOST[:PORT]] [--group GROUP]
       cistern peer allow NAME DATASET [--append-only] [--keep KEEP]
       cistern peer allow NAME DATASET --read [--snapshots] [--absence BOUNDS]
       cistern peer deny NAME DATASET [--read]
       cistern peer check NAME [--json]
       cistern peer relations NAME [-H] [-p] [--json]
       cistern peer remove NAME

Other appliances, to replicate to and from. Each is known by the fingerprint of its certificate, which 'id' shows there. Two become
peers by a code, which 'invite' shows on the one and 'join' takes on the other; or by 'add' on both, with the other's fingerprint.
NAME is what the other one is called here. Peers meet on the port of HTTPS. What a peer sends is kept where it was allowed to
send, and nowhere else; its replicas refuse writes. 'check' asks a peer whether it is there. What a peer that is removed has here
stays. What a peer may read with --read, it can pull: its services see which snapshots there are, hold the one that they go on from,
and are sent what is in them. It changes nothing else there, unless it may make --snapshots: then it also destroys those that it has
made. It may read nothing before that is allowed, and nothing more from the moment on at which it is denied. Appliances of one group
make each other known: who becomes a peer of one of them is a peer of all within minutes, and may send nothing to the others, and
read nothing there, before each allows it. 'relations' asks a peer what it replicates to this appliance, and what it pulls from here:
how far that is behind its sources and by how much it may be, and what it does next.

  --address HOST[:PORT]      where it listens (port 8443 unless given): who is only called by it needs none
  --fingerprint FINGERPRINT  what 'cistern peer id' shows there
  --allow DATASET            it may keep replicas there and below
  --append-only              it may destroy nothing of what it has sent
  --read                     of what a peer may read: the dataset and all below
  --snapshots                it may make snapshots there, and destroy those that it has made
  --absence BOUNDS           what is kept there for its services while they take nothing, before bookmarks take the place of
                             snapshots: a time, space, or both: 30d (unless set), 100G; none for without end
  --keep 24,30d              which snapshots stay is decided here: so many of the newest, and those of so long
  --group GROUP              it is of this group, and is told who else is; '' for of none. Give it on both sides
  -H                         for programs: without a head
  -p                         numbers as they are
  --json                     what the daemon says, as JSON

examples:
  cistern peer invite north --allow backup/north
  cistern peer join south nas-b.example.org GWXQ7-2MKPR
  cistern svc create auto-sync away --from tank/home --recursive --to peer://south/backup/north/home --schedule 15m
  cistern peer allow north backup/north --append-only --keep 96,90d
  cistern peer allow south tank/home --read --snapshots
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("id") => id(rest, client, io),
        Some("invite") => invite(rest, client, io),
        Some("join") => join(rest, client, io),
        Some("add") => add(rest, client),
        Some("list") => list(rest, client, io),
        Some("show") => show(rest, client, io),
        Some("set") => set(rest, client),
        Some("allow") => allow(rest, client),
        Some("deny") => deny(rest, client),
        Some("check") => check(rest, client, io),
        Some("relations") => relations(rest, client, io),
        Some("remove") => {
            let options = getopt::parse(rest, "", &[])?;
            let name = options.one(NAME)?;
            Ok(client.post::<()>(&routes::at(routes::PEER_REMOVE, name), &())?)
        }
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

const NAME: &str = "missing name of a peer";

fn options(args: &[String]) -> Result<Parsed, Stop> {
    let long = [
        ("address", "a"),
        ("fingerprint", "f"),
        ("allow", "l"),
        ("keep", "k"),
        ("append-only", "append-only"),
        ("read", "read"),
        ("snapshots", "snapshots"),
        ("absence", "x"),
        ("group", "g"),
        ("json", "j"),
    ];
    getopt::parse_as(args, "a:f:l:k:g:x:Hpj", &long)
}

fn address(options: &Parsed) -> Result<Option<String>, Stop> {
    let parsed = options.value("a").map(|text| text.parse::<Address>().map_err(Stop::Usage));
    Ok(parsed.transpose()?.map(|address| address.to_string()))
}

fn grants(options: &Parsed) -> Vec<PeerGrant> {
    let grant = |dataset: &str| PeerGrant { dataset: dataset.to_owned(), append_only: false, keep: None };
    options.values("l").map(grant).collect()
}

fn group(options: &Parsed) -> Option<String> {
    options.value("g").map(str::to_owned)
}

fn id(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = options(args)?;
    options.none()?;
    let own: PeerIdentity = client.get(routes::PEER_IDENTITY)?;
    if options.has("j") {
        return table::json(io, &own);
    }
    Ok(writeln!(io.out, "{}", own.fingerprint)?)
}

fn invite(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = options(args)?;
    let name = options.one(NAME)?.clone();
    let wanted =
        PeerInvite { name, address: address(&options)?, grants: grants(&options), group: group(&options) };
    let PeerInvited { code: Secret(code), until } = client.post(routes::PEER_INVITATION, &wanted)?;
    writeln!(io.out, "{code}")?;
    let until = time(u64::try_from(until).ok(), false);
    Ok(writeln!(
        io.err,
        "good until {until}, once: 'cistern peer join NAME HOST' takes it on the other appliance"
    )?)
}

fn join(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = options(args)?;
    let (name, host, code) = match options.operands.as_slice() {
        [name, host] => (name, host, ask::line(io, "Code: ")?.trim().to_owned()),
        [name, host, code] => (name, host, code.clone()),
        [_] => return usage("missing address of the other appliance"),
        [] => return usage(NAME),
        _ => return usage("too many arguments"),
    };
    let address = host.parse::<Address>().map_err(Stop::Usage)?.to_string();
    let wanted = PeerJoin {
        name: name.clone(),
        address,
        code: Secret(code),
        grants: grants(&options),
        group: group(&options),
    };
    let peer: Peer = client.post(routes::PEER_JOIN, &wanted)?;
    Ok(writeln!(io.out, "{} is a peer: {}", plain(&peer.name), peer.fingerprint)?)
}

fn add(args: &[String], client: &Client) -> Result<(), Stop> {
    let options = options(args)?;
    let name = options.one(NAME)?.clone();
    let Some(text) = options.value("f") else {
        return usage("the other's fingerprint is wanted: 'cistern peer id' shows it there");
    };
    let new = PeerAdd {
        name,
        fingerprint: fingerprint(text).map_err(Stop::Usage)?,
        address: address(&options)?,
        grants: grants(&options),
        group: group(&options),
    };
    client.post::<Peer>(routes::PEERS, &new)?;
    Ok(())
}

fn list(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = options(args)?;
    options.none()?;
    let all: Vec<Peer> = client.get(routes::PEERS)?;
    if options.has("j") {
        return table::json(io, &all);
    }
    if all.is_empty() && !options.has("H") {
        return Ok(writeln!(io.out, "there are no peers (cistern peer invite)")?);
    }
    let row = |peer: &Peer| {
        let listed = |names: &mut dyn Iterator<Item = &String>| {
            let names: Vec<String> = names.map(|name| plain(name)).collect();
            if names.is_empty() { "-".to_owned() } else { names.join(",") }
        };
        [
            plain(&peer.name),
            peer.address.as_deref().map_or_else(|| "-".to_owned(), plain),
            peer.group.as_deref().map_or_else(|| "-".to_owned(), plain),
            listed(&mut peer.grants.iter().map(|grant| &grant.dataset)),
            listed(&mut peer.reads.iter().map(|read| &read.dataset)),
        ]
    };
    table::print(
        io,
        ["NAME", "ADDRESS", "GROUP", "MAY SEND TO", "MAY READ"],
        all.iter().map(row).collect(),
        options.has("H"),
    )
}

fn show(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = options(args)?;
    let peer: Peer = client.get(&routes::at(routes::PEER, options.one(NAME)?))?;
    if options.has("j") {
        return table::json(io, &peer);
    }
    writeln!(io.out, "name         {}", plain(&peer.name))?;
    writeln!(io.out, "fingerprint  {}", peer.fingerprint)?;
    writeln!(io.out, "address      {}", peer.address.as_deref().map_or_else(|| "-".to_owned(), plain))?;
    writeln!(io.out, "group        {}", peer.group.as_deref().map_or_else(|| "-".to_owned(), plain))?;
    writeln!(io.out, "added        {}", time(u64::try_from(peer.added).ok(), false))?;
    for grant in &peer.grants {
        writeln!(io.out, "may send to  {}", granted(grant))?;
    }
    for read in &peer.reads {
        writeln!(io.out, "may read     {}", readable(read))?;
    }
    Ok(())
}

fn granted(grant: &PeerGrant) -> String {
    let rule = match (&grant.keep, grant.append_only) {
        (Some(keep), false) => format!(": {} stay", kept(keep)),
        (Some(keep), true) => format!(", appends only: {} stay", kept(keep)),
        (None, true) => ", appends only: all stays".to_owned(),
        (None, false) => ", and destroys what it has sent".to_owned(),
    };
    format!("{}{rule}", plain(&grant.dataset))
}

fn readable(read: &PeerRead) -> String {
    let rule = if read.snapshots { ", and make snapshots of it" } else { "" };
    let bounds = crate::svc::shown_absence(read.absence);
    format!("{} and all below{rule}, absence {bounds}", plain(&read.dataset))
}

fn set(args: &[String], client: &Client) -> Result<(), Stop> {
    let options = options(args)?;
    let name = options.one(NAME)?;
    let change = PeerChange { address: address(&options)?, group: group(&options), ..PeerChange::default() };
    if change == PeerChange::default() {
        return usage("--address HOST[:PORT] or --group GROUP is wanted");
    }
    client.post::<Peer>(&routes::at(routes::PEER_CHANGE, name), &change)?;
    Ok(())
}

fn allow(args: &[String], client: &Client) -> Result<(), Stop> {
    let options = options(args)?;
    let (name, dataset) = options.two([NAME, "missing dataset that it may send to, or read"])?;
    if options.has("read") {
        if options.has("append-only") || options.has("k") {
            return usage("--append-only and --keep are about what a peer sends, and --read is not");
        }
        let absence = options.value("x").map(crate::svc::absence).transpose()?.unwrap_or_default();
        let read = PeerRead { dataset: dataset.clone(), snapshots: options.has("snapshots"), absence };
        return with_reads(client, name, |reads| {
            reads.retain(|known| known.dataset != read.dataset);
            reads.push(read);
            Ok(())
        });
    }
    if options.has("snapshots") || options.has("x") {
        return usage("--snapshots and --absence go with --read");
    }
    let keep = options.value("k").map(crate::svc::keep).transpose()?;
    let grant = PeerGrant { dataset: dataset.clone(), append_only: options.has("append-only"), keep };
    with_grants(client, name, |grants| {
        grants.retain(|known| known.dataset != grant.dataset);
        grants.push(grant);
        Ok(())
    })
}

fn deny(args: &[String], client: &Client) -> Result<(), Stop> {
    let options = options(args)?;
    let (name, dataset) = options.two([NAME, "missing dataset that it may send to, or read, no more"])?;
    if options.has("read") {
        return with_reads(client, name, |reads| {
            let before = reads.len();
            reads.retain(|known| known.dataset != *dataset);
            match reads.len() < before {
                true => Ok(()),
                false => fail(format!("'{name}' may not read '{dataset}'")),
            }
        });
    }
    with_grants(client, name, |grants| {
        let before = grants.len();
        grants.retain(|known| known.dataset != *dataset);
        match grants.len() < before {
            true => Ok(()),
            false => fail(format!("'{name}' may not send to '{dataset}'")),
        }
    })
}

fn with_grants(
    client: &Client,
    name: &str,
    work: impl FnOnce(&mut Vec<PeerGrant>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut peer: Peer = client.get(&routes::at(routes::PEER, name))?;
    work(&mut peer.grants)?;
    let change = PeerChange { grants: Some(peer.grants), ..PeerChange::default() };
    client.post::<Peer>(&routes::at(routes::PEER_CHANGE, name), &change)?;
    Ok(())
}

fn with_reads(
    client: &Client,
    name: &str,
    work: impl FnOnce(&mut Vec<PeerRead>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut peer: Peer = client.get(&routes::at(routes::PEER, name))?;
    work(&mut peer.reads)?;
    let change = PeerChange { reads: Some(peer.reads), ..PeerChange::default() };
    client.post::<Peer>(&routes::at(routes::PEER_CHANGE, name), &change)?;
    Ok(())
}

fn check(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = options(args)?;
    let name = options.one(NAME)?;
    let checked: PeerChecked = client.post(&routes::at(routes::PEER_CHECK, name), &())?;
    if options.has("j") {
        return table::json(io, &checked);
    }
    if let Some(problem) = checked.problem {
        return fail(plain(&problem.to_string()));
    }
    writeln!(io.out, "it answers")?;
    if let Some(version) = &checked.version {
        writeln!(io.out, "version      {}", plain(version))?;
    }
    match checked.ahead {
        Some(0) | None => writeln!(io.out, "clock        as here")?,
        Some(ahead @ 1..) => writeln!(io.out, "clock        {ahead} s ahead")?,
        Some(behind) => writeln!(io.out, "clock        {} s behind", behind.unsigned_abs())?,
    }
    for grant in &checked.grants {
        writeln!(io.out, "takes to     {}", granted(grant))?;
    }
    for read in &checked.reads {
        writeln!(io.out, "shows        {}", readable(read))?;
    }
    Ok(())
}

fn relations(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = options(args)?;
    let all: Vec<PeerRelation> = client.get(&routes::at(routes::PEER_RELATIONS, options.one(NAME)?))?;
    if options.has("j") {
        return table::json(io, &all);
    }
    if all.is_empty() && !options.has("H") {
        return Ok(writeln!(io.out, "it replicates nothing to this appliance, and nothing from it")?);
    }
    let is_exact = options.has("p");
    let span = |seconds: i64| if is_exact { seconds.to_string() } else { svc::span(seconds) };
    let none = || "-".to_owned();
    let row = |relation: &PeerRelation, replica: &SyncReplica| {
        [
            // It sends what it has to a replica here, or pulls what is here to one of its own.
            if relation.pulls { "pulls" } else { "sends" }.to_owned(),
            plain(&replica.target),
            plain(&replica.dataset),
            plain(&relation.service),
            relation.state.word().to_owned(),
            replica.current.map_or_else(none, |current| span(relation.at.saturating_sub(current).max(0))),
            relation.allowed.map_or_else(none, |most| span(i64::try_from(most).unwrap_or(i64::MAX))),
            relation.next.as_ref().map_or_else(none, |next| time(u64::try_from(next.at).ok(), is_exact)),
            plain(&svc::relation(&relation.cause, relation.next.as_ref())),
        ]
    };
    let rows = all.iter().flat_map(|it| it.replicas.iter().map(move |replica| row(it, replica)));
    const HEAD: [&str; 9] =
        ["IT", "REPLICA", "SOURCE", "SERVICE", "STATE", "LAG", "ALLOWED", "NEXT RUN", "WHY"];
    table::print(io, HEAD, rows.collect(), options.has("H"))
}
