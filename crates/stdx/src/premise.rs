//! What the work of a thread takes for granted of the things that it changes.
//!
//! Who asks for a change may say how things were when he decided for it. Whoever takes his
//! request works [`relying_on`] that; whoever makes the change [`take`]s it, and makes the change
//! only where it still holds, in one step. What is done after the first change relies on nothing:
//! the first was that of the same work.
//!
//! Invariant: a thread relies on something no longer than one call of [`relying_on`] lasts, also
//! where that ends in a panic.

use std::cell::RefCell;

use crate::scoped;

/// How things still are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Premise {
    /// The thing of this name has one of these versions.
    Version { subject: String, versions: Vec<u64> },
    /// The names are those of the same things as before, by their guids.
    Same { things: Vec<(String, u64)> },
    /// And none of these things, which are file systems and volumes, has got this property of its
    /// own.
    Without { things: Vec<(String, u64)>, property: String },
}

thread_local!(static PREMISE: RefCell<Option<Premise>> = const { RefCell::new(None) });

/// Runs something on this thread that relies on a premise, or on nothing.
pub fn relying_on<T>(premise: Option<Premise>, work: impl FnOnce() -> T) -> T {
    scoped::set_during(&PREMISE, premise, work)
}

/// What the next change relies on. Given once.
pub fn take() -> Option<Premise> {
    PREMISE.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_change_of_a_work_relies_on_its_premise() {
        let premise = Premise::Version { subject: "tank/a".into(), versions: vec![7] };
        assert_eq!(take(), None);
        relying_on(Some(premise.clone()), || {
            relying_on(None, || assert_eq!(take(), None));
            assert_eq!((take(), take()), (Some(premise.clone()), None));
        });
        relying_on(Some(premise), || {});
        assert_eq!(take(), None, "it is forgotten with the work");
    }
}
