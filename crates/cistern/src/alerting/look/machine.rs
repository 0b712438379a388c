//! The machine: memory, network interfaces, the certificate of HTTPS, the clock.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use alerts::book::Finding;
use alerts::judge::clock::Clocks;
use alerts::judge::machine::{self, Link};
use api_types::{AlertCheckName as Check, ClearCause};

use super::Look;
use crate::alerting::Sights;
use crate::alerting::desk::{Desk, Looked};

const MEMINFO: &str = "/proc/meminfo";
const INTERFACES: &str = "/sys/class/net";
/// Flag of an interface that is set up (`IFF_UP`).
const UP: u64 = 1;

/// Hands in what was found, or why it was not looked.
fn hand_in(
    desk: &Desk,
    check: Check,
    found: Result<Vec<Finding>, String>,
    cause: &ClearCause,
    begun: Instant,
) {
    let is_known = found.is_ok();
    let (findings, failure) = match found {
        Ok(findings) => (findings, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let cause = |_: &_| is_known.then(|| cause.clone());
    desk.looked(check, Looked { findings, cause: &cause, failure, off: None }, begun.elapsed());
}

pub struct Memory;

impl Look for Memory {
    fn check(&self) -> Check {
        Check::Memory
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        let read = fs::read_to_string(MEMINFO).map_err(|error| format!("{MEMINFO}: {error}"));
        let found = read.and_then(|text| machine::memory(&text, &desk.settings()));
        hand_in(desk, Check::Memory, found, &ClearCause::WithinLimits, begun);
    }
}

pub struct Links;

impl Look for Links {
    fn check(&self) -> Check {
        Check::Network
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        let found = links(Path::new(INTERFACES)).map_err(|error| format!("{INTERFACES}: {error}"));
        let found = found.map(|links| machine::links(&links));
        hand_in(desk, Check::Network, found, &ClearCause::NotFound, begun);
    }
}

fn links(folder: &Path) -> io::Result<Vec<Link>> {
    let mut links = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // One that goes meanwhile has nothing to say.
        let Ok(flags) = fs::read_to_string(path.join("flags")) else { continue };
        let flags = u64::from_str_radix(flags.trim().trim_start_matches("0x"), 16).unwrap_or(0);
        // Of one that is down, reading it is an error.
        let carrier = fs::read_to_string(path.join("carrier")).unwrap_or_default();
        links.push(Link {
            name: entry.file_name().to_string_lossy().into_owned(),
            is_device: path.join("device").exists(),
            is_up: flags & UP != 0,
            has_carrier: carrier.trim() == "1",
        });
    }
    Ok(links)
}

pub struct Certificate(pub Arc<Sights>);

impl Look for Certificate {
    fn check(&self) -> Check {
        Check::Certificate
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        let info = (self.0.certificate)();
        let off = info.is_none().then(|| "HTTPS is off".to_owned());
        let is_off = off.is_some();
        let findings = info
            .map(|info| machine::certificate(&info, &desk.settings(), desk.now().wall))
            .unwrap_or_default();
        let cause = |_: &_| Some(if is_off { ClearCause::SwitchedOff } else { ClearCause::WithinLimits });
        let looked = Looked { findings, cause: &cause, failure: None, off };
        desk.looked(Check::Certificate, looked, begun.elapsed());
    }
}

pub struct Clock {
    sights: Arc<Sights>,
    clocks: Clocks,
}

impl Clock {
    pub fn of(sights: Arc<Sights>) -> Clock {
        Clock { sights, clocks: Clocks::default() }
    }
}

impl Look for Clock {
    fn check(&self) -> Check {
        Check::Clock
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        if self.sights.leaps {
            let off = Some("this is a trial: the clock leaps".to_owned());
            let cause = |_: &_| Some(ClearCause::SwitchedOff);
            let looked = Looked { findings: Vec::new(), cause: &cause, failure: None, off };
            return desk.looked(Check::Clock, looked, begun.elapsed());
        }
        let found = Ok(self.clocks.look(desk.now()));
        hand_in(desk, Check::Clock, found, &ClearCause::Expired, begun);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_read_as_the_kernel_tells_it() {
        let root = std::env::temp_dir().join(format!("cistern-links-{}", std::process::id()));
        let card = root.join("eth0");
        fs::create_dir_all(card.join("device")).expect("a folder");
        fs::write(card.join("flags"), "0x1003\n").expect("written");
        fs::write(card.join("carrier"), "0\n").expect("written");
        fs::create_dir_all(root.join("gone")).expect("a folder");
        let found = links(&root);
        fs::remove_dir_all(&root).expect("removed");
        let link = Link { name: "eth0".into(), is_device: true, is_up: true, has_carrier: false };
        assert_eq!(found.expect("read"), [link]);
        assert!(links(Path::new(INTERFACES)).expect("this machine's").iter().any(|link| link.name == "lo"));
    }
}
