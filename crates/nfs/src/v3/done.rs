//! Calls that an earlier program has done: what the engine knows of them, and answers to those that
//! had none yet.

use engine_api::{Attr, Happened};
use sunrpc::xdr::{Decoder, Result};

use super::change::put_handle_and_attr;
use super::target::{Place, Target, get_handle, or_refuse, put_wcc_of};
use super::{Out, absent_of, procedure};
use crate::context::Context;
use crate::status::Status;

/// What is known of a call that changes something, which begins with the handle of what is changed.
/// Who may not change it learns nothing.
pub fn find(cx: &Context<'_>, args: &[u8], digest: &[u8; 32]) -> Option<Happened> {
    let target = Target::for_change(cx, get_handle(&mut Decoder::new(args)).ok()?).ok()?;
    // The call itself will meet the error.
    target.fs().happened(digest).ok()?
}

/// The results of a procedure that has succeeded, as far as they can be had now. `Ok(false)`: it is
/// none that is kept.
pub fn put_done(cx: &Context<'_>, procedure: u32, args: &[u8], out: &mut Out) -> Result<bool> {
    let d = &mut Decoder::new(args);
    let enc = &mut out.enc;
    let handle = get_handle(d)?;
    let found = Target::for_change(cx, handle);
    let Some(first) = or_refuse(found, absent_of(procedure), enc) else { return Ok(true) };
    enc.u32(Status::OK.0);
    match procedure {
        procedure::SETATTR | procedure::REMOVE | procedure::RMDIR => first.put_wcc(enc),
        procedure::CREATE | procedure::MKDIR | procedure::SYMLINK | procedure::MKNOD => {
            match made(&first, &Place::get(&mut Decoder::new(args))?) {
                Some(attr) => put_handle_and_attr(enc, &first, &attr),
                None => (0..2).for_each(|_| enc.bool(false)),
            }
            first.put_wcc(enc);
        }
        procedure::RENAME | procedure::LINK => {
            if procedure == procedure::LINK {
                first.put_post(enc);
            } else {
                let _name = d.opaque(u32::MAX)?;
                first.put_wcc(enc);
            }
            put_wcc_of(&Target::for_change(cx, get_handle(d)?), enc);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// What has the name now.
fn made(dir: &Target, place: &Place<'_>) -> Option<Attr> {
    dir.fs().lookup(&dir.cred, dir.node, place.name().ok()?).ok()
}
