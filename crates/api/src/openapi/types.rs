//! What a row of the table says of its types, and what that is in the description.
//!
//! A query, a body and an answer are types on the wire, or one of the few things that are none.

use std::marker::PhantomData;

use api_types::{Event, Job, StreamEvent};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::schemas::Schemas;
use crate::feed::EVENT_STREAM;

/// No query, or no body.
pub enum Nothing {}
/// The answer of long work: a job, which has ended already where it was quick.
pub enum Started {}
/// The answer is frames without end; see [`StreamEvent`].
pub enum Frames {}
/// The answer is what is in a file.
pub enum Contents {}
/// The answer is a list, perhaps in pages.
pub struct Listed<T>(PhantomData<T>);
/// The answer is a stream of events that does not end by itself soon; see [`Event`].
pub enum Events {}
/// The answer is a stream of such events, which ends by itself.
pub struct Streamed<T>(PhantomData<T>);
/// The answer is this description.
pub enum Description {}
/// The answer is text of metrics.
pub enum Metrics {}
/// The body is a line of JSON, and whatever follows it.
pub struct Line<T>(PhantomData<T>);

/// A status and what is answered with it.
pub type Answer = (&'static str, Value);

/// The three types of a request.
pub struct Types {
    pub parameters: fn(&mut Schemas) -> Vec<Value>,
    pub headers: fn() -> Vec<Value>,
    pub body: fn(&mut Schemas) -> Option<Value>,
    pub answers: fn(&mut Schemas) -> Vec<Answer>,
}

impl Types {
    pub fn of<Q: Asked, B: Posted, A: Told>() -> Types {
        Types { parameters: Q::parameters, headers: A::headers, body: B::body, answers: A::answers }
    }
}

/// A query.
pub trait Asked {
    /// As parameters of the request.
    fn parameters(schemas: &mut Schemas) -> Vec<Value>;
}

/// A body.
pub trait Posted {
    /// `None`: the request has none.
    fn body(schemas: &mut Schemas) -> Option<Value>;
}

/// An answer, of a request that is not refused.
pub trait Told {
    fn answers(schemas: &mut Schemas) -> Vec<Answer>;

    /// Headers of the request that only this answer has a use for.
    fn headers() -> Vec<Value> {
        Vec::new()
    }
}

impl Asked for Nothing {
    fn parameters(_: &mut Schemas) -> Vec<Value> {
        Vec::new()
    }
}

impl<T: JsonSchema> Asked for T {
    fn parameters(schemas: &mut Schemas) -> Vec<Value> {
        let schema = schemas.whole_request::<T>();
        let needed: &[Value] = schema["required"].as_array().map_or(&[], Vec::as_slice);
        let members = schema["properties"].as_object().into_iter().flatten();
        let parameter = |(name, schema): (&String, &Value)| {
            let is_needed = needed.iter().any(|needed| needed == name);
            let mut schema = never_null(schema);
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let mut parameter =
                json!({ "name": name, "in": "query", "required": is_needed, "schema": schema });
            if let Some(description) = description {
                parameter["description"] = description;
            }
            parameter
        };
        members.map(parameter).collect()
    }
}

/// A query has no `null`: a member is there or is not.
fn never_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(object) = schema.as_object_mut() {
        if object.get("default") == Some(&Value::Null) {
            object.remove("default");
        }
        if let Some(Value::Array(kinds)) = object.get_mut("type") {
            kinds.retain(|kind| kind != "null");
            if let [kind] = &mut kinds[..] {
                let kind = kind.take();
                object.insert("type".to_owned(), kind);
            }
        }
        if let Some(Value::Array(forms)) = object.get_mut("anyOf") {
            forms.retain(|form| form["type"] != "null");
        }
    }
    schema
}

impl Posted for Nothing {
    fn body(_: &mut Schemas) -> Option<Value> {
        None
    }
}

impl<T: JsonSchema> Posted for T {
    fn body(schemas: &mut Schemas) -> Option<Value> {
        let schema = schemas.request::<T>();
        Some(json!({
            "description": "An empty body stands for the default of every member.",
            "content": { "application/json": { "schema": schema } },
        }))
    }
}

impl<T: JsonSchema> Posted for Line<T> {
    fn body(schemas: &mut Schemas) -> Option<Value> {
        let schema = schemas.request::<T>();
        Some(json!({
            "description": "A line of JSON, which `x-line` describes; behind it, where a stream is \
                            received, the stream.",
            "required": true,
            "content": { OCTETS: { "schema": { "type": "string" }, "x-line": schema } },
        }))
    }
}

const OCTETS: &str = "application/octet-stream";

impl<T: JsonSchema> Told for T {
    fn answers(schemas: &mut Schemas) -> Vec<Answer> {
        let schema = schemas.answer::<T>();
        let content = json!({ "application/json": { "schema": schema } });
        vec![("200", json!({ "description": "It is done.", "content": content }))]
    }
}

impl Told for Started {
    fn answers(schemas: &mut Schemas) -> Vec<Answer> {
        let schema = schemas.answer::<Job>();
        let description = "A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` \
                           waits for its end. Where it failed, it has the problem.";
        let content = json!({ "application/json": { "schema": schema } });
        vec![("202", json!({ "description": description, "content": content }))]
    }
}

impl Told for Frames {
    fn answers(schemas: &mut Schemas) -> Vec<Answer> {
        let event = schemas.answer::<StreamEvent>();
        let description = "Frames: a byte that says what the frame is (`d`: a part of the stream; `e`: an \
                           event as JSON, which `x-event` describes), its length in four bytes, little \
                           endian, and so many bytes. The last frame is an event, `done` or `failed`.";
        let content = json!({ OCTETS: { "x-event": event } });
        vec![("200", json!({ "description": description, "content": content }))]
    }
}

impl Told for Contents {
    fn answers(_: &mut Schemas) -> Vec<Answer> {
        let content = json!({ OCTETS: {} });
        let description = "The bytes of the file. An answer that breaks off before its length is none.";
        vec![("200", json!({ "description": description, "content": content }))]
    }
}

impl<T: JsonSchema> Told for Listed<T> {
    fn answers(schemas: &mut Schemas) -> Vec<Answer> {
        let schema = schemas.answer::<Vec<T>>();
        let content = json!({ "application/json": { "schema": schema } });
        let link = json!({
            "Link": {
                "description": "Where more may follow: the address of the next page, with `rel=\"next\"` \
                                (RFC 8288). A page that has it may have fewer entries than asked for.",
                "schema": { "type": "string" },
            },
        });
        vec![("200", json!({ "description": "The list.", "headers": link, "content": content }))]
    }
}

impl Told for Events {
    fn answers(schemas: &mut Schemas) -> Vec<Answer> {
        let event = schemas.answer::<Event>();
        let description = "Server-sent events: the `data` of each is JSON, which `x-event` describes, and \
                           its `id` is for `Last-Event-ID`.";
        let content = json!({ EVENT_STREAM: { "schema": { "type": "string" }, "x-event": event } });
        vec![("200", json!({ "description": description, "content": content }))]
    }

    fn headers() -> Vec<Value> {
        vec![json!({
            "name": "Last-Event-ID",
            "in": "header",
            "required": false,
            "schema": { "type": "string" },
            "description": "The `id` of the last event that was taken; goes before `after`.",
        })]
    }
}

impl<T: JsonSchema> Told for Streamed<T> {
    fn answers(schemas: &mut Schemas) -> Vec<Answer> {
        let event = schemas.answer::<T>();
        let description = "Server-sent events: the `data` of each is JSON, which `x-event` describes.";
        let content = json!({ EVENT_STREAM: { "schema": { "type": "string" }, "x-event": event } });
        vec![("200", json!({ "description": description, "content": content }))]
    }
}

impl Told for Metrics {
    fn answers(_: &mut Schemas) -> Vec<Answer> {
        let content = json!({ "text/plain": { "schema": { "type": "string" } } });
        let description = "Metrics in the text format of Prometheus, version 0.0.4.";
        vec![("200", json!({ "description": description, "content": content }))]
    }
}

impl Told for Description {
    fn answers(_: &mut Schemas) -> Vec<Answer> {
        let content = json!({ "application/json": { "schema": { "type": "object" } } });
        vec![("200", json!({ "description": "OpenAPI 3.1.", "content": content }))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api_types::{DatasetQuery, SpaceUseQuery};

    #[test]
    fn members_of_a_query_are_parameters_that_are_never_null() {
        let mut schemas = Schemas::new();
        let parameters = DatasetQuery::parameters(&mut schemas);
        let depth = parameters.iter().find(|it| it["name"] == "depth").expect("a parameter");
        let schema = json!({ "type": "integer", "format": "uint32", "minimum": 0, "maximum": u32::MAX });
        assert_eq!((&depth["schema"], &depth["required"]), (&schema, &json!(false)));
        assert_eq!(depth["description"], "How deep below the roots; absent: all the way.");
        let of = SpaceUseQuery::parameters(&mut schemas);
        assert_eq!((of.len(), &of[0]["required"]), (1, &json!(true)));
        assert!(Nothing::parameters(&mut schemas).is_empty());
    }
}
