//! What is in a database, in short: enough to tell whether accounts were changed, and what a
//! restoration would change.
//!
//! Invariants: what is secret is told by a digest alone. When somebody logged in, what a token was
//! last used for, what services did, sessions and the audit log are no part of it. More accounts or
//! longer fields than this program ever writes are [`Fault::Damaged`], before they take memory.

use std::collections::{BTreeMap, BTreeSet};

use api_types::AccountState;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

use crate::fault::Fault;
use crate::schema::role;
use crate::users::MOST_USERS;

/// Of all accounts together: far above what each may have.
const MOST_ROWS: i64 = 200 * MOST_USERS;
/// Bytes of a field: above what any of them has.
const LONGEST: i64 = 4 << 10;
/// Of what may bring certificates.
const LONGEST_WITH_ROOTS: i64 = 256 << 10;

/// A table that counts: its columns, in the order of the first of them, and how long a field may
/// be.
type Counting = (&'static str, &'static [&'static str], i64);

const COUNTING: &[Counting] = &[
    ("counters", &["name", "value"], LONGEST),
    ("users", &["id", "name", "password", "role", "uid", "disabled", "created"], LONGEST),
    ("totp", &["user", "pending", "secret"], LONGEST),
    ("recovery_codes", &["user", "hash"], LONGEST),
    (
        "security_keys",
        &["id", "user", "name", "host", "credential", "algorithm", "public", "created"],
        LONGEST,
    ),
    ("tokens", &["id", "user", "name", "hash", "role", "dataset", "created", "expires"], LONGEST),
    ("acme", &["id", "domains", "email", "directory", "roots", "account"], LONGEST_WITH_ROOTS),
    ("routes", &["name", "target", "least", "disabled", "secret"], LONGEST_WITH_ROOTS),
    ("settings", &["name", "value"], LONGEST),
    ("services", &["id", "changes"], LONGEST),
    ("peer_key", &["certificate", "key"], LONGEST),
    ("peers", &["name", "fingerprint", "address", "grants", "community", "reads"], LONGEST_WITH_ROOTS),
    ("peers_removed", &["fingerprint"], LONGEST),
    ("worksheets", &["name", "panes", "changed", "changed_by"], LONGEST_WITH_ROOTS),
];

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Another one once accounts, second factors, tokens, services, worksheets, or what is set
    /// about certificates and alerts, are others.
    pub digest: [u8; 32],
    /// By name.
    pub accounts: BTreeMap<String, Account>,
    /// A digest of each.
    pub tokens: BTreeSet<[u8; 32]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub state: AccountState,
    /// Another one where password, second factor or recovery codes are others.
    pub secrets: [u8; 32],
}

/// Tells it of an open database of the newest version.
pub(crate) fn read(db: &Connection) -> Result<Contents, Fault> {
    let mut all = Sha256::new();
    for (table, columns, longest) in COUNTING {
        check(db, table, columns, *longest)?;
        all.update(table);
        digest(db, &format!("SELECT {0} FROM {table} ORDER BY {0}", columns.join(", ")), &mut all)?;
    }
    Ok(Contents { digest: all.finalize().into(), accounts: accounts(db)?, tokens: tokens(db)? })
}

/// Refuses a table that nobody here can have made. The file of a database may come from anywhere.
fn check(db: &Connection, table: &str, columns: &[&str], allowed: i64) -> Result<(), Fault> {
    let rows: i64 = db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
    let most = if table == "users" { MOST_USERS } else { MOST_ROWS };
    let longest =
        columns.iter().map(|column| format!("coalesce(max(octet_length({column})), 0)")).collect::<Vec<_>>();
    let sql = format!("SELECT max({}, 0) FROM {table}", longest.join(", "));
    let longest: i64 = db.query_row(&sql, [], |row| row.get(0))?;
    match rows <= most && longest <= allowed {
        true => Ok(()),
        false => {
            Err(Fault::Damaged(format!("table {table} has {rows} rows, and a field of {longest} bytes")))
        }
    }
}

fn accounts(db: &Connection) -> Result<BTreeMap<String, Account>, Fault> {
    let mut found = db.prepare(
        "SELECT id, name, role, uid, disabled,
            EXISTS (SELECT 1 FROM totp WHERE totp.user = users.id AND pending = 0) FROM users",
    )?;
    let rows = found.query_map([], |row| {
        let state = AccountState {
            role: role(row, 2)?,
            uid: row.get(3)?,
            disabled: row.get(4)?,
            has_totp: row.get(5)?,
        };
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, state))
    })?;
    let mut accounts = BTreeMap::new();
    for row in rows {
        let (id, name, state) = row?;
        let mut secrets = Sha256::new();
        for sql in [
            format!("SELECT password FROM users WHERE id = {id}"),
            format!("SELECT secret FROM totp WHERE user = {id} AND pending = 0"),
            format!("SELECT hash FROM recovery_codes WHERE user = {id} ORDER BY hash"),
            format!("SELECT host, credential, public FROM security_keys WHERE user = {id} ORDER BY id"),
        ] {
            digest(db, &sql, &mut secrets)?;
        }
        accounts.insert(name, Account { state, secrets: secrets.finalize().into() });
    }
    Ok(accounts)
}

fn tokens(db: &Connection) -> Result<BTreeSet<[u8; 32]>, Fault> {
    let mut found = db.prepare(
        "SELECT users.name, tokens.name, hash, tokens.role, dataset, expires FROM tokens
            JOIN users ON users.id = tokens.user",
    )?;
    let mut rows = found.query([])?;
    let mut tokens = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let mut one = Sha256::new();
        (0..6).try_for_each(|column| row.get_ref(column).map(|value| add(value, &mut one)))?;
        tokens.insert(one.finalize().into());
    }
    Ok(tokens)
}

fn digest(db: &Connection, sql: &str, into: &mut Sha256) -> Result<(), Fault> {
    let mut found = db.prepare(sql)?;
    let columns = found.column_count();
    let mut rows = found.query([])?;
    while let Some(row) = rows.next()? {
        (0..columns).try_for_each(|column| row.get_ref(column).map(|value| add(value, into)))?;
    }
    into.update(b"end");
    Ok(())
}

/// A value with its type and length, so that no two lists of values are the same bytes.
fn add(value: ValueRef<'_>, into: &mut Sha256) {
    let (mark, bytes): (u8, &[u8]) = match value {
        ValueRef::Null => (0, &[]),
        ValueRef::Integer(number) => {
            into.update([1_u8]);
            return into.update(number.to_le_bytes());
        }
        ValueRef::Real(number) => {
            into.update([2_u8]);
            return into.update(number.to_le_bytes());
        }
        ValueRef::Text(bytes) => (3, bytes),
        ValueRef::Blob(bytes) => (4, bytes),
    };
    into.update([mark]);
    into.update((bytes.len() as u64).to_le_bytes());
    into.update(bytes);
}
