//! Send streams as a row of records with payloads, and the running checksum that holds them
//! together.
//!
//! Sources: module/zfs/dmu_send.c (`dump_record`), dmu_recv.c
//! (`receive_read_payload_and_next_header`).

use std::fmt;
use std::io::{self, Read, Write};

use codec::{fletcher4_append, fletcher4_join};
use ondisk::blkptr::Checksum;
use ondisk::send::{self, Begin, CHECKSUM_AT, RECORD_SIZE, Record};
use ondisk::{Endian, Malformed};

/// Why a stream cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamError {
    /// It ends before its end.
    Truncated,
    /// A record or what is before it is not what was sent.
    Checksum,
    /// It begins like none.
    Magic,
    Malformed(Malformed),
    /// The sender failed, or the way from it.
    Io(String),
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamError::Truncated => f.write_str("incomplete stream"),
            StreamError::Checksum => f.write_str("checksum mismatch"),
            StreamError::Magic => f.write_str("bad magic number"),
            StreamError::Malformed(what) => what.fmt(f),
            StreamError::Io(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for StreamError {}

impl From<Malformed> for StreamError {
    fn from(error: Malformed) -> StreamError {
        StreamError::Malformed(error)
    }
}

/// How a snapshot is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Blocks above 128 KiB are not cut up.
    pub large_blocks: bool,
    /// What is small enough for block pointers is sent that small.
    pub embed: bool,
    /// Blocks are sent as compressed as they are.
    pub compress: bool,
}

impl Flags {
    /// What either asks for.
    pub(crate) fn and(self, more: Flags) -> Flags {
        Flags {
            large_blocks: self.large_blocks || more.large_blocks,
            embed: self.embed || more.embed,
            compress: self.compress || more.compress,
        }
    }
}

/// Takes a stream apart. No more is read than was asked for: another stream may follow.
pub struct RecordReader<'a> {
    from: &'a mut dyn Read,
    endian: Endian,
    sum: Checksum,
    /// Of everything before the last record.
    before: Checksum,
    bytes: u64,
}

impl<'a> RecordReader<'a> {
    pub fn new(from: &'a mut dyn Read) -> RecordReader<'a> {
        RecordReader { from, endian: Endian::Little, sum: [0; 4], before: [0; 4], bytes: 0 }
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The begin of the next stream, without its payload. `None`: there is none.
    pub fn begin(&mut self) -> Result<Option<Begin>, StreamError> {
        let mut bytes = [0; RECORD_SIZE];
        match self.fill(&mut bytes) {
            Err(StreamError::Truncated) if self.bytes == 0 => return Ok(None),
            read => read?,
        }
        self.begin_with(&bytes).map(Some)
    }

    fn begin_with(&mut self, bytes: &[u8; RECORD_SIZE]) -> Result<Begin, StreamError> {
        self.endian = send::endian_of(bytes).ok_or(StreamError::Magic)?;
        self.sum = [0; 4];
        self.add(bytes);
        match Record::decode(bytes, self.endian)? {
            Record::Begin(begin) => Ok(begin),
            _ => Err(StreamError::Magic),
        }
    }

    /// As [`RecordReader::begin`] inside of a compound stream, at whose end `None` is answered.
    pub fn next_begin(&mut self) -> Result<Option<Begin>, StreamError> {
        let mut bytes = [0; RECORD_SIZE];
        self.fill(&mut bytes)?;
        if let Ok(Record::End { .. }) = Record::decode(&bytes, self.endian) {
            return Ok(None);
        }
        self.begin_with(&bytes).map(Some)
    }

    /// The next record, without its payload. Its running checksum, and that of an END, are right.
    pub fn record(&mut self) -> Result<Record, StreamError> {
        let mut bytes = [0; RECORD_SIZE];
        self.fill(&mut bytes)?;
        self.before = self.sum;
        let (head, own) = bytes.split_at(CHECKSUM_AT);
        self.add(head);
        let wanted = send::checksum_of(&bytes, self.endian);
        if wanted != [0; 4] && wanted != self.sum {
            return Err(StreamError::Checksum);
        }
        self.add(own);
        let record = Record::decode(&bytes, self.endian)?;
        match &record {
            Record::End { checksum } if *checksum != self.before => Err(StreamError::Checksum),
            _ => Ok(record),
        }
    }

    /// Bytes of a payload, whose length has been judged.
    pub fn payload(&mut self, len: u64) -> Result<Vec<u8>, StreamError> {
        let mut bytes = Vec::new();
        // What is not there is not made room for.
        let read = (&mut *self.from).take(len).read_to_end(&mut bytes).map_err(failed)?;
        self.bytes += read as u64;
        if (read as u64) < len {
            return Err(StreamError::Truncated);
        }
        self.add(&bytes);
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), StreamError> {
        let mut at = 0;
        while at < bytes.len() {
            match self.from.read(&mut bytes[at..]) {
                Ok(0) => return Err(StreamError::Truncated),
                Ok(read) => {
                    at += read;
                    self.bytes += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) {
        self.sum = fletcher4_append(self.sum, bytes, self.endian == Endian::Big);
    }
}

fn failed(error: io::Error) -> StreamError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => StreamError::Truncated,
        _ => StreamError::Io(error.to_string()),
    }
}

/// Puts a stream together.
pub struct RecordWriter<'a> {
    to: &'a mut dyn Write,
    sum: Checksum,
    to_guid: u64,
}

impl<'a> RecordWriter<'a> {
    /// Writes the begin of a stream and the list that comes with it.
    pub fn begin(to: &'a mut dyn Write, begin: &Begin, payload: &[u8]) -> io::Result<RecordWriter<'a>> {
        let mut writer = RecordWriter { to, sum: [0; 4], to_guid: begin.to_guid };
        let bytes = Record::Begin(begin.clone()).encode(begin.to_guid);
        writer.put(&bytes)?;
        writer.put(payload)?;
        Ok(writer)
    }

    /// Writes a record and its payload, which is padded with zeros to what the record says.
    pub fn write(&mut self, record: &Record, payload: &[u8]) -> io::Result<()> {
        self.head(record)?;
        let len = record.payload_len() as usize;
        if payload.len() == len {
            return self.put(payload);
        }
        let mut padded = payload.to_vec();
        padded.resize(len, 0);
        self.put(&padded)
    }

    /// As [`RecordWriter::write`], of a whole payload whose own sums are known.
    pub fn write_summed(&mut self, record: &Record, payload: &[u8], sums: Checksum) -> io::Result<()> {
        assert_eq!(payload.len() as u64, record.payload_len());
        self.head(record)?;
        self.sum = fletcher4_join(self.sum, sums, payload.len() / 4);
        self.to.write_all(payload)
    }

    fn head(&mut self, record: &Record) -> io::Result<()> {
        let mut bytes = record.encode(self.to_guid);
        let sum = fletcher4_append(self.sum, &bytes[..CHECKSUM_AT], false);
        send::set_checksum(&mut bytes, sum);
        self.put(&bytes)
    }

    /// Writes the end.
    pub fn end(mut self) -> io::Result<()> {
        let checksum = self.sum;
        self.write(&Record::End { checksum }, &[])
    }

    /// Writes the end of the list that goes before other streams: it has no running checksum of its
    /// own.
    pub fn end_list(mut self) -> io::Result<()> {
        let bytes = Record::End { checksum: self.sum }.encode(0);
        self.put(&bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum = fletcher4_append(self.sum, bytes, false);
        self.to.write_all(bytes)
    }
}
