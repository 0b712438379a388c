//! The description of this interface by OpenAPI 3.1, made from the table of requests and the types
//! that its rows name.
//!
//! Nothing in it is written twice: paths, rights and types are those that are served, the schemas
//! come from the types ([`schemas`]), and problems from their kinds.
//!
//! Invariants: a request that is served is in it; no answer has a status that it leaves out.

mod schemas;
mod types;

pub use types::{
    Contents, Description, Events, Frames, Line, Listed, Metrics, Nothing, Started, Streamed, Types,
};

use std::collections::BTreeSet;

use api_types::{API_VERSION, PROBLEM_MEDIA_TYPE, Problem, kind};
use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::etag;
use crate::precondition::Subject;
use crate::problem::describe;
use crate::repeat;
use crate::rights::Right;
use schemas::Schemas;

/// A row of the table, but for its verb and who carries it out.
pub struct Operation {
    pub path: &'static str,
    pub right: Right,
    /// What it is about.
    pub tag: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Its requests may have an `Idempotency-Key`.
    pub takes_keys: bool,
    pub types: Types,
}

/// The description as it is sent.
pub struct Document {
    text: Bytes,
    etag: HeaderValue,
}

impl Document {
    /// Of these verbs and rows.
    pub fn of(operations: impl IntoIterator<Item = (&'static str, Operation)>) -> Document {
        let text = description(operations).to_string();
        let etag = etag::of_bytes(text.as_bytes());
        let etag = HeaderValue::try_from(etag).expect("digits in quotes are a header's value");
        Document { text: text.into(), etag }
    }

    pub fn text(&self) -> Bytes {
        self.text.clone()
    }

    pub fn answer(&self) -> Response {
        let media_type = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        ([(header::ETAG, self.etag.clone()), media_type], self.text.clone()).into_response()
    }
}

fn description(operations: impl IntoIterator<Item = (&'static str, Operation)>) -> Value {
    let mut schemas = Schemas::new();
    let problem = schemas.answer::<Problem>();
    let (mut paths, mut tags) = (Map::new(), Vec::new());
    for (verb, operation) in operations {
        if !tags.contains(&operation.tag) {
            tags.push(operation.tag);
        }
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[verb.to_ascii_lowercase()] = described(verb, &operation, &mut schemas);
    }
    let tags: Vec<Value> = tags.into_iter().map(|tag| json!({ "name": tag })).collect();
    let mut description = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Cistern's management API",
            "version": API_VERSION.to_string(),
            "description": ABOUT,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": tags,
        // Nothing is needed on the Unix socket.
        "security": [{}, { "bearer": [] }, { "cookie": [] }],
        "paths": paths,
        "components": {
            "responses": problem_responses(&problem),
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "An API token." },
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "__Host-cistern",
                    "description": "A session, as a login begins it.",
                },
            },
        },
    });
    schemas.settle(&mut description);
    description
}

const ABOUT: &str = "On the Unix socket the kernel says who asks, and neither token nor session is needed. \
                     Unknown members of a request are refused; unknown members of an answer are to be \
                     ignored. Sizes are in bytes, times in seconds since 1970. Decide by the `type` of a \
                     problem, never by its words.";

fn described(verb: &str, operation: &Operation, schemas: &mut Schemas) -> Value {
    let Operation { path, right, tag, summary, takes_keys, ref types } = *operation;
    let mut parameters = path_parameters(path);
    parameters.extend((types.parameters)(schemas));
    let body = (types.body)(schemas);
    let asks = !parameters.is_empty() || body.is_some();
    parameters.extend((types.headers)());
    let mut responses: Map<String, Value> =
        (types.answers)(schemas).into_iter().map(|(status, answer)| (status.to_owned(), answer)).collect();
    match verb {
        "GET" => parameters.extend(tagged(&mut responses)),
        _ => parameters.extend(conditions(path, takes_keys)),
    }
    for status in problem_statuses(right, asks) {
        responses.insert(
            status.to_string(),
            json!({ "$ref": format!("#/components/responses/problem-{status}") }),
        );
    }
    let whom = match right {
        Right::Stranger => "For everybody, without login.",
        Right::Anyone => "For everybody who is known.",
        Right::Delegated => "For whom the permissions that it takes were delegated to.",
        Right::Account => "For the account that it is about, and administrators.",
        Right::Reader => "For readers, operators and administrators.",
        Right::Operator => "For operators and administrators.",
        Right::Administrator => "For administrators.",
    };
    let mut described = json!({
        "operationId": operation_id(verb, path),
        "tags": [tag],
        "summary": summary,
        "description": whom,
        "x-right": right.name(),
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(body) = body {
        described["requestBody"] = body;
    }
    if right == Right::Stranger {
        described["security"] = json!([]);
    }
    described
}

/// The headers of a request that may be spared its answer, which is JSON, and what it is answered.
fn tagged(responses: &mut Map<String, Value>) -> Option<Value> {
    let answer =
        responses.get_mut("200").filter(|answer| answer["content"].get("application/json").is_some())?;
    let text = json!({ "type": "string" });
    let tag = json!({
        "description": "Of the answer, unless that is longer than 1 MiB: for `If-None-Match`.",
        "schema": text,
    });
    answer["headers"]["ETag"] = tag.clone();
    let known =
        json!({ "description": "It is still the one of `If-None-Match`.", "headers": { "ETag": tag } });
    responses.insert("304".to_owned(), known);
    Some(header_parameter(
        "If-None-Match",
        &text,
        "Tags of answers that are known: `304` says that one still counts.",
    ))
}

/// The headers of a change that say when it is to be made.
fn conditions(path: &str, takes_keys: bool) -> Vec<Value> {
    let mut headers = Vec::new();
    if let Some(subject) = Subject::of(path) {
        let about = format!(
            "Tags of `{}`: if it has none of them any more, nothing is changed, and the answer is `412`.",
            subject.resource()
        );
        headers.push(header_parameter("If-Match", &json!({ "type": "string" }), &about));
    }
    if takes_keys {
        let schema = json!({ "type": "string", "minLength": 1, "maxLength": repeat::LONGEST });
        let about = "Any text that no other request of the account had. Who sends the same request with it again \
                     within a day is answered as the first time, with `Idempotent-Replayed: true`, and nothing \
                     is done twice.";
        headers.push(header_parameter("Idempotency-Key", &schema, about));
    }
    headers
}

fn header_parameter(name: &str, schema: &Value, description: &str) -> Value {
    json!({ "name": name, "in": "header", "required": false, "schema": schema, "description": description })
}

/// `get_pools_name_iostat`: as lasting as the path.
fn operation_id(verb: &str, path: &str) -> String {
    let path = path.strip_prefix("/v1").unwrap_or(path);
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    format!("{}_{}", verb.to_ascii_lowercase(), words.join("_"))
}

/// What stands in braces in a path.
fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| {
        let (schema, description) = match name {
            "id" => {
                let schema =
                    json!({ "type": "integer", "format": "uint64", "minimum": 0, "maximum": u64::MAX });
                (schema, "Its number.")
            }
            _ => (json!({ "type": "string", "minLength": 1 }), "One segment: a slash travels as `%2F`."),
        };
        json!({ "name": name, "in": "path", "required": true, "schema": schema, "description": description })
    };
    names.map(parameter).collect()
}

/// Problems of whatever is asked.
const AT_THE_DOORS: &[&str] =
    &[kind::BAD_REQUEST, kind::UNAUTHENTICATED, kind::MISDIRECTED, kind::UNAVAILABLE, kind::INTERNAL];

/// Statuses of problems that a request may be answered with. One that asks for nothing and that
/// everybody may send does not come to the engine's judgement.
fn problem_statuses(right: Right, asks: bool) -> BTreeSet<u16> {
    let status = |kind: &&str| describe(kind).1;
    match asks || right != Right::Stranger {
        true => kind::ALL.iter().map(status).collect(),
        // Said at the doors: of what the request shows, and where there is no place.
        false => AT_THE_DOORS.iter().map(status).collect(),
    }
}

/// Each status with the kinds of problems that have it.
fn problem_responses(problem: &Value) -> Map<String, Value> {
    let mut responses = Map::new();
    let statuses: BTreeSet<u16> = kind::ALL.iter().map(|kind| describe(kind).1).collect();
    for status in statuses {
        let kinds = kind::ALL.iter().filter(|kind| describe(kind).1 == status);
        let kinds: Vec<String> = kinds.map(|kind| format!("`{kind}` ({})", describe(kind).0)).collect();
        let response = json!({
            "description": format!("A problem: {}.", kinds.join(", ")),
            "content": { PROBLEM_MEDIA_TYPE: { "schema": problem } },
        });
        responses.insert(format!("problem-{status}"), response);
    }
    responses
}
