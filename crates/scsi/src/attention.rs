//! Unit attentions: what a port is told before its next command, because something changed that it relies on.
//!
//! Source: SAM-5 5.14.

use std::collections::{BTreeMap, VecDeque};

use crate::limits::MAX_ATTENTIONS;
use crate::unit::Port;

pub const RESET: u16 = 0x2903;
pub const MODE_CHANGED: u16 = 0x2a01;
pub const RESERVATIONS_PREEMPTED: u16 = 0x2a03;
pub const RESERVATIONS_RELEASED: u16 = 0x2a04;
pub const REGISTRATIONS_PREEMPTED: u16 = 0x2a05;
pub const CAPACITY_CHANGED: u16 = 0x2a09;
pub const SOFT_THRESHOLD: u16 = 0x3807;
pub const LUNS_CHANGED: u16 = 0x3f0e;

/// Of the ports that have a session.
#[derive(Default)]
pub struct Attentions(BTreeMap<Port, VecDeque<u16>>);

impl Attentions {
    pub fn join(&mut self, port: &Port) {
        self.0.entry(port.clone()).or_default();
    }

    pub fn leave(&mut self, port: &Port) {
        self.0.remove(port);
    }

    /// Tells one port, unless it is going to hear that anyway.
    pub fn tell(&mut self, port: &Port, code: u16) {
        if let Some(waiting) = self.0.get_mut(port).filter(|waiting| !waiting.contains(&code)) {
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
    pub fn tell_others(&mut self, but: Option<&Port>, code: u16) {
        let ports: Vec<Port> = self.0.keys().filter(|port| Some(*port) != but).cloned().collect();
        ports.iter().for_each(|port| self.tell(port, code));
    }

    /// The oldest, which is told now.
    pub fn take(&mut self, port: &Port) -> Option<u16> {
        self.0.get_mut(port)?.pop_front()
    }
}
