use std::collections::BTreeSet;

use axum::body::to_bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::*;
use crate::etag::{Tags, tagged};

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work)
}

fn fetched() -> Value {
    let body = run(async { to_bytes(document().await.into_body(), usize::MAX).await });
    serde_json::from_slice(&body.expect("a body")).expect("JSON")
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().expect("an object").iter()
}

/// Every object in it, by itself and in what is below.
fn objects<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(object) => {
            found.push(value);
            object.values().for_each(|value| objects(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| objects(value, found)),
        _ => {}
    }
}

fn target<'a>(description: &'a Value, reference: &str) -> Option<&'a Value> {
    description.pointer(reference.strip_prefix('#')?)
}

/// A schema and all that it leads to.
fn reachable<'a>(description: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let (mut found, mut seen, mut left) = (Vec::new(), BTreeSet::new(), vec![schema]);
    while let Some(next) = left.pop() {
        let mut here = Vec::new();
        objects(next, &mut here);
        for reference in here.iter().filter_map(|object| object.get("$ref")?.as_str()) {
            if seen.insert(reference) {
                left.extend(target(description, reference));
            }
        }
        found.extend(here);
    }
    found
}

#[test]
fn every_request_is_described_and_nothing_else() {
    let description = fetched();
    let mut described = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for (path, item) in members(&description["paths"]) {
        for (verb, operation) in members(item) {
            described.insert((verb.to_ascii_uppercase(), path.clone()));
            assert!(ids.insert(operation["operationId"].as_str().expect("an id").to_owned()), "{operation}");
            let summary = operation["summary"].as_str().expect("a sentence");
            assert!(summary.ends_with('.') && summary.len() < 80, "{verb} {path}: {summary}");
            assert!(verb == "post" || operation.get("requestBody").is_none(), "{verb} {path}");
            let named = operation["parameters"].as_array().expect("a list").iter();
            let in_path = named.filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(in_path, path.matches('{').count(), "{verb} {path}");
            let responses = &operation["responses"];
            assert!(["200", "202"].iter().any(|status| responses.get(*status).is_some()), "{verb} {path}");
            assert!(responses.get("400").is_some() && responses.get("500").is_some(), "{verb} {path}");
        }
    }
    let served = routes().into_iter().map(|(verb, path, _)| (verb.to_owned(), path.to_owned()));
    assert_eq!(described, served.collect());
    assert_eq!(routes().len(), described.len(), "a request is in the table twice");
}

#[test]
fn every_reference_leads_to_something_and_no_name_stands_for_two_types() {
    let description = fetched();
    let mut all = Vec::new();
    objects(&description, &mut all);
    let mut led_to = BTreeSet::new();
    for reference in all.iter().filter_map(|object| object.get("$ref")?.as_str()) {
        assert!(target(&description, reference).is_some(), "{reference}");
        led_to.insert(reference);
    }
    for (name, schema) in members(&description["components"]["schemas"]) {
        // The generator numbers those whose name is taken.
        assert!(name.chars().all(|c| c.is_ascii_alphabetic()), "{name}");
        assert!(schema.is_object(), "{name}");
        assert!(
            led_to.contains(format!("#/components/schemas/{name}").as_str()),
            "{name}: nothing leads there"
        );
    }
}

#[test]
fn what_is_unknown_in_a_body_is_refused_and_the_description_says_so() {
    let description = fetched();
    let mut bodies = 0;
    for (path, item) in members(&description["paths"]) {
        let Some(body) = item["post"].get("requestBody") else { continue };
        bodies += 1;
        for schema in reachable(&description, body) {
            // Browsers write some, and later ones may say more: these are open on purpose.
            let is_open = schema.get("properties").is_some()
                && schema.get("additionalProperties").is_none_or(|more| !more.is_boolean());
            assert!(!is_open, "{path}: {schema}");
        }
    }
    assert!(bodies > 40, "{bodies}");
    // The answers of later programs may say more.
    for name in ["LogFilter", "Grant", "DeviceFault"] {
        let schemas = &description["components"]["schemas"];
        assert_eq!(schemas[name].get("additionalProperties"), None, "{name}");
        assert_eq!(schemas[format!("{name}Request")]["additionalProperties"], false, "{name}");
    }
}

#[test]
fn members_that_are_written_by_hand_are_described() {
    let description = fetched();
    let schemas = &description["components"]["schemas"];
    let needs = |name: &str, member: &str| {
        let required = schemas[name]["required"].as_array().expect("a list");
        required.iter().any(|it| it == member) && schemas[name]["properties"].get(member).is_some()
    };
    // The condition of a pool and its words, warnings, what is flattened.
    for member in ["condition", "status", "action", "msgid", "readonly"] {
        assert!(needs("PoolStatus", member), "{member}");
    }
    for member in ["condition", "status", "action", "health"] {
        assert!(needs("Importable", member), "{member}");
    }
    for member in ["txg", "warnings", "warned"] {
        assert!(needs("Changed", member), "{member}");
    }
    assert!(schemas["PoolStatus"]["properties"].get("rewound").is_none());
    assert!(schemas["PoolAttach"]["properties"].get("path").is_some());
    assert_eq!(schemas["PoolStatus"]["properties"]["guid"]["maximum"], json!(u64::MAX));
    let event = &description["paths"][routes::SEND]["post"]["responses"]["200"]["content"];
    assert_eq!(event["application/octet-stream"]["x-event"]["$ref"], "#/components/schemas/StreamEvent");
}

async fn answered(headers: HeaderMap) -> Response {
    tagged(Tags::of(&headers, header::IF_NONE_MATCH), document().await).await
}

#[test]
fn who_has_the_description_is_told_so() {
    let asked = |tags: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for tag in tags {
            headers.append(header::IF_NONE_MATCH, HeaderValue::from_static(tag));
        }
        run(answered(headers))
    };
    let first = asked(&[]);
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(first.headers()[header::CONTENT_TYPE], "application/json");
    let tag = first.headers()[header::ETAG].clone();
    let known = |list: String| {
        let list = HeaderValue::try_from(list).expect("text");
        run(answered(HeaderMap::from_iter([(header::IF_NONE_MATCH, list)])))
    };
    let tag = tag.to_str().expect("text");
    for list in [tag.to_owned(), format!("\"other\", W/{tag}"), "*".to_owned()] {
        let answer = known(list.clone());
        assert_eq!(answer.status(), StatusCode::NOT_MODIFIED, "{list}");
        assert_eq!(answer.headers()[header::ETAG], tag);
        assert!(run(to_bytes(answer.into_body(), 1)).expect("it is empty").is_empty());
    }
    for tags in [&["\"other\""][..], &["", "other"], &["\"other\",,", "W/\"\""]] {
        assert_eq!(asked(tags).status(), StatusCode::OK, "{tags:?}");
    }
}
