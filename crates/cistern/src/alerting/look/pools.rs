//! Pools and their disks, as `zpool status` has them.

use std::sync::Arc;
use std::time::Instant;

use alerts::judge::pools;
use alerts::judge::speed::Speed;
use api_types::{AlertCheckName as Check, PoolStatus};
use engine_api::Engine;

use super::Look;
use crate::alerting::Sights;
use crate::alerting::desk::{Desk, Looked};

pub struct Pools(pub Arc<Sights>);

/// How quick disks are.
pub struct Speeds {
    sights: Arc<Sights>,
    speed: Speed,
}

impl Speeds {
    pub fn of(sights: Arc<Sights>) -> Speeds {
        Speeds { sights, speed: Speed::default() }
    }
}

fn imported(sights: &Sights) -> Vec<PoolStatus> {
    sights.engine.pools().iter().map(|pool| pool.status()).collect()
}

impl Look for Pools {
    fn check(&self) -> Check {
        Check::Pools
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        let engine = &self.0.engine;
        // In this order: what comes meanwhile is in one of them.
        let to_come = engine.to_come();
        let absent = engine.absent().into_iter().filter(|pool| !to_come.contains(pool));
        let absent: Vec<String> = absent.collect();
        let imported = imported(&self.0);
        let is_here = |name: &String| imported.iter().any(|pool| pool.name == *name);
        let absent = absent.into_iter().filter(|name| !is_here(name)).collect();
        let seen = pools::Pools { imported, absent, to_come };
        let cause = |what: &_| seen.cause(what);
        let findings = seen.findings(&desk.settings());
        let looked = Looked { findings, cause: &cause, failure: None, off: None };
        desk.looked(Check::Pools, looked, begun.elapsed());
    }
}

impl Look for Speeds {
    fn check(&self) -> Check {
        Check::Speed
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        let pools = imported(&self.sights);
        let findings = self.speed.look(&pools, &desk.settings());
        let (speed, to_come) = (&self.speed, self.sights.engine.to_come());
        let cause = |what: &_| if to_come.is_empty() { speed.cause(&pools, what) } else { None };
        let looked = Looked { findings, cause: &cause, failure: None, off: None };
        desk.looked(Check::Speed, looked, begun.elapsed());
    }
}
