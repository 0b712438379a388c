//! Where people have logged in from.
//!
//! A place is an IPv4 address, or 64 bits of an IPv6 address: what one line has.
//!
//! Invariant: of each user the last eight places are kept, in the database: they outlive the
//! program, so that after a restart no stranger keeps out who comes from his own place.

use std::net::{IpAddr, Ipv6Addr};

use rusqlite::{Connection, params};

use crate::Machine;
use crate::fault::{Denied, Fault};

const MOST_OF_USER: i64 = 8;

/// Where a try comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(IpAddr);

impl Place {
    pub(crate) fn of(address: IpAddr) -> Place {
        match address.to_canonical() {
            IpAddr::V4(address) => Place(address.into()),
            IpAddr::V6(address) => Place(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()),
        }
    }
}

impl Machine {
    /// The places of all who can log in; of IPv6 addresses the first 64 bits.
    pub fn places(&self) -> Result<Vec<IpAddr>, Fault> {
        let sql = "SELECT DISTINCT p.place FROM places p JOIN users u ON u.id = p.user WHERE u.disabled = 0";
        self.store.read(|db| {
            let mut found = db.prepare(sql)?;
            let places = found.query_map([], |row| row.get::<_, String>(0))?;
            let places: Vec<String> = places.collect::<Result<_, _>>()?;
            let read = |place: String| place.parse().map_err(|_| Fault::Damaged(format!("place {place:?}")));
            places.into_iter().map(read).collect()
        })
    }
}

/// Whether an account has logged in from there.
pub(crate) fn is_known(db: &Connection, account: &str, place: Place) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM places p JOIN users u ON u.id = p.user
        WHERE u.name = ?1 AND p.place = ?2)";
    Ok(db.query_row(sql, params![account, place.0.to_string()], |row| row.get(0))?)
}

/// Notes that a user has logged in from there.
pub(crate) fn note(db: &Connection, user: i64, place: Place, now: i64) -> Result<(), Denied> {
    db.execute(
        "INSERT OR REPLACE INTO places (user, place, seen) VALUES (?1, ?2, ?3)",
        params![user, place.0.to_string(), now],
    )?;
    db.execute(
        "DELETE FROM places WHERE user = ?1 AND place NOT IN
            (SELECT place FROM places WHERE user = ?1 ORDER BY seen DESC, place = ?2 DESC LIMIT ?3)",
        params![user, place.0.to_string(), MOST_OF_USER],
    )?;
    Ok(())
}
