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

use crate::binary::hex;
use crate::chap::{Chap, Round};
use crate::house::House;
use crate::keys::{Keys, offers};
use crate::limits::{DEFAULT_SEGMENT, KEYS, LOGIN_ROUNDS, TEXT, WINDOW};
use crate::member::{Member, Name};
use crate::parameters::Parameters;
use crate::pdu::Pdu;
use crate::pdu::initiator::{LoginRequest, Opcode, Stage};
use crate::pdu::target::{Failure, FromTarget, LoginResponse, Numbers};
use crate::session::Session;
use crate::share::Credentials;

/// What initiators may say again, if it is the same.
const INTRODUCTION: [&str; 3] = ["InitiatorName", "TargetName", "SessionType"];

/// What comes of a request.
pub enum Step {
    Answer(Answer),
    /// With the session that this is one more connection of.
    Done(Answer, Box<Member>, Option<Arc<Session>>),
    /// The connection ends.
    Failed(Answer, Failure),
}

/// The response to a request, with its text.
pub struct Answer {
    response: LoginResponse,
    numbers: Numbers,
    text: Vec<u8>,
}

impl Answer {
    /// Of the login to a session, which has this handle.
    pub fn of_session(mut self, handle: u16) -> Answer {
        self.response.handle = handle;
        self
    }

    pub fn into_pdu(self) -> Pdu {
        self.response.encode(&self.numbers).with_data(self.text)
    }
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
    place: Option<([u8; 6], u16, u16)>,
    /// Where it is; `None`: at its beginning.
    stage: Option<Stage>,
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

    pub fn step(&mut self, pdu: &Pdu) -> Step {
        self.rounds += 1;
        let request = LoginRequest::decode(&pdu.header);
        match self.judge(pdu, &request) {
            Ok((keys, next)) => {
                let answer = self.answer(&request, Ok(next), keys.encode());
                match next {
                    Some(Stage::FullFeature) => match self.member(&request) {
                        Ok(member) => Step::Done(answer, Box::new(member), self.joins.clone()),
                        Err(failure) => self.fail(pdu, failure),
                    },
                    _ => Step::Answer(answer),
                }
            }
            Err(failure) => self.fail(pdu, failure),
        }
    }

    /// `pdu`: the request that it fails with.
    pub fn fail(&mut self, pdu: &Pdu, failure: Failure) -> Step {
        let request = LoginRequest::decode(&pdu.header);
        Step::Failed(self.answer(&request, Err(failure), Vec::new()), failure)
    }

    /// `outcome`: the stage that begins now, if one does.
    fn answer(
        &mut self,
        request: &LoginRequest,
        outcome: Result<Option<Stage>, Failure>,
        text: Vec<u8>,
    ) -> Answer {
        let status = self.status_number;
        self.status_number += 1;
        let command = request.command_number;
        let begins = (command, command.wrapping_add(WINDOW - 1));
        let (expected, most) = self.joins.as_ref().map_or(begins, |session| session.window());
        let LoginRequest { stage, isid, handle, tag, .. } = *request;
        let response = LoginResponse { stage, outcome, isid, handle, tag };
        Answer { response, numbers: Numbers { status, expected, most }, text }
    }

    fn member(&self, request: &LoginRequest) -> Result<Member, Failure> {
        let who = self.who.as_ref().ok_or(Failure::Missing)?;
        if self.joins.as_ref().is_some_and(|session| session.user != self.user) {
            return Err(Failure::NotAuthenticated);
        }
        Ok(Member {
            initiator: who.initiator.clone(),
            nexus: self.nexus(&who.initiator, request),
            target: who.target.clone(),
            user: self.user.clone(),
            parameters: self.parameters.clone(),
            command_number: request.command_number,
            status_number: self.status_number,
            connection: request.connection,
        })
    }

    fn nexus(&self, initiator: &str, request: &LoginRequest) -> Nexus {
        Nexus::new(&format!("{initiator},i,{}", hex(&request.isid)), self.group)
    }

    /// What is answered, and the stage that follows.
    fn judge(&mut self, pdu: &Pdu, request: &LoginRequest) -> Result<(Keys, Option<Stage>), Failure> {
        if Opcode::of(&pdu.header) != Some(Opcode::Login) || self.rounds > LOGIN_ROUNDS {
            return Err(Failure::InitiatorError);
        }
        if request.version_min > 0 {
            return Err(Failure::Version);
        }
        let stage = request.stage;
        let place = (request.isid, request.handle, request.connection);
        if *self.place.get_or_insert(place) != place || self.stage.is_some_and(|own| own != stage) {
            return Err(Failure::InitiatorError);
        }
        if self.text.len() + pdu.data.len() > TEXT {
            return Err(Failure::InitiatorError);
        }
        self.text.extend(&pdu.data);
        if request.goes_on {
            let transits = request.next.is_some();
            return if transits { Err(Failure::InitiatorError) } else { Ok((Keys::default(), None)) };
        }
        if request.next.is_some_and(|next| next <= stage || next == Stage::Reserved) {
            return Err(Failure::InitiatorError);
        }
        let keys = Keys::parse(&std::mem::take(&mut self.text)).ok_or(Failure::InitiatorError)?;
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
            Stage::Security => self.prove(&keys, &mut reply)?,
            Stage::Operational if !self.is_proved() => return Err(Failure::NotAuthenticated),
            Stage::Operational => {}
            Stage::Reserved | Stage::FullFeature => return Err(Failure::InitiatorError),
        }
        self.agree(&keys, stage, &mut reply);
        if reply.encode().len() > DEFAULT_SEGMENT {
            return Err(Failure::InitiatorError);
        }
        let next = request.next.filter(|_| self.is_proved() || stage != Stage::Security);
        if request.next == Some(Stage::FullFeature) && next.is_none() && self.chap.is_none() {
            return Err(Failure::NotAuthenticated);
        }
        self.stage = Some(next.unwrap_or(stage));
        Ok((reply, next))
    }

    /// Each key is said once in a login.
    fn hear(&mut self, keys: &Keys) -> Result<(), Failure> {
        for (key, value) in &keys.0 {
            let kept = INTRODUCTION.contains(&key.as_str()).then(|| value.clone());
            let may_be = |before: &Option<String>| before.is_some() && *before == kept;
            let is_again = self.said.get(key).is_some_and(|before| !may_be(before));
            self.said.insert(key.clone(), kept);
            if is_again || self.said.len() > KEYS {
                return Err(Failure::InitiatorError);
            }
        }
        Ok(())
    }

    fn introduce(&self, keys: &Keys) -> Result<Who, Failure> {
        let initiator = keys.get("InitiatorName").filter(|name| !name.is_empty() && name.len() <= 223);
        let initiator = initiator.ok_or(Failure::Missing)?.to_ascii_lowercase();
        match keys.get("SessionType").unwrap_or("Normal") {
            "Discovery" => return Ok(Who { initiator, target: None, known: Vec::new() }),
            "Normal" => {}
            _ => return Err(Failure::SessionType),
        }
        let target = keys.get("TargetName").ok_or(Failure::Missing)?.to_ascii_lowercase();
        // Asked first: what comes in between is found.
        let is_incomplete = self.house.catalogue.is_incomplete();
        let known = self.house.catalogue.credentials(&target, &initiator, self.group);
        let known = known.ok_or(if is_incomplete { Failure::Unavailable } else { Failure::NotFound })?;
        Ok(Who { initiator, target: Some(target), known })
    }

    /// The session that it has the handle of.
    fn joined(&self, who: &Who, request: &LoginRequest) -> Result<Option<Arc<Session>>, Failure> {
        if request.handle == 0 {
            return Ok(None);
        }
        let target = who.target.clone().ok_or(Failure::NoSession)?;
        let name = Name { nexus: self.nexus(&who.initiator, request), target };
        self.house.sessions.find(&name, request.handle).map(Some).ok_or(Failure::NoSession)
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
                return Err(Failure::NotAuthenticated);
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
        let chap = self.chap.take().ok_or(Failure::NotAuthenticated)?;
        if matches!(chap, Chap::Challenged { .. }) && !self.house.guard.admits(self.from, Instant::now()) {
            return Err(Failure::Unavailable);
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
            Round::Failed => Err(Failure::NotAuthenticated),
        }
    }

    fn agree(&mut self, keys: &Keys, stage: Stage, reply: &mut Keys) {
        for (key, value) in &keys.0 {
            if key == "AuthMethod" || key.starts_with("CHAP_") {
                continue;
            }
            if let Some(answer) = self.parameters.negotiate(key, value) {
                reply.add(key, answer);
            }
        }
        self.parameters.settle(reply);
        if stage == Stage::Operational && !std::mem::replace(&mut self.told, true) {
            let (key, value) = Parameters::own();
            reply.add(key, value);
        }
    }
}
