//! What a shell shows: what nobody has taken yet, and some of what somebody has, for who comes
//! again.
//!
//! Invariant: it is no longer than [`WAITING`] and [`KEPT`] plus what one read of the terminal
//! brings, if [`Output::has_room`] is asked before each.

use api_types::ShellEnd;
use std::collections::VecDeque;

/// Bytes that wait for a reader, and bytes that are kept once he has them.
const WAITING: usize = 256 << 10;
const KEPT: usize = 256 << 10;
/// Bytes of one piece.
const PIECE: usize = 16 << 10;
/// The longest character less one byte.
const CUT: usize = 3;

/// See the module.
#[derive(Default)]
pub struct Output {
    bytes: VecDeque<u8>,
    /// Bytes that were there before these.
    before: u64,
    /// Bytes that were taken, those before included.
    taken: u64,
    ended: Option<ShellEnd>,
}

/// Some of it, as text. No character is in two pieces.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    pub at: u64,
    pub next: u64,
    pub text: String,
}

impl Output {
    fn end(&self) -> u64 {
        self.before + self.bytes.len() as u64
    }

    /// Whether more may be put in.
    pub fn has_room(&self) -> bool {
        self.end() - self.taken < WAITING as u64
    }

    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.trim();
    }

    /// No more comes.
    pub fn finish(&mut self, why: ShellEnd) {
        self.ended = Some(why);
    }

    /// Why no more comes.
    pub fn ended(&self) -> Option<ShellEnd> {
        self.ended
    }

    /// What there is from `at` on, or from where it begins. `None`: nothing yet.
    pub fn take(&mut self, at: u64) -> Option<Piece> {
        // Who names what never was begins where it ends.
        let at = at.clamp(self.before, self.end());
        let from = usize::try_from(at - self.before).unwrap_or(usize::MAX);
        let mut bytes: Vec<u8> = self.bytes.iter().skip(from).take(PIECE).copied().collect();
        let is_all = from + bytes.len() == self.bytes.len();
        let whole = whole(&bytes);
        // What has come to its end is told as it is.
        if !(is_all && self.ended.is_some()) {
            bytes.truncate(whole);
        }
        if bytes.is_empty() {
            return None;
        }
        let next = at + bytes.len() as u64;
        self.taken = self.taken.max(next);
        self.trim();
        Some(Piece { at, next, text: String::from_utf8_lossy(&bytes).into_owned() })
    }

    fn trim(&mut self) {
        let kept = usize::try_from(self.taken - self.before).unwrap_or(usize::MAX);
        let gone = kept.saturating_sub(KEPT);
        self.bytes.drain(..gone);
        self.before += gone as u64;
    }
}

/// Bytes up to a character that is not there as a whole. What is no text is not waited for.
fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(&bytes[bytes.len().saturating_sub(CUT + 1)..]) {
        Ok(_) => bytes.len(),
        Err(_) => {
            let tail = bytes.len().saturating_sub(CUT);
            let begins = |byte: u8| byte >= 0xc0;
            let wanted = |byte: u8| match byte {
                0xf0.. => 4,
                0xe0.. => 3,
                _ => 2,
            };
            let last = (tail..bytes.len()).rev().find(|at| begins(bytes[*at]));
            last.filter(|at| bytes.len() - at < wanted(bytes[*at])).unwrap_or(bytes.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_cut_and_what_is_no_text_is_not_waited_for() {
        let mut output = Output::default();
        for byte in "aé€😀z".bytes() {
            output.put(&[byte]);
        }
        let text = "aé€😀z";
        for cut in 0..=text.len() {
            let mut output = Output::default();
            output.put(&text.as_bytes()[..cut]);
            let first = output.take(0).map_or((0, String::new()), |piece| (piece.next, piece.text));
            output.put(&text.as_bytes()[cut..]);
            let rest = output.take(first.0).map_or(String::new(), |piece| piece.text);
            assert_eq!(first.1 + &rest, text, "{cut}");
        }
        let mut output = Output::default();
        output.put(b"a\xff\x80\x80\x80");
        assert_eq!(output.take(0).expect("a piece").next, 5);
        output.put(b"\xe2\x82");
        assert_eq!(output.take(5), None, "more may come");
        output.finish(ShellEnd::Exited);
        assert_eq!(output.take(5).expect("a piece").text, "\u{fffd}");
        assert_eq!((output.take(7), output.ended()), (None, Some(ShellEnd::Exited)));
    }

    #[test]
    fn it_has_a_bound_and_who_comes_again_is_told_some_of_it_again() {
        let mut output = Output::default();
        let line = [b'x'; 1000];
        while output.has_room() {
            output.put(&line);
        }
        assert!(output.bytes.len() < WAITING + line.len());
        let mut at = 0;
        while let Some(piece) = output.take(at) {
            assert_eq!(piece.at, at);
            at = piece.next;
        }
        assert!(output.has_room());
        for _ in 0..1000 {
            output.put(&line);
            while let Some(piece) = output.take(at) {
                at = piece.next;
            }
        }
        assert!(output.bytes.len() == KEPT && output.end() == at);
        let again = output.take(0).expect("some of it");
        assert_eq!((again.at, again.text.len()), (at - KEPT as u64, PIECE));
        assert_eq!(output.take(u64::MAX), None);
        assert!(output.bytes.len() <= WAITING + KEPT);
    }
}
