//! `zfs send`: what is sent, from where on, and what is said about it.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`zfs_send_one`, `zfs_send`, `zfs_send_saved`,
//! `zfs_send_resume_impl_cb_impl`).

mod plan;

use std::fmt::Write as _;
use std::io::Write;

use ::pool::PoolError;
use ::pool::resume::{self, BadToken, Resume};
use ::pool::send::{Failure, Flags, Sending, head_of_stream};
use ::pool::stream::RecordWriter;
use engine_api::{Error, Pool, Result, SendEvent, SendRequest, TokenContents};
use env::{Clock, Nanos};
use ondisk::nvlist::{NvList, NvValue};
use ondisk::send::{Begin, HeaderType, Record, feature};
use refusal::{Action, Reason, Refused, SendFault};

use super::convert::api_error;
use super::family::{nearest, no_dataset};
use super::pool::LocalPool;

/// Who hears what is sent.
type Tell<'a> = &'a mut dyn FnMut(SendEvent);

impl LocalPool {
    /// Sends, or with `dry_run` only says what would be.
    pub(super) fn run_send(&self, request: &SendRequest, to: &mut dyn Write, tell: Tell<'_>) -> Result<()> {
        let flags =
            Flags { large_blocks: request.large_blocks, embed: request.embed, compress: request.compress };
        if let Some(token) = &request.token {
            return self.resume_send(token, flags, request.dry_run, to, tell);
        }
        if request.saved {
            return self.send_saved(&request.snapshot, request.dry_run, to, tell);
        }
        self.can_send(&request.snapshot)?;
        let plan = self.plan_send(request)?;
        for (dataset, is_new) in &plan.skipped {
            tell(SendEvent::Skipped { dataset: dataset.clone(), is_new: *is_new });
        }
        // Everything is looked at before anything is sent.
        let mut sendings = Vec::new();
        for (snapshot, from) in &plan.steps {
            let failed = |failure| refusal_of(failure, snapshot, from.as_deref());
            let own = self.name();
            if from.as_ref().is_some_and(|from| from.split(['/', '@', '#']).next() != Some(own.as_str())) {
                return Err(failed(Failure::NotEarlier));
            }
            let sending = match snapshot.contains('@') || request.dry_run {
                true => self.pool.dsl.prepare_send(snapshot, from.as_deref(), flags),
                false => {
                    let prepare = || self.pool.dsl.prepare_head(snapshot, from.as_deref(), flags);
                    self.take_head(snapshot, prepare)
                }
            };
            let sending = sending.map_err(failed)?;
            let (snapshot, from) = (snapshot.clone(), from.clone());
            tell(SendEvent::Planned { snapshot, from, size: sending.size() });
            sendings.push(sending);
        }
        if request.dry_run {
            return Ok(());
        }
        let broken = |error: std::io::Error| {
            refusal_of(Failure::Broken(error.to_string()), &request.snapshot, request.from.as_deref())
        };
        if plan.is_compound {
            let begin = compound(request, plan.list.len() as u32);
            let writer = RecordWriter::begin(to, &begin, &plan.list).map_err(broken)?;
            writer.end_list().map_err(broken)?;
        }
        for (sending, (snapshot, from)) in sendings.iter().zip(&plan.steps) {
            let failed = |failure| refusal_of(failure, snapshot, from.as_deref());
            tell(SendEvent::Begins(snapshot.clone()));
            self.send_one(sending, to, tell).map_err(failed)?;
        }
        if plan.is_compound {
            to.write_all(&Record::End { checksum: [0; 4] }.encode(0)).map_err(broken)?;
        }
        to.flush().map_err(broken)
    }

    /// Nothing is begun that would wait for an operator; what has begun waits.
    fn can_send(&self, name: &str) -> Result<()> {
        self.not_suspended().map_err(|_| refusal_of(Failure::Pool(PoolError::Suspended), name, None))
    }

    /// A head as it is now, if nobody has it; from then on nobody can.
    fn take_head(
        &self,
        head: &str,
        prepare: impl FnOnce() -> std::result::Result<Sending, Failure>,
    ) -> std::result::Result<Sending, Failure> {
        let object = self.pool.dsl.object_of(head)?;
        if self.is_in_use(object) {
            return Err(Failure::InUse);
        }
        self.without(&[head.to_owned()], || {
            if !self.pool.core().readonly {
                self.pool.core().txgs.sync_now()?;
            }
            prepare()
        })
    }

    /// Sends the rest of a stream that was interrupted.
    fn resume_send(
        &self,
        token: &str,
        flags: Flags,
        dry_run: bool,
        to: &mut dyn Write,
        tell: Tell<'_>,
    ) -> Result<()> {
        let token = read_token(token)?;
        tell(SendEvent::Token(token.contents().shown));
        let resume = &token.resume;
        self.can_send(&resume.to_name)?;
        let name = self.sent_by(resume)?;
        let from = self.source_of(resume, &resume.to_name)?;
        let prepare = || self.pool.dsl.prepare_resume(&name, from.as_deref(), resume, flags);
        let sending = if name.contains('@') { prepare() } else { self.take_head(&name, prepare) };
        self.send_single(sending, (&name, from.as_deref()), dry_run, to, tell)
    }

    /// Sends what an interrupted receive has left of a dataset.
    fn send_saved(&self, dataset: &str, dry_run: bool, to: &mut dyn Write, tell: Tell<'_>) -> Result<()> {
        self.can_send(dataset)?;
        if self.pool.dsl.object_of(dataset).is_err() {
            return Err(no_dataset(dataset));
        }
        let missing = || not_sent(dataset, SendFault::NothingSaved { dataset: dataset.to_owned() });
        let mut token = read_token(&self.token_of(dataset).ok_or_else(missing)?)?;
        // It begins at the beginning.
        token.list.set("object", 0u64).set("offset", 0u64).set("bytes", 0u64).set("toname", dataset);
        tell(SendEvent::Token(token.contents().shown));
        let from = self.source_of(&token.resume, dataset)?;
        let sending = self.pool.dsl.prepare_saved(dataset, from.as_deref());
        self.send_single(sending, (dataset, from.as_deref()), dry_run, to, tell)
    }

    /// Sends what was prepared, or with `dry_run` only says what it is.
    fn send_single(
        &self,
        prepared: std::result::Result<Sending, Failure>,
        (name, from): (&str, Option<&str>),
        dry_run: bool,
        to: &mut dyn Write,
        tell: Tell<'_>,
    ) -> Result<()> {
        let failed = |failure| refusal_of(failure, name, from);
        let sending = prepared.map_err(failed)?;
        let planned = SendEvent::Planned {
            snapshot: name.to_owned(),
            from: from.map(str::to_owned),
            size: sending.size(),
        };
        tell(planned);
        if dry_run {
            return Ok(());
        }
        tell(SendEvent::Begins(name.to_owned()));
        self.send_one(&sending, to, tell).map_err(failed)?;
        to.flush().map_err(|error| failed(Failure::Broken(error.to_string())))
    }

    /// Sends what was prepared, and tells how far that is.
    fn send_one(
        &self,
        sending: &Sending,
        to: &mut dyn Write,
        tell: Tell<'_>,
    ) -> std::result::Result<(), Failure> {
        let told = self.env.clock.now();
        let mut watched = Watched { to, tell, sending, clock: &*self.env.clock, told };
        self.pool.dsl.send(sending, &mut watched)
    }

    /// The snapshot or head that was sent; it may have been renamed since, but has its guid.
    fn sent_by(&self, resume: &Resume) -> Result<String> {
        let name = &resume.to_name;
        let is_ours = name.split(['/', '@']).next() == Some(self.name().as_str());
        let heads = || self.pool.dsl.heads_by_guid(resume.to_guid).map_err(api_error);
        let found = match head_of_stream(name) {
            _ if !is_ours => None,
            Some(head) => nearest(heads()?, head),
            None => self.by_guid(resume.to_guid, name)?,
        };
        found.ok_or_else(|| {
            let exists = self.pool.dsl.object_of(name).is_ok();
            not_resumed(SendFault::TokenOf { name: name.clone(), exists })
        })
    }

    /// The snapshot or bookmark that a stream starts from, if it does, as near to a name as there
    /// is one.
    fn source_of(&self, resume: &Resume, near: &str) -> Result<Option<String>> {
        if resume.from_guid == 0 {
            return Ok(None);
        }
        let from = match self.by_guid(resume.from_guid, near)? {
            Some(from) => Some(from),
            None => nearest(self.pool.dsl.bookmarks_by_guid(resume.from_guid).map_err(api_error)?, near),
        };
        let missing = || not_resumed(SendFault::NoTokenSource { guid: resume.from_guid });
        Ok(Some(from.ok_or_else(missing)?))
    }
}

/// How often it is told how many blocks were looked at.
const EVERY: Nanos = Nanos::from_millis(1000);

/// A stream that tells now and then how far it is.
struct Watched<'a> {
    to: &'a mut dyn Write,
    tell: Tell<'a>,
    sending: &'a Sending,
    clock: &'a dyn Clock,
    told: Nanos,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let now = self.clock.now();
        if now.since(self.told) >= EVERY {
            self.told = now;
            (self.tell)(SendEvent::Visited(self.sending.visited()));
        }
        self.to.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

/// What a token says, whole and as far as it is needed.
pub(super) struct Token {
    list: NvList,
    resume: Resume,
}

impl Token {
    pub fn contents(&self) -> TokenContents {
        let Resume { to_name, to_guid, from_guid, .. } = &self.resume;
        let shown = shown(&self.list);
        TokenContents { snapshot: to_name.clone(), guid: *to_guid, from_guid: *from_guid, shown }
    }
}

pub(super) fn read_token(token: &str) -> Result<Token> {
    let refuse = |bad: BadToken| not_resumed(SendFault::Token { message: bad.to_string() });
    let list = resume::from_token(token).map_err(refuse)?;
    let resume = Resume::of_list(&list).map_err(refuse)?;
    Ok(Token { list, resume })
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

/// A failure, as libzfs tells it.
fn refusal_of(failure: Failure, snapshot: &str, from: Option<&str>) -> Error {
    let fault = match failure {
        Failure::NoSource => match from.filter(|from| from.contains('@')) {
            Some(from) => return no_dataset(from),
            None => SendFault::NoSource { from: from.unwrap_or_default().to_owned() },
        },
        Failure::InUse => SendFault::InUse,
        Failure::NotEarlier => SendFault::NotEarlier,
        Failure::NoObject => SendFault::NoObject,
        Failure::Broken(message) => SendFault::Broken { message },
        Failure::Pool(PoolError::NotFound) => return no_dataset(snapshot),
        Failure::Pool(PoolError::Io) => SendFault::Io,
        Failure::Pool(PoolError::Busy) => return not_sent(snapshot, Reason::DatasetBusy),
        Failure::Pool(PoolError::Suspended) => return not_sent(snapshot, Reason::Suspended),
        Failure::Pool(other) => return api_error(other),
    };
    not_sent(snapshot, fault)
}

fn not_sent(name: &str, why: impl Into<Reason>) -> Error {
    Refused::new(Action::Send { name: name.to_owned() }, why).into()
}

fn not_resumed(fault: SendFault) -> Error {
    Refused::new(Action::ResumeSend, fault).into()
}
