//! What happened to the disks, one write after the other: so that the power can fail at any of them
//! afterwards, as often as one likes, without doing the work again. Or the last groups are *torn*:
//! the labels lead to them, and what they wrote beside that is gone, as if all disks had lied about
//! flushes.

use std::collections::VecDeque;
use std::sync::Arc;

use ondisk::label;
use ondisk::uberblock::Uberblock;
use stdx::prng::Prng;

use super::image::Image;

/// Ends of groups that are remembered.
const ENDS: usize = 5;

/// What reached the disks since a moment at which everything on them was durable.
pub struct Tape {
    paths: Vec<String>,
    sizes: Vec<u64>,
    start: Vec<Image>,
    events: Vec<Event>,
    /// Before the events of these numbers something else became of the disks: the power was off.
    /// They are so afterwards.
    breaks: Vec<(usize, Vec<Image>)>,
}

enum Event {
    Write { disk: usize, offset: u64, data: Arc<[u8]> },
    Flush { disk: usize },
}

impl Tape {
    /// From these images on.
    pub(super) fn new(disks: impl Iterator<Item = (String, u64, Image)>) -> Tape {
        let (mut paths, mut sizes, mut start) = (Vec::new(), Vec::new(), Vec::new());
        for (path, size, image) in disks {
            paths.push(path);
            sizes.push(size);
            start.push(image);
        }
        Tape { paths, sizes, start, events: Vec::new(), breaks: Vec::new() }
    }

    /// Whether a write here is one of labels.
    fn is_label(&self, disk: usize, offset: u64) -> bool {
        offset < label::START || offset >= self.sizes[disk] - label::END
    }

    pub(super) fn write(&mut self, path: &str, offset: u64, data: Arc<[u8]>) {
        let disk = self.disk(path);
        self.events.push(Event::Write { disk, offset, data });
    }

    pub(super) fn flush(&mut self, path: &str) {
        let disk = self.disk(path);
        self.events.push(Event::Flush { disk });
    }

    /// The disks have become this, in the order of the paths.
    pub(super) fn break_off(&mut self, images: Vec<Image>) {
        self.breaks.push((self.events.len(), images));
    }

    fn disk(&self, path: &str) -> usize {
        self.paths.iter().position(|known| known == path).expect("no disk is added while a tape runs")
    }

    /// Writes and flushes on it.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Of the disks, in the order of all images.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    pub fn play(&self) -> Player<'_> {
        let images = self.start.clone();
        Player { tape: self, at: 0, breaks: 0, images, written: None, ends: VecDeque::new() }
    }
}

/// The disks when a group had just become durable, and nothing of the next was written.
struct End {
    txg: u64,
    /// The first event after it.
    at: usize,
    images: Vec<Image>,
}

/// Disks whose last groups are torn.
pub struct Torn {
    /// The last group of which all is there.
    pub whole: u64,
    pub images: Vec<Image>,
}

/// The disks as they were at some event.
pub struct Player<'t> {
    tape: &'t Tape,
    at: usize,
    /// How many breaks are behind it.
    breaks: usize,
    images: Vec<Image>,
    /// The group whose uberblocks were written last, if nothing else was since.
    written: Option<u64>,
    /// Of the last groups, since the last break.
    ends: VecDeque<End>,
}

impl Player<'_> {
    /// Goes on to the moment before this event, and before what happened between the last one and
    /// this; never back.
    pub fn forward(&mut self, to: usize) {
        for at in self.at..to {
            while let Some((_, images)) =
                self.tape.breaks.get(self.breaks).filter(|(before, _)| *before == at)
            {
                self.images.clone_from(images);
                self.breaks += 1;
                self.ends.clear();
                self.written = None;
            }
            match &self.tape.events[at] {
                Event::Write { disk, offset, data } => {
                    self.watch(at, *disk, *offset, data);
                    self.images[*disk].write(*offset, data.clone());
                }
                Event::Flush { disk } => self.images[*disk].flush(),
            }
        }
        self.at = to;
    }

    /// Goes on to an event in the `n`-th of so many stretches of the tape, and gives its number.
    /// One in each: so they are everywhere.
    pub fn forward_into(&mut self, n: usize, of: usize, prng: &mut Prng) -> usize {
        let len = self.tape.len();
        let (from, to) = (n * len / of, (n + 1) * len / of);
        let at = from + prng.below((to - from).max(1) as u64) as usize;
        self.forward(at);
        at
    }

    /// Notices where groups end, before this is written.
    fn watch(&mut self, at: usize, disk: usize, offset: u64, data: &[u8]) {
        if self.tape.is_label(disk, offset) {
            self.written = Uberblock::decode(data).map_or(self.written, |uberblock| Some(uberblock.txg));
        } else if let Some(txg) = self.written.take() {
            self.ends.retain(|end| end.txg < txg);
            self.ends.push_back(End { txg, at, images: self.images.clone() });
            if self.ends.len() > ENDS {
                self.ends.pop_front();
            }
        }
    }

    /// The disks as they are, but for what was written since the end of one of the last groups,
    /// `back` of them ago, which is lost, `lost` writes of 100; all labels are there. `None` if
    /// something else became of the disks since then.
    pub fn torn(&self, back: usize, lost: u64, prng: &mut Prng) -> Option<Torn> {
        let end = &self.ends[self.ends.len().checked_sub(back)?];
        let mut images = end.images.clone();
        for event in &self.tape.events[end.at..self.at] {
            let Event::Write { disk, offset, data } = event else { continue };
            if self.tape.is_label(*disk, *offset) || !prng.chance(lost, 100) {
                images[*disk].write(*offset, data.clone());
            }
        }
        images.iter_mut().for_each(Image::flush);
        Some(Torn { whole: end.txg, images })
    }

    /// With what is still in the disks' caches.
    pub fn images(&self) -> &[Image] {
        &self.images
    }
}
