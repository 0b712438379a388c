//! What all files were together at the end of each transaction group: that is what an import must
//! find which goes back to the group, for then no intent log counts.

use super::frozen::Contents;
use crate::promised::Promised;

/// Something led to other states of the files.
struct Step {
    /// In a group from the one to the other.
    earliest: u64,
    latest: u64,
    /// Of each file, the number of its state then.
    states: Vec<usize>,
    /// A crash, and what logs brought back after it, in several groups.
    is_replay: bool,
}

impl Step {
    fn new(earliest: u64, latest: u64, files: &[Promised], is_replay: bool) -> Step {
        let states = files.iter().map(|file| file.span().1 - 1).collect();
        Step { earliest, latest, states, is_replay }
    }
}

/// See the module.
pub struct Groups(Vec<Step>);

impl Groups {
    /// The files were like this when group `txg` was durable.
    pub fn new(txg: u64, files: &[Promised]) -> Groups {
        Groups(vec![Step::new(txg, txg, files, false)])
    }

    /// Since a group from the one to the other they are like this.
    pub fn note(&mut self, earliest: u64, latest: u64, files: &[Promised]) {
        self.0.push(Step::new(earliest, latest, files, false));
    }

    /// The pool came back at the end of group `txg`, and with what logs had the files are like this
    /// at the end of group `latest`.
    pub fn restart(&mut self, txg: u64, latest: u64, files: &[Promised]) {
        self.0.retain(|step| step.earliest <= txg);
        self.0.iter_mut().for_each(|step| step.latest = step.latest.min(txg + 1));
        self.0.push(Step::new(txg + 1, latest, files, true));
    }

    /// Whether the files may be like this at the end of group `txg`, all together, as far as they
    /// can be read.
    pub fn may_be(&self, txg: u64, files: &[Promised], found: &Contents) -> bool {
        let all = |is: &dyn Fn(usize, &Promised, &[u8]) -> bool| {
            let known = files.iter().zip(found).enumerate();
            known.into_iter().all(|(n, (file, found))| found.as_ref().is_none_or(|found| is(n, file, found)))
        };
        let replay = |step: &&Step| step.is_replay && step.earliest <= txg && txg < step.latest;
        if let Some(replay) = self.0.iter().find(replay) {
            let from = self.0.iter().rev().find(|step| step.latest < replay.earliest).unwrap_or(&self.0[0]);
            return all(&|n, file, found| file.may_have_been(found, (from.states[n], replay.states[n] + 1)));
        }
        let nexts = self.0.iter().skip(1).map(|next| next.latest).chain([u64::MAX]);
        let possible = self.0.iter().zip(nexts).filter(|(step, next)| step.earliest <= txg && txg < *next);
        possible
            .into_iter()
            .any(|(step, _)| all(&|n, file, found| file.may_have_been_at(found, step.states[n])))
    }
}
