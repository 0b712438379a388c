//! A version of the machine's state as one file, for a place that outlives the system disk.
//!
//! ```text
//!   "CSTNSTAT"  format: u32  length of the head: u32          little endian
//!   head: number: u64  time: i64  users: u32  digest: 32 bytes  host  program  pieces: u8
//!         and of each piece: which: u8  length: u64           texts are length: u16 and UTF-8
//!   SHA-256 of all before
//!   the pieces, one after the other
//!   SHA-256 of all before
//! ```
//!
//! Invariants: a file is read from front to back in small pieces, and takes no more memory than
//! these, whatever it says. Whatever its bytes are, it gives a value or a [`Flaw`]. A checksum
//! tells damage, and not who wrote the file. A format is never changed after it was released.

use std::fmt;
use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};
use stdx::cursor::{Endian, Reader};

const MAGIC: [u8; 8] = *b"CSTNSTAT";
/// The newest format that is known, which is written.
pub const FORMAT: u32 = 1;
/// Bytes of the largest file that may be one.
pub const LONGEST: u64 = 452 << 20;
/// Of a head, in bytes: twice what names and pieces take.
const LONGEST_HEAD: usize = 1 << 10;
const LONGEST_TEXT: usize = 255;
/// Before the head.
const START: usize = 16;
const CHECKSUM: usize = 32;
/// Bytes that are copied at a time.
const CHUNK: usize = 64 << 10;

/// A part of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piece {
    /// `machine.db`, as one file.
    Database,
    /// The certificate of HTTPS, in PEM.
    Certificate,
    /// Its private key.
    Key,
    /// Which pool versions are kept in.
    Keeping,
}

impl Piece {
    const ALL: [Piece; 4] = [Piece::Database, Piece::Certificate, Piece::Key, Piece::Keeping];

    fn code(self) -> u8 {
        match self {
            Piece::Database => 1,
            Piece::Certificate => 2,
            Piece::Key => 3,
            Piece::Keeping => 4,
        }
    }

    /// Bytes that it may have. A full audit log has some 100 MiB, of the longest records 350.
    fn longest(self) -> u64 {
        match self {
            Piece::Database => 448 << 20,
            Piece::Certificate | Piece::Key => 1 << 20,
            Piece::Keeping => 4 << 10,
        }
    }
}

/// What a version says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub number: u64,
    /// When it was written, in seconds since 1970.
    pub time: i64,
    /// How many accounts are in it.
    pub users: u32,
    /// Of what is in it, so far as a change of that is worth another version.
    pub digest: [u8; 32],
    /// Name of the machine.
    pub host: String,
    /// Version of the program.
    pub program: String,
    /// What follows, with lengths in bytes: each piece once, a database among them, and a key where
    /// there is a certificate.
    pub pieces: Vec<(Piece, u64)>,
}

/// Why a file is no version that can be used.
#[derive(Debug)]
pub enum Flaw {
    /// It is none at all.
    NotOurs,
    NewerFormat(u32),
    /// It ends too early, or does not end where it should.
    Length,
    /// The head contradicts itself.
    Head,
    Checksum,
    /// It cannot be read.
    Read(io::Error),
    /// What is in it cannot be written.
    Write(io::Error),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::NotOurs => write!(f, "it is no version of a machine's state"),
            Flaw::NewerFormat(found) => write!(f, "it has format {found}"),
            Flaw::Length => write!(f, "it is not as long as it has to be"),
            Flaw::Head => write!(f, "its head contradicts itself"),
            Flaw::Checksum => write!(f, "its checksum is wrong"),
            Flaw::Read(error) | Flaw::Write(error) => error.fmt(f),
        }
    }
}

impl Head {
    /// Of the whole file.
    pub fn size(&self) -> u64 {
        (START + self.body().len() + CHECKSUM) as u64 + self.pieces_size() + CHECKSUM as u64
    }

    /// The piece that is longer than it may be, with its length and the longest.
    pub fn too_long(&self) -> Option<(u64, u64)> {
        let found = self.pieces.iter().find(|(piece, len)| *len > piece.longest());
        found.map(|(piece, len)| (*len, piece.longest()))
    }

    fn pieces_size(&self) -> u64 {
        self.pieces.iter().map(|(_, len)| len).sum()
    }

    fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend(self.number.to_le_bytes());
        body.extend(self.time.to_le_bytes());
        body.extend(self.users.to_le_bytes());
        body.extend(self.digest);
        for text in [&self.host, &self.program] {
            let text = cut(text);
            body.extend((text.len() as u16).to_le_bytes());
            body.extend(text.as_bytes());
        }
        body.push(self.pieces.len() as u8);
        for (piece, len) in &self.pieces {
            body.push(piece.code());
            body.extend(len.to_le_bytes());
        }
        body
    }

    /// `None`: it contradicts itself.
    fn parse(body: &[u8]) -> Option<Head> {
        let mut from = Reader::new(body, Endian::Little);
        let number = from.u64()?;
        let time = from.u64()?.cast_signed();
        let users = from.u32()?;
        let digest = from.array()?;
        let (host, program) = (text(&mut from)?, text(&mut from)?);
        let count = from.u8()?;
        let mut pieces = Vec::new();
        for _ in 0..count {
            let code = from.u8()?;
            let piece = Piece::ALL.into_iter().find(|piece| piece.code() == code)?;
            if pieces.iter().any(|(known, _)| *known == piece) {
                return None;
            }
            pieces.push((piece, from.u64()?));
        }
        let head = Head { number, time, users, digest, host, program, pieces };
        let has = |wanted| head.pieces.iter().any(|(piece, _)| *piece == wanted);
        let is_whole = from.is_empty()
            && has(Piece::Database)
            && has(Piece::Certificate) == has(Piece::Key)
            && head.too_long().is_none();
        is_whole.then_some(head)
    }
}

/// For [`Head::digest`]: of several things, none of which ends with a part of another.
pub fn digest(of: &[&[u8]]) -> [u8; 32] {
    let mut all = Sha256::new();
    for part in of {
        all.update((part.len() as u64).to_le_bytes());
        all.update(part);
    }
    all.finalize().into()
}

/// What fits, whole characters.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn text(from: &mut Reader<'_>) -> Option<String> {
    let len = usize::from(from.u16()?);
    let bytes = from.take(len).filter(|_| len <= LONGEST_TEXT)?;
    String::from_utf8(bytes.to_vec()).ok()
}

/// Writes a version: its head, and the pieces that the head names, in their order. Fails where one
/// has fewer bytes; what it has beyond that is left out.
pub fn write(head: &Head, pieces: &mut [&mut dyn Read], to: &mut dyn Write) -> io::Result<()> {
    let mut to = Hashed { inner: to, hash: Sha256::new() };
    let body = head.body();
    to.write_all(&MAGIC)?;
    to.write_all(&FORMAT.to_le_bytes())?;
    to.write_all(&(body.len() as u32).to_le_bytes())?;
    to.write_all(&body)?;
    let sum = to.hash.clone().finalize();
    to.write_all(&sum)?;
    for ((_, len), piece) in head.pieces.iter().zip(pieces) {
        if io::copy(&mut piece.take(*len), &mut to)? != *len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let sum = to.hash.clone().finalize();
    to.write_all(&sum)?;
    to.inner.flush()
}

/// Reads the head of a file of so many bytes.
pub fn read_head(from: &mut dyn Read, size: u64) -> Result<Head, Flaw> {
    head(&mut Source { inner: from, hash: Sha256::new() }, size)
}

/// Reads all of a file of so many bytes, and gives each piece to what `open` opens for it. With the
/// checksum of the whole. What was written is worth nothing where this fails.
pub fn unpack(
    from: &mut dyn Read,
    size: u64,
    open: &mut dyn FnMut(Piece) -> io::Result<Box<dyn Write>>,
) -> Result<(Head, [u8; 32]), Flaw> {
    let mut from = Source { inner: from, hash: Sha256::new() };
    let head = head(&mut from, size)?;
    let mut chunk = vec![0; CHUNK];
    for (piece, len) in &head.pieces {
        let mut to = open(*piece).map_err(Flaw::Write)?;
        let mut left = *len;
        while left > 0 {
            let part = &mut chunk[..CHUNK.min(usize::try_from(left).unwrap_or(CHUNK))];
            from.fill(part)?;
            to.write_all(part).map_err(Flaw::Write)?;
            left -= part.len() as u64;
        }
        to.flush().map_err(Flaw::Write)?;
    }
    let sum = from.checked()?;
    Ok((head, sum))
}

fn head(from: &mut Source<'_>, size: u64) -> Result<Head, Flaw> {
    let mut start = [0; START];
    if size < START as u64 {
        return Err(Flaw::NotOurs);
    }
    from.fill(&mut start)?;
    let mut fields = Reader::new(&start, Endian::Little);
    let (magic, format, len) = (fields.array(), fields.u32(), fields.u32());
    if magic != Some(MAGIC) {
        return Err(Flaw::NotOurs);
    }
    match format {
        Some(FORMAT) => {}
        Some(found) if found > FORMAT => return Err(Flaw::NewerFormat(found)),
        _ => return Err(Flaw::NotOurs),
    }
    let len = len.and_then(|len| usize::try_from(len).ok()).filter(|len| *len <= LONGEST_HEAD);
    let mut body = vec![0; len.ok_or(Flaw::Head)?];
    from.fill(&mut body)?;
    from.checked()?;
    let head = Head::parse(&body).ok_or(Flaw::Head)?;
    if head.size() == size { Ok(head) } else { Err(Flaw::Length) }
}

/// Writes through, and computes a checksum of it.
struct Hashed<'a> {
    inner: &'a mut dyn Write,
    hash: Sha256,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Reads, and computes a checksum of it.
struct Source<'a> {
    inner: &'a mut dyn Read,
    hash: Sha256,
}

impl Source<'_> {
    fn take(&mut self, into: &mut [u8]) -> Result<(), Flaw> {
        self.inner.read_exact(into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Flaw::Length,
            _ => Flaw::Read(error),
        })
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Flaw> {
        self.take(into)?;
        self.hash.update(&*into);
        Ok(())
    }

    /// Reads the checksum of all before, and gives it if it is right.
    fn checked(&mut self) -> Result<[u8; 32], Flaw> {
        let right: [u8; CHECKSUM] = self.hash.clone().finalize().into();
        let mut found = [0; CHECKSUM];
        self.take(&mut found)?;
        self.hash.update(found);
        if found == right { Ok(right) } else { Err(Flaw::Checksum) }
    }
}

#[cfg(test)]
mod tests;
