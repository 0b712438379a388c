//! Mounting and unmounting by name (`zfs mount`, `zfs unmount`, mount(8)).

use api_types::{MountRequest, UnmountRequest};
use engine_api::Error;
use stdx::behalf;

use crate::candidate::Candidate;
use crate::local::LocalMount;
use crate::mounting::{Outcome, check_options, untold};
use crate::{Appliance, Failure, Result, Verb};

impl Appliance {
    /// Mounts all that wants to be mounted by itself and isn't.
    fn mount_all_pools(&self, options: &[String], overlay: bool) -> Outcome {
        let mut outcome = Outcome::default();
        for pool in self.engine.pools() {
            let mounted = self.mount_all(&pool.name(), options, overlay, &mut untold);
            outcome.done.extend(mounted.done);
            outcome.failed.extend(mounted.failed);
        }
        outcome
    }

    /// Mounts one file system, or all ([`Appliance::mount_all_pools`]).
    pub fn mount(&self, asked: &MountRequest) -> Result<Outcome> {
        match asked.all {
            true => Ok(self.mount_all_pools(&asked.options, asked.overlay)),
            false => self.mount_one(asked).map(|()| Outcome::of_one(asked.dataset.clone())),
        }
    }

    fn mount_one(&self, asked: &MountRequest) -> Result<()> {
        let mut one = self.file_system(&asked.dataset)?;
        let remounts = asked.options.iter().any(|option| option == "remount");
        let has_place = !asked.mountpoint.is_empty();
        // mount(8) remounts whatever is mounted.
        if !(has_place && remounts) {
            if has_place {
                one = legacy_at(one, &asked.mountpoint)?;
            }
            one.check(Verb::Mount)?;
        }
        if one.is_partly_received {
            return Err(Failure::PartlyReceived { dataset: one.dataset });
        }
        if remounts {
            return self.remount(one, &asked.options);
        }
        if self.local.mounted().iter().any(|mount| mount.dataset == one.dataset) {
            let Candidate { dataset, mountpoint, .. } = one;
            return Err(Failure::Mount { dataset, mountpoint, why: Error::Busy });
        }
        self.mount_candidate(&one, &asked.options, asked.overlay)
    }

    fn remount(&self, one: Candidate, options: &[String]) -> Result<()> {
        let options: Vec<String> = options.iter().filter(|option| *option != "remount").cloned().collect();
        let dataset = one.dataset;
        let there = self.local.mounted().into_iter().find(|mount| mount.dataset == dataset);
        let mountpoint = there.map_or(one.mountpoint, |mount| mount.mountpoint);
        let remounted = check_options(&options, false).and_then(|()| self.local.remount(&dataset, &options));
        remounted.map_err(|error| match error {
            Error::NotFound => Failure::NothingToRemount { dataset },
            why => Failure::Remount { dataset, mountpoint, why },
        })
    }

    /// Unmounts one file system, by its name or by where it is mounted; or all but those that are
    /// mounted by hand.
    pub fn unmount(&self, asked: &UnmountRequest) -> Result<Outcome> {
        match asked.all {
            true => Ok(self.unmount_all_pools()),
            false => self.unmount_one(&asked.target).map(Outcome::of_one),
        }
    }

    fn unmount_all_pools(&self) -> Outcome {
        let mut mounts = self.local.mounted();
        // Deepest path first: a mount holds the one above it.
        mounts.sort_by(|a, b| b.mountpoint.cmp(&a.mountpoint));
        let keeps =
            |mount: &LocalMount| self.file_system(&mount.dataset).is_ok_and(|one| one.is_mounted_by_hand());
        let mut outcome = Outcome::default();
        for mount in mounts.into_iter().filter(|mount| !keeps(mount)) {
            match self.local.unmount(&mount.dataset, false) {
                Ok(()) | Err(Error::NotFound) => outcome.done.push(mount.dataset),
                Err(why) => outcome.failed.push(Failure::Unmount { what: mount.mountpoint, why }),
            }
        }
        outcome
    }

    /// Gives the name of the file system.
    fn unmount_one(&self, target: &str) -> Result<String> {
        let dataset = if target.starts_with('/') {
            let found = self.local.mounted_at(target)?;
            found.ok_or_else(|| Failure::NotAMountpoint { path: target.to_owned() })?
        } else if self.local.mounted().iter().any(|mount| mount.dataset == target) {
            target.to_owned()
        } else {
            let one = self.file_system(target)?;
            return Err(Failure::NotCurrentlyMounted { dataset: one.dataset });
        };
        // Other file systems may be mounted inside; they go first, and come back where the one
        // asked for stays.
        self.unmount_all(&dataset)?;
        Ok(dataset)
    }
}

/// One that mount(8) mounts: its property leaves the place to that, and what is in the directory is
/// hidden without a question.
fn legacy_at(one: Candidate, mountpoint: &str) -> Result<Candidate> {
    let (dataset, mountpoint) = (one.dataset.clone(), mountpoint.to_owned());
    // Who may mount this may not choose where.
    if !behalf::actor().is_administrator() {
        return Err(Failure::Mount { dataset, mountpoint, why: Error::Denied });
    }
    if !mountpoint.starts_with('/') {
        return Err(Failure::RelativeMountpoint { dataset, mountpoint });
    }
    if one.mountpoint != "legacy" {
        return Err(Failure::NotLegacy { dataset, mountpoint });
    }
    Ok(Candidate { mountpoint, overlay: true, ..one })
}
