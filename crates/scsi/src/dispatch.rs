//! The way of a command: from a target to the unit that it is for, and there to its family.
//!
//! In a unit a command passes, in this order: the size of the volume is compared, unit attentions,
//! whether there is such a command, reservations, whether the volume waits (BUSY), then its family.

use crate::bytes::{self, cut, u8_at, u16_at};
use crate::command::{Answer, Begun, Command, Done};
use crate::nexus::Nexus;
use crate::opcodes::{self, Access, Opcode};
use crate::sense::{BECOMING_READY, INVALID_FIELD, INVALID_OPCODE, NO_SENSE, NO_SUCH_UNIT, Refusal, Sense};
use crate::target::Target;
use crate::unit::LogicalUnit;
use crate::{block, codes, copy, inquiry, log, mode, persistent, report, reservation, room};

impl Target {
    /// A command for a unit, which may not be there, and its end.
    pub fn execute(&self, nexus: &Nexus, lun: u64, cdb: &[u8], out: &[u8]) -> Answer {
        self.begin(nexus, lun, cdb, out).end()
    }

    /// As [`Target::execute`], but the waiting for its end is left to the caller.
    pub fn begin(&self, nexus: &Nexus, lun: u64, cdb: &[u8], out: &[u8]) -> Begun {
        let code = u8_at(cdb, 0);
        match self.unit(lun) {
            _ if code == codes::REPORT_LUNS => Begun::of(report::luns(self, cdb)),
            Some(unit) => unit.begin(self, nexus, cdb, out),
            None => Begun::of(self.nobody(code, cdb)),
        }
    }

    /// What can be asked where no unit is.
    fn nobody(&self, code: u8, cdb: &[u8]) -> Result<Done, Refusal> {
        let why = if self.is_incomplete { BECOMING_READY } else { NO_SUCH_UNIT };
        match code {
            codes::INQUIRY if cdb.get(1).is_some_and(|flags| flags & 1 == 0) => {
                Ok(Done::bytes(cut(inquiry::standard(0x7f, self), u16_at(cdb, 3).into())))
            }
            codes::REQUEST_SENSE => Ok(Done::bytes(cut(why.encode(), u8_at(cdb, 4).into()))),
            _ => Err(why.into()),
        }
    }
}

impl LogicalUnit {
    /// A command that came through this target.
    pub fn begin(&self, target: &Target, nexus: &Nexus, cdb: &[u8], out: &[u8]) -> Begun {
        let cdb = &bytes::at::<16>(cdb, 0);
        Begun::of(self.run(&Command { nexus, target, cdb, out }))
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
        let sense = waiting.map_or(NO_SENSE, Sense::attention);
        Done::bytes(cut(sense.encode(), command.cdb[4].into()))
    }
}

/// There is nothing to start: what is asked for must make sense, no more.
fn start_stop(cdb: &[u8]) -> Result<Done, Refusal> {
    let (power, eject) = (cdb[4] >> 4, cdb[4] & 2 != 0);
    if power != 0 || eject { Err(INVALID_FIELD.into()) } else { Ok(Done::nothing()) }
}
