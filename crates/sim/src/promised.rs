//! A file under writers who were given answers: all it has been since it was found last, and which of that may come back.
//!
//! Each byte must be as some write left it that is not older than the last one that was promised. Writes that nobody
//! promised may come back in part: a large one is in several log blocks, and what is fetched for a record is what the file
//! has at that moment.

/// See the module.
#[derive(Clone)]
pub struct Promised {
    pub dataset: &'static str,
    pub name: String,
    states: Vec<Vec<u8>>,
    /// The oldest of them that may come back.
    promised: usize,
}

impl Promised {
    /// An empty one.
    pub fn new(dataset: &'static str, name: String) -> Promised {
        Promised { dataset, name, states: vec![Vec::new()], promised: 0 }
    }

    pub fn now(&self) -> &[u8] {
        self.states.last().expect("it is something")
    }

    /// A write begins: whether it is done or not, both may come back.
    pub fn write(&mut self, offset: usize, data: &[u8]) {
        let mut next = self.now().to_vec();
        next.resize(next.len().max(offset + data.len()), 0);
        next[offset..offset + data.len()].copy_from_slice(data);
        self.states.push(next);
    }

    /// What it is now was promised.
    pub fn promise(&mut self) {
        self.promised = self.states.len() - 1;
    }

    /// It came back like this, and this will stay.
    pub fn found(&mut self, found: Vec<u8>) {
        self.states.push(found);
        self.promise();
    }

    /// It was found like this, and was never anything else.
    pub fn restart(&mut self, found: Vec<u8>) {
        (self.states, self.promised) = (vec![found], 0);
    }

    /// States that may come back: from the oldest of these to before the other.
    pub fn span(&self) -> (usize, usize) {
        (self.promised, self.states.len())
    }

    /// Whether it may be like this; if nobody is trusted with promises, like anything that was written.
    pub fn may_be(&self, found: &[u8], is_trusted: bool) -> bool {
        let (first, end) = self.span();
        self.may_have_been(found, (if is_trusted { first } else { 0 }, end))
    }

    /// Whether it may have been like this when its span was this one.
    pub fn may_have_been(&self, found: &[u8], (first, end): (usize, usize)) -> bool {
        let states = &self.states[first..end];
        let lengths = states.iter().map(Vec::len);
        let fits = lengths.clone().min() <= Some(found.len()) && Some(found.len()) <= lengths.max();
        fits && found
            .iter()
            .enumerate()
            .all(|(at, byte)| states.iter().any(|state| state.get(at).unwrap_or(&0) == byte))
    }
}
