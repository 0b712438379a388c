//! What `cistern top` shows of each client, file system, volume and disk.

use std::cmp::Reverse;

use api_types::{DiskStatistics, FileSystemCounts, IscsiCounts, NfsCounts, Statistics, VolumeCounts};

use super::super::{Numbers, Window};
use crate::human::{nicebytes, nicenum};
use crate::table;

/// What can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Clients,
    Files,
    Volumes,
    Disks,
}

impl View {
    pub const ALL: [View; 4] = [View::Clients, View::Files, View::Volumes, View::Disks];

    pub fn name(self) -> &'static str {
        match self {
            View::Clients => "clients",
            View::Files => "files",
            View::Volumes => "volumes",
            View::Disks => "disks",
        }
    }

    /// Of the column of names.
    pub fn title(self) -> &'static str {
        match self {
            View::Clients => "CLIENT",
            View::Files => "FILE SYSTEM",
            View::Volumes => "VOLUME",
            View::Disks => "DISK",
        }
    }

    pub fn named(name: &str) -> Option<View> {
        View::ALL.into_iter().find(|view| view.name() == name)
    }

    pub fn next(self) -> View {
        View::ALL[(self as usize + 1) % View::ALL.len()]
    }
}

/// What is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Ops,
    Reads,
    ReadBytes,
    Writes,
    WriteBytes,
    Time,
    Name,
}

impl Order {
    pub const ALL: [Order; 7] = [
        Order::Ops,
        Order::Reads,
        Order::ReadBytes,
        Order::Writes,
        Order::WriteBytes,
        Order::Time,
        Order::Name,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Order::Ops => "ops",
            Order::Reads => "reads",
            Order::ReadBytes => "read",
            Order::Writes => "writes",
            Order::WriteBytes => "written",
            Order::Time => "time",
            Order::Name => "name",
        }
    }

    pub fn named(name: &str) -> Option<Order> {
        Order::ALL.into_iter().find(|order| order.name() == name)
    }
}

pub const HEAD: [&str; 8] = ["NAME", "BY", "OPS", "READS", "READ", "WRITES", "WRITTEN", "TIME"];

/// What one did, each second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    /// The protocol of a client, the pool of a disk.
    pub by: String,
    pub ops: u64,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub write_bytes: u64,
    /// Mean nanoseconds of a read or write; 0 where that is not known.
    pub time: u64,
}

impl Row {
    pub fn fields(&self, numbers: Numbers) -> [String; 8] {
        [
            table::plain(&self.name),
            self.by.clone(),
            numbers.count(self.ops),
            numbers.count(self.reads),
            numbers.bytes(self.read_bytes),
            numbers.count(self.writes),
            numbers.bytes(self.write_bytes),
            numbers.mean(self.time, 1),
        ]
    }
}

/// The rows of a view, the first by an order first. Who did nothing is not there, but for disks.
pub fn rows(window: &Window, view: View, order: Order) -> Vec<Row> {
    let Statistics { file_systems, volumes, disks, program, .. } = &window.counts;
    let mut rows: Vec<Row> = match view {
        View::Clients => {
            let nfs = program.nfs.clients.rows().map(|(name, counts)| of_client(name, counts));
            let iscsi = program.iscsi.initiators.rows().map(|(name, counts)| of_initiator(name, counts));
            nfs.chain(iscsi).collect()
        }
        View::Files => file_systems.rows().map(|(name, counts)| of_files(name, counts)).collect(),
        View::Volumes => volumes.rows().map(|(name, counts)| of_volume(name, counts)).collect(),
        View::Disks => disks.iter().map(of_disk).collect(),
    };
    rows.retain(|row| row.ops > 0 || view == View::Disks);
    rows.iter_mut().for_each(|row| row.divide(window.seconds));
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows.sort_by_key(|row| {
        Reverse(match order {
            Order::Ops => row.ops,
            Order::Reads => row.reads,
            Order::ReadBytes => row.read_bytes,
            Order::Writes => row.writes,
            Order::WriteBytes => row.write_bytes,
            Order::Time => row.time,
            Order::Name => 0,
        })
    });
    rows
}

impl Row {
    fn divide(&mut self, seconds: f64) {
        let seconds = seconds.max(1e-3);
        let each =
            [&mut self.ops, &mut self.reads, &mut self.read_bytes, &mut self.writes, &mut self.write_bytes];
        each.into_iter().for_each(|number| *number = (*number as f64 / seconds).round() as u64);
    }
}

fn mean(time: u64, count: u64) -> u64 {
    time.checked_div(count).unwrap_or(0)
}

fn of_client(name: &str, counts: &NfsCounts) -> Row {
    Row {
        name: name.to_owned(),
        by: "nfs".to_owned(),
        ops: counts.requests(),
        reads: counts.of("read"),
        read_bytes: counts.read_bytes,
        writes: counts.of("write"),
        write_bytes: counts.write_bytes,
        time: 0,
    }
}

fn of_initiator(name: &str, counts: &IscsiCounts) -> Row {
    Row {
        name: name.to_owned(),
        by: "iscsi".to_owned(),
        ops: counts.commands(),
        reads: counts.reads,
        read_bytes: counts.read_bytes,
        writes: counts.writes,
        write_bytes: counts.write_bytes,
        time: mean(counts.read_time + counts.write_time, counts.reads + counts.writes),
    }
}

fn of_files(name: &str, counts: &FileSystemCounts) -> Row {
    let names = counts.new_files + counts.names_removed + counts.names_changed + counts.lookups;
    let attributes = counts.attributes_read + counts.attributes_set + counts.directory_reads;
    Row {
        name: name.to_owned(),
        by: String::new(),
        ops: names + attributes + counts.reads + counts.writes + counts.syncs + counts.others,
        reads: counts.reads,
        read_bytes: counts.read_bytes,
        writes: counts.writes,
        write_bytes: counts.write_bytes,
        time: mean(counts.read_time + counts.write_time, counts.reads + counts.writes),
    }
}

fn of_volume(name: &str, counts: &VolumeCounts) -> Row {
    Row {
        name: name.to_owned(),
        by: String::new(),
        ops: counts.reads + counts.writes + counts.frees + counts.flushes,
        reads: counts.reads,
        read_bytes: counts.read_bytes,
        writes: counts.writes,
        write_bytes: counts.write_bytes,
        time: mean(counts.read_time + counts.write_time, counts.reads + counts.writes),
    }
}

fn of_disk(disk: &DiskStatistics) -> Row {
    let io = disk.io;
    Row {
        name: disk.name.clone(),
        by: disk.pool.clone(),
        ops: io.read_ops + io.write_ops,
        reads: io.read_ops,
        read_bytes: io.read_bytes,
        writes: io.write_ops,
        write_bytes: io.write_bytes,
        time: mean(io.read_nanos + io.write_nanos, io.read_ops + io.write_ops),
    }
}

/// What all of them do together.
pub fn summary(window: &Window, version: &str) -> Vec<String> {
    let Statistics { program, jobs, .. } = &window.counts;
    let a_second = |number: u64| (number as f64 / window.seconds.max(1e-3)).round() as u64;
    let (nfs, iscsi) = (program.nfs.clients.total(), program.iscsi.initiators.total());
    let process = program.process;
    let percent = 100.0 * process.processor_time as f64 / 1e9 / window.seconds.max(1e-3);
    let rates = |count: u64, read: u64, written: u64| {
        let [count, read, written] = [count, read, written].map(a_second);
        format!("{}/s, {}/s read, {}/s written", nicenum(count), nicebytes(read), nicebytes(written))
    };
    vec![
        format!(
            "cistern {version}   memory {}   processors {percent:.0}%   jobs {}",
            nicebytes(process.resident),
            jobs.running
        ),
        format!("NFS    {}", rates(nfs.requests(), nfs.read_bytes, nfs.write_bytes)),
        format!(
            "iSCSI  {}   sessions {}",
            rates(iscsi.commands(), iscsi.read_bytes, iscsi.write_bytes),
            program.iscsi.sessions
        ),
    ]
}

#[cfg(test)]
mod tests {
    use api_types::{Breakdown, Named};

    use super::*;

    fn volumes(each: &[(&str, u64, u64)]) -> Breakdown<VolumeCounts> {
        let counts = |reads, writes| VolumeCounts {
            reads,
            read_bytes: reads * 4096,
            read_time: reads * 500,
            writes,
            write_bytes: writes * 512,
            write_time: writes * 1500,
            ..VolumeCounts::default()
        };
        let named = |(name, reads, writes): &(&str, u64, u64)| Named {
            name: (*name).to_owned(),
            counts: counts(*reads, *writes),
        };
        Breakdown { each: each.iter().map(named).collect(), others: VolumeCounts::default() }
    }

    #[test]
    fn rows_are_rates_in_the_order_that_was_asked_for() {
        let counts = Statistics {
            volumes: volumes(&[("tank/a", 20, 20), ("tank/b", 100, 0), ("tank/idle", 0, 0)]),
            ..Statistics::default()
        };
        let window = Window { seconds: 2.0, counts };
        let names = |order| {
            let rows = rows(&window, View::Volumes, order);
            rows.into_iter().map(|row| row.name).collect::<Vec<_>>()
        };
        assert_eq!(names(Order::Ops), ["tank/b", "tank/a"]);
        assert_eq!(names(Order::WriteBytes), ["tank/a", "tank/b"]);
        assert_eq!(names(Order::Name), ["tank/a", "tank/b"]);
        let rows = rows(&window, View::Volumes, Order::Name);
        let a = &rows[0];
        assert_eq!((a.ops, a.reads, a.read_bytes, a.write_bytes, a.time), (20, 10, 40_960, 5120, 1000));
        let fields = a.fields(Numbers { is_exact: false });
        assert_eq!(fields, ["tank/a", "", "20", "10", "40K", "10", "5K", "1us"]);
    }

    #[test]
    fn every_view_and_order_has_a_name_of_its_own() {
        assert!(View::ALL.iter().all(|view| View::named(view.name()) == Some(*view)));
        assert!(Order::ALL.iter().all(|order| Order::named(order.name()) == Some(*order)));
        assert_eq!(View::Disks.next(), View::Clients);
    }
}
