//! The terminal of `cistern top`: a screen of its own, keys without Enter.
//!
//! Invariant: whatever ends the program but a signal, the terminal is as it was before.

use std::fs::File;
use std::io::{self, Read, Stdout, Write, stdin, stdout};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};
use stdx::os_error::words;

use super::rows::{Order, View};
use crate::fail::Stop;

/// The other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// To the first place; and clears what is behind.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";
/// Where nobody tells how large it is.
const USUAL: (usize, usize) = (24, 80);
const CTRL_C: u8 = 3;

nix::ioctl_read_bad!(window_size, nix::libc::TIOCGWINSZ, nix::libc::winsize);

/// What somebody has pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Quit,
    View(View),
    Next,
    Order(Order),
}

pub struct Screen {
    out: Stdout,
    keys: File,
    before: Termios,
}

impl Screen {
    pub fn open() -> Result<Screen, Stop> {
        let stdin = stdin();
        let keys = stdin.as_fd().try_clone_to_owned().map(File::from).map_err(|error| unusable(&error))?;
        let before = tcgetattr(&keys).map_err(|error| unusable(&error.into()))?;
        let mut own = before.clone();
        own.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG);
        own.control_chars[SpecialCharacterIndices::VMIN as usize] = 0;
        own.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        tcsetattr(&keys, SetArg::TCSANOW, &own).map_err(|error| unusable(&error.into()))?;
        let mut screen = Screen { out: stdout(), keys, before };
        screen.write(ENTER)?;
        Ok(screen)
    }

    fn write(&mut self, text: &str) -> Result<(), Stop> {
        self.out.write_all(text.as_bytes())?;
        Ok(self.out.flush()?)
    }

    /// Lines and columns.
    fn size(&self) -> (usize, usize) {
        let mut size = nix::libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: it is given a descriptor that is open and a structure that outlives the call.
        let told = unsafe { window_size(std::os::fd::AsRawFd::as_raw_fd(&self.out), &raw mut size) };
        match told {
            Ok(_) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row.into(), size.ws_col.into()),
            _ => USUAL,
        }
    }

    /// As many of these lines as there is room for. They have no control characters.
    pub fn show(&mut self, lines: &[String]) -> Result<(), Stop> {
        let (height, width) = self.size();
        let mut text = HOME.to_owned();
        for (number, line) in lines.iter().take(height).enumerate() {
            let line: String = line.chars().take(width).collect();
            let end = if number + 1 < height { "\r\n" } else { "" };
            text.extend([&line, CLEAR_LINE, end]);
        }
        text.push_str(CLEAR_BELOW);
        self.write(&text)
    }

    /// Waits for a key that means something; `None`: none came, or one that says to look at once.
    pub fn key(&mut self, time: Duration) -> Result<Option<Key>, Stop> {
        let patience = PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX);
        let mut wanted = [PollFd::new(self.keys.as_fd(), PollFlags::POLLIN)];
        match poll(&mut wanted, patience) {
            // Interrupted: the window may have another size.
            Ok(0) | Err(nix::errno::Errno::EINTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(unusable(&error.into())),
        }
        let mut byte = [0];
        match self.keys.read(&mut byte) {
            // The terminal is gone.
            Ok(0) => Ok(Some(Key::Quit)),
            Ok(_) => Ok(key_of(byte[0])),
            Err(error) => Err(unusable(&error)),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs neither.
        let _ = self.write(LEAVE);
        let _ = tcsetattr(&self.keys, SetArg::TCSANOW, &self.before);
    }
}

fn key_of(byte: u8) -> Option<Key> {
    Some(match byte {
        b'q' | b'Q' | CTRL_C => Key::Quit,
        b'\t' => Key::Next,
        b'c' | b'1' => Key::View(View::Clients),
        b'f' | b'2' => Key::View(View::Files),
        b'v' | b'3' => Key::View(View::Volumes),
        b'd' | b'4' => Key::View(View::Disks),
        b'o' => Key::Order(Order::Ops),
        b'r' => Key::Order(Order::Reads),
        b'R' => Key::Order(Order::ReadBytes),
        b'w' => Key::Order(Order::Writes),
        b'W' => Key::Order(Order::WriteBytes),
        b't' => Key::Order(Order::Time),
        b'n' => Key::Order(Order::Name),
        _ => return None,
    })
}

fn unusable(error: &io::Error) -> Stop {
    Stop::Fail(format!("cannot use the terminal: {}", words(error)))
}
