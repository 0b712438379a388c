//! Lines of the shell as words. Quotes keep blanks together; nothing is a variable, a pattern or a
//! pipe, and no line ever comes to the shell of the operating system.
//!
//! Invariant: [`joined`] of words is a line that [`split`] makes the same words of.

use crate::fail::{Stop, usage};

/// A word that stands for a secret which is asked for.
pub const ASKED: &str = "?";
/// Bytes of a line.
pub const LONGEST: u64 = 64 << 10;

/// The words of a line. A `#` where a word could begin ends it. A control character would be a
/// line of its own in a recording, or would command a terminal: none is taken.
pub fn split(line: &str) -> Result<Vec<String>, Stop> {
    if line.len() as u64 > LONGEST {
        return usage("the line is too long");
    }
    if line.contains(|sign: char| sign.is_control() && sign != '\t') {
        return usage("the line has a control character");
    }
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '#' if word.is_none() => break,
            sign if sign.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match signs.next() {
                        Some('\'') => break,
                        Some(sign) => word.push(sign),
                        None => return usage("a quote is not closed"),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match signs.next() {
                        Some('"') => break,
                        Some('\\') => word.extend(signs.next()),
                        Some(sign) => word.push(sign),
                        None => return usage("a quote is not closed"),
                    }
                }
            }
            '\\' => match signs.next() {
                Some(sign) => word.get_or_insert_default().push(sign),
                None => return usage("nothing stands behind the last backslash"),
            },
            sign => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    Ok(words)
}

/// A line of words, with quotes where they are needed.
pub fn joined<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    words.into_iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || "-_./:@=,+%?*~^!{}[]".contains(sign);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// A name and a value, where a word is `NAME=VALUE`.
pub fn pair(word: &str) -> Option<(&str, &str)> {
    let is_name = |name: &str| {
        name.starts_with(|sign: char| sign.is_ascii_alphanumeric())
            && name.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_.:@".contains(sign))
    };
    word.split_once('=').filter(|(name, _)| is_name(name))
}

/// Letters that sentences of a daemon name, such as "use '-r' to destroy …", and the arguments that
/// they stand for.
const LETTERS: [(&str, &[&str]); 3] =
    [("-f", &["force"]), ("-r", &["recursive"]), ("-R", &["recursive", "clones"])];

/// Whether a word is neither an argument with a name nor an option.
pub fn is_bare(word: &str) -> bool {
    pair(word).is_none() && !word.starts_with('-') && word != ASKED
}

/// Whether what has this name is a secret.
pub fn is_secret(name: &str) -> bool {
    const SECRETS: [&str; 8] =
        ["password", "passphrase", "passwd", "secret", "token", "code", "key", "second"];
    let last = name.rsplit(|sign: char| !sign.is_ascii_alphanumeric()).next().unwrap_or_default();
    SECRETS.iter().any(|secret| last.eq_ignore_ascii_case(secret))
}

/// Whether an argument of this name is a secret, or has one: `cistern:iscsi=user=esx,secret=…`.
pub fn has_secret(name: &str, value: &str) -> bool {
    let is_part = |part: &str| pair(part.trim()).is_some_and(|(name, _)| is_secret(name));
    is_secret(name) || value.split(',').any(is_part)
}

/// What stands before the secret in a word; `None`: there is none. Beside `NAME=VALUE`, two options
/// of `iscsi map` take one.
fn before_secret(words: &[String], at: usize) -> Option<&str> {
    let is_option = |word: &str| ["-s", "-S"].contains(&word);
    let (word, earlier) = (words.get(at)?, &words[..at]);
    if earlier.windows(2).any(|two| two == ["iscsi", "map"]) {
        if earlier.last().is_some_and(|word| is_option(word)) {
            return Some("");
        }
        if let Some((option, 1..)) = word.split_at_checked(2).map(|(option, rest)| (option, rest.len()))
            && is_option(option)
        {
            return Some(option);
        }
    }
    let (name, value) = pair(word.trim_start_matches('-'))?;
    has_secret(name, value).then(|| word.find('=').map_or("", |end| &word[..=end]))
}

/// The words with `?` in the place of secrets: what is written down of a line.
pub fn hidden(words: &[String]) -> Vec<String> {
    let hide = |(at, word): (usize, &String)| match before_secret(words, at) {
        Some(before) => format!("{before}{ASKED}"),
        None => word.clone(),
    };
    words.iter().enumerate().map(hide).collect()
}

/// What stands before the `?` in a word, where it stands for a value that is asked for.
pub fn before_asked(words: &[String], at: usize) -> Option<&str> {
    let word = words.get(at)?;
    let named = || pair(word).map(|(name, _)| &word[..=name.len()]);
    before_secret(words, at).or_else(named).filter(|before| word[before.len()..] == *ASKED)
}

/// What a line with a verb says, but for the verb.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    pub verb: String,
    /// A noun, names, an action.
    pub bare: Vec<String>,
    /// `NAME=VALUE`; `--NAME` stands for `NAME=true`.
    pub pairs: Vec<(String, String)>,
    /// `-y`: nothing is asked before something is destroyed.
    pub yes: bool,
    /// `-n`: nothing is done, what would be is shown.
    pub dry: bool,
    pub json: bool,
}

impl Typed {
    pub fn of(words: &[String]) -> Result<Typed, Stop> {
        let Some((verb, words)) = words.split_first() else { return usage("missing command") };
        let mut typed = Typed { verb: verb.clone(), ..Typed::default() };
        for word in words {
            match word.as_str() {
                "-y" => typed.yes = true,
                "-n" => typed.dry = true,
                "--json" => typed.json = true,
                word => match (word.strip_prefix("--"), pair(word)) {
                    (Some(name), _) if pair(&format!("{name}=")).is_some() => {
                        typed.pairs.push((name.to_owned(), "true".to_owned()));
                    }
                    (_, Some((name, value))) => typed.pairs.push((name.to_owned(), value.to_owned())),
                    _ if word.starts_with('-') => {
                        let Some((_, names)) = LETTERS.iter().find(|(letter, _)| *letter == word) else {
                            return usage(format!("invalid option '{word}'"));
                        };
                        let pair = |name: &&str| ((*name).to_owned(), "true".to_owned());
                        typed.pairs.extend(names.iter().map(pair));
                    }
                    _ => typed.bare.push(word.to_owned()),
                },
            }
        }
        Ok(typed)
    }
}
