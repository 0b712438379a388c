//! Ctrl-C, and the signals that end the shell.
//!
//! The first Ctrl-C ends a command: it waits for no answer any more, and its output ends. The next
//! one in the same command ends the shell.
//!
//! Invariant: a signal that ends the shell leaves the terminal as it was found.

use std::io::{self, Write, stdin};
use std::thread;

use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{getpgrp, tcgetpgrp};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use stdx::os_error::words;
use tokio::sync::watch;

use crate::fail::Stop;

/// Whether somebody wants the command to end.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Sender<bool>);

impl Interrupt {
    pub fn new() -> Interrupt {
        Interrupt(watch::Sender::new(false))
    }

    /// From now on it hears of Ctrl-C at the terminal.
    pub fn listen(&self) -> Result<(), Stop> {
        let cannot = |error: io::Error| Stop::Fail(format!("cannot take signals: {}", words(&error)));
        let before = tcgetattr(stdin()).map_err(|error| cannot(error.into()))?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]).map_err(cannot)?;
        let interrupt = self.clone();
        let work = move || {
            for signal in signals.forever() {
                let is_first = signal == SIGINT && !interrupt.tell();
                if !is_first {
                    restore(&before);
                    std::process::exit(128 + signal);
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(work).map_err(cannot)?;
        Ok(())
    }

    /// Says that the command is to end. Gives whether that was said already.
    pub fn tell(&self) -> bool {
        self.0.send_replace(true)
    }

    pub fn is_told(&self) -> bool {
        *self.0.borrow()
    }

    /// The next command begins.
    pub fn forget(&self) {
        self.0.send_replace(false);
    }

    pub fn receiver(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }
}

/// A terminal that another program uses now is left alone, and one that is gone needs nothing.
fn restore(before: &Termios) {
    if tcgetpgrp(stdin()) == Ok(getpgrp()) {
        let _ = tcsetattr(stdin(), SetArg::TCSANOW, before);
    }
}

/// Output that ends when somebody has had enough, or after so many bytes.
pub struct Cut<'a> {
    pub to: &'a mut dyn Write,
    pub interrupt: &'a Interrupt,
    pub left: usize,
}

impl Write for Cut<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.interrupt.is_told() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let too_much = || io::Error::other("too much to keep until the whole group has answered");
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(too_much)?;
        self.to.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
