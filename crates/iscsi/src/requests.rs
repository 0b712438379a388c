//! What initiators ask besides SCSI: whether the target lives, the end of tasks, which targets
//! there are, the end of connections.
//!
//! Source: RFC 7143 11.5, 11.6, 11.10, 11.14, 11.18.

use std::sync::Arc;

use sockets::Lease;

use crate::keys::Keys;
use crate::pdu::flags::{CONTINUE, FINAL, FUNCTION};
use crate::pdu::{NONE, Pdu, RejectReason, at, from_target as to};
use crate::session::Connection;

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Goes,
    /// It has logged out.
    Ends,
    /// All sessions with its target end.
    Resets,
    /// It must not go on.
    Breaks,
}

/// How it goes with a task management function.
const DONE: u8 = 0;
const NO_TASK: u8 = 1;
const NO_UNIT: u8 = 2;
const NO_REASSIGNMENT: u8 = 4;
const NOT_SUPPORTED: u8 = 5;

impl Connection {
    pub fn nop(&self, pdu: Pdu, lease: Option<Lease>) {
        if pdu.tag() == NONE {
            return;
        }
        let reply = Pdu::new(to::NOP, FINAL)
            .put(at::LUN, &pdu.lun().to_be_bytes())
            .put_u32(at::TASK_TAG, pdu.tag())
            .put_u32(at::TRANSFER_TAG, NONE);
        let mut data = pdu.data;
        data.truncate(self.member.parameters.their_segment);
        self.send_leased(reply.with_data(data), true, lease);
    }

    /// A task management function: the commands of this session end here, those of others at the
    /// unit.
    pub fn task(self: &Arc<Self>, pdu: &Pdu) -> Next {
        const ABORT_TASK: u8 = 1;
        const ABORT_TASK_SET: u8 = 2;
        const CLEAR_TASK_SET: u8 = 4;
        const UNIT_RESET: u8 = 5;
        const WARM_RESET: u8 = 6;
        const COLD_RESET: u8 = 7;
        const REASSIGN: u8 = 8;
        self.see_off();
        if pdu.is_immediate() {
            self.session.catch_up(self, pdu.u32(at::COMMAND_NUMBER));
        }
        let (function, lun) = (pdu.flags() & FUNCTION, pdu.lun());
        let (session, target) = (&self.session, self.session.target());
        let unit = target.unit(lun);
        let response = match (function, unit) {
            (ABORT_TASK, _) => {
                let wanted = pdu.u32(at::REFERENCED_TAG);
                if session.abort(|tag, of| tag == wanted && of == lun) { DONE } else { NO_TASK }
            }
            (ABORT_TASK_SET | CLEAR_TASK_SET | UNIT_RESET, None) => NO_UNIT,
            (ABORT_TASK_SET | CLEAR_TASK_SET | UNIT_RESET, Some(unit)) => {
                session.abort(|_, of| of == lun);
                match function {
                    CLEAR_TASK_SET => unit.clear_task_set(&session.nexus),
                    UNIT_RESET => unit.reset(&session.nexus),
                    _ => {}
                }
                DONE
            }
            (WARM_RESET | COLD_RESET, _) => {
                session.abort(|_, _| true);
                target.units().for_each(|unit| unit.reset(&session.nexus));
                DONE
            }
            (REASSIGN, _) => NO_REASSIGNMENT,
            _ => NOT_SUPPORTED,
        };
        let reply = Pdu::new(to::TASK, FINAL).put(at::RESPONSE, &[response]).put_u32(at::TASK_TAG, pdu.tag());
        self.send(reply, true);
        // As if the power had been off: nobody's session outlives that.
        if function == COLD_RESET { Next::Resets } else { Next::Goes }
    }

    pub fn text(&self, pdu: &Pdu) {
        let Some(keys) = Keys::parse(&pdu.data).filter(|_| pdu.flags() & CONTINUE == 0) else {
            return self.reject(&pdu.header, RejectReason::InvalidField);
        };
        let goes_on = pdu.u32(at::TRANSFER_TAG) != NONE;
        self.send_text(pdu, (!goes_on).then(|| self.reply(&keys).encode()));
    }

    fn reply(&self, keys: &Keys) -> Keys {
        let mut reply = Keys::default();
        for (key, value) in &keys.0 {
            if key == "SendTargets" {
                self.send_targets(value, &mut reply);
            } else {
                reply.add(key, "NotUnderstood");
            }
        }
        reply
    }

    fn send_targets(&self, which: &str, reply: &mut Keys) {
        let own = self.session.target.as_deref();
        for (target, groups) in self.session.catalogue.targets(&self.member.initiator) {
            let wanted = match which {
                "All" => own.is_none() || own == Some(target.as_str()),
                "" => own == Some(target.as_str()),
                name => target == name,
            };
            if wanted {
                reply.add("TargetName", target);
                for portal in self.door.addresses(&groups) {
                    reply.add("TargetAddress", portal.to_string());
                }
            }
        }
    }

    pub fn logout(self: &Arc<Self>, pdu: &Pdu) -> Next {
        const CLOSES_SESSION: u8 = 0;
        const CLOSES_CONNECTION: u8 = 1;
        const RECOVERS: u8 = 2;
        const NO_CONNECTION: u8 = 1;
        const NO_RECOVERY: u8 = 2;
        let connection = u16::from_be_bytes(pdu.field(at::CONNECTION));
        self.see_off();
        let (response, next) = match pdu.flags() & FUNCTION {
            CLOSES_SESSION => {
                self.session.settle(|_| true);
                (DONE, Next::Ends)
            }
            CLOSES_CONNECTION if connection == self.number() => {
                self.session.settle(|task| task.is_of(self));
                (DONE, Next::Ends)
            }
            CLOSES_CONNECTION if self.session.log_out(connection) => (DONE, Next::Goes),
            CLOSES_CONNECTION => (NO_CONNECTION, Next::Goes),
            RECOVERS => (NO_RECOVERY, Next::Goes),
            _ => {
                self.reject(&pdu.header, RejectReason::InvalidField);
                return Next::Goes;
            }
        };
        let reply =
            Pdu::new(to::LOGOUT, FINAL).put(at::RESPONSE, &[response]).put_u32(at::TASK_TAG, pdu.tag());
        self.send(reply, true);
        if pdu.flags() & FUNCTION == CLOSES_SESSION {
            self.finish();
            self.session.cut();
        }
        next
    }
}
