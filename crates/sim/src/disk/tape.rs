//! What happened to the disks, one write after the other: so that the power can fail at any of them afterwards, as often
//! as one likes, without doing the work again.

use std::sync::Arc;

use super::image::Image;

/// What reached the disks since a moment at which everything on them was durable.
pub struct Tape {
    paths: Vec<String>,
    start: Vec<Image>,
    events: Vec<Event>,
    /// Before the events of these numbers something else became of the disks: the power was off. They are so afterwards.
    breaks: Vec<(usize, Vec<Image>)>,
}

enum Event {
    Write { disk: usize, offset: u64, data: Arc<[u8]> },
    Flush { disk: usize },
}

impl Tape {
    /// From these images on.
    pub(super) fn new(disks: impl Iterator<Item = (String, Image)>) -> Tape {
        let (paths, start) = disks.unzip();
        Tape { paths, start, events: Vec::new(), breaks: Vec::new() }
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
        Player { tape: self, at: 0, breaks: 0, images: self.start.clone() }
    }
}

/// The disks as they were at some event.
pub struct Player<'t> {
    tape: &'t Tape,
    at: usize,
    /// How many breaks are behind it.
    breaks: usize,
    images: Vec<Image>,
}

impl Player<'_> {
    /// Goes on to the moment before this event, and before what happened between the last one and this; never back.
    pub fn forward(&mut self, to: usize) {
        for at in self.at..to {
            while let Some((_, images)) =
                self.tape.breaks.get(self.breaks).filter(|(before, _)| *before == at)
            {
                self.images.clone_from(images);
                self.breaks += 1;
            }
            match &self.tape.events[at] {
                Event::Write { disk, offset, data } => self.images[*disk].write(*offset, data.clone()),
                Event::Flush { disk } => self.images[*disk].flush(),
            }
        }
        self.at = to;
    }

    /// With what is still in the disks' caches.
    pub fn images(&self) -> &[Image] {
        &self.images
    }
}
