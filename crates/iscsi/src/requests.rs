//! What initiators ask besides SCSI: whether the target lives, the end of tasks, which targets there are, the end of
//! connections.
//!
//! Source: RFC 7143 11.5, 11.6, 11.10, 11.14, 11.18.

use std::sync::Arc;

use sockets::Lease;

use crate::conn::{Connection, FINAL, INVALID_FIELD, NONE, Next};
use crate::keys::Keys;
use crate::pdu::{Pdu, from_target as to};

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
        let lun = pdu.field::<8>(8);
        let mut data = pdu.data;
        data.truncate(self.member.parameters.their_segment);
        let mut reply = Pdu::new(to::NOP, FINAL).put_u32(20, NONE).with_data(data).put(8, &lun);
        reply.header[16..20].copy_from_slice(&pdu.header[16..20]);
        self.send_leased(reply, true, lease);
    }

    /// A task management function: the commands of this session end here, those of others at the unit.
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
            self.session.catch_up(self, pdu.u32(24));
        }
        let (function, lun) = (pdu.flags() & 0x7f, pdu.lun());
        let (session, target) = (&self.session, self.session.target());
        let unit = target.unit(lun);
        let response = match (function, unit) {
            (ABORT_TASK, _) => {
                let wanted = pdu.u32(20);
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
        let mut reply = Pdu::new(to::TASK, FINAL).put_u32(16, pdu.tag());
        reply.header[2] = response;
        self.send(reply, true);
        // As if the power had been off: nobody's session outlives that.
        if function == COLD_RESET { Next::Resets } else { Next::Goes }
    }

    pub fn text(&self, pdu: &Pdu) {
        let Some(keys) = Keys::parse(&pdu.data).filter(|_| pdu.flags() & 0x40 == 0) else {
            return self.reject(&pdu.header, INVALID_FIELD);
        };
        let goes_on = pdu.u32(20) != NONE;
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
        const NO_CONNECTION: u8 = 1;
        const NO_RECOVERY: u8 = 2;
        let connection = u16::from_be_bytes(pdu.field(20));
        self.see_off();
        let (response, next) = match pdu.flags() & 0x7f {
            0 => {
                self.session.settle(|_| true);
                (DONE, Next::Ends)
            }
            1 if connection == self.number() => {
                self.session.settle(|task| task.is_of(self));
                (DONE, Next::Ends)
            }
            1 if self.session.log_out(connection) => (DONE, Next::Goes),
            1 => (NO_CONNECTION, Next::Goes),
            2 => (NO_RECOVERY, Next::Goes),
            _ => {
                self.reject(&pdu.header, INVALID_FIELD);
                return Next::Goes;
            }
        };
        let mut reply = Pdu::new(to::LOGOUT, FINAL).put_u32(16, pdu.tag());
        reply.header[2] = response;
        self.send(reply, true);
        if pdu.flags() & 0x7f == 0 {
            self.finish();
            self.session.cut();
        }
        next
    }
}
