//! Copying between volumes, piece by piece, holes as holes.
//!
//! A piece is read whole before any of it is written, and where a range moves up within its own
//! volume, pieces are taken from its end: so it may overlap with where it goes. Each piece is whole
//! for others, the range is not.
//!
//! Volumes of one pool could share blocks instead, once the feature block_cloning is built: here is
//! the place, both are known by their [`engine_api::VolumeId`].

use engine_api::{Error, Result, Seek, Stable, Volume};

/// Bytes that are copied at a time.
const PIECE: u64 = 1 << 20;

/// A stretch of a piece: where it begins in the source, its length, and what is there if it is no
/// hole.
struct Run {
    at: u64,
    len: u64,
    data: Option<Vec<u8>>,
}

/// Copies `len` bytes at `from` of a volume to another, or to another place in it.
pub(super) fn copy(source: &dyn Volume, from: u64, target: &dyn Volume, to: u64, len: u64) -> Result<()> {
    for (volume, offset) in [(source, from), (target, to)] {
        let size = volume.geometry()?.size;
        if offset.checked_add(len).is_none_or(|end| end > size) {
            return Err(Error::Invalid("past the end of the volume".into()));
        }
    }
    let moves_up = source.id() == target.id() && from < to && to - from < len;
    let pieces = len.div_ceil(PIECE);
    for number in 0..pieces {
        let number = if moves_up { pieces - 1 - number } else { number };
        let at = number * PIECE;
        for run in runs(source, from + at, (len - at).min(PIECE))? {
            let place = to + (run.at - from);
            match run.data {
                Some(data) => target.write(place, &data, Stable::Unstable)?,
                None => target.write_zeroes(place, run.len, Stable::Unstable)?,
            }
        }
    }
    Ok(())
}

fn runs(source: &dyn Volume, from: u64, len: u64) -> Result<Vec<Run>> {
    let (mut at, end) = (from, from + len);
    let mut runs = Vec::new();
    while at < end {
        let data = source.seek(at, Seek::Data)?.min(end);
        if data > at {
            runs.push(Run { at, len: data - at, data: None });
            at = data;
            continue;
        }
        let len = source.seek(at, Seek::Hole)?.min(end) - at;
        let read = source.read(at, len as usize)?;
        runs.push(Run { at, len, data: Some(read.to_vec()) });
        at += len;
    }
    Ok(runs)
}
