//! A relation's story, step by step, and what is asked for after each.

use std::collections::BTreeMap;

use api_types::{
    AutoSyncPolicy, FailureClass, PeerRead, ReplicaPromote, Schedule, ServiceCommand, ServiceCreate,
    ServiceReverse, ServiceSpec, SnapTarget, SyncAbsence, SyncKeep, SyncOrigin, SyncTarget, When,
};
use engine_api::{Change, Error, Pool, Stable};
use env::Nanos;
use services::autosync::stamp;
use stdx::prng::Prng;

use super::contents::{Dataset, datasets};
use super::line::{Net, Weather};
use super::site::Site;
use super::{BELOW, NAMES, Options, ROOTS, SERVICE, Story, Tally};
use crate::copies::contents::Content;
use crate::copies::source::{bytes, change_files, is_damage};
use crate::machine::properties;
use crate::workload::{Done, failed};

const VOLUME: u64 = 256 << 10;
const HOUR: u64 = 3_600;
/// How often services look, at the most, until there is nothing to do.
const LOOKS: usize = 20;
/// How often who is pulled from looks at what it keeps for others, in seconds.
const READERS: u64 = 6 * HOUR;

/// Writes that no story makes.
const NEVER: u64 = 1 << 40;

struct Run {
    options: Options,
    net: std::sync::Arc<Net>,
    sites: [Site; 2],
    prng: Prng,
    keep: SyncKeep,
    absence: SyncAbsence,
    /// The service makes snapshots of its source.
    makes: bool,
    /// Both are in use since somebody promoted by force, or could not ask; each below the root.
    excused: [bool; 2],
    had_base: [bool; 2],
    is_full: [bool; 2],
    number: u64,
}

/// Runs a seed. `Err` says what is wrong.
pub fn run(options: &Options) -> Result<Tally, String> {
    let mut run = Run::begin(options.clone())?;
    for step in 0..options.steps {
        run.step().and_then(|()| run.settle()).map_err(|why| format!("step {step}: {why}"))?;
    }
    run.finish().map_err(|why| format!("in the end: {why}"))?;
    Ok(run.net.tally())
}

impl Run {
    fn begin(options: Options) -> Result<Run, String> {
        let mut prng = Prng::new(options.seed);
        let net = Net::new(prng.fork());
        let sites = [Site::new(&net, 0, &mut prng)?, Site::new(&net, 1, &mut prng)?];
        let keep = SyncKeep {
            count: prng.range(1, 4) as u32,
            age: prng.chance(1, 4).then(|| prng.range(HOUR, 9 * HOUR)),
        };
        let absence =
            SyncAbsence { seconds: prng.chance(2, 3).then(|| prng.range(HOUR, 12 * HOUR)), bytes: None };
        let makes = options.story != Story::Pulls || prng.chance(3, 4);
        if options.story == Story::Pulls {
            net.let_read(PeerRead { dataset: ROOTS[0].to_owned(), snapshots: makes, absence });
        }
        let mut run = Run {
            options,
            net,
            sites,
            prng,
            keep,
            absence,
            makes,
            excused: [false; 2],
            had_base: [false; 2],
            is_full: [false; 2],
            number: 0,
        };
        let pool = run.sites[0].pool()?;
        let root = Change::CreateFilesystem { name: ROOTS[0].to_owned(), parents: false, props: Vec::new() };
        let volume = Change::CreateVolume {
            name: format!("{}{}", ROOTS[0], BELOW[1]),
            parents: false,
            sparse: true,
            props: properties(&[("volsize", &VOLUME.to_string()), ("volblocksize", "8K")]),
        };
        for change in [root, volume] {
            pool.commit(&change, "").map_err(failed("the source"))?;
        }
        run.write(0)?;
        run.serve(run.keeper(0))?;
        Ok(run)
    }

    /// Where the service is that has something to do with a source at a place; and which place's
    /// source a service at one has to do with.
    fn keeper(&self, me: usize) -> usize {
        if self.options.story == Story::Pulls { 1 - me } else { me }
    }

    /// What the service is called at its source.
    fn owner(&self) -> String {
        match self.options.story {
            Story::Pulls => format!("pull/{}/{SERVICE}", NAMES[1]),
            Story::Streams | Story::Failover => SERVICE.to_owned(),
        }
    }

    fn say(&self, line: impl FnOnce() -> String) {
        if self.options.verbose {
            eprintln!("  {:>12}  {}", self.sites[0].world.time.now().0 / 1_000_000_000, line());
        }
    }

    fn policy(&self, me: usize) -> ServiceSpec {
        let source = self.keeper(me);
        let (peer, dataset) = (NAMES[1 - me].to_owned(), ROOTS[1 - source].to_owned());
        let (origin, target) = match self.options.story {
            Story::Pulls => (SyncOrigin::Peer { peer }, SyncTarget::Pool { dataset }),
            Story::Streams | Story::Failover => (SyncOrigin::Here, SyncTarget::Peer { peer, dataset }),
        };
        ServiceSpec::AutoSync(AutoSyncPolicy {
            source: SnapTarget {
                dataset: ROOTS[source].to_owned(),
                recursive: true,
                ..SnapTarget::default()
            },
            origin,
            target,
            schedule: Schedule { when: When::Minute { step: 1, offset: 0 }, zone: None },
            keep: self.keep,
            absence: self.absence,
            limits: Vec::new(),
            lag: None,
            stuck_after: 60,
        })
    }

    fn step(&mut self) -> Done {
        let me = self.prng.below(2) as usize;
        let is_failover = self.options.story == Story::Failover;
        // A power failure that comes later, somewhere in what is done then.
        if self.prng.chance(1, 5) {
            let after = self.prng.below(1 << self.prng.clone().range(1, 9));
            self.say(|| format!("the power of {} goes after {after} writes", NAMES[me]));
            self.sites[me].world.disks.cut_after(after);
        }
        match self.prng.below(if is_failover { 34 } else { 24 }) {
            0..=4 => self.write(me),
            5..=7 => self.pass(),
            8..=15 => self.turn(me),
            16 | 17 => self.change_weather(),
            18 => self.change_room(me),
            19 => self.kill(me),
            20 | 21 => self.snapshot(me),
            22 => self.thin(me),
            23 => self.clear(me),
            24..=26 => self.take_over(me, false),
            27 => self.take_over(me, true),
            28..=30 => {
                let discard = self.prng.chance(1, 2);
                self.reverse(me, discard).map(drop)
            }
            31 | 32 => self.serve(me),
            _ => self.set_readonly(me),
        }
    }

    fn pool(&self, me: usize) -> Option<std::sync::Arc<dyn Pool>> {
        self.sites[me].pool().ok().filter(|_| self.sites[me].is_on())
    }

    /// What a place has; nothing while it is off, or goes off.
    fn look(&self, me: usize) -> Result<Vec<Dataset>, String> {
        let Some(pool) = self.pool(me) else { return Ok(Vec::new()) };
        match datasets(&*pool, ROOTS[me]) {
            Err(_) if !self.sites[me].is_on() => Ok(Vec::new()),
            found => found,
        }
    }

    /// Failures mean nothing where the power has gone.
    fn of<T>(
        &self,
        me: usize,
        what: &str,
        done: Result<T, impl std::fmt::Debug>,
    ) -> Result<Option<T>, String> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(_) if !self.sites[me].is_on() => Ok(None),
            Err(error) => Err(format!("{what}: {error:?}")),
        }
    }

    fn write(&mut self, me: usize) -> Done {
        let Some(pool) = self.pool(me) else { return Ok(()) };
        for dataset in self.look(me)?.into_iter().filter(Dataset::is_in_use) {
            let name = dataset.name;
            self.say(|| format!("writes to {name}"));
            let done = match name == ROOTS[me] {
                true => pool.open_fs(&name).map(|fs| {
                    let changes = 0..self.prng.range(1, 8);
                    changes.filter_map(|_| change_files(&*fs, &mut self.prng).err()).find(is_damage)
                }),
                false => pool.open_volume(&name).map(|volume| {
                    let (at, len) = (self.prng.below(VOLUME / 2), self.prng.range(1, VOLUME / 4));
                    volume.write(at, &bytes(&mut self.prng, len), Stable::Unstable).err()
                }),
            };
            // There may be no such file, and no room.
            if let Some(Some(error)) = self.of(me, &name, done)?
                && is_damage(&error)
                && self.sites[me].is_on()
            {
                return Err(format!("{name}: {error:?}"));
            }
        }
        Ok(())
    }

    fn pass(&mut self) -> Done {
        let seconds = match self.prng.below(8) {
            0..=4 => self.prng.range(1, 300),
            5 | 6 => self.prng.range(60, 3 * HOUR),
            _ => self.prng.range(HOUR, 20 * HOUR),
        };
        self.advance(seconds);
        Ok(())
    }

    fn advance(&self, seconds: u64) {
        let now = self.sites.iter().map(|site| site.world.time.now()).max().unwrap_or_default();
        self.sites.iter().for_each(|site| site.world.time.advance_to(now + Nanos::from_secs(seconds)));
    }

    /// What services remember of a source: since when nothing could be sent, and how often that was
    /// tried.
    fn failing(&self, me: usize) -> BTreeMap<u64, (i64, u32, FailureClass)> {
        let memory = self.sites[me].drawer.memory(SERVICE);
        let failing = memory.sync.datasets.into_iter().filter_map(|(guid, synced)| {
            let backoff = synced.backoff?;
            Some((guid, (synced.failing_since?, backoff.failures, backoff.class)))
        });
        failing.collect()
    }

    /// Services of a place look, and do what there is to do.
    fn turn(&mut self, me: usize) -> Done {
        let before = self.failing(me);
        let is_quiet = self.sites.iter().all(Site::is_on);
        for _ in 0..LOOKS {
            let Some(place) = self.net.place(me) else { break };
            let (tasks, _) = place.services.due();
            if tasks.is_empty() {
                break;
            }
            self.say(|| format!("services of {} do {} things", NAMES[me], tasks.len()));
            tasks.into_iter().for_each(appliance::Task::perform);
        }
        if !is_quiet || !self.sites[me].is_on() {
            return Ok(());
        }
        match self.options.story {
            Story::Streams => self.check_budget(me, &before),
            Story::Pulls if me == 1 => self.check_budget(me, &before),
            Story::Pulls => self.check_readers(),
            Story::Failover => Ok(()),
        }
    }

    /// What is kept for a service that pulls has its budget where it is kept.
    fn check_readers(&self) -> Done {
        let Some(most) = self.absence.seconds.filter(|_| !self.is_full[0]) else { return Ok(()) };
        let (Some(place), Some(pool)) = (self.net.place(0), self.pool(0)) else { return Ok(()) };
        let (now, owner) = (place.services.now(), self.owner());
        let tag = format!("org.cistern:{owner}");
        for of in self.look(0)? {
            let mut newest = None;
            for snap in &of.snapshots {
                newest = newest.max(snap.stamp.as_deref().and_then(|it| stamp::parse(it, &owner)));
                let tags = pool.holds(&format!("{}@{}", of.name, snap.name));
                let Some(tags) = self.of(0, "holds", tags)? else { return Ok(()) };
                let held = tags.iter().find(|(name, _)| *name == tag);
                newest = newest.max(held.and_then(|(_, at)| i64::try_from(*at).ok()));
            }
            if newest.is_some_and(|at| (now - at).unsigned_abs() > most + READERS) {
                return Err(format!("{} is kept for who pulls beyond its budget: {of:?}", of.name));
            }
        }
        Ok(())
    }

    fn check_budget(&self, me: usize, before: &BTreeMap<u64, (i64, u32, FailureClass)>) -> Done {
        let source = self.keeper(me);
        let found = self.look(source)?;
        let there = self.look(1 - source)?;
        let owner = self.owner();
        let weather = self.net.weather();
        // Who pulls lets go what is elsewhere.
        let can_let_go = source == me || !weather.is_down && weather.lost == 0 && weather.lie == 0;
        // As the services believe: after a long time without power they ask for a while.
        let Some(now) = self.net.place(me).map(|place| place.services.now()) else { return Ok(()) };
        let after = self.failing(me);
        for of in &found {
            let own: Vec<u64> = of
                .snapshots
                .iter()
                .filter(|it| it.stamp.as_deref().is_some_and(|it| stamp::parse(it, &owner).is_some()))
                .map(|it| it.guid)
                .collect();
            let suffix = of.name.strip_prefix(ROOTS[source]).unwrap_or_default();
            let replica = there.iter().find(|it| it.name.strip_prefix(ROOTS[1 - source]) == Some(suffix));
            let base = replica.and_then(|replica| own.iter().rposition(|guid| replica.has(*guid)));
            let waiting = own.len() - base.map_or(0, |at| at + 1);
            if waiting > 1 && self.sites[1 - source].is_on() && !self.net.has_lied() {
                return Err(format!("{waiting} snapshots of {} wait", of.name));
            }
            let Some((since, failures, _)) = after.get(&of.guid) else { continue };
            let was_tried = before.get(&of.guid).is_none_or(|(_, times, _)| times != failures);
            let is_over = self.absence.seconds.is_some_and(|most| (now - since).unsigned_abs() > most);
            if was_tried && is_over && can_let_go {
                self.net.count(|tally| tally.relieved += 1);
                if !own.is_empty() {
                    return Err(format!("{} keeps {} snapshots beyond its budget", of.name, own.len()));
                }
            }
        }
        Ok(())
    }

    fn change_weather(&mut self) -> Done {
        let is_down = self.prng.chance(1, 3);
        let mut draw = |most: u64| if self.prng.chance(1, 2) { 0 } else { self.prng.below(most) };
        let mut weather =
            Weather { is_down, cut: draw(70), flip: draw(40), hang: draw(20), lost: draw(20), lie: draw(30) };
        // What a peer says is believed where it decides about its own.
        if self.options.story == Story::Failover || self.prng.chance(2, 3) {
            weather.lie = 0;
        }
        self.say(|| format!("{weather:?}"));
        self.net.set_weather(weather);
        Ok(())
    }

    fn change_room(&mut self, me: usize) -> Done {
        if !self.sites[me].is_on() {
            return Ok(());
        }
        self.is_full[me] = !self.is_full[me];
        let room = self.is_full[me].then(|| self.prng.below(100 << 10));
        self.say(|| format!("{} has room for {room:?}", NAMES[me]));
        self.sites[me].set_room(room)
    }

    /// The program ends, or what services remember is lost.
    fn kill(&mut self, me: usize) -> Done {
        if !self.sites[me].is_on() {
            return Ok(());
        }
        self.say(|| format!("the program of {} ends", NAMES[me]));
        if self.prng.chance(1, 2) {
            self.sites[me].drawer.lose(&mut self.prng);
        }
        self.net.count(|tally| tally.kills += 1);
        self.sites[me].kill(&mut self.prng)
    }

    /// Somebody else takes snapshots of what is in use, and destroys them.
    fn snapshot(&mut self, me: usize) -> Done {
        self.number += 1;
        let number = self.number;
        let found = self.look(me)?;
        let names: Vec<String> =
            found.iter().filter(|it| it.is_in_use()).map(|it| format!("{}@auto{number}", it.name)).collect();
        let Some(pool) = self.pool(me).filter(|_| !names.is_empty()) else { return Ok(()) };
        let change = Change::Snapshot { names, recursive: false, props: Vec::new() };
        self.may(me, &*pool, &change)?;
        Ok(())
    }

    fn thin(&mut self, me: usize) -> Done {
        let Some(pool) = self.pool(me) else { return Ok(()) };
        for of in self.look(me)?.into_iter().filter(Dataset::is_in_use) {
            let names = of.snapshots.iter().filter(|it| it.name.starts_with("auto"));
            let names: Vec<String> = names.map(|it| format!("{}@{}", of.name, it.name)).collect();
            if let Some(name) = self.prng.pick(&names) {
                let change = Change::Destroy { names: vec![name.clone()], defer: false };
                self.may(me, &*pool, &change)?;
            }
        }
        Ok(())
    }

    /// Makes a change that may be refused.
    fn may(&self, me: usize, pool: &dyn Pool, change: &Change) -> Result<bool, String> {
        self.say(|| format!("{} {change:?}", NAMES[me]));
        let done = pool.commit(change, "");
        match done {
            Err(error) if is_damage(&error) && self.sites[me].is_on() => {
                Err(format!("{change:?}: {error:?}"))
            }
            done => Ok(done.is_ok()),
        }
    }

    /// Somebody has looked, and all is tried again.
    fn clear(&mut self, me: usize) -> Done {
        if let Some(place) = self.net.place(me) {
            // There may be no service.
            drop(place.services.command(SERVICE, ServiceCommand::Clear));
        }
        Ok(())
    }

    /// The service of a place is made, or enabled, where it has something to send.
    fn serve(&mut self, me: usize) -> Done {
        let Some(place) = self.net.place(me) else { return Ok(()) };
        let found = self.look(self.keeper(me))?;
        if found.first().is_none_or(|root| root.relation.is_some()) {
            return Ok(());
        }
        self.say(|| format!("{} replicates", NAMES[me]));
        let made = match place.services.one(SERVICE) {
            Ok(_) => place.services.command(SERVICE, ServiceCommand::Enable),
            Err(_) => {
                let (id, spec) = (SERVICE.to_owned(), self.policy(me));
                place.services.create(ServiceCreate { id, spec, enabled: true })
            }
        };
        self.of(me, "the service", made).map(drop)
    }

    /// Before a planned fail-over what is in use is in use no more; or it is again, where nobody
    /// else is.
    fn set_readonly(&mut self, me: usize) -> Done {
        let there = self.look(1 - me)?;
        let Some(pool) = self.pool(me) else { return Ok(()) };
        for (n, of) in self.look(me)?.into_iter().enumerate() {
            let is_free = self.sites[1 - me].is_on() && !there.get(n).is_some_and(Dataset::is_in_use);
            let change = match (of.readonly, of.relation) {
                (false, None) => properties(&[("readonly", "on")]),
                (true, None) if is_free => properties(&[("readonly", "off")]),
                _ => continue,
            };
            self.may(me, &*pool, &Change::SetProperties { name: of.name, props: change })?;
        }
        Ok(())
    }

    /// An operator promotes what is at a place. Whether that was done.
    fn promote(&mut self, me: usize, force: bool) -> Result<bool, String> {
        let Some(place) = self.net.place(me) else { return Ok(false) };
        let weather = self.net.weather();
        let asked = ReplicaPromote { dataset: ROOTS[me].to_owned(), force };
        let done = place.appliance.promote(Some(&place.services), &asked);
        self.say(|| format!("{} promotes, force {force}: {done:?}", NAMES[me]));
        let is_answered = !weather.is_down && weather.lost == 0 && self.sites[1 - me].is_on();
        for n in 0..2 {
            self.excused[n] |= force || !is_answered;
        }
        self.net.count(|tally| match (&done, force) {
            (Ok(_), false) => tally.promoted += 1,
            (Ok(_), true) => tally.forced += 1,
            (Err(_), _) => tally.refused += 1,
        });
        let Ok((promoted, _)) = &done else { return Ok(false) };
        let names: Vec<&str> = promoted.promoted.iter().map(|it| it.dataset.as_str()).collect();
        for of in self.look(me)?.iter().filter(|it| names.contains(&it.name.as_str())) {
            if of.relation.is_some() || of.is_awake == Some(false) {
                return Err(format!("{} was promoted, and is {of:?}", of.name));
            }
        }
        Ok(true)
    }

    /// An operator promotes: mostly where the replica is, often after he has taken the original out
    /// of use and had the rest sent; and often goes on to where the original is, which was written
    /// to until then.
    fn take_over(&mut self, me: usize, force: bool) -> Done {
        let me = match self.replica()? {
            Some(replica) if self.prng.chance(7, 8) => replica,
            _ => me,
        };
        if !force && self.prng.chance(1, 2) {
            self.set_readonly(1 - me)?;
            self.settle()?;
            self.turn(1 - me)?;
            self.settle()?;
        }
        if self.promote(me, force)? && self.prng.chance(1, 2) {
            let discard = self.prng.chance(1, 3);
            self.settle()?;
            self.write(1 - me)?;
            self.reverse(1 - me, discard)?;
        }
        Ok(())
    }

    /// The place whose datasets are replicas.
    fn replica(&self) -> Result<Option<usize>, String> {
        for me in 0..2 {
            if self.look(me)?.first().is_some_and(|root| root.relation.is_some()) {
                return Ok(Some(me));
            }
        }
        Ok(None)
    }

    /// An operator has what is at a place wait as the replica of what was promoted. Whether that
    /// was done.
    fn reverse(&mut self, me: usize, discard: bool) -> Result<bool, String> {
        let Some(place) = self.net.place(me) else { return Ok(false) };
        let before = self.held(me)?;
        let done = place.appliance.reverse(&place.services, SERVICE, ServiceReverse { discard });
        self.say(|| format!("{} is turned round, discard {discard}: {:?}", NAMES[me], done.as_ref().err()));
        self.net.count(|tally| *if done.is_ok() { &mut tally.reversed } else { &mut tally.kept } += 1);
        // Only what was said goes, whatever broke off.
        if discard || !self.sites[me].is_on() {
            return Ok(done.is_ok());
        }
        let after = self.held(me)?;
        for (name, (snapshots, content)) in &before {
            let Some((left, now)) = after.get(name) else { return Err(format!("{name} is gone")) };
            let wrong = content.differences(now);
            if left.len() < snapshots.len() || !wrong.is_empty() {
                return Err(format!("{name} has lost what nobody gave up: {wrong:?}"));
            }
        }
        Ok(done.is_ok())
    }

    /// What each dataset of a place holds, and its snapshots.
    fn held(&self, me: usize) -> Result<BTreeMap<String, (Vec<u64>, Content)>, String> {
        let Some(pool) = self.pool(me) else { return Ok(BTreeMap::new()) };
        let mut held = BTreeMap::new();
        for of in self.look(me)?.into_iter().filter(|it| !it.is_partial) {
            let content = self.of(me, &of.name, Content::read(&*pool, &of.name))?;
            let Some(content) = content else { return Ok(BTreeMap::new()) };
            held.insert(of.name, (of.snapshots.iter().map(|it| it.guid).collect(), content));
        }
        Ok(held)
    }

    /// Whoever lost his power is switched on, and both are looked at.
    fn settle(&mut self) -> Done {
        for (me, name) in NAMES.into_iter().enumerate() {
            if !self.sites[me].is_on() {
                self.say(|| format!("the power of {name} has gone"));
                self.net.count(|tally| tally.cuts += 1);
                if self.prng.chance(1, 8) {
                    self.sites[me].drawer.lose(&mut self.prng);
                }
                self.sites[me].restart(&mut self.prng)?;
                self.net.with_known(|known| known.forget(me));
            }
        }
        self.check()
    }

    fn check(&mut self) -> Done {
        if let Some(wrong) = self.net.wrong() {
            return Err(wrong);
        }
        let found = [self.look(0)?, self.look(1)?];
        for me in 0..2 {
            let Some(pool) = self.pool(me) else { continue };
            let heads = self.options.story != Story::Failover;
            let checked = self.net.with_known(|known| {
                let own: Vec<Dataset> =
                    found[me].iter().filter(|it| it.relation.is_none() || !it.readonly).cloned().collect();
                known.learn(&*pool, &own)?;
                known.check(me, &*pool, &found[me], heads)
            });
            self.of(me, NAMES[me], checked)?;
        }
        if self.sites.iter().all(Site::is_on) {
            self.check_both(&found)?;
        }
        Ok(())
    }

    fn check_both(&mut self, found: &[Vec<Dataset>; 2]) -> Done {
        for (n, below) in BELOW.into_iter().enumerate() {
            let of = |me: usize| found[me].iter().find(|it| it.name == format!("{}{below}", ROOTS[me]));
            let (Some(north), Some(south)) = (of(0), of(1)) else { continue };
            let both = north.is_in_use() && south.is_in_use();
            if both && !self.excused[n] {
                return Err(format!("{} and {} are in use", north.name, south.name));
            }
            self.excused[n] = both;
            let marks = |a: &Dataset, b: &Dataset| {
                a.snapshots.iter().any(|it| b.has(it.guid) || b.bookmarks.contains(&it.guid))
            };
            let has_base = marks(north, south) || marks(south, north);
            if self.had_base[n] && !has_base && !self.net.has_lied() {
                return Err(format!("{} and {} have nothing in common any more", north.name, south.name));
            }
            self.had_base[n] = has_base;
        }
        Ok(())
    }

    /// Nothing breaks any more: all that is in use gets to the other place.
    fn finish(&mut self) -> Done {
        self.net.set_weather(Weather::default());
        for me in 0..2 {
            self.sites[me].world.disks.cut_after(NEVER);
            self.sites[me].set_room(None)?;
        }
        self.settle()?;
        let chosen = match self.options.story {
            Story::Streams | Story::Pulls => 0,
            Story::Failover => self.resolve()?,
        };
        self.write(chosen)?;
        self.converge(chosen)?;
        self.check()?;
        self.sites.iter().try_for_each(Site::verify)
    }

    /// The service of a place sends until the other one has all.
    fn converge(&mut self, me: usize) -> Done {
        for round in 0..8 {
            self.advance(2 * HOUR);
            if !self.makes {
                self.snapshot(me)?;
            }
            let keeper = self.keeper(me);
            self.serve(keeper)?;
            self.clear(keeper)?;
            self.turn(keeper)?;
            if self.is_alike(me)? {
                return Ok(());
            }
            // What a peer has said that is not so cost the base, and a person has to begin anew.
            if round == 3 && self.net.has_lied() {
                self.begin_anew(1 - me)?;
            }
        }
        let failing = self.failing(self.keeper(me));
        Err(format!("not all gets there: {failing:?}, {:#?}, {:#?}", self.look(me)?, self.look(1 - me)?))
    }

    fn begin_anew(&mut self, me: usize) -> Done {
        let pool = self.sites[me].pool()?;
        let found = self.look(me)?;
        for of in found.iter().rev() {
            if of.is_partial && of.snapshots.is_empty() {
                drop(pool.commit(&Change::AbortReceive { name: of.name.clone() }, ""));
            }
            let mut names: Vec<String> =
                of.snapshots.iter().map(|it| format!("{}@{}", of.name, it.name)).collect();
            for snapshot in &names {
                // By a service of this side, for the other one.
                for (tag, _) in pool.holds(snapshot).map_err(failed("its holds"))? {
                    let snapshots = vec![snapshot.clone()];
                    let release = Change::Release { snapshots, tag, recursive: false };
                    pool.commit(&release, "").map_err(failed("a hold"))?;
                }
            }
            names.push(of.name.clone());
            match pool.commit(&Change::Destroy { names, defer: false }, "") {
                Ok(_) | Err(Error::NotFound) => {}
                Err(error) => return Err(format!("{}: {error:?}", of.name)),
            }
        }
        self.had_base = [false; 2];
        Ok(())
    }

    /// Whether the newest snapshots at the other place hold what is in use here.
    fn is_alike(&self, me: usize) -> Result<bool, String> {
        let (here, there) = (self.held(me)?, self.look(1 - me)?);
        let pool = self.sites[1 - me].pool()?;
        for (name, (_, content)) in &here {
            let replica = name.replacen(ROOTS[me], ROOTS[1 - me], 1);
            let Some(newest) = there.iter().find(|it| it.name == replica).and_then(Dataset::newest) else {
                return Ok(false);
            };
            let copy = Content::read(&*pool, &format!("{replica}@{}", newest.name))?;
            if !content.differences(&copy).is_empty() {
                return Ok(false);
            }
        }
        Ok(!here.is_empty())
    }

    /// What is in use at both is found, and an operator chooses one.
    fn resolve(&mut self) -> Result<usize, String> {
        self.find_conflicts()?;
        let first = self.prng.below(2) as usize;
        for me in [first, 1 - first] {
            if self.choose(me)? {
                self.settle()?;
                return Ok(me);
            }
        }
        // What was promoted before all had come is given up for what has all; and one of two that
        // have no snapshot in common any more.
        for me in [first, 1 - first] {
            let (here, there) = (self.look(me)?, self.look(1 - me)?);
            let is_all = here.len() == BELOW.len() && here.iter().all(|it| it.relation.is_none());
            let shares = |(a, b): (&Dataset, &Dataset)| a.snapshots.iter().any(|it| b.has(it.guid));
            let can_follow = there.len() == BELOW.len() && here.iter().zip(&there).all(shares);
            if is_all && !can_follow {
                self.begin_anew(1 - me)?;
                self.settle()?;
                return Ok(me);
            }
        }
        Err(format!("neither can be chosen: {:#?}, {:#?}", self.look(0)?, self.look(1)?))
    }

    fn find_conflicts(&mut self) -> Done {
        let found = [self.look(0)?, self.look(1)?];
        let both = found[0].iter().zip(&found[1]).filter(|(a, b)| a.is_in_use() && b.is_in_use());
        let both: Vec<[u64; 2]> = both.map(|(a, b)| [a.guid, b.guid]).collect();
        let mut seen = Vec::new();
        // Twice: whoever was without power asks what time it is before he runs.
        for me in [0, 1, 0, 1] {
            self.serve(me)?;
            self.clear(me)?;
            self.advance(HOUR);
            self.turn(me)?;
            let failing = self.failing(me).into_iter();
            seen.extend(
                failing.filter(|(_, (.., class))| *class == FailureClass::NeedsPerson).map(|(guid, _)| guid),
            );
        }
        for [north, south] in both {
            if !seen.contains(&north) && !seen.contains(&south) {
                return Err(format!("both are in use, and no service says so: {found:#?}"));
            }
            self.net.count(|tally| tally.conflicts += 1);
        }
        self.check()
    }

    /// Has a place be the original of all, and the other one wait as its replica. What never was a
    /// replica of the other one cannot be chosen.
    fn choose(&mut self, me: usize) -> Result<bool, String> {
        self.promote(me, true)?;
        let here = self.look(me)?;
        if here.len() < BELOW.len() || here.iter().any(|it| it.relation.is_some()) {
            return Ok(false);
        }
        self.excused = [true; 2];
        let pool = self.sites[me].pool()?;
        for of in &here {
            let props = properties(&[("readonly", "off")]);
            self.may(me, &*pool, &Change::SetProperties { name: of.name.clone(), props })?;
        }
        if self.follows(1 - me)? {
            return Ok(true);
        }
        let place = self.net.place(1 - me).ok_or("it is off")?;
        if place.services.one(SERVICE).is_err() {
            let (id, spec) = (SERVICE.to_owned(), self.policy(1 - me));
            let made = place.services.create(ServiceCreate { id, spec, enabled: false });
            made.map_err(failed("the service"))?;
        }
        self.reverse(1 - me, true)
    }

    /// Whether all of a place is the replica of what is at the other one, nobody uses it, and it
    /// has nothing of its own.
    fn follows(&self, me: usize) -> Result<bool, String> {
        let (here, there) = (self.look(me)?, self.look(1 - me)?);
        let held = self.held(me)?;
        for (of, original) in here.iter().zip(&there) {
            let known = format!("{}/{SERVICE}", NAMES[1 - me]);
            // Where a promotion broke off, some of it is in use, and a replica still.
            if of.is_in_use() || of.relation != Some(stamp::relation(&known, original.guid)) {
                return Ok(false);
            }
            let (Some(newest), Some((_, content))) = (of.newest(), held.get(&of.name)) else { continue };
            let pool = self.sites[me].pool()?;
            let snapshot = Content::read(&*pool, &format!("{}@{}", of.name, newest.name))?;
            if !original.has(newest.guid) || !content.differences(&snapshot).is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
