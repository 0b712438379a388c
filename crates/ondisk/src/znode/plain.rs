//! What the entries of an ACL of NFSv4's kind allow plainly: to everybody of a class, whoever that
//! is and in whichever groups.
//!
//! An ACL can give one user more than the mode says and another one less. Who does not follow it
//! user by user must not give anybody more than he would get: so what is left of a class is what
//! each of its members has for certain.
//!
//! Source: include/sys/acl.h.

use super::acl::{
    ALLOW, APPEND_DATA, Ace, DENY, EVERYONE, EXECUTE, GROUP, INHERIT, INHERIT_ONLY, OWNER, READ_DATA,
    WRITE_DATA,
};

/// The bits of group and others that a list of entries allows plainly. The first entry that speaks
/// of a right decides; one that denies somebody may mean anybody, one that allows somebody may mean
/// nobody.
pub fn of_aces(aces: &[Ace]) -> u32 {
    let class = |group: bool| {
        let (mut allowed, mut denied) = (0, 0);
        for ace in aces.iter().filter(|ace| ace.flags & INHERIT_ONLY == 0) {
            let of_group = ace.flags & (OWNER | GROUP | EVERYONE) == GROUP;
            let of_everyone = ace.flags & (OWNER | GROUP | EVERYONE) == EVERYONE;
            match ace.kind {
                ALLOW if of_everyone || (group && of_group) => allowed |= ace.mask & !denied,
                DENY if of_everyone || ace.who.is_some() || (group && of_group) => {
                    denied |= ace.mask & !allowed;
                }
                _ => {}
            }
        }
        bits(allowed)
    };
    class(true) << 3 | class(false)
}

/// The nine bits of a mode that new nodes of a directory may have, for all that entries for them
/// deny.
pub fn inherited(aces: &[Ace]) -> u32 {
    let denies = |ace: &&Ace| ace.kind == DENY && ace.flags & INHERIT != 0;
    let denied = aces.iter().filter(denies).fold(0, |all, ace| all | ace.mask);
    let left = bits(!denied);
    0o700 | left << 3 | left
}

/// Rights as a mode has them; writing is overwriting and appending.
fn bits(mask: u32) -> u32 {
    [(4, READ_DATA), (2, WRITE_DATA | APPEND_DATA), (1, EXECUTE)]
        .into_iter()
        .filter(|(_, rights)| mask & rights == *rights)
        .map(|(bit, _)| bit)
        .sum()
}

#[cfg(test)]
mod tests;
