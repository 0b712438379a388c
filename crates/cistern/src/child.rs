//! Another program, asked for what it prints: for so long, and for so many bytes.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of output.
const OUTPUT: u64 = 1 << 20;
/// How often it is looked whether it has ended.
const STEP: Duration = Duration::from_millis(20);

/// Why there is no output.
#[derive(Debug)]
pub enum Trouble {
    /// It is not installed.
    Missing,
    /// It did not end in time, and was killed.
    Silent,
    Failed(io::Error),
}

/// What a program prints, whatever its status is: up to a bound, what is behind that is lost.
/// A child that cannot be killed, for it waits for a disk, is left behind.
pub fn output(command: &mut Command, time: Duration) -> Result<Vec<u8>, Trouble> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Trouble::Missing,
        _ => Trouble::Failed(error),
    })?;
    let (tell, told) = mpsc::sync_channel(1);
    let Some(mut from) = child.stdout.take() else {
        return Err(Trouble::Failed(io::ErrorKind::BrokenPipe.into()));
    };
    let read = move || {
        let mut bytes = Vec::new();
        let read = (&mut from).take(OUTPUT).read_to_end(&mut bytes);
        // The rest is passed over, so that it can end.
        let read = read.and_then(|_| io::copy(&mut from, &mut io::sink()));
        // Whoever waited may have gone.
        drop(tell.send(read.map(|_| bytes)));
    };
    thread::Builder::new().name("check-output".to_owned()).spawn(read).map_err(Trouble::Failed)?;
    let until = Instant::now() + time;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(_)) => {
                // A grandchild may hold the pipe.
                return match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(read) => read.map_err(Trouble::Failed),
                    Err(_) => Err(Trouble::Silent),
                };
            }
            Ok(None) => thread::sleep(STEP),
            Err(error) => return Err(Trouble::Failed(error)),
        }
    }
    drop(child.kill());
    // It ends at once, or as soon as its disk lets it: nobody waits for that.
    let reap = move || drop(child.wait());
    drop(thread::Builder::new().name("check-reap".to_owned()).spawn(reap));
    Err(Trouble::Silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Vec<u8>, Trouble> {
        output(Command::new("sh").args(["-c", script]), Duration::from_millis(600))
    }

    #[test]
    fn what_a_program_prints_is_told_up_to_a_bound() {
        assert_eq!(shell("echo told; exit 3").expect("output"), b"told\n");
        assert_eq!(shell("yes | head -c 3000000").expect("output").len() as u64, OUTPUT);
        let missing = output(&mut Command::new("/no/such/program"), Duration::from_secs(1));
        assert!(matches!(missing, Err(Trouble::Missing)));
    }

    #[test]
    fn a_program_that_hangs_or_leaves_a_child_behind_holds_nobody() {
        let begun = Instant::now();
        assert!(matches!(shell("sleep 30"), Err(Trouble::Silent)));
        assert!(matches!(shell("trap '' TERM; sleep 3 & exit 0"), Err(Trouble::Silent)));
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    }
}
