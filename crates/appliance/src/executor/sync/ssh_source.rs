//! Sources on a host that has OpenZFS's commands, by SSH.
//!
//! As of replicas there, all of a session are listed at once, and that is believed for a while.
//! What a service owns there it knows by this machine and its name: the machine by the key that it
//! shows to hosts, so that two machines may pull by services of one name.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use api_types::{FailureClass, SnapTarget, SshHost, SyncStep};
use engine_api::{Cancel, Error, Identity, SendEvent};
use services::autosnap::coverage::Named;
use services::autosync::view::Source;
use services::time::Time;

use super::super::World;
use super::foreign::{self, source as asked};
use super::fresh::{Fresh, Wanted};
use super::host::Host;
use super::origin::{Content, Elsewhere, Given, Origin, Original, Patience, Reading};
use super::{Fault, of_engine};
use crate::RemoteFault;

/// Bytes of names in a command: a shell takes 128 KiB at once, and each name stands in it twice.
const NAMES: usize = 32 << 10;
/// Characters of the key by which hosts know this machine.
const OF_KEY: usize = 12;

/// See the module.
pub struct SshSource<'a> {
    host: Host<'a>,
    source: &'a SnapTarget,
    /// What its root is called there now.
    root: OnceLock<String>,
    /// Of the service.
    id: &'a str,
    /// What the service is called there.
    mark: OnceLock<String>,
    /// With when it was listed.
    known: Mutex<Fresh<(asked::Listed, Time)>>,
}

impl<'a> SshSource<'a> {
    pub fn new(
        world: &'a dyn World,
        place: &SshHost,
        (id, source): (&'a str, &'a SnapTarget),
        stop: &'a Cancel,
    ) -> SshSource<'a> {
        let host = Host::new(world, place.clone(), stop);
        let (root, mark) = (OnceLock::new(), OnceLock::new());
        SshSource { host, source, root, id, mark, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Fresh<(asked::Listed, Time)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark(&self) -> Result<&str, Fault> {
        if let Some(mark) = self.mark.get() {
            return Ok(mark);
        }
        let key = self.host.own_key()?;
        let Some(machine) = of_key(&key) else {
            let why = "this machine's key for hosts cannot be understood".to_owned();
            return Err(self.host.fault(FailureClass::NeedsPerson, RemoteFault::NoProgram { why }));
        };
        Ok(self.mark.get_or_init(|| format!("{machine}/{}", self.id)))
    }

    fn understood<T>(&self, read: Result<T, RemoteFault>) -> Result<T, Fault> {
        read.map_err(|why| self.host.fault(FailureClass::Retriable, why))
    }

    fn list(&self, dataset: &str, is_whole: bool, now: Time) -> Result<Known, Fault> {
        let mark = self.mark()?;
        let (ended, text) = self.host.run(&asked::list(dataset, is_whole))?;
        if ended.status != 0 && foreign::is_absent(&ended.said) {
            return self.host.absent(dataset).map(|()| BTreeMap::new());
        }
        self.host.judged(&ended)?;
        let mut all = self.understood(asked::listed(&text, mark))?;
        let held: Vec<String> = all.iter().flat_map(|(name, it)| it.held(name)).collect();
        let mut own = BTreeSet::new();
        for some in chunks(&held, String::len) {
            own.extend(self.understood(asked::held(&self.host.ask(&asked::holds(some))?, mark))?);
        }
        all.iter_mut().for_each(|(name, it)| it.hold(name, &own));
        Ok(all.into_iter().map(|(name, it)| (name, (it, now))).collect())
    }

    /// What is known of a dataset; it is listed if it has to be.
    fn look(&self, of: &Original, anew: bool, now: Time) -> Result<(asked::Listed, Time), Fault> {
        if anew {
            self.known().change(&of.name);
        }
        let wanted = self.known().wanted(self.source.recursive, self.host.now(), &of.name);
        match wanted {
            Wanted::Nothing => {}
            Wanted::All => {
                let root = self.root.get().unwrap_or(&self.source.dataset);
                // What cannot be listed at once cannot be one by one either.
                let listed = self.list(root, true, now).inspect_err(|fault| self.host.lose(fault))?;
                *self.known() = Fresh::of(listed, self.host.now());
            }
            Wanted::One => {
                let read = self.list(&of.name, false, now)?.remove(&of.name);
                self.known().set(&of.name, read);
            }
        }
        self.found(of)
    }

    fn found(&self, of: &Original) -> Result<(asked::Listed, Time), Fault> {
        let found = self.known().get(&of.name).filter(|(it, _)| it.guid == of.guid).cloned();
        found.ok_or_else(|| of_engine(Error::NotFound))
    }

    fn kept(&self, of: &Original, listed: &asked::Listed) -> Result<u64, Fault> {
        match listed.own() {
            own if own.is_empty() => Ok(0),
            own => self.understood(asked::reclaimed(&self.host.ask(&asked::kept(&of.name, &own))?)),
        }
    }
}

/// What was listed, and when.
type Known = BTreeMap<String, (asked::Listed, Time)>;

/// What hosts know this machine by, of its public key: the end of it, which no other has. `None`:
/// that is no key.
fn of_key(key: &str) -> Option<String> {
    let body = key.split(' ').nth(1)?;
    let end = body.get(body.len().checked_sub(OF_KEY)?..)?;
    // What separates it from the service is in it nowhere.
    Some(end.replace('/', "_").replace('+', "-"))
}

/// In parts whose names fit into a command.
fn chunks<T>(all: &[T], len: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let (mut parts, mut from, mut bytes) = (Vec::new(), 0, 0);
    for (at, one) in all.iter().enumerate() {
        if bytes + len(one) > NAMES && at > from {
            parts.push(&all[from..at]);
            (from, bytes) = (at, 0);
        }
        bytes += len(one);
    }
    parts.extend((from < all.len()).then(|| &all[from..]));
    parts
}

impl Origin for SshSource<'_> {
    fn read(&self, of: &Original, reading: Reading) -> Result<(Source, Time), Fault> {
        let (listed, as_of) = self.look(of, reading.anew, reading.now)?;
        let kept = if reading.counts { self.kept(of, &listed)? } else { 0 };
        Ok((listed.source(kept), as_of))
    }

    /// Which there are each session lists first.
    fn is_gone(&self, _: &Original) -> bool {
        false
    }

    fn change(&self, of: &Original, step: &SyncStep, now: Time) -> Result<(), Fault> {
        self.known().change(&of.name);
        self.host.change(&of.name, &asked::step(of, step, self.mark()?, now))
    }

    fn make_together(&self, wanted: &[(Original, String)], now: Time) {
        for some in chunks(wanted, |(of, short)| of.name.len() + short.len()) {
            some.iter().for_each(|(of, _)| self.known().change(&of.name));
            let made = self.mark().map(|mark| asked::make(some, mark, now));
            let made = made.and_then(|command| self.host.change(&some[0].0.name, &command));
            if let Err((_, why)) = made {
                tracing::warn!(id = self.id, ?why, "snapshots were not made together");
            }
        }
    }

    fn given(&self, of: &Original) -> Result<Given, Fault> {
        let (asked::Listed { kind, given, .. }, _) = self.found(of)?;
        Ok(Given { kind, props: given })
    }

    /// A host has no word for what clients know it by.
    fn identity(&self, _: &Original, _: Option<(u64, u64)>) -> Result<Option<Identity>, Fault> {
        Ok(None)
    }

    fn has_rest(&self, of: &Original, token: &str) -> Result<bool, Fault> {
        let content = Content::Rest { token: token.to_owned() };
        let (ended, _) = self.host.run(&asked::would_send(of, &content))?;
        if ended.status != 0 && asked::is_without_rest(&ended.said) {
            return Ok(false);
        }
        self.host.judged(&ended).map(|()| true)
    }

    fn send(
        &self,
        of: &Original,
        content: &Content,
        to: &mut (dyn Write + Send),
        tell: &mut dyn FnMut(SendEvent),
        patience: &Patience<'_>,
    ) -> Result<(), Fault> {
        let text = self.host.ask(&asked::would_send(of, content))?;
        let (snapshot, size) = self.understood(asked::planned(&text))?;
        tell(SendEvent::Planned { snapshot, from: None, size });
        self.host.fetch(&asked::send(of, content), to, (patience.stuck, patience.stop))
    }
}

impl Elsewhere for SshSource<'_> {
    fn names(&self) -> Result<Vec<Named>, Fault> {
        let pool = self.source.dataset.split('/').next().unwrap_or_default();
        let (ended, text) = self.host.run(&asked::names(pool))?;
        if ended.status != 0 && foreign::is_absent(&ended.said) {
            let why = RemoteFault::NoSuchPool { pool: pool.to_owned() };
            return Err(self.host.fault(FailureClass::Retriable, why));
        }
        self.host.judged(&ended)?;
        let names = self.understood(asked::named(&text))?;
        let root = names.iter().find(|it| Some(it.guid) == self.source.guid);
        if let Some(root) = root {
            self.root.get_or_init(|| root.name.clone());
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_known_by_the_end_of_its_key() {
        let key =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIObQq06vRm4UZbfHRICqHNnoFWNTQx/kQOjlyhwaj9TY cistern@vm";
        assert_eq!(of_key(key).as_deref(), Some("QOjlyhwaj9TY"));
        assert_eq!(of_key("ssh-ed25519 AA+BCD/EFGHI").as_deref(), Some("AA-BCD_EFGHI"));
        for bad in ["", "ssh-ed25519", "ssh-ed25519 short x"] {
            assert_eq!(of_key(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_are_cut_into_commands_and_none_is_left_out() {
        let all: Vec<String> = (0..1_000).map(|at| format!("{at:0200}")).collect();
        let parts = chunks(&all, String::len);
        assert_eq!(parts.concat(), all);
        assert!(
            parts.len() > 1 && parts.iter().all(|part| part.iter().map(String::len).sum::<usize>() <= NAMES)
        );
        assert_eq!(chunks(&["x".repeat(2 * NAMES)], String::len).len(), 1);
        assert!(chunks(&[] as &[String], String::len).is_empty());
    }
}
