//! Pools that come and go, with what is mounted of them.

use std::sync::Arc;

use engine_api::{Error, Health, ImportOptions, Pool, PoolSpec};

use crate::failure::warnings;
use crate::mounting::Told;
use crate::{Appliance, Failure, Release, Result, Warning};

impl Appliance {
    /// Makes a pool and mounts it. Refuses to hide what is there already
    /// (cmd/zpool/zpool_main.c, `zpool_do_create`).
    pub fn create_pool(&self, spec: &PoolSpec, told: Told<'_>) -> Result<(Arc<dyn Pool>, Vec<Warning>)> {
        if self.auto_mount {
            self.check_mountpoint(spec)?;
        }
        let pool = self.engine.create(spec)?;
        let warnings = self.mount_new(&pool.name(), &[], told)?;
        Ok((pool, warnings))
    }

    fn check_mountpoint(&self, spec: &PoolSpec) -> Result<()> {
        let given = spec.mountpoint.clone().unwrap_or_else(|| format!("/{}", spec.name));
        if !given.starts_with('/') {
            return Ok(());
        }
        let at = format!("{}{given}", spec.altroot.as_deref().unwrap_or("").trim_end_matches('/'));
        self.local.is_free(&at).map_err(|why| Failure::MountpointInUse { at, why })
    }

    /// Imports a pool and, unless told otherwise, mounts what came with it.
    pub fn import_pool(
        &self,
        which: &str,
        options: &ImportOptions,
        mounts: Option<&[String]>,
        told: Told<'_>,
    ) -> Result<(Arc<dyn Pool>, Vec<Warning>)> {
        let pool = self.engine.import(which, options)?;
        let warnings = match mounts {
            Some(options) => self.mount_new(&pool.name(), options, told)?,
            None => Vec::new(),
        };
        Ok((pool, warnings))
    }

    /// Mounts what came with a pool, where file systems are mounted by themselves. The pool stays
    /// where that is cancelled.
    fn mount_new(&self, pool: &str, options: &[String], told: Told<'_>) -> Result<Vec<Warning>> {
        if !self.auto_mount {
            return Ok(Vec::new());
        }
        let mut failed = self.mount_all(pool, options, false, told).failed;
        match failed.pop_if(|last| matches!(last, Failure::MountCancelled { .. })) {
            Some(cancelled) => {
                // What fails carries no warnings.
                failed.iter().for_each(|failure| tracing::warn!(pool, ?failure, "not mounted"));
                Err(cancelled)
            }
            None => Ok(warnings(failed)),
        }
    }

    /// Whether a pool may be let go of: one that waits for its devices is by force only, and then
    /// nobody who uses its mounts waits any more. To be called before [`Appliance::export_pool`]
    /// and [`Appliance::destroy_pool`].
    pub fn let_go(&self, name: &str, how: Release, force: bool) -> Result<()> {
        let pool = match self.pool(name) {
            // It is just being imported: the engine tells what can be done then.
            Err(Failure::Engine(Error::Refused(_))) => return Ok(()),
            // One that could not be imported can be exported all the same: it is forgotten.
            Err(Failure::NoSuchPool { .. }) if how == Release::Export => return Ok(()),
            found => found?,
        };
        if pool.status().health != Health::Suspended {
            return Ok(());
        }
        if !force {
            return Err(Failure::Suspended { pool: name.to_owned(), how });
        }
        pool.give_up();
        Ok(())
    }

    pub fn export_pool(&self, name: &str, force: bool) -> Result<()> {
        self.releasing(name, |why| why, || self.engine.export(name, force)).map_err(|why| match why {
            Failure::Engine(Error::NotFound) => Failure::NoSuchPool { pool: name.to_owned() },
            other => other,
        })
    }

    pub fn destroy_pool(&self, name: &str, force: bool) -> Result<()> {
        let mounted = |why| Failure::MountsOfPool { pool: name.to_owned(), why: Box::new(why) };
        self.releasing(name, mounted, || self.engine.destroy(name, force))
    }
}
