//! Changes of datasets, with what they mean for mounts.

use api_types::{DestroyOptions, Inherit, PropertiesSet, Rename};
use engine_api::{Change, Committed, DestroyQuery, Error};

use crate::failure::warnings;
use crate::local::LocalMount;
use crate::mounting::{and_above, moves_mounts};
use crate::{Appliance, Failure, Result, Warning};

impl Appliance {
    /// Commits the making of a dataset `name`, and mounts what was made unless told otherwise.
    pub fn create_dataset(
        &self,
        name: &str,
        change: &Change,
        history: &str,
        no_mount: bool,
    ) -> Result<(Committed, Vec<Warning>)> {
        let pool = self.pool_of(name)?;
        let topmost = match self.auto_mount && !no_mount {
            true => self.first_missing(name)?,
            false => None,
        };
        let committed = pool.commit(change, history)?;
        let warnings = topmost.map_or_else(Vec::new, |topmost| self.mount_made(topmost));
        Ok((committed, warnings))
    }

    /// The first on the way down to `name` that isn't there: it and what is below it are what a
    /// create makes. What was there before, and somebody may have unmounted, stays as it is.
    fn first_missing<'a>(&self, name: &'a str) -> Result<Option<&'a str>> {
        for ancestor in and_above(name) {
            match self.file_system(ancestor) {
                Ok(_) => {}
                Err(Failure::NoSuchDataset { .. } | Failure::Engine(Error::NotFound)) => {
                    return Ok(Some(ancestor));
                }
                Err(why) => return Err(why),
            }
        }
        Ok(None)
    }

    /// Unmounts and destroys a dataset, snapshot or bookmark and what goes with it. `told` is told
    /// how many that are.
    pub fn destroy_dataset(
        &self,
        name: &str,
        asked: DestroyOptions,
        history: &str,
        told: &mut dyn FnMut(u64),
    ) -> Result<(Committed, Vec<Warning>)> {
        let pool = self.pool_of(name)?;
        let mut names = vec![name.to_owned()];
        if !name.contains('#') {
            let DestroyOptions { recursive, clones, defer } = asked;
            let query = DestroyQuery { name: name.to_owned(), recursive, clones, defer };
            names = pool.plan_destroy(&query)?.names;
        }
        // A pool's root stays as long as the pool.
        let is_root = !name.contains(['/', '@', '#']);
        names.retain(|one| !is_root || one != name);
        told(names.len() as u64);
        let directories = self.directories_of(name, &names)?;
        let change = Change::Destroy { names: names.clone(), defer: asked.defer };
        // Before anything is taken from anybody.
        pool.permits(&change)?;
        let mounts = self.unmount_each(&names)?;
        match pool.commit(&change, history) {
            Ok(committed) => {
                let is_of_root = |mount: &LocalMount| is_root && mount.dataset == name;
                let root: Vec<_> = mounts.into_iter().filter(is_of_root).collect();
                let warnings = warnings(self.restore(&root));
                self.local.leave(directories);
                Ok((committed, warnings))
            }
            Err(error) => {
                self.restore(&mounts);
                Err(error.into())
            }
        }
    }

    /// Sets properties; mounts follow unless told otherwise.
    pub fn set_properties(&self, name: &str, asked: PropertiesSet) -> Result<(Committed, Vec<Warning>)> {
        let PropertiesSet { props, no_mount, history } = asked;
        let names: Vec<String> = props.iter().map(|prop| prop.name.clone()).collect();
        let moves = !no_mount && props.iter().any(|prop| moves_mounts(&prop.name, Some(&prop.value)));
        let change = Change::SetProperties { name: name.to_owned(), props };
        let (committed, mut failures) = self.commit(name, &change, &history, moves)?;
        failures.extend(self.follow(name, &names));
        Ok((committed, warnings(failures)))
    }

    /// Has a property inherited, or as it was received; mounts follow.
    pub fn inherit_property(&self, name: &str, asked: Inherit) -> Result<(Committed, Vec<Warning>)> {
        let Inherit { property, received, history } = asked;
        let moves = moves_mounts(&property, None);
        let change = Change::Inherit { name: name.to_owned(), property: property.clone(), received };
        let (committed, mut failures) = self.commit(name, &change, &history, moves)?;
        failures.extend(self.follow(name, &[property]));
        Ok((committed, warnings(failures)))
    }

    /// Commits a change of a dataset; one that may move mounts takes them along.
    fn commit(
        &self,
        name: &str,
        change: &Change,
        history: &str,
        moves: bool,
    ) -> Result<(Committed, Vec<Failure>)> {
        let pool = self.pool_of(name)?;
        pool.permits(change)?;
        let change = || Ok(pool.commit(change, history)?);
        match moves {
            true => self.moving(name, name, change),
            false => Ok((change()?, Vec::new())),
        }
    }

    /// Renames a dataset or snapshot. Mounts move to where they belong now, or stay where they are
    /// if that is asked for.
    pub fn rename_dataset(&self, name: &str, asked: &Rename) -> Result<(Committed, Vec<Warning>)> {
        let Rename { to, parents, recursive, no_mount, history } = asked;
        let (parents, recursive) = (*parents, *recursive);
        let pool = self.pool_of(name)?;
        let change = Change::Rename { from: name.to_owned(), to: to.clone(), parents, recursive };
        pool.permits(&change)?;
        let commit = || Ok(pool.commit(&change, history)?);
        if *no_mount || name.contains('@') {
            let committed = commit()?;
            self.local.renamed(name, to);
            return Ok((committed, Vec::new()));
        }
        let (committed, failures) = self.moving(name, to, commit)?;
        Ok((committed, warnings(failures)))
    }
}
