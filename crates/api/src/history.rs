//! Notes what the appliance does, every ten seconds: a thread makes a row of all counts
//! ([`statistics`]), rates of what is counted, and sizes as they are. Each minute it notes what
//! kept panes of worksheets have found ([`kept_panes`]).

use std::sync::Weak;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use api_types::{Counted, PoolStatus, Statistics};
use machine::history::EVERY;
use stdx::patience::hurried;

use crate::app::App;
use crate::kept_panes;
use crate::statistics;

/// Rows after which what kept panes found is noted: a minute.
const PANES_EVERY: u64 = 6;

/// Notes what came every [`EVERY`] seconds of the recorder's clock, until nobody can send any more.
pub fn follow(app: &Weak<App>, stopped: &Receiver<()>) {
    let mut before: Option<Statistics> = None;
    let mut noted = None;
    let look = app.upgrade().and_then(|app| Some(app.history.as_ref()?.look));
    let Some(look) = look else { return };
    loop {
        if stopped.recv_timeout(look) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let Some(app) = app.upgrade() else { return };
        let Some(recorder) = &app.history else { return };
        // Once for each row, whichever way the clock goes.
        let row = recorder.now() / EVERY;
        if noted.replace(row) == Some(row) {
            continue;
        }
        if row.is_multiple_of(PANES_EVERY) {
            hurried(|| kept_panes::note(&app));
        }
        let (pools, seen) = hurried(|| {
            let pools = statistics::pools(&app);
            let seen = statistics::of(&app, &pools);
            (pools, seen)
        });
        if let Some(before) = before.replace(seen.clone()) {
            recorder.note(&values(&seen.since(&before), &pools));
        }
    }
}

/// What is noted of what came in a time.
fn values(since: &Statistics, pools: &[PoolStatus]) -> Vec<(String, f64)> {
    let seconds = (since.uptime as f64 / 1e9).max(1e-3);
    let rate = |count: u64| count as f64 / seconds;
    // Seconds that one took, of so many nanoseconds that all took. Where there was none it is not
    // known, which is no 0 in the mean of an hour.
    let mean = |time: u64, count: u64| if count == 0 { f64::NAN } else { time as f64 / 1e9 / count as f64 };
    let (files, volumes) = (since.file_systems.total(), since.volumes.total());
    let nfs = since.program.nfs.clients.total();
    let iscsi = since.program.iscsi.initiators.total();
    let disks = since.disks.iter().map(|disk| disk.io);
    let disks = disks.fold(api_types::IoCounters::default(), |sum, io| sum.plus(&io));
    let process = since.program.process;
    let values = [
        ("files.reads", rate(files.reads)),
        ("files.read_bytes", rate(files.read_bytes)),
        ("files.read_time", mean(files.read_time, files.reads)),
        ("files.writes", rate(files.writes)),
        ("files.write_bytes", rate(files.write_bytes)),
        ("files.write_time", mean(files.write_time, files.writes)),
        ("volumes.reads", rate(volumes.reads)),
        ("volumes.read_bytes", rate(volumes.read_bytes)),
        ("volumes.read_time", mean(volumes.read_time, volumes.reads)),
        ("volumes.writes", rate(volumes.writes)),
        ("volumes.write_bytes", rate(volumes.write_bytes)),
        ("volumes.write_time", mean(volumes.write_time, volumes.writes)),
        ("nfs.calls", rate(nfs.calls.values().sum())),
        ("nfs.read_bytes", rate(nfs.read_bytes)),
        ("nfs.write_bytes", rate(nfs.write_bytes)),
        ("iscsi.commands", rate(iscsi.reads + iscsi.writes + iscsi.others)),
        ("iscsi.read_bytes", rate(iscsi.read_bytes)),
        ("iscsi.write_bytes", rate(iscsi.write_bytes)),
        ("nbd.requests", rate(since.program.nbd.requests.values().sum())),
        ("fuse.requests", rate(since.program.fuse.requests.values().sum())),
        ("disks.reads", rate(disks.read_ops)),
        ("disks.read_bytes", rate(disks.read_bytes)),
        ("disks.read_time", mean(disks.read_nanos, disks.read_ops)),
        ("disks.writes", rate(disks.write_ops)),
        ("disks.write_bytes", rate(disks.write_bytes)),
        ("disks.write_time", mean(disks.write_nanos, disks.write_ops)),
        ("process.memory", process.resident as f64),
        ("process.processors", rate(process.processor_time) / 1e9),
    ];
    let mut values = values.map(|(name, value)| (name.to_owned(), value)).to_vec();
    for pool in pools {
        values.push((format!("pool.{}.allocated", pool.name), pool.root.allocated as f64));
        values.push((format!("pool.{}.size", pool.name), pool.root.size as f64));
    }
    values
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use api_types::{Breakdown, Named, VolumeCounts};

    use super::*;

    #[test]
    fn rates_are_by_the_second_and_every_series_has_a_name_of_its_own() {
        let counts = VolumeCounts { reads: 40, read_time: 80_000_000, ..VolumeCounts::default() };
        let volumes = Breakdown {
            each: vec![Named { name: "tank/v".into(), counts }],
            others: VolumeCounts { reads: 10, ..VolumeCounts::default() },
        };
        let since = Statistics { uptime: 10_000_000_000, volumes, ..Statistics::default() };
        let values = values(&since, &[]);
        let of = |name: &str| values.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        assert_eq!((of("volumes.reads"), of("volumes.read_time")), (Some(5.0), Some(0.0016)));
        assert_eq!(of("nfs.calls"), Some(0.0));
        let names: BTreeSet<&String> = values.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), values.len());
        // With two series of each of 16 pools there is room.
        assert!(values.len() + 2 * 16 <= machine::history::SERIES);
    }
}
