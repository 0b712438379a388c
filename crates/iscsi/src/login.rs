//! Login: who comes, whether that is proved, and what is agreed on.
//!
//! ```text
//!   0 security ──▶ 1 operational ──▶ 3 full feature          either of the first two may be passed over
//! ```
//! Each request gets one response. A text that goes on in the next PDU is put together first.
//!
//! Source: RFC 7143 6.3, 11.12, 11.13.

use scsi::Port;

use crate::catalogue::Catalogue;
use crate::chap::{Chap, Round};
use crate::keys::{Keys, offers};
use crate::limits::{LOGIN_ROUNDS, TEXT, WINDOW};
use crate::parameters::Parameters;
use crate::pdu::{Pdu, from_initiator, from_target};
use crate::share::Credentials;

const TRANSIT: u8 = 0x80;
const CONTINUE: u8 = 0x40;
const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;

/// Class and detail of a login that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure(pub u16);

pub const INITIATOR_ERROR: Failure = Failure(0x0200);
pub const NOT_AUTHENTICATED: Failure = Failure(0x0201);
const NOT_FOUND: Failure = Failure(0x0203);
const VERSION: Failure = Failure(0x0205);
const TOO_MANY_CONNECTIONS: Failure = Failure(0x0206);
const MISSING: Failure = Failure(0x0207);
const SESSION_TYPE: Failure = Failure(0x0209);

/// Who has logged in.
#[derive(Clone, Debug)]
pub struct Member {
    pub initiator: String,
    /// The initiator's, as the logical units know it.
    pub port: Port,
    /// `None`: a discovery session.
    pub target: Option<String>,
    /// Who that was proved to be.
    pub user: Option<String>,
    pub parameters: Parameters,
    pub command_number: u32,
    pub status_number: u32,
    pub connection: u16,
}

/// What comes of a request.
pub enum Step {
    Answer(Pdu),
    Done(Pdu, Box<Member>),
    /// The connection ends.
    Failed(Pdu, Failure),
}

/// A login under way. See the module.
pub struct Login<'a> {
    catalogue: &'a Catalogue,
    random: &'a dyn Fn() -> u64,
    parameters: Parameters,
    text: Vec<u8>,
    rounds: usize,
    status_number: u32,
    who: Option<Who>,
    chap: Option<Chap>,
    user: Option<String>,
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
    pub fn new(catalogue: &'a Catalogue, random: &'a dyn Fn() -> u64) -> Login<'a> {
        Login {
            catalogue,
            random,
            parameters: Parameters::default(),
            text: Vec::new(),
            rounds: 0,
            status_number: 0,
            who: None,
            chap: None,
            user: None,
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
                let flags = request.flags() & 0x0c | stage.map_or(0, |next| TRANSIT | next);
                let response = self.response(request, flags, 0).with_data(keys.encode());
                match stage {
                    Some(FULL_FEATURE) => match self.member(request) {
                        Some(member) => Step::Done(response, Box::new(member)),
                        None => self.fail(request, MISSING),
                    },
                    _ => Step::Answer(response),
                }
            }
            Err(failure) => self.fail(request, failure),
        }
    }

    fn fail(&mut self, request: &Pdu, failure: Failure) -> Step {
        Step::Failed(self.response(request, 0, failure.0), failure)
    }

    fn response(&mut self, request: &Pdu, flags: u8, status: u16) -> Pdu {
        let number = self.status_number;
        self.status_number += 1;
        let command = request.u32(24);
        let last = flags & TRANSIT != 0 && flags & 3 == FULL_FEATURE;
        // A session gets its handle with the last response.
        let handle: [u8; 2] = if last { 1u16.to_be_bytes() } else { request.field(14) };
        Pdu::new(from_target::LOGIN, flags)
            .put(8, &request.field::<6>(8))
            .put(14, &handle)
            .put_u32(16, request.tag())
            .put_u32(24, number)
            .put_u32(28, command)
            .put_u32(32, command.wrapping_add(WINDOW - 1))
            .put(36, &status.to_be_bytes())
    }

    fn member(&self, request: &Pdu) -> Option<Member> {
        let who = self.who.as_ref()?;
        let isid: String = request.field::<6>(8).iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Member {
            initiator: who.initiator.clone(),
            port: format!("{},i,0x{isid}", who.initiator).into(),
            target: who.target.clone(),
            user: self.user.clone(),
            parameters: self.parameters.clone(),
            command_number: request.u32(24),
            status_number: self.status_number,
            connection: u16::from_be_bytes(request.field(20)),
        })
    }

    /// What is answered, and the stage that follows.
    fn answer(&mut self, request: &Pdu) -> Result<(Keys, Option<u8>), Failure> {
        if request.opcode() != from_initiator::LOGIN || self.rounds > LOGIN_ROUNDS {
            return Err(INITIATOR_ERROR);
        }
        if request.header[3] > 0 {
            return Err(VERSION);
        }
        // One connection a session: there is none to which another could be added.
        if request.field::<2>(14) != [0; 2] {
            return Err(TOO_MANY_CONNECTIONS);
        }
        if self.text.len() + request.data.len() > TEXT {
            return Err(INITIATOR_ERROR);
        }
        self.text.extend(&request.data);
        let (transit, stage, next) =
            (request.flags() & TRANSIT != 0, request.flags() >> 2 & 3, request.flags() & 3);
        if request.flags() & CONTINUE != 0 {
            return if transit { Err(INITIATOR_ERROR) } else { Ok((Keys::default(), None)) };
        }
        if transit && (next <= stage || next == 2) {
            return Err(INITIATOR_ERROR);
        }
        let keys = Keys::parse(&std::mem::take(&mut self.text)).ok_or(INITIATOR_ERROR)?;
        if self.who.is_none() {
            self.who = Some(self.introduce(&keys)?);
        }
        let mut reply = Keys::default();
        if self.rounds == 1 && self.who.as_ref().is_some_and(|who| who.target.is_some()) {
            reply.add("TargetPortalGroupTag", "1");
        }
        match stage {
            SECURITY => self.prove(&keys, &mut reply)?,
            OPERATIONAL if !self.is_proved() => return Err(NOT_AUTHENTICATED),
            OPERATIONAL => {}
            _ => return Err(INITIATOR_ERROR),
        }
        self.agree(&keys, stage, &mut reply);
        let passes = transit && (self.is_proved() || stage != SECURITY);
        if transit && next == FULL_FEATURE && !passes && self.chap.is_none() {
            return Err(NOT_AUTHENTICATED);
        }
        Ok((reply, passes.then_some(next)))
    }

    fn introduce(&self, keys: &Keys) -> Result<Who, Failure> {
        let initiator = keys.get("InitiatorName").filter(|name| !name.is_empty() && name.len() <= 223);
        let initiator = initiator.ok_or(MISSING)?.to_ascii_lowercase();
        match keys.get("SessionType").unwrap_or("Normal") {
            "Discovery" => return Ok(Who { initiator, target: None, known: Vec::new() }),
            "Normal" => {}
            _ => return Err(SESSION_TYPE),
        }
        let target = keys.get("TargetName").ok_or(MISSING)?.to_ascii_lowercase();
        let known = self.catalogue.credentials(&target, &initiator).ok_or(NOT_FOUND)?;
        Ok(Who { initiator, target: Some(target), known })
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
                return Err(NOT_AUTHENTICATED);
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
        let chap = self.chap.take().ok_or(NOT_AUTHENTICATED)?;
        match chap.round(keys, self.random, self.known()) {
            Round::More(more, chap) => {
                reply.0.extend(more.0);
                self.chap = Some(chap);
                Ok(())
            }
            Round::Done(more, user) => {
                reply.0.extend(more.0);
                self.user = Some(user);
                Ok(())
            }
            Round::Failed => Err(NOT_AUTHENTICATED),
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
        self.parameters.first_burst = self.parameters.first_burst.min(self.parameters.max_burst);
        if stage == OPERATIONAL && !std::mem::replace(&mut self.told, true) {
            let (key, value) = Parameters::own();
            reply.add(key, value);
        }
    }
}
