//! The fixed newstyle handshake: the client sends options until it has chosen an export, or goes
//! away.

use std::io::{self, Read, Write};
use std::sync::Arc;

use engine_api::Volume;

use crate::exports::Exports;
use crate::wire::{
    ALLOCATION, ALLOCATION_ID, Cursor, MAGIC, MAX_OPTION, MAX_OPTIONS, MAX_PAYLOAD, OPTION_MAGIC,
    OPTION_REPLY_MAGIC, handshake, info, option, option_reply as reply, take, transmission,
};

/// What a connection has agreed on.
pub struct Agreed {
    pub name: String,
    pub volume: Arc<dyn Volume>,
    pub structured: bool,
    /// The client may ask what is allocated.
    pub allocation: bool,
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Size and flags of an export as they are now.
fn describe(volume: &dyn Volume) -> engine_api::Result<(u64, u16, u32)> {
    let geometry = volume.geometry()?;
    let mut flags = transmission::HAS_FLAGS
        | transmission::SEND_FLUSH
        | transmission::SEND_FUA
        | transmission::SEND_TRIM
        | transmission::SEND_WRITE_ZEROES
        | transmission::SEND_DF
        | transmission::CAN_MULTI_CONN
        | transmission::SEND_FAST_ZERO;
    if geometry.readonly {
        flags |= transmission::READ_ONLY;
    }
    Ok((geometry.size, flags, geometry.block))
}

/// The negotiation of one connection.
struct Negotiation<'a, R, W> {
    from: R,
    to: W,
    exports: &'a dyn Exports,
    structured: bool,
    /// For which export.
    allocation: Option<String>,
}

/// `None`: the client went away without an export.
pub fn negotiate(from: impl Read, to: impl Write, exports: &dyn Exports) -> io::Result<Option<Agreed>> {
    Negotiation { from, to, exports, structured: false, allocation: None }.run()
}

impl<R: Read, W: Write> Negotiation<'_, R, W> {
    fn run(mut self) -> io::Result<Option<Agreed>> {
        let mut hello = Vec::with_capacity(18);
        hello.extend(MAGIC.to_be_bytes());
        hello.extend(OPTION_MAGIC.to_be_bytes());
        hello.extend((handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
        self.to.write_all(&hello)?;
        let flags = take(&mut self.from, 4)?;
        let flags = Cursor(&flags).u32().unwrap_or(0);
        if flags & !u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES) != 0 {
            return Err(broken("flags of the client that nobody defined"));
        }
        let zeroes = flags & u32::from(handshake::NO_ZEROES) == 0;
        for _ in 0..MAX_OPTIONS {
            let head = take(&mut self.from, 16)?;
            let mut head = Cursor(&head);
            let (magic, kind, len) = (head.u64(), head.u32().unwrap_or(0), head.u32().unwrap_or(0));
            if magic != Some(OPTION_MAGIC) {
                return Err(broken("not an option"));
            }
            if len > MAX_OPTION {
                // There is nothing to gain from reading it.
                self.reply(kind, reply::TOO_BIG, b"")?;
                return Err(broken("an option that is too long"));
            }
            let data = take(&mut self.from, len)?;
            match kind {
                option::EXPORT_NAME => return self.export_name(&data, zeroes),
                option::ABORT => {
                    self.reply(kind, reply::ACK, b"")?;
                    return Ok(None);
                }
                option::LIST if data.is_empty() => self.list()?,
                option::STRUCTURED_REPLY if data.is_empty() => {
                    self.structured = true;
                    self.reply(kind, reply::ACK, b"")?;
                }
                option::LIST | option::STRUCTURED_REPLY => {
                    self.reply(kind, reply::INVALID, b"this option carries no data")?;
                }
                option::INFO | option::GO => {
                    if let Some(agreed) = self.info(kind, &data)?
                        && kind == option::GO
                    {
                        return Ok(Some(agreed));
                    }
                }
                option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(kind, &data)?,
                _ => self.reply(kind, reply::UNSUPPORTED, b"")?,
            }
        }
        Err(broken("options without end"))
    }

    fn reply(&mut self, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(20 + data.len());
        bytes.extend(OPTION_REPLY_MAGIC.to_be_bytes());
        bytes.extend(option.to_be_bytes());
        bytes.extend(kind.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        self.to.write_all(&bytes)
    }

    fn list(&mut self) -> io::Result<()> {
        for name in self.exports.names() {
            let data = [&(name.len() as u32).to_be_bytes(), name.as_bytes()].concat();
            self.reply(option::LIST, reply::SERVER, &data)?;
        }
        self.reply(option::LIST, reply::ACK, b"")
    }

    fn agreed(&self, name: &str, volume: Arc<dyn Volume>) -> Agreed {
        let allocation = self.structured && self.allocation.as_deref() == Some(name);
        Agreed { name: name.to_owned(), volume, structured: self.structured, allocation }
    }

    /// The old way to choose: it cannot say no but by going away.
    fn export_name(&mut self, data: &[u8], zeroes: bool) -> io::Result<Option<Agreed>> {
        let name = std::str::from_utf8(data).map_err(|_| broken("a name that is not UTF-8"))?;
        let volume = self.exports.open(name).map_err(|error| broken(&format!("{name}: {error}")))?;
        let (size, flags, _) = describe(&*volume).map_err(|error| broken(&format!("{name}: {error}")))?;
        let mut bytes = [&size.to_be_bytes()[..], &flags.to_be_bytes()].concat();
        if zeroes {
            bytes.extend([0; 124]);
        }
        self.to.write_all(&bytes)?;
        Ok(Some(self.agreed(name, volume)))
    }

    fn info(&mut self, kind: u32, data: &[u8]) -> io::Result<Option<Agreed>> {
        let Some((name, wanted)) = asked_of(data) else {
            self.reply(kind, reply::INVALID, b"a name and a list of numbers were expected")?;
            return Ok(None);
        };
        let described = self.exports.open(name).and_then(|volume| Ok((describe(&*volume)?, volume)));
        let ((size, flags, block), volume) = match described {
            Ok(described) => described,
            Err(error) => {
                self.reply(kind, reply::UNKNOWN, format!("{name}: {error}").as_bytes())?;
                return Ok(None);
            }
        };
        let export = [&info::EXPORT.to_be_bytes()[..], &size.to_be_bytes(), &flags.to_be_bytes()].concat();
        self.reply(kind, reply::INFO, &export)?;
        if wanted.contains(&info::NAME) {
            let named = [&info::NAME.to_be_bytes()[..], name.as_bytes()].concat();
            self.reply(kind, reply::INFO, &named)?;
        }
        // Any place and length will do; whole blocks are cheapest.
        let sizes = [1, block, MAX_PAYLOAD].map(u32::to_be_bytes).concat();
        self.reply(kind, reply::INFO, &[&info::BLOCK_SIZE.to_be_bytes()[..], &sizes].concat())?;
        self.reply(kind, reply::ACK, b"")?;
        Ok(Some(self.agreed(name, volume)))
    }

    fn contexts(&mut self, kind: u32, data: &[u8]) -> io::Result<()> {
        let sets = kind == option::SET_META_CONTEXT;
        if sets {
            self.allocation = None;
        }
        let Some((name, queries)) = queries_of(data) else {
            return self.reply(kind, reply::INVALID, b"a name and a list of names were expected");
        };
        if !self.structured {
            return self.reply(kind, reply::INVALID, b"structured replies come first");
        }
        if let Err(error) = self.exports.open(name) {
            return self.reply(kind, reply::UNKNOWN, format!("{name}: {error}").as_bytes());
        }
        let lists = |query: &&str| *query == ALLOCATION || *query == "base:" && !sets;
        if queries.iter().any(lists) || queries.is_empty() && !sets {
            let id = if sets { ALLOCATION_ID } else { 0 };
            self.reply(kind, reply::META_CONTEXT, &[&id.to_be_bytes()[..], ALLOCATION.as_bytes()].concat())?;
            if sets {
                self.allocation = Some(name.to_owned());
            }
        }
        self.reply(kind, reply::ACK, b"")
    }
}

/// Of INFO and GO: the export, and what is asked about it.
fn asked_of(data: &[u8]) -> Option<(&str, Vec<u16>)> {
    let mut at = Cursor(data);
    let name = at.text()?;
    let count = at.u16()?;
    let wanted: Option<Vec<u16>> = (0..count).map(|_| at.u16()).collect();
    Some((name, wanted.filter(|_| at.0.is_empty())?))
}

/// Of the options about metadata contexts: the export, and which are asked for.
fn queries_of(data: &[u8]) -> Option<(&str, Vec<&str>)> {
    let mut at = Cursor(data);
    let name = at.text()?;
    let count = at.u32()?;
    // Each takes its length at least, so what is collected is bounded by what was sent.
    let queries: Option<Vec<&str>> = (0..count).map(|_| at.text()).collect();
    Some((name, queries.filter(|_| at.0.is_empty())?))
}
