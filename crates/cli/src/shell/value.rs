//! From what is typed to what is sent.
//!
//! A list is `a,b`, or its name once for each part; of several forms the one is chosen by its name,
//! `mirror:/dev/sdb,/dev/sdc`, and a bare text is the first form that takes one. Parts of a record
//! stand in their order, the last takes what is left: `raidz:1,/dev/sdb,/dev/sdc,/dev/sdd`. JSON is
//! taken in the place of all but texts and properties.

use serde_json::{Map, Value, json};

use super::document::Shape;

/// How long what is typed may be: whoever means more writes a program.
const LONGEST: usize = 64 << 10;

/// The value of an argument that was given by these texts: more than one only for a list.
pub fn read(shape: &Shape, texts: &[String]) -> Result<Value, String> {
    match (shape, texts) {
        (Shape::List(_) | Shape::Pairs, texts) => {
            let mut all = Vec::new();
            for text in texts {
                match part(shape, text, is_scalar(shape))? {
                    Value::Array(parts) => all.extend(parts),
                    other => all.push(other),
                }
            }
            Ok(Value::Array(all))
        }
        (shape, [text]) => part(shape, text, true),
        _ => Err("it is there more than once".to_owned()),
    }
}

/// Whether a comma separates the parts of a list outside of any other.
fn is_scalar(shape: &Shape) -> bool {
    matches!(shape, Shape::List(item) if matches!(**item, Shape::Text | Shape::Number(..) | Shape::Choice(_)))
}

fn part(shape: &Shape, text: &str, splits: bool) -> Result<Value, String> {
    if text.len() > LONGEST {
        return Err("it is too long".to_owned());
    }
    if text.starts_with(['{', '[']) && !matches!(shape, Shape::Text | Shape::Pairs) {
        return serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"));
    }
    match shape {
        Shape::Flag => match text {
            "true" | "yes" | "on" => Ok(true.into()),
            "false" | "no" | "off" => Ok(false.into()),
            _ => Err(format!("'{text}' is neither yes nor no")),
        },
        Shape::Number(least, most) => {
            let number = text.parse::<i128>().ok().filter(|number| (least..=most).contains(&number));
            let number = number.and_then(|number| {
                u64::try_from(number)
                    .map(Value::from)
                    .or_else(|_| i64::try_from(number).map(Value::from))
                    .ok()
            });
            number.ok_or_else(|| format!("'{text}' is no {}", described(shape)))
        }
        Shape::Text => Ok(text.into()),
        Shape::Choice(words) => match words.iter().any(|word| word == text) {
            true => Ok(text.into()),
            false => Err(format!("'{text}' is none of: {}", words.join(", "))),
        },
        Shape::List(item) if splits => {
            let parts = text.split(',').filter(|text| !text.is_empty());
            parts.map(|text| part(item, text, true)).collect::<Result<_, _>>().map(Value::Array)
        }
        Shape::List(item) => part(item, text, true),
        Shape::Pairs => match text.split_once('=') {
            Some((name, value)) => Ok(json!([{ "name": name, "value": value }])),
            None => Err(format!("'{text}' is no NAME=VALUE")),
        },
        Shape::Record(parts) => {
            let mut record = Map::new();
            let mut rest = Some(text);
            for (at, (name, shape)) in parts.iter().enumerate() {
                let (this, behind) = match (rest, at + 1 == parts.len()) {
                    (Some(rest), false) => rest.split_once(',').map_or((rest, None), |(a, b)| (a, Some(b))),
                    (Some(rest), true) => (rest, None),
                    (None, _) => return Err(format!("'{text}' lacks {name}")),
                };
                record.insert(name.clone(), part(shape, this, true)?);
                rest = behind;
            }
            Ok(Value::Object(record))
        }
        Shape::Either(forms) => either(forms, text),
        Shape::Nothing => Err(format!("'{text}' is too much")),
        Shape::Json => serde_json::from_str(text).map_err(|_| format!("'{text}' is no JSON")),
    }
}

fn either(forms: &[(String, Shape)], text: &str) -> Result<Value, String> {
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    match (forms.iter().find(|(known, _)| known == name), rest) {
        (Some((name, Shape::Nothing)), None) => Ok(name.clone().into()),
        (Some((name, shape)), Some(rest)) => Ok(json!({ name: part(shape, rest, true)? })),
        _ => match forms.iter().find(|(_, shape)| *shape == Shape::Text) {
            Some((name, _)) => Ok(json!({ name: text })),
            None => {
                let names: Vec<&str> = forms.iter().map(|(name, _)| name.as_str()).collect();
                Err(format!("'{text}' begins with none of: {}", names.join(", ")))
            }
        },
    }
}

/// A value in an address.
pub fn in_query(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(in_query).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// What may be typed, in words.
pub fn described(shape: &Shape) -> String {
    match shape {
        Shape::Flag => "yes or no".to_owned(),
        Shape::Number(least, most) => match (*least, *most == i128::from(u64::MAX)) {
            (0, true) => "number".to_owned(),
            (least, true) => format!("number from {least}"),
            (least, false) => format!("number from {least} to {most}"),
        },
        Shape::Text => "text".to_owned(),
        Shape::Choice(words) => words.join(" | "),
        Shape::List(item) => format!("list of {}", described(item)),
        Shape::Pairs => "list of NAME=VALUE".to_owned(),
        Shape::Record(parts) => {
            parts.iter().map(|(name, _)| name.to_uppercase()).collect::<Vec<_>>().join(",")
        }
        Shape::Either(forms) => {
            let form = |(name, shape): &(String, Shape)| match shape {
                Shape::Nothing => name.clone(),
                Shape::Text => "TEXT".to_owned(),
                Shape::Record(_) => format!("{name}:{}", described(shape)),
                _ => format!("{name}:…"),
            };
            forms.iter().map(form).collect::<Vec<_>>().join(" | ")
        }
        Shape::Nothing => "nothing".to_owned(),
        Shape::Json => "JSON".to_owned(),
    }
}
