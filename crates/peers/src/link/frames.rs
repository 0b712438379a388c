//! The answer that has a stream in it, taken apart as it comes.
//!
//! Invariants: no more of it is kept than the head of a frame, and what is told in one, up to
//! [`REQUEST_MAX`] bytes. Nothing is taken behind its end, and it has one.

use std::io::Write;

use api_types::{FRAME_DATA, FRAME_EVENT, FRAME_HEAD, PeerFault, read_frame_head};
use stdx::os_error::words;

use super::Unanswered;
use crate::wire::{REQUEST_MAX, Told};

/// See the module.
pub struct Frames<'a> {
    to: &'a mut dyn Write,
    tell: &'a mut dyn FnMut(Told),
    head: Vec<u8>,
    /// The kind of the frame that comes, and how many bytes of it still do.
    now: Option<(u8, usize)>,
    told: Vec<u8>,
    is_over: bool,
}

fn garbled() -> Unanswered {
    PeerFault::Garbled.into()
}

impl<'a> Frames<'a> {
    pub fn new(to: &'a mut dyn Write, tell: &'a mut dyn FnMut(Told)) -> Frames<'a> {
        Frames { to, tell, head: Vec::new(), now: None, told: Vec::new(), is_over: false }
    }

    /// Takes the next bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Unanswered> {
        let mut bytes = bytes;
        while !bytes.is_empty() {
            if self.is_over {
                return Err(garbled());
            }
            let Some((kind, left)) = self.now else {
                let (of_head, rest) = bytes.split_at(bytes.len().min(FRAME_HEAD - self.head.len()));
                self.head.extend_from_slice(of_head);
                bytes = rest;
                if let Ok(head) = <[u8; FRAME_HEAD]>::try_from(self.head.as_slice()) {
                    self.head.clear();
                    self.begin(read_frame_head(head))?;
                }
                continue;
            };
            let (part, rest) = bytes.split_at(bytes.len().min(left));
            bytes = rest;
            match kind {
                FRAME_DATA => self.pass(part)?,
                _ => self.told.extend_from_slice(part),
            }
            self.now = (left > part.len()).then_some((kind, left - part.len()));
            if self.now.is_none() && kind == FRAME_EVENT {
                self.tell()?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, (kind, len): (u8, u32)) -> Result<(), Unanswered> {
        let len = usize::try_from(len).map_err(|_| garbled())?;
        let is_known = match kind {
            FRAME_DATA => true,
            FRAME_EVENT => len <= REQUEST_MAX,
            _ => false,
        };
        if !is_known || len == 0 {
            return Err(garbled());
        }
        self.now = Some((kind, len));
        Ok(())
    }

    fn pass(&mut self, part: &[u8]) -> Result<(), Unanswered> {
        self.to.write_all(part).map_err(|error| PeerFault::Unreachable { why: words(&error) }.into())
    }

    fn tell(&mut self) -> Result<(), Unanswered> {
        let told: Told = serde_json::from_slice(&self.told).map_err(|_| garbled())?;
        self.told.clear();
        match told {
            Told::Done => self.is_over = true,
            Told::Failed(failed) => return Err(Unanswered::Failed(*failed)),
            planned @ Told::Planned { .. } => (self.tell)(planned),
        }
        Ok(())
    }

    /// Nothing more comes.
    pub fn end(self) -> Result<(), Unanswered> {
        match self.is_over {
            true => Ok(()),
            false => Err(PeerFault::Unreachable { why: "the connection has broken".to_owned() }.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api_types::frame_head;

    fn frame(kind: u8, bytes: &[u8]) -> Vec<u8> {
        [&frame_head(kind, bytes.len() as u32)[..], bytes].concat()
    }

    fn told(told: &Told) -> Vec<u8> {
        frame(FRAME_EVENT, &serde_json::to_vec(told).expect("it is data"))
    }

    /// What was passed on and told, and how it ended, where it comes in such parts.
    fn taken(bytes: &[u8], part: usize) -> (Vec<u8>, Vec<Told>, Result<(), Unanswered>) {
        let (mut passed, mut events) = (Vec::new(), Vec::new());
        let mut tell = |event| events.push(event);
        let mut frames = Frames::new(&mut passed, &mut tell);
        let done = bytes.chunks(part).try_for_each(|part| frames.take(part)).and_then(|()| frames.end());
        (passed, events, done)
    }

    #[test]
    fn a_stream_is_the_same_however_it_comes() {
        let planned = Told::Planned { snapshot: "tank/a@1".into(), size: 9 };
        let data: Vec<u8> = (0..=255).cycle().take(3_000).collect();
        let all =
            [told(&planned), frame(FRAME_DATA, &data[..7]), frame(FRAME_DATA, &data[7..]), told(&Told::Done)];
        for part in [1, 2, 5, 6, 100, 1_000_000] {
            let (passed, events, done) = taken(&all.concat(), part);
            assert!(done.is_ok() && passed == data && events == [planned.clone()], "{part}");
        }
    }

    #[test]
    fn what_has_no_end_or_goes_on_behind_it_or_makes_no_sense_has_failed() {
        let whole = [frame(FRAME_DATA, b"data"), told(&Told::Done)].concat();
        for cut in 0..whole.len() {
            assert!(taken(&whole[..cut], 3).2.is_err(), "{cut}");
        }
        let long = [&frame_head(FRAME_EVENT, REQUEST_MAX as u32 + 1)[..], &[b' '; 100]].concat();
        for bad in [
            [whole.clone(), b"x".to_vec()].concat(),
            frame(b'?', b"data"),
            frame(FRAME_DATA, b""),
            frame(FRAME_EVENT, b"{}"),
            long,
        ] {
            let failed = taken(&bad, 1_000).2.expect_err("it makes no sense");
            assert!(matches!(failed, Unanswered::Peer(PeerFault::Garbled)), "{failed:?}");
        }
    }
}
