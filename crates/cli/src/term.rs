//! What comes to a terminal: colours, and no other control character of a text of others.

use std::io::{self, Write};

/// What [`paint`] puts around a text.
const COLOURS: [&str; 4] = ["\x1b[1m", "\x1b[0;33m", "\x1b[0;31m", "\x1b[0m"];
const ESCAPE: char = '\x1b';

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Bold,
    Warning,
    Bad,
}

/// The text in its colour where `colour` is set, by OpenZFS's codes (include/libzutil.h).
pub fn paint(colour: bool, tone: Tone, text: &str) -> String {
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Bold => "1",
        Tone::Warning => "0;33",
        Tone::Bad => "0;31",
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// The tone of a state, as `zpool status` colours it.
pub fn of_health(health: api_types::Health) -> Tone {
    use api_types::Health::{Degraded, Faulted, Offline, Online, Removed, Suspended, Unavail};
    match health {
        Online => Tone::Plain,
        Degraded | Offline | Removed => Tone::Warning,
        Faulted | Unavail | Suspended => Tone::Bad,
    }
}

/// A stream of output. On a terminal it shows each control character as `?`, except for ends of
/// lines, returns, tabs and the colours of [`paint`]: a name or a message that others have chosen
/// does not command the terminal. Into files and pipes bytes go as they are.
pub struct Screen<W> {
    to: W,
    is_terminal: bool,
    /// The beginning of a colour.
    held: String,
}

impl<W: Write> Screen<W> {
    pub fn new(to: W, is_terminal: bool) -> Screen<W> {
        Screen { to, is_terminal, held: String::new() }
    }

    fn shown(&mut self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for sign in text.chars() {
            if self.held.is_empty() && sign != ESCAPE {
                shown.push(harmless(sign));
                continue;
            }
            self.held.push(sign);
            if COLOURS.contains(&self.held.as_str()) {
                shown.push_str(&std::mem::take(&mut self.held));
            } else if !COLOURS.iter().any(|colour| colour.starts_with(&self.held)) {
                shown.extend(std::mem::take(&mut self.held).chars().map(harmless));
            }
        }
        shown
    }
}

fn harmless(sign: char) -> char {
    if sign.is_control() && !matches!(sign, '\n' | '\r' | '\t') { '?' } else { sign }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.to.write(bytes);
        }
        let shown = self.shown(&String::from_utf8_lossy(bytes));
        self.to.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_terminal: bool, parts: &[&str]) -> String {
        let mut screen = Screen::new(Vec::new(), is_terminal);
        parts.iter().for_each(|part| screen.write_all(part.as_bytes()).expect("written"));
        String::from_utf8(screen.to).expect("text")
    }

    #[test]
    fn our_colours_pass_and_commands_of_others_do_not() {
        for tone in [Tone::Bold, Tone::Warning, Tone::Bad] {
            let text = paint(true, tone, "a\tb");
            let parts: Vec<String> = text.chars().map(String::from).collect();
            assert_eq!(shown(true, &[&text]), text);
            assert_eq!(shown(true, &parts.iter().map(String::as_str).collect::<Vec<_>>()), text);
        }
        for (hostile, harmless) in [
            ("a\x1b[2Jb\r\n", "a?[2Jb\r\n"),
            ("\x1b]0;title\x07", "?]0;title?"),
            ("\x1b\x1b[1mx", "??[1mx"),
            ("\u{9b}2J\x7f\0", "?2J??"),
            ("\x1b[0;35mx", "?[0;35mx"),
        ] {
            assert_eq!(shown(true, &[hostile]), harmless);
            assert_eq!(shown(false, &[hostile]), hostile);
        }
    }
}
