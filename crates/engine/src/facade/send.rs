//! `zfs send`: what is sent, from where on, and what is said about it.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`zfs_send_one`, `zfs_send`).

mod plan;

use std::io::Write;

use ::pool::PoolError;
use ::pool::send::{Failure, Flags};
use ::pool::stream::RecordWriter;
use engine_api::{Error, Pool, Result, SendEvent, SendRequest};
use ondisk::send::{Begin, HeaderType, Record, feature};

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
        let flags =
            Flags { large_blocks: request.large_blocks, embed: request.embed, compress: request.compress };
        let plan = self.plan_send(request)?;
        plan.missing.iter().for_each(|name| tell(SendEvent::Missing(name.clone())));
        // Everything is looked at before anything is sent.
        let mut sendings = Vec::new();
        for (snapshot, from) in &plan.steps {
            let failed = |failure| words(failure, snapshot, from.as_deref());
            let own = self.name();
            if from.as_ref().is_some_and(|from| from.split(['/', '@', '#']).next() != Some(own.as_str())) {
                return Err(failed(Failure::NotEarlier));
            }
            let sending = self.pool.dsl.prepare_send(snapshot, from.as_deref(), flags).map_err(failed)?;
            let (snapshot, from) = (snapshot.clone(), from.clone());
            tell(SendEvent::Planned { snapshot, from, size: sending.size() });
            sendings.push(sending);
        }
        if request.dry_run {
            return Ok(());
        }
        let broken = |error: std::io::Error| {
            words(Failure::Broken(error.to_string()), &request.snapshot, request.from.as_deref())
        };
        if plan.is_compound {
            let begin = compound(request, plan.list.len() as u32);
            let writer = RecordWriter::begin(to, &begin, &plan.list).map_err(broken)?;
            writer.end_list().map_err(broken)?;
        }
        for (sending, (snapshot, from)) in sendings.iter().zip(&plan.steps) {
            let failed = |failure| words(failure, snapshot, from.as_deref());
            tell(SendEvent::Begins(snapshot.clone()));
            self.pool.dsl.send(sending, to).map_err(failed)?;
        }
        if plan.is_compound {
            to.write_all(&Record::End { checksum: [0; 4] }.encode(0)).map_err(broken)?;
        }
        to.flush().map_err(broken)
    }
}

/// The begin of a stream of streams.
fn compound(request: &SendRequest, payload_len: u32) -> Begin {
    Begin {
        header_type: HeaderType::Compound as u8,
        features: if request.holds { feature::HOLDS } else { 0 },
        creation_time: 0,
        objset_type: 0,
        flags: 0,
        to_guid: 0,
        from_guid: 0,
        to_name: request.snapshot.clone(),
        payload_len,
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
