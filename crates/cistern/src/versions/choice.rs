//! Which pool versions go to: its guid, by which it is known, and the name that it had.

use std::io;
use std::path::{Path, PathBuf};

use crate::state_file;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub guid: u64,
    pub name: String,
}

pub fn file(state: &Path) -> PathBuf {
    state.join("keeping")
}

/// `None`: nowhere.
pub fn load(state: &Path) -> io::Result<Option<Choice>> {
    let path = file(state);
    let text = state_file::read(&path)?;
    match (text.is_empty(), parse(&text)) {
        (true, _) => Ok(None),
        (false, Some(choice)) => Ok(Some(choice)),
        (false, None) => {
            let why = format!("{}: it names no pool", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }
    }
}

pub fn save(state: &Path, choice: Option<&Choice>) -> io::Result<()> {
    state_file::replace(&file(state), &choice.map(format).unwrap_or_default())
}

pub fn format(choice: &Choice) -> String {
    state_file::line([choice.guid.to_string().as_str(), choice.name.as_str()])
}

pub fn parse(text: &str) -> Option<Choice> {
    let mut fields = state_file::fields(text.strip_suffix('\n')?);
    let (guid, name) = (fields.next()?.parse().ok()?, fields.next()?);
    (!name.is_empty() && fields.next().is_none()).then_some(Choice { guid, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_read_as_it_was_written_and_nothing_else_is_one() {
        let choice = Choice { guid: u64::MAX, name: "tank".into() };
        assert_eq!(parse(&format(&choice)), Some(choice));
        for text in ["", "\n", "1\n", "1\t\n", "x\ttank\n", "1\ttank", "1\ttank\tmore\n", "1\ta\n2\tb\n"] {
            assert!(parse(text).is_none_or(|choice| choice.name.contains('\n')), "{text:?}");
        }
    }
}
