//! The UPS, by the protocol of Network UPS Tools; and the daemon's orderly end when its battery is
//! nearly empty.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use alerts::judge::ups::{Place, Ups};
use api_types::{AlertCheckName as Check, ClearCause};
use signal_hook::consts::SIGTERM;
use signal_hook::low_level::raise;

use super::Look;
use crate::alerting::desk::{Desk, Looked};

/// How long its server may take to let us in, and for each line.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an answer.
const ANSWER: u64 = 64 << 10;
/// How often it is asked: a battery may not last longer than minutes.
const OFTEN: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct Power {
    /// The daemon was told to end.
    has_ended: bool,
    /// It was asked before: whoever starts the daemon with an empty battery has some seconds to say
    /// that it is to stay.
    was_asked: bool,
}

impl Look for Power {
    fn check(&self) -> Check {
        Check::Ups
    }

    fn every(&self, usual: Duration) -> Duration {
        usual.min(OFTEN)
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        let settings = desk.settings();
        let Some(place) = settings.ups.as_deref().and_then(Place::of) else {
            let off = Some("no UPS is set".to_owned());
            let cause = |_: &_| Some(ClearCause::SwitchedOff);
            let looked = Looked { findings: Vec::new(), cause: &cause, failure: None, off };
            return desk.looked(Check::Ups, looked, begun.elapsed());
        };
        let asked = ask(&place);
        let is_last_call = asked.as_ref().is_ok_and(Ups::is_last_call);
        let is_known = asked.is_ok();
        let (findings, failure) = match asked {
            Ok(ups) => (ups.findings(&place.ups), None),
            Err(why) => (Vec::new(), Some(format!("{} at {}: {why}", place.ups, place.host))),
        };
        let cause = |_: &_| is_known.then_some(ClearCause::NotFound);
        desk.looked(Check::Ups, Looked { findings, cause: &cause, failure, off: None }, begun.elapsed());
        if is_last_call && settings.ups_stops && self.was_asked && !self.has_ended {
            tracing::error!(ups = place.ups, "the battery is nearly empty: the daemon ends");
            self.has_ended = true;
            // As whoever stops the daemon does: pools are exported.
            if let Err(error) = raise(SIGTERM) {
                tracing::error!(%error, "the daemon cannot tell itself to end");
                self.has_ended = false;
            }
        }
        self.was_asked = true;
    }
}

fn ask(place: &Place) -> Result<Ups, String> {
    let words = |error: std::io::Error| error.to_string();
    let mut addresses = (place.host.as_str(), place.port).to_socket_addrs().map_err(words)?;
    let address = addresses.next().ok_or("it has no address")?;
    let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(words)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(words)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(words)?;
    (&stream).write_all(format!("LIST VAR {}\n", place.ups).as_bytes()).map_err(words)?;
    let mut ups = Ups::default();
    let (begun, mut lines) = (Instant::now(), BufReader::new((&stream).take(ANSWER)));
    let mut line = String::new();
    while begun.elapsed() < PATIENCE {
        line.clear();
        if lines.read_line(&mut line).map_err(words)? == 0 {
            return Err("it broke off".to_owned());
        }
        if !ups.take(line.trim_end())? {
            drop((&stream).write_all(b"LOGOUT\n"));
            return Ok(ups);
        }
    }
    Err(format!("it did not answer within {} s", PATIENCE.as_secs()))
}
