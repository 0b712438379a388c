//! The second factor: TOTP (RFC 6238), and recovery codes for who has lost it.
//!
//! Invariants: a secret counts once its owner has confirmed it with a code. A code is taken one
//! step of 30 s early or late, and each step once. A recovery code is taken once.

use api_types::TotpOffer;
use rusqlite::{Connection, OptionalExtension, params};
use totp_rs::{Builder, Secret, Totp};

use crate::Machine;
use crate::fault::Denied;
use crate::secret::{self, Hash};
use crate::users;

/// As RFC 4226 recommends.
const SECRET_BYTES: usize = 20;
const RECOVERY_CODES: usize = 10;

impl Machine {
    /// Offers a user a secret. It replaces one that was offered and not confirmed. A confirmed one
    /// counts until the new one is confirmed.
    pub fn begin_totp(&self, name: &str) -> Result<TotpOffer, Denied> {
        let mut bytes = vec![0; SECRET_BYTES];
        self.outside.fill(&mut bytes);
        self.store.change_accounts(|db| {
            let account = users::find(db, name)?.ok_or(Denied::NotFound)?;
            db.execute(
                "INSERT OR REPLACE INTO totp (user, pending, secret, last_step) VALUES (?1, 1, ?2, 0)",
                params![account.id, bytes],
            )?;
            let secret = Secret::from(bytes.clone()).to_base32();
            // A user's name has no character that a URL would have to escape.
            let url = format!(
                "otpauth://totp/Cistern:{}?secret={secret}&issuer=Cistern&algorithm=SHA1&digits=6&period=30",
                account.user.name
            );
            Ok(TotpOffer { secret: api_types::Secret(secret), url: api_types::Secret(url) })
        })
    }

    /// Confirms the offered secret with a code of it. From now on it is asked for. Gives ten
    /// recovery codes, which replace earlier ones. [`Denied::NotFound`] where nothing was offered.
    pub fn confirm_totp(&self, name: &str, code: &str) -> Result<Vec<String>, Denied> {
        let codes: Vec<String> = (0..RECOVERY_CODES).map(|_| secret::code(&*self.outside)).collect();
        let now = self.outside.now();
        let confirmed: Result<(), Denied> = self.store.change_accounts(|db| {
            let id = users::find(db, name)?.ok_or(Denied::NotFound)?.id;
            let (bytes, _) = kept(db, id, true)?.ok_or(Denied::NotFound)?;
            let step = step_of(bytes, code, now).ok_or(Denied::Wrong)?;
            db.execute("DELETE FROM totp WHERE user = ?1 AND pending = 0", [id])?;
            db.execute("UPDATE totp SET pending = 0, last_step = ?2 WHERE user = ?1", [id, step])?;
            db.execute("DELETE FROM recovery_codes WHERE user = ?1", [id])?;
            for code in &codes {
                db.execute(
                    "INSERT INTO recovery_codes (user, hash) VALUES (?1, ?2)",
                    params![id, secret::hash_typed(code)],
                )?;
            }
            Ok(())
        });
        confirmed.map(|()| codes)
    }
}

/// Takes a code of TOTP, or a recovery code, in the transaction that lets the user in.
pub(crate) fn take(db: &Connection, user: i64, code: &str, now: i64) -> Result<bool, Denied> {
    let Some((bytes, last_step)) = kept(db, user, false)? else { return Ok(false) };
    if let Some(step) = step_of(bytes, code, now) {
        if step <= last_step {
            return Ok(false);
        }
        db.execute("UPDATE totp SET last_step = ?2 WHERE user = ?1 AND pending = 0", [user, step])?;
        return Ok(true);
    }
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

/// The secret of a user, offered or confirmed, and the last step that was taken.
fn kept(db: &Connection, user: i64, pending: bool) -> Result<Option<(Vec<u8>, i64)>, Denied> {
    let sql = "SELECT secret, last_step FROM totp WHERE user = ?1 AND pending = ?2";
    let row = db.query_row(sql, params![user, pending], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(row.optional()?)
}

/// The step whose code this is, of those that are taken now.
fn step_of(secret: Vec<u8>, code: &str, now: i64) -> Option<i64> {
    // SHA-1, six digits, 30 s, one step early or late: what all authenticators know. A clock before
    // 1970 has no steps.
    let totp: Totp = Builder::new().with_secret(secret).build_noncompliant();
    let step = totp.check(code.trim(), u64::try_from(now).ok()?)?;
    i64::try_from(step).ok()
}
