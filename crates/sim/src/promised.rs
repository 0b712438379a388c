//! A file under writers who were given answers: all it has been since it was found last, and which
//! of that may come back.
//!
//! Each byte must be as some write left it that is not older than the last one that was promised.
//! Writes that nobody promised may come back in part: a large one is in several log blocks, and
//! what is fetched for a record is what the file has at that moment. A write that failed may have
//! been done, in part or not at all, whatever is promised afterwards: until another one is made
//! over it, or the file is read.

use std::ops::Range;

/// All bytes.
const ALL: Range<usize> = 0..usize::MAX;

/// See the module.
#[derive(Clone)]
pub struct Promised {
    pub dataset: &'static str,
    pub name: String,
    states: Vec<Vec<u8>>,
    /// What led from each of them to the next.
    steps: Vec<Step>,
    /// The oldest of them that may come back.
    promised: usize,
}

/// A write, or the file was read.
#[derive(Clone)]
struct Step {
    /// What it changed; a file that was read is known all over.
    bytes: Range<usize>,
    has_failed: bool,
}

impl Promised {
    /// An empty one.
    pub fn new(dataset: &'static str, name: String) -> Promised {
        Promised { dataset, name, states: vec![Vec::new()], steps: Vec::new(), promised: 0 }
    }

    pub fn now(&self) -> &[u8] {
        self.states.last().expect("it is something")
    }

    /// A write begins: whether it is done or not, both may come back.
    pub fn write(&mut self, offset: usize, data: &[u8]) {
        let mut next = self.now().to_vec();
        next.resize(next.len().max(offset + data.len()), 0);
        next[offset..offset + data.len()].copy_from_slice(data);
        self.step(offset..offset + data.len(), next);
    }

    fn step(&mut self, bytes: Range<usize>, next: Vec<u8>) {
        self.states.push(next);
        self.steps.push(Step { bytes, has_failed: false });
    }

    /// The write that began last failed.
    pub fn fail(&mut self) {
        self.steps.last_mut().expect("a write").has_failed = true;
    }

    /// Whether a write failed since it was read last.
    pub fn is_doubtful(&self) -> bool {
        self.steps.iter().rev().take_while(|step| step.bytes != ALL).any(|step| step.has_failed)
    }

    /// What it is now was promised.
    pub fn promise(&mut self) {
        self.promised = self.states.len() - 1;
    }

    /// It is read, and like this. Nothing is promised by that.
    pub fn seen(&mut self, found: Vec<u8>) {
        self.step(ALL, found);
    }

    /// It came back like this, and this will stay.
    pub fn found(&mut self, found: Vec<u8>) {
        self.seen(found);
        self.promise();
    }

    /// It was found like this, and was never anything else.
    pub fn restart(&mut self, found: Vec<u8>) {
        (self.states, self.steps, self.promised) = (vec![found], Vec::new(), 0);
    }

    /// States that may come back: from the oldest of these to before the other.
    pub fn span(&self) -> (usize, usize) {
        (self.promised, self.states.len())
    }

    /// Whether it was like this in the state of this number.
    pub fn may_have_been_at(&self, found: &[u8], state: usize) -> bool {
        self.may_have_been(found, (state, state + 1))
    }

    /// Whether it may be like this; if nobody is trusted with promises, like anything that was
    /// written.
    pub fn may_be(&self, found: &[u8], is_trusted: bool) -> bool {
        let (first, end) = self.span();
        self.may_have_been(found, (if is_trusted { first } else { 0 }, end))
    }

    /// Whether it may have been like this when its span was this one.
    pub fn may_have_been(&self, found: &[u8], (first, end): (usize, usize)) -> bool {
        let doubt = self.steps[..first].iter().position(|step| step.has_failed);
        let lengths = self.states[doubt.unwrap_or(first)..end].iter().map(Vec::len);
        let fits = lengths.clone().min() <= Some(found.len()) && Some(found.len()) <= lengths.max();
        fits && found.iter().enumerate().all(|(at, byte)| {
            let from = if doubt.is_some() { self.known_since(at, first) } else { first };
            self.states[from..end].iter().any(|state| state.get(at).unwrap_or(&0) == byte)
        })
    }

    /// The oldest state from which a byte may still be in state `first`: since then all writes over
    /// it failed.
    fn known_since(&self, at: usize, first: usize) -> usize {
        let over = self.steps[..first].iter().enumerate().rev().filter(|(_, step)| step.bytes.contains(&at));
        over.take_while(|(_, step)| step.has_failed).last().map_or(first, |(n, _)| n)
    }
}

#[cfg(test)]
mod tests;
