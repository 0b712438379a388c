//! What the broker does for its user, and where. See the crate for what this is to prevent.

use std::path::Path;

use crate::bounds::{is_kept, is_state, is_top};
use crate::fault::Fault;
use crate::flags::Flags;
use crate::kernel::TYPE;
use crate::mountinfo::{Entry, numbered};
use crate::walk::{Judge, Place};

const ROOT: u32 = 0;

/// For whom the broker works.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    pub uid: u32,
    pub gid: u32,
    /// Options that every mount gets.
    pub forced: Flags,
}

impl Client {
    /// Whether it is a mount that this user serves.
    pub fn serves(&self, mount: &Entry) -> bool {
        mount.kind == TYPE && mount.user == Some(self.uid)
    }
}

/// Follows a walk to a place that is to be changed: each directory on the way belongs to root or to
/// the client, or is in one of the client's file systems.
pub struct Guard<'a> {
    client: &'a Client,
    at: &'a Path,
    /// There was one that belongs to the client: what is below it does, too.
    is_own: bool,
}

impl<'a> Guard<'a> {
    /// # Errors
    /// `Kept`.
    pub fn new(client: &'a Client, at: &'a Path) -> Result<Guard<'a>, Fault> {
        if is_kept(at) { Err(Fault::Kept) } else { Ok(Guard { client, at, is_own: false }) }
    }

    /// The place that the walk has led to is to be changed. `has_entries`: which will be hidden.
    ///
    /// # Errors
    /// `Kept`.
    pub fn changes(&self, has_entries: bool) -> Result<(), Fault> {
        let is_system = is_state(self.at) || has_entries && is_top(self.at);
        if is_system && !self.is_own { Err(Fault::Kept) } else { Ok(()) }
    }
}

impl Judge for Guard<'_> {
    fn enters(&mut self, place: &Place) -> Result<(), Fault> {
        match place.owner()? {
            _ if self.is_own => Ok(()),
            owner if owner == self.client.uid => {
                self.is_own = true;
                Ok(())
            }
            ROOT => Ok(()),
            _ => {
                let mount = numbered(&place.mount_number()?)?;
                self.is_own = mount.is_some_and(|mount| self.client.serves(&mount));
                if self.is_own { Ok(()) } else { Err(Fault::Kept) }
            }
        }
    }

    fn makes(&self) -> Result<(), Fault> {
        self.changes(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Client = Client { uid: 107, gid: 107, forced: Flags::READ_ONLY };

    #[test]
    fn the_system_and_what_others_have_are_not_changed() {
        let changes = |at: &str, is_own: bool, has_entries: bool| {
            Guard::new(&CLIENT, Path::new(at))
                .is_ok_and(|guard| Guard { is_own, ..guard }.changes(has_entries).is_ok())
        };
        for (at, empty, full) in [
            ("/", false, false),
            ("/etc/cistern", false, false),
            ("/srv", true, false),
            ("/srv/a", true, true),
            ("/var/a", false, false),
        ] {
            assert_eq!((changes(at, false, false), changes(at, false, true)), (empty, full), "{at}");
        }
        assert!(changes("/var/lib/cistern/a", true, true) && changes("/tank", true, true));
        assert!(!changes("/etc/cistern", true, false));
    }

    #[test]
    fn a_mount_is_the_clients_where_it_serves_that() {
        let mount = |kind: &str, user| Entry {
            id: crate::DeviceId { major: 0, minor: 1 },
            kind: kind.to_owned(),
            user,
        };
        assert!(CLIENT.serves(&mount(TYPE, Some(107))));
        assert!(!CLIENT.serves(&mount(TYPE, Some(0))) && !CLIENT.serves(&mount(TYPE, None)));
        assert!(!CLIENT.serves(&mount("fuse.sshfs", Some(107))) && !CLIENT.serves(&mount("tmpfs", None)));
    }
}
