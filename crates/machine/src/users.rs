//! Users: names, roles, numbers.
//!
//! Invariants: the last administrator who can log in is never removed, disabled or demoted. A
//! number (`uid`) from 2,000,000,000 on is never given to a second user, even when the first is
//! gone, and whoever asks for it: what `zfs allow` delegates is kept in pools by number, and would
//! pass to the second.

use api_types::{Role, User};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::fault::{Denied, Fault, Limit, NameFault};
use crate::password::Whose;
use crate::schema::role;
use crate::{Machine, recovery};

pub(crate) const MOST_USERS: i64 = 1_000;
/// Of a name, in characters, which are bytes.
const LONGEST_NAME: usize = 32;
/// Numbers that are given here begin above those that Linux distributions and directories give.
const FIRST_UID: u32 = 2_000_000_000;
/// The two above mean "nobody" and "unchanged" elsewhere.
const LAST_UID: u32 = u32::MAX - 2;
/// The highest that may be asked for: those above it are left for many users more.
const LAST_ASKED_UID: u32 = 2_100_000_000;

/// A user to be added.
pub struct NewUser<'a> {
    pub name: &'a str,
    pub password: &'a str,
    pub role: Role,
    /// `None`: the next free one from 2,000,000,000 on. One from there on that nobody had yet may
    /// be asked for, up to 2,100,000,000.
    pub uid: Option<u32>,
}

/// What is to change of a user; what is `None` stays.
#[derive(Default)]
pub struct UserChange {
    pub role: Option<Role>,
    pub password: Option<String>,
    pub disabled: Option<bool>,
    pub uid: Option<u32>,
    /// Removes TOTP; without keys, the recovery codes as well.
    pub drop_totp: bool,
    /// Removes all keys; without TOTP, the recovery codes as well.
    pub drop_keys: bool,
    /// With a new password: the tokens stay.
    pub keep_tokens: bool,
}

/// A user with what belongs to the database: the row's id and the hash of the password.
pub(crate) struct Account {
    pub(crate) id: i64,
    pub(crate) hash: String,
    pub(crate) user: User,
}

impl Machine {
    /// Whether there is an administrator who can log in.
    pub fn has_administrator(&self) -> Result<bool, Fault> {
        self.store.read(has_administrator)
    }

    /// All users, by name.
    pub fn users(&self) -> Result<Vec<User>, Fault> {
        self.store.read(|db| {
            let mut found = db.prepare(&format!("{ACCOUNT} ORDER BY u.name"))?;
            let users = found.query_map([], |row| Ok(account(row)?.user))?;
            Ok(users.collect::<Result<_, _>>()?)
        })
    }

    /// One of them.
    pub fn user(&self, name: &str) -> Result<User, Denied> {
        self.store.read(|db| Ok(find(db, name)?.ok_or(Denied::NotFound)?.user))
    }

    /// Adds a user, who can log in at once.
    pub fn add_user(&self, new: &NewUser<'_>) -> Result<User, Denied> {
        check(new)?;
        let hash = self.passwords.hash(new.password, Whose::Known, &*self.outside)?;
        let now = self.outside.now();
        self.store.change_accounts(|db| insert(db, new, &hash, now))
    }

    /// Changes a user. All sessions of the user end where role, password or `disabled` change. The
    /// tokens end with a new password, unless they are to stay: who has stolen a session has
    /// perhaps made some.
    pub fn change_user(&self, name: &str, change: &UserChange) -> Result<User, Denied> {
        check_uid(change.uid)?;
        let hash = match &change.password {
            Some(password) => Some(self.passwords.hash(password, Whose::Known, &*self.outside)?),
            None => None,
        };
        self.store.change_accounts(|db| {
            let Account { id, user, .. } = find(db, name)?.ok_or(Denied::NotFound)?;
            let had_administrator = has_administrator(db)?;
            if let Some(uid) = change.uid.filter(|uid| *uid != user.uid) {
                take_uid(db, uid)?;
                db.execute("UPDATE users SET uid = ?2 WHERE id = ?1", params![id, uid])?;
            }
            if change.drop_totp {
                db.execute("DELETE FROM totp WHERE user = ?1", [id])?;
            }
            if change.drop_keys {
                db.execute("DELETE FROM security_keys WHERE user = ?1", [id])?;
            }
            recovery::drop_useless(db, id)?;
            let role = change.role.unwrap_or(user.role);
            let disabled = change.disabled.unwrap_or(user.disabled);
            db.execute(
                "UPDATE users SET role = ?2, disabled = ?3, password = coalesce(?4, password) WHERE id = ?1",
                params![id, role.word(), disabled, hash],
            )?;
            if hash.is_some() || (role, disabled) != (user.role, user.disabled) {
                db.execute("DELETE FROM sessions WHERE user = ?1", [id])?;
            }
            if hash.is_some() && !change.keep_tokens {
                db.execute("DELETE FROM tokens WHERE user = ?1", [id])?;
            }
            if had_administrator && !has_administrator(db)? {
                return Err(Denied::LastAdministrator);
            }
            Ok(find(db, name)?.ok_or(Denied::NotFound)?.user)
        })
    }

    /// Removes a user with all sessions and tokens.
    pub fn remove_user(&self, name: &str) -> Result<(), Denied> {
        self.store.change_accounts(|db| {
            let had_administrator = has_administrator(db)?;
            if db.execute("DELETE FROM users WHERE name = ?1", [name])? == 0 {
                return Err(Denied::NotFound);
            }
            match had_administrator && !has_administrator(db)? {
                true => Err(Denied::LastAdministrator),
                false => Ok(()),
            }
        })
    }
}

const ACCOUNT: &str = "SELECT u.id, u.password, u.name, u.role, u.uid, u.disabled,
    EXISTS (SELECT 1 FROM totp t WHERE t.user = u.id AND t.pending = 0), u.created, u.last_login,
    EXISTS (SELECT 1 FROM security_keys k WHERE k.user = u.id)
    FROM users u";

fn account(row: &Row<'_>) -> rusqlite::Result<Account> {
    let user = User {
        name: row.get(2)?,
        role: role(row, 3)?,
        uid: row.get(4)?,
        disabled: row.get(5)?,
        has_totp: row.get(6)?,
        has_keys: row.get(9)?,
        created: row.get(7)?,
        last_login: row.get(8)?,
    };
    Ok(Account { id: row.get(0)?, hash: row.get(1)?, user })
}

pub(crate) fn find(db: &Connection, name: &str) -> Result<Option<Account>, Fault> {
    Ok(db.query_row(&format!("{ACCOUNT} WHERE u.name = ?1"), [name], account).optional()?)
}

pub(crate) fn has_administrator(db: &Connection) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM users WHERE role = ?1 AND disabled = 0)";
    Ok(db.query_row(sql, [Role::Administrator.word()], |row| row.get(0))?)
}

/// Whether name and number may be those of a user.
pub(crate) fn check(new: &NewUser<'_>) -> Result<(), Denied> {
    check_name(new.name).map_err(Denied::BadName)?;
    check_uid(new.uid)
}

/// A name that a user may have: 1 to 32 of `[a-z0-9._-]`, beginning with a letter or `_`.
pub(crate) fn check_name(name: &str) -> Result<(), NameFault> {
    let first = *name.as_bytes().first().ok_or(NameFault::Empty)?;
    if name.len() > LONGEST_NAME {
        return Err(NameFault::TooLong);
    }
    if !name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-')) {
        return Err(NameFault::BadCharacter);
    }
    match matches!(first, b'a'..=b'z' | b'_') {
        true => Ok(()),
        false => Err(NameFault::BadStart),
    }
}

fn check_uid(uid: Option<u32>) -> Result<(), Denied> {
    match uid {
        // Whoever has the number 0 is root to the engine, whatever the role.
        Some(uid) if uid == 0 || uid > LAST_ASKED_UID => Err(Denied::BadUid),
        _ => Ok(()),
    }
}

/// Adds a user whose name and number were checked.
pub(crate) fn insert(db: &Connection, new: &NewUser<'_>, hash: &str, now: i64) -> Result<User, Denied> {
    if find(db, new.name)?.is_some() {
        return Err(Denied::Exists);
    }
    let users: i64 = db.query_row("SELECT count(*) FROM users", [], |row| row.get(0))?;
    if users >= MOST_USERS {
        return Err(Denied::TooMany(Limit::Users));
    }
    let uid = match new.uid {
        Some(uid) => uid,
        None => next_uid(db)?,
    };
    take_uid(db, uid)?;
    db.execute(
        "INSERT INTO users (name, password, role, uid, created) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![new.name, hash, new.role.word(), uid, now],
    )?;
    Ok(find(db, new.name)?.ok_or(Denied::NotFound)?.user)
}

/// Above all that users ever had from [`FIRST_UID`] on.
fn next_uid(db: &Connection) -> Result<u32, Denied> {
    let next: i64 = db.query_row("SELECT value FROM counters WHERE name = 'uid'", [], |row| row.get(0))?;
    match u32::try_from(next) {
        Ok(uid) if uid <= LAST_UID => Ok(uid),
        _ => Err(Denied::TooMany(Limit::Uids)),
    }
}

/// Notes that a number is used from now on.
fn take_uid(db: &Connection, uid: u32) -> Result<(), Denied> {
    let sql = "SELECT EXISTS (SELECT 1 FROM users WHERE uid = ?1)
        OR ?1 >= ?2 AND ?1 < (SELECT value FROM counters WHERE name = 'uid')";
    if db.query_row(sql, [uid, FIRST_UID], |row| row.get(0))? {
        return Err(Denied::UidTaken);
    }
    if uid >= FIRST_UID {
        let next = i64::from(uid) + 1;
        db.execute("UPDATE counters SET value = max(value, ?1) WHERE name = 'uid'", [next])?;
    }
    Ok(())
}
