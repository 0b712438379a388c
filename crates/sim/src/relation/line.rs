//! The line between two appliances. What a service asks of the other one goes through what the
//! other one lets in ([`appliance::replication::Guest`]); a stream is cut anywhere, changed, or
//! held up; answers are lost, or lies.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api_types::{ClaimFault, FailureClass, PeerFault, PeerGrant, PeerRead, PropertyChange, ReplicaPromote};
use appliance::replication::{
    Claim, Fault, Fill, Found, Guest, Incoming, Live, Peer, Snapshot, Source, stamp,
};
use appliance::{Appliance, Failure, NotReplicated, NotServed, Services};
use engine_api::{Adopted, Pool};
use env::{Nanos, lock};
use stdx::prng::Prng;

use super::contents::{Known, Snap, datasets};
use super::{NAMES, ROOTS, Tally};
use crate::disk::SimDisks;
use crate::time::Time;

/// An appliance that is on.
#[derive(Clone)]
pub struct Place {
    pub appliance: Arc<Appliance>,
    pub services: Arc<Services>,
    pub disks: SimDisks,
    pub time: Time,
}

impl Place {
    pub fn pool(&self, me: usize) -> Result<Arc<dyn Pool>, String> {
        self.appliance.pool_of(ROOTS[me]).map_err(|error| format!("the pool: {error:?}"))
    }
}

/// How often something happens on the line, of 100 times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    pub is_down: bool,
    /// A stream is cut.
    pub cut: u64,
    /// Bits of it are changed.
    pub flip: u64,
    /// Nothing comes any more.
    pub hang: u64,
    /// The answer to what was done is lost.
    pub lost: u64,
    /// It says of replicas what is not so.
    pub lie: u64,
}

/// See the module.
pub struct Net {
    places: [Mutex<Option<Place>>; 2],
    state: Mutex<State>,
}

struct State {
    weather: Weather,
    prng: Prng,
    known: Known,
    tally: Tally,
    has_lied: bool,
    /// What the second place may read of the first.
    reads: Vec<PeerRead>,
    /// What is wrong with an appliance, seen while a session ran.
    wrong: Option<String>,
}

/// What becomes of a stream on its way.
pub enum Fate {
    Arrives,
    /// So many bytes arrive; whether the receiver is told that it was cut, or sees an end.
    Cut(usize, bool),
    Hangs(usize),
    Flipped,
}

impl Net {
    pub fn new(prng: Prng) -> Arc<Net> {
        let state = State {
            weather: Weather::default(),
            prng,
            known: Known::default(),
            tally: Tally::default(),
            has_lied: false,
            reads: Vec::new(),
            wrong: None,
        };
        Arc::new(Net { places: Default::default(), state: Mutex::new(state) })
    }

    pub fn set(&self, me: usize, place: Option<Place>) {
        // What it held goes when nothing is locked.
        let before = std::mem::replace(&mut *lock(&self.places[me]), place);
        drop(before);
    }

    /// A place, if it is on.
    pub fn place(&self, me: usize) -> Option<Place> {
        lock(&self.places[me]).clone().filter(|place| place.disks.is_on())
    }

    /// Has the second place pull from the first.
    pub fn let_read(&self, read: PeerRead) {
        lock(&self.state).reads = vec![read];
    }

    /// Who may read something of a place.
    pub fn readers(&self, me: usize) -> Vec<(String, Vec<PeerRead>)> {
        let reads = lock(&self.state).reads.clone();
        if me == 0 && !reads.is_empty() { vec![(NAMES[1].to_owned(), reads)] } else { Vec::new() }
    }

    pub fn set_weather(&self, weather: Weather) {
        lock(&self.state).weather = weather;
    }

    pub fn weather(&self) -> Weather {
        lock(&self.state).weather
    }

    pub fn has_lied(&self) -> bool {
        lock(&self.state).has_lied
    }

    pub fn tally(&self) -> Tally {
        lock(&self.state).tally
    }

    pub fn count(&self, count: impl FnOnce(&mut Tally)) {
        count(&mut lock(&self.state).tally);
    }

    /// With what is known of snapshots.
    pub fn with_known<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = std::mem::take(&mut lock(&self.state).known);
        let found = look(&mut known);
        lock(&self.state).known = known;
        found
    }

    pub fn wrong(&self) -> Option<String> {
        lock(&self.state).wrong.take()
    }

    fn draws(&self, of_100: impl FnOnce(&Weather) -> u64) -> bool {
        let mut state = lock(&self.state);
        let chance = of_100(&state.weather);
        state.prng.chance(chance, 100)
    }

    /// Asks the other place something. Its answer is lost with its power, or on the way.
    fn ask<T>(&self, me: usize, ask: impl FnOnce(&Place) -> Result<T, Fault>) -> Result<T, Fault> {
        let is_up = !self.weather().is_down && self.place(me).is_some();
        let Some(there) = self.place(1 - me).filter(|_| is_up) else { return Err(unreachable(me)) };
        let answer = ask(&there);
        match there.disks.is_on() && !self.draws(|weather| weather.lost) {
            true => answer,
            false => Err(unreachable(me)),
        }
    }

    fn as_guest<T>(&self, me: usize, ask: impl FnOnce(&Guest<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
        let grants = [PeerGrant { dataset: ROOTS[1 - me].to_owned(), append_only: false, keep: None }];
        self.ask(me, |there| {
            ask(&Guest { engine: &*there.appliance.engine, name: NAMES[me], grants: &grants, reads: &[] })
        })
    }

    /// Asks as whoever pulls.
    pub fn as_reader<T>(
        &self,
        me: usize,
        ask: impl FnOnce(&Guest<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let reads = lock(&self.state).reads.clone();
        self.ask(me, |there| {
            ask(&Guest { engine: &*there.appliance.engine, name: NAMES[me], grants: &[], reads: &reads })
        })
    }

    pub fn original(&self, me: usize, service: &str, guid: u64) -> Result<bool, Fault> {
        self.interrupt(me);
        self.ask(me, |there| {
            let answer = there.appliance.is_original(&there.services, (NAMES[me], &[]), service, guid);
            answer.map_err(|why| (FailureClass::Retriable, why))
        })
    }

    /// Somebody else is to fail over there while somebody does.
    fn interrupt(&self, me: usize) {
        let Some(here) = self.place(me) else { return };
        let asked = ReplicaPromote { dataset: ROOTS[me].to_owned(), force: true };
        let done = here.appliance.promote(Some(&here.services), &asked);
        if !matches!(done, Err(Failure::Replica(NotReplicated::UnderWay))) {
            let why = format!("{} promotes twice at the same time: {done:?}", NAMES[me]);
            lock(&self.state).wrong.get_or_insert(why);
        }
    }

    pub fn remote(net: &Arc<Net>, me: usize, service: &str, sources: BTreeMap<String, u64>) -> Remote {
        Remote { net: net.clone(), me, service: service.to_owned(), sources }
    }

    /// Notes what a source has, before anything of it gets elsewhere.
    pub fn learn(&self, me: usize) {
        let Some(here) = self.place(me) else { return };
        let learn = || -> Result<(), String> {
            let pool = here.pool(me)?;
            let found = datasets(&*pool, ROOTS[me])?;
            self.with_known(|known| known.learn(&*pool, &found))
        };
        let learnt = learn();
        if let Err(why) = learnt
            && here.disks.is_on()
        {
            lock(&self.state).wrong.get_or_insert(why);
        }
    }

    /// Time passes at both places.
    pub fn pass(&self, time: Nanos) {
        for place in (0..2).filter_map(|me| self.place(me)) {
            place.time.advance(time);
        }
    }

    /// Has a source tell now and then what is not so.
    pub fn lie_of_source(&self, source: &mut Source) {
        if !self.draws(|weather| weather.lie) {
            return;
        }
        let mut state = lock(&self.state);
        (state.has_lied, state.tally.lies) = (true, state.tally.lies + 1);
        match state.prng.below(4) {
            0 => drop(source.snapshots.pop()),
            1 => source.snapshots.iter_mut().for_each(|it| it.guid ^= 1 << 40),
            2 => source.snapshots.iter_mut().for_each(|it| it.held ^= true),
            _ => source.written = 0,
        }
    }

    pub fn fate(&self, len: usize) -> Fate {
        let mut state = lock(&self.state);
        let State { weather, prng, .. } = &mut *state;
        // At the ends of a stream other things are at stake than in its middle.
        let at = |prng: &mut Prng| match prng.below(4) {
            0 => prng.below(1_000.min(len as u64 + 1)) as usize,
            1 => len.saturating_sub(prng.below(1_000) as usize + 1),
            _ => prng.below(len as u64 + 1) as usize,
        };
        if prng.chance(weather.cut, 100) {
            Fate::Cut(at(prng), prng.chance(1, 2))
        } else if prng.chance(weather.hang, 100) {
            Fate::Hangs(at(prng))
        } else if prng.chance(weather.flip, 100) && len > 0 {
            Fate::Flipped
        } else {
            Fate::Arrives
        }
    }

    /// Counts it.
    pub fn note(&self, fate: &Fate) {
        self.count(|tally| match fate {
            Fate::Arrives => tally.streams += 1,
            Fate::Cut(..) => tally.cut += 1,
            Fate::Hangs(_) => tally.hung += 1,
            Fate::Flipped => tally.flipped += 1,
        });
    }

    pub fn flip(&self, stream: &mut [u8]) {
        let prng = &mut lock(&self.state).prng;
        for _ in 0..=prng.below(2) {
            let at = prng.below(stream.len() as u64) as usize;
            stream[at] ^= 1 << prng.below(8);
        }
    }
}

/// The line to the other place is down.
pub fn unreachable(me: usize) -> Fault {
    let why = PeerFault::Unreachable { why: "the line is down".to_owned() };
    (FailureClass::Retriable, NotServed::Peer { peer: NAMES[1 - me].to_owned(), why }.into())
}

/// Nothing has come for that long.
pub fn stuck(time: Duration) -> NotServed {
    NotServed::Stuck { seconds: time.as_secs() }
}

/// The replicas of a service at the other place.
pub struct Remote {
    net: Arc<Net>,
    me: usize,
    service: String,
    /// A replica → the guid of its source.
    sources: BTreeMap<String, u64>,
}

impl Remote {
    fn claim(&self, dataset: &str) -> Claim {
        let source = self.sources.get(dataset).copied().unwrap_or_default();
        Claim { service: self.service.clone(), source, dataset: dataset.to_owned() }
    }

    /// It has what it has not, or not what it has.
    fn lie(&self, found: &mut Found) {
        let source = self.net.place(self.me).and_then(|here| here.pool(self.me).ok());
        let mut state = lock(&self.net.state);
        (state.has_lied, state.tally.lies) = (true, state.tally.lies + 1);
        let prng = &mut state.prng;
        match prng.below(5) {
            0 => drop(found.snapshots.pop()),
            1 => found.snapshots.iter_mut().for_each(|it| it.guid ^= 1 << 40),
            2 => found.token = Some(format!("1-{:x}-{:x}-{:x}", prng.below(1 << 60), 9, prng.below(1 << 60))),
            3 => found.token = None,
            _ => {
                drop(state);
                let claimed = source.map_or_else(Vec::new, |source| newest(&*source, ROOTS[self.me]));
                found.snapshots.extend(claimed);
            }
        }
    }
}

/// The newest snapshots of a source, as somebody may claim to have them.
fn newest(source: &dyn Pool, root: &str) -> Vec<Snapshot> {
    let found = datasets(source, root).unwrap_or_default();
    let newest = found.into_iter().filter_map(|mut of| of.snapshots.pop());
    let claim = |Snap { name, guid, .. }: Snap| Snapshot {
        name,
        guid,
        createtxg: u64::MAX / 2,
        stamp: None,
        held: false,
        needed: false,
    };
    newest.map(claim).collect()
}

/// What of a stream arrives, and then an end or an error.
struct Arriving<'a> {
    bytes: &'a [u8],
    then: Option<io::ErrorKind>,
}

impl Read for Arriving<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match (self.bytes.is_empty(), self.then) {
            (true, Some(kind)) => Err(kind.into()),
            _ => self.bytes.read(into),
        }
    }
}

impl Peer for Remote {
    fn look(&self, dataset: &str) -> Result<Option<Found>, Fault> {
        let mut found = self.net.as_guest(self.me, |guest| guest.look(&self.claim(dataset)))?;
        if let Some(found) = &mut found
            && self.net.draws(|weather| weather.lie)
        {
            self.lie(found);
        }
        Ok(found)
    }

    fn receive(&self, incoming: &Incoming<'_>, fill: Fill<'_>) -> Result<(), Fault> {
        let mut stream = Vec::new();
        let sent = fill(&mut stream);
        self.net.learn(self.me);
        let at = incoming.stamp.as_deref().and_then(|value| stamp::parse(value, &self.service));
        let props: Vec<PropertyChange> = incoming.props.clone();
        let fate = match &sent {
            Ok(()) => self.net.fate(stream.len()),
            // What was sent before it broke off.
            Err(_) => Fate::Cut(stream.len(), true),
        };
        let (len, then) = match &fate {
            Fate::Arrives | Fate::Flipped => (stream.len(), None),
            Fate::Cut(len, is_told) => (*len, is_told.then_some(io::ErrorKind::ConnectionReset)),
            Fate::Hangs(len) => (*len, Some(io::ErrorKind::TimedOut)),
        };
        if matches!(fate, Fate::Flipped) {
            self.net.flip(&mut stream);
        }
        self.net.note(&fate);
        let mut arriving = Arriving { bytes: &stream[..len.min(stream.len())], then };
        let mut now = 0;
        let taken = self.net.ask(self.me, |there| {
            now = there.time.wall().secs;
            let grants =
                [PeerGrant { dataset: ROOTS[1 - self.me].to_owned(), append_only: false, keep: None }];
            let guest =
                Guest { engine: &*there.appliance.engine, name: NAMES[self.me], grants: &grants, reads: &[] };
            guest.receive(&self.claim(incoming.dataset), (props, at), (&mut arriving, &mut |_| {}), now)
        });
        sent?;
        match fate {
            Fate::Arrives | Fate::Flipped => taken,
            Fate::Cut(..) => Err(unreachable(self.me)),
            Fate::Hangs(_) => {
                self.net.pass(Nanos::from_secs(incoming.stuck.as_secs()));
                Err((FailureClass::Retriable, stuck(incoming.stuck).into()))
            }
        }
    }

    /// A snapshot has its stamp as it becomes visible there, or never.
    fn stamp(&self, snapshot: &str, _: &str) -> Result<(), Fault> {
        let why = ClaimFault::NotOfRelation { name: snapshot.to_owned() };
        Err((FailureClass::NeedsPerson, NotServed::Claim(why).into()))
    }

    fn abort(&self, dataset: &str) -> Result<(), Fault> {
        self.net.as_guest(self.me, |guest| guest.abort(&self.claim(dataset)))
    }

    fn destroy(&self, snapshot: &str, guid: u64) -> Result<(), Fault> {
        let (dataset, short) = snapshot.split_once('@').unwrap_or((snapshot, ""));
        self.net.as_guest(self.me, |guest| guest.destroy(&self.claim(dataset), short, guid))
    }

    fn adopt(&self, dataset: &str, adopted: &Adopted) -> Result<(), Fault> {
        self.net.as_guest(self.me, |guest| guest.adopt(&self.claim(dataset), adopted.identity.clone()))
    }

    fn promoted(&self, dataset: &str) -> Result<Option<Live>, Fault> {
        self.net.as_guest(self.me, |guest| guest.promoted(&self.claim(dataset)))
    }
}
