//! What the operating system says of a failure, as strerror(3) has it: people are not told the
//! number.

use std::io;

/// `Permission denied`, where Rust says `Permission denied (os error 13)`.
pub fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let number = error.raw_os_error().map(|number| format!(" (os error {number})"));
    number.and_then(|number| text.strip_suffix(&number).map(str::to_owned)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
