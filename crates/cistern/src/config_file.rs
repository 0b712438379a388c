//! The configuration file of `cistern serve`: the options of its command line, by their names.
//!
//! What the file says becomes arguments that stand before those of the command line, so one parser
//! reads both ([`crate::options`]). An option that the command line has is left out of the file's:
//! flags win, also where an option may be repeated. Every line is checked, those that flags
//! replace, too. What is no option, or cannot be its value, is refused with its line and with what
//! to write; nothing is passed over.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::path::Path;

use stdx::os_error::words;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::options::{Named, OPTIONS, Takes, parse};

/// Where a package puts it.
pub const USUAL: &str = "/etc/cistern/cistern.toml";
/// Bytes. A file of options with all their comments is a tenth of this.
const MOST: u64 = 64 << 10;

/// The arguments of a command line, with those before them that its file says: the one that
/// `--config` names, none with `--config off`, else `usual` where that is there.
pub fn with_file(args: &[String], usual: &Path) -> Result<Vec<String>, String> {
    let line = Line::of(args)?;
    let (path, is_named) = match &line.config {
        Some(word) if word == "off" => return Ok(line.others),
        Some(path) => (Path::new(path), true),
        None => (usual, false),
    };
    // Help is given whatever the file is like.
    if line.asks_for_help {
        return Ok(line.others);
    }
    let text = match read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && !is_named => return Ok(line.others),
        Err(error) => return Err(format!("{}: {}", path.display(), words(&error))),
    };
    let said = entries(&text).map_err(|wrong| wrong.told(path, &text))?;
    let kept = said.into_iter().filter(|entry| !line.has(entry.option.name));
    let mut all: Vec<String> = kept.flat_map(|entry| entry.args).collect();
    all.extend(line.others);
    Ok(all)
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    if read as u64 > MOST {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("longer than {MOST} bytes")));
    }
    Ok(text)
}

/// A command line.
#[derive(Default)]
struct Line {
    config: Option<String>,
    asks_for_help: bool,
    /// All but `--config`.
    others: Vec<String>,
    /// What options are among them, without their dashes.
    names: Vec<String>,
}

impl Line {
    fn of(args: &[String]) -> Result<Line, String> {
        let mut line = Line::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let name = arg.split_once('=').map_or(arg.as_str(), |(name, _)| name);
            if name == "--config" {
                let inline = arg.strip_prefix("--config=").map(str::to_owned);
                let path = inline.or_else(|| args.next().cloned());
                line.config = Some(path.ok_or("--config wants a value")?);
                continue;
            }
            line.asks_for_help |= matches!(name, "--help" | "-h");
            line.others.push(arg.clone());
            let Some(name) = name.strip_prefix("--") else { continue };
            line.names.push(name.to_owned());
            let takes = OPTIONS.iter().find(|option| option.name == name).map(|option| option.takes);
            // Its value, which may look like an option.
            if matches!(takes, Some(Takes::Value | Takes::Values)) && !arg.contains('=') {
                line.others.extend(args.next().cloned());
            }
        }
        Ok(line)
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

/// A line of the file that makes sense.
struct Entry {
    option: &'static Named,
    args: Vec<String>,
}

/// What is wrong, and where in the text.
struct Wrong {
    at: Option<Range<usize>>,
    why: String,
}

impl Wrong {
    fn told(self, path: &Path, text: &str) -> String {
        let Some(at) = self.at else { return format!("{}: {}", path.display(), self.why) };
        let before = text.as_bytes().iter().take(at.start);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        format!("{}:{line}: {}", path.display(), self.why)
    }
}

fn entries(text: &str) -> Result<Vec<Entry>, Wrong> {
    let table =
        DeTable::parse(text).map_err(|error| Wrong { at: error.span(), why: error.message().to_owned() })?;
    table.get_ref().iter().map(|(name, value)| entry(name, value)).collect()
}

fn entry(name: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) -> Result<Entry, Wrong> {
    let Some(option) = OPTIONS.iter().find(|option| option.name == name.get_ref().as_ref()) else {
        let all: Vec<&str> = OPTIONS.iter().map(|option| option.name).collect();
        // With its control characters escaped: it goes into logs.
        let why = format!("there is no option {:?}: write one of {}", name.get_ref(), all.join(", "));
        return Err(Wrong { at: Some(name.span()), why });
    };
    let wrong = |why: String| Wrong {
        at: Some(value.span()),
        why: format!("{why}: write {} = {}", option.name, option.example),
    };
    let args = arguments(option, value.get_ref()).map_err(wrong)?;
    // As if it stood alone: what a value may be depends on no machine and no other option.
    parse(&args, 1 << 30, false).map_err(wrong)?;
    Ok(Entry { option, args })
}

/// An entry as the command line has it.
fn arguments(option: &Named, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let arg = |text: &str| format!("--{}={text}", option.name);
    match (option.takes, value) {
        (Takes::Switch, DeValue::Boolean(on)) => Ok(vec![arg(if *on { "on" } else { "off" })]),
        (Takes::Value | Takes::Values, DeValue::String(text)) => Ok(vec![arg(text)]),
        (Takes::Values, DeValue::Array(items)) => {
            let text = |item: &Spanned<DeValue<'_>>| item.get_ref().as_str().map(arg);
            let all: Option<Vec<String>> = items.iter().map(text).collect();
            all.ok_or_else(|| format!("'{}' wants a list of strings", option.name))
        }
        (Takes::Switch, _) => Err(format!("'{}' wants true or false", option.name)),
        (Takes::Value, _) => Err(format!("'{}' wants a string", option.name)),
        (Takes::Values, _) => Err(format!("'{}' wants a string, or a list of strings", option.name)),
    }
}

#[cfg(test)]
mod tests;
