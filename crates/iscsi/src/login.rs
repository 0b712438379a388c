//! Login: who comes, whether that is proved, and what is agreed on.
//!
//! ```text
//!   0 security ──▶ 1 operational ──▶ 3 full feature          either of the first two may be passed over
//! ```
//! Each request gets one response. A text that goes on in the next PDU is put together first. One
//! that has the handle of a session wants to be one more connection of that: who comes proves again
//! to be the same. Stages only go on, each key is said once, and all requests are of the same port,
//! session and connection.
//!
//! Source: RFC 7143 6.3, 11.12, 11.13.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use scsi::Nexus;

use crate::chap::{Chap, Round};
use crate::house::House;
use crate::keys::{Keys, offers};
use crate::limits::{DEFAULT_SEGMENT, KEYS, LOGIN_ROUNDS, TEXT, WINDOW};
use crate::member::{Member, Name};
use crate::parameters::Parameters;
use crate::pdu::flags::{CONTINUE, STAGE, TRANSIT};
use crate::pdu::{Failure, Pdu, at, from_initiator, from_target};
use crate::session::Session;
use crate::share::Credentials;

const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;

/// What initiators may say again, if it is the same.
const INTRODUCTION: [&str; 3] = ["InitiatorName", "TargetName", "SessionType"];

/// What comes of a request.
pub enum Step {
    Answer(Pdu),
    /// With the session that this is one more connection of.
    Done(Pdu, Box<Member>, Option<Arc<Session>>),
    /// The connection ends.
    Failed(Pdu, Failure),
}

/// A login under way. See the module.
pub struct Login<'a> {
    house: &'a House,
    /// The group of portals that it comes through, and where from.
    group: u16,
    from: IpAddr,
    parameters: Parameters,
    text: Vec<u8>,
    rounds: usize,
    /// Port, session and connection, as the first request has them.
    place: Option<([u8; 8], [u8; 2])>,
    /// Where it is; `None`: at its beginning.
    stage: Option<u8>,
    /// Keys that were said; what they were, of the introduction.
    said: BTreeMap<String, Option<String>>,
    status_number: u32,
    who: Option<Who>,
    chap: Option<Chap>,
    user: Option<String>,
    joins: Option<Arc<Session>>,
    /// Our own parameters were said.
    told: bool,
}

struct Who {
    initiator: String,
    target: Option<String>,
    /// Empty: nobody has to prove anything.
    known: Vec<Credentials>,
}

impl<'a> Login<'a> {
    pub fn new(house: &'a House, group: u16, from: IpAddr) -> Login<'a> {
        Login {
            house,
            group,
            from,
            parameters: Parameters::default(),
            text: Vec::new(),
            rounds: 0,
            place: None,
            stage: None,
            said: BTreeMap::new(),
            status_number: 0,
            who: None,
            chap: None,
            user: None,
            joins: None,
            told: false,
        }
    }

    /// The initiator's name, as far as it is known.
    pub fn initiator(&self) -> &str {
        self.who.as_ref().map_or("?", |who| who.initiator.as_str())
    }

    pub fn step(&mut self, request: &Pdu) -> Step {
        self.rounds += 1;
        match self.answer(request) {
            Ok((keys, stage)) => {
                let flags = request.flags() & STAGE | stage.map_or(0, |next| TRANSIT | next);
                let response = self.response(request, flags, 0).with_data(keys.encode());
                match stage {
                    Some(FULL_FEATURE) => match self.member(request) {
                        Ok(member) => Step::Done(response, Box::new(member), self.joins.clone()),
                        Err(failure) => self.fail(request, failure),
                    },
                    _ => Step::Answer(response),
                }
            }
            Err(failure) => self.fail(request, failure),
        }
    }

    pub fn fail(&mut self, request: &Pdu, failure: Failure) -> Step {
        Step::Failed(self.response(request, 0, failure.0), failure)
    }

    fn response(&mut self, request: &Pdu, flags: u8, status: u16) -> Pdu {
        let number = self.status_number;
        self.status_number += 1;
        let command = request.u32(at::COMMAND_NUMBER);
        let begins = (command, command.wrapping_add(WINDOW - 1));
        let (expected, most) = self.joins.as_ref().map_or(begins, |session| session.window());
        Pdu::new(from_target::LOGIN, flags)
            .put(at::ISID, &request.field::<8>(at::ISID))
            .put_u32(at::TASK_TAG, request.tag())
            .put_u32(at::STATUS_NUMBER, number)
            .put_u32(at::EXPECTED_COMMAND, expected)
            .put_u32(at::MAX_COMMAND, most)
            .put(at::LOGIN_STATUS, &status.to_be_bytes())
    }

    fn member(&self, request: &Pdu) -> Result<Member, Failure> {
        let who = self.who.as_ref().ok_or(Failure::MISSING)?;
        if self.joins.as_ref().is_some_and(|session| session.user != self.user) {
            return Err(Failure::NOT_AUTHENTICATED);
        }
        Ok(Member {
            initiator: who.initiator.clone(),
            nexus: self.nexus(&who.initiator, request),
            target: who.target.clone(),
            user: self.user.clone(),
            parameters: self.parameters.clone(),
            command_number: request.u32(at::COMMAND_NUMBER),
            status_number: self.status_number,
            connection: u16::from_be_bytes(request.field(at::CONNECTION)),
        })
    }

    fn nexus(&self, initiator: &str, request: &Pdu) -> Nexus {
        let isid: String = request.field::<6>(at::ISID).iter().map(|byte| format!("{byte:02x}")).collect();
        Nexus::new(&format!("{initiator},i,0x{isid}"), self.group)
    }

    /// What is answered, and the stage that follows.
    fn answer(&mut self, request: &Pdu) -> Result<(Keys, Option<u8>), Failure> {
        if request.opcode() != from_initiator::LOGIN || self.rounds > LOGIN_ROUNDS {
            return Err(Failure::INITIATOR_ERROR);
        }
        if request.header[at::VERSION_MIN] > 0 {
            return Err(Failure::VERSION);
        }
        let (transit, stage, next) =
            (request.flags() & TRANSIT != 0, request.flags() >> 2 & 3, request.flags() & 3);
        let place = (request.field::<8>(at::ISID), request.field::<2>(at::CONNECTION));
        if *self.place.get_or_insert(place) != place || self.stage.is_some_and(|own| own != stage) {
            return Err(Failure::INITIATOR_ERROR);
        }
        if self.text.len() + request.data.len() > TEXT {
            return Err(Failure::INITIATOR_ERROR);
        }
        self.text.extend(&request.data);
        if request.flags() & CONTINUE != 0 {
            return if transit { Err(Failure::INITIATOR_ERROR) } else { Ok((Keys::default(), None)) };
        }
        if transit && (next <= stage || next == 2) {
            return Err(Failure::INITIATOR_ERROR);
        }
        let keys = Keys::parse(&std::mem::take(&mut self.text)).ok_or(Failure::INITIATOR_ERROR)?;
        self.hear(&keys)?;
        if self.who.is_none() {
            let who = self.introduce(&keys)?;
            self.joins = self.joined(&who, request)?;
            if let Some(session) = &self.joins {
                self.parameters = Parameters::joining(&session.parameters);
            }
            self.who = Some(who);
        }
        let mut reply = Keys::default();
        if self.rounds == 1 && self.who.as_ref().is_some_and(|who| who.target.is_some()) {
            reply.add("TargetPortalGroupTag", self.group.to_string());
        }
        match stage {
            SECURITY => self.prove(&keys, &mut reply)?,
            OPERATIONAL if !self.is_proved() => return Err(Failure::NOT_AUTHENTICATED),
            OPERATIONAL => {}
            _ => return Err(Failure::INITIATOR_ERROR),
        }
        self.agree(&keys, stage, &mut reply);
        if reply.encode().len() > DEFAULT_SEGMENT {
            return Err(Failure::INITIATOR_ERROR);
        }
        let passes = transit && (self.is_proved() || stage != SECURITY);
        if transit && next == FULL_FEATURE && !passes && self.chap.is_none() {
            return Err(Failure::NOT_AUTHENTICATED);
        }
        self.stage = Some(if passes { next } else { stage });
        Ok((reply, passes.then_some(next)))
    }

    /// Each key is said once in a login.
    fn hear(&mut self, keys: &Keys) -> Result<(), Failure> {
        for (key, value) in &keys.0 {
            let kept = INTRODUCTION.contains(&key.as_str()).then(|| value.clone());
            let may_be = |before: &Option<String>| before.is_some() && *before == kept;
            let is_again = self.said.get(key).is_some_and(|before| !may_be(before));
            self.said.insert(key.clone(), kept);
            if is_again || self.said.len() > KEYS {
                return Err(Failure::INITIATOR_ERROR);
            }
        }
        Ok(())
    }

    fn introduce(&self, keys: &Keys) -> Result<Who, Failure> {
        let initiator = keys.get("InitiatorName").filter(|name| !name.is_empty() && name.len() <= 223);
        let initiator = initiator.ok_or(Failure::MISSING)?.to_ascii_lowercase();
        match keys.get("SessionType").unwrap_or("Normal") {
            "Discovery" => return Ok(Who { initiator, target: None, known: Vec::new() }),
            "Normal" => {}
            _ => return Err(Failure::SESSION_TYPE),
        }
        let target = keys.get("TargetName").ok_or(Failure::MISSING)?.to_ascii_lowercase();
        let known =
            self.house.catalogue.credentials(&target, &initiator, self.group).ok_or(Failure::NOT_FOUND)?;
        Ok(Who { initiator, target: Some(target), known })
    }

    /// The session that it has the handle of.
    fn joined(&self, who: &Who, request: &Pdu) -> Result<Option<Arc<Session>>, Failure> {
        let handle = u16::from_be_bytes(request.field(14));
        if handle == 0 {
            return Ok(None);
        }
        let target = who.target.clone().ok_or(Failure::NO_SESSION)?;
        let name = Name { nexus: self.nexus(&who.initiator, request), target };
        self.house.sessions.find(&name, handle).map(Some).ok_or(Failure::NO_SESSION)
    }

    fn known(&self) -> &[Credentials] {
        self.who.as_ref().map_or(&[], |who| &who.known)
    }

    fn is_proved(&self) -> bool {
        self.user.is_some() || self.known().is_empty()
    }

    fn prove(&mut self, keys: &Keys, reply: &mut Keys) -> Result<(), Failure> {
        if let Some(methods) = keys.get("AuthMethod") {
            let method = if self.known().is_empty() { "None" } else { "CHAP" };
            if !offers(methods, method) {
                return Err(Failure::NOT_AUTHENTICATED);
            }
            reply.add("AuthMethod", method);
            if method == "CHAP" {
                self.chap = Some(Chap::Begun);
                // Some begin in the same breath.
                if keys.get("CHAP_A").is_none() {
                    return Ok(());
                }
            }
        }
        if !keys.0.iter().any(|(key, _)| key.starts_with("CHAP_")) {
            return Ok(());
        }
        let chap = self.chap.take().ok_or(Failure::NOT_AUTHENTICATED)?;
        if matches!(chap, Chap::Challenged { .. }) && !self.house.guard.admits(self.from, Instant::now()) {
            return Err(Failure::UNAVAILABLE);
        }
        match chap.round(keys, &*self.house.random, self.known()) {
            Round::More(more, chap) => {
                reply.0.extend(more.0);
                self.chap = Some(chap);
                Ok(())
            }
            Round::Done(more, user) => {
                self.house.guard.proved(self.from);
                reply.0.extend(more.0);
                self.user = Some(user);
                Ok(())
            }
            Round::Failed => Err(Failure::NOT_AUTHENTICATED),
        }
    }

    fn agree(&mut self, keys: &Keys, stage: u8, reply: &mut Keys) {
        for (key, value) in &keys.0 {
            if key == "AuthMethod" || key.starts_with("CHAP_") {
                continue;
            }
            if let Some(answer) = self.parameters.negotiate(key, value) {
                reply.add(key, answer);
            }
        }
        self.parameters.settle(reply);
        if stage == OPERATIONAL && !std::mem::replace(&mut self.told, true) {
            let (key, value) = Parameters::own();
            reply.add(key, value);
        }
    }
}
