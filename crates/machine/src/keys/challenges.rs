//! Challenges that wait for a key's answer, in memory.
//!
//! Invariants: a challenge is taken once, by the account that it was drawn for and for what it was
//! drawn for, and within five minutes. Of an account and place four wait, of an account 16, of all
//! 1,024; the oldest goes. So nobody who knows only a password ends those of its owner elsewhere,
//! unless he comes from many places.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::keys::proof::{Deed, RelyingParty};
use crate::places::Place;
use crate::{Outside, secret};

/// Seconds.
pub(crate) const LIFE: u32 = 5 * 60;
const MOST: usize = 1_024;
const MOST_OF_USER: usize = 16;
const MOST_OF_PLACE: usize = 4;
const BYTES: usize = 32;

/// Whose a challenge is, and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    pub(crate) user: i64,
    pub(crate) deed: Deed,
}

#[derive(Debug)]
struct Waiting {
    purpose: Purpose,
    place: Place,
    site: RelyingParty,
    bytes: [u8; BYTES],
    begun: i64,
}

impl Waiting {
    fn is_good(&self, now: i64) -> bool {
        // One that would begin later is of a clock that was set back.
        (0..i64::from(LIFE)).contains(&now.saturating_sub(self.begun))
    }
}

/// Those that wait, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Challenges(Mutex<VecDeque<Waiting>>);

impl Challenges {
    /// Draws one. Gives it as it is sent.
    pub(crate) fn draw(
        &self,
        purpose: Purpose,
        place: Place,
        site: &RelyingParty,
        outside: &dyn Outside,
    ) -> String {
        let (now, mut bytes) = (outside.now(), [0; BYTES]);
        outside.fill(&mut bytes);
        let mut waiting = self.lock();
        waiting.retain(|one| one.is_good(now));
        let user = purpose.user;
        make_room(&mut waiting, MOST_OF_PLACE, |one| one.purpose.user == user && one.place == place);
        make_room(&mut waiting, MOST_OF_USER, |one| one.purpose.user == user);
        make_room(&mut waiting, MOST, |_| true);
        waiting.push_back(Waiting { purpose, place, site: site.clone(), bytes, begun: now });
        secret::base64_url(&bytes)
    }

    /// Takes one. Gives the site that it was drawn at; `None`: there is none.
    pub(crate) fn take(&self, challenge: &[u8], purpose: Purpose, now: i64) -> Option<RelyingParty> {
        let mut waiting = self.lock();
        let is_it = |one: &Waiting| one.bytes[..] == *challenge && one.purpose == purpose;
        let at = waiting.iter().position(is_it)?;
        waiting.remove(at).filter(|one| one.is_good(now)).map(|one| one.site)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the oldest of some, so that one more has room.
fn make_room(waiting: &mut VecDeque<Waiting>, most: usize, is_one: impl Fn(&Waiting) -> bool) {
    if waiting.iter().filter(|one| is_one(one)).count() >= most
        && let Some(oldest) = waiting.iter().position(is_one)
    {
        waiting.remove(oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    #[derive(Default)]
    struct Counting {
        now: AtomicI64,
        next: AtomicU64,
    }

    impl Outside for Counting {
        fn now(&self) -> i64 {
            self.now.load(Ordering::Relaxed)
        }

        fn fill(&self, bytes: &mut [u8]) {
            bytes[..8].copy_from_slice(&self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        }
    }

    fn site() -> RelyingParty {
        RelyingParty { id: "shelf".into(), origin: "https://shelf".into() }
    }

    fn place(number: u32) -> Place {
        Place::of(IpAddr::from(number.to_be_bytes()))
    }

    fn bytes(text: &str) -> Vec<u8> {
        secret::from_base64_url(text, BYTES).expect("it is one")
    }

    #[test]
    fn a_challenge_is_taken_once_for_what_it_is_and_in_time() {
        let (outside, challenges) = (Counting::default(), Challenges::default());
        let purpose = Purpose { user: 1, deed: Deed::Get };
        let drawn = || bytes(&challenges.draw(purpose, place(1), &site(), &outside));
        let first = drawn();
        for other in [Purpose { user: 2, ..purpose }, Purpose { deed: Deed::Create, ..purpose }] {
            assert_eq!(challenges.take(&first, other, 0), None, "{other:?}");
        }
        assert_eq!(challenges.take(&first[1..], purpose, 0), None);
        assert_eq!(challenges.take(&first, purpose, 299), Some(site()));
        assert_eq!(challenges.take(&first, purpose, 299), None, "used");
        let (late, early) = (drawn(), drawn());
        assert_eq!(challenges.take(&late, purpose, 300), None);
        assert_eq!(challenges.take(&late, purpose, 0), None, "it is gone");
        assert_eq!(challenges.take(&early, purpose, -1), None, "the clock was set back");
    }

    #[test]
    fn the_oldest_goes_of_a_place_an_account_and_all() {
        let (outside, challenges) = (Counting::default(), Challenges::default());
        let draw = |user, from| {
            let purpose = Purpose { user, deed: Deed::Get };
            (bytes(&challenges.draw(purpose, place(from), &site(), &outside)), purpose)
        };
        let is_there = |(one, purpose): &(Vec<u8>, Purpose)| challenges.take(one, *purpose, 0).is_some();
        let owner = draw(1, 1);
        let flood: Vec<_> = (0..100).map(|_| draw(1, 2)).collect();
        assert_eq!(flood.iter().filter(|one| is_there(one)).count(), MOST_OF_PLACE);
        assert!(is_there(&owner), "another place does not end it");
        let crowd: Vec<_> = (0..100).map(|from| draw(1, from)).collect();
        assert!(!is_there(&crowd[0]));
        assert_eq!(crowd.iter().filter(|one| is_there(one)).count(), MOST_OF_USER);
        for user in 0..2_000 {
            draw(user, 1);
        }
        assert_eq!(challenges.lock().len(), MOST);
        outside.now.store(i64::from(LIFE), Ordering::Relaxed);
        draw(1, 1);
        assert_eq!(challenges.lock().len(), 1, "those that ended are gone");
    }
}
