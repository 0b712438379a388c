//! What a request leaves behind on the thread that works on it, for whoever looks at requests.
//!
//! A server that is looked at has its thread followed while it works on a request ([`followed`]).
//! Whoever below does something that an observer wants to know notes it: which dataset and file it
//! is about ([`note`]), where blocks came from ([`came_from`]), how long it waited and for what
//! ([`during`]), and for which leaf vdev ([`waited_for`]). The trail goes with the thread; another
//! thread that does something for the request leaves none. Whoever does something for others says
//! which leaf vdev that was, and each of them notes it ([`slowest`]).
//!
//! Times are exclusive: a wait inside of a wait counts as what it is, and not as the outer one too.
//! So all spans together are never more than the work took.
//!
//! Invariants: a thread that is not followed pays one look at a word of its own for each place that
//! notes something, and reads no clock. A thread is followed no longer than one call of
//! [`followed`] lasts, also where that ends in a panic.

use std::cell::{Cell, RefCell};

use crate::scoped;

/// What a request waits for, or what works on it, below a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The engine works, or waits for locks.
    Engine,
    /// Disks read.
    Disk,
    /// The intent log becomes durable.
    Log,
    /// A transaction group: that it becomes durable, or that there is room in it.
    Group,
}

pub const SPANS: usize = Span::Group as usize + 1;

/// Where blocks came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// They were written, and are on no disk yet.
    Overlay,
    Cache,
    Disk,
}

pub const SOURCES: usize = Source::Disk as usize + 1;

/// A wait for a leaf vdev.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The guid of the leaf vdev.
    pub vdev: u64,
    pub nanos: u64,
}

/// Bytes of a name that are kept.
const LONGEST_NAME: usize = 255;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// The guids of pool and dataset, of the first that was asked.
    pub dataset: Option<(u64, u64)>,
    /// Of a file system: the object that it was asked about.
    pub object: Option<u64>,
    /// In that directory.
    pub name: Option<Box<[u8]>>,
    pub user: Option<u32>,
    pub offset: Option<u64>,
    /// Bytes that were to be moved.
    pub bytes: u64,
    /// Nanoseconds, by [`Span`].
    pub spans: [u64; SPANS],
    /// Blocks, by [`Source`].
    pub blocks: [u32; SOURCES],
    /// The longest of its waits for a leaf vdev.
    pub slowest: Option<Waited>,
    /// Somebody wants to know how long the engine works, too: that is asked of each request, and
    /// costs looks at a clock. Other spans are waited for, and looks are nothing beside that.
    pub is_staged: bool,
}

impl Trail {
    /// Nanoseconds of all spans.
    pub fn spent(&self) -> u64 {
        self.spans.iter().fold(0, |sum, span| sum.saturating_add(*span))
    }

    fn waited_for(&mut self, waited: Waited) {
        if self.slowest.is_none_or(|slowest| slowest.nanos < waited.nanos) {
            self.slowest = Some(waited);
        }
    }

    /// It is about this, unless it is about something already. A name is cut where it is longer
    /// than any can be.
    pub fn is_about(&mut self, dataset: (u64, u64), object: Option<u64>, name: &[u8]) {
        if self.dataset.is_none() {
            self.dataset = Some(dataset);
            self.object = object;
            self.name = (!name.is_empty()).then(|| name[..name.len().min(LONGEST_NAME)].into());
        }
    }
}

thread_local! {
    static IS_FOLLOWED: Cell<bool> = const { Cell::new(false) };
    static TRAIL: RefCell<Option<Box<Trail>>> = const { RefCell::new(None) };
}

/// Ends the following, also after a panic.
struct Ends(bool);

impl Drop for Ends {
    fn drop(&mut self) {
        IS_FOLLOWED.set(self.0);
    }
}

/// Runs something on this thread, and adds what it leaves to a trail.
pub fn followed<T>(trail: Box<Trail>, work: impl FnOnce() -> T) -> (T, Box<Trail>) {
    scoped::set_during(&TRAIL, Some(trail), || {
        let _ends = Ends(IS_FOLLOWED.replace(true));
        let done = work();
        (done, TRAIL.take().unwrap_or_default())
    })
}

/// Whether somebody wants to know what this thread does.
pub fn is_followed() -> bool {
    IS_FOLLOWED.get()
}

/// Adds to the trail, where there is one.
pub fn note(add: impl FnOnce(&mut Trail)) {
    if is_followed() {
        TRAIL.with_borrow_mut(|trail| trail.as_deref_mut().map(add));
    }
}

/// So many blocks came from there.
pub fn came_from(source: Source, blocks: usize) {
    note(|trail| {
        let count = &mut trail.blocks[source as usize];
        *count = count.saturating_add(u32::try_from(blocks).unwrap_or(u32::MAX));
    });
}

/// It waited for this leaf vdev for so many nanoseconds.
pub fn waited_for(vdev: u64, nanos: u64) {
    note(|trail| trail.waited_for(Waited { vdev, nanos }));
}

/// Does something for others too, and says which wait for a leaf vdev was the longest of it. A
/// thread that is not followed is, as long as that lasts.
pub fn slowest<T>(work: impl FnOnce() -> T) -> (T, Option<Waited>) {
    if !is_followed() {
        let (done, trail) = followed(Box::default(), work);
        return (done, trail.slowest);
    }
    let (mut before, mut found) = (None, None);
    note(|trail| before = trail.slowest.take());
    let done = work();
    note(|trail| {
        found = trail.slowest;
        before.into_iter().for_each(|waited| trail.waited_for(waited));
    });
    (done, found)
}

/// Does something that counts as this span, but for what counts as another. `now` is a clock in
/// nanoseconds; it is read only where somebody looks.
pub fn during<T>(span: Span, now: impl Fn() -> u64, work: impl FnOnce() -> T) -> T {
    if !is_followed() {
        return work();
    }
    let entered = enter(now());
    let done = work();
    leave(span, entered, now());
    done
}

/// When a span began, and what the others had come to by then.
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    at: u64,
    spent: u64,
}

/// A span begins now; [`leave`] ends it. For who cannot say what lies between by a closure.
pub fn enter(now: u64) -> Entered {
    Entered { at: now, spent: spent() }
}

/// See [`enter`].
pub fn leave(span: Span, entered: Entered, now: u64) {
    note(|trail| {
        let others = trail.spent().saturating_sub(entered.spent);
        let took = now.saturating_sub(entered.at).saturating_sub(others);
        trail.spans[span as usize] = trail.spans[span as usize].saturating_add(took);
    });
}

fn spent() -> u64 {
    TRAIL.with_borrow(|trail| trail.as_deref().map_or(0, Trail::spent))
}

#[cfg(test)]
mod tests;
