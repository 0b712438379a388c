//! The history of what the appliance does: a value each ten seconds for a day, each minute for a
//! week, each hour for two years. It is one file, of rings of rows, one a resolution.
//!
//! The size of the file is fixed from the start. So what history takes of a disk does not depend on
//! time, nor on what is done.
//!
//! ```text
//!   0        8 KiB                                                             FILE_BYTES
//!   ├ names ─┼─ each 10 s, 8,640 rows ─┼─ each minute, 10,080 ─┼─ each hour, 17,544 ──┤
//! ```
//! A row stands where its time says: its number is the time divided by the resolution, modulo the
//! rows of the ring. It carries that time and a checksum. So nothing else has to be written for it,
//! a row that was half written when the program was killed counts as missing, and one that is there
//! from the last time around is known by its time. A row of a coarser ring is the mean of those of
//! the finer one, made when its time is over.
//!
//! A series has its place in rows by the table of names, for good: so there are [`SERIES`] of them,
//! and those beyond are left out.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Seconds between rows of the finest ring.
pub const EVERY: u64 = 10;
/// Series at the most.
pub const SERIES: usize = 64;
/// Resolutions in seconds, and rows: a day, a week, two years and a day.
const RINGS: [Ring; 3] =
    [Ring { step: EVERY, rows: 8_640 }, Ring { step: 60, rows: 10_080 }, Ring { step: 3600, rows: 17_544 }];

/// No time is asked for that is later: some 35,000 years.
const LATEST: u64 = 1 << 40;
const MAGIC: &[u8; 8] = b"CISTHIS1";
/// Of a name, with its length before it.
const NAME_BYTES: usize = 120;
const HEAD_BYTES: usize = 8 << 10;
/// A row: its time in seconds since 1970, a checksum of the rest, a value for each series; not a
/// number where there is none.
const ROW_BYTES: usize = 8 + 4 + 4 * SERIES;
/// Bytes of the whole file.
pub const FILE_BYTES: u64 = HEAD_BYTES as u64 + (8_640 + 10_080 + 17_544) * ROW_BYTES as u64;
const _: () = assert!(FILE_BYTES <= 10 << 20);
const _: () = assert!(MAGIC.len() + 4 + SERIES * (1 + NAME_BYTES) <= HEAD_BYTES);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Ring {
    step: u64,
    rows: u64,
}

type Row = [f32; SERIES];

/// See the module.
pub struct History {
    file: File,
    names: Vec<String>,
    /// When the last row was noted.
    last: Option<u64>,
}

/// How a history was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Opened {
    New,
    AsItWas,
    /// It was no history, and is kept under another name.
    Damaged {
        kept: PathBuf,
    },
}

/// A part of some series.
#[derive(Debug, PartialEq)]
pub struct Part {
    /// Seconds between values.
    pub step: u64,
    /// The time of the first: seconds since 1970.
    pub first: u64,
    /// Of each series; `None` where nothing was noted.
    pub values: Vec<Vec<Option<f64>>>,
}

impl History {
    /// Opens a file, or makes it.
    pub fn open(path: &Path) -> io::Result<(History, Opened)> {
        let options = |new: bool| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(new).mode(0o600);
            options
        };
        let begin = || -> io::Result<History> {
            let file = options(true).open(path)?;
            let history = History { file, names: Vec::new(), last: None };
            // Sparse: it takes what was written of it.
            history.file.set_len(FILE_BYTES)?;
            history.write_names()?;
            Ok(history)
        };
        let file = match options(false).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((begin()?, Opened::New)),
            Err(error) => return Err(error),
        };
        match read_names(&file)? {
            Some(names) => {
                let mut history = History { file, names, last: None };
                history.last = history.newest()?;
                Ok((history, Opened::AsItWas))
            }
            None => {
                let kept = path.with_extension("damaged");
                fs::rename(path, &kept)?;
                Ok((begin()?, Opened::Damaged { kept }))
            }
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The time of the newest row: what it completes of coarser rings may not have been written.
    fn newest(&self) -> io::Result<Option<u64>> {
        let mut rows = vec![0; RINGS[0].rows as usize * ROW_BYTES];
        self.file.read_exact_at(&mut rows, HEAD_BYTES as u64)?;
        let (rows, _) = rows.as_chunks::<ROW_BYTES>();
        let whole = rows.iter().filter(|row| row[8..12] == checksum(row).to_le_bytes());
        Ok(whole.map(time_of).filter(|time| *time > 0).max())
    }

    fn write_names(&self) -> io::Result<()> {
        let mut head = vec![0; HEAD_BYTES];
        head[..8].copy_from_slice(MAGIC);
        for (name, place) in self.names.iter().zip(head[12..].chunks_exact_mut(1 + NAME_BYTES)) {
            place[0] = name.len() as u8;
            place[1..=name.len()].copy_from_slice(name.as_bytes());
        }
        let sum = crc32c::crc32c(&head[12..]);
        head[8..12].copy_from_slice(&sum.to_le_bytes());
        self.file.write_all_at(&head, 0)
    }

    /// Notes values at a time, and what that completes of coarser rings. Series that are too many,
    /// or whose name is too long, are left out.
    pub fn note(&mut self, time: u64, values: &[(String, f64)]) -> io::Result<()> {
        let new = values.iter().map(|(name, _)| name).filter(|name| name.len() <= NAME_BYTES);
        let new: Vec<String> = new.filter(|name| !self.names.contains(name)).cloned().collect();
        if !new.is_empty() && self.names.len() < SERIES {
            self.names.extend(new);
            self.names.truncate(SERIES);
            self.write_names()?;
        }
        let time = time / EVERY * EVERY;
        if let Some(last) = self.last.filter(|last| *last < time) {
            for finer in RINGS.windows(2) {
                let [finer, coarser] = [finer[0], finer[1]];
                let begun = last / coarser.step * coarser.step;
                if begun + coarser.step <= time {
                    let mean = self.mean(finer, begun, coarser.step)?;
                    self.write(coarser, begun, &mean)?;
                }
            }
        }
        let mut row = [f32::NAN; SERIES];
        for (name, value) in values {
            if let Some(place) = self.names.iter().position(|known| known == name) {
                row[place] = *value as f32;
            }
        }
        self.write(RINGS[0], time, &row)?;
        self.last = Some(time);
        Ok(())
    }

    /// The mean of the rows of a time, for each series that has a value in any.
    fn mean(&self, ring: Ring, from: u64, span: u64) -> io::Result<Row> {
        let (mut sums, mut counts) = ([0f64; SERIES], [0u32; SERIES]);
        for time in (from..from + span).step_by(ring.step as usize) {
            let Some(row) = self.row(ring, time)? else { continue };
            for (place, value) in row.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                sums[place] += f64::from(*value);
                counts[place] += 1;
            }
        }
        Ok(std::array::from_fn(|place| match counts[place] {
            0 => f32::NAN,
            count => (sums[place] / f64::from(count)) as f32,
        }))
    }

    fn place(ring: Ring, time: u64) -> u64 {
        let before = RINGS.iter().take_while(|one| **one != ring).map(|one| one.rows).sum::<u64>();
        HEAD_BYTES as u64 + (before + time / ring.step % ring.rows) * ROW_BYTES as u64
    }

    fn write(&self, ring: Ring, time: u64, row: &Row) -> io::Result<()> {
        let mut bytes = [0; ROW_BYTES];
        bytes[..8].copy_from_slice(&time.to_le_bytes());
        for (value, place) in row.iter().zip(bytes[12..].chunks_exact_mut(4)) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        let sum = checksum(&bytes);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        self.file.write_all_at(&bytes, History::place(ring, time))
    }

    /// `None`: nothing was noted then, or it is not whole.
    fn row(&self, ring: Ring, time: u64) -> io::Result<Option<Row>> {
        let mut bytes = [0; ROW_BYTES];
        self.file.read_exact_at(&mut bytes, History::place(ring, time))?;
        let is_it = time_of(&bytes) == time && bytes[8..12] == checksum(&bytes).to_le_bytes();
        let value = |place: usize| {
            let at = 12 + 4 * place;
            f32::from_bits(number(&bytes[at..at + 4]) as u32)
        };
        Ok(is_it.then(|| std::array::from_fn(value)))
    }

    /// Of these series the time `from ..= to`, in the finest resolution that reaches so far back
    /// from `now`, and has no more than so many values.
    pub fn read(
        &self,
        series: &[&str],
        (from, to): (u64, u64),
        (now, points): (u64, u64),
    ) -> io::Result<Part> {
        let (from, to) = (from.min(LATEST), to.min(LATEST));
        let reaches = |ring: &&Ring| from + ring.step * (ring.rows - 1) >= now;
        let is_short = |ring: &&Ring| (to - from) / ring.step < points;
        let fits = RINGS.iter().find(|ring| reaches(ring) && is_short(ring));
        let ring = *fits.unwrap_or(&RINGS[RINGS.len() - 1]);
        let first = from.div_ceil(ring.step) * ring.step;
        // Where even the coarsest has more, the newest of them.
        let last = to / ring.step * ring.step;
        let first = first.max((last + ring.step).saturating_sub(points.min(ring.rows) * ring.step));
        let places: Vec<Option<usize>> =
            series.iter().map(|name| self.names.iter().position(|known| known == name)).collect();
        let mut values = vec![Vec::new(); series.len()];
        for time in (first..=last).step_by(ring.step as usize) {
            let row = self.row(ring, time)?;
            for (place, values) in places.iter().zip(&mut values) {
                let value = place.and_then(|place| row.as_ref().map(|row| row[place]));
                values.push(value.filter(|value| value.is_finite()).map(f64::from));
            }
        }
        Ok(Part { step: ring.step, first, values })
    }
}

fn time_of(row: &[u8; ROW_BYTES]) -> u64 {
    number(&row[..8])
}

/// Of up to eight bytes, the least first.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn checksum(row: &[u8; ROW_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&row[..8]), &row[12..])
}

/// `None`: it is no history, or not of this form.
fn read_names(file: &File) -> io::Result<Option<Vec<String>>> {
    if file.metadata()?.len() != FILE_BYTES {
        return Ok(None);
    }
    let mut head = vec![0; HEAD_BYTES];
    file.read_exact_at(&mut head, 0)?;
    if head[..8] != *MAGIC || head[8..12] != crc32c::crc32c(&head[12..]).to_le_bytes() {
        return Ok(None);
    }
    let places = head[12..].chunks_exact(1 + NAME_BYTES).take(SERIES).take_while(|place| place[0] > 0);
    let name = |place: &[u8]| {
        let bytes = place.get(1..=usize::from(place[0]))?;
        Some(std::str::from_utf8(bytes).ok()?.to_owned())
    };
    Ok(places.map(name).collect())
}

#[cfg(test)]
mod tests;
