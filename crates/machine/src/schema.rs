//! The tables, version by version, and whether a database has them.
//!
//! Invariants: a step is never changed after it was released; a change of the tables is a new step.
//! Each step is one transaction with its version number. A database counts as ours only if its
//! tables are those that the steps make, word for word: a file from elsewhere brings no trigger.

use api_types::Role;
use rusqlite::types::Type;
use rusqlite::{Connection, Row, TransactionBehavior};

use crate::fault::Fault;

/// Step N makes version N + 1 of version N.
pub(crate) const STEPS: &[&str] = &[
    VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7, VERSION_8, VERSION_9,
    VERSION_10, VERSION_11,
];

/// "CSTN": the mark of our databases in SQLite's header.
const APPLICATION: i64 = 0x4353_544e;

/// Records of the audit log are counted by weight (`nth`), so that the oldest of one are found.
/// Ids are never given twice (AUTOINCREMENT): the audit log names sessions and tokens by them.
const VERSION_1: &str = "
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counters (name, value) VALUES ('uid', 2000000000);
CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    password TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('read-only', 'operator', 'administrator')),
    uid INTEGER NOT NULL UNIQUE,
    disabled INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
    created INTEGER NOT NULL,
    last_login INTEGER
) STRICT;
CREATE TABLE totp (
    user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    pending INTEGER NOT NULL CHECK (pending IN (0, 1)),
    secret BLOB NOT NULL,
    last_step INTEGER NOT NULL,
    PRIMARY KEY (user, pending)
) STRICT, WITHOUT ROWID;
CREATE TABLE recovery_codes (
    user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash BLOB NOT NULL,
    PRIMARY KEY (user, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash BLOB NOT NULL,
    address TEXT NOT NULL,
    created INTEGER NOT NULL,
    seen INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_of_user ON sessions (user);
CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash BLOB NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('read-only', 'operator', 'administrator')),
    dataset TEXT,
    created INTEGER NOT NULL,
    expires INTEGER,
    last_used INTEGER,
    UNIQUE (user, name)
) STRICT;
CREATE TABLE places (
    user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    place TEXT NOT NULL,
    seen INTEGER NOT NULL,
    PRIMARY KEY (user, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    weight INTEGER NOT NULL,
    nth INTEGER NOT NULL,
    time INTEGER NOT NULL,
    who TEXT NOT NULL,
    way TEXT NOT NULL,
    way_number INTEGER,
    address TEXT,
    verb TEXT NOT NULL,
    path TEXT NOT NULL,
    target TEXT,
    status INTEGER NOT NULL,
    UNIQUE (weight, nth)
) STRICT;
CREATE INDEX audit_of_user ON audit (who);
";

/// Answers to requests with a key.
const VERSION_2: &str = "
CREATE TABLE answers (
    nth INTEGER PRIMARY KEY AUTOINCREMENT,
    who TEXT NOT NULL,
    key BLOB NOT NULL,
    request BLOB NOT NULL,
    began INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'answered', 'lost')),
    status INTEGER,
    body BLOB,
    UNIQUE (who, key)
) STRICT;
CREATE INDEX answers_by_time ON answers (began);
";

/// Certificates by ACME ([`crate::Acme`]). An id is never given twice: an order that comes to its
/// end late is known by it.
const VERSION_3: &str = "
CREATE TABLE acme (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    domains TEXT NOT NULL,
    email TEXT,
    directory TEXT NOT NULL,
    roots TEXT,
    account TEXT,
    tries INTEGER NOT NULL DEFAULT 0,
    next INTEGER NOT NULL DEFAULT 0,
    failed INTEGER,
    fault TEXT,
    why TEXT
) STRICT;
";

/// Keys as a second factor. An authenticator's name of a key is that of one key.
const VERSION_4: &str = "
CREATE TABLE security_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    host TEXT NOT NULL,
    credential BLOB NOT NULL UNIQUE,
    algorithm INTEGER NOT NULL CHECK (algorithm IN (-8, -7)),
    public BLOB NOT NULL,
    counter INTEGER NOT NULL,
    created INTEGER NOT NULL,
    last_used INTEGER,
    UNIQUE (user, name)
) STRICT;
";

/// Services ([`crate::KeptService`]), the newest lines of what each did, and what time it is
/// believed to be. `changes` counts what administrators changed.
const VERSION_5: &str = "
CREATE TABLE services (
    id TEXT PRIMARY KEY,
    changes INTEGER NOT NULL,
    instance TEXT NOT NULL,
    memory TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE service_log (
    service TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
    nth INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (service, nth)
) STRICT, WITHOUT ROWID;
CREATE TABLE service_clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    clock TEXT NOT NULL
) STRICT;
";

/// Alerts, the routes that they are told by, and what is still to be told. Of one key at most one
/// alert is open. Ids are never given twice, for the greatest is never removed: messages have them.
const VERSION_6: &str = "
CREATE TABLE alerts (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    severity INTEGER NOT NULL,
    is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX open_alerts ON alerts (key) WHERE is_open = 1;
CREATE TABLE routes (
    name TEXT PRIMARY KEY,
    target TEXT NOT NULL,
    least TEXT NOT NULL CHECK (least IN ('warning', 'error', 'critical')),
    disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    secret TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE notes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    route TEXT NOT NULL REFERENCES routes (name) ON DELETE CASCADE,
    turn TEXT NOT NULL CHECK (turn IN ('raised', 'worsened', 'cleared')),
    key TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX notes_of_route ON notes (route);
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
";

/// What services did, hour by hour ([`crate::Tally`]); hours are counted since 1970.
const VERSION_7: &str = "
CREATE TABLE service_hours (
    service TEXT NOT NULL,
    hour INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    done INTEGER NOT NULL,
    destroyed INTEGER NOT NULL,
    PRIMARY KEY (service, hour)
) STRICT, WITHOUT ROWID;
";

/// Other appliances, and what this one shows them.
const VERSION_8: &str = "
CREATE TABLE peer_key (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    certificate TEXT NOT NULL,
    key TEXT NOT NULL
) STRICT;
CREATE TABLE peers (
    name TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    address TEXT,
    grants TEXT NOT NULL,
    added INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Groups of appliances, and who was removed from one here: others make him known in vain.
const VERSION_9: &str = "
ALTER TABLE peers ADD COLUMN community TEXT;
CREATE TABLE peers_removed (
    fingerprint TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// What a peer may read here.
const VERSION_10: &str = "
ALTER TABLE peers ADD COLUMN reads TEXT NOT NULL DEFAULT '[]';
";

/// Worksheets of analytics.
const VERSION_11: &str = "
CREATE TABLE worksheets (
    name TEXT PRIMARY KEY,
    panes TEXT NOT NULL,
    changed INTEGER NOT NULL,
    changed_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

/// What a database is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing was ever written to it.
    Empty,
    /// Whole and ours.
    Ours { version: u32 },
}

/// The version that the steps make.
pub(crate) fn known(steps: &[&str]) -> u32 {
    u32::try_from(steps.len()).expect("there are few steps")
}

/// Checks all pages, whose database it is, its version, and its tables.
/// [`Fault::Damaged`] if anything is not as it has to be.
pub(crate) fn examine(db: &Connection, steps: &[&str]) -> Result<Seen, Fault> {
    match examined(db, steps) {
        // Of statements that are known to be good, a refusal speaks about the file.
        Err(Fault::Defect(text)) => Err(Fault::Damaged(text)),
        other => other,
    }
}

fn examined(db: &Connection, steps: &[&str]) -> Result<Seen, Fault> {
    let verdict: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(Fault::Damaged(verdict));
    }
    let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables = tables(db)?;
    if application == 0 && version == 0 && tables.is_empty() {
        return Ok(Seen::Empty);
    }
    let version = match u32::try_from(version) {
        Ok(version) if application == APPLICATION && version > 0 => version,
        _ => return Err(Fault::Damaged("it is another program's database".to_owned())),
    };
    if version > known(steps) {
        return Err(Fault::NewerVersion { found: version, known: known(steps) });
    }
    let mut fresh = Connection::open_in_memory()?;
    migrate(&mut fresh, &steps[..version as usize], 0)?;
    if tables != self::tables(&fresh)? {
        return Err(Fault::Damaged(format!("its tables are not those of version {version}")));
    }
    Ok(Seen::Ours { version })
}

/// Runs the steps from version `from` on.
pub(crate) fn migrate(db: &mut Connection, steps: &[&str], from: u32) -> Result<(), Fault> {
    for version in from..known(steps) {
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(steps[version as usize])?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", version + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Type, name and SQL of all that is in a database.
fn tables(db: &Connection) -> Result<Vec<(String, String, Option<String>)>, Fault> {
    let mut found = db.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name")?;
    let rows = found.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// An id that SQLite gave, which is never negative.
pub(crate) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let id: i64 = row.get(column)?;
    u64::try_from(id).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, id))
}

/// A role, which is kept by its word.
pub(crate) fn role(row: &Row<'_>, column: usize) -> rusqlite::Result<Role> {
    let word: String = row.get(column)?;
    Role::of_word(&word).ok_or(rusqlite::Error::InvalidColumnType(column, word, Type::Text))
}
