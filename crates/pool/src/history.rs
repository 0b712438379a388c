//! The pool's history: a ring of records in one object, of which the first, the pool's creation, is
//! kept for ever.
//!
//! ```text
//!   object data:  creation │ ring: … oldest … newest …│           positions grow without end and are folded
//!                 0        creation_len                max        into the ring when bytes are touched
//!   a record:     length (u64, little endian), then a packed nvlist in native encoding
//! ```
//! Source: module/zfs/spa_history.c, include/sys/spa_impl.h, include/sys/fs/zfs.h (names).

use std::sync::Arc;

use api_types::HistoryRecord;
use dmu::{DmuError, Dnode, ObjectSpec, Objset, Tx};
use ondisk::nvlist::{NvList, NvValue};
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::spa_history::{LENGTH_SIZE, SpaHistoryPhys, decode_length, encode_length};

use crate::Result;
use crate::zevent::Payload;

const BLOCK: u32 = 128 << 10;
/// The ring has a thousandth of the pool, within these bounds.
const RING_MIN: u64 = 128 << 10;
const RING_MAX: u64 = 1 << 30;
/// No record is longer.
const RECORD_MAX: u64 = 16 << 20;
const LENGTH_BYTES: u64 = LENGTH_SIZE as u64;

const COMMAND: &str = "history command";
const WHO: &str = "history who";
const TIME: &str = "history time";
const HOST: &str = "history hostname";
const TXG: &str = "history txg";
const EVENT: &str = "history internal event";
const EVENT_NAME: &str = "internal_name";
const EVENT_TEXT: &str = "history internal str";
const DATASET: &str = "dsname";
const DATASET_ID: &str = "dsid";
const IOCTL: &str = "ioctl";
const INPUT: &str = "in_nvl";
const ZONE: &str = "history zone";
/// What OpenZFS on Linux has for a zone in whatever a user asked for (`spa_history_zone` in
/// module/os/linux/zfs/spa_misc_os.c).
const LINUX: &str = "linux";

/// A record to be written; time and host are added then.
pub(crate) struct Record(NvList);

impl Record {
    /// A command line, and the number of the user who gave it.
    pub fn command(line: &str, who: u32) -> Record {
        Record(NvList::new().with(COMMAND, line).with(ZONE, LINUX).with(WHO, u64::from(who)))
    }

    /// What the kernel was asked for, by an ioctl that OpenZFS records with its arguments
    /// (`zfsdev_ioctl_common` in module/zfs/zfs_ioctl.c).
    pub fn ioctl(name: &str, input: NvList, who: u32) -> Record {
        let list = NvList::new().with(IOCTL, name).with(INPUT, input).with(ZONE, LINUX);
        Record(list.with(WHO, u64::from(who)))
    }

    /// Something the program did by itself.
    pub fn internal(event: &str, text: &str, txg: u64) -> Record {
        Record(NvList::new().with(EVENT_NAME, event).with(EVENT_TEXT, text).with(TXG, txg))
    }

    /// The same, to a dataset.
    pub fn internal_on(event: &str, dataset: &str, object: u64, text: &str, txg: u64) -> Record {
        let list = NvList::new().with(DATASET, dataset).with(DATASET_ID, object).with(EVENT_NAME, event);
        Record(list.with(EVENT_TEXT, text).with(TXG, txg))
    }

    /// With the time and the host that every record has.
    pub fn signed(self, time: u64, host: &str) -> Record {
        Record(self.0.with(TIME, time).with(HOST, host))
    }

    /// What the event of an internal record holds, but for the pool (`spa_history_log_notify`).
    pub fn event(&self) -> Option<Payload> {
        let list = &self.0;
        if !list.contains(EVENT_NAME) {
            return None;
        }
        let mut payload = Payload::new();
        let texts =
            [("history_hostname", HOST), ("history_dsname", DATASET), ("history_internal_str", EVENT_TEXT)];
        for (name, key) in texts.into_iter().chain([("history_internal_name", EVENT_NAME)]) {
            payload.extend(list.string(key).map(|text| (name, text.into())));
        }
        for (name, key) in [("history_dsid", DATASET_ID), ("history_txg", TXG), ("history_time", TIME)] {
            payload.extend(list.u64(key).map(|number| (name, number.into())));
        }
        Some(payload)
    }
}

/// Makes the ring of a new pool of `dspace` bytes. Syncing context.
pub fn create(mos: &Arc<Objset>, dspace: u64, tx: &Tx) -> Result<()> {
    let spec = ObjectSpec::new(ObjectType::SPA_HISTORY)
        .with_block_size(BLOCK)
        .with_bonus(ObjectType::SPA_HISTORY_OFFSETS, SpaHistoryPhys::SIZE as u16);
    let dnode = mos.alloc(spec, tx)?;
    let max_off = (dspace / 1000).clamp(RING_MIN, RING_MAX);
    let phys = SpaHistoryPhys { max_off, ..SpaHistoryPhys::default() };
    dnode.set_bonus(ObjectType::SPA_HISTORY_OFFSETS, &phys.encode(), tx)?;
    dmu::Zap::open(mos, pool_directory::OBJECT)?.add(pool_directory::HISTORY, dnode.object(), tx)?;
    Ok(())
}

/// Appends a record, which is signed, to the ring. Syncing context.
pub(crate) fn append(object: Arc<Dnode>, record: &Record, tx: &Tx) -> Result<()> {
    let list = &record.0;
    let packed = list.encode_native();
    let mut ring = Ring::open(object)?;
    ring.append(&encode_length(packed.len() as u64), tx)?;
    ring.append(&packed, tx)?;
    // The first command is the pool's creation, unless so much went before it that the ring has
    // come round.
    if ring.phys.create_len == 0 && list.contains(COMMAND) && ring.phys.eof < ring.phys.max_off {
        ring.phys.create_len = ring.phys.eof;
        ring.phys.bof = ring.phys.eof;
    }
    Ok(ring.store(tx)?)
}

/// The records of the ring, oldest first. What cannot be read is left out.
pub(crate) fn read(object: Arc<Dnode>) -> Result<Vec<HistoryRecord>> {
    let ring = Ring::open(object)?;
    let mut lists = Vec::new();
    ring.records(0, ring.phys.create_len, &mut lists)?;
    ring.records(ring.phys.bof.max(ring.phys.create_len), ring.phys.eof, &mut lists)?;
    Ok(lists.iter().filter_map(read_record).collect())
}

struct Ring {
    dnode: Arc<Dnode>,
    phys: SpaHistoryPhys,
}

impl Ring {
    fn open(dnode: Arc<Dnode>) -> std::result::Result<Ring, DmuError> {
        let bonus = dnode.bonus();
        let corrupt = DmuError::Corrupt { object: dnode.object(), block: 0 };
        let phys = SpaHistoryPhys::decode(&bonus.bytes).map_err(|_| corrupt)?;
        let sane = phys.create_len < phys.max_off && phys.bof <= phys.eof && phys.bof >= phys.create_len;
        if sane || phys.eof == 0 { Ok(Ring { dnode, phys }) } else { Err(corrupt) }
    }

    fn store(&self, tx: &Tx) -> std::result::Result<(), DmuError> {
        self.dnode.set_bonus(ObjectType::SPA_HISTORY_OFFSETS, &self.phys.encode(), tx)
    }

    /// Bytes of the ring.
    fn capacity(&self) -> u64 {
        self.phys.max_off - self.phys.create_len
    }

    /// Where a position lies in the object.
    fn place(&self, position: u64) -> u64 {
        (position.saturating_sub(self.phys.create_len)) % self.capacity() + self.phys.create_len
    }

    fn append(&mut self, bytes: &[u8], tx: &Tx) -> std::result::Result<(), DmuError> {
        let len = bytes.len() as u64;
        if len >= self.capacity() {
            return Err(DmuError::TooBig);
        }
        while self.capacity() - (self.phys.eof - self.phys.bof) <= len {
            let record = decode_length(&self.read(self.phys.bof, LENGTH_BYTES)?);
            let next = self.phys.bof.saturating_add(record).saturating_add(LENGTH_BYTES);
            self.phys.bof = next.min(self.phys.eof);
            self.phys.records_lost += 1;
        }
        let at = self.place(self.phys.eof);
        let (first, rest) = bytes.split_at(len.min(self.phys.max_off - at) as usize);
        self.dnode.write(at, first, tx)?;
        if !rest.is_empty() {
            self.dnode.write(self.phys.create_len, rest, tx)?;
        }
        self.phys.eof += len;
        Ok(())
    }

    fn read(&self, position: u64, len: u64) -> std::result::Result<Vec<u8>, DmuError> {
        let at = if position < self.phys.create_len { position } else { self.place(position) };
        let first = len.min(self.phys.max_off - at);
        let mut bytes = self.dnode.read_bytes(at, first as usize)?;
        if first < len {
            bytes.extend(self.dnode.read_bytes(self.phys.create_len, (len - first) as usize)?);
        }
        Ok(bytes)
    }

    /// Lengths and bytes of the records in `[from, to)`.
    fn records(&self, from: u64, to: u64, out: &mut Vec<NvList>) -> std::result::Result<(), DmuError> {
        let mut at = from;
        while at + LENGTH_BYTES <= to {
            let len = decode_length(&self.read(at, LENGTH_BYTES)?);
            let body = at + LENGTH_BYTES;
            if len == 0 || len > RECORD_MAX || len > to - body {
                return Ok(());
            }
            if let Ok(list) = NvList::decode(&self.read(body, len)?) {
                out.push(list);
            }
            at = body + len;
        }
        Ok(())
    }
}

fn read_record(list: &NvList) -> Option<HistoryRecord> {
    let command = list.string(COMMAND);
    let text = match command {
        Some(command) => command.to_owned(),
        None if list.contains(EVENT_NAME) => {
            let name = list.string(EVENT_NAME).unwrap_or("");
            let text = list.string(EVENT_TEXT).unwrap_or("");
            match (list.string(DATASET), list.u64(DATASET_ID)) {
                (Some(dataset), Some(id)) => format!("{name} {dataset} ({id}) {text}"),
                _ => format!("{name} {text}"),
            }
        }
        None if list.contains(EVENT) => list.string(EVENT_TEXT).unwrap_or("").to_owned(),
        None => {
            let mut text = format!("ioctl {}", list.string(IOCTL)?);
            if let Some(input) = list.nvlist(INPUT) {
                text += "\n    input:";
                dump(input, 8, &mut text);
            }
            text
        }
    };
    let host = match (list.string(HOST), list.string(ZONE)) {
        (Some(host), Some(zone)) => Some(format!("{host}:{zone}")),
        (host, _) => host.map(str::to_owned),
    };
    Some(HistoryRecord {
        time: list.u64(TIME)?,
        text,
        txg: list.u64(TXG),
        internal: command.is_none(),
        user: list.u64(WHO).map(|who| if who == 0 { "root".to_owned() } else { who.to_string() }),
        host,
    })
}

/// A list as `zpool history` shows it, each line led by a line break (`dump_nvlist` in
/// lib/libnvpair/libnvpair.c). Arrays, which no record was seen to have, are named without their
/// values.
fn dump(list: &NvList, indent: usize, out: &mut String) {
    for (name, value) in list.iter() {
        *out += &format!("\n{:indent$}{name}", "");
        match value {
            NvValue::NvList(inner) => {
                out.push(':');
                dump(inner, indent + 4, out);
            }
            NvValue::String(text) => *out += &format!(": '{text}'"),
            NvValue::Bool(is) => *out += &format!(": {is}"),
            NvValue::I8(number) => *out += &format!(": {number}"),
            NvValue::U8(number) | NvValue::Byte(number) => *out += &format!(": {number}"),
            NvValue::I16(number) => *out += &format!(": {number}"),
            NvValue::U16(number) => *out += &format!(": {number}"),
            NvValue::I32(number) => *out += &format!(": {number}"),
            NvValue::U32(number) => *out += &format!(": {number}"),
            NvValue::I64(number) => *out += &format!(": {number}"),
            NvValue::U64(number) => *out += &format!(": {number}"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
