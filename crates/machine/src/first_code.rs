//! The code with which the first administrator is made. The console of the machine shows it.
//!
//! Invariants: there is at most one code, and none once there is an administrator who can log in.
//! Only its hash is kept, in memory: it ends with the process. It is used once. It has 100 bits, so
//! nobody who tries has to wait: with a wait a stranger could keep the administrator out.

use std::sync::{Mutex, MutexGuard, PoisonError};

use api_types::{Role, User};

use crate::Machine;
use crate::fault::{Denied, Fault};
use crate::password::Whose;
use crate::secret::{self, Hash};
use crate::users::{self, NewUser};

/// The hash of the code.
#[derive(Default)]
pub(crate) struct FirstCode(Mutex<Option<Hash>>);

impl FirstCode {
    fn lock(&self) -> MutexGuard<'_, Option<Hash>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Machine {
    /// Makes a code, in place of one that was made before. `None` where there is an administrator.
    pub fn first_code(&self) -> Result<Option<String>, Fault> {
        let mut wanted = self.first_code.lock();
        if self.has_administrator()? {
            *wanted = None;
            return Ok(None);
        }
        let code = secret::code(&*self.outside);
        *wanted = Some(secret::hash_typed(&code));
        Ok(Some(code))
    }

    /// Adds the first user with the code. The role is administrator, whatever `user` says. The code
    /// stays good where the user is refused.
    pub fn redeem_first_code(&self, code: &str, user: &NewUser<'_>) -> Result<User, Denied> {
        // Held to the end, so a code is not used by two at once.
        let mut wanted = self.first_code.lock();
        let hash = wanted.as_ref().ok_or(Denied::NoFirstCode)?;
        if !secret::equal(&secret::hash_typed(code), hash) {
            return Err(Denied::Wrong);
        }
        let user = NewUser { role: Role::Administrator, ..*user };
        users::check(&user)?;
        let hash = self.passwords.hash(user.password, Whose::Strangers, &*self.outside)?;
        let added = self.store.change_accounts(|db| match users::has_administrator(db)? {
            true => Err(Denied::NoFirstCode),
            false => users::insert(db, &user, &hash, self.outside.now()),
        });
        if matches!(added, Ok(_) | Err(Denied::NoFirstCode)) {
            *wanted = None;
        }
        added
    }
}
