//! What is known of the copies of a unit: how far each is, for whoever asks by its list identifier.
//!
//! A copy that is under way stays known until it is done. At most [`MAX_COPIES`] are known: for one
//! more, the oldest that is done is forgotten; where none is done, the new one is refused.
//!
//! Source: SPC-4 r37, RECEIVE COPY STATUS (LID1).

use std::collections::VecDeque;

use crate::limits::MAX_COPIES;
use crate::nexus::Nexus;
use crate::sense::{COPY_IN_PROGRESS, Refusal};

/// The results of a copy.
#[derive(Clone, Copy, Default)]
pub(crate) struct Results {
    /// As COPY MANAGER STATUS has it: under way, done, failed.
    pub state: u8,
    pub segments: u16,
    pub bytes: u64,
}

pub(crate) const DONE: u8 = 1;
pub(crate) const FAILED: u8 = 2;

/// Copies that were asked for, by list identifier: under way, or done and not asked for yet. The
/// oldest first.
#[derive(Default)]
pub struct Copies(VecDeque<(Nexus, u8, Results)>);

impl Copies {
    fn find(&mut self, nexus: &Nexus, list: u8) -> Option<usize> {
        self.0.iter().position(|(of, id, _)| of == nexus && *id == list)
    }

    pub(crate) fn begin(&mut self, nexus: &Nexus, list: u8) -> Result<(), Refusal> {
        if let Some(at) = self.find(nexus, list) {
            if self.0[at].2.state == 0 {
                return Err(COPY_IN_PROGRESS.into());
            }
            self.0.remove(at);
        }
        if self.0.len() == MAX_COPIES {
            let done = self.0.iter().position(|(_, _, results)| results.state != 0);
            self.0.remove(done.ok_or(Refusal::Busy)?);
        }
        self.0.push_back((nexus.clone(), list, Results::default()));
        Ok(())
    }

    pub(crate) fn update(&mut self, nexus: &Nexus, list: u8, change: impl FnOnce(&mut Results)) {
        if let Some(at) = self.find(nexus, list) {
            change(&mut self.0[at].2);
        }
    }

    /// The results of those that are done are told once.
    pub(crate) fn take(&mut self, nexus: &Nexus, list: u8) -> Option<Results> {
        let at = self.find(nexus, list)?;
        let results = self.0[at].2;
        if results.state != 0 {
            self.0.remove(at);
        }
        Some(results)
    }

    /// Nobody asks any more, or everything begins anew: `None` stands for everybody's.
    pub fn forget(&mut self, nexus: Option<&Nexus>) {
        self.0.retain(|(of, _, results)| results.state == 0 || nexus.is_some_and(|nexus| of != nexus));
    }
}
