//! Options as getopt_long(3) takes them: single letters that may be joined, arguments joined or
//! apart, options after operands, `--` to end them.

use crate::fail::{Stop, usage};

/// One option found: its letter, or its long name, and its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    pub value: String,
}

/// What a command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    pub options: Vec<Found>,
    pub operands: Vec<String>,
}

impl Parsed {
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|option| option.name == name)
    }
    /// The last one counts.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|option| option.name == name).map(|option| option.value.as_str())
    }
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.options.iter().filter(move |option| option.name == name).map(|option| option.value.as_str())
    }
    /// That there is no operand.
    pub fn none(&self) -> Result<(), Stop> {
        if self.operands.is_empty() { Ok(()) } else { usage("too many arguments") }
    }
    /// The one operand; `missing` says that there is none.
    pub fn one(&self, missing: &str) -> Result<&String, Stop> {
        match self.operands.as_slice() {
            [] => usage(missing),
            [one] => Ok(one),
            _ => usage("too many arguments"),
        }
    }
    /// The first operand, and those behind it; `missing` says that there is none, or no others.
    pub fn first_and_more(&self, missing: [&str; 2]) -> Result<(&String, &[String]), Stop> {
        match self.operands.split_first() {
            None => usage(missing[0]),
            Some((_, [])) => usage(missing[1]),
            Some(found) => Ok(found),
        }
    }
    /// The two operands; `missing` says that there is none, or no second one.
    pub fn two(&self, missing: [&str; 2]) -> Result<(&String, &String), Stop> {
        match self.operands.as_slice() {
            [] => usage(missing[0]),
            [_] => usage(missing[1]),
            [one, other] => Ok((one, other)),
            _ => usage("too many arguments"),
        }
    }
}

/// `letters` as getopt has it: a colon after a letter that takes an argument. `long` names take
/// none; `json` is `-j`.
pub fn parse(args: &[String], letters: &str, long: &[&str]) -> Result<Parsed, Stop> {
    let long = long.iter().map(|&name| (name, if name == "json" { "j" } else { name }));
    parse_as(args, letters, &long.collect::<Vec<_>>())
}

/// As [`parse`], with long names and what they stand for: a letter, which may take an argument, or
/// themselves. Who has set POSIXLY_CORRECT, as for any program of this system, has no options after
/// the first operand.
pub fn parse_as(args: &[String], letters: &str, long: &[(&str, &str)]) -> Result<Parsed, Stop> {
    parse_in_order(args, letters, long, std::env::var_os("POSIXLY_CORRECT").is_some())
}

/// As [`parse`] without long names, whatever the environment says: options may stand behind
/// operands.
pub fn parse_mixed(args: &[String], letters: &str) -> Result<Parsed, Stop> {
    parse_in_order(args, letters, &[], false)
}

fn parse_in_order(
    args: &[String],
    letters: &str,
    long: &[(&str, &str)],
    options_first: bool,
) -> Result<Parsed, Stop> {
    let mut parsed = Parsed::default();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            parsed.operands.extend(rest.cloned());
            break;
        }
        if let Some(text) = arg.strip_prefix("--") {
            let (name, given) =
                text.split_once('=').map_or((text, None), |(name, given)| (name, Some(given)));
            let Some((_, meaning)) = long.iter().find(|(known, _)| *known == name) else {
                return usage(format!("invalid option '{arg}'"));
            };
            let letter = meaning.parse().ok();
            let takes_value = letter.and_then(|letter| lookup(letters, letter)).unwrap_or(false);
            let value = match given {
                None if takes_value => rest.next().map(String::as_str),
                Some(_) if !takes_value => return usage(format!("invalid option '{meaning}'")),
                given => given.or(Some("")),
            };
            let Some(value) = value else {
                return usage(format!("missing argument for '{arg}' option"));
            };
            parsed.options.push(Found { name: (*meaning).to_owned(), value: value.to_owned() });
            continue;
        }
        let Some(cluster) = arg.strip_prefix('-').filter(|cluster| !cluster.is_empty()) else {
            parsed.operands.push(arg.clone());
            if options_first {
                parsed.operands.extend(rest.cloned());
                break;
            }
            continue;
        };
        let mut chars = cluster.chars();
        while let Some(letter) = chars.next() {
            let Some(takes_value) = lookup(letters, letter) else {
                return usage(format!("invalid option '{letter}'"));
            };
            let mut value = String::new();
            if takes_value {
                value = chars.by_ref().collect();
                if value.is_empty() {
                    let Some(next) = rest.next() else {
                        return usage(format!("missing argument for '{letter}' option"));
                    };
                    value.clone_from(next);
                }
            }
            parsed.options.push(Found { name: letter.to_string(), value });
        }
    }
    Ok(parsed)
}

/// Whether the letter is known, and takes an argument.
fn lookup(letters: &str, letter: char) -> Option<bool> {
    if letter == ':' {
        return None;
    }
    let at = letters.find(letter)?;
    Some(letters[at + letter.len_utf8()..].starts_with(':'))
}

#[cfg(test)]
mod tests;
