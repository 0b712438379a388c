//! What initiators ask besides SCSI: whether the target lives, the end of tasks, which targets
//! there are, the end of connections.
//!
//! Source: RFC 7143 11.5, 11.6, 11.10, 11.14, 11.18.

use std::sync::Arc;

use sockets::Lease;

use crate::keys::Keys;
use crate::pdu::initiator::{
    LogoutReason, LogoutRequest, NopOut, TaskFunction as Function, TaskRequest, TextRequest,
};
use crate::pdu::target::{
    LogoutOutcome, LogoutResponse, NopIn, RejectReason, TaskOutcome as Outcome, TaskResponse,
};
use crate::pdu::{NONE, Pdu};
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

impl Connection {
    pub fn nop(&self, pdu: Pdu, lease: Option<Lease>) {
        let NopOut { lun, tag } = NopOut::decode(&pdu.header);
        if tag == NONE {
            return;
        }
        let mut data = pdu.data;
        data.truncate(self.member.parameters.their_segment);
        self.send_leased(&NopIn { lun, tag, transfer_tag: NONE }, data, lease);
    }

    /// A task management function: the commands of this session end here, those of others at the
    /// unit.
    pub fn task(self: &Arc<Self>, pdu: &Pdu) -> Next {
        let request = TaskRequest::decode(&pdu.header);
        self.see_off();
        if request.is_immediate {
            self.session.catch_up(self, request.command_number);
        }
        let TaskRequest { function, lun, .. } = request;
        let (session, target) = (&self.session, self.session.target());
        let unit = target.unit(lun);
        let response = match (function, unit) {
            (Function::AbortTask, _) => {
                let wanted = request.referenced_tag;
                let some = session.abort(|tag, of| tag == wanted && of == lun);
                if some { Outcome::Complete } else { Outcome::NoTask }
            }
            (Function::AbortTaskSet | Function::ClearTaskSet | Function::LogicalUnitReset, None) => {
                Outcome::NoUnit
            }
            (Function::AbortTaskSet | Function::ClearTaskSet | Function::LogicalUnitReset, Some(unit)) => {
                session.abort(|_, of| of == lun);
                match function {
                    Function::ClearTaskSet => unit.clear_task_set(&session.nexus),
                    Function::LogicalUnitReset => unit.reset(&session.nexus),
                    _ => {}
                }
                Outcome::Complete
            }
            (Function::TargetWarmReset | Function::TargetColdReset, _) => {
                session.abort(|_, _| true);
                target.units().for_each(|unit| unit.reset(&session.nexus));
                Outcome::Complete
            }
            (Function::TaskReassign, _) => Outcome::NoReassignment,
            (Function::ClearAca | Function::Reserved, _) => Outcome::NotSupported,
        };
        self.send(&TaskResponse { response, tag: request.tag }, Vec::new());
        // As if the power had been off: nobody's session outlives that.
        if function == Function::TargetColdReset { Next::Resets } else { Next::Goes }
    }

    pub fn text(&self, pdu: &Pdu) {
        let TextRequest { goes_on, tag, transfer_tag } = TextRequest::decode(&pdu.header);
        let Some(keys) = Keys::parse(&pdu.data).filter(|_| !goes_on) else {
            return self.reject(&pdu.header, RejectReason::InvalidField);
        };
        let begins = transfer_tag == NONE;
        self.send_text(tag, begins.then(|| self.reply(&keys).encode()));
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
        let LogoutRequest { reason, tag, connection } = LogoutRequest::decode(&pdu.header);
        self.see_off();
        let (response, next) = match reason {
            LogoutReason::ClosesSession => {
                self.session.settle(|_| true);
                (LogoutOutcome::Closed, Next::Ends)
            }
            LogoutReason::ClosesConnection if connection == self.number() => {
                self.session.settle(|task| task.is_of(self));
                (LogoutOutcome::Closed, Next::Ends)
            }
            LogoutReason::ClosesConnection if self.session.log_out(connection) => {
                (LogoutOutcome::Closed, Next::Goes)
            }
            LogoutReason::ClosesConnection => (LogoutOutcome::NoConnection, Next::Goes),
            LogoutReason::Recovers => (LogoutOutcome::NoRecovery, Next::Goes),
            LogoutReason::Reserved => {
                self.reject(&pdu.header, RejectReason::InvalidField);
                return Next::Goes;
            }
        };
        self.send(&LogoutResponse { response, tag }, Vec::new());
        if reason == LogoutReason::ClosesSession {
            self.wire.outbox.finish();
            self.session.cut();
        }
        next
    }
}
