//! `zfs send`: what is sent, from where on, and what is said about it.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`zfs_send_one`, `zfs_send`, `zfs_send_resume_impl_cb_impl`).

mod plan;

use std::fmt::Write as _;
use std::io::Write;

use ::pool::PoolError;
use ::pool::resume::{self, Resume};
use ::pool::send::{Failure, Flags, Sending};
use ::pool::stream::RecordWriter;
use engine_api::{Error, Pool, Result, SendEvent, SendRequest};
use ondisk::nvlist::{NvList, NvValue};
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
        if let Some(token) = &request.token {
            return self.resume_send(token, flags, request.dry_run, to, tell);
        }
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

impl LocalPool {
    /// Sends the rest of a stream that was interrupted.
    fn resume_send(
        &self,
        token: &str,
        flags: Flags,
        dry_run: bool,
        to: &mut dyn Write,
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<()> {
        let (list, resume) = read_token(token)?;
        tell(SendEvent::Token(shown(&list)));
        let (snapshot, from) = self.ends_of(&resume)?;
        let failed = |failure| words(failure, &snapshot, from.as_deref());
        let sending: Sending =
            self.pool.dsl.prepare_resume(&snapshot, from.as_deref(), &resume, flags).map_err(failed)?;
        tell(SendEvent::Planned { snapshot: snapshot.clone(), from: from.clone(), size: sending.size() });
        if dry_run {
            return Ok(());
        }
        tell(SendEvent::Begins(snapshot.clone()));
        self.pool.dsl.send(&sending, to).map_err(failed)?;
        to.flush().map_err(|error| failed(Failure::Broken(error.to_string())))
    }

    /// Snapshots may have been renamed since: they are known by their guids.
    fn ends_of(&self, resume: &Resume) -> Result<(String, Option<String>)> {
        let name = &resume.to_name;
        let is_ours = name.split(['/', '@']).next() == Some(self.name().as_str());
        let found = if is_ours { self.by_guid(resume.to_guid, name)? } else { None };
        let Some(snapshot) = found else {
            let is_there = self.pool.dsl.object_of(name).is_ok();
            let why = match is_there {
                true => "is no longer the same snapshot used in the initial send",
                false => "used in the initial send no longer exists",
            };
            return Err(Error::Refused(format!("{RESUME}: '{name}' {why}")));
        };
        if resume.from_guid == 0 {
            return Ok((snapshot, None));
        }
        let from = match self.by_guid(resume.from_guid, name)? {
            Some(from) => Some(from),
            None => nearest(self.pool.dsl.bookmarks_by_guid(resume.from_guid).map_err(api_error)?, name),
        };
        let missing = || {
            let why = format!("incremental source {:#x} no longer exists", resume.from_guid);
            Error::Refused(format!("{RESUME}: {why}"))
        };
        Ok((snapshot, Some(from.ok_or_else(missing)?)))
    }

    /// A snapshot of this guid, as near to a name as there is one.
    pub(super) fn by_guid(&self, guid: u64, near: &str) -> Result<Option<String>> {
        Ok(nearest(self.pool.dsl.snapshots_by_guid(guid).map_err(api_error)?, near))
    }
}

const RESUME: &str = "cannot resume send";

fn nearest(names: Vec<String>, to: &str) -> Option<String> {
    let common = |name: &String| name.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count();
    names.into_iter().max_by_key(common)
}

/// What a token says, whole and as far as it is needed.
pub(super) fn read_token(token: &str) -> Result<(NvList, Resume)> {
    let refuse = |why| Error::Refused(format!("{RESUME}: {why}"));
    let list = resume::from_token(token).map_err(refuse)?;
    let resume = Resume::of_list(&list).map_err(refuse)?;
    Ok((list, resume))
}

/// As libnvpair prints it (`nvlist_print`).
fn shown(list: &NvList) -> String {
    let mut text = "resume token contents:\nnvlist version: 0".to_owned();
    for (name, value) in list.iter() {
        let line = match value {
            NvValue::U64(number) => write!(text, "\n\t{name} = {number:#x}"),
            NvValue::String(string) => write!(text, "\n\t{name} = {string}"),
            NvValue::Flag => write!(text, "\n\t{name} = 1"),
            other => write!(text, "\n\t{name} = {other:?}"),
        };
        line.expect("strings take all");
    }
    text
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
        Failure::NoObject => "No such file or directory".into(),
        Failure::Broken(why) => why,
        Failure::Pool(PoolError::NotFound) => {
            return Error::Refused(format!("cannot open '{snapshot}': dataset does not exist"));
        }
        Failure::Pool(PoolError::Io) => "I/O error".into(),
        Failure::Pool(other) => return api_error(other),
    };
    Error::Refused(format!("{action}: {why}"))
}
