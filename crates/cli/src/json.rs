//! JSON as OpenZFS prints it: one line, members in the order in which they were added.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    Text(String),
    Number(u64),
    Signed(i64),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn object() -> Json {
        Json::Object(Vec::new())
    }
    /// Adds a member, or replaces the one of that name.
    pub fn put(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        let Json::Object(members) = self else { panic!("only an object has members") };
        let (name, value) = (name.into(), value.into());
        match members.iter_mut().find(|(known, _)| *known == name) {
            Some(member) => member.1 = value,
            None => members.push((name, value)),
        }
    }
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Json>) -> Json {
        self.put(name, value);
        self
    }
    /// A number as text, unless `--json-int` asks for numbers.
    pub fn number(value: u64, as_int: bool) -> Json {
        if as_int { Json::Number(value) } else { Json::Text(value.to_string()) }
    }
    /// Text; digits become a number where `--json-int` asks for it.
    pub fn value(text: &str, as_int: bool) -> Json {
        match text.parse() {
            Ok(number) if as_int => Json::Number(number),
            _ => Json::Text(text.to_owned()),
        }
    }
    /// What every document begins with.
    pub fn document(command: &str) -> Json {
        let version = Json::object()
            .with("command", command)
            .with("vers_major", Json::Number(0))
            .with("vers_minor", Json::Number(1));
        Json::object().with("output_version", version)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Text(text)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Text(text) => write!(f, "{}", serde_json::Value::from(text.as_str())),
            Json::Number(number) => write!(f, "{number}"),
            Json::Signed(number) => write!(f, "{number}"),
            Json::List(items) => {
                f.write_str("[")?;
                for (count, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if count == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Json::Object(members) => {
                f.write_str("{")?;
                for (count, (name, value)) in members.iter().enumerate() {
                    let comma = if count == 0 { "" } else { "," };
                    write!(f, "{comma}{}:{value}", serde_json::Value::from(name.as_str()))?;
                }
                f.write_str("}")
            }
        }
    }
}
