//! A logical unit: one volume, who is joined to it, and what reserves it.
//!
//! A command passes, in this order: is there such a command, unit attentions, reservations, then its family. Nothing of the
//! unit is locked while the volume works.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine_api::{ReadBuf, Volume, VolumeGeometry};

use crate::attention::{self, Attentions};
use crate::bytes::u8_at;
use crate::copy::{self, Copies};
use crate::limits::BLOCK;
use crate::opcodes::{self, Access, Opcode};
use crate::persistent::{self, Registry};
use crate::room::{self, Watch};
use crate::sense::{INVALID_FIELD, INVALID_OPCODE, Refusal, Sense, Status};
use crate::target::Target;
use crate::{block, inquiry, log, mode, report, reservation};

/// Of an initiator, as persistent reservations name it: `iqn.…,i,0x…`.
pub type Port = Arc<str>;

/// What a unit says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Never changes, and is nobody else's: of 100 bits.
    pub id: u128,
    /// In text, for people.
    pub serial: String,
    pub name: String,
}

/// What a command gives.
#[derive(Debug)]
pub enum Data {
    Nothing,
    Bytes(Vec<u8>),
    /// Of the volume, not copied.
    Read(ReadBuf),
}

impl Data {
    pub fn len(&self) -> usize {
        match self {
            Data::Nothing => 0,
            Data::Bytes(bytes) => bytes.len(),
            Data::Read(read) => read.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How a command ended.
#[derive(Debug)]
pub struct Answer {
    pub status: Status,
    pub sense: Option<Sense>,
    pub data: Data,
    /// Bytes that the command itself says it takes from the initiator; what came beyond was not looked at.
    pub taken: usize,
}

impl Answer {
    pub fn of(done: Result<Done, Refusal>) -> Answer {
        let refused = |status, sense| Answer { status, sense, data: Data::Nothing, taken: 0 };
        match done {
            Ok(Done { data, taken }) => Answer { status: Status::Good, sense: None, data, taken },
            Err(Refusal::Sense(sense)) => refused(Status::CheckCondition, Some(sense)),
            Err(Refusal::Busy) => refused(Status::Busy, None),
            Err(Refusal::Conflict) => refused(Status::ReservationConflict, None),
        }
    }
}

/// What a command that succeeds gives and takes.
pub struct Done {
    pub data: Data,
    pub taken: usize,
}

impl Done {
    pub fn nothing() -> Done {
        Done { data: Data::Nothing, taken: 0 }
    }

    pub fn bytes(bytes: Vec<u8>) -> Done {
        Done { data: Data::Bytes(bytes), taken: 0 }
    }

    pub fn taking(taken: usize) -> Done {
        Done { data: Data::Nothing, taken }
    }
}

/// A command on its way through a unit.
pub struct Command<'a> {
    pub port: &'a Port,
    /// Where the unit is, and which others its initiator sees.
    pub target: &'a Target,
    /// Sixteen bytes at least: 0 behind its end.
    pub cdb: &'a [u8],
    /// What came with it.
    pub out: &'a [u8],
}

/// See the module.
pub struct LogicalUnit {
    pub volume: Arc<dyn Volume>,
    pub identity: Identity,
    state: Mutex<State>,
    /// Whoever changes what is reserved has this meanwhile: that may take until it is durable.
    reserving: Mutex<()>,
    /// As initiators were told last.
    size: AtomicU64,
    pub watch: Watch,
    /// Software write protection, in the control mode page.
    protected: AtomicBool,
}

/// What ports are to a unit.
#[derive(Default)]
pub struct State {
    pub attentions: Attentions,
    pub registry: Registry,
    /// RESERVE(6).
    pub reserved: Option<Port>,
    pub copies: Copies,
}

impl LogicalUnit {
    pub fn new(volume: Arc<dyn Volume>, identity: Identity) -> Arc<LogicalUnit> {
        let size = volume.geometry().map_or(0, |geometry| geometry.size);
        let registry = Registry::of(&*volume);
        Arc::new(LogicalUnit {
            volume,
            identity,
            state: Mutex::new(State { registry, ..State::default() }),
            reserving: Mutex::default(),
            size: AtomicU64::new(size),
            watch: Watch::default(),
            protected: AtomicBool::new(false),
        })
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody else changes what is reserved meanwhile.
    pub fn changes_reservations(&self) -> MutexGuard<'_, ()> {
        self.reserving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A port has a session.
    pub fn join(&self, port: &Port) {
        self.state().attentions.join(port);
    }

    /// It has none any more: RESERVE(6) goes with it.
    pub fn leave(&self, port: &Port) {
        let mut state = self.state();
        state.attentions.leave(port);
        state.copies.forget(Some(port));
        if state.reserved.as_ref() == Some(port) {
            state.reserved = None;
        }
    }

    /// A reset that a port asked for, of which the others are told; nothing that is persistent goes.
    pub fn reset(&self, by: &Port) {
        self.protected.store(false, SeqCst);
        let mut state = self.state();
        state.reserved = None;
        state.copies.forget(None);
        state.attentions.tell_others(Some(by), attention::RESET);
    }

    /// The list of units that it is in is another.
    pub fn luns_changed(&self) {
        self.state().attentions.tell_all(attention::LUNS_CHANGED);
    }

    pub fn is_protected(&self) -> bool {
        self.protected.load(SeqCst)
    }

    pub fn set_protected(&self, protected: bool, by: &Port) {
        if self.protected.swap(protected, SeqCst) != protected {
            self.state().attentions.tell_others(Some(by), attention::MODE_CHANGED);
        }
    }

    pub fn geometry(&self) -> Result<VolumeGeometry, Refusal> {
        Ok(self.volume.geometry()?)
    }

    /// Logical blocks.
    pub fn blocks(&self) -> Result<u64, Refusal> {
        Ok(self.geometry()?.size / BLOCK)
    }

    /// A command that came through this target.
    pub fn execute(&self, target: &Target, port: &Port, cdb: &[u8], out: &[u8]) -> Answer {
        let mut whole = [0; 16];
        for (to, from) in whole.iter_mut().zip(cdb) {
            *to = *from;
        }
        Answer::of(self.run(&Command { port, target, cdb: &whole, out }))
    }

    fn run(&self, command: &Command<'_>) -> Result<Done, Refusal> {
        let code = command.cdb[0];
        self.notice_size();
        // INQUIRY, REPORT LUNS and REQUEST SENSE leave attentions to the next.
        if !matches!(code, 0x12 | 0xa0 | 0x03)
            && let Some(code) = self.state().attentions.take(command.port)
        {
            return Err(Sense::attention(code).into());
        }
        let opcode = self.opcode(command)?;
        if !reservation::lets_through(&self.state(), command.port, opcode, command.cdb) {
            return Err(Refusal::Conflict);
        }
        if opcode.access != Access::Free && self.volume.is_waiting() {
            return Err(Refusal::Busy);
        }
        match code {
            0x00 => self.geometry().map(|_| Done::nothing()),
            0x03 => Ok(self.request_sense(command)),
            0x12 => inquiry::inquiry(self, command.cdb),
            0x15 | 0x55 => mode::select(self, command),
            0x1a | 0x5a => mode::sense(self, command.cdb),
            0x1b => start_stop(command.cdb),
            0x16 | 0x17 => reservation::six(&mut self.state(), command),
            0x4d => log::sense(self, command.cdb),
            0x5e => self.state().registry.report(command.cdb),
            0x5f => persistent::reserve_out(self, command),
            0x83 => copy::extended_copy(self, command),
            0x84 => copy::results(self, command),
            0xa3 => report::maintenance_in(command.cdb),
            _ => {
                let done = block::run(self, command);
                if opcode.access == Access::Write {
                    room::look(self);
                }
                done
            }
        }
    }

    fn opcode(&self, command: &Command<'_>) -> Result<&'static Opcode, Refusal> {
        let code = command.cdb[0];
        let action = u16::from(u8_at(command.cdb, 1) & 0x1f);
        match opcodes::find(code, action) {
            Some(opcode) => Ok(opcode),
            None if opcodes::is_known(code) => Err(INVALID_FIELD.into()),
            None => Err(INVALID_OPCODE.into()),
        }
    }

    /// The volume may have another size than initiators know.
    fn notice_size(&self) {
        let Ok(geometry) = self.volume.geometry() else { return };
        if self.size.swap(geometry.size, SeqCst) != geometry.size {
            self.state().attentions.tell_all(attention::CAPACITY_CHANGED);
        }
    }

    fn request_sense(&self, command: &Command<'_>) -> Done {
        let waiting = self.state().attentions.take(command.port);
        let sense = waiting.map_or(crate::sense::NO_SENSE, Sense::attention);
        Done::bytes(crate::bytes::cut(sense.encode(), command.cdb[4].into()))
    }
}

/// There is nothing to start: what is asked for must make sense, no more.
fn start_stop(cdb: &[u8]) -> Result<Done, Refusal> {
    let (power, eject) = (cdb[4] >> 4, cdb[4] & 2 != 0);
    if power != 0 || eject { Err(INVALID_FIELD.into()) } else { Ok(Done::nothing()) }
}
