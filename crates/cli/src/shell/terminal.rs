//! The terminal of the shell: lines with history and completion, questions, secrets that are not
//! shown. Where standard input is no terminal, lines come from it and nobody answers questions.
//!
//! Invariants: no secret comes into the history; its file is for its user alone.

use std::cell::RefCell;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{BufRead, IsTerminal, Read, stdin};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{DefaultHistory, History};
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use stdx::os_error::words;

use super::appliance::Appliance;
use super::fill::{Question, Somebody};
use super::keys::{Places, candidates, is_harmless};
use super::words::LONGEST;
use crate::command::Io;
use crate::fail::{Stop, fail};
use crate::{ask, table};

/// Lines of the history.
const MOST_LINES: usize = 1000;

/// Where the words come from that Tab offers.
struct Sources {
    appliance: Arc<Appliance>,
    places: Places,
    /// Of the question that is open.
    choices: Option<Vec<String>>,
}

struct Keys(Rc<RefCell<Sources>>);

impl Helper for Keys {}
impl Highlighter for Keys {}
impl Validator for Keys {}
impl Hinter for Keys {
    type Hint = String;
}
impl Completer for Keys {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let sources = self.0.borrow();
        let typed = line.get(..at).unwrap_or_default();
        if let Some(choices) = &sources.choices {
            let found = choices.iter().filter(|choice| choice.starts_with(typed));
            return Ok((0, found.filter(|choice| is_harmless(choice)).cloned().collect()));
        }
        Ok(candidates(typed, &sources.appliance, &sources.places))
    }
}

pub struct Terminal {
    /// `None`: standard input is no terminal.
    editor: Option<Editor<Keys, DefaultHistory>>,
    sources: Rc<RefCell<Sources>>,
    history: Option<PathBuf>,
}

impl Terminal {
    pub fn new(appliance: Arc<Appliance>, places: Places) -> Result<Terminal, Stop> {
        let sources = Rc::new(RefCell::new(Sources { appliance, places, choices: None }));
        if !stdin().is_terminal() {
            return Ok(Terminal { editor: None, sources, history: None });
        }
        let config = Config::builder().completion_type(CompletionType::List).history_ignore_space(true);
        let config = config.max_history_size(MOST_LINES).map_err(|error| unusable(&error))?.build();
        let mut editor = Editor::with_config(config).map_err(|error| unusable(&error))?;
        editor.set_helper(Some(Keys(sources.clone())));
        let history = history_file();
        if let Some(file) = &history {
            // Without a history one types more.
            let _ = editor.load_history(file);
        }
        Ok(Terminal { editor: Some(editor), sources, history })
    }

    /// Where the words come from, from now on, that Tab offers.
    pub fn set_sources(&mut self, appliance: Arc<Appliance>, places: Places) {
        *self.sources.borrow_mut() = Sources { appliance, places, choices: None };
    }

    pub fn is_there_somebody(&self) -> bool {
        self.editor.is_some()
    }

    /// The next line; `None` at the end. Ctrl-C makes an empty one.
    pub fn line(&mut self, prompt: &str) -> Result<Option<String>, Stop> {
        let Some(editor) = &mut self.editor else { return piped() };
        match editor.readline(prompt) {
            Ok(line) => Ok(Some(line)),
            Err(ReadlineError::Interrupted) => Ok(Some(String::new())),
            Err(ReadlineError::Eof) => Ok(None),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// Keeps a line that has no secret.
    pub fn remember(&mut self, line: &str) {
        let Some(editor) = &mut self.editor else { return };
        // A history that cannot be written is shorter, and nothing else.
        let is_new = editor.add_history_entry(line).unwrap_or(false);
        if let (true, Some(file)) = (is_new, &self.history)
            && prepared(file).is_ok()
        {
            let _ = editor.history_mut().append(file);
        }
    }

    /// An answer to a question; Ctrl-C and Ctrl-D end the command.
    fn answer(&mut self, prompt: &str, choices: Vec<String>) -> Result<String, Stop> {
        let Some(editor) = &mut self.editor else { return fail("nobody is there to answer") };
        self.sources.borrow_mut().choices = Some(choices);
        let answer = editor.readline(prompt);
        self.sources.borrow_mut().choices = None;
        match answer {
            Ok(answer) => Ok(answer.trim().to_owned()),
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => fail("given up; nothing was done"),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// Whether somebody says yes.
    pub fn agrees(&mut self, question: &str) -> Result<bool, Stop> {
        let choices = ["yes", "no"].map(str::to_owned).to_vec();
        Ok(matches!(self.answer(&format!("{question} (yes/no) "), choices)?.as_str(), "yes" | "y"))
    }
}

/// Questions on the terminal.
pub struct Wizard<'a, 'b> {
    pub terminal: &'a mut Terminal,
    pub io: &'a mut Io<'b>,
}

impl Somebody for Wizard<'_, '_> {
    fn ask(&mut self, question: &Question) -> Result<String, Stop> {
        let Question { name, help, kind, choices, default, example, is_secret } = question;
        if !help.is_empty() {
            writeln!(self.io.out, "  {help}")?;
        }
        if !is_secret {
            let example = if example.is_empty() { String::new() } else { format!(", such as {example}") };
            writeln!(self.io.out, "  {kind}{example}")?;
        }
        self.io.out.flush()?;
        if *is_secret {
            return ask::secret(self.io, &format!("{name}: "));
        }
        let default = default.as_ref().map(|text| format!(" [{text}]")).unwrap_or_default();
        self.terminal.answer(&table::plain(&format!("{name}{default}: ")), choices.clone())
    }

    fn object(&mut self, why: &str) -> Result<(), Stop> {
        Ok(writeln!(self.io.err, "  {why}")?)
    }
}

fn piped() -> Result<Option<String>, Stop> {
    let mut line = String::new();
    match stdin().lock().take(LONGEST).read_line(&mut line) {
        Ok(0) => Ok(None),
        Ok(_) if line.len() as u64 == LONGEST => fail("a line of standard input is too long"),
        Ok(_) => Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned())),
        Err(error) => fail(format!("cannot read standard input: {}", words(&error))),
    }
}

fn unusable(error: &ReadlineError) -> Stop {
    Stop::Fail(format!("cannot use the terminal: {error}"))
}

/// `cistern/history` in `$XDG_STATE_HOME`, which is `~/.local/state`.
fn history_file() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(folder.join("cistern/history"))
}

/// Makes the file with its folder, for its user alone.
fn prepared(file: &Path) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(file).map(drop)
}
