//! From what was typed to a request: which command it is, what its words stand for, and questions
//! for all that is missing.
//!
//! Invariants: what comes out has everything that the request needs, each value in the right form;
//! its text is a line that means the same, and has no secret; questions come to an end.

use std::collections::{BTreeMap, BTreeSet};

use api_types::routes;
use serde_json::{Map, Value, json};

use super::document::{Document, Member, Operation, Place, Room, Shape};
use super::nouns::{Command, Taken, find, nouns};
use super::value;
use super::words::{ASKED, Typed, has_secret, hidden, is_bare, is_secret, joined};
use crate::fail::{Stop, usage};

/// How often one thing is asked.
const TRIES: usize = 5;
/// Words that lead to a command.
const MOST_WORDS: usize = 16;
/// The argument that is the line itself, for the history of a pool.
const HISTORY: &str = "history";

/// What is asked where an argument was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    pub name: String,
    pub help: String,
    /// What may be typed.
    pub kind: String,
    pub choices: Vec<String>,
    pub default: Option<String>,
    pub example: String,
    pub is_secret: bool,
}

/// Who answers.
pub trait Somebody {
    fn ask(&mut self, question: &Question) -> Result<String, Stop>;
    /// Says what is wrong with an answer; the question comes again.
    fn object(&mut self, why: &str) -> Result<(), Stop>;
}

/// Nobody is there: what is missing is an error.
pub struct Nobody;

impl Somebody for Nobody {
    fn ask(&mut self, question: &Question) -> Result<String, Stop> {
        let Question { name, kind, .. } = question;
        usage(format!("{name} is missing ({kind})"))
    }

    fn object(&mut self, why: &str) -> Result<(), Stop> {
        usage(why)
    }
}

/// A command with all that it needs.
#[derive(Clone, Debug)]
pub struct Filled {
    pub command: Command,
    pub noun: String,
    /// Each argument by its name, as it was typed.
    texts: BTreeMap<String, Vec<String>>,
    values: BTreeMap<String, Value>,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub path: String,
    /// `None`: it is a GET.
    pub body: Option<Value>,
}

/// Which command is meant, its arguments, and answers of `somebody` for what is missing.
pub fn fill(all: &[Command], mut typed: Typed, somebody: &mut dyn Somebody) -> Result<Filled, Stop> {
    if typed.bare.is_empty() {
        let choices = nouns(all, &typed.verb);
        typed.bare.push(chosen(somebody, "noun", &format!("What to {}.", typed.verb), choices)?);
    }
    let noun = typed.bare.remove(0);
    let candidates = find(all, &typed.verb, &noun);
    if candidates.is_empty() {
        let known = nouns(all, &typed.verb).join(", ");
        return usage(format!("there is no '{} {noun}' at this appliance; there is: {known}", typed.verb));
    }
    let command = pick(&candidates, &mut typed.bare, somebody)?;
    let mut filled = fill_nothing(command, &noun);
    filled.take(&typed)?;
    filled.complete(somebody)?;
    Ok(filled)
}

/// A command without any argument, to tell about it.
pub fn fill_nothing(command: &Command, noun: &str) -> Filled {
    let (texts, values) = (BTreeMap::new(), BTreeMap::new());
    Filled { command: command.clone(), noun: noun.to_owned(), texts, values }
}

/// The one of several that the bare words lead to; words are added until they do.
fn pick<'a>(
    candidates: &[&'a Command],
    bare: &mut Vec<String>,
    somebody: &mut dyn Somebody,
) -> Result<&'a Command, Stop> {
    for _ in 0..MOST_WORDS {
        if let Some(found) = led_to(candidates, bare) {
            return Ok(found);
        }
        let acting = || candidates.iter().filter(|command| !command.action.is_empty());
        let Some(longest) = acting().max_by_key(|command| command.params.len()) else {
            let form = candidates.first().map(|command| command.synopsis(&command.noun)).unwrap_or_default();
            return usage(format!("too many arguments: {form}"));
        };
        let actions = || {
            let of = acting().filter(|command| command.params.len() == longest.params.len());
            of.map(|command| command.action.clone()).collect::<Vec<_>>()
        };
        bare.push(match (longest.params.get(bare.len()), bare.get(longest.params.len())) {
            (Some(name), _) => {
                let question = Question { name: name.clone(), kind: "text".into(), ..Question::default() };
                answered(somebody, &question, &no_name)?
            }
            (None, None) => chosen(somebody, "action", "What to do.", actions())?,
            (None, Some(word)) => {
                return usage(format!("'{word}' is none of: {}", actions().join(", ")));
            }
        });
    }
    usage("too many arguments")
}

/// The command that these words name: by its action, or by their number.
fn led_to<'a>(candidates: &[&'a Command], bare: &[String]) -> Option<&'a Command> {
    let acts = |command: &&&Command| {
        !command.action.is_empty() && bare.get(command.params.len()) == Some(&command.action)
    };
    let plain = || candidates.iter().filter(|command| command.action.is_empty());
    let fits = |command: &&&Command| {
        let behind = bare.len().checked_sub(command.params.len());
        behind.is_some_and(|behind| behind <= room(command))
    };
    let lacks = |command: &&&Command| bare.len() < command.params.len();
    let found = candidates.iter().find(acts);
    // As many words in the path as there are.
    let found = found.or_else(|| plain().filter(fits).max_by_key(|command| command.params.len()));
    found.or_else(|| plain().filter(lacks).min_by_key(|command| command.params.len())).copied()
}

/// What bare words behind the action stand for, and whether that is a list. No secret is among
/// them: it would be seen.
fn open(command: &Command) -> impl Iterator<Item = (&Taken, bool)> {
    let member = |taken: &Taken| command.member(&taken.name);
    let is_open = move |taken: &&Taken| member(taken).is_none_or(|member| !member.is_secret);
    let is_list = |shape: &Shape| matches!(shape, Shape::List(_) | Shape::Pairs);
    let with = move |taken| (taken, member(taken).is_some_and(|member| is_list(&member.shape)));
    command.takes.iter().filter(is_open).map(with)
}

/// How many they may be.
fn room(command: &Command) -> usize {
    let is_endless = open(command).last().is_some_and(|(_, is_list)| is_list);
    if is_endless { usize::MAX } else { open(command).count() }
}

/// An answer that there is nothing against.
fn answered(
    somebody: &mut dyn Somebody,
    question: &Question,
    against: &dyn Fn(&str) -> Option<String>,
) -> Result<String, Stop> {
    for _ in 0..TRIES {
        let mut answer = somebody.ask(question)?;
        if answer.is_empty() {
            answer = question.default.clone().unwrap_or_default();
        }
        let why = match answer.as_str() {
            "" => Some("something is wanted here".to_owned()),
            text if text.contains(char::is_control) => Some("it has a control character".to_owned()),
            text => against(text),
        };
        match why {
            None => return Ok(answer),
            Some(why) => somebody.object(&why)?,
        }
    }
    usage(format!("{} is missing", question.name))
}

fn chosen(somebody: &mut dyn Somebody, name: &str, help: &str, choices: Vec<String>) -> Result<String, Stop> {
    let kind = choices.join(" | ");
    let question = Question { name: name.into(), help: help.into(), kind, choices, ..Question::default() };
    let against = |answer: &str| {
        let is_known = question.choices.iter().any(|choice| choice == answer);
        (!is_known).then(|| format!("'{answer}' is none of: {}", question.kind))
    };
    answered(somebody, &question, &against)
}

/// What is against a text in the place of a name.
fn no_name(text: &str) -> Option<String> {
    (!is_bare(text)).then(|| format!("'{text}' is no name"))
}

impl Filled {
    /// What the words stand for.
    fn take(&mut self, typed: &Typed) -> Result<(), Stop> {
        let mut bare = typed.bare.iter();
        for name in self.command.params.clone() {
            self.texts.extend(bare.next().map(|word| (name, vec![word.clone()])));
        }
        if !self.command.action.is_empty() {
            bare.next();
        }
        let takes: Vec<_> =
            open(&self.command).map(|(taken, is_list)| (taken.name.clone(), is_list)).collect();
        for (at, (name, is_list)) in takes.iter().enumerate() {
            let most = if *is_list && at + 1 == takes.len() { usize::MAX } else { 1 };
            let words: Vec<String> = bare.by_ref().take(most).cloned().collect();
            if !words.is_empty() {
                self.texts.insert(name.clone(), words);
            }
        }
        if let Some(word) = bare.next() {
            return usage(format!("'{word}' is too much: {}", self.command.synopsis(&self.noun)));
        }
        for (name, text) in &typed.pairs {
            self.put(name, text)?;
        }
        for (name, text) in self.command.given {
            let by = |command: &Command| command.member(name).is_some() || command.properties().is_some();
            if !self.has(name) && by(&self.command) {
                self.put(name, text)?;
            }
        }
        Ok(())
    }

    fn put(&mut self, name: &str, text: &str) -> Result<(), Stop> {
        let (name, text) = match (self.command.member(name), self.command.properties()) {
            (Some(member), _) if member.name != HISTORY => (member.name.clone(), text.to_owned()),
            (None, Some(all)) => (all.name.clone(), format!("{name}={text}")),
            _ => {
                let known = self.command.members.iter().filter(|member| member.name != HISTORY);
                let known: Vec<&str> = known.map(|member| member.name.as_str()).collect();
                return usage(format!("there is no argument '{name}'; there is: {}", known.join(", ")));
            }
        };
        self.texts.entry(name).or_default().push(text);
        Ok(())
    }

    /// Whether an argument, or a property by its name, is there.
    fn has(&self, name: &str) -> bool {
        let of_all = |all: &Member| {
            let texts = self.texts.get(&all.name).map_or(&[][..], Vec::as_slice);
            texts.iter().any(|text| text.split_once('=').is_some_and(|(known, _)| known == name))
        };
        self.texts.contains_key(name) || self.command.properties().is_some_and(of_all)
    }

    /// Asks for what is missing or stands for a secret, and makes values of all.
    fn complete(&mut self, somebody: &mut dyn Somebody) -> Result<(), Stop> {
        let needed =
            self.command.takes.iter().filter(|taken| taken.is_needed).map(|taken| taken.name.clone());
        let required = self.command.members.iter().filter(|member| member.is_required);
        let required = required.map(|member| member.name.clone());
        let mut missing: Vec<String> =
            self.command.params.iter().cloned().chain(needed).chain(required).collect();
        // A property may have been given without its name.
        for name in missing.clone() {
            if self.command.member(&name).is_none()
                && let Some(texts) = self.texts.remove(&name)
            {
                texts.iter().try_for_each(|text| self.put(&name, text))?;
            }
        }
        let mut seen = BTreeSet::new();
        missing.retain(|name| seen.insert(name.clone()) && !self.has(name));
        missing.extend(self.take_marks());
        for name in missing {
            self.ask(&name, somebody)?;
        }
        for (name, texts) in &self.texts {
            let Some(member) = self.command.member(name) else { continue };
            let value = value::read(&member.shape, texts);
            let value = value.map_err(|why| Stop::Usage(format!("{name}: {why}")))?;
            self.values.insert(name.clone(), value);
        }
        Ok(())
    }

    /// Takes out arguments and properties that a question mark stands for, and gives their names.
    fn take_marks(&mut self) -> Vec<String> {
        let marks = self.pairs().into_iter().filter(|(_, text)| text == ASKED).map(|(name, _)| name);
        let marks: Vec<String> = marks.collect();
        let properties = self.command.properties().map(|all| all.name.clone());
        for (name, texts) in &mut self.texts {
            let holds_properties = properties.as_ref() == Some(name);
            texts.retain(|text| match text.split_once('=') {
                Some((_, value)) if holds_properties => value != ASKED,
                _ => text != ASKED,
            });
        }
        self.texts.retain(|_, texts| !texts.is_empty());
        marks
    }

    fn ask(&mut self, name: &str, somebody: &mut dyn Somebody) -> Result<(), Stop> {
        let is_param = self.command.params.iter().any(|param| param == name);
        let shape = self.command.member(name).map(|member| member.shape.clone());
        let against = |answer: &str| match &shape {
            _ if is_param && !is_bare(answer) => no_name(answer),
            Some(shape) => value::read(shape, &[answer.to_owned()]).err(),
            None => None,
        };
        let answer = answered(somebody, &self.question(name), &against)?;
        match shape {
            Some(_) => drop(self.texts.insert(name.to_owned(), vec![answer])),
            None => self.put(name, &answer)?,
        }
        Ok(())
    }

    /// What is asked for an argument, or for a property.
    pub fn question(&self, name: &str) -> Question {
        let example = example(&self.noun, name, self.command.member(name).map(|member| &member.shape));
        let Some(member) = self.command.member(name) else {
            let (name, kind, is_secret) = (name.to_owned(), "text".to_owned(), is_secret(name));
            return Question { name, kind, example, is_secret, ..Question::default() };
        };
        let choices = match &member.shape {
            Shape::Choice(words) => words.clone(),
            Shape::Flag => ["yes", "no"].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        };
        let default = member.default.as_ref().map(value::in_query);
        Question {
            name: member.name.clone(),
            help: member.help.clone(),
            kind: value::described(&member.shape),
            choices,
            default: default.filter(|text| !text.is_empty() && text != "null"),
            example,
            is_secret: member.is_secret,
        }
    }

    /// A line with all that it takes.
    pub fn example_line(&self) -> String {
        let Command { verb, params, action, takes, .. } = &self.command;
        let example = |name: &String| self.question(name).example;
        let mut words = vec![(*verb).to_owned(), self.noun.clone()];
        words.extend(params.iter().map(example));
        words.extend(Some(action.clone()).filter(|action| !action.is_empty()));
        let needed = takes.iter().filter(|taken| taken.is_needed);
        words.extend(needed.map(|taken| match self.question(&taken.name) {
            Question { is_secret: true, name, .. } => format!("{name}={ASKED}"),
            asked => asked.example,
        }));
        joined(&words)
    }

    /// The line that means this, without secrets, and without what is meant anyway.
    pub fn text(&self) -> String {
        let mut words = vec![self.command.verb.to_owned()];
        words.extend(self.bare());
        let is_given = |pair: &(String, String)| {
            self.command.given.iter().any(|(name, text)| pair.0 == *name && pair.1 == *text)
        };
        let shown = |(name, text): (String, String)| match self.command.member(&name) {
            Some(member) if member.is_secret => format!("{name}={ASKED}"),
            _ => format!("{name}={text}"),
        };
        words.extend(self.pairs().into_iter().filter(|pair| !is_given(pair)).map(shown));
        joined(&hidden(&words))
    }

    /// The same as it would be typed, with secrets, for another appliance.
    pub fn typed(&self) -> Typed {
        let (bare, pairs) = (self.bare(), self.pairs());
        Typed { verb: self.command.verb.to_owned(), bare, pairs, ..Typed::default() }
    }

    /// The noun, names and the action.
    fn bare(&self) -> Vec<String> {
        let first = |name: &String| self.texts.get(name).and_then(|texts| texts.first()).cloned();
        let mut bare = vec![self.noun.clone()];
        bare.extend(self.command.params.iter().filter_map(first));
        bare.extend(Some(self.command.action.clone()).filter(|action| !action.is_empty()));
        bare
    }

    /// All arguments by their names, properties by their own.
    fn pairs(&self) -> Vec<(String, String)> {
        let properties = self.command.properties().map(|all| all.name.as_str());
        let others = self.texts.iter().filter(|(name, _)| !self.command.params.contains(name));
        let all = others.flat_map(|(name, texts)| texts.iter().map(move |text| (name, text)));
        let pair = |(name, text): (&String, &String)| match text.split_once('=') {
            Some((own, value)) if properties == Some(name) => (own.to_owned(), value.to_owned()),
            _ => (name.clone(), text.clone()),
        };
        all.map(pair).collect()
    }

    /// Whether it has a secret, which is written down nowhere.
    pub fn has_secrets(&self) -> bool {
        self.pairs().iter().any(|(name, value)| {
            self.command.member(name).is_some_and(|member| member.is_secret) || has_secret(name, value)
        })
    }

    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// What is sent for it.
    pub fn request(&self) -> Request {
        let mut body = self.body();
        if self.command.member(HISTORY).is_some() {
            body.insert(HISTORY.to_owned(), format!("cistern shell: {}", self.text()).into());
        }
        let has_body = self.command.members.iter().any(|member| member.place == Place::Body);
        let body = if has_body { Value::Object(body) } else { Value::Null };
        let Command { operation, members, .. } = &self.command;
        Request { path: self.path(&operation.path, members), body: operation.is_post.then_some(body) }
    }

    /// The same with secrets hidden, to be shown.
    pub fn shown(&self) -> String {
        let mut request = self.request();
        for member in self.command.members.iter().filter(|member| member.is_secret) {
            if let Some(value) = request.body.as_mut().and_then(|body| body.get_mut(&member.name)) {
                *value = json!(ASKED);
            }
        }
        let properties = self.command.properties().map_or("", |all| &all.name);
        let body = request.body.as_mut().and_then(|body| body.get_mut(properties));
        for property in body.and_then(Value::as_array_mut).into_iter().flatten() {
            let text = |part: &str| property[part].as_str().unwrap_or_default();
            if has_secret(text("name"), text("value")) {
                property["value"] = json!(ASKED);
            }
        }
        match request.body {
            Some(body) => format!("POST {} {body}", request.path),
            None => format!("GET {}", request.path),
        }
    }

    /// The path of a request that reads what this one is to destroy.
    pub fn preview(&self, document: &Document, reading: &Operation) -> String {
        self.path(&reading.path, &document.members(reading, &Room::new()))
    }

    fn body(&self) -> Map<String, Value> {
        let members = self.command.members.iter().filter(|member| member.place == Place::Body);
        let value = |member: &Member| Some((member.name.clone(), self.values.get(&member.name)?.clone()));
        members.filter_map(value).collect()
    }

    /// A path with its names in it, and a query of those members that it has.
    fn path(&self, path: &str, members: &[Member]) -> String {
        let part = |part: &str| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => routes::segment(&self.values.get(name).map(value::in_query).unwrap_or_default()),
            None => part.to_owned(),
        };
        let path = path.split('/').map(part).collect::<Vec<_>>().join("/");
        let in_query = members.iter().filter(|member| member.place == Place::Query);
        let pair = |member: &Member| {
            let value = self.values.get(&member.name)?;
            Some(format!("{}={}", member.name, routes::segment(&value::in_query(value))))
        };
        let query: Vec<String> = in_query.filter_map(pair).collect();
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }
}

/// What somebody could type.
fn example(noun: &str, name: &str, shape: Option<&Shape>) -> String {
    let known = match (noun.trim_end_matches('s'), name) {
        ("pool", "name" | "which") => "tank",
        ("volume", "name") => "tank/vol1",
        ("snapshot", "name" | "names") | (_, "snapshot" | "snapshots" | "source") => "tank/home@monday",
        ("bookmark", "name") => "tank/home#monday",
        ("clone", "name") => "tank/copy",
        ("filesystem" | "dataset", "name" | "dataset" | "target") | ("share", "target") => "tank/home",
        ("user", "name") => "ada",
        (_, "volsize") => "10G",
        (_, "vdevs" | "data" | "logs") => "mirror:/dev/sdb,/dev/sdc",
        (_, "path") => "/dev/sdb",
        (_, "props" | "fs_props") => "compression=lz4",
        _ => match shape {
            Some(Shape::Choice(words)) => words.first().map_or("", String::as_str),
            Some(Shape::Flag) => "yes",
            Some(Shape::Number(least, _)) => return (*least).max(1).to_string(),
            _ => return name.to_uppercase(),
        },
    };
    known.to_owned()
}
