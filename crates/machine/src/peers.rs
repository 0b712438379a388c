//! Other appliances, and what this one shows them.
//!
//! Invariants: there are at most [`MOST`]. A fingerprint is of one of them. Who was a member of a
//! group and was removed is not made known again by others.

use api_types::{Fingerprint, Peer};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use crate::Machine;
use crate::fault::{Denied, Fault, Limit, NameFault};

const MOST: i64 = 64;
/// Of those that were removed, the newest are known.
const MOST_REMOVED: i64 = 1_024;
/// Bytes.
const LONGEST_NAME: usize = 32;

/// A certificate and its key, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerKey {
    pub certificate: String,
    pub key: String,
}

const SELECT: &str = "SELECT name, fingerprint, address, grants, added, community, reads FROM peers";

impl Machine {
    /// What this machine shows to peers; made by `make` where there is none.
    pub fn peer_key(&self, make: impl FnOnce() -> Result<PeerKey, Fault>) -> Result<PeerKey, Fault> {
        let sql = "SELECT certificate, key FROM peer_key";
        let pair = |row: &Row<'_>| Ok(PeerKey { certificate: row.get(0)?, key: row.get(1)? });
        let find = |db: &Connection| -> Result<_, Fault> { Ok(db.query_row(sql, [], pair).optional()?) };
        let kept = self.store.read(find)?;
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let new = make()?;
        let put = |db: &Connection| -> Result<PeerKey, Fault> {
            // Somebody else may have been first.
            let sql_put = "INSERT OR IGNORE INTO peer_key (one, certificate, key) VALUES (1, ?1, ?2)";
            db.execute(sql_put, params![new.certificate, new.key])?;
            Ok(db.query_row(sql, [], pair)?)
        };
        self.store.change_accounts(|db| put(db))
    }

    /// In the order of names.
    pub fn peers(&self) -> Result<Vec<Peer>, Fault> {
        self.store.read(|db| {
            let mut found = db.prepare(&format!("{SELECT} ORDER BY name"))?;
            let rows = found.query_map([], peer)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub fn peer(&self, name: &str) -> Result<Option<Peer>, Fault> {
        let sql = format!("{SELECT} WHERE name = ?1");
        self.store.read(|db| Ok(db.query_row(&sql, [name], peer).optional()?))
    }

    /// Whoever shows this certificate.
    pub fn peer_with(&self, fingerprint: Fingerprint) -> Result<Option<Peer>, Fault> {
        let sql = format!("{SELECT} WHERE fingerprint = ?1");
        self.store.read(|db| Ok(db.query_row(&sql, [fingerprint.to_string()], peer).optional()?))
    }

    /// Refused where there is one of this name or fingerprint, or there are too many.
    pub fn add_peer(&self, new: &Peer) -> Result<(), Denied> {
        check(new)?;
        self.store.change_accounts(|db| {
            insert(db, new)?;
            db.execute("DELETE FROM peers_removed WHERE fingerprint = ?1", [new.fingerprint.to_string()])?;
            Ok(())
        })
    }

    /// Adds one of whom a member of its group has told. Whether it was added: who was removed here
    /// is not. Refused as by [`Machine::add_peer`].
    pub fn introduce_peer(&self, new: &Peer) -> Result<bool, Denied> {
        check(new)?;
        self.store.change_accounts(|db| {
            let sql = "SELECT count(*) FROM peers_removed WHERE fingerprint = ?1";
            let removed: i64 = db.query_row(sql, [new.fingerprint.to_string()], |row| row.get(0))?;
            if removed == 0 {
                insert(db, new)?;
            }
            Ok(removed == 0)
        })
    }

    /// Sets address, grants, what it may read, and group of one that is there.
    pub fn change_peer(&self, changed: &Peer) -> Result<(), Denied> {
        check(changed)?;
        let (grants, reads) = (listed(&changed.grants)?, listed(&changed.reads)?);
        self.store.change_accounts(|db| {
            let sql =
                "UPDATE peers SET address = ?2, grants = ?3, community = ?4, reads = ?5 WHERE name = ?1";
            match db.execute(sql, params![changed.name, changed.address, grants, changed.group, reads])? {
                0 => Err(Denied::NotFound),
                _ => Ok(()),
            }
        })
    }

    /// `now` in seconds since 1970.
    pub fn remove_peer(&self, name: &str, now: i64) -> Result<(), Denied> {
        self.store.change_accounts(|db| {
            db.execute(
                "INSERT OR REPLACE INTO peers_removed (fingerprint, at) \
                 SELECT fingerprint, ?2 FROM peers WHERE name = ?1 AND community IS NOT NULL",
                params![name, now],
            )?;
            db.execute(
                "DELETE FROM peers_removed WHERE fingerprint NOT IN \
                 (SELECT fingerprint FROM peers_removed ORDER BY at DESC LIMIT ?1)",
                [MOST_REMOVED],
            )?;
            match db.execute("DELETE FROM peers WHERE name = ?1", [name])? {
                0 => Err(Denied::NotFound),
                _ => Ok(()),
            }
        })
    }
}

fn insert(db: &Connection, new: &Peer) -> Result<(), Denied> {
    let (grants, reads) = (listed(&new.grants)?, listed(&new.reads)?);
    let sql = "SELECT count(*), coalesce(max(name = ?1 OR fingerprint = ?2), 0) FROM peers";
    let (count, is_taken): (i64, bool) =
        db.query_row(sql, params![new.name, new.fingerprint.to_string()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    match (is_taken, count >= MOST) {
        (true, _) => return Err(Denied::Exists),
        (false, true) => return Err(Denied::TooMany(Limit::Peers)),
        (false, false) => {}
    }
    db.execute(
        "INSERT INTO peers (name, fingerprint, address, grants, added, community, reads) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![new.name, new.fingerprint.to_string(), new.address, grants, new.added, new.group, reads],
    )?;
    Ok(())
}

/// Its name, and that of its group.
fn check(peer: &Peer) -> Result<(), NameFault> {
    check_name(&peer.name)?;
    peer.group.as_deref().map_or(Ok(()), check_name)
}

/// A name of a peer stands in properties of its replicas here, so it is as short and plain as the
/// name of a service.
fn check_name(name: &str) -> Result<(), NameFault> {
    match name {
        "" => Err(NameFault::Empty),
        name if name.len() > LONGEST_NAME => Err(NameFault::TooLong),
        name if !name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-') => {
            Err(NameFault::BadCharacter)
        }
        _ => Ok(()),
    }
}

fn listed(grants: &[impl Serialize]) -> Result<String, Fault> {
    serde_json::to_string(grants).map_err(|error| Fault::Defect(error.to_string()))
}

fn peer(row: &Row<'_>) -> rusqlite::Result<Peer> {
    let (fingerprint, grants, reads): (String, String, String) = (row.get(1)?, row.get(3)?, row.get(6)?);
    let unread =
        |column| move |error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error));
    Ok(Peer {
        name: row.get(0)?,
        fingerprint: fingerprint
            .parse()
            .map_err(|_| rusqlite::Error::InvalidColumnType(1, fingerprint, Type::Text))?,
        address: row.get(2)?,
        grants: serde_json::from_str(&grants).map_err(unread(3))?,
        reads: serde_json::from_str(&reads).map_err(unread(6))?,
        added: row.get(4)?,
        group: row.get(5)?,
    })
}
