//! PDUs: a header of 48 bytes, more headers, data, and digests of both.
//!
//! ```text
//!    0  opcode, I           4  words of further headers     16  task tag, and 28 bytes that mean what the opcode says
//!    1  flags, 2 bytes of   5  bytes of data (three)        48  further headers, digest, data padded to words, digest
//!       the opcode's        8  LUN, or 8 of the opcode's
//! ```
//! Source: RFC 7143 11.

use std::io::{self, Read, Write};

use crate::limits::{BURST, EXTRA_HEADERS};

pub const HEADER: usize = 48;

/// Bytes of data that there is room for at first, and how many times what has arrived there is then.
const FIRST_PART: usize = 16 << 10;
const STRIDE: usize = 4;
/// How many times the data that comes with a command there is room for at once.
const AHEAD: usize = 8;

/// What initiators send.
pub mod from_initiator {
    pub const NOP: u8 = 0x00;
    pub const COMMAND: u8 = 0x01;
    pub const TASK: u8 = 0x02;
    pub const LOGIN: u8 = 0x03;
    pub const TEXT: u8 = 0x04;
    pub const DATA: u8 = 0x05;
    pub const LOGOUT: u8 = 0x06;
    pub const SNACK: u8 = 0x10;
}

/// What targets send.
pub mod from_target {
    pub const NOP: u8 = 0x20;
    pub const RESPONSE: u8 = 0x21;
    pub const TASK: u8 = 0x22;
    pub const LOGIN: u8 = 0x23;
    pub const TEXT: u8 = 0x24;
    pub const DATA: u8 = 0x25;
    pub const LOGOUT: u8 = 0x26;
    pub const R2T: u8 = 0x31;
    pub const ASYNC: u8 = 0x32;
    pub const REJECT: u8 = 0x3f;
}

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
    Data(Box<[u8; HEADER]>),
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
    pub header: [u8; HEADER],
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
        self.header[0] & 0x3f
    }

    pub fn is_immediate(&self) -> bool {
        self.header[0] & 0x40 != 0
    }

    pub fn flags(&self) -> u8 {
        self.header[1]
    }

    pub fn lun(&self) -> u64 {
        u64::from_be_bytes(self.field(8))
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.field(at))
    }

    pub fn tag(&self) -> u32 {
        self.u32(16)
    }

    /// `N` bytes of the header.
    pub fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.header[at..at + N]);
        field
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

    /// The next one; `None` where the peer has ended in good order. No more data is taken than `most`.
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

    /// As [`Pdu::read_into`]. Memory follows what arrives: `grow` is told each time that there will be more data, and how
    /// much then, and may refuse that.
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
        let extra = usize::from(header[4]) * 4;
        let len = usize::from(header[5]) << 16 | usize::from(header[6]) << 8 | usize::from(header[7]);
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
        if header[0] & 0x3f == from_initiator::COMMAND {
            // What comes later is put behind it. A claim alone is worth no memory: there is room for a few times what came.
            let expected = u32::from_be_bytes([header[20], header[21], header[22], header[23]]) as usize;
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
        let Some(&[_, _, _, _, extra, high, middle, low]) = bytes.first_chunk() else { return false };
        let len = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        let data = len.next_multiple_of(4) + if digests.data && len > 0 { 4 } else { 0 };
        let header = HEADER + usize::from(extra) * 4 + if digests.header { 4 } else { 0 };
        bytes.len() >= header + data
    }

    /// What goes before so many bytes of data.
    pub fn put_front(&self, to: &mut Vec<u8>, digests: Digests, len: usize) {
        let mut header = self.header;
        header[5..8].copy_from_slice(&(len as u32).to_be_bytes()[1..]);
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

/// What goes behind so many bytes of data: their padding, and the digest of both. `crc`: that of the data.
pub fn put_back(to: &mut Vec<u8>, digests: Digests, len: usize, crc: u32) {
    let padding = &[0; 3][..len.next_multiple_of(4) - len];
    to.extend_from_slice(padding);
    if digests.data && len > 0 {
        to.extend_from_slice(&crc32c::crc32c_append(crc, padding).to_le_bytes());
    }
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
