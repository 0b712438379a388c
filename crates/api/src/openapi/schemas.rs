//! The schemas of all types of the description, made from the types themselves.
//!
//! A type that is read has another schema than the same type when it is written: what may be left
//! out of a request is always there in an answer, and what is unknown is refused in a request and
//! ignored in an answer. So there are two generators. Where the two schemas of one type are one,
//! the description has it once; otherwise the request's has `Request` behind its name.
//!
//! Invariants: a name stands for one schema, and every reference leads to a schema.

use std::collections::BTreeSet;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// Where the two generators say that their schemas are. All are below `SCHEMAS` in the end.
const REQUESTS: &str = "/components/requests";
const SCHEMAS: &str = "/components/schemas";

/// Schemas that were asked for, and all that these lead to.
pub struct Schemas {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Schemas {
    pub fn new() -> Schemas {
        let generator = |settings: SchemaSettings, place: &'static str| {
            let settings = settings.with(|settings| {
                settings.definitions_path = place.into();
                settings.meta_schema = None;
            });
            settings.with_transform(exact).into_generator()
        };
        Schemas {
            requests: generator(SchemaSettings::draft2020_12().for_deserialize(), REQUESTS),
            answers: generator(SchemaSettings::draft2020_12().for_serialize(), SCHEMAS),
        }
    }

    /// Of what is read. References in it are settled by [`Schemas::settle`].
    pub fn request<T: JsonSchema>(&mut self) -> Value {
        let schema = self.requests.subschema_for::<T>();
        finished(&mut self.requests, schema)
    }

    /// Of what is read, by itself rather than by reference.
    pub fn whole_request<T: JsonSchema>(&mut self) -> Value {
        let schema = T::json_schema(&mut self.requests);
        finished(&mut self.requests, schema)
    }

    /// Of what is written.
    pub fn answer<T: JsonSchema>(&mut self) -> Value {
        let schema = self.answers.subschema_for::<T>();
        finished(&mut self.answers, schema)
    }

    /// Puts all schemas into the description, and has its references lead to them.
    pub fn settle(mut self, description: &mut Value) {
        let requests = self.requests.take_definitions(true);
        let mut all = self.answers.take_definitions(true);
        all.values_mut().for_each(open);
        let twins = twins(&requests, &all);
        for (name, mut schema) in requests {
            refer(&mut schema, &twins);
            let name = request_name(&name, &twins);
            let before = all.insert(name.clone(), schema);
            let is_same = before.is_none_or(|before| all.get(&name) == Some(&before));
            debug_assert!(is_same, "two schemas of the name {name}");
        }
        refer(description, &twins);
        description["components"]["schemas"] = Value::Object(all);
    }
}

fn finished(generator: &mut SchemaGenerator, mut schema: Schema) -> Value {
    for transform in generator.transforms_mut() {
        transform.transform(&mut schema);
    }
    schema.to_value()
}

/// Names that stand for one schema in requests and for another in answers.
fn twins(requests: &Map<String, Value>, answers: &Map<String, Value>) -> BTreeSet<String> {
    let mut twins = BTreeSet::new();
    loop {
        let before = twins.len();
        for (name, asked) in requests {
            let Some(told) = answers.get(name) else { continue };
            // Whoever refers to a twin is one, too.
            let mut asked = asked.clone();
            refer(&mut asked, &twins);
            if asked != *told {
                twins.insert(name.clone());
            }
        }
        if twins.len() == before {
            return twins;
        }
    }
}

fn request_name(name: &str, twins: &BTreeSet<String>) -> String {
    if twins.contains(name) { format!("{name}Request") } else { name.to_owned() }
}

/// Has references to schemas of requests lead to where these are in the end.
fn refer(value: &mut Value, twins: &BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(to) if key == "$ref" => {
                        let name = to.strip_prefix('#').and_then(|to| to.strip_prefix(REQUESTS));
                        let name = name.and_then(|name| name.strip_prefix('/'));
                        if let Some(name) = name {
                            *to = format!("#{SCHEMAS}/{}", request_name(name, twins));
                        }
                    }
                    value => refer(value, twins),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refer(item, twins)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An answer may get more members.
fn open(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut()
        && object.get("additionalProperties") == Some(&Value::Bool(false))
    {
        object.remove("additionalProperties");
    }
}

/// Says what Rust's types hold, and describes it without Rust's marks.
fn exact(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut() {
        bound(object);
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = plain(text);
        }
    }
    transform_subschemas(&mut exact, schema);
}

/// The ends of integers that the generator leaves open.
fn bound(schema: &mut Map<String, Value>) {
    let format = schema.get("format").and_then(Value::as_str).map(str::to_owned);
    let mut set = |name: &str, value: Value| drop(schema.insert(name.to_owned(), value));
    match format.as_deref() {
        Some("uint32") => set("maximum", u32::MAX.into()),
        Some("uint64" | "uint") => {
            set("format", "uint64".into());
            set("maximum", u64::MAX.into());
        }
        Some("int64") => {
            set("minimum", i64::MIN.into());
            set("maximum", i64::MAX.into());
        }
        _ => {}
    }
}

/// A comment of the code as text: lines of a paragraph become one, and links become names.
fn plain(comment: &str) -> String {
    let paragraphs = comment.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    let text = paragraphs.collect::<Vec<_>>().join("\n\n");
    text.replace("[`crate::", "[`").replace("[`", "`").replace("`]", "`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    struct Inner {
        count: u64,
    }

    /// See [`crate::Inner`],
    /// and more.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Outer {
        inner: Inner,
        kind: Kind,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    enum Kind {
        One,
    }

    #[test]
    fn a_type_that_is_read_otherwise_than_it_is_written_has_two_names() {
        let mut schemas = Schemas::new();
        let asked = schemas.request::<Outer>();
        let told = schemas.answer::<Vec<Outer>>();
        let mut all = json!({ "components": {}, "asked": asked, "told": told });
        schemas.settle(&mut all);
        assert_eq!(all["asked"], json!({ "$ref": "#/components/schemas/OuterRequest" }));
        assert_eq!(all["told"]["items"], json!({ "$ref": "#/components/schemas/Outer" }));
        let schemas = all["components"]["schemas"].as_object().expect("an object");
        let mut names: Vec<&str> = schemas.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["Inner", "InnerRequest", "Kind", "Outer", "OuterRequest"]);
        let inner = &schemas["InnerRequest"];
        assert_eq!((&inner["additionalProperties"], inner.get("required")), (&json!(false), None));
        let count = &schemas["Inner"]["properties"]["count"];
        assert_eq!((&count["maximum"], &count["minimum"]), (&json!(u64::MAX), &json!(0)));
        assert_eq!(schemas["Inner"]["required"], json!(["count"]));
        assert_eq!(schemas["Inner"].get("additionalProperties"), None);
        let refers = &schemas["OuterRequest"]["properties"]["inner"]["$ref"];
        assert_eq!(refers, "#/components/schemas/InnerRequest");
        assert_eq!(schemas["Outer"]["description"], "See `Inner`, and more.");
    }
}
