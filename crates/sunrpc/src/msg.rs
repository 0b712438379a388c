//! Call and reply headers (RFC 5531 §9) and the credentials they carry.
//!
//! ```text
//! call:  xid | 0 | rpcvers 2 | prog | vers | proc | cred (flavor, opaque ≤ 400) | verf (flavor, opaque ≤ 400) | args
//! reply: xid | 1 | 0 accepted | verf | status [+ versions] | results
//!        xid | 1 | 1 denied   | 0 rpc mismatch + versions, or 1 auth error + why
//! ```

use crate::xdr::{Decoder, Encoder, Malformed, Result};

const CALL: u32 = 0;
const REPLY: u32 = 1;
const RPC_VERSION: u32 = 2;
const MSG_ACCEPTED: u32 = 0;
const MSG_DENIED: u32 = 1;
const RPC_MISMATCH: u32 = 0;
const AUTH_ERROR: u32 = 1;

pub const AUTH_NONE: u32 = 0;
pub const AUTH_SYS: u32 = 1;
/// Longest body of a credential or verifier.
pub const MAX_AUTH_BYTES: u32 = 400;
/// Most supplementary groups AUTH_SYS carries.
pub const MAX_GIDS: usize = 16;
const MAX_MACHINE_NAME: u32 = 255;

/// Who calls, as far as the credential says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    None,
    Sys(AuthSys),
}

/// AUTH_SYS (RFC 5531 appendix A) without stamp and machine name, which prove nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthSys {
    pub uid: u32,
    pub gid: u32,
    gids: [u32; MAX_GIDS],
    gid_count: usize,
}

impl AuthSys {
    /// Groups beyond the sixteenth do not fit and are left out.
    pub fn new(uid: u32, gid: u32, groups: &[u32]) -> AuthSys {
        let mut gids = [0; MAX_GIDS];
        let gid_count = groups.len().min(MAX_GIDS);
        for (slot, &group) in gids.iter_mut().zip(groups) {
            *slot = group;
        }
        AuthSys { uid, gid, gids, gid_count }
    }

    /// Supplementary groups.
    pub fn gids(&self) -> &[u32] {
        self.gids.get(..self.gid_count).unwrap_or(&[])
    }

    /// Decodes the body of a credential.
    pub fn decode(body: &[u8]) -> Result<AuthSys> {
        let mut d = Decoder::new(body);
        let _stamp = d.u32()?;
        let _machine = d.opaque(MAX_MACHINE_NAME)?;
        let (uid, gid) = (d.u32()?, d.u32()?);
        let count = d.u32()?;
        if count as usize > MAX_GIDS {
            return Err(Malformed::TooLong { len: count, max: MAX_GIDS as u32 });
        }
        let mut gids = [0; MAX_GIDS];
        for slot in gids.iter_mut().take(count as usize) {
            *slot = d.u32()?;
        }
        Ok(AuthSys { uid, gid, gids, gid_count: count as usize })
    }

    fn encode(&self, out: &mut Encoder) {
        out.u32(0);
        out.opaque(b"");
        out.words([self.uid, self.gid, self.gid_count as u32]);
        self.gids().iter().for_each(|&gid| out.u32(gid));
    }
}

/// A call whose header makes sense; the arguments are not looked at yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    pub xid: u32,
    pub program: u32,
    pub version: u32,
    pub procedure: u32,
    pub credential: Credential,
    pub args: &'a [u8],
}

/// Why a call is answered with a denial (RFC 5531 `auth_stat` and `reject_stat`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// Not RPC version 2.
    RpcMismatch,
    /// The credential does not decode.
    BadCredential,
    /// A flavour that this server does not take.
    RejectedCredential,
    /// The caller must come with a better one.
    TooWeak,
}

/// What to do with a record that is no proper call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCall {
    /// Not even a transaction id to answer to, or a reply: nothing can be said.
    Garbage,
    Denied {
        xid: u32,
        why: Denial,
    },
}

/// Decodes the header of a call.
pub fn parse_call(record: &[u8]) -> std::result::Result<Call<'_>, NotCall> {
    let mut d = Decoder::new(record);
    let garbage = |_: Malformed| NotCall::Garbage;
    let xid = d.u32().map_err(garbage)?;
    if d.u32().map_err(garbage)? != CALL {
        return Err(NotCall::Garbage);
    }
    if d.u32().map_err(garbage)? != RPC_VERSION {
        return Err(NotCall::Denied { xid, why: Denial::RpcMismatch });
    }
    let program = d.u32().map_err(garbage)?;
    let version = d.u32().map_err(garbage)?;
    let procedure = d.u32().map_err(garbage)?;
    let bad = |_: Malformed| NotCall::Denied { xid, why: Denial::BadCredential };
    let flavor = d.u32().map_err(bad)?;
    let body = d.opaque(MAX_AUTH_BYTES).map_err(bad)?;
    let _verifier_flavor = d.u32().map_err(bad)?;
    let _verifier = d.opaque(MAX_AUTH_BYTES).map_err(bad)?;
    let credential = match flavor {
        AUTH_NONE => Credential::None,
        AUTH_SYS => Credential::Sys(AuthSys::decode(body).map_err(bad)?),
        _ => return Err(NotCall::Denied { xid, why: Denial::RejectedCredential }),
    };
    Ok(Call { xid, program, version, procedure, credential, args: d.rest() })
}

/// Appends the header of a call.
pub fn put_call(out: &mut Encoder, call: &Call<'_>) {
    out.words([call.xid, CALL, RPC_VERSION, call.program, call.version, call.procedure]);
    match &call.credential {
        Credential::None => {
            out.u32(AUTH_NONE);
            out.opaque(b"");
        }
        Credential::Sys(sys) => {
            let mut body = Encoder::with_capacity(20 + 4 * MAX_GIDS);
            sys.encode(&mut body);
            out.u32(AUTH_SYS);
            out.opaque(body.bytes());
        }
    }
    out.u32(AUTH_NONE);
    out.opaque(b"");
    out.raw(call.args);
}

/// How an accepted call ended; results follow after `Success` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    Success,
    ProgUnavail,
    /// Lowest and highest version there is.
    ProgMismatch(u32, u32),
    ProcUnavail,
    GarbageArgs,
    SystemErr,
}

/// Appends the header of an accepted call's reply.
pub fn put_accepted(out: &mut Encoder, xid: u32, how: Accepted) {
    out.words([xid, REPLY, MSG_ACCEPTED, AUTH_NONE, 0]);
    match how {
        Accepted::Success => out.u32(0),
        Accepted::ProgUnavail => out.u32(1),
        Accepted::ProgMismatch(low, high) => out.words([2, low, high]),
        Accepted::ProcUnavail => out.u32(3),
        Accepted::GarbageArgs => out.u32(4),
        Accepted::SystemErr => out.u32(5),
    }
}

/// Appends a whole denial.
pub fn put_denied(out: &mut Encoder, xid: u32, why: Denial) {
    out.words([xid, REPLY, MSG_DENIED]);
    let auth_stat = match why {
        Denial::RpcMismatch => return out.words([RPC_MISMATCH, RPC_VERSION, RPC_VERSION]),
        Denial::BadCredential => 1,
        Denial::RejectedCredential => 2,
        Denial::TooWeak => 5,
    };
    out.words([AUTH_ERROR, auth_stat]);
}

/// A reply as a caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// Results, not looked at yet.
    Success(&'a [u8]),
    /// Accepted, but not executed.
    Failed(Accepted),
    Denied(Denial),
}

/// Decodes a reply: its transaction id and what it says.
pub fn parse_reply(record: &[u8]) -> Result<(u32, Reply<'_>)> {
    let mut d = Decoder::new(record);
    let xid = d.u32()?;
    match d.u32()? {
        REPLY => {}
        other => return Err(Malformed::Value(other)),
    }
    if d.u32()? == MSG_DENIED {
        let denial = match (d.u32()?, d.u32()?) {
            (RPC_MISMATCH, _) => Denial::RpcMismatch,
            (_, 1) => Denial::BadCredential,
            (_, 5) => Denial::TooWeak,
            _ => Denial::RejectedCredential,
        };
        return Ok((xid, Reply::Denied(denial)));
    }
    let _verifier_flavor = d.u32()?;
    let _verifier = d.opaque(MAX_AUTH_BYTES)?;
    let reply = match d.u32()? {
        0 => Reply::Success(d.rest()),
        1 => Reply::Failed(Accepted::ProgUnavail),
        2 => Reply::Failed(Accepted::ProgMismatch(d.u32()?, d.u32()?)),
        3 => Reply::Failed(Accepted::ProcUnavail),
        4 => Reply::Failed(Accepted::GarbageArgs),
        5 => Reply::Failed(Accepted::SystemErr),
        other => return Err(Malformed::Value(other)),
    };
    Ok((xid, reply))
}

#[cfg(test)]
mod tests;
