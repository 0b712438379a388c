//! An appliance that the shell talks to: what it can do, and carrying that out.

use std::sync::OnceLock;
use std::time::Duration;

use api_types::{Job, PropertyTables, routes};
use serde_json::Value;

use super::document::Document;
use super::fill::Filled;
use super::nouns::{Command, commands};
use super::show::{self, short};
use crate::client::{CallError, Client};
use crate::command::Io;
use crate::fail::{Stop, fail};
use crate::{complete, human, jobs, table};

/// How long a prompt or a key waits for an appliance that does not answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Names that are shown of what would be destroyed.
const MOST_LOST: usize = 20;

pub struct Appliance {
    /// `local`, or where it is.
    pub name: String,
    pub client: Client,
    known: OnceLock<(Document, Vec<Command>)>,
    properties: OnceLock<PropertyTables>,
}

impl Appliance {
    pub fn new(client: Client) -> Appliance {
        let name = client.host().map_or_else(|| "local".to_owned(), ToString::to_string);
        Appliance { name, client, known: OnceLock::new(), properties: OnceLock::new() }
    }

    /// Its description of itself; it is asked for once.
    fn known(&self) -> Result<&(Document, Vec<Command>), Stop> {
        if let Some(known) = self.known.get() {
            return Ok(known);
        }
        Ok(self.know(Document::of(self.client.get(routes::OPENAPI)?)?))
    }

    /// Keeps its description, where nobody was quicker.
    pub fn know(&self, document: Document) -> &(Document, Vec<Command>) {
        self.known.get_or_init(|| {
            let commands = commands(&document);
            (document, commands)
        })
    }

    pub fn commands(&self) -> Result<&[Command], Stop> {
        self.known().map(|(_, commands)| commands.as_slice())
    }

    /// Its daemon, which is to answer quickly.
    pub fn soon(&self) -> Client {
        self.client.within(PATIENCE)
    }

    /// What it can do, where it answers quickly.
    pub fn commands_soon(&self) -> &[Command] {
        if self.known.get().is_none() {
            let told = self.soon().get(routes::OPENAPI);
            // No answer is no commands, this time.
            if let Some(document) = told.ok().and_then(|told| Document::of(told).ok()) {
                self.know(document);
            }
        }
        self.known.get().map_or(&[], |(_, commands)| commands.as_slice())
    }

    /// Names of the properties of a noun, where it tells them quickly.
    pub fn properties(&self, noun: &str) -> Vec<(String, String)> {
        if self.properties.get().is_none()
            && let Ok(tables) = self.soon().get(routes::PROPERTIES)
        {
            // Another thread that was quicker has the same.
            let _ = self.properties.set(tables);
        }
        let Some(tables) = self.properties.get() else { return Vec::new() };
        let rows = if noun == "pool" { &tables.pools } else { &tables.datasets };
        rows.iter().map(|row| (row.name.clone(), row.values.clone())).collect()
    }

    /// Names of things of a noun that begin so, where it tells them quickly.
    pub fn names(&self, noun: &str, begin: &str) -> Vec<String> {
        let client = self.soon();
        if ["dataset", "filesystem", "volume", "snapshot", "bookmark"].contains(&noun) {
            let words = ["cistern", "zfs", "destroy", begin].map(str::to_owned);
            return complete::words(&words, &client);
        }
        let lists = |command: &&Command| {
            command.verb == "show"
                && command.noun == noun
                && command.params.is_empty()
                && command.operation.is_list
        };
        let Some(list) = self.commands_soon().iter().find(lists) else { return Vec::new() };
        // No answer is no names.
        let found: Vec<Value> = client.get(&list.operation.path).unwrap_or_default();
        let name = |item: &Value| match (&item["name"], &item["id"]) {
            (Value::String(name), _) => Some(name.clone()),
            (_, Value::Number(id)) => Some(id.to_string()),
            _ => None,
        };
        found.iter().filter_map(name).collect()
    }

    /// Who we are there, and which pools are not well: for the prompt.
    pub fn state(&self) -> String {
        let client = self.soon();
        let me = match client.get::<Value>(routes::ME) {
            Ok(me) => me,
            // An older daemon knows no roles.
            Err(CallError::Refused(_)) => Value::Null,
            Err(CallError::Transport(_)) => return format!("{} not answering", self.name),
        };
        let role = me["role"].as_str().unwrap_or("user");
        let pools: Vec<Value> = client.get(routes::POOLS).unwrap_or_default();
        let unwell = pools.iter().filter_map(|pool| {
            let health = pool["health"].as_str().filter(|health| *health != "ONLINE")?;
            Some(format!(" {}:{health}", pool["name"].as_str()?))
        });
        short(table::plain(&format!("{} {role}{}", self.name, unwell.collect::<String>())))
    }

    /// What a command would destroy, in words.
    pub fn lost(&self, filled: &Filled) -> Result<String, Stop> {
        let (document, _) = self.known()?;
        let path = &filled.command.operation.path;
        if let Some(plan) = document.reading(path) {
            let plan: Value = self.client.get(&filled.preview(document, plan))?;
            let names: Vec<&str> = texts(&plan["names"]).collect();
            let bytes = plan["bytes"].as_u64().map(|bytes| format!(" ({})", human::nicebytes(bytes)));
            return Ok(listed(&names) + &bytes.unwrap_or_default());
        }
        let name = filled.command.params.first().and_then(|name| filled.value(name)?.as_str());
        match (filled.command.noun.as_str(), name) {
            ("pool", Some(pool)) if filled.command.verb == "destroy" => {
                let path = format!("{}?roots={}&props=used", routes::DATASETS, routes::segment(pool));
                let all: Vec<Value> = self.client.get(&path)?;
                let names: Vec<&str> = all.iter().filter_map(|it| it["name"].as_str()).collect();
                Ok(format!("the pool with all its snapshots and {}", listed(&names)))
            }
            (_, Some(name)) if filled.command.action == "rollback" => {
                Ok(format!("what was written since {}", table::plain(name)))
            }
            _ => Ok(filled.text()),
        }
    }

    /// Carries it out and prints the answer.
    pub fn perform(&self, filled: &Filled, json: bool, io: &mut Io<'_>) -> Result<(), Stop> {
        let request = filled.request();
        let answer = match &request.body {
            None => self.client.get::<Value>(&request.path)?,
            Some(body) if filled.command.operation.is_job => {
                let begun: Job = self.client.post(&request.path, body)?;
                let result = jobs::result(jobs::wait(&self.client, io, begun)?)?;
                let warnings = result.warnings.sentences;
                return Ok(warnings.iter().try_for_each(|text| writeln!(io.err, "{text}"))?);
            }
            Some(body) => self.client.post::<Value>(&request.path, body)?,
        };
        if json {
            return table::json(io, &answer);
        }
        for text in texts(&answer["warnings"]).chain(texts(&answer["failed"])) {
            writeln!(io.err, "{}", table::plain(text))?;
        }
        // A change that was made says no more, as with zpool and zfs.
        let is_change = answer.get("txg").is_some() || answer.get("failed").is_some();
        if filled.command.verb == "show" || !is_change {
            let noun = if filled.command.action.is_empty() { filled.noun.as_str() } else { "" };
            show::print(io, noun, &answer)?;
        }
        match texts(&answer["failed"]).next() {
            Some(_) => fail("not everything was done"),
            None => Ok(()),
        }
    }
}

/// The texts of a list.
fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(MOST_LOST).map(|name| table::plain(name)).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MOST_LOST) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ if names.is_empty() => "nothing that it names".to_owned(),
        _ => shown,
    }
}
