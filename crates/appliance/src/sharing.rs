//! Sharing and withdrawing by name (`zfs share`, `zfs unshare`).

use api_types::ShareRequest;

use crate::candidate::Candidate;
use crate::mounting::Outcome;
use crate::{Appliance, Failure, Result, Verb};

impl Appliance {
    /// Offers one file system again that was withdrawn, by its name or path; or all.
    pub fn share(&self, asked: &ShareRequest) -> Result<Outcome> {
        match asked.all {
            true => Ok(outcome(self.local.withdrawn(), |dataset| self.offer(dataset))),
            false => self.share_one(&asked.target).map(Outcome::of_one),
        }
    }

    /// Withdraws one file system that is shared, by its name or path; or all.
    pub fn unshare(&self, asked: &ShareRequest) -> Result<Outcome> {
        let shared = || self.local.shared().into_iter().map(|one| one.dataset);
        match asked.all {
            true => Ok(outcome(shared().collect(), |dataset| self.withdraw(dataset))),
            false => self.unshare_one(&asked.target).map(Outcome::of_one),
        }
    }

    fn offer(&self, dataset: &str) -> Result<()> {
        let failure = |why| Failure::Share { dataset: dataset.to_owned(), verb: Verb::Share, why };
        self.local.share(dataset).map_err(failure)
    }

    fn withdraw(&self, dataset: &str) -> Result<()> {
        let failure = |why| Failure::Share { dataset: dataset.to_owned(), verb: Verb::Unshare, why };
        self.local.unshare(dataset).map_err(failure)
    }

    /// Gives the name of the file system.
    fn share_one(&self, target: &str) -> Result<String> {
        let one = self.shareable(target, Verb::Share)?;
        one.check(Verb::Share)?;
        if self.is_shared(&one.dataset) {
            return Err(Failure::AlreadyShared { dataset: one.dataset });
        }
        self.offer(&one.dataset)?;
        Ok(one.dataset)
    }

    /// Gives the name of the file system.
    fn unshare_one(&self, target: &str) -> Result<String> {
        let one = self.shareable(target, Verb::Unshare)?;
        if !self.is_shared(&one.dataset) {
            return Err(Failure::NotCurrentlyShared { dataset: one.dataset });
        }
        self.withdraw(&one.dataset)?;
        Ok(one.dataset)
    }

    fn is_shared(&self, dataset: &str) -> bool {
        self.local.shared().iter().any(|one| one.dataset == dataset)
    }

    /// The file system of a name, or that is shared under a path, where its property shares it.
    fn shareable(&self, target: &str, verb: Verb) -> Result<Candidate> {
        let by_path = self.local.shared().into_iter().find(|one| one.path == target);
        let one = self.file_system(&by_path.map_or_else(|| target.to_owned(), |one| one.dataset))?;
        match one.sharenfs == "off" {
            true => Err(Failure::LegacyShare { dataset: one.dataset, verb }),
            false => Ok(one),
        }
    }
}

fn outcome(datasets: Vec<String>, act: impl Fn(&str) -> Result<()>) -> Outcome {
    let mut outcome = Outcome::default();
    for dataset in datasets {
        match act(&dataset) {
            Ok(()) => outcome.done.push(dataset),
            Err(why) => outcome.failed.push(why),
        }
    }
    outcome
}
