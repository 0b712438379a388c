//! A host that has OpenZFS's commands, and the connection of a session to it, by SSH.
//!
//! The connection is made when something is first asked. Once it is lost, each further call fails
//! at once. A stream that was broken off ends it; what is asked afterwards makes another.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api_types::{FailureClass, SshHost};
use engine_api::Cancel;

use super::super::World;
use super::super::line::{Bounds, Broken, Ended, Line};
use super::Fault;
use super::foreign;
use crate::{NotServed, RemoteFault};

/// How long a command that carries no stream may take: a listing of many thousand snapshots does
/// take minutes on slow disks.
const MOST: Duration = Duration::from_secs(300);
/// Bytes of a listing: half a million snapshots.
pub const LISTING: usize = 64 << 20;

/// See the module.
pub struct Host<'a> {
    world: &'a dyn World,
    place: SshHost,
    stop: &'a Cancel,
    line: Mutex<Option<Arc<dyn Line>>>,
    /// Why nothing more is asked.
    lost: Mutex<Option<Fault>>,
}

impl<'a> Host<'a> {
    pub fn new(world: &'a dyn World, place: SshHost, stop: &'a Cancel) -> Host<'a> {
        Host { world, place, stop, line: Mutex::default(), lost: Mutex::default() }
    }

    pub fn fault(&self, class: FailureClass, why: RemoteFault) -> Fault {
        (class, NotServed::Remote { host: self.place.host.clone(), why }.into())
    }

    /// The public key that this machine shows to hosts.
    ///
    /// # Errors
    /// There is no connection, for which one is made, or the key cannot be read.
    pub fn own_key(&self) -> Result<String, Fault> {
        self.line()?;
        let (key, _) = self.world.keys();
        if key.is_empty() {
            let why = "the public key cannot be read".to_owned();
            return Err(self.fault(FailureClass::NeedsPerson, RemoteFault::NoProgram { why }));
        }
        Ok(key)
    }

    pub fn line(&self) -> Result<Arc<dyn Line>, Fault> {
        if let Some(lost) = &*self.lost.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(lost.clone());
        }
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = &*line {
            return Ok(line.clone());
        }
        let connected = self.world.connect(&self.place, self.stop).map_err(|broken| match broken {
            Broken::Lost { said } => {
                let user = self.place.user.as_deref();
                let (class, why) = foreign::not_connected(&said, user, self.world.keys());
                self.fault(class, why)
            }
            other => self.broken(other),
        });
        let connected: Arc<dyn Line> = connected.inspect_err(|fault| self.lose(fault))?.into();
        *line = Some(connected.clone());
        Ok(connected)
    }

    pub fn lose(&self, fault: &Fault) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault.clone());
    }

    pub fn broken(&self, broken: Broken) -> Fault {
        let retriable = |why| self.fault(FailureClass::Retriable, why);
        match broken {
            Broken::NotStarted { why } => {
                self.fault(FailureClass::NeedsPerson, RemoteFault::NoProgram { why })
            }
            Broken::Lost { said } => {
                let fault = retriable(RemoteFault::Unreachable { said: foreign::shown(&said) });
                self.lose(&fault);
                fault
            }
            Broken::Silent { seconds } => retriable(RemoteFault::Silent { seconds }),
            Broken::Untaken => retriable(RemoteFault::Unintelligible { line: "too much".to_owned() }),
            Broken::Stopped => (FailureClass::Retriable, NotServed::Stopped.into()),
        }
    }

    /// Runs what reads nothing; gives how it ended, and what it printed behind the mark.
    pub fn run(&self, command: &str) -> Result<(Ended, String), Fault> {
        let line = self.line()?;
        let mut output = Bounded { bytes: Vec::new(), most: LISTING };
        let bounds = Bounds { silence: MOST, most: Some(MOST), stop: self.stop };
        let ended = line
            .run(command, &mut io::empty(), &mut output, &bounds)
            .map_err(|broken| self.broken(broken))?;
        let text = foreign::behind_mark(&output.bytes, &ended.said)
            .map_err(|why| self.fault(FailureClass::Retriable, why))?
            .to_owned();
        Ok((ended, text))
    }

    /// Runs what changes something of this name.
    pub fn change(&self, name: &str, command: &str) -> Result<(), Fault> {
        let (ended, _) = self.run(command)?;
        if foreign::is_another(ended.status) {
            let why = RemoteFault::Another { snapshot: name.to_owned() };
            return Err(self.fault(FailureClass::Retriable, why));
        }
        self.judged(&ended)
    }

    /// What a command prints that is to succeed.
    pub fn ask(&self, command: &str) -> Result<String, Fault> {
        let (ended, text) = self.run(command)?;
        self.judged(&ended)?;
        Ok(text)
    }

    pub fn judged(&self, ended: &Ended) -> Result<(), Fault> {
        foreign::judged(ended.status, &ended.said).map_err(|(class, why)| self.fault(class, why))
    }

    /// A dataset that is not there is absent only if its pool is there.
    pub fn absent(&self, dataset: &str) -> Result<(), Fault> {
        let pool = dataset.split('/').next().unwrap_or_default();
        let (ended, _) = self.run(&foreign::exists(pool))?;
        if ended.status != 0 && foreign::is_absent(&ended.said) {
            let why = RemoteFault::NoSuchPool { pool: pool.to_owned() };
            return Err(self.fault(FailureClass::Retriable, why));
        }
        self.judged(&ended)
    }

    /// By a clock that never leaps, in seconds.
    pub fn now(&self) -> u64 {
        self.world.reading().monotonic
    }

    pub fn stuck(stuck: Duration) -> Fault {
        (FailureClass::Retriable, NotServed::Stuck { seconds: stuck.as_secs() }.into())
    }

    /// Runs a command whose output is a stream, and passes on what is behind the mark.
    pub fn fetch(
        &self,
        command: &str,
        to: &mut (dyn Write + Send),
        (stuck, stop): (Duration, &Cancel),
    ) -> Result<(), Fault> {
        let line = self.line()?;
        let mut output = Behind { to, before: Some(Vec::new()) };
        let bounds = Bounds { silence: stuck, most: None, stop };
        let ended = line.run(command, &mut io::empty(), &mut output, &bounds).map_err(|broken| {
            *self.line.lock().unwrap_or_else(PoisonError::into_inner) = None;
            match broken {
                Broken::Silent { .. } => Host::stuck(stuck),
                other => self.broken(other),
            }
        })?;
        if let Some(before) = output.before {
            foreign::behind_mark(&before, &ended.said)
                .map_err(|why| self.fault(FailureClass::Retriable, why))?;
        }
        self.judged(&ended)
    }
}

/// Takes so many bytes, and fails then.
pub struct Bounded {
    pub bytes: Vec<u8>,
    pub most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The most that a login may print before a stream, in bytes.
const GREETING: usize = 64 << 10;

/// Passes on what is behind the mark.
struct Behind<'a> {
    to: &'a mut (dyn Write + Send),
    /// What has come so far; `None`: the mark has come.
    before: Option<Vec<u8>>,
}

impl Write for Behind<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(before) = &mut self.before else { return self.to.write(bytes) };
        let known = before.len();
        before.extend_from_slice(bytes);
        match foreign::end_of_mark(before) {
            Some(end) => {
                // What is left of these bytes is written next.
                self.before = None;
                Ok(end - known)
            }
            None if before.len() > GREETING => Err(io::ErrorKind::FileTooLarge.into()),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_behind_the_mark_is_passed_on_however_it_comes() {
        let stream = [b"Welcome!\norg.cistern:begin\n".to_vec(), (0..=255).collect()].concat();
        for step in [1, 7, 26, 27, 28, 500] {
            let mut passed = Vec::new();
            let mut behind = Behind { to: &mut passed, before: Some(Vec::new()) };
            for part in stream.chunks(step) {
                behind.write_all(part).expect("taken");
            }
            assert!(behind.before.is_none());
            assert_eq!(passed, (0..=255).collect::<Vec<u8>>(), "{step}");
        }
        let mut passed = Vec::new();
        let mut behind = Behind { to: &mut passed, before: Some(Vec::new()) };
        assert!((0..2_000).any(|_| behind.write_all(&[b'x'; 100]).is_err()), "it has a bound");
        assert!(passed.is_empty());
    }
}
