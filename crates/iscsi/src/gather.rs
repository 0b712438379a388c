//! What commands write, until all of it has come: with the command, unasked behind it, or as the
//! target asks for it.
//!
//! ```text
//!   command ── immediate data ── unsolicited data up to FirstBurstLength ── R2T ── data ── R2T ── data …
//! ```
//! Data is asked for as long as not more than [`GRANTED`] bytes are on their way; commands beyond
//! wait in their order. One R2T of a command is outstanding at a time, and data comes in order.
//!
//! Source: RFC 7143 4.2.5, 11.7, 11.8.

use std::collections::{BTreeMap, VecDeque};

use sockets::Lease;

use crate::limits::{COMMAND, GRANTED};
use crate::parameters::Parameters;
use crate::pdu::NONE;
use crate::pdu::initiator::{Command, DataOut};
use crate::pdu::target::R2t;

/// A command with all that it writes.
#[derive(Debug)]
pub struct Gathered {
    pub command: Command,
    pub data: Vec<u8>,
    /// For its data.
    pub lease: Option<Lease>,
}

/// The initiator breaks the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong(pub &'static str);

enum Phase {
    Unasked,
    /// It waits to be asked.
    Queued,
    Asked(R2t),
}

struct Gathering {
    command: Command,
    expected: usize,
    data: Vec<u8>,
    /// For the data that it has; from the first that was asked for on, for all of it.
    lease: Option<Lease>,
    has_room: bool,
    phase: Phase,
    /// Of the next data PDU of this sequence.
    data_number: u32,
    /// Of the next R2T.
    request_number: u32,
}

/// See the module.
#[derive(Default)]
pub struct Gatherer {
    by_tag: BTreeMap<u32, Gathering>,
    queue: VecDeque<u32>,
    granted: usize,
    transfer: u32,
}

fn add(to: &mut Option<Lease>, lease: Option<Lease>) {
    match (to, lease) {
        (Some(to), Some(lease)) => to.absorb(lease),
        (to, lease) => *to = to.take().or(lease),
    }
}

impl Gatherer {
    /// A command, with the data that came with it and the lease for that. `Some`: all of it is
    /// here.
    pub fn begin(
        &mut self,
        command: Command,
        data: Vec<u8>,
        lease: Option<Lease>,
        parameters: &Parameters,
    ) -> Result<Option<Gathered>, Wrong> {
        let Command { tag, is_final, .. } = command;
        let expected = command.write_len();
        if expected > COMMAND {
            return Err(Wrong("more data than any command takes"));
        }
        if data.len() > expected || data.len() > parameters.first_burst {
            return Err(Wrong("more immediate data than agreed"));
        }
        if (!data.is_empty() && !parameters.immediate_data) || (!is_final && parameters.initial_r2t) {
            return Err(Wrong("data that was not asked for"));
        }
        if self.by_tag.contains_key(&tag) {
            return Err(Wrong("a task tag that is in use"));
        }
        // Nothing can follow, whatever the command says of that.
        if data.len() == expected {
            return Ok(Some(Gathered { command, data, lease }));
        }
        let phase = if is_final { Phase::Queued } else { Phase::Unasked };
        if is_final {
            self.queue.push_back(tag);
        }
        let gathering = Gathering {
            command,
            expected,
            data,
            lease,
            has_room: false,
            phase,
            data_number: 0,
            request_number: 0,
        };
        self.by_tag.insert(tag, gathering);
        Ok(None)
    }

    /// A data PDU. `Some`: that was all of its command. Data of commands that are no more is passed
    /// over.
    pub fn data(
        &mut self,
        part: &DataOut,
        data: &[u8],
        lease: Option<Lease>,
        parameters: &Parameters,
    ) -> Result<Option<Gathered>, Wrong> {
        let DataOut { is_final, tag, transfer_tag, number, offset } = *part;
        let Some(gathering) = self.by_tag.get_mut(&tag) else { return Ok(None) };
        if number != gathering.data_number || offset as usize != gathering.data.len() {
            return Err(Wrong("data out of order"));
        }
        let until = match &gathering.phase {
            Phase::Unasked if transfer_tag == NONE => parameters.first_burst.min(gathering.expected),
            Phase::Asked(request) if request.transfer_tag == transfer_tag => {
                (request.offset + request.len) as usize
            }
            _ => return Err(Wrong("data that was not asked for")),
        };
        let len = gathering.data.len() + data.len();
        if len > until {
            return Err(Wrong("more data than was asked for"));
        }
        // What was asked for has its lease already.
        if matches!(gathering.phase, Phase::Unasked) {
            add(&mut gathering.lease, lease);
        }
        gathering.data.reserve_exact(until - gathering.data.len());
        gathering.data.extend_from_slice(data);
        gathering.data_number += 1;
        if !is_final {
            return Ok(None);
        }
        if let Phase::Asked(request) = &gathering.phase {
            if len != until {
                return Err(Wrong("less data than was asked for"));
            }
            self.granted -= request.len as usize;
        }
        if len == gathering.expected {
            let Gathering { command, data, lease, .. } =
                self.by_tag.remove(&tag).ok_or(Wrong("no such task"))?;
            return Ok(Some(Gathered { command, data, lease }));
        }
        gathering.phase = Phase::Queued;
        self.queue.push_back(tag);
        Ok(None)
    }

    /// What is to be asked for now; `take` gives leases for all that a command lacks, while there
    /// is room.
    pub fn requests(
        &mut self,
        parameters: &Parameters,
        mut take: impl FnMut(usize) -> Option<Lease>,
    ) -> Vec<R2t> {
        let mut requests = Vec::new();
        while let Some(tag) = self.queue.front().copied() {
            let Some(gathering) = self.by_tag.get_mut(&tag) else {
                self.queue.pop_front();
                continue;
            };
            let (offset, left) = (gathering.data.len(), gathering.expected - gathering.data.len());
            let len = left.min(parameters.max_burst);
            if self.granted + len > GRANTED {
                break;
            }
            if !gathering.has_room {
                let Some(lease) = take(left) else { break };
                add(&mut gathering.lease, Some(lease));
                gathering.has_room = true;
            }
            self.queue.pop_front();
            self.granted += len;
            self.transfer = self.transfer.wrapping_add(1) & 0x7fff_ffff;
            let request = R2t {
                tag,
                transfer_tag: self.transfer,
                number: gathering.request_number,
                offset: offset as u32,
                len: len as u32,
            };
            gathering.request_number += 1;
            gathering.data_number = 0;
            gathering.phase = Phase::Asked(request);
            requests.push(request);
        }
        requests
    }

    /// Gives up a command, by its tag; whether there was one.
    pub fn abandon(&mut self, tag: u32) -> Option<Command> {
        let gathering = self.by_tag.remove(&tag)?;
        if let Phase::Asked(request) = gathering.phase {
            self.granted -= request.len as usize;
        }
        Some(gathering.command)
    }

    /// Bytes that the next command lacks room for, where nothing is on its way that would have it
    /// asked.
    pub fn is_starved(&self) -> Option<usize> {
        let next = self.queue.iter().find_map(|tag| self.by_tag.get(tag)).filter(|_| self.granted == 0)?;
        (!next.has_room).then_some(next.expected - next.data.len())
    }

    /// Bytes that were asked for, and have their leases.
    pub fn granted(&self) -> usize {
        self.granted
    }

    /// Whether the initiator is to send data.
    pub fn awaits(&self) -> bool {
        self.granted > 0 || self.by_tag.values().any(|one| matches!(one.phase, Phase::Unasked))
    }

    /// Commands that are not whole yet.
    pub fn len(&self) -> usize {
        self.by_tag.len()
    }

    /// Their tags, by tag and unit.
    pub fn tags(&self, which: impl Fn(u32, u64) -> bool) -> Vec<u32> {
        let wanted = self.by_tag.iter().filter(|(tag, one)| which(**tag, one.command.lun));
        wanted.map(|(tag, _)| *tag).collect()
    }
}
