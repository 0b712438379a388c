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
/// Of the first byte.
const OPCODE: u8 = 0x3f;
const IMMEDIATE: u8 = 0x40;

/// Bytes of data that there is room for at first, and how many times what has arrived there is
/// then.
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

/// Where fields begin, in the headers that have them.
pub mod at {
    /// Of what ends a task or a connection, and why something is rejected.
    pub const RESPONSE: usize = 2;
    /// The newest version that an initiator must have.
    pub const VERSION_MIN: usize = 3;
    /// Of a SCSI command that is done.
    pub const STATUS: usize = 3;
    pub const EXTRA_HEADERS: usize = 4;
    /// Three bytes.
    pub const DATA_LEN: usize = 5;
    pub const LUN: usize = 8;
    /// Of a session: six bytes of the initiator's, two of the target's.
    pub const ISID: usize = 8;
    pub const TASK_TAG: usize = 16;
    /// What an initiator expects a command to move, bytes.
    pub const EXPECTED_LEN: usize = 20;
    pub const TRANSFER_TAG: usize = 20;
    /// Of the task that is to end.
    pub const REFERENCED_TAG: usize = 20;
    /// The connection's number, two bytes.
    pub const CONNECTION: usize = 20;
    /// Of initiators.
    pub const COMMAND_NUMBER: usize = 24;
    /// Of targets, with the commands that they expect and take.
    pub const STATUS_NUMBER: usize = 24;
    pub const EXPECTED_COMMAND: usize = 28;
    pub const MAX_COMMAND: usize = 32;
    /// A SCSI command.
    pub const CDB: usize = 32;
    /// Of data, and of what asks for it.
    pub const DATA_NUMBER: usize = 36;
    pub const BUFFER_OFFSET: usize = 40;
    pub const WANTED_LEN: usize = 44;
    pub const RESIDUAL: usize = 44;
    /// Of a login: class and detail.
    pub const LOGIN_STATUS: usize = 36;
    /// Of what a target tells by itself: the event, and three numbers of two bytes that belong to
    /// it.
    pub const EVENT: usize = 36;
    pub const EVENT_PARAMETERS: [usize; 3] = [38, 40, 42];
}

/// Bits of the second byte.
pub mod flags {
    /// It is the last of its kind.
    pub const FINAL: u8 = 0x80;
    /// Of text: more of it follows.
    pub const CONTINUE: u8 = 0x40;
    /// Of commands.
    pub const READS: u8 = 0x40;
    pub const WRITES: u8 = 0x20;
    /// Of how a command ended.
    pub const OVERFLOW: u8 = 0x04;
    pub const UNDERFLOW: u8 = 0x02;
    /// Of data: it says how its command ended.
    pub const STATUS: u8 = 0x01;
    /// Of a login: the next stage is to begin, and which bits say what stage this is.
    pub const TRANSIT: u8 = 0x80;
    pub const STAGE: u8 = 0x0c;
    /// What is not [`FINAL`], where that is a number: a task management function, why a connection
    /// is to end.
    pub const FUNCTION: u8 = 0x7f;
}

/// No task has this tag, and no transfer.
pub const NONE: u32 = u32::MAX;

/// Why a PDU is rejected (RFC 7143 11.17.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RejectReason {
    DataDigest = 0x02,
    Protocol = 0x04,
    NotSupported = 0x05,
    TooManyImmediate = 0x06,
    InvalidField = 0x09,
}

/// Class and detail of a login that fails (RFC 7143 11.13.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure(pub u16);

impl Failure {
    pub const INITIATOR_ERROR: Failure = Failure(0x0200);
    pub const NOT_AUTHENTICATED: Failure = Failure(0x0201);
    pub const NOT_FOUND: Failure = Failure(0x0203);
    pub const VERSION: Failure = Failure(0x0205);
    pub const TOO_MANY_CONNECTIONS: Failure = Failure(0x0206);
    pub const MISSING: Failure = Failure(0x0207);
    pub const SESSION_TYPE: Failure = Failure(0x0209);
    pub const NO_SESSION: Failure = Failure(0x020a);
    /// The target does not look at it now.
    pub const UNAVAILABLE: Failure = Failure(0x0301);
}

/// What an initiator is told of that it has not asked for (RFC 7143 11.9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is to log out, in so many seconds.
    LogOut(u16),
    /// All connections of the session end; it may try again after so many seconds.
    Ends(u16),
}

impl Event {
    /// Its code, and three parameters.
    pub fn fields(self) -> (u8, [u16; 3]) {
        match self {
            Event::LogOut(within) => (1, [0, 0, within]),
            Event::Ends(wait) => (3, [0, wait, 0]),
        }
    }
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
        u32::from_be_bytes(self.field(at))
    }

    pub fn tag(&self) -> u32 {
        self.u32(at::TASK_TAG)
    }

    /// A byte of the SCSI command.
    pub fn cdb(&self, byte: usize) -> u8 {
        self.header[at::CDB + byte]
    }

    /// What its initiator expects a command with one of these flags to move, bytes; with others,
    /// nothing.
    pub fn expected(&self, flags: u8) -> usize {
        if self.flags() & flags != 0 { self.u32(at::EXPECTED_LEN) as usize } else { 0 }
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
        if header[0] & OPCODE == from_initiator::COMMAND {
            // What comes later is put behind it. A claim alone is worth no memory: there is room
            // for a few times what came.
            let expected = &header[at::EXPECTED_LEN..];
            let expected = expected.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes)) as usize;
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

/// Bytes of further headers, and of data.
fn lens(header: &[u8; HEADER]) -> (usize, usize) {
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
