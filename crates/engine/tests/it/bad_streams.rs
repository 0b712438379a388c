//! Streams that are not what anybody sent: cut anywhere, bits flipped, records in another order or
//! with other numbers, from newer software, for another snapshot. What is refused leaves everything
//! as it was; what is taken leaves a whole pool.

use std::sync::Arc;

use engine::facade::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, Engine, FileSystem, Pool, PoolSpec, ReceiveRequest, Result, SendRequest,
    SetAttr, Stable, VdevSpec,
};
use env::{Env, MemDisks};
use model::{Compare, Tree, dump};
use ondisk::Endian;
use ondisk::byteswap::swap_content;
use ondisk::object_type::ObjectType;
use ondisk::send::{Begin, RECORD_SIZE, Record, feature};
use pool::stream::{RecordReader, RecordWriter};
use stdx::prng::Prng;

use crate::disks::{Dir, prop, zdb_is_content};
use crate::streams::names;

const DISK: &str = "/disks/a";
/// Bytes from one cut to the next: beside the bytes around the ends of records, where it matters.
const STRIDE: usize = 61;
const FLIPS: usize = 150;
const SHUFFLES: usize = 150;

struct Lab {
    disks: Arc<MemDisks>,
    engine: Arc<LocalEngine>,
    pool: Arc<dyn Pool>,
    /// Of `ours/a`: all until `@1`, and what came until `@2`.
    full: Vec<u8>,
    next: Vec<u8>,
    /// What `@1` has.
    first: Tree,
}

fn write(fs: &dyn FileSystem, name: &str, data: &[u8]) {
    let (root, any) = (Cred::root(), SetAttr::default());
    let file = fs.create(&root, fs.root(), name.as_bytes(), CreateMode::Unchecked, &any).unwrap().attr.node;
    fs.write(&root, file, 0, data, Stable::Unstable).unwrap();
}

impl Lab {
    fn new() -> Lab {
        let disks = Arc::new(MemDisks::new());
        disks.add(DISK, 128 << 20);
        let options = Options { search: vec!["/disks".into()], ..Options::default() };
        let engine = LocalEngine::new(Env { disks: disks.clone(), ..Env::real() }, options);
        let spec = PoolSpec {
            name: "ours".into(),
            vdevs: vec![VdevSpec::Leaf(DISK.into())],
            mountpoint: Some("none".into()),
            fs_props: vec![prop("atime", "off")],
            ..PoolSpec::default()
        };
        let pool = engine.create(&spec).unwrap();
        let commit = |change: Change| pool.commit(&change, "").map(drop).unwrap();
        let snapshot = |name: &str| Change::Snapshot {
            names: vec![format!("ours/a@{name}")],
            recursive: false,
            props: Vec::new(),
        };
        commit(Change::CreateFilesystem { name: "ours/a".into(), parents: false, props: Vec::new() });
        let fs = pool.open_fs("ours/a").unwrap();
        write(&*fs, "kept", b"kept");
        write(&*fs, "larger", &[7; 3000]);
        commit(snapshot("1"));
        fs.remove(&Cred::root(), fs.root(), b"larger").unwrap();
        write(&*fs, "new", &[9; 1500]);
        commit(snapshot("2"));
        drop(fs);
        let send = |name: &str, from: Option<&str>| {
            let (snapshot, from) = (format!("ours/a@{name}"), from.map(|from| format!("ours/a@{from}")));
            let mut sent = Vec::new();
            pool.send(&SendRequest { snapshot, from, ..SendRequest::default() }, &mut sent, &mut |_| {})
                .unwrap();
            sent
        };
        let (full, next) = (send("1", None), send("2", Some("1")));
        let first = dump(&*pool.open_fs("ours/a@1").unwrap()).unwrap();
        Lab { disks, engine, pool, full, next, first }
    }

    fn receive(&self, target: &str, mut stream: &[u8]) -> Result<()> {
        let request = ReceiveRequest { target: target.into(), ..ReceiveRequest::default() };
        self.pool.receive(&request, &mut stream, &mut |_| {}).map(drop)
    }

    fn refuses(&self, target: &str, stream: &[u8]) -> String {
        self.receive(target, stream).unwrap_err().to_string()
    }

    fn is_first(&self, name: &str) {
        let found = dump(&*self.pool.open_fs(name).unwrap()).unwrap();
        assert_eq!(self.first.differences(&found, Compare { times: true }), Vec::<String>::new(), "{name}");
    }

    fn destroy(&self, names: &[&str]) {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        self.pool.commit(&Change::Destroy { names, defer: false }, "").unwrap();
    }

    fn end(self, name: &str) {
        let Lab { disks, engine, pool, .. } = self;
        drop(pool);
        engine.export("ours", false).unwrap();
        let dir = Dir::new(name);
        std::fs::write(dir.0.join("a"), disks.image(DISK)).unwrap();
        zdb_is_content(dir.0.to_str().unwrap(), "ours");
    }
}

/// A stream's records with their payloads.
pub fn take_apart(mut stream: &[u8]) -> (Begin, Vec<(Record, Vec<u8>)>) {
    let mut reader = RecordReader::new(&mut stream);
    let begin = reader.begin().unwrap().unwrap();
    reader.payload(u64::from(begin.payload_len)).unwrap();
    let mut records = Vec::new();
    loop {
        let record = reader.record().unwrap();
        if let Record::End { .. } = record {
            return (begin, records);
        }
        let payload = reader.payload(record.payload_len()).unwrap();
        records.push((record, payload));
    }
}

/// A stream whose sums are right.
pub fn put_together(begin: &Begin, records: &[(Record, Vec<u8>)]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut writer = RecordWriter::begin(&mut stream, begin, &[]).unwrap();
    records.iter().for_each(|(record, payload)| writer.write(record, payload).unwrap());
    writer.end().unwrap();
    stream
}

#[test]
fn streams_cut_and_flipped_anywhere() {
    let lab = Lab::new();
    lab.receive("ours/b", &lab.full).unwrap();
    let before = names(&*lab.pool);
    let mut ends = vec![RECORD_SIZE];
    for (_, payload) in take_apart(&lab.next).1 {
        ends.push(ends.last().unwrap() + RECORD_SIZE);
        ends.push(ends.last().unwrap() + payload.len());
    }
    let around = ends.iter().flat_map(|end| [end - 1, *end, end + 1]).filter(|at| *at < lab.next.len());
    let mut cuts: Vec<usize> = around.chain((0..lab.next.len()).step_by(STRIDE)).collect();
    cuts.sort_unstable();
    cuts.dedup();
    for at in cuts {
        let said = lab.refuses("ours/b", &lab.next[..at]);
        let why = match at {
            ..RECORD_SIZE => "cannot receive: failed to read from stream",
            _ => "cannot receive incremental stream: incomplete stream",
        };
        assert_eq!(said, why, "{at} bytes");
    }
    let mut random = Prng::new(5);
    for _ in 0..FLIPS {
        let (at, bit) = (random.below(lab.next.len() as u64) as usize, random.below(8));
        let mut stream = lab.next.clone();
        stream[at] ^= 1 << bit;
        let said = lab.refuses("ours/b", &stream);
        assert!(said.starts_with("cannot receive"), "byte {at}, bit {bit}: {said}");
        if at >= RECORD_SIZE {
            let known = ["checksum mismatch", "invalid backup stream", "incomplete stream"];
            assert!(known.iter().any(|why| said.ends_with(why)), "byte {at}, bit {bit}: {said}");
        }
    }
    assert_eq!(names(&*lab.pool), before);
    lab.is_first("ours/b");
    lab.receive("ours/b", &lab.next).unwrap();
    lab.end("bad-cuts");
}

/// Whoever sends such streams gets the sums right.
#[test]
fn records_in_any_order_with_any_numbers() {
    let lab = Lab::new();
    let (begin, records) = take_apart(&lab.full);
    let mut random = Prng::new(6);
    let mut taken = 0;
    for turn in 0..SHUFFLES {
        let mut records = records.clone();
        for _ in 0..=random.below(3) {
            let (a, b) =
                (random.below(records.len() as u64) as usize, random.below(records.len() as u64) as usize);
            match random.below(4) {
                0 => records.swap(a, b),
                1 => records.insert(a, records[b].clone()),
                2 if records.len() > 1 => drop(records.remove(a)),
                _ => {
                    // Some number is another.
                    let mut bytes = records[a].0.encode(begin.to_guid);
                    let at = random.range(8, 120) as usize;
                    bytes[at] = *random.pick(&[0, 1, 0x7f, 0xff, bytes[at] ^ 4]).unwrap();
                    let record = Record::decode(&bytes, Endian::Little).ok();
                    if let Some(record) = record.filter(|record| record.payload_len() <= 1 << 20) {
                        records[a] = (record, std::mem::take(&mut records[a].1));
                    }
                }
            }
        }
        match lab.receive("ours/b", &put_together(&begin, &records)) {
            Ok(()) => {
                taken += 1;
                lab.destroy(&["ours/b@1", "ours/b"]);
            }
            Err(error) => {
                let said = error.to_string();
                assert!(said.starts_with("cannot receive new filesystem stream: "), "turn {turn}: {said}");
            }
        }
        assert_eq!(names(&*lab.pool).len(), 4, "turn {turn}");
    }
    assert!((1..SHUFFLES).contains(&taken), "{taken}");
    lab.is_first("ours/a@1");
    lab.end("bad-records");
}

/// What a big-endian host sends of the same: every number is in its order, those in payloads by
/// their objects' types.
fn turned(begin: &Begin, records: &[(Record, Vec<u8>)]) -> Vec<u8> {
    let mut stream = Record::Begin(begin.clone()).encode_as(begin.to_guid, Endian::Big).to_vec();
    for (record, payload) in records {
        let mut payload = payload.clone();
        match record {
            Record::Object(object) => swap_content(ObjectType(object.bonus_type as u8), &mut payload),
            Record::Write(write) => swap_content(ObjectType(write.object_type as u8), &mut payload),
            _ => {}
        }
        stream.extend(record.encode_as(begin.to_guid, Endian::Big));
        stream.extend(payload);
    }
    // fletcher4 over words of that order; records need no sums of their own.
    let mut checksum = [0_u64; 4];
    for word in stream.as_chunks().0 {
        let mut sum = u64::from(u32::from_be_bytes(*word));
        for kept in &mut checksum {
            *kept = kept.wrapping_add(sum);
            sum = *kept;
        }
    }
    stream.extend(Record::End { checksum }.encode_as(begin.to_guid, Endian::Big));
    stream
}

#[test]
fn streams_of_big_endian_hosts_are_received() {
    let lab = Lab::new();
    let (begin, records) = take_apart(&lab.full);
    lab.receive("ours/b", &turned(&begin, &records)).unwrap();
    lab.is_first("ours/b@1");
    // What follows comes from a host of our own order, and the other way round.
    lab.receive("ours/b", &lab.next).unwrap();
    lab.receive("ours/c", &lab.full).unwrap();
    let (begin, records) = take_apart(&lab.next);
    lab.receive("ours/c", &turned(&begin, &records)).unwrap();
    let second = |name: &str| dump(&*lab.pool.open_fs(name).unwrap()).unwrap();
    for name in ["ours/b", "ours/c"] {
        let differences = second("ours/a@2").differences(&second(name), Compare { times: true });
        assert_eq!(differences, Vec::<String>::new(), "{name}");
    }
    lab.end("big-endian-streams");
}

#[test]
fn streams_of_newer_software_and_for_other_snapshots() {
    let lab = Lab::new();
    let (begin, records) = take_apart(&lab.full);
    const NEW: &str = "cannot receive new filesystem stream: ";
    for bit in 0..56 {
        let flag = 1 << bit;
        let begin = Begin { features: begin.features | flag, ..begin.clone() };
        let features = begin.features;
        let stream = put_together(&begin, &records);
        let wanted = match flag {
            feature::DEDUP => {
                Err("cannot receive: stream has deprecated feature: dedup, try 'zstream redup \
                                   [send in a file] | zfs recv [...]'"
                    .to_owned())
            }
            feature::RAW => Err("not supported: raw send streams".to_owned()),
            feature::REDACTED => Err("not supported: redacted send streams".to_owned()),
            feature::RESUMING => {
                let why = "destination 'ours/b' does not exist";
                Err(format!("cannot receive resume stream: {why}"))
            }
            feature::LONGNAME | feature::LARGE_MICROZAP => {
                Err(format!("{NEW}pool must be upgraded to receive this stream."))
            }
            feature::SA_SPILL
            | feature::EMBED_DATA
            | feature::LZ4
            | feature::LARGE_BLOCKS
            | feature::COMPRESSED
            | feature::LARGE_DNODE
            | feature::ZSTD
            | feature::HOLDS
            | feature::SWITCH_TO_LARGE_BLOCKS => Ok(()),
            _ => Err(format!(
                "cannot receive: stream has unsupported feature, feature flags = {features:x} (unknown flags = {flag:x})"
            )),
        };
        let done = lab.receive("ours/b", &stream).map_err(|error| error.to_string());
        assert_eq!(done, wanted, "bit {bit}");
        if done.is_ok() {
            lab.destroy(&["ours/b@1", "ours/b"]);
        }
    }
    lab.receive("ours/b", &lab.full).unwrap();
    let (begin, records) = take_apart(&lab.next);
    let other = Begin { from_guid: begin.from_guid ^ 1, ..begin.clone() };
    let said = lab.refuses("ours/b", &put_together(&other, &records));
    const INCREMENTAL: &str = "cannot receive incremental stream: ";
    assert_eq!(
        said,
        format!("{INCREMENTAL}most recent snapshot of ours/b does not\nmatch incremental source")
    );
    let volume = Begin { objset_type: 3, ..begin };
    let said = lab.refuses("ours/b", &put_together(&volume, &records));
    assert_eq!(said, format!("{INCREMENTAL}invalid backup stream"));
    write(&*lab.pool.open_fs("ours/b").unwrap(), "mine", b"mine");
    let said = lab.refuses("ours/b", &lab.next);
    let why = "destination ours/b has been modified\nsince most recent snapshot";
    assert_eq!(said, format!("{INCREMENTAL}{why}"));
    lab.is_first("ours/b@1");
    lab.end("bad-flags");
}
