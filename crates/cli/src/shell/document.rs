//! What an appliance says that it can do: its own OpenAPI document, as requests with arguments. So
//! the shell fits an appliance that is older or newer than itself.
//!
//! Invariant: a document is not trusted. References let a short one describe arguments without end:
//! at most [`DEEPEST`] of them are followed in a row, and what is made of all has at most
//! [`MOST_PARTS`] parts with texts of at most [`LONGEST`].

use std::cell::Cell;

use serde_json::Value;

use super::words::is_secret;
use crate::fail::{Stop, fail};

/// References in a row, and types inside types.
const DEEPEST: usize = 8;
/// Parts that the type of one argument may have, and words that one may be.
const MOST_SHAPES: usize = 500;
/// Arguments, and parts of their types, of all requests.
const MOST_PARTS: usize = 100_000;
const MOST_OPERATIONS: usize = 2000;
/// Characters of an explanation; bytes of a name, a word or a default.
const LONGEST: usize = 500;
const JSON: &str = "application/json";

/// A document, and the requests in it that the shell can send.
pub struct Document {
    root: Value,
    pub operations: Vec<Operation>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub id: String,
    /// Else it is a GET.
    pub is_post: bool,
    pub path: String,
    pub summary: String,
    /// It is answered with a job.
    pub is_job: bool,
    /// It is answered with a list.
    pub is_list: bool,
}

/// Where an argument stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Path,
    Query,
    Body,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: String,
    pub place: Place,
    pub shape: Shape,
    /// In a sentence or two; may be empty.
    pub help: String,
    pub default: Option<Value>,
    pub is_required: bool,
    pub is_secret: bool,
}

/// What a value looks like.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Yes or no.
    Flag,
    /// Whole, between two ends.
    Number(i128, i128),
    Text,
    Choice(Vec<String>),
    List(Box<Shape>),
    /// Names with values: properties.
    Pairs,
    /// Parts in order.
    Record(Vec<(String, Shape)>),
    /// One of these, by its name; [`Shape::Nothing`] is the name alone.
    Either(Vec<(String, Shape)>),
    Nothing,
    /// Something else, which is written as JSON.
    Json,
}

/// How much may still be made of a document.
pub struct Room(Cell<usize>);

impl Room {
    /// For a whole document.
    pub fn new() -> Room {
        Room::of(MOST_PARTS)
    }

    fn of(parts: usize) -> Room {
        Room(Cell::new(parts))
    }

    fn left(&self) -> usize {
        self.0.get()
    }

    /// Takes so many parts, where they are left.
    fn take(&self, parts: usize) -> bool {
        let left = self.0.get().checked_sub(parts);
        self.0.set(left.unwrap_or(self.0.get()));
        left.is_some()
    }
}

impl Document {
    pub fn of(root: Value) -> Result<Document, Stop> {
        let mut document = Document { root, operations: Vec::new() };
        let Some(paths) = document.root["paths"].as_object() else {
            return fail("the appliance does not describe itself by OpenAPI");
        };
        let requests = paths.iter().flat_map(|(path, verbs)| {
            [("get", false), ("post", true)].map(|(verb, is_post)| (path, is_post, &verbs[verb]))
        });
        let found = requests.filter_map(|(path, is_post, says)| document.operation(path, is_post, says));
        document.operations = found.take(MOST_OPERATIONS).collect();
        Ok(document)
    }

    pub fn get(&self, id: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.id == id)
    }

    /// The request of that path which only reads.
    pub fn reading(&self, path: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| !operation.is_post && operation.path == path)
    }

    /// `None` where it is not there, does not speak JSON, or takes something else than members.
    fn operation(&self, path: &str, is_post: bool, says: &Value) -> Option<Operation> {
        let id = says["operationId"].as_str()?.to_owned();
        let body = self.followed(&says["requestBody"]);
        if body.is_object() && !self.whole(&body["content"][JSON]["schema"])["properties"].is_object() {
            return None;
        }
        let answer = |status: &str| self.followed(&says["responses"][status]);
        let is_job = answer("202").is_object();
        let told = answer(if is_job { "202" } else { "200" })["content"].get(JSON);
        if told.is_none() && answer("200")["content"].is_object() {
            return None;
        }
        let is_list = told.is_some_and(|told| self.followed(&told["schema"])["type"] == "array");
        let summary = says["summary"].as_str().unwrap_or_default().to_owned();
        Some(Operation { id, is_post, path: path.to_owned(), summary, is_job, is_list })
    }

    /// The arguments of a request, those that it has to have first.
    pub fn members(&self, operation: &Operation, room: &Room) -> Vec<Member> {
        let verb = if operation.is_post { "post" } else { "get" };
        let says = &self.root["paths"][&operation.path][verb];
        let parameters = list(&says["parameters"]).iter();
        let mut members: Vec<Member> =
            parameters.filter_map(|it| self.parameter(self.followed(it), room)).collect();
        let body = self.whole(&self.followed(&says["requestBody"])["content"][JSON]["schema"]);
        let needed = list(&body["required"]);
        for (name, schema) in body["properties"].as_object().into_iter().flatten() {
            let is_required = needed.iter().any(|needed| needed == name);
            members.extend(self.member(
                (name, Place::Body),
                is_required,
                schema,
                &schema["description"],
                room,
            ));
        }
        members.sort_by_key(|member| !member.is_required);
        members
    }

    fn parameter(&self, says: &Value, room: &Room) -> Option<Member> {
        let place = match says["in"].as_str()? {
            "path" => Place::Path,
            "query" => Place::Query,
            _ => return None,
        };
        let is_required = place == Place::Path || says["required"] == true;
        // The description of a name says how it is written in a path; the shell does that.
        let about = if place == Place::Path { &Value::Null } else { &says["description"] };
        self.member((says["name"].as_str()?, place), is_required, &says["schema"], about, room)
    }

    /// `None` where there is no room left, or nobody could type its name.
    fn member(
        &self,
        (name, place): (&str, Place),
        is_required: bool,
        schema: &Value,
        about: &Value,
        room: &Room,
    ) -> Option<Member> {
        if !room.take(1) || name.len() > LONGEST || name.contains(char::is_control) {
            return None;
        }
        let own = Room::of(MOST_SHAPES.min(room.left()));
        let shape = self.shape(schema, DEEPEST, &own);
        room.take(MOST_SHAPES.min(room.left()) - own.left());
        let target = self.whole(schema);
        let about = about.as_str().or(target["description"].as_str()).unwrap_or_default();
        let is_secret = is_secret(name) || target["format"] == "password" || target["writeOnly"] == true;
        let help = about.split_whitespace().collect::<Vec<_>>().join(" ");
        let default = [schema, target].into_iter().find_map(|it| it.get("default"));
        Some(Member {
            name: name.to_owned(),
            place,
            shape,
            help: help.chars().take(LONGEST).collect(),
            default: default.filter(|value| is_short(value)).cloned(),
            is_required,
            is_secret,
        })
    }

    /// What a reference leads to.
    fn followed<'a>(&'a self, mut value: &'a Value) -> &'a Value {
        for _ in 0..DEEPEST {
            let Some(to) = value["$ref"].as_str().and_then(|to| to.strip_prefix('#')) else { break };
            value = self.root.pointer(to).unwrap_or(&Value::Null);
        }
        value
    }

    /// A schema without references, and without `null` beside what it may be else.
    fn whole<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let mut schema = self.followed(schema);
        for _ in 0..DEEPEST {
            let forms = ["anyOf", "allOf", "oneOf"].into_iter().flat_map(|kind| list(&schema[kind]));
            let mut forms = forms.filter(|form| form["type"] != "null");
            let (Some(one), None) = (forms.next(), forms.next()) else { break };
            // A single alternative with a name stays one: [`Shape::Either`] needs its name.
            if one["properties"].is_object() && schema["allOf"].is_null() {
                break;
            }
            schema = self.followed(one);
        }
        schema
    }

    fn shape(&self, schema: &Value, depth: usize, room: &Room) -> Shape {
        let schema = self.whole(schema);
        let forms: Vec<&Value> =
            ["oneOf", "anyOf"].into_iter().flat_map(|kind| list(&schema[kind])).collect();
        let words = words(schema);
        if depth == 0 || !room.take(1 + words.as_ref().map_or(0, Vec::len)) {
            return Shape::Json;
        }
        let part = |schema: &Value| self.shape(schema, depth - 1, room);
        if !forms.is_empty() {
            return self.either(&forms, room, &part);
        }
        if let Some(words) = words {
            return Shape::Choice(words);
        }
        let kinds = list(&schema["type"]);
        let kind = schema["type"]
            .as_str()
            .or_else(|| kinds.iter().filter_map(Value::as_str).find(|it| *it != "null"));
        match kind {
            Some("boolean") => Shape::Flag,
            Some("integer") => {
                let end = |name: &str, none: i128| schema[name].to_string().parse().unwrap_or(none);
                Shape::Number(end("minimum", i64::MIN.into()), end("maximum", u64::MAX.into()))
            }
            Some("string") => Shape::Text,
            Some("array") => match part(&schema["items"]) {
                Shape::Record(parts) if is_pair(&parts) => Shape::Pairs,
                item => Shape::List(Box::new(item)),
            },
            Some("object") => {
                let parts = list(&schema["required"]).iter().filter_map(Value::as_str).take(MOST_SHAPES);
                let parts: Vec<(String, Shape)> =
                    parts.map(|name| (name.to_owned(), part(&schema["properties"][name]))).collect();
                let is_whole = schema["properties"].as_object().is_some_and(|all| all.len() == parts.len());
                if is_whole && !parts.is_empty() { Shape::Record(parts) } else { Shape::Json }
            }
            _ => Shape::Json,
        }
    }

    /// Words alone, or values by their names: `{"mirror": …}`.
    fn either(&self, forms: &[&Value], room: &Room, part: &dyn Fn(&Value) -> Shape) -> Shape {
        let mut all = Vec::new();
        for form in forms.iter().map(|form| self.whole(form)) {
            let named = form["properties"].as_object().filter(|properties| properties.len() == 1);
            match (words(form), named.and_then(|properties| properties.iter().next())) {
                (Some(words), _) if room.take(words.len()) => {
                    all.extend(words.into_iter().map(|word| (word, Shape::Nothing)));
                }
                (None, Some((name, schema))) if name.len() <= LONGEST => {
                    all.push((name.clone(), part(schema)));
                }
                (None, None) if form["type"] == "null" => {}
                _ => return Shape::Json,
            }
        }
        match all.iter().all(|(_, shape)| *shape == Shape::Nothing) {
            true => Shape::Choice(all.into_iter().map(|(name, _)| name).collect()),
            false => Shape::Either(all),
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The words that a schema allows, where it allows nothing else and they are not too many.
fn words(schema: &Value) -> Option<Vec<String>> {
    let all = match &schema["const"] {
        Value::Null => schema["enum"].as_array().filter(|all| all.len() <= MOST_SHAPES)?,
        word => std::slice::from_ref(word),
    };
    let word = |word: &Value| word.as_str().filter(|word| word.len() <= LONGEST).map(str::to_owned);
    all.iter().map(word).collect()
}

/// Whether a default is something that could be shown and typed.
fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() <= LONGEST,
        Value::Number(_) | Value::Bool(_) => true,
        _ => false,
    }
}

fn is_pair(parts: &[(String, Shape)]) -> bool {
    let mut names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names == ["name", "value"] && parts.iter().all(|(_, shape)| *shape == Shape::Text)
}
