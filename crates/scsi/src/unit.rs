//! A logical unit: one volume, who is joined to it, and what reserves it.
//!
//! A command passes, in this order: is there such a command, unit attentions, reservations, then
//! its family. Nothing of the unit is locked while the volume works.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use engine_api::{Promise, ReadBuf, Volume, VolumeGeometry};

use crate::attention::{self, Attentions};
use crate::copy::{self, Copies};
use crate::limits::BLOCK;
use crate::mode::Control;
use crate::opcodes::{self, Access, Opcode};
use crate::persistent::{self, Registry};
use crate::room::{self, Watch};
use crate::sense::{INTERNAL_FAILURE, INVALID_FIELD, INVALID_OPCODE, Refusal, Sense, Status};
use crate::target::Target;
use crate::tasks::Tasks;
use crate::{block, codes, inquiry, log, mode, report, reservation};

/// An initiator's port, and the port of the target that it came through: what reservations,
/// attentions and copies go by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nexus {
    /// As persistent reservations name it: `iqn.…,i,0x…`.
    pub initiator: Arc<str>,
    /// The relative identifier of the target's.
    pub port: u16,
}

impl Nexus {
    pub fn new(initiator: &str, port: u16) -> Nexus {
        Nexus { initiator: initiator.into(), port }
    }
}

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
    /// Bytes that the command itself says it takes from the initiator; what came beyond was not
    /// looked at.
    pub taken: usize,
}

impl Answer {
    /// Of a command that did not do what it was to do.
    pub fn refused(why: Refusal) -> Answer {
        let (status, sense) = match why {
            Refusal::Sense(sense) => (Status::CheckCondition, Some(sense)),
            Refusal::Busy => (Status::Busy, None),
            Refusal::Conflict => (Status::ReservationConflict, None),
        };
        Answer::bare(status, sense)
    }

    /// Without data.
    pub fn bare(status: Status, sense: Option<Sense>) -> Answer {
        Answer { status, sense, data: Data::Nothing, taken: 0 }
    }

    /// Of a command in which the target itself failed.
    pub fn failed() -> Answer {
        Answer::refused(INTERNAL_FAILURE.into())
    }
}

/// A command that has done what it was to do, but may have to wait until that is on stable storage.
pub enum Begun {
    Ended(Answer),
    /// So it ends once this is kept.
    Promised(Answer, Promise),
}

impl Begun {
    pub fn of(done: Result<Done, Refusal>) -> Begun {
        match done {
            Ok(Done { data, taken, promise }) => {
                let answer = Answer { status: Status::Good, sense: None, data, taken };
                match promise {
                    Some(promise) => Begun::Promised(answer, promise),
                    None => Begun::Ended(answer),
                }
            }
            Err(refusal) => Begun::Ended(Answer::refused(refusal)),
        }
    }

    /// Waits for its end.
    pub fn end(self) -> Answer {
        match self {
            Begun::Ended(answer) => answer,
            Begun::Promised(answer, promise) => match promise() {
                Ok(()) => answer,
                Err(error) => Answer::refused(error.into()),
            },
        }
    }
}

/// What a command that succeeds gives and takes.
pub struct Done {
    pub data: Data,
    pub taken: usize,
    /// To be kept before anybody hears of it.
    pub promise: Option<Promise>,
}

impl Done {
    pub fn nothing() -> Done {
        Done::taking(0)
    }

    pub fn giving(data: Data) -> Done {
        Done { data, ..Done::nothing() }
    }

    pub fn bytes(bytes: Vec<u8>) -> Done {
        Done::giving(Data::Bytes(bytes))
    }

    pub fn taking(taken: usize) -> Done {
        Done { data: Data::Nothing, taken, promise: None }
    }
}

/// A command on its way through a unit.
pub struct Command<'a> {
    pub nexus: &'a Nexus,
    /// Where the unit is, which others its initiator sees, and through which ports.
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
    /// The control mode page, see [`Control`].
    pub protected: AtomicBool,
    pub tells_aborted: AtomicBool,
}

/// What is kept for those who have a session with a unit, or had.
#[derive(Default)]
pub struct State {
    pub attentions: Attentions,
    /// Who has the commands of those that have a session.
    pub transports: BTreeMap<Nexus, Weak<dyn Tasks>>,
    pub registry: Registry,
    /// RESERVE(6).
    pub reserved: Option<Nexus>,
    pub copies: Copies,
}

impl LogicalUnit {
    /// With the reservations that the volume remembers. Errors: the volume cannot be reached, or it
    /// is not known who is shut out of it.
    pub fn open(volume: Arc<dyn Volume>, identity: Identity) -> Result<Arc<LogicalUnit>, engine_api::Error> {
        let size = volume.geometry()?.size;
        let registry = Registry::of(&*volume)?;
        Ok(Arc::new(LogicalUnit {
            volume,
            identity,
            state: Mutex::new(State { registry, ..State::default() }),
            reserving: Mutex::default(),
            size: AtomicU64::new(size),
            watch: Watch::default(),
            protected: AtomicBool::new(Control::default().protected),
            tells_aborted: AtomicBool::new(Control::default().tells_aborted),
        }))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody else changes what is reserved meanwhile.
    pub fn changes_reservations(&self) -> MutexGuard<'_, ()> {
        self.reserving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is a session, whose commands this transport has. It may say so again.
    pub fn join(&self, nexus: &Nexus, tasks: Weak<dyn Tasks>) {
        let mut state = self.state();
        let known = state.transports.insert(nexus.clone(), tasks.clone());
        if known.is_none_or(|known| !known.ptr_eq(&tasks)) {
            state.attentions.join(nexus);
        }
    }

    /// There is none any more: RESERVE(6) goes with it. Unless another has taken its place.
    pub fn leave(&self, nexus: &Nexus, tasks: &Weak<dyn Tasks>) {
        let mut state = self.state();
        if state.transports.get(nexus).is_none_or(|known| !known.ptr_eq(tasks)) {
            return;
        }
        state.transports.remove(nexus);
        state.attentions.leave(nexus);
        state.copies.forget(Some(nexus));
        if state.reserved.as_ref() == Some(nexus) {
            state.reserved = None;
        }
    }

    /// The list of units that this one sees is another.
    pub fn luns_changed(&self, nexus: &Nexus) {
        self.state().attentions.tell(nexus, attention::LUNS_CHANGED);
    }

    pub fn is_protected(&self) -> bool {
        self.protected.load(SeqCst)
    }

    pub fn control(&self) -> Control {
        Control { protected: self.is_protected(), tells_aborted: self.tells_aborted.load(SeqCst) }
    }

    pub fn set_control(&self, control: Control, by: &Nexus) {
        let protected = self.protected.swap(control.protected, SeqCst);
        let tells_aborted = self.tells_aborted.swap(control.tells_aborted, SeqCst);
        if control != (Control { protected, tells_aborted }) {
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
    pub fn begin(&self, target: &Target, nexus: &Nexus, cdb: &[u8], out: &[u8]) -> Begun {
        let mut whole = [0; 16];
        for (to, from) in whole.iter_mut().zip(cdb) {
            *to = *from;
        }
        Begun::of(self.run(&Command { nexus, target, cdb: &whole, out }))
    }

    fn run(&self, command: &Command<'_>) -> Result<Done, Refusal> {
        let code = command.cdb[0];
        self.notice_size();
        // INQUIRY, REPORT LUNS and REQUEST SENSE leave attentions to the next.
        if !matches!(code, codes::INQUIRY | codes::REPORT_LUNS | codes::REQUEST_SENSE)
            && let Some(code) = self.state().attentions.take(command.nexus)
        {
            return Err(Sense::attention(code).into());
        }
        let opcode = self.opcode(command)?;
        if !reservation::lets_through(&self.state(), command.nexus, opcode, command.cdb) {
            return Err(Refusal::Conflict);
        }
        if opcode.access != Access::Free && self.volume.is_waiting() {
            return Err(Refusal::Busy);
        }
        match code {
            codes::TEST_UNIT_READY => self.geometry().map(|_| Done::nothing()),
            codes::REQUEST_SENSE => Ok(self.request_sense(command)),
            codes::INQUIRY => inquiry::inquiry(self, command),
            codes::MODE_SELECT_6 | codes::MODE_SELECT_10 => mode::select(self, command),
            codes::MODE_SENSE_6 | codes::MODE_SENSE_10 => mode::sense(self, command.cdb),
            codes::START_STOP_UNIT => start_stop(command.cdb),
            codes::SEND_DIAGNOSTIC => self.send_diagnostic(command.cdb),
            codes::RESERVE_6 | codes::RELEASE_6 => reservation::six(&mut self.state(), command),
            codes::READ_DEFECT_DATA_10 | codes::READ_DEFECT_DATA_12 => Ok(report::defects(command.cdb)),
            codes::LOG_SENSE => log::sense(self, command.cdb),
            codes::PERSISTENT_RESERVE_IN => self.state().registry.report(command.cdb),
            codes::PERSISTENT_RESERVE_OUT => persistent::reserve_out(self, command),
            codes::EXTENDED_COPY => copy::extended_copy(self, command),
            codes::RECEIVE_COPY_RESULTS => copy::results(self, command),
            codes::MAINTENANCE_IN => report::maintenance_in(command),
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
        let action = u16::from(codes::service_action(command.cdb));
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

    /// The default self-test, which is all that there is: whether the volume can be reached (SPC-4
    /// 6.42). Tests that run for longer, and diagnostic pages, are not known.
    fn send_diagnostic(&self, cdb: &[u8]) -> Result<Done, Refusal> {
        let (test, tests_itself, len) = (cdb[1] >> 5, cdb[1] & 4 != 0, u16::from_be_bytes([cdb[3], cdb[4]]));
        if test != 0 || len != 0 {
            return Err(INVALID_FIELD.into());
        }
        if tests_itself {
            self.geometry()?;
        }
        Ok(Done::nothing())
    }

    fn request_sense(&self, command: &Command<'_>) -> Done {
        let waiting = self.state().attentions.take(command.nexus);
        let sense = waiting.map_or(crate::sense::NO_SENSE, Sense::attention);
        Done::bytes(crate::bytes::cut(sense.encode(), command.cdb[4].into()))
    }
}

/// There is nothing to start: what is asked for must make sense, no more.
fn start_stop(cdb: &[u8]) -> Result<Done, Refusal> {
    let (power, eject) = (cdb[4] >> 4, cdb[4] & 2 != 0);
    if power != 0 || eject { Err(INVALID_FIELD.into()) } else { Ok(Done::nothing()) }
}
