//! The second factor by codes: TOTP (RFC 6238).
//!
//! Invariants: a secret counts once its owner has confirmed it with a code. A code is taken one
//! step of 30 s early or late, and each step once.

use api_types::TotpOffer;
use rusqlite::{Connection, OptionalExtension, params};
use totp_rs::{Builder, Secret, Totp};

use crate::Machine;
use crate::fault::Denied;
use crate::{recovery, users};

/// As RFC 4226 recommends.
const SECRET_BYTES: usize = 20;

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
        let codes = self.recovery_codes();
        let now = self.outside.now();
        let confirmed: Result<(), Denied> = self.store.change_accounts(|db| {
            let id = users::find(db, name)?.ok_or(Denied::NotFound)?.id;
            let (bytes, _) = kept(db, id, true)?.ok_or(Denied::NotFound)?;
            let step = step_of(bytes, code, now).ok_or(Denied::Wrong)?;
            db.execute("DELETE FROM totp WHERE user = ?1 AND pending = 0", [id])?;
            db.execute("UPDATE totp SET pending = 0, last_step = ?2 WHERE user = ?1", [id, step])?;
            recovery::set(db, id, &codes)
        });
        confirmed.map(|()| codes)
    }
}

/// Takes a code of TOTP, in the transaction that lets the user in.
pub(crate) fn take(db: &Connection, user: i64, code: &str, now: i64) -> Result<bool, Denied> {
    let Some((bytes, last_step)) = kept(db, user, false)? else { return Ok(false) };
    match step_of(bytes, code, now) {
        Some(step) if step > last_step => {
            db.execute("UPDATE totp SET last_step = ?2 WHERE user = ?1 AND pending = 0", [user, step])?;
            Ok(true)
        }
        _ => Ok(false),
    }
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
