//! Calls on paths that may lie on a mount of ours, or of somebody who does not answer: a thread of
//! its own makes each, and is left to itself where that takes too long.

use std::io;
use std::sync::mpsc;
use std::thread::Builder;
use std::time::Duration;

/// What `work` gives, done by a thread that is called `name`.
///
/// # Errors
/// `TimedOut` where it is not done within `bound`: it may be done later. The operating system's,
/// where there can be no thread.
pub fn within<T: Send + 'static>(
    name: &str,
    bound: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (done, result) = mpsc::channel();
    // Nobody hears it who has not waited.
    Builder::new().name(name.to_owned()).spawn(move || drop(done.send(work())))?;
    result.recv_timeout(bound).map_err(|_| io::ErrorKind::TimedOut.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_not_waited_for() {
        assert_eq!(within("quick", Duration::from_secs(60), || 7).unwrap(), 7);
        let (_never, waits) = mpsc::channel::<()>();
        let late = within("slow", Duration::from_millis(10), move || waits.recv());
        assert_eq!(late.map(drop).map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }
}
