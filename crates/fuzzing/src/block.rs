//! What initiators send: PDUs, commands with their data, and how a volume says that it is shared.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Weak;

use engine_api::VolumeId;
use iscsi::{Digests, Pdu};
use model::MemVolume;
use scsi::{Identity, LogicalUnit, Nexus, Status, Target};

use crate::format::choice;

/// As large as data may be where nobody agreed on anything.
const DATA_MAX: usize = 64 << 10;

/// PDUs one after the other, with or without digests.
pub fn pdu(data: &[u8]) {
    let (digests, rest) = choice(data);
    let digests = Digests { header: digests & 1 != 0, data: digests & 2 != 0 };
    let mut stream = Cursor::new(rest);
    while let Ok(Some(pdu)) = Pdu::read(&mut stream, digests, DATA_MAX) {
        assert!(pdu.data.len() <= DATA_MAX.min(rest.len()));
        let _ = (pdu.opcode(), pdu.is_immediate(), pdu.flags(), pdu.lun(), pdu.tag());
        // Further headers are not kept, but the first says still how long they were.
        if pdu.header[4] == 0 {
            let mut again = Vec::new();
            pdu.write(&mut again, digests).expect("memory takes it");
            let back = Pdu::read(&mut Cursor::new(again), digests, DATA_MAX);
            assert!(back.is_ok_and(|back| back.is_some_and(|back| back.data == pdu.data)));
        }
    }
}

pub fn share(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(Some(share)) = iscsi::parse_share(text) {
        assert!(!share.target_of("tank/volume").is_empty());
    }
}

/// Commands one after the other, each of sixteen bytes behind the length of its data, on two units
/// that a port sees.
pub fn command(data: &[u8]) {
    let unit = |number: u16| {
        let id = VolumeId { pool_guid: 1, dataset_guid: number.into() };
        let volume = MemVolume::new(id, 64 << 10, 8 << 10);
        let identity = Identity { id: number.into(), serial: format!("{number}"), name: "tank/v".into() };
        (number, LogicalUnit::open(volume, identity).expect("its reservations are known"))
    };
    let target = Target::new("iqn.t".into(), Vec::new(), BTreeMap::from([unit(0), unit(1)]));
    let port = Nexus::new("iqn.a,i,0x01", 1);
    for unit in target.units() {
        unit.join(&port, Weak::<()>::new());
        // It has that to say first.
        unit.begin(&target, &port, &[0; 6], &[]);
    }
    let mut rest = data;
    for _ in 0..16 {
        let Some((&[lun, len], after)) = rest.split_first_chunk() else { return };
        let Some((cdb, after)) = after.split_at_checked(16) else { return };
        let (out, after) = after.split_at((usize::from(len) * 16).min(after.len()));
        let answer = target.execute(&port, u64::from(lun & 3) << 48, cdb, out);
        assert_eq!(answer.status == Status::CheckCondition, answer.sense.is_some());
        rest = after;
    }
}
