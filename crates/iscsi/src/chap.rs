//! CHAP (RFC 1994, RFC 7143 12.1): the initiator proves that it knows a secret, and may ask the
//! target for the same.

use crate::binary::{LONGEST, bytes, hex};
use crate::keys::{Keys, offers};
use crate::md5::md5;
use crate::share::Credentials;

/// The algorithm's number.
const MD5: &str = "5";
const CHALLENGE: usize = 16;

/// How far the exchange is.
#[derive(Debug)]
pub enum Chap {
    /// CHAP was agreed on.
    Begun,
    Challenged {
        id: u8,
        challenge: [u8; CHALLENGE],
    },
}

/// What one round comes to.
pub enum Round {
    /// To be sent; it goes on.
    More(Keys, Chap),
    /// To be sent; this user has proved to be that.
    Done(Keys, String),
    Failed,
}

impl Chap {
    /// `random` gives entropy. `known`: who may be who.
    pub fn round(self, keys: &Keys, random: &dyn Fn() -> u64, known: &[Credentials]) -> Round {
        match self {
            Chap::Begun => {
                if !keys.get("CHAP_A").is_some_and(|list| offers(list, MD5)) {
                    return Round::Failed;
                }
                let mut challenge = [0; CHALLENGE];
                challenge[..8].copy_from_slice(&random().to_le_bytes());
                challenge[8..].copy_from_slice(&random().to_le_bytes());
                let id = random() as u8;
                let mut reply = Keys::default();
                reply.add("CHAP_A", MD5);
                reply.add("CHAP_I", id.to_string());
                reply.add("CHAP_C", hex(&challenge));
                Round::More(reply, Chap::Challenged { id, challenge })
            }
            Chap::Challenged { id, challenge } => {
                finish(id, &challenge, keys, known).unwrap_or(Round::Failed)
            }
        }
    }
}

fn finish(id: u8, challenge: &[u8], keys: &Keys, known: &[Credentials]) -> Option<Round> {
    let (user, answer) = (keys.get("CHAP_N")?, bytes(keys.get("CHAP_R")?)?);
    let found = known.iter().find(|one| one.user == user);
    let found = found.filter(|one| same(&response(id, &one.secret, challenge), &answer))?;
    let mut reply = Keys::default();
    let (their_id, their_challenge) = (keys.get("CHAP_I"), keys.get("CHAP_C"));
    if their_id.is_some() != their_challenge.is_some() {
        return None;
    }
    if let Some((their_id, their_challenge)) = their_id.zip(their_challenge) {
        let their_challenge = bytes(their_challenge)?;
        // Who sends our own challenge back wants us to answer it for them. An answer to an empty
        // one is a sum over the secret alone, good for guessing it at leisure.
        if their_challenge == challenge || their_challenge.is_empty() || their_challenge.len() > LONGEST {
            return None;
        }
        let (name, secret) = found.mutual.as_ref()?;
        let answer = response(their_id.parse().ok()?, secret, &their_challenge);
        reply.add("CHAP_N", name.clone());
        reply.add("CHAP_R", hex(&answer));
    }
    Some(Round::Done(reply, user.to_owned()))
}

pub fn response(id: u8, secret: &str, challenge: &[u8]) -> [u8; 16] {
    let mut message = vec![id];
    message.extend(secret.as_bytes());
    message.extend(challenge);
    md5(&message)
}

/// In the same time, wherever they differ.
fn same(ours: &[u8], theirs: &[u8]) -> bool {
    let differs = ours.iter().zip(theirs).fold(0, |differs, (our, their)| differs | (our ^ their));
    ours.len() == theirs.len() && differs == 0
}
