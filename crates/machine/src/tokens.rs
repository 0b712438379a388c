//! API tokens: secrets for programs that act for a user.
//!
//! Invariants: a token never may more than its user may at that moment. A token that has expired,
//! or whose user is disabled or gone, lets nobody in. None that a token made outlives it. A user
//! has 100 at most.

use api_types::{Role, Token};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::fault::{Denied, Fault, Limit, NameFault};
use crate::identity::{Credential, Identity};
use crate::schema::{number, role};
use crate::users;
use crate::{Machine, secret};

/// Secrets begin with it, so that scanners of source code find those that were published.
const KIND: &str = "cistern";
const MOST_OF_USER: i64 = 100;
/// Bytes.
const LONGEST_NAME: usize = 64;
/// Bytes: as long as OpenZFS lets the name of a dataset be.
const LONGEST_DATASET: usize = 255;
/// Seconds. A use is written down when the last one is older: each is a flush of the disk.
const NOTED_AFTER: i64 = 10 * 60;

/// A token to be made.
pub struct NewToken<'a> {
    pub user: &'a str,
    /// Of the user's tokens no other has it.
    pub name: &'a str,
    /// Not above that of the user.
    pub role: Role,
    /// `None`: never.
    pub expires: Option<i64>,
    /// The token may act only at this dataset or below it.
    pub dataset: Option<&'a str>,
    /// The token by which it is made.
    pub maker: Option<u64>,
}

impl Machine {
    /// Makes a token. Gives its secret, which is shown once. Tokens of the user that have expired
    /// are removed.
    pub fn add_token(&self, new: &NewToken<'_>) -> Result<(Token, String), Denied> {
        check_text(new.name, LONGEST_NAME)?;
        if let Some(dataset) = new.dataset {
            check_text(dataset, LONGEST_DATASET)?;
        }
        let now = self.outside.now();
        if new.expires.is_some_and(|expires| expires <= now) {
            return Err(Denied::BadExpiry);
        }
        let random = secret::random(&*self.outside);
        self.store.change_accounts(|db| {
            let account = users::find(db, new.user)?.ok_or(Denied::NotFound)?;
            if new.role > account.user.role {
                return Err(Denied::AboveUser);
            }
            if let Some(maker) = new.maker
                && let Some(end) = end(db, maker)?
                && new.expires.is_none_or(|expires| expires > end)
            {
                return Err(Denied::OutlivesMaker);
            }
            db.execute("DELETE FROM tokens WHERE user = ?1 AND expires <= ?2", [account.id, now])?;
            let sql = "SELECT count(*), coalesce(max(name = ?2), 0) FROM tokens WHERE user = ?1";
            let (count, is_taken): (i64, bool) =
                db.query_row(sql, params![account.id, new.name], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if is_taken {
                return Err(Denied::Exists);
            }
            if count >= MOST_OF_USER {
                return Err(Denied::TooMany(Limit::Tokens));
            }
            db.execute(
                "INSERT INTO tokens (user, name, hash, role, dataset, created, expires)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    account.id,
                    new.name,
                    secret::hash(&random),
                    new.role.word(),
                    new.dataset,
                    now,
                    new.expires
                ],
            )?;
            let id = db.last_insert_rowid();
            let made = db.query_row(&format!("{TOKEN} WHERE t.id = ?1"), [id], info)?;
            Ok((made, secret::join(KIND, id, &random)))
        })
    }

    /// Whose token a secret is. `None` where it is unknown or has expired, or its user is disabled.
    pub fn token(&self, secret: &str) -> Result<Option<Identity>, Fault> {
        let Some((id, given)) = secret::split(KIND, secret) else { return Ok(None) };
        let now = self.outside.now();
        let Some(found) = self.store.read(|db| kept(db, id))? else { return Ok(None) };
        if !secret::equal(&secret::hash(given), &found.hash) || found.expires.is_some_and(|it| it <= now) {
            return Ok(None);
        }
        if found.last_used.is_none_or(|used| now.saturating_sub(used).saturating_abs() >= NOTED_AFTER) {
            let noted: Result<usize, Fault> = self.store.change(|db| {
                let sql = "UPDATE tokens SET last_used = ?2 WHERE id = ?1";
                db.execute(sql, [id, now]).map_err(Fault::from)
            });
            // Whatever its disk does, people and programs can still look.
            if let Err(fault) = noted {
                tracing::warn!(%fault, "the use of a token was not noted");
            }
        }
        Ok(Some(found.identity))
    }

    /// The tokens of one user or of all, those that have expired too, in the order they were made.
    pub fn tokens(&self, user: Option<&str>) -> Result<Vec<Token>, Fault> {
        self.store.read(|db| {
            let sql = format!("{TOKEN} WHERE ?1 IS NULL OR u.name = ?1 ORDER BY t.id");
            let mut found = db.prepare(&sql)?;
            let tokens = found.query_map([user], info)?;
            Ok(tokens.collect::<Result<_, _>>()?)
        })
    }

    /// Removes a token.
    pub fn remove_token(&self, id: u64) -> Result<(), Denied> {
        let Ok(id) = i64::try_from(id) else { return Err(Denied::NotFound) };
        self.store.change_accounts(|db| match db.execute("DELETE FROM tokens WHERE id = ?1", [id])? {
            0 => Err(Denied::NotFound),
            _ => Ok(()),
        })
    }
}

const TOKEN: &str = "SELECT t.id, u.name, t.name, t.role, t.dataset, t.created, t.expires, t.last_used
    FROM tokens t JOIN users u ON u.id = t.user";

fn info(row: &Row<'_>) -> rusqlite::Result<Token> {
    Ok(Token {
        id: number(row, 0)?,
        user: row.get(1)?,
        name: row.get(2)?,
        role: role(row, 3)?,
        dataset: row.get(4)?,
        created: row.get(5)?,
        expires: row.get(6)?,
        last_used: row.get(7)?,
    })
}

/// When a token expires; `None`: never.
fn end(db: &Connection, token: u64) -> Result<Option<i64>, Denied> {
    let sql = "SELECT expires FROM tokens WHERE id = ?1";
    let end = db.query_row(sql, [token.cast_signed()], |row| row.get(0)).optional()?;
    // It was removed meanwhile.
    end.ok_or(Denied::NotFound)
}

/// A token as it is kept, of a user who is not disabled.
struct Kept {
    hash: secret::Hash,
    expires: Option<i64>,
    last_used: Option<i64>,
    identity: Identity,
}

fn kept(db: &Connection, id: i64) -> Result<Option<Kept>, Fault> {
    let sql = "SELECT t.hash, t.expires, t.last_used, t.id, t.name, t.role, t.dataset, u.name, u.uid, u.role
        FROM tokens t JOIN users u ON u.id = t.user WHERE t.id = ?1 AND u.disabled = 0";
    let row = db.query_row(sql, [id], |row| {
        let (of_token, of_user) = (role(row, 5)?, role(row, 9)?);
        let identity = Identity {
            user: row.get(7)?,
            uid: row.get(8)?,
            role: of_token.min(of_user),
            by: Credential::Token { id: number(row, 3)?, name: row.get(4)? },
            dataset: row.get(6)?,
        };
        Ok(Kept { hash: row.get(0)?, expires: row.get(1)?, last_used: row.get(2)?, identity })
    });
    Ok(row.optional()?)
}

/// A text that is shown in lists: not empty, not too long, without control characters.
pub(crate) fn check_text(text: &str, longest: usize) -> Result<(), Denied> {
    let fault = match text {
        "" => NameFault::Empty,
        _ if text.len() > longest => NameFault::TooLong,
        _ if text.chars().any(char::is_control) => NameFault::BadCharacter,
        _ => return Ok(()),
    };
    Err(Denied::BadName(fault))
}
