//! `zfs send`: what is sent, from where on, and what is said about it.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`zfs_send_one`), libzfs_core's words for what cannot be sent.

use std::io::Write;

use ::pool::PoolError;
use ::pool::send::{Failure, Flags};
use engine_api::{Error, Pool, Result, SendEvent, SendRequest};

use super::convert::api_error;
use super::pool::LocalPool;

impl LocalPool {
    /// Sends, or with `dry_run` only says what would be.
    pub(super) fn run_send(
        &self,
        request: &SendRequest,
        to: &mut dyn Write,
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<()> {
        let SendRequest { snapshot, from, .. } = request;
        let own = self.name();
        if from.as_ref().is_some_and(|from| from.split(['/', '@', '#']).next() != Some(own.as_str())) {
            return Err(words(Failure::NotEarlier, snapshot, from.as_deref()));
        }
        let flags =
            Flags { large_blocks: request.large_blocks, embed: request.embed, compress: request.compress };
        let failed = |failure| words(failure, snapshot, from.as_deref());
        let sending = self.pool.dsl.prepare_send(snapshot, from.as_deref(), flags).map_err(failed)?;
        tell(SendEvent { snapshot: snapshot.clone(), from: from.clone(), size: sending.size() });
        if request.dry_run {
            return Ok(());
        }
        self.pool.dsl.send(&sending, to).map_err(failed)?;
        to.flush().map_err(|error| failed(Failure::Broken(error.to_string())))
    }
}

/// A failure, as libzfs puts it.
fn words(failure: Failure, snapshot: &str, from: Option<&str>) -> Error {
    let action = format!("warning: cannot send '{snapshot}'");
    let why = match failure {
        Failure::NoSource => {
            format!("incremental source ({}) does not exist", from.unwrap_or_default())
        }
        Failure::NotEarlier => "not an earlier snapshot from the same fs".into(),
        Failure::Broken(why) => why,
        Failure::Pool(PoolError::NotFound) => {
            return Error::Refused(format!("cannot open '{snapshot}': dataset does not exist"));
        }
        Failure::Pool(PoolError::Io) => "I/O error".into(),
        Failure::Pool(other) => return api_error(other),
    };
    Error::Refused(format!("{action}: {why}"))
}
