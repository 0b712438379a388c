//! What it costs that somebody looks at requests: reads and writes over NFS and iSCSI, all in
//! memory, with nobody who looks, with drill-downs, and with a trace that wants none of them, by
//! turns.
//!
//! "Cistern" is with a drill-down of all requests by client, file and operation; the others stand
//! beside it as peers do, and the first of them is Cistern with nobody who looks.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use load::{Blocks, Crowd, Fail, Outcome, Share, Unit, Work, process_time};

use crate::contenders::{self, OURS};
use crate::http::Http;
use crate::iscsi;
use crate::options::Options;
use crate::ours::Ours;
use crate::process::Server;
use crate::results::{Cell, Results, Row};

pub const PART: &str = "looks";

/// What throughput is to be left.
const GOAL: f64 = 0.95;
/// Until a trace has begun.
const BEGINS: Duration = Duration::from_millis(500);

/// Who looks, and under which name that is shown.
const LOOKS: [(&str, usize, bool); 4] =
    [(OURS, 1, false), ("nobody looks", 0, false), ("four drill-downs", 4, false), ("a trace", 0, true)];

/// Over NFS or iSCSI.
enum Load {
    Nfs(Work, usize),
    Iscsi(&'static str, usize),
}

const SMALL: Blocks = Blocks { block: 4 << 10, size: 256 << 20, is_random: true };

const LINES: [(&str, Load); 6] = [
    ("4 KiB reads over NFS, 8 readers", Load::Nfs(Work::Read { blocks: SMALL }, 8)),
    ("4 KiB writes over NFS, 8 writers", Load::Nfs(Work::Write { blocks: SMALL, is_sync: false }, 8)),
    ("4 KiB stable writes over NFS, 8 writers", Load::Nfs(Work::Write { blocks: SMALL, is_sync: true }, 8)),
    ("4 KiB reads over iSCSI, 32 in flight", Load::Iscsi("4k-read-32", 1)),
    ("4 KiB reads over iSCSI, 32 in flight, 4 sessions", Load::Iscsi("4k-read-32", 4)),
    ("4 KiB writes over iSCSI, 32 in flight", Load::Iscsi("4k-write-32", 1)),
];

/// Those who look, until this is dropped.
struct Looking<'a> {
    http: &'a mut Http,
    ids: Vec<String>,
    _trace: Option<Server>,
}

impl Looking<'_> {
    fn begin<'a>(
        ours: &Ours,
        http: &'a mut Http,
        drill_downs: usize,
        is_traced: bool,
    ) -> Result<Looking<'a>, Fail> {
        let mut looking = Looking { http, ids: Vec::new(), _trace: None };
        for _ in 0..drill_downs {
            let body = r#"{"by":["client","file","operation"],"seconds":3600}"#;
            let told = looking.http.ask("POST", "/v1/analytics", body)?;
            looking.ids.push(number_of(&told.body)?);
        }
        if is_traced {
            let mut trace = Command::new(ours.program());
            trace.args(["trace", "-o", "NONE", "-t", "1h", "--json"]).env("CISTERN_SOCKET", ours.socket());
            looking._trace = Some(Server(trace.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?));
            thread::sleep(BEGINS);
        }
        Ok(looking)
    }

    fn end(self) -> Result<(), Fail> {
        let path = |id| format!("/v1/analytics/{id}/remove");
        self.ids.iter().try_for_each(|id| self.http.ask("POST", &path(id), "").map(drop))
    }
}

/// The number of a drill-down that was begun.
fn number_of(told: &[u8]) -> Result<String, Fail> {
    let told = String::from_utf8_lossy(told);
    let digits = told.split_once(r#""id":"#).map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit));
    digits.map(Iterator::collect).ok_or_else(|| format!("no number of a drill-down: {told}").into())
}

pub fn measure(options: &Options, about: &str) -> Result<Results, Fail> {
    contenders::make_room(options)?;
    let (ours, unit) = iscsi::one_unit(options)?;
    let share = ours.make_share()?;
    let mut http = Http::connect(&ours.socket())?;
    let fill = Work::Write { blocks: Blocks { is_random: false, ..SMALL }, is_sync: false };
    let whole = Crowd { span: Duration::MAX, ..Crowd::new(1, options.span) };
    share.run(fill, &whole)?;
    iscsi::find("4k-read-32")?.fill(&unit, iscsi::SIZE)?;
    let mut results = Results {
        part: PART.to_owned(),
        title: "What looking at requests costs".to_owned(),
        about: about.to_owned(),
        ..Results::default()
    };
    for (name, load) in LINES.iter().filter(|(name, _)| name.contains(&options.only)) {
        eprintln!("bench: {PART}: {name}");
        let mut cells = vec![Vec::new(); LOOKS.len()];
        for round in 0..options.rounds {
            // Nobody always comes first.
            for turn in 0..LOOKS.len() {
                let i = (turn + round) % LOOKS.len();
                ours.settle()?;
                let looking = Looking::begin(&ours, &mut http, LOOKS[i].1, LOOKS[i].2)?;
                let before = process_time(&ours.process().to_string());
                let outcome = run(load, &share, &unit, options, round)?;
                let cpu = process_time(&ours.process().to_string()).saturating_sub(before);
                looking.end()?;
                cells[i].push(Cell::new(&outcome, false, cpu.as_secs_f64()));
            }
        }
        let cells = LOOKS.iter().zip(&cells).map(|(look, cells)| (look.0.to_owned(), Cell::median(cells)));
        let (name, unit) = ((*name).to_owned(), "/s".to_owned());
        results.rows.push(Row { name, unit, goal: Some(GOAL), cells: cells.collect() });
    }
    Ok(results)
}

fn run(load: &Load, share: &Share, unit: &Unit, options: &Options, round: usize) -> Result<Outcome, Fail> {
    match load {
        Load::Nfs(work, writers) => share.run(*work, &Crowd::new(*writers, options.span).over(2)),
        Load::Iscsi(profile, sessions) => {
            let profile = iscsi::find(profile)?;
            let crowd = Crowd::new(profile.depth, options.span).over(*sessions).in_turn(round as u32);
            profile.run(std::slice::from_ref(unit), iscsi::SIZE, &crowd)
        }
    }
}
