//! Unit attentions: what an initiator's port is told before its next command, because something
//! changed that it relies on.
//!
//! Source: SAM-5 5.14.

use std::collections::{BTreeMap, VecDeque};

use crate::codes::asc;
use crate::limits::MAX_ATTENTIONS;
use crate::nexus::Nexus;

/// Of those that have a session.
#[derive(Default)]
pub struct Attentions(BTreeMap<Nexus, VecDeque<u16>>);

impl Attentions {
    /// A session begins, or begins anew: nothing that was before is sure to be.
    pub fn join(&mut self, nexus: &Nexus) {
        self.0.insert(nexus.clone(), VecDeque::from([asc::POWER_ON]));
    }

    pub fn leave(&mut self, nexus: &Nexus) {
        self.0.remove(nexus);
    }

    /// Tells one, unless it is going to hear that anyway.
    pub fn tell(&mut self, nexus: &Nexus, code: u16) {
        if let Some(waiting) = self.0.get_mut(nexus).filter(|waiting| !waiting.contains(&code)) {
            if waiting.len() == MAX_ATTENTIONS {
                waiting.pop_front();
            }
            waiting.push_back(code);
        }
    }

    pub fn tell_all(&mut self, code: u16) {
        self.tell_others(None, code);
    }

    /// All but this one.
    pub fn tell_others(&mut self, but: Option<&Nexus>, code: u16) {
        let others: Vec<Nexus> = self.0.keys().filter(|nexus| Some(*nexus) != but).cloned().collect();
        others.iter().for_each(|nexus| self.tell(nexus, code));
    }

    /// The oldest, which is told now.
    pub fn take(&mut self, nexus: &Nexus) -> Option<u16> {
        self.0.get_mut(nexus)?.pop_front()
    }
}
