//! What a command asks at a terminal, or takes from standard input where that is none. Secrets are
//! not shown while they are typed.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read, Stdin, stdin};
use std::os::fd::AsFd;

use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};
use stdx::os_error::words;

use crate::command::Io;
use crate::fail::{Stop, fail};

/// The longest line, in bytes.
const LINE_MAX: u64 = 4 << 10;
const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const CTRL_U: u8 = 21;
const BACKSPACES: [u8; 2] = [8, 127];

/// Whether there is somebody to ask.
pub fn is_there_somebody() -> bool {
    stdin().is_terminal()
}

/// A line that is no secret. Ctrl-C and Ctrl-D give up.
pub fn line(io: &mut Io<'_>, prompt: &str) -> Result<String, Stop> {
    at_keyboard(io, prompt, Keyboard::lines)
}

/// Whether this is to be done. Where it is not, or nobody can be asked, it ends the command.
pub fn agree(io: &mut Io<'_>, question: &str) -> Result<(), Stop> {
    if !is_there_somebody() {
        return fail("nothing was changed: standard input is no terminal, and -y was not given");
    }
    io.out.flush()?;
    let answer = line(io, &format!("{question} [y/N] "))?;
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { fail("nothing was changed") }
}

/// A password or a code. Ctrl-C and Ctrl-D give up.
pub fn secret(io: &mut Io<'_>, prompt: &str) -> Result<String, Stop> {
    at_keyboard(io, prompt, Keyboard::hidden)
}

fn at_keyboard(
    io: &mut Io<'_>,
    prompt: &str,
    take: fn(Stdin) -> Result<Keyboard, Stop>,
) -> Result<String, Stop> {
    takes_input(io)?;
    let stdin = stdin();
    if !stdin.is_terminal() {
        return read(stdin.lock(), prompt);
    }
    let keys = stdin.as_fd().try_clone_to_owned().map_err(|error| unreadable(&error))?;
    // Before the prompt: who answers at once is neither seen nor interrupts.
    let keyboard = take(stdin)?;
    write!(io.err, "{prompt}")?;
    io.err.flush()?;
    let typed = typed(File::from(keys));
    if keyboard.is_hidden || typed.is_err() {
        writeln!(io.err)?;
    }
    typed
}

/// To be asked before standard input is read: several machines would share it.
pub fn takes_input(io: &Io<'_>) -> Result<(), Stop> {
    match io.asks {
        true => Ok(()),
        false => fail("this takes standard input, so it is for one machine at a time"),
    }
}

fn unreadable(error: &io::Error) -> Stop {
    Stop::Fail(format!("cannot read standard input: {}", words(error)))
}

/// A new password: typed twice, or one line of standard input where `is_piped`.
pub fn new_password(io: &mut Io<'_>, is_piped: bool) -> Result<String, Stop> {
    takes_input(io)?;
    if is_piped {
        return read(stdin().lock(), "password");
    }
    if !is_there_somebody() {
        return fail("standard input is no terminal: --password-stdin takes the password from it");
    }
    let first = secret(io, "New password: ")?;
    if secret(io, "Once more: ")? != first {
        return fail("the two passwords differ");
    }
    Ok(first)
}

/// A line of standard input, which is none that somebody types.
pub fn piped_line(io: &mut Io<'_>) -> Result<String, Stop> {
    takes_input(io)?;
    read(stdin().lock(), "line")
}

/// A line without its end.
fn read(from: impl BufRead, what: &str) -> Result<String, Stop> {
    let what = what.trim_end_matches([':', ' ']);
    let mut line = String::new();
    match from.take(LINE_MAX).read_line(&mut line) {
        Ok(0) => return fail(format!("standard input ends where this is wanted: {what}")),
        Ok(_) => {}
        Err(error) => return Err(unreadable(&error)),
    }
    match line.strip_suffix('\n') {
        Some(whole) => Ok(whole.strip_suffix('\r').unwrap_or(whole).to_owned()),
        None if line.len() as u64 == LINE_MAX => fail("a line of standard input is too long"),
        None => Ok(line),
    }
}

/// A line of keys that do nothing by themselves.
fn typed(mut keys: impl Read) -> Result<String, Stop> {
    let (mut line, mut key) = (Vec::new(), [0]);
    loop {
        match keys.read(&mut key) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(&error)),
            Ok(0) => return fail("given up"),
            Ok(_) => {}
        }
        match key[0] {
            b'\n' | b'\r' => break,
            CTRL_C | CTRL_D => return fail("given up"),
            CTRL_U => line.clear(),
            key if BACKSPACES.contains(&key) => {
                // What follows the first byte of a character goes with it.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            key if (line.len() as u64) < LINE_MAX => line.push(key),
            _ => return fail("a line of standard input is too long"),
        }
    }
    String::from_utf8(line).or_else(|_| fail("what was typed is no text"))
}

/// A terminal no key of which is a signal, as long as this lives: the program does not end before
/// the terminal was set back.
struct Keyboard {
    terminal: Stdin,
    before: Termios,
    is_hidden: bool,
}

impl Keyboard {
    /// It shows nothing, and gives each key at once.
    fn hidden(terminal: Stdin) -> Result<Keyboard, Stop> {
        Keyboard::set(terminal, true, |mode| {
            mode.local_flags.remove(LocalFlags::ECHO | LocalFlags::ICANON);
            mode.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
            mode.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        })
    }

    /// It gives lines; Ctrl-C ends one, too.
    fn lines(terminal: Stdin) -> Result<Keyboard, Stop> {
        Keyboard::set(terminal, false, |mode| {
            mode.control_chars[SpecialCharacterIndices::VEOL as usize] = CTRL_C;
        })
    }

    fn set(terminal: Stdin, is_hidden: bool, change: fn(&mut Termios)) -> Result<Keyboard, Stop> {
        let cannot =
            |error: nix::Error| Stop::Fail(format!("cannot set up the terminal: {}", words(&error.into())));
        let before = tcgetattr(&terminal).map_err(cannot)?;
        let mut mode = before.clone();
        mode.local_flags.remove(LocalFlags::ISIG);
        change(&mut mode);
        let keyboard = Keyboard { terminal, before, is_hidden };
        keyboard.apply(&mode).map_err(cannot)?;
        Ok(keyboard)
    }

    /// What was typed before a secret is no part of it.
    fn apply(&self, mode: &Termios) -> nix::Result<()> {
        let when = if self.is_hidden { SetArg::TCSAFLUSH } else { SetArg::TCSADRAIN };
        tcsetattr(&self.terminal, when, mode)
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = self.apply(&self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_without_its_end_and_not_without_a_bound() {
        for (text, line) in [("a b\n", "a b"), ("a\r\nb\n", "a"), ("a", "a"), ("\n", "")] {
            assert_eq!(read(text.as_bytes(), "x").expect("a line"), line);
        }
        let long = "x".repeat(LINE_MAX as usize + 1);
        for bad in [&b""[..], long.as_bytes(), b"\xff\n"] {
            assert!(read(bad, "x").is_err());
        }
    }

    #[test]
    fn keys_of_a_secret_make_a_line_or_give_up() {
        for (keys, line) in [
            ("ab\n", "ab"),
            ("a\u{e9}\x7fb\rc", "ab"),
            ("\x7f\x08a\n", "a"),
            ("wrong\x15right\n", "right"),
            ("\n", ""),
        ] {
            assert_eq!(typed(keys.as_bytes()).expect("a line"), line, "{keys:?}");
        }
        let long = "x".repeat(LINE_MAX as usize + 1);
        for bad in [&b"a\x03\n"[..], b"\x04", b"a", b"\xff\n", long.as_bytes()] {
            assert!(typed(bad).is_err(), "{bad:?}");
        }
    }
}
