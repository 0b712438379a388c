//! Disks by `smartctl`, which may block where a disk does not answer.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alerts::book::Finding;
use alerts::judge::pools::disks;
use alerts::judge::smart::{self, Smart};
use api_types::{AlertCheckName as Check, AlertKind, ClearCause};
use engine_api::Engine;

use super::Look;
use crate::alerting::Sights;
use crate::alerting::desk::{Desk, Looked};
use crate::child::{self, Trouble};

const PROGRAM: &str = "smartctl";
/// How long it may take for one disk.
const PATIENCE: Duration = Duration::from_secs(20);
/// Looks in which a disk is left alone whose smartctl did not end: that one may still be there.
const LEFT_ALONE: u32 = 8;
/// Disks are asked so many times less often than others look: it wakes them.
const SELDOM: u32 = 30;
/// Disks that are asked.
const MOST: usize = 512;

/// See the module.
pub struct Disks {
    sights: Arc<Sights>,
    /// Disks that are left alone, and for how many looks.
    silent: BTreeMap<String, u32>,
}

impl Disks {
    pub fn of(sights: Arc<Sights>) -> Disks {
        Disks { sights, silent: BTreeMap::new() }
    }

    /// Paths of block devices that pools lie on.
    fn devices(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for pool in self.sights.engine.pools() {
            let status = pool.status();
            let devices = disks(&status).into_iter().filter(|disk| disk.kind == "disk");
            found.extend(devices.filter_map(|disk| disk.path.clone()));
        }
        found.into_iter().take(MOST).collect()
    }

    fn ask(&mut self, device: &str) -> Result<Smart, Trouble> {
        if let Some(left) = self.silent.get_mut(device) {
            *left -= 1;
            if *left > 0 {
                return Err(Trouble::Silent);
            }
        }
        let asked = child::output(Command::new(PROGRAM).args(["--json", "--all", device]), PATIENCE);
        match &asked {
            Err(Trouble::Silent) => self.silent.insert(device.to_owned(), LEFT_ALONE),
            _ => self.silent.remove(device),
        };
        let output = asked?;
        smart::read(&output).map_err(|why| Trouble::Failed(std::io::Error::other(why)))
    }
}

impl Look for Disks {
    fn check(&self) -> Check {
        Check::Smart
    }

    fn every(&self, usual: Duration) -> Duration {
        usual.saturating_mul(SELDOM)
    }

    fn most(&self) -> u64 {
        PATIENCE.as_secs() * 4
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        let settings = desk.settings();
        let devices = if settings.smart { self.devices() } else { BTreeSet::new() };
        self.silent.retain(|device, _| devices.contains(device));
        let mut findings: Vec<Finding> = Vec::new();
        let mut unknown = BTreeSet::new();
        let (mut failure, mut off, mut told) = (None, None, 0);
        for device in &devices {
            desk.begins(Check::Smart, self.most());
            match self.ask(device) {
                Ok(Smart::Told(of)) => {
                    told += 1;
                    findings.extend(smart::findings(device, &of, &settings));
                }
                Ok(Smart::Unsupported(why)) => off = Some(format!("{device}: {why}")),
                Err(Trouble::Missing) => {
                    off = Some(format!("{PROGRAM} is not installed"));
                    unknown.extend(devices.iter().cloned());
                    break;
                }
                Err(Trouble::Silent) => {
                    let seconds = PATIENCE.as_secs();
                    failure = Some(format!("{PROGRAM} of {device} did not end within {seconds} s"));
                    unknown.insert(device.clone());
                }
                Err(Trouble::Failed(error)) => {
                    failure = Some(format!("{PROGRAM} of {device}: {error}"));
                    unknown.insert(device.clone());
                }
            }
            if desk.is_ending() {
                unknown.extend(devices.iter().cloned());
                break;
            }
        }
        if devices.is_empty() {
            let why = if settings.smart { "no pool lies on block devices" } else { "it is switched off" };
            off = Some(why.to_owned());
        }
        let to_come = !self.sights.engine.to_come().is_empty();
        let cause = |what: &AlertKind| {
            let (AlertKind::DiskFailing { device, .. } | AlertKind::DiskHot { device, .. }) = what else {
                return Some(ClearCause::NotFound);
            };
            match what {
                _ if to_come || unknown.contains(device) => None,
                _ if !settings.smart => Some(ClearCause::SwitchedOff),
                _ if !devices.contains(device) => Some(ClearCause::LeftPool),
                AlertKind::DiskHot { .. } => Some(ClearCause::WithinLimits),
                _ => Some(ClearCause::NotFound),
            }
        };
        let off = off.filter(|_| told == 0 && failure.is_none());
        desk.looked(Check::Smart, Looked { findings, cause: &cause, failure, off }, begun.elapsed());
    }
}
