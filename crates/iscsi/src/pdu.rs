//! PDUs: a header of 48 bytes, more headers, data, and digests of both.
//!
//! ```text
//!    0  opcode, I           4  words of further headers     16  task tag, and 28 bytes that mean what the opcode says
//!    1  flags, 2 bytes of   5  bytes of data (three)        48  further headers, digest, data padded to words, digest
//!       the opcode's        8  LUN, or 8 of the opcode's
//! ```
//! This is how a PDU is framed. What its header says is read in [`initiator`] and written in
//! [`target`], a struct for each kind: the target looks at a header nowhere else. [`target`] writes
//! fields with [`Pdu::put`]. The methods that read fields of a [`Pdu`] are for programs that play
//! initiators.
//!
//! Source: RFC 7143 11.1, 11.2.

mod at;
mod flags;
pub mod initiator;
pub mod target;

use std::io::{self, Read, Write};

use crate::limits::{BURST, EXTRA_HEADERS};
use initiator::{Command, Opcode};

pub const HEADER: usize = 48;
pub type Header = [u8; HEADER];
/// Of the first byte.
const OPCODE: u8 = 0x3f;
const IMMEDIATE: u8 = 0x40;

/// Bytes of data that there is room for at first, and how many times what has arrived there is
/// then.
const FIRST_PART: usize = 16 << 10;
const STRIDE: usize = 4;
/// How many times the data that comes with a command there is room for at once.
const AHEAD: usize = 8;

/// No task has this tag, and no transfer.
pub const NONE: u32 = u32::MAX;

/// Which parts are followed by a CRC32C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    pub header: bool,
    pub data: bool,
}

/// Why no PDU comes.
#[derive(Debug)]
pub enum PduError {
    /// Nobody can tell where the next one begins.
    Header,
    /// Longer than was agreed.
    TooLong,
    /// The data is not what was sent; the next PDU can be read.
    Data(Box<Header>),
    /// Nothing came in the time that the reader has.
    Silence,
    Io(io::Error),
}

impl From<io::Error> for PduError {
    fn from(error: io::Error) -> PduError {
        PduError::Io(error)
    }
}

impl std::fmt::Display for PduError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PduError::Header => f.write_str("header digest"),
            PduError::TooLong => f.write_str("PDU longer than agreed"),
            PduError::Data(_) => f.write_str("data digest"),
            PduError::Silence => f.write_str("nothing was heard"),
            PduError::Io(error) => error.fmt(f),
        }
    }
}

/// One PDU. Further headers are taken and not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    pub header: Header,
    pub data: Vec<u8>,
}

impl Pdu {
    pub fn new(opcode: u8, flags: u8) -> Pdu {
        let mut header = [0; HEADER];
        header[0] = opcode;
        header[1] = flags;
        Pdu { header, data: Vec::new() }
    }

    pub fn opcode(&self) -> u8 {
        self.header[0] & OPCODE
    }

    pub fn is_immediate(&self) -> bool {
        self.header[0] & IMMEDIATE != 0
    }

    pub fn flags(&self) -> u8 {
        self.header[1]
    }

    pub fn lun(&self) -> u64 {
        u64::from_be_bytes(self.field(at::LUN))
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32_at(&self.header, at)
    }

    pub fn tag(&self) -> u32 {
        self.u32(at::TASK_TAG)
    }

    /// `N` bytes of the header.
    pub fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        part(&self.header, at)
    }

    pub fn put(mut self, at: usize, bytes: &[u8]) -> Pdu {
        self.header[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub fn put_u32(self, at: usize, number: u32) -> Pdu {
        self.put(at, &number.to_be_bytes())
    }

    pub fn with_data(mut self, data: Vec<u8>) -> Pdu {
        self.data = data;
        self
    }

    /// The next one; `None` where the peer has ended in good order. No more data is taken than
    /// `most`.
    pub fn read(from: &mut impl Read, digests: Digests, most: usize) -> Result<Option<Pdu>, PduError> {
        Pdu::read_into(Vec::new(), from, digests, most)
    }

    /// As [`Pdu::read`], with its data in the place of that of another.
    pub fn read_into(
        data: Vec<u8>,
        from: &mut impl Read,
        digests: Digests,
        most: usize,
    ) -> Result<Option<Pdu>, PduError> {
        Pdu::read_growing(data, from, digests, most, &mut |_| Ok(()))
    }

    /// As [`Pdu::read_into`]. Memory follows what arrives: `grow` is told each time that there will
    /// be more data, and how much then, and may refuse that.
    pub fn read_growing(
        mut data: Vec<u8>,
        from: &mut impl Read,
        digests: Digests,
        most: usize,
        grow: &mut dyn FnMut(usize) -> io::Result<()>,
    ) -> Result<Option<Pdu>, PduError> {
        let mut header = [0; HEADER];
        if !fill(from, &mut header)? {
            return Ok(None);
        }
        let (extra, len) = lens(&header);
        let mut further = [0; EXTRA_HEADERS];
        from.read_exact(&mut further[..extra])?;
        if digests.header {
            let crc = crc32c::crc32c_append(crc32c::crc32c(&header), &further[..extra]);
            if read_crc(from)? != crc {
                return Err(PduError::Header);
            }
        }
        if len > most {
            return Err(PduError::TooLong);
        }
        let whole = len.next_multiple_of(4);
        data.clear();
        data.reserve_exact(whole);
        while data.len() < whole {
            let before = data.len();
            let until = whole.min(FIRST_PART.max(STRIDE * before));
            grow(until)?;
            data.resize(until, 0);
            from.read_exact(&mut data[before..])?;
        }
        if Opcode::of(&header) == Some(Opcode::Command) {
            // What comes later is put behind it. A claim alone is worth no memory: there is room
            // for a few times what came.
            let expected = Command::decode(&header).expected_len as usize;
            data.reserve_exact(expected.min(BURST).min(AHEAD * len).saturating_sub(data.len()));
        }
        if digests.data && len > 0 && read_crc(from)? != crc32c::crc32c(&data) {
            return Err(PduError::Data(Box::new(header)));
        }
        data.truncate(len);
        Ok(Some(Pdu { header, data }))
    }

    /// Whether bytes that have arrived begin with a whole one.
    pub fn is_whole(bytes: &[u8], digests: Digests) -> bool {
        let Some(header) = bytes.first_chunk() else { return false };
        let (extra, len) = lens(header);
        let data = len.next_multiple_of(4) + if digests.data && len > 0 { 4 } else { 0 };
        let header = HEADER + extra + if digests.header { 4 } else { 0 };
        bytes.len() >= header + data
    }

    /// What goes before so many bytes of data.
    pub fn put_front(&self, to: &mut Vec<u8>, digests: Digests, len: usize) {
        let mut header = self.header;
        header[at::DATA_LEN..][..3].copy_from_slice(&(len as u32).to_be_bytes()[1..]);
        to.extend_from_slice(&header);
        if digests.header {
            to.extend_from_slice(&crc32c::crc32c(&header).to_le_bytes());
        }
    }

    /// All of it.
    pub fn encode(&self, to: &mut Vec<u8>, digests: Digests) {
        self.put_front(to, digests, self.data.len());
        to.extend_from_slice(&self.data);
        let crc = if digests.data { crc32c::crc32c(&self.data) } else { 0 };
        put_back(to, digests, self.data.len(), crc);
    }

    /// With data that is not copied.
    pub fn write_with(&self, to: &mut impl Write, digests: Digests, data: &[u8]) -> io::Result<()> {
        let mut ends = Vec::with_capacity(HEADER + 4);
        self.put_front(&mut ends, digests, data.len());
        to.write_all(&ends)?;
        to.write_all(data)?;
        ends.clear();
        put_back(&mut ends, digests, data.len(), if digests.data { crc32c::crc32c(data) } else { 0 });
        to.write_all(&ends)
    }

    pub fn write(&self, to: &mut impl Write, digests: Digests) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes, digests);
        to.write_all(&bytes)
    }
}

/// What goes behind so many bytes of data: their padding, and the digest of both. `crc`: that of
/// the data.
pub fn put_back(to: &mut Vec<u8>, digests: Digests, len: usize, crc: u32) {
    let padding = &[0; 3][..len.next_multiple_of(4) - len];
    to.extend_from_slice(padding);
    if digests.data && len > 0 {
        to.extend_from_slice(&crc32c::crc32c_append(crc, padding).to_le_bytes());
    }
}

/// `N` bytes of a header.
fn part<const N: usize>(header: &Header, at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&header[at..at + N]);
    part
}

fn u32_at(header: &Header, at: usize) -> u32 {
    u32::from_be_bytes(part(header, at))
}

/// Bytes of further headers, and of data.
fn lens(header: &Header) -> (usize, usize) {
    let [high, middle, low] = [0, 1, 2].map(|byte| usize::from(header[at::DATA_LEN + byte]));
    (usize::from(header[at::EXTRA_HEADERS]) * 4, high << 16 | middle << 8 | low)
}

/// False where it ends before the first byte.
fn fill(from: &mut impl Read, header: &mut [u8]) -> Result<bool, PduError> {
    let first = loop {
        match from.read(header) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(PduError::Silence);
            }
            read => break read?,
        }
    };
    if first > 0 {
        from.read_exact(&mut header[first..])?;
    }
    Ok(first > 0)
}

fn read_crc(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests;
