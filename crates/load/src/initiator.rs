//! A small initiator: what it takes to log in to any target, to ask a logical unit one thing, and
//! to keep commands in flight.
//!
//! Data goes as every initiator sends it: with the command, unasked behind it up to
//! FirstBurstLength, then as it is asked for.
//!
//! Source: RFC 7143 6, 11.

use std::io::{BufReader, BufWriter, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use iscsi::{Digests, Pdu};

use crate::Fail;

const COMMAND: u8 = 0x01;
const LOGIN: u8 = 0x03;
const DATA_OUT: u8 = 0x05;
const NOP_OUT: u8 = 0x00;
const IMMEDIATE: u8 = 0x40;
const FINAL: u8 = 0x80;
const READS: u8 = 0x40;
const WRITES: u8 = 0x20;
const SIMPLE: u8 = 0x01;
/// No task has this tag, and no transfer.
const NONE: u32 = u32::MAX;
/// From the stage of operational parameters to that of full features.
const TO_FULL_FEATURE: u8 = 0x87;
/// Bytes of data in one PDU that are taken.
const SEGMENT: usize = 256 << 10;
const BUFFER: usize = 64 << 10;
const LOGIN_ROUNDS: usize = 8;
/// How long a target may think: longer than the slowest disk, but a run must end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Unit attentions that are passed over before a first command is believed to fail.
const ATTENTIONS: usize = 8;

/// A logical unit, as initiators find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub portal: SocketAddr,
    pub target: String,
    pub lun: u16,
}

impl Unit {
    /// `iscsi://HOST[:PORT]/TARGET/LUN`
    pub fn parse(url: &str) -> Result<Unit, Fail> {
        let wrong = || format!("'{url}' is not iscsi://HOST[:PORT]/TARGET/LUN");
        let rest = url.strip_prefix("iscsi://").ok_or_else(wrong)?;
        let mut parts = rest.split('/');
        let (Some(host), Some(target), Some(lun), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong().into());
        };
        let named = host.to_socket_addrs().or_else(|_| (host, 3260).to_socket_addrs());
        let portal = named.ok().and_then(|mut found| found.next()).ok_or_else(wrong)?;
        Ok(Unit { portal, target: target.to_owned(), lun: lun.parse().map_err(|_| wrong())? })
    }

    fn lun(&self) -> [u8; 8] {
        let first = if self.lun < 256 { self.lun } else { 0x4000 | self.lun };
        (u64::from(first) << 48).to_be_bytes()
    }
}

/// A command that has ended well.
pub struct Ended {
    pub tag: u32,
    /// That came, of reads.
    pub bytes: u64,
}

/// A session of one connection.
pub struct Initiator {
    from: BufReader<TcpStream>,
    to: BufWriter<TcpStream>,
    /// What the data of the last read was in.
    spare: Vec<u8>,
    tag: u32,
    command: u32,
    last_command: u32,
    status: u32,
    their_segment: usize,
    first_burst: usize,
    immediate: bool,
    initial_r2t: bool,
}

/// Bytes of a logical block.
pub const BLOCK: u64 = 512;

/// Sixteen bytes of a command with a place and a length, in bytes.
pub fn cdb(code: u8, flags: u8, at: u64, len: u64) -> [u8; 16] {
    let mut cdb = [0; 16];
    (cdb[0], cdb[1]) = (code, flags);
    cdb[2..10].copy_from_slice(&(at / BLOCK).to_be_bytes());
    cdb[10..14].copy_from_slice(&((len / BLOCK) as u32).to_be_bytes());
    cdb
}

/// Sessions of this process so far: each is another port of the initiator.
static SESSIONS: AtomicU32 = AtomicU32::new(0);

impl Initiator {
    /// To the unit's target; the unit is ready.
    pub fn log_in(unit: &Unit) -> Result<Initiator, Fail> {
        let stream = TcpStream::connect_timeout(&unit.portal, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut initiator = Initiator {
            from: BufReader::with_capacity(BUFFER, stream.try_clone()?),
            to: BufWriter::with_capacity(BUFFER, stream),
            spare: Vec::new(),
            tag: 0,
            command: 1,
            last_command: 1,
            status: 0,
            their_segment: 8192,
            first_burst: 64 << 10,
            immediate: true,
            initial_r2t: true,
        };
        initiator.negotiate(unit)?;
        initiator.greet(unit)?;
        Ok(initiator)
    }

    /// Has a unit say what it has to say before it does anything: what others did, and that
    /// somebody new has come.
    pub fn greet(&mut self, unit: &Unit) -> Result<(), Fail> {
        let mut ready = || self.call(unit, &[0; 6], &[], 0).map(drop);
        let mut last = ready();
        for _ in 0..ATTENTIONS {
            if last.is_err() {
                last = ready();
            }
        }
        last
    }

    fn negotiate(&mut self, unit: &Unit) -> Result<(), Fail> {
        let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
        // Of a kind that everybody may draw at random.
        let isid = [&[0x80, std::process::id() as u8][..], &session.to_be_bytes()].concat();
        let keys = format!(
            "InitiatorName=iqn.2026-01.org.cistern:load\0TargetName={}\0SessionType=Normal\0HeaderDigest=None\0\
             DataDigest=None\0InitialR2T=No\0ImmediateData=Yes\0MaxBurstLength=1048576\0FirstBurstLength=262144\0\
             MaxRecvDataSegmentLength={SEGMENT}\0MaxOutstandingR2T=1\0MaxConnections=1\0DefaultTime2Wait=2\0\
             DefaultTime2Retain=0\0ErrorRecoveryLevel=0\0DataPDUInOrder=Yes\0DataSequenceInOrder=Yes\0",
            unit.target
        );
        let mut said = keys.into_bytes();
        for _ in 0..LOGIN_ROUNDS {
            let request = Pdu::new(LOGIN | IMMEDIATE, TO_FULL_FEATURE).put(8, &isid);
            let request = request.put_u32(24, self.command).put_u32(28, self.status);
            self.put(request.with_data(std::mem::take(&mut said)))?;
            self.to.flush()?;
            let answer = self.take()?;
            let status = u16::from_be_bytes(answer.field(36));
            if status != 0 {
                return Err(format!("the target refused the login with status {status:#06x}").into());
            }
            self.agree(&answer.data);
            self.heard(&answer, true);
            if answer.flags() & TO_FULL_FEATURE == TO_FULL_FEATURE {
                return Ok(());
            }
        }
        Err("the target does not come to the end of the login".into())
    }

    fn agree(&mut self, text: &[u8]) {
        for pair in text.split(|byte| *byte == 0).filter_map(|pair| std::str::from_utf8(pair).ok()) {
            let Some((key, value)) = pair.split_once('=') else { continue };
            let number = value.parse().ok();
            match key {
                "MaxRecvDataSegmentLength" => self.their_segment = number.unwrap_or(self.their_segment),
                "FirstBurstLength" => self.first_burst = number.unwrap_or(self.first_burst),
                "ImmediateData" => self.immediate = value == "Yes",
                "InitialR2T" => self.initial_r2t = value == "Yes",
                _ => {}
            }
        }
    }

    fn put(&mut self, pdu: Pdu) -> Result<(), Fail> {
        Ok(pdu.write(&mut self.to, Digests::default())?)
    }

    fn take(&mut self) -> Result<Pdu, Fail> {
        let spare = std::mem::take(&mut self.spare);
        let read = Pdu::read_into(spare, &mut self.from, Digests::default(), SEGMENT);
        read.map_err(|error| error.to_string())?.ok_or_else(|| "the target hung up".into())
    }

    /// Takes note of the numbers in an answer; `counted`: it has a status number of its own.
    fn heard(&mut self, pdu: &Pdu, counted: bool) {
        if counted {
            self.status = pdu.u32(24).wrapping_add(1);
        }
        let last = pdu.u32(32);
        if last.wrapping_sub(self.last_command) < 1 << 31 {
            self.last_command = last;
        }
    }

    /// Whether the target takes one more command now.
    pub fn has_room(&self) -> bool {
        self.last_command.wrapping_sub(self.command) < 1 << 31
    }

    /// Sends a command that writes `out`, or reads up to `room` bytes; its tag. It may wait in a
    /// buffer until something is received.
    pub fn send(&mut self, unit: &Unit, cdb: &[u8], out: &[u8], room: usize) -> Result<u32, Fail> {
        self.tag = self.tag.wrapping_add(1) & 0x7fff_ffff;
        let now = if self.immediate { out.len().min(self.first_burst).min(self.their_segment) } else { 0 };
        let unasked = if self.initial_r2t { now } else { out.len().min(self.first_burst) };
        let moves = match (out.is_empty(), room) {
            (false, _) => WRITES,
            (true, 0) => 0,
            (true, _) => READS,
        };
        let ends = if unasked > now { 0 } else { FINAL };
        let command = Pdu::new(COMMAND, ends | moves | SIMPLE)
            .put(8, &unit.lun())
            .put_u32(16, self.tag)
            .put_u32(20, out.len().max(room) as u32)
            .put_u32(24, self.command)
            .put_u32(28, self.status)
            .put(32, cdb);
        self.command = self.command.wrapping_add(1);
        command.write_with(&mut self.to, Digests::default(), &out[..now])?;
        if unasked > now {
            self.send_data(self.tag, NONE, now, &out[now..unasked])?;
        }
        Ok(self.tag)
    }

    /// A sequence of data PDUs.
    fn send_data(&mut self, tag: u32, transfer: u32, offset: usize, data: &[u8]) -> Result<(), Fail> {
        let last = data.len().div_ceil(self.their_segment).saturating_sub(1);
        for (number, part) in data.chunks(self.their_segment).enumerate() {
            let pdu = Pdu::new(DATA_OUT, if number == last { FINAL } else { 0 })
                .put_u32(16, tag)
                .put_u32(20, transfer)
                .put_u32(28, self.status)
                .put_u32(36, number as u32)
                .put_u32(40, (offset + number * self.their_segment) as u32);
            pdu.write_with(&mut self.to, Digests::default(), part)?;
        }
        Ok(())
    }

    /// The next command that ends. `out`: what a command writes, as it was sent; `data`: what comes
    /// of reads.
    pub fn receive<'a>(
        &mut self,
        mut out: impl FnMut(u32) -> &'a [u8],
        mut data: impl FnMut(&[u8]),
    ) -> Result<Ended, Fail> {
        loop {
            if self.from.buffer().is_empty() {
                self.to.flush()?;
            }
            let pdu = self.take()?;
            let tag = pdu.tag();
            match pdu.opcode() {
                0x20 => {
                    self.heard(&pdu, false);
                    if pdu.u32(20) != NONE {
                        let pong = Pdu::new(NOP_OUT | IMMEDIATE, FINAL).put(8, &pdu.field::<8>(8));
                        let pong = pong.put_u32(16, NONE).put_u32(20, pdu.u32(20));
                        self.put(pong.put_u32(24, self.command).put_u32(28, self.status))?;
                    }
                }
                0x31 => {
                    self.heard(&pdu, false);
                    let (from, len) = (pdu.u32(40) as usize, pdu.u32(44) as usize);
                    let asked =
                        out(tag).get(from..from + len).ok_or("the target asks for what is not there")?;
                    self.send_data(tag, pdu.u32(20), from, asked)?;
                }
                0x25 => {
                    let is_last = pdu.flags() & 1 != 0;
                    self.heard(&pdu, is_last);
                    data(&pdu.data);
                    let bytes = u64::from(pdu.u32(40)) + pdu.data.len() as u64;
                    let judged = is_last.then(|| judged(&pdu, Ended { tag, bytes }));
                    self.spare = pdu.data;
                    if let Some(judged) = judged {
                        return judged;
                    }
                }
                0x21 => {
                    self.heard(&pdu, true);
                    return judged(&pdu, Ended { tag, bytes: 0 });
                }
                // That it is to log out, say: what became of its units it hears by their answers.
                0x32 => self.heard(&pdu, true),
                other => return Err(format!("the target answered with opcode {other:#04x}").into()),
            }
        }
    }

    /// One command, while there is no other; what it reads.
    pub fn call(&mut self, unit: &Unit, cdb: &[u8], out: &[u8], room: usize) -> Result<Vec<u8>, Fail> {
        let mut read = Vec::new();
        self.send(unit, cdb, out, room)?;
        self.receive(|_| out, |data| read.extend(data))?;
        Ok(read)
    }

    /// In bytes, as all that follows.
    pub fn read(&mut self, unit: &Unit, at: u64, len: usize) -> Result<Vec<u8>, Fail> {
        self.call(unit, &cdb(0x88, 0, at, len as u64), &[], len)
    }

    pub fn write(&mut self, unit: &Unit, at: u64, data: &[u8]) -> Result<(), Fail> {
        self.call(unit, &cdb(0x8a, 0, at, data.len() as u64), data, 0).map(drop)
    }

    pub fn flush(&mut self, unit: &Unit) -> Result<(), Fail> {
        self.call(unit, &cdb(0x91, 0, 0, 0), &[], 0).map(drop)
    }

    /// Gives space back: one descriptor, of up to 2 TiB less one block.
    pub fn unmap(&mut self, unit: &Unit, at: u64, len: u64) -> Result<(), Fail> {
        let mut list = vec![0, 22, 0, 16, 0, 0, 0, 0];
        list.extend((at / BLOCK).to_be_bytes());
        list.extend(((len / BLOCK) as u32).to_be_bytes());
        list.extend([0; 4]);
        self.call(unit, &[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], &list, 0).map(drop)
    }

    /// Has the target copy the beginning of a unit to that of another, by EXTENDED COPY with its
    /// smallest limits.
    pub fn copy(&mut self, from: &Unit, to: &Unit, len: u64) -> Result<(), Fail> {
        const PART: u64 = 0xff80 * BLOCK;
        let names = [self.name(from)?, self.name(to)?];
        for at in (0..len).step_by(PART as usize) {
            let mut list = vec![0; 16];
            list[1] = 0x18;
            list[3] = 2 * 32;
            list[11] = 28;
            for name in &names {
                let mut unit = vec![0; 32];
                unit[0] = 0xe4;
                (unit[4], unit[5], unit[7], unit[30]) = (1, 3, name.len() as u8, 2);
                unit[8..8 + name.len()].copy_from_slice(name);
                list.extend(unit);
            }
            let blocks = (len - at).min(PART) / BLOCK;
            list.extend([0x02, 0, 0, 0x18, 0, 0, 0, 1, 0, 0]);
            list.extend((blocks as u16).to_be_bytes());
            [at / BLOCK; 2].iter().for_each(|place| list.extend(place.to_be_bytes()));
            let mut cdb = [0; 16];
            cdb[0] = 0x83;
            cdb[10..14].copy_from_slice(&(list.len() as u32).to_be_bytes());
            self.call(to, &cdb, &list, 0)?;
        }
        Ok(())
    }

    /// A unit's NAA name.
    fn name(&mut self, unit: &Unit) -> Result<Vec<u8>, Fail> {
        let page = self.call(unit, &[0x12, 1, 0x83, 0, 255, 0], &[], 255)?;
        let mut rest = page.get(4..).unwrap_or_default();
        while let [_, kind, _, len, after @ ..] = rest {
            let (name, after) = after.split_at_checked(usize::from(*len)).ok_or("a name is cut short")?;
            if kind & 0x3f == 3 && name.len() <= 20 {
                return Ok(name.to_vec());
            }
            rest = after;
        }
        Err("the unit has no NAA name".into())
    }

    /// Bytes of a unit.
    pub fn size(&mut self, unit: &Unit) -> Result<u64, Fail> {
        let mut cdb = [0; 16];
        (cdb[0], cdb[1], cdb[13]) = (0x9e, 0x10, 32);
        let told = self.call(unit, &cdb, &[], 32)?;
        let numbers = told.split_first_chunk().and_then(|(last, rest)| Some((last, rest.first_chunk()?)));
        let (last, block) = numbers.ok_or("the target does not tell its size")?;
        let (last, block) = (u64::from_be_bytes(*last), u64::from(u32::from_be_bytes(*block)));
        if block == BLOCK { Ok((last + 1) * block) } else { Err("blocks of 512 bytes are expected".into()) }
    }
}

fn judged(pdu: &Pdu, ended: Ended) -> Result<Ended, Fail> {
    match pdu.header[3] {
        0 => Ok(ended),
        status => {
            let sense = pdu.data.get(2..).unwrap_or_default();
            let (key, code) = (sense.get(2).map(|key| key & 0xf), sense.get(12..14));
            Err(format!("the target answered with status {status:#04x}, sense {key:02x?} {code:02x?}").into())
        }
    }
}
