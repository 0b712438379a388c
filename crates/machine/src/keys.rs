//! The second factor by a key: passkeys and security keys (WebAuthn).
//!
//! A key belongs to an account and to the host name that the browser used when it was made; it
//! counts there alone, and never for an address. Each use answers a challenge that was drawn for it
//! ([`challenges`]), and what the authenticator says is checked ([`proof`]).
//!
//! Invariants: a key is of one account, and an account has 16 at most. Somebody has to be there;
//! whether the authenticator has made sure who, is asked for and not insisted on: the password is
//! the other factor. A key's counter never goes back: who shows a lower one has perhaps a copy of
//! the key; he is refused, and it is noted in the audit log. A key that does not count its uses
//! always says 0.

mod challenges;
mod proof;

use std::net::IpAddr;

use api_types::{
    Assertion, Attestation, By, CreationOptions, KeyAlgorithm, KeyMade, KeyName, KeyOwner, KeySite,
    KeyWanted, RequestOptions, Secret, SecurityKey, routes,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::audit::{AuditEntry, Weight};
use crate::fault::{Denied, Fault, KeyFault, Limit};
use crate::places::Place;
use crate::schema::number;
use crate::tokens::check_text;
use crate::users::{self, Account};
use crate::{Machine, recovery, secret};

pub(crate) use challenges::Challenges;
use challenges::{LIFE, Purpose};
pub use proof::RelyingParty;
use proof::{Algorithm, Deed, KIND, Made, PublicKey, Said};

const MOST_OF_USER: i64 = 16;
/// Bytes.
const LONGEST_NAME: usize = 64;
/// What people see of this program where their keys are listed.
const PROGRAM: &str = "Cistern";
const PREFERRED: &str = "preferred";
/// Milliseconds.
const TIMEOUT: u32 = LIFE * 1_000;
/// What the audit log calls the use of a copy.
const COPIED: &str = "COPIED";
const UNAUTHORIZED: u16 = 401;

/// An answer of a key whose challenge was taken.
pub(crate) struct Answer<'a> {
    assertion: &'a Assertion,
    said: Said,
    site: RelyingParty,
}

impl Machine {
    /// The keys of a user, in the order they were made.
    pub fn keys(&self, name: &str) -> Result<Vec<SecurityKey>, Denied> {
        self.store.read(|db| {
            let user = users::find(db, name)?.ok_or(Denied::NotFound)?.id;
            let mut found = db.prepare(&format!("{KEY} WHERE user = ?1 ORDER BY id"))?;
            let keys = found.query_map([user], info)?;
            Ok(keys.collect::<Result<_, _>>()?)
        })
    }

    /// What a browser is to make a key by. [`Machine::confirm_key`] takes it.
    pub fn begin_key(
        &self,
        name: &str,
        site: &RelyingParty,
        address: IpAddr,
    ) -> Result<CreationOptions, Denied> {
        let (Account { id, user, .. }, exclude_credentials) = self.store.read(|db| {
            let account = users::find(db, name)?.ok_or(Denied::NotFound)?;
            check_room(db, account.id)?;
            let names = names(db, account.id, site)?;
            Ok::<_, Denied>((account, names))
        })?;
        let purpose = Purpose { user: id, deed: Deed::Create };
        let challenge = self.challenges.draw(purpose, Place::of(address), site, &*self.outside);
        let algorithm = |it: Algorithm| KeyAlgorithm { alg: it.number(), kind: KIND.to_owned() };
        Ok(CreationOptions {
            rp: KeySite { id: site.id.clone(), name: PROGRAM.to_owned() },
            user: KeyOwner { id: handle(id), name: user.name.clone(), display_name: user.name },
            challenge,
            pub_key_cred_params: Algorithm::ALL.map(algorithm).to_vec(),
            timeout: TIMEOUT,
            exclude_credentials,
            authenticator_selection: KeyWanted {
                // The account is named first, so a key need not keep its name: security keys have
                // room for few.
                resident_key: "discouraged".to_owned(),
                require_resident_key: false,
                user_verification: PREFERRED.to_owned(),
            },
            attestation: "none".to_owned(),
        })
    }

    /// Keeps a key that was made, which is asked for from now on. Gives recovery codes with it
    /// where the user had none.
    pub fn confirm_key(&self, name: &str, called: &str, credential: &Attestation) -> Result<KeyMade, Denied> {
        check_text(called, LONGEST_NAME)?;
        let (now, codes) = (self.outside.now(), self.recovery_codes());
        let user = self.store.read(|db| users::find(db, name))?.ok_or(Denied::NotFound)?.id;
        let said = proof::said(&credential.response.client_data, Deed::Create).map_err(Denied::BadKey)?;
        let site = self.challenges.take(&said.challenge, Purpose { user, deed: Deed::Create }, now);
        let site = site.ok_or(Denied::BadKey(KeyFault::NoChallenge))?;
        let made = proof::made(&said, credential, &site).map_err(Denied::BadKey)?;
        self.store.change_accounts(|db| {
            // It may be gone by now.
            users::find(db, name)?.filter(|still| still.id == user).ok_or(Denied::NotFound)?;
            check_room(db, user)?;
            let key = insert(db, user, called, &site, &made, now)?;
            let is_first = !recovery::has(db, user)?;
            if is_first {
                recovery::set(db, user, &codes)?;
            }
            let codes = if is_first { codes.into_iter().map(Secret).collect() } else { Vec::new() };
            Ok(KeyMade { key, codes })
        })
    }

    /// Removes a key of a user.
    pub fn remove_key(&self, name: &str, key: u64) -> Result<(), Denied> {
        let Ok(key) = i64::try_from(key) else { return Err(Denied::NotFound) };
        self.store.change_accounts(|db| {
            let user = users::find(db, name)?.ok_or(Denied::NotFound)?.id;
            let sql = "DELETE FROM security_keys WHERE user = ?1 AND id = ?2";
            match db.execute(sql, [user, key])? {
                0 => Err(Denied::NotFound),
                _ => recovery::drop_useless(db, user),
            }
        })
    }

    /// What a browser is to show a key for. `None`: the user has none that counts there.
    pub(crate) fn question(
        &self,
        user: i64,
        site: Option<&RelyingParty>,
        address: IpAddr,
    ) -> Result<Option<RequestOptions>, Denied> {
        let Some(site) = site else { return Ok(None) };
        let allow_credentials = self.store.read(|db| names(db, user, site))?;
        if allow_credentials.is_empty() {
            return Ok(None);
        }
        let purpose = Purpose { user, deed: Deed::Get };
        Ok(Some(RequestOptions {
            challenge: self.challenges.draw(purpose, Place::of(address), site, &*self.outside),
            timeout: TIMEOUT,
            rp_id: site.id.clone(),
            allow_credentials,
            user_verification: PREFERRED.to_owned(),
        }))
    }

    /// Takes the challenge that an assertion answers, whatever comes of it.
    pub(crate) fn answer<'a>(&self, user: i64, assertion: &'a Assertion) -> Result<Answer<'a>, Denied> {
        // What is wrong with it is not told: who asks is not let in yet.
        let said = proof::said(&assertion.response.client_data, Deed::Get).map_err(|_| Denied::Wrong)?;
        let purpose = Purpose { user, deed: Deed::Get };
        let site = self.challenges.take(&said.challenge, purpose, self.outside.now());
        Ok(Answer { assertion, said, site: site.ok_or(Denied::Wrong)? })
    }

    /// Notes that there is perhaps a copy of a key.
    pub(crate) fn note_copy(&self, name: &str, address: IpAddr, key: u64, (kept, shown): (u32, u32)) {
        let target = format!("key {key}: its counter went back from {kept} to {shown}");
        let entry = AuditEntry {
            // No flood of refusals is to push it out; it takes a key that is the account's.
            weight: Weight::Administrator,
            time: self.outside.now(),
            who: name,
            by: By::Nobody,
            address: Some(&address.to_string()),
            verb: COPIED,
            path: &routes::at(routes::USER_KEYS, name),
            target: Some(&target),
            status: UNAUTHORIZED,
        };
        tracing::warn!(user = name, key, kept, shown, "the counter of a security key went back");
        if let Err(fault) = self.note(&[entry]) {
            tracing::error!(%fault, "that is not in the audit log");
        }
    }
}

/// Takes an answer of a key, in the transaction that lets the user in.
pub(crate) fn take(db: &Connection, user: i64, answer: &Answer<'_>, now: i64) -> Result<bool, Denied> {
    let Answer { assertion, said, site } = answer;
    let Ok(credential) = proof::credential(&assertion.id) else { return Ok(false) };
    let Some(Kept { id, public, counter: kept }) = kept(db, user, &credential, site)? else {
        return Ok(false);
    };
    if assertion.response.user_handle.as_ref().is_some_and(|given| *given != handle(user)) {
        return Ok(false);
    }
    let Ok(shown) = proof::used(said, assertion, site, &public) else { return Ok(false) };
    if shown <= kept && (shown, kept) != (0, 0) {
        return Err(Denied::CounterWentBack { key: id.cast_unsigned(), kept, shown });
    }
    let sql = "UPDATE security_keys SET counter = ?2, last_used = ?3 WHERE id = ?1";
    db.execute(sql, params![id, shown, now])?;
    Ok(true)
}

/// What authenticators know an account by: it says nothing, and stays.
fn handle(user: i64) -> String {
    secret::base64_url(&secret::hash(&format!("cistern account {user}")))
}

fn check_room(db: &Connection, user: i64) -> Result<(), Denied> {
    let sql = "SELECT count(*) FROM security_keys WHERE user = ?1";
    let count: i64 = db.query_row(sql, [user], |row| row.get(0))?;
    match count < MOST_OF_USER {
        true => Ok(()),
        false => Err(Denied::TooMany(Limit::Keys)),
    }
}

/// The keys of a user that count at a site, as authenticators name them.
fn names(db: &Connection, user: i64, site: &RelyingParty) -> Result<Vec<KeyName>, Denied> {
    let sql = "SELECT credential FROM security_keys WHERE user = ?1 AND host = ?2 ORDER BY id";
    let mut found = db.prepare(sql)?;
    let names = found.query_map(params![user, site.id], |row| row.get::<_, Vec<u8>>(0))?;
    let name = |bytes: Vec<u8>| KeyName { id: secret::base64_url(&bytes), kind: KIND.to_owned() };
    Ok(names.map(|bytes| bytes.map(name)).collect::<Result<_, _>>()?)
}

fn insert(
    db: &Connection,
    user: i64,
    called: &str,
    site: &RelyingParty,
    made: &Made,
    now: i64,
) -> Result<SecurityKey, Denied> {
    let sql = "SELECT EXISTS (SELECT 1 FROM security_keys WHERE user = ?1 AND name = ?2 OR credential = ?3)";
    if db.query_row(sql, params![user, called, made.credential], |row| row.get(0))? {
        return Err(Denied::Exists);
    }
    db.execute(
        "INSERT INTO security_keys (user, name, host, credential, algorithm, public, counter, created)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            user,
            called,
            site.id,
            made.credential,
            made.public.algorithm.number(),
            made.public.bytes,
            made.counter,
            now
        ],
    )?;
    let id = db.last_insert_rowid();
    Ok(db.query_row(&format!("{KEY} WHERE id = ?1"), [id], info)?)
}

const KEY: &str = "SELECT id, name, host, created, last_used FROM security_keys";

fn info(row: &Row<'_>) -> rusqlite::Result<SecurityKey> {
    Ok(SecurityKey {
        id: number(row, 0)?,
        name: row.get(1)?,
        host: row.get(2)?,
        created: row.get(3)?,
        last_used: row.get(4)?,
    })
}

/// A key as it is kept.
struct Kept {
    id: i64,
    public: PublicKey,
    counter: u32,
}

fn kept(db: &Connection, user: i64, credential: &[u8], site: &RelyingParty) -> Result<Option<Kept>, Denied> {
    let sql = "SELECT id, algorithm, public, counter FROM security_keys
        WHERE user = ?1 AND credential = ?2 AND host = ?3";
    let row = db.query_row(sql, params![user, credential, site.id], |row| {
        let number: i64 = row.get(1)?;
        let algorithm = Algorithm::of(number).ok_or(rusqlite::Error::IntegralValueOutOfRange(1, number))?;
        let public = PublicKey { algorithm, bytes: row.get(2)? };
        Ok(Kept { id: row.get(0)?, public, counter: row.get(3)? })
    });
    Ok(row.optional().map_err(Fault::from)?)
}
