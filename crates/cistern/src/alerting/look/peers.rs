//! Other appliances: whether those that this one can ask do answer, and what their clocks say.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use alerts::book::Finding;
use alerts::judge::peers;
use api_types::{AlertCheckName as Check, AlertKind, ClearCause, Peer};

use super::Look;
use crate::alerting::Sights;
use crate::alerting::desk::{Desk, Looked};

/// How often each is asked, at the most: a question is a handshake with two certificates.
const OFTEN: Duration = Duration::from_secs(60);
/// How many are asked at the same time. One that is silent holds its thread for two minutes.
const AT_ONCE: usize = 16;

pub struct Peers(pub Arc<Sights>);

impl Look for Peers {
    fn check(&self) -> Check {
        Check::Peers
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        let (findings, failure, off) = match self.asked() {
            Ok(asked) if asked.is_empty() => {
                (Vec::new(), None, Some("no peer has an address here".to_owned()))
            }
            Ok(asked) => (self.ask(&asked, desk), None, None),
            Err(why) => (Vec::new(), Some(why), None),
        };
        let is_known = failure.is_none();
        let is_off = off.is_some();
        let cause = |what: &AlertKind| match what {
            _ if !is_known => None,
            _ if is_off => Some(ClearCause::SwitchedOff),
            AlertKind::PeerClock { .. } => Some(ClearCause::WithinLimits),
            _ => Some(ClearCause::NotFound),
        };
        desk.looked(Check::Peers, Looked { findings, cause: &cause, failure, off }, begun.elapsed());
    }

    fn every(&self, usual: Duration) -> Duration {
        usual.min(OFTEN)
    }

    fn most(&self) -> u64 {
        300
    }
}

impl Peers {
    /// Those that can be asked: who is only known by a certificate comes by itself.
    fn asked(&self) -> Result<Vec<Peer>, String> {
        let book = self.0.peers.as_ref().ok_or("the machine's database could not be opened")?;
        let mut all = book.all().map_err(|why| format!("which peers there are is not known: {why:?}"))?;
        all.retain(|peer| peer.address.is_some());
        Ok(all)
    }

    fn ask(&self, asked: &[Peer], desk: &Desk) -> Vec<Finding> {
        let Some(book) = &self.0.peers else { return Vec::new() };
        let mut findings = Vec::new();
        for some in asked.chunks(AT_ONCE).take_while(|_| !desk.is_ending()) {
            thread::scope(|scope| {
                let ask = |peer: &'_ Peer| peers::peer(&peer.name, &api::check_peer(book, &peer.name));
                let begun: Vec<_> = some.iter().map(|peer| scope.spawn(move || ask(peer))).collect();
                for answer in begun {
                    findings.extend(answer.join().unwrap_or_else(|why| std::panic::resume_unwind(why)));
                }
            });
        }
        findings
    }
}
