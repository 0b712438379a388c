//! A logical unit: one volume, who is joined to it, what reserves it, and what else is kept for
//! those who have a session with it.
//!
//! It knows no command: their way is in `dispatch`. `state` is never locked while the volume works;
//! `reserving` may be.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use engine_api::{Volume, VolumeGeometry};

use crate::attention::Attentions;
use crate::codes::asc;
use crate::copies::Copies;
use crate::identity::Identity;
use crate::limits::BLOCK;
use crate::nexus::Nexus;
use crate::registry::{Registry, kept};
use crate::sense::{Refusal, WRITE_PROTECTED};

/// The commands of a nexus: its transport has them.
pub trait Tasks: Send + Sync {
    /// Ends those for a unit: what is not begun will not be, and none is answered, but for TASK
    /// ABORTED where initiators are told. `None`: there is none.
    fn abort(&self, unit: &LogicalUnit, told: bool) -> Option<Ending>;
}

/// Who has one command executed after the other has none to end.
impl Tasks for () {
    fn abort(&self, _unit: &LogicalUnit, _told: bool) -> Option<Ending> {
        None
    }
}

/// Commands that were ended.
#[must_use]
pub struct Ending(Box<dyn FnOnce() + Send>);

impl Ending {
    /// `wait` returns when none of them is being executed any more.
    pub fn new(wait: impl FnOnce() + Send + 'static) -> Ending {
        Ending(Box::new(wait))
    }

    pub fn wait(self) {
        (self.0)();
    }
}

/// What initiators can change of the control mode page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// SWP: nothing is written.
    pub protected: bool,
    /// TAS: a command that another initiator ends has the status TASK ABORTED, and not none.
    pub tells_aborted: bool,
}

impl Default for Control {
    /// Who is told can try again at once.
    fn default() -> Control {
        Control { protected: false, tells_aborted: true }
    }
}

/// Whether initiators have been warned that space runs out; `room` looks after it.
#[derive(Default)]
pub struct Watch {
    pub(crate) writes: AtomicU32,
    pub(crate) warned: AtomicBool,
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
        let registry = kept::load(&*volume)?;
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
        self.state().attentions.tell(nexus, asc::REPORTED_LUNS_CHANGED);
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
            self.state().attentions.tell_others(Some(by), asc::MODE_PARAMETERS_CHANGED);
        }
    }

    pub fn geometry(&self) -> Result<VolumeGeometry, Refusal> {
        Ok(self.volume.geometry()?)
    }

    /// Logical blocks.
    pub fn blocks(&self) -> Result<u64, Refusal> {
        Ok(self.geometry()?.size / BLOCK)
    }

    pub(crate) fn check_writable(&self) -> Result<(), Refusal> {
        if self.is_protected() || self.geometry()?.readonly { Err(WRITE_PROTECTED.into()) } else { Ok(()) }
    }

    /// The volume may have another size than initiators know.
    pub(crate) fn notice_size(&self) {
        let Ok(geometry) = self.volume.geometry() else { return };
        if self.size.swap(geometry.size, SeqCst) != geometry.size {
            self.state().attentions.tell_all(asc::CAPACITY_DATA_CHANGED);
        }
    }
}
