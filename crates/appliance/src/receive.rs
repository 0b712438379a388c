//! Mounts after a stream was received.

use std::io::Read;

use engine_api::{ReceiveEvent, ReceiveRequest};

use crate::{Appliance, Failure, Result, Warning};

/// What is to be told of a stream that was received.
#[derive(Debug, Default)]
pub struct Received {
    /// Of the engine, in OpenZFS's words: what is no warning.
    pub notes: Vec<String>,
    pub warnings: Vec<Warning>,
}

impl Appliance {
    /// Receives a stream. What it destroyed is unmounted, what it replaced is shown by its mount,
    /// what it made is mounted unless told otherwise.
    pub fn receive(
        &self,
        request: &ReceiveRequest,
        no_mount: bool,
        stream: &mut dyn Read,
        tell: &mut dyn FnMut(ReceiveEvent),
    ) -> Result<Received> {
        let pool = self.pool_of(&request.target)?;
        // Only here is it known who mounts.
        if request.heal && no_mount {
            return Err(Failure::HealsAlone);
        }
        let received = pool.receive(request, stream, tell)?;
        let mut warnings: Vec<Warning> = received.warnings.into_iter().map(Warning::Received).collect();
        for name in &received.gone {
            // What is not there is not mounted, or soon is not.
            let _ = self.local.unmount(name, true);
        }
        warnings.extend(received.replaced.iter().filter_map(|name| self.refresh(name)));
        if self.auto_mount && !no_mount {
            for name in &received.new {
                let mounted = self.mount_all(name, &[], false, &mut |_, _, _| {});
                warnings.extend(mounted.failed.into_iter().map(Warning::Failed));
            }
        }
        Ok(Received { notes: received.notes, warnings })
    }
}
