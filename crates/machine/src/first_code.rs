//! The code with which the first administrator is made. The console of the machine shows it.
//!
//! Invariants: there is at most one code, and none once there is an administrator who can log in.
//! Only its hash is kept, in memory: it ends with the process. It is used once.

use std::sync::{Mutex, PoisonError};

use crate::Machine;
use crate::fault::{Denied, Fault};
use crate::secret::{self, Hash};
use crate::throttle::Failures;
use crate::users::{self, NewUser, Role, User};

/// Seconds. The code has 100 bits and needs no long wait; with one, a stranger who tries all the
/// time would keep the administrator out.
const LONGEST_WAIT: i64 = 4;

/// The code, and what was tried.
#[derive(Default)]
pub(crate) struct FirstCode {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    code: Option<Hash>,
    failures: Failures,
}

impl Machine {
    /// Makes a code, in place of one that was made before. `None` where there is an administrator.
    pub fn first_code(&self) -> Result<Option<String>, Fault> {
        let mut state = self.first_code.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has_administrator()? {
            state.code = None;
            return Ok(None);
        }
        let code = secret::code(&*self.outside);
        state.code = Some(secret::hash_typed(&code));
        Ok(Some(code))
    }

    /// Adds the first user with the code. The role is administrator, whatever `user` says. The code
    /// stays good where the user is refused.
    pub fn redeem_first_code(&self, code: &str, user: &NewUser<'_>) -> Result<User, Denied> {
        // Held to the end, so a code is not used by two at once.
        let mut state = self.first_code.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(wanted) = state.code else { return Err(Denied::NoFirstCode) };
        let now = self.outside.now();
        let seconds = state.failures.wait(now);
        if seconds > 0 {
            return Err(Denied::Throttled { seconds });
        }
        if !secret::equal(&secret::hash_typed(code), &wanted) {
            state.failures.add(now, LONGEST_WAIT);
            return Err(Denied::Wrong);
        }
        let user = NewUser { role: Role::Administrator, ..*user };
        users::check(&user)?;
        let hash = self.passwords.hash(user.password, &*self.outside)?;
        let added = self.store.change(|db| match users::has_administrator(db)? {
            true => Err(Denied::NoFirstCode),
            false => users::insert(db, &user, &hash, now),
        });
        if matches!(added, Ok(_) | Err(Denied::NoFirstCode)) {
            *state = State::default();
        }
        added
    }
}
