//! What a command asks at a terminal, or takes from standard input where that is none. Secrets are
//! not shown while they are typed.

use std::io::{BufRead, IsTerminal, Stdin, stdin};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use stdx::os_error::words;

use crate::command::Io;
use crate::fail::{Stop, fail};

/// The longest line, in bytes.
const LINE_MAX: u64 = 4 << 10;

/// Whether there is somebody to ask.
pub fn is_there_somebody() -> bool {
    stdin().is_terminal()
}

/// A line that is no secret.
pub fn line(io: &mut Io<'_>, prompt: &str) -> Result<String, Stop> {
    let stdin = stdin();
    if stdin.is_terminal() {
        write!(io.err, "{prompt}")?;
        io.err.flush()?;
    }
    read(stdin.lock(), prompt)
}

/// A password or a code.
pub fn secret(io: &mut Io<'_>, prompt: &str) -> Result<String, Stop> {
    let stdin = stdin();
    if !stdin.is_terminal() {
        return read(stdin.lock(), prompt);
    }
    write!(io.err, "{prompt}")?;
    io.err.flush()?;
    let _hidden = Hidden::on(stdin)?;
    read(std::io::stdin().lock(), prompt)
}

/// A new password: typed twice, or one line of standard input where `is_piped`.
pub fn new_password(io: &mut Io<'_>, is_piped: bool) -> Result<String, Stop> {
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

/// A line without its end.
fn read(from: impl BufRead, what: &str) -> Result<String, Stop> {
    let what = what.trim_end_matches([':', ' ']);
    let mut line = String::new();
    match from.take(LINE_MAX).read_line(&mut line) {
        Ok(0) => return fail(format!("standard input ends where this is wanted: {what}")),
        Ok(_) => {}
        Err(error) => return fail(format!("cannot read standard input: {}", words(&error))),
    }
    match line.strip_suffix('\n') {
        Some(whole) => Ok(whole.strip_suffix('\r').unwrap_or(whole).to_owned()),
        None if line.len() as u64 == LINE_MAX => fail("a line of standard input is too long"),
        None => Ok(line),
    }
}

/// A terminal that shows nothing but the end of the line, as long as this lives.
struct Hidden {
    terminal: Stdin,
    before: Termios,
}

impl Hidden {
    fn on(terminal: Stdin) -> Result<Hidden, Stop> {
        let cannot =
            |error: nix::Error| Stop::Fail(format!("cannot hide what is typed: {}", words(&error.into())));
        let before = tcgetattr(&terminal).map_err(cannot)?;
        let mut hidden = before.clone();
        hidden.local_flags.remove(LocalFlags::ECHO);
        hidden.local_flags.insert(LocalFlags::ECHONL);
        tcsetattr(&terminal, SetArg::TCSAFLUSH, &hidden).map_err(cannot)?;
        Ok(Hidden { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(&self.terminal, SetArg::TCSAFLUSH, &self.before);
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
}
