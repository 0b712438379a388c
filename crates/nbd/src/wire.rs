//! Numbers and forms of the protocol, and the bounds within which a peer is believed. All numbers
//! are big-endian.

use std::io::{self, Read};

pub const MAGIC: u64 = 0x4e42_444d_4147_4943;
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Bytes that one request may carry or ask for: what clients assume where nobody says.
pub const MAX_PAYLOAD: u32 = 32 << 20;
/// Bytes that an option may carry.
pub const MAX_OPTION: u32 = 64 << 10;
/// Bytes of a name.
pub const MAX_NAME: usize = 4096;
/// Options that a client may send before it has chosen.
pub const MAX_OPTIONS: usize = 256;
/// Ranges that one answer about allocation tells of; the client asks again for more.
pub const MAX_EXTENTS: usize = 4096;

/// Flags of the handshake; the client's have the same places.
pub mod handshake {
    pub const FIXED_NEWSTYLE: u16 = 1;
    pub const NO_ZEROES: u16 = 2;
}

pub mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
}

pub mod option_reply {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    pub const UNSUPPORTED: u32 = 1 << 31 | 1;
    pub const INVALID: u32 = 1 << 31 | 3;
    pub const UNKNOWN: u32 = 1 << 31 | 6;
    pub const TOO_BIG: u32 = 1 << 31 | 9;
}

pub mod info {
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const BLOCK_SIZE: u16 = 3;
}

/// What an export can do.
pub mod transmission {
    pub const HAS_FLAGS: u16 = 1;
    pub const READ_ONLY: u16 = 1 << 1;
    pub const SEND_FLUSH: u16 = 1 << 2;
    pub const SEND_FUA: u16 = 1 << 3;
    pub const SEND_TRIM: u16 = 1 << 5;
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    pub const SEND_DF: u16 = 1 << 7;
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

pub mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISCONNECT: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
    pub const FLAG_FUA: u16 = 1;
    pub const FLAG_REQ_ONE: u16 = 1 << 3;

    /// What a request is called, for who looks at requests.
    pub fn name(command: u16) -> &'static str {
        match command {
            READ => "READ",
            WRITE => "WRITE",
            FLUSH => "FLUSH",
            TRIM => "TRIM",
            WRITE_ZEROES => "WRITE_ZEROES",
            BLOCK_STATUS => "BLOCK_STATUS",
            _ => "OTHER",
        }
    }
}

/// Structured replies.
pub mod chunk {
    pub const FLAG_DONE: u16 = 1;
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const BLOCK_STATUS: u16 = 5;
    pub const ERROR: u16 = 1 << 15 | 1;
}

pub mod error {
    pub const PERM: u32 = 1;
    pub const IO: u32 = 5;
    pub const INVALID: u32 = 22;
    pub const NO_SPACE: u32 = 28;
    pub const OVERFLOW: u32 = 75;
    pub const NOT_SUPPORTED: u32 = 95;
    pub const SHUTDOWN: u32 = 108;
}

/// `base:allocation`, and what it says of a range.
pub const ALLOCATION: &str = "base:allocation";
pub const ALLOCATION_ID: u32 = 1;
pub const STATE_DATA: u32 = 0;
pub const STATE_HOLE_ZERO: u32 = 3;

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub flags: u16,
    pub command: u16,
    pub cookie: u64,
    pub offset: u64,
    pub len: u32,
}

impl Request {
    pub const SIZE: usize = 28;

    /// `None`: not a request, so there is no telling where the next begins.
    pub fn decode(bytes: &[u8; Request::SIZE]) -> Option<Request> {
        let mut at = Cursor(bytes);
        (at.u32()? == REQUEST_MAGIC).then_some(())?;
        Some(Request {
            flags: at.u16()?,
            command: at.u16()?,
            cookie: at.u64()?,
            offset: at.u64()?,
            len: at.u32()?,
        })
    }
}

/// Takes numbers and texts off the front of what a peer sent.
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A length and so many bytes of UTF-8.
    pub fn text(&mut self) -> Option<&'a str> {
        let len = self.u32()? as usize;
        if len > MAX_NAME {
            return None;
        }
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        std::str::from_utf8(head).ok()
    }
}

/// So many bytes of a peer. `len` must be bounded by the caller.
pub fn take(from: &mut impl Read, len: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len as usize];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}
