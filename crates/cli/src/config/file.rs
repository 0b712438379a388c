//! The file: TOML, with comments for who reads it.
//!
//! Invariants: equal states are equal files, byte for byte. What is wrong with a file is told with
//! its line and column, and without the line itself, which may have a secret. Whatever it says, no
//! value is taken that could not be set by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::fs::File;
use std::io::Read;
use std::marker::PhantomData;
use std::path::Path;

use api_types::{WORKSHEET_NAME, WORKSHEET_PANES};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use stdx::number;
use toml::de::DeTable;

use super::state::{
    Account, Dataset, Place, Route, Service, State, VERSION, Worksheet, canonical, grant, place,
};
use crate::fail::{Stop, fail};
use crate::files;
use crate::table::plain;
use crate::zfs::{is_permission, name_fault};

/// Largest file that is written and read, in bytes: some 40,000 datasets. Whatever it has, reading
/// it takes some 40 times as much memory, and seconds.
const LARGEST: u64 = 16 << 20;
/// Longest name of a user or service, of a route, and highest number that a user may be given
/// (`machine`).
const LONGEST_NAME: usize = 32;
const LONGEST_ROUTE: usize = 64;
const HIGHEST_UID: u32 = 2_100_000_000;

const HEAD: &str = "\
# The configuration of a Cistern appliance, as 'cistern export-config' has written it.
# 'cistern diff FILE' tells how an appliance differs, 'cistern apply FILE' changes it. No data is in here, no snapshot, no
# password, no secret of a route. Each list that it was made of is of one moment, but not all of the same one.
";
const LOG: &str = "\n# What the daemon logs, until it ends.\n";
const TUNABLES: &str =
    "\n# Tunables that are not at their defaults; they hold until the daemon ends.\n[tunable]\n";
const USERS: &str =
    "\n# Accounts for HTTPS. Who is added by 'apply' has no password: cistern user change NAME --password\n";
const ALERTS: &str = "\n# From where on something is an alert.\n";
const ROUTES: &str = "
# Whom alerts are told. What lets a route in is not here: a route that is there keeps its secret and its URL. To have one made,
# write the URL whole, and where it takes one 'secret = \"...\"'.
[route]
";
const SERVICES: &str = "
# What looks after the data. A file without [service] or [route] says nothing of these.
[service]
";
const WORKSHEETS: &str = "
# Panes of analytics that are kept, with their alerts. A file without [worksheet] says nothing of these.
[worksheet]
";
const DATASETS: &str = "
# File systems and volumes. 'created' is fixed since the dataset was made; 'properties' are those that are set here, all
# others are inherited; 'received' came with a stream, and is told only; 'allow' is what 'zfs allow' delegates here.
";
const END: &str = "\n# A file without this line was not written whole.\n[end]\n";

/// The text of a file; refused where [`read`] would refuse it.
pub fn write(state: &State) -> Result<String, Stop> {
    let mut text = format!("{HEAD}version = {VERSION}\n");
    // Writing to a text cannot fail.
    let _ = write_machine(&mut text, state);
    if let Some(settings) = &state.alerts {
        text.push_str(ALERTS);
        write_table(&mut text, "alerts", table(settings)?);
    }
    if let Some(routes) = &state.route {
        text.push_str(ROUTES);
        for (name, route) in routes {
            write_table(&mut text, &format!("route.{}", key(name)), table(&route.public())?);
        }
    }
    if let Some(services) = &state.service {
        text.push_str(SERVICES);
        for (name, service) in services {
            let at = format!("service.{}", key(name));
            text.push_str(&format!("[{at}]\ndisabled = {}\n", service.disabled));
            write_table(&mut text, &format!("{at}.spec"), table(&service.spec)?);
        }
    }
    if let Some(worksheets) = &state.worksheet {
        text.push_str(WORKSHEETS);
        for (name, worksheet) in worksheets {
            write_table(&mut text, &format!("worksheet.{}", key(name)), table(worksheet)?);
        }
    }
    let _ = write_datasets(&mut text, state);
    text.push_str(END);
    match text.len() as u64 {
        ..=LARGEST => Ok(text),
        _ => fail(format!("the configuration has more than {LARGEST} bytes, and no file takes that")),
    }
}

/// What the API has, as TOML has it.
fn table(what: &impl Serialize) -> Result<toml::Table, Stop> {
    toml::Table::try_from(what).map_err(|error| Stop::Fail(format!("no file can have this: {error}")))
}

/// A table, with each value on its line; of a list of tables, each of these.
fn write_table(text: &mut String, name: &str, table: toml::Table) {
    text.push_str(&format!("[{name}]\n"));
    for (name, value) in table {
        let name = key(&name);
        match value.as_array() {
            Some(list) if list.iter().any(toml::Value::is_table) => {
                text.push_str(&format!("{name} = [\n"));
                list.iter().for_each(|value| text.push_str(&format!("  {value},\n")));
                text.push_str("]\n");
            }
            _ => text.push_str(&format!("{name} = {value}\n")),
        }
    }
}

fn write_machine(text: &mut String, state: &State) -> fmt::Result {
    if let Some(filter) = &state.log {
        writeln!(text, "{LOG}log = {}", quoted(filter))?;
    }
    if !state.tunable.is_empty() {
        text.push_str(TUNABLES);
    }
    for (name, value) in &state.tunable {
        writeln!(text, "{} = {value}", key(name))?;
    }
    if !state.user.is_empty() {
        text.push_str(USERS);
    }
    for (name, Account { role, uid, disabled }) in &state.user {
        let uid = uid.map(|uid| format!("uid = {uid}\n")).unwrap_or_default();
        let role = role.word();
        write!(text, "[user.{}]\nrole = \"{role}\"\n{uid}disabled = {disabled}\n", key(name))?;
    }
    Ok(())
}

fn write_datasets(text: &mut String, state: &State) -> fmt::Result {
    if !state.dataset.is_empty() {
        text.push_str(DATASETS);
    }
    for (name, dataset) in &state.dataset {
        write_dataset(text, &quoted(name), dataset, &state.user)?;
    }
    Ok(())
}

fn write_dataset(
    text: &mut String,
    name: &str,
    dataset: &Dataset,
    users: &BTreeMap<String, Account>,
) -> fmt::Result {
    let kind = api_types::DatasetKind::from(dataset.kind).name();
    write!(text, "\n[dataset.{name}]\nkind = \"{kind}\"\n")?;
    if let Some(size) = dataset.volsize {
        writeln!(text, "volsize = \"{size}\"")?;
    }
    if !dataset.created.is_empty() {
        let pairs = dataset.created.iter().map(|(name, value)| format!("{} = {}", key(name), quoted(value)));
        writeln!(text, "created = {{ {} }}", pairs.collect::<Vec<_>>().join(", "))?;
    }
    for (table, map) in [("properties", &dataset.properties), ("received", &dataset.received)] {
        if !map.is_empty() {
            writeln!(text, "[dataset.{name}.{table}]")?;
        }
        for (name, value) in map {
            writeln!(text, "{} = {}", key(name), quoted(value))?;
        }
    }
    if !dataset.allow.is_empty() {
        writeln!(text, "[dataset.{name}.allow]")?;
    }
    for (who, permissions) in &dataset.allow {
        let uid = who.split(' ').nth(1).filter(|_| who.starts_with("user ")).and_then(|id| id.parse().ok());
        let user = users.iter().find(|(_, account)| uid.is_some() && account.uid == uid);
        let comment = user.map(|(name, _)| format!("  # {}", key(name))).unwrap_or_default();
        let list: Vec<String> = permissions.iter().map(|name| quoted(name)).collect();
        writeln!(text, "{} = [{}]{comment}", key(who), list.join(", "))?;
    }
    Ok(())
}

/// A key, bare where it may be.
fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// A text on one line.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            char if char.is_control() => out.push_str(&format!("\\U{:08X}", u32::from(char))),
            char => out.push(char),
        }
    }
    out + "\""
}

/// Reads a file.
pub fn read(path: &Path) -> Result<State, Stop> {
    let shown = path.display();
    let cannot = |error| Stop::Fail(format!("cannot read {shown}: {}", files::words(&error)));
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(cannot)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Stop::Fail(format!("{shown} is no configuration: it has more than {LARGEST} bytes")));
    }
    let parsed = match std::str::from_utf8(&bytes) {
        Ok(text) => parse(text),
        Err(error) => Err(fault(&bytes, error.valid_up_to(), "these bytes are no UTF-8")),
    };
    parsed.map_err(|fault| Stop::Fail(format!("{shown}: {fault}")))
}

/// What a text says.
///
/// # Errors
/// In words what is wrong with it, and where.
pub fn parse(text: &str) -> Result<State, String> {
    let failed = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        fault(text.as_bytes(), at, &without_value(error.message()))
    };
    let table = DeTable::parse(text).map_err(failed)?;
    // Another version may have other tables.
    match table.get_ref().get("version") {
        None => {
            let why = "there is no 'version = 1': this is no file of 'cistern export-config'";
            return Err(fault(b"", 0, why));
        }
        Some(version) if version.get_ref().as_integer().is_none_or(|number| number.as_str() != "1") => {
            let why = format!("this program reads version {VERSION} alone: export the file again");
            return Err(fault(text.as_bytes(), version.span().start, &why));
        }
        Some(_) => {}
    }
    let state = State::deserialize(toml::de::Deserializer::from(table)).map_err(failed)?;
    match state.end {
        Some(_) => Ok(State { end: None, ..state }),
        None => {
            let why = "the file ends without '[end]', so its end is missing: export it again";
            Err(fault(text.as_bytes(), text.len(), why))
        }
    }
}

/// A message of serde's that something is of another type than it has to be, without the value: it
/// may be a secret.
fn without_value(message: &str) -> String {
    let cut = || {
        let (before, rest) = message.split_once(": string \"")?;
        let (_, after) = rest.rsplit_once("\", expected ")?;
        Some(format!("{before}: a string, expected {after}"))
    };
    cut().unwrap_or_else(|| message.to_owned())
}

/// Says what is wrong at a byte of a text. What others have chosen may be a part of `why`.
fn fault(text: &[u8], at: usize, why: &str) -> String {
    let why = plain(why);
    let before = &text[..at.min(text.len())];
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    // Characters of what is text up to there: all bytes but those that go on with one.
    let column = 1 + before[begin..].iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    format!("line {line}, column {column}: {why}")
}

/// A table with a check of its keys and, by their keys, of its values. A check of a key says what
/// is wrong with it; one of a value gives what is kept.
struct Table<T, U>(fn(&str) -> Option<String>, fn(&str, T) -> Result<U, String>);

impl<'de, T: Deserialize<'de>, U> Visitor<'de> for Table<T, U> {
    type Value = BTreeMap<String, U>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Table(key_fault, kept) = self;
        let key = |name: String| key_fault(&name).map_or(Ok(name), Err);
        let mut found = BTreeMap::new();
        while let Some(name) = map.next_key_seed(Checked(key, PhantomData))? {
            let value = map.next_value_seed(Checked(|value| kept(&name, value), PhantomData))?;
            found.insert(name, value);
        }
        Ok(found)
    }
}

/// A key or value that is checked where it stands, so that what is wrong has a place.
struct Checked<T, F>(F, PhantomData<T>);

impl<'de, T: Deserialize<'de>, U, F: FnOnce(T) -> Result<U, String>> DeserializeSeed<'de> for Checked<T, F> {
    type Value = U;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<U, D::Error> {
        self.0(T::deserialize(from)?).map_err(D::Error::custom)
    }
}

pub fn users<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Account>, D::Error> {
    let name = |name: &str| {
        let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
        let is_name = first && name.len() <= LONGEST_NAME && name.bytes().all(rest);
        let why = || {
            format!("a user's name has 1 to {LONGEST_NAME} of a-z, 0-9 and '._-', the first a letter or '_'")
        };
        (!is_name).then(why)
    };
    let account = |_: &str, account: Account| match account.uid {
        Some(uid) if uid == 0 || uid > HIGHEST_UID => {
            Err(format!("a user's number is from 1 to {HIGHEST_UID}"))
        }
        _ => Ok(account),
    };
    from.deserialize_map(Table(name, account))
}

pub fn routes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BTreeMap<String, Route>>, D::Error> {
    let name = |name: &str| {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name = (1..=LONGEST_ROUTE).contains(&name.len()) && name.bytes().all(good);
        (!is_name).then(|| format!("a route's name has 1 to {LONGEST_ROUTE} of a-z, A-Z, 0-9 and '._-'"))
    };
    from.deserialize_map(Table(name, |_, route: Route| Ok(route))).map(Some)
}

pub fn services<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BTreeMap<String, Service>>, D::Error> {
    let name = |name: &str| {
        let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(good);
        (!is_name).then(|| format!("a service's name has 1 to {LONGEST_NAME} of a-z, 0-9 and '-'"))
    };
    let service = |_: &str, Service { disabled, spec }: Service| Ok(Service::new(disabled, spec));
    from.deserialize_map(Table(name, service)).map(Some)
}

pub fn worksheets<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<BTreeMap<String, Worksheet>>, D::Error> {
    let name = |name: &str| {
        let is_name = (1..=WORKSHEET_NAME).contains(&name.len())
            && !name.chars().any(char::is_control)
            && !name.bytes().all(|byte| byte == b'.');
        let why = || {
            format!(
                "a worksheet's name has 1 to {WORKSHEET_NAME} bytes, no control character, and not only dots"
            )
        };
        (!is_name).then(why)
    };
    let worksheet = |_: &str, worksheet: Worksheet| match worksheet.panes.len() {
        1..=WORKSHEET_PANES => Ok(worksheet),
        _ => Err(format!("a worksheet has 1 to {WORKSHEET_PANES} panes")),
    };
    from.deserialize_map(Table(name, worksheet)).map(Some)
}

pub fn datasets<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Dataset>, D::Error> {
    let name = |name: &str| {
        let is_other = name.contains(['@', '#', '%']);
        let why = || "only file systems and volumes have a configuration".to_owned();
        is_other.then(why).or_else(|| name_fault(name))
    };
    from.deserialize_map(Table(name, |_, dataset: Dataset| dataset.fault().map_or(Ok(dataset), Err)))
}

pub fn created<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    let name = |name: &str| {
        let why = || format!("'{name}' is no property that is fixed when a dataset is made");
        (place(name) != Place::Created).then(why)
    };
    from.deserialize_map(Table(name, |name, value: String| canonical(name, &value)))
}

pub fn properties<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    let name = |name: &str| {
        let why = || format!("'{name}' is no property that is set for a dataset");
        (place(name) != Place::Properties).then(why)
    };
    from.deserialize_map(Table(name, |name, value: String| canonical(name, &value)))
}

pub fn grantees<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, BTreeSet<String>>, D::Error> {
    let who = |who: &str| {
        let why = "permissions are for 'user NUMBER local', 'group NUMBER descendent', 'everyone local', 'creator' or '@SET'";
        grant(who, &BTreeSet::new()).is_none().then(|| why.to_owned())
    };
    let permissions = |_: &str, list: Vec<String>| {
        let count = list.len();
        let set: BTreeSet<String> = list.into_iter().collect();
        match set.iter().find(|name| !is_permission(name)) {
            Some(name) => Err(format!("there is no permission '{name}'")),
            None if set.is_empty() => Err("there is no permission".to_owned()),
            None if set.len() < count => Err("a permission is here twice".to_owned()),
            None => Ok(set),
        }
    };
    from.deserialize_map(Table(who, permissions))
}

pub fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    number::parse(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests;
