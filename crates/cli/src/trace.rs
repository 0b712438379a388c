//! `cistern trace`: requests of clients one by one, with what each waited for.

use api_types::{
    Protocol, RequestFilter, ServedBy, StageTimes, TraceEnd, TraceEvent, TraceRequest, TracedRequest, routes,
};
use stdx::{number, span};

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, usage};
use crate::getopt::{self, Parsed};
use crate::human::{nicebytes, nicetime};
use crate::{clock, table};

pub const USAGE: &str = "\
usage: cistern trace [-p PROTOCOL] [-c CLIENT] [-u USER] [-d DATASET [-f FILE]] [-o OPERATION] [-s TIME] [-S TIME]
                     [-b BYTES] [-B BYTES] [-w WHAT] [-D DEVICE] [-n COUNT] [-t SPAN] [-H] [--json]

Shows requests of clients as they end: NFS, iSCSI, network block devices and local mounts. For operators and administrators.

TOOK is from when all of a request had come until its answer had gone to the system. It is made of these, to the nanosecond:
QUEUE waited for a thread; PROTO was decoded, and its answer made; ENGINE the engine worked on it, or it waited for a lock;
DISK waited for disks that were read; LOG waited for stable storage; GROUP waited for a transaction group; REPLY its answer
waited, or was taken slowly. BY is the slowest of what served it: overlay (not on disk yet), cache, log or disk. DEVICE is the
leaf vdev that it waited for longest.

  -p PROTOCOL   nfs, iscsi, nbd or local                               (also --protocol)
  -c CLIENT     an address, the name of an iSCSI initiator, or local   (also --client)
  -u USER       the number of a user, or the CHAP name of an initiator (also --user)
  -d DATASET    a file system or volume                                (also --dataset)
  -f FILE       a file or directory of it, by its path in it           (also --file)
  -o OPERATION  read, write, lookup, commit, unmap, ...                (also --operation)
  -s TIME       only what took so long at the least: 500us, 10ms, 2s   (also --slower)
  -S TIME       only what took so long at the most                     (also --faster)
  -b BYTES      only what moves so much at the least: 4096, 64K        (also --min-bytes)
  -B BYTES      only what moves so much at the most                    (also --max-bytes)
  -w WHAT       only what was served by this: overlay, cache, log, disk (also --served)
  -D DEVICE     only what waited for this leaf vdev longest: tank:sda  (also --device)
  -n COUNT      ends after so many requests                            (also --count)
  -t SPAN       ends by itself after so long: 30s, 10m, 1h at the most (also --time; default: 1m)
  -H            for programs: no header, a tab between fields, exact numbers
  -j            a line of JSON for each event                          (also --json)

examples:
  cistern trace
  cistern trace -p nfs -o write -s 10ms
  cistern trace -d tank/home -f /alice/mail.db -t 10m
  cistern trace -p iscsi -w disk -n 100 --json
";

pub const LONG: [(&str, &str); 16] = [
    ("protocol", "p"),
    ("client", "c"),
    ("user", "u"),
    ("dataset", "d"),
    ("file", "f"),
    ("operation", "o"),
    ("slower", "s"),
    ("faster", "S"),
    ("min-bytes", "b"),
    ("max-bytes", "B"),
    ("served", "w"),
    ("device", "D"),
    ("count", "n"),
    ("time", "t"),
    ("json", "j"),
    ("help", "h"),
];

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "p:c:u:d:f:o:s:S:b:B:w:D:n:t:Hjh", &LONG)?;
    if options.has("h") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    options.none()?;
    let request = asked(&options)?;
    let (is_bare, is_json) = (options.has("H"), options.has("j"));
    let mut lost = 0;
    if !is_bare && !is_json {
        writeln!(io.out, "{}", head())?;
        io.out.flush()?;
    }
    let mut each = |events: Vec<TraceEvent>| -> Result<(), Stop> {
        for event in events {
            if is_json {
                let line = serde_json::to_string(&event).map_err(|error| Stop::Fail(error.to_string()))?;
                writeln!(io.out, "{line}")?;
                continue;
            }
            match event {
                TraceEvent::Began { .. } => {}
                TraceEvent::Request(request) if is_bare => writeln!(io.out, "{}", bare(&request))?,
                TraceEvent::Request(request) => writeln!(io.out, "{}", row(&request))?,
                TraceEvent::Lost { requests } => {
                    lost += requests;
                    io.out.flush()?;
                    writeln!(
                        io.err,
                        "{requests} requests are missing here: they came faster than they were taken"
                    )?;
                }
                TraceEvent::Ended { why: TraceEnd::Stopping } => {
                    io.out.flush()?;
                    writeln!(io.err, "the daemon stops")?;
                }
                TraceEvent::Ended { .. } => {}
            }
        }
        Ok(io.out.flush()?)
    };
    client.listen(routes::TRACE, &request, &mut each)?;
    if lost > 0 && !is_json {
        writeln!(io.err, "{lost} requests are missing in all; a filter makes fewer of them")?;
    }
    Ok(())
}

/// Which requests are wanted.
pub fn wanted(options: &Parsed) -> Result<RequestFilter, Stop> {
    let text = |letter: &str| options.value(letter).map(str::to_owned);
    let bytes =
        |letter: &str| options.value(letter).map(|text| number::parse(text).or_else(usage)).transpose();
    let micros = |letter: &str| options.value(letter).map(micros).transpose();
    if options.has("f") && !options.has("d") {
        return usage("-f names a file of a dataset: -d says which");
    }
    Ok(RequestFilter {
        protocol: options.value("p").map(|text| named(text, &Protocol::ALL, Protocol::name)).transpose()?,
        client: text("c"),
        user: text("u"),
        dataset: text("d"),
        file: text("f"),
        operation: text("o"),
        slower_us: micros("s")?,
        faster_us: micros("S")?,
        min_bytes: bytes("b")?,
        max_bytes: bytes("B")?,
        served: options.value("w").map(|text| named(text, &ServedBy::ALL, ServedBy::name)).transpose()?,
        device: text("D"),
        ..RequestFilter::default()
    })
}

/// How long it is to last.
pub fn seconds(options: &Parsed) -> Result<Option<u64>, Stop> {
    let wrong = |text: &str| Stop::Usage(format!("'{text}' is no span of time, such as 30s, 10m or 1h"));
    let span = |text: &str| span::parse(text, &span::UNITS).ok_or_else(|| wrong(text));
    options.value("t").map(span).transpose()
}

fn asked(options: &Parsed) -> Result<TraceRequest, Stop> {
    let count = |text: &str| text.parse().or_else(|_| usage(format!("'{text}' is not a number")));
    Ok(TraceRequest {
        filter: wanted(options)?,
        seconds: seconds(options)?,
        count: options.value("n").map(count).transpose()?,
    })
}

/// One of these by its name.
pub fn named<T: Copy>(text: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T, Stop> {
    let names = || all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ");
    let found = all.iter().find(|one| name(**one) == text);
    found.copied().map_or_else(|| usage(format!("'{text}' is none of {}", names())), Ok)
}

/// Microseconds of 500us, 10ms, 2s.
pub fn micros(text: &str) -> Result<u64, Stop> {
    const UNITS: [(&str, u64); 4] = [("us", 1), ("ms", 1_000), ("s", 1_000_000), ("m", 60_000_000)];
    let wrong = || Stop::Usage(format!("'{text}' is no time, such as 500us, 10ms or 2s"));
    span::parse(text, &UNITS).ok_or_else(wrong)
}

fn head() -> String {
    line([
        "TIME",
        "PROTO",
        "CLIENT",
        "USER",
        "OPERATION",
        "OFFSET",
        "BYTES",
        "TOOK",
        "QUEUE",
        "PROTO",
        "ENGINE",
        "DISK",
        "LOG",
        "GROUP",
        "REPLY",
        "BY",
        "DEVICE",
        "WHAT",
    ])
}

fn line<T: AsRef<str>>(fields: [T; 18]) -> String {
    let [time, protocol, client, user, operation, offset, bytes, took, stages @ .., by, device, what] =
        &fields;
    let stages: String = stages.iter().map(|stage| format!(" {:>6}", stage.as_ref())).collect();
    format!(
        "{:<15} {:<5} {:<15} {:>6} {:<11} {:>6} {:>5} {:>6}{stages} {:<7} {:<12} {}",
        time.as_ref(),
        protocol.as_ref(),
        client.as_ref(),
        user.as_ref(),
        operation.as_ref(),
        offset.as_ref(),
        bytes.as_ref(),
        took.as_ref(),
        by.as_ref(),
        device.as_ref(),
        what.as_ref()
    )
}

fn stages(times: &StageTimes) -> [u64; 7] {
    times.each().map(|(_, time)| time)
}

/// Dataset and file; a name that was looked for stands behind its directory.
fn what(request: &TracedRequest) -> String {
    let Some(dataset) = &request.dataset else { return "-".to_owned() };
    let mut text = dataset.clone();
    match (&request.file, request.object) {
        (Some(file), _) => text += &format!(":{file}"),
        (None, Some(object)) => text += &format!(":<{object}>"),
        (None, None) => {}
    }
    if let Some(name) = &request.name {
        text += &format!(" \"{name}\"");
    }
    table::plain(&text)
}

fn device(request: &TracedRequest) -> String {
    request.device.as_deref().map_or_else(|| "-".to_owned(), table::plain)
}

fn time_of_day(micros: u64) -> String {
    let text = clock::event((micros / 1_000_000) as i64, (micros % 1_000_000) as u32 * 1_000);
    let time = text.rsplit(' ').next().unwrap_or_default();
    time.get(..15).unwrap_or(time).to_owned()
}

fn row(request: &TracedRequest) -> String {
    let [queue, protocol, engine, disk, log, group, reply] = stages(&request.stages).map(nicetime);
    line([
        time_of_day(request.time),
        request.protocol.name().to_owned(),
        table::plain(&request.client),
        request.user.as_deref().map_or_else(|| "-".to_owned(), table::plain),
        request.operation.clone(),
        request.offset.map_or_else(|| "-".to_owned(), nicebytes),
        if request.bytes == 0 { "-".to_owned() } else { nicebytes(request.bytes) },
        nicetime(request.took),
        queue,
        protocol,
        engine,
        disk,
        log,
        group,
        reply,
        request.served.map_or("-", ServedBy::name).to_owned(),
        device(request),
        what(request),
    ])
}

/// For programs: nanoseconds, bytes, and microseconds since 1970.
fn bare(request: &TracedRequest) -> String {
    let mut fields = vec![
        request.time.to_string(),
        request.protocol.name().to_owned(),
        table::plain(&request.client),
        request.user.as_deref().map_or_else(|| "-".to_owned(), table::plain),
        request.operation.clone(),
        request.offset.map_or_else(|| "-".to_owned(), |offset| offset.to_string()),
        request.bytes.to_string(),
        request.took.to_string(),
    ];
    fields.extend(stages(&request.stages).map(|time| time.to_string()));
    fields.push(request.served.map_or("-", ServedBy::name).to_owned());
    fields.push(device(request));
    fields.push(what(request));
    fields.join("\t")
}

#[cfg(test)]
mod tests;
