//! Mounts after a stream was received.

use std::io::Read;

use engine_api::{ReceiveEvent, ReceiveRequest};

use crate::failure::warnings;
use crate::mounting::untold;
use crate::{Appliance, Failure, Result, Warning};

/// What is told while a stream is received.
#[derive(Debug)]
pub enum ReceiveTold {
    Event(ReceiveEvent),
    /// In OpenZFS's words; no warning.
    Note(String),
}

impl Appliance {
    /// Receives a stream. What it destroyed is unmounted, what it replaced is shown by its mount,
    /// what it made is mounted unless told otherwise.
    pub fn receive(
        &self,
        request: &ReceiveRequest,
        no_mount: bool,
        stream: &mut dyn Read,
        tell: &mut dyn FnMut(ReceiveTold),
    ) -> Result<Vec<Warning>> {
        let pool = self.pool_of(&request.target)?;
        // Only here is it known who mounts.
        if request.heal && no_mount {
            return Err(Failure::HealsAlone);
        }
        let received = pool.receive(request, stream, &mut |event| tell(ReceiveTold::Event(event)))?;
        received.notes.into_iter().for_each(|note| tell(ReceiveTold::Note(note)));
        let mut told: Vec<Warning> = received.warnings.into_iter().map(Warning::Received).collect();
        for name in &received.gone {
            // What is not there is not mounted, or soon is not.
            let _ = self.local.unmount(name, true);
        }
        told.extend(received.replaced.iter().filter_map(|name| self.refresh(name)));
        if self.auto_mount && !no_mount {
            for name in &received.new {
                told.extend(warnings(self.mount_all(name, &[], false, &mut untold).failed));
            }
        }
        Ok(told)
    }
}
