//! Recovery codes, for who has lost the second factor.
//!
//! Invariants: a code is taken once. Only hashes are kept. A user without second factor has none.

use rusqlite::{Connection, params};

use crate::fault::Denied;
use crate::secret::{self, Hash};
use crate::{Machine, Outside};

const CODES: usize = 10;

impl Machine {
    /// New ones, which nobody has yet.
    pub(crate) fn recovery_codes(&self) -> Vec<String> {
        let outside: &dyn Outside = &*self.outside;
        (0..CODES).map(|_| secret::code(outside)).collect()
    }
}

/// Gives them to a user, in place of earlier ones.
pub(crate) fn set(db: &Connection, user: i64, codes: &[String]) -> Result<(), Denied> {
    db.execute("DELETE FROM recovery_codes WHERE user = ?1", [user])?;
    for code in codes {
        db.execute(
            "INSERT INTO recovery_codes (user, hash) VALUES (?1, ?2)",
            params![user, secret::hash_typed(code)],
        )?;
    }
    Ok(())
}

/// Whether a user has one that was not used.
pub(crate) fn has(db: &Connection, user: i64) -> Result<bool, Denied> {
    let sql = "SELECT EXISTS (SELECT 1 FROM recovery_codes WHERE user = ?1)";
    Ok(db.query_row(sql, [user], |row| row.get(0))?)
}

/// Takes one, in the transaction that lets the user in.
pub(crate) fn take(db: &Connection, user: i64, code: &str) -> Result<bool, Denied> {
    let given = secret::hash_typed(code);
    let mut found = db.prepare("SELECT hash FROM recovery_codes WHERE user = ?1")?;
    let hashes: Vec<Hash> = found.query_map([user], |row| row.get(0))?.collect::<Result<_, _>>()?;
    // All are compared, so the time does not tell which one it was.
    if hashes.iter().filter(|hash| secret::equal(hash, &given)).count() == 0 {
        return Ok(false);
    }
    db.execute("DELETE FROM recovery_codes WHERE user = ?1 AND hash = ?2", params![user, given])?;
    Ok(true)
}

/// Removes those of a user whose last second factor is gone.
pub(crate) fn drop_useless(db: &Connection, user: i64) -> Result<(), Denied> {
    db.execute(
        "DELETE FROM recovery_codes WHERE user = ?1
            AND NOT EXISTS (SELECT 1 FROM totp WHERE user = ?1 AND pending = 0)
            AND NOT EXISTS (SELECT 1 FROM security_keys WHERE user = ?1)",
        [user],
    )?;
    Ok(())
}
