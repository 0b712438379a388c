//! A command on its way through a unit, and how it ends.
//!
//! A family of commands says what a command gives and takes ([`Done`]), or why it is refused; of
//! that the transport has an [`Answer`], at once or as soon as a promise is kept ([`Begun`]).
//! Nothing has gone to the initiator before.

use engine_api::{Promise, ReadBuf};

use crate::nexus::Nexus;
use crate::sense::{INTERNAL_FAILURE, Refusal, Sense, Status};
use crate::target::Target;

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
