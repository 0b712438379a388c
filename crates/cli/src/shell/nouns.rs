//! Which request a verb with a noun is: by the request's path, or by a row of [`ROWS`] where that
//! would be clumsy.
//!
//! `/v1/NOUNs/{name}/ACTION` is `show NOUN NAME ACTION` where it reads and `setup NOUN NAME ACTION`
//! where it changes; a POST to a list is `create NOUN`, and one whose action is `destroy` is
//! `destroy NOUN NAME`. A request that only a newer appliance has is found by that, too.

use super::document::{Document, Member, Operation, Place, Room, Shape};

/// What an appliance can be asked for.
#[derive(Clone, Debug)]
pub struct Command {
    pub verb: &'static str,
    pub noun: String,
    /// Empty: none.
    pub action: String,
    pub operation: Operation,
    pub members: Vec<Member>,
    /// What stands in the path, before the action.
    pub params: Vec<String>,
    /// What may stand behind the action without its name.
    pub takes: Vec<Taken>,
    /// What is meant where nothing else is said.
    pub given: &'static [(&'static str, &'static str)],
    /// It asks before it is carried out, because something is lost.
    pub destroys: bool,
}

/// An argument that needs no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub name: String,
    pub is_needed: bool,
}

pub const VERBS: [(&str, &str); 5] = [
    ("show", "what there is"),
    ("setup", "change what there is, by an action"),
    ("create", "make something"),
    ("destroy", "remove something; asks first"),
    ("share", "let NFS clients in"),
];

struct Row {
    verb: &'static str,
    noun: &'static str,
    action: &'static str,
    operation: &'static str,
    /// Names of arguments; a question mark behind one that may be left out.
    takes: &'static str,
    given: &'static [(&'static str, &'static str)],
}

const fn row(
    verb: &'static str,
    (noun, action): (&'static str, &'static str),
    operation: &'static str,
    takes: &'static str,
    given: &'static [(&'static str, &'static str)],
) -> Row {
    Row { verb, noun, action, operation, takes, given }
}

const SPACE: (&str, &str) = ("props", "used,available,referenced,mountpoint");
const ROWS: &[Row] = &[
    row("show", ("dataset", ""), "get_datasets", "roots?", &[("kinds", "filesystem,volume"), SPACE]),
    row("show", ("filesystem", ""), "get_datasets", "roots?", &[("kinds", "filesystem"), SPACE]),
    row(
        "show",
        ("volume", ""),
        "get_datasets",
        "roots?",
        &[("kinds", "volume"), ("props", "used,available,referenced,volsize")],
    ),
    row(
        "show",
        ("snapshot", ""),
        "get_datasets",
        "roots?",
        &[("kinds", "snapshot"), ("props", "used,referenced,creation")],
    ),
    row("show", ("bookmark", ""), "get_datasets", "roots?", &[("kinds", "bookmark"), ("props", "creation")]),
    row("show", ("import", ""), "post_importable", "search?", &[]),
    row("create", ("pool", ""), "post_pools", "name vdevs", &[]),
    row("create", ("filesystem", ""), "post_datasets", "name", &[]),
    row("create", ("volume", ""), "post_datasets", "name volsize", &[("volume", "true")]),
    row("create", ("snapshot", ""), "post_snapshots", "names", &[]),
    row("create", ("clone", ""), "post_clones", "snapshot name", &[]),
    row("create", ("bookmark", ""), "post_bookmarks", "source name", &[]),
    row("create", ("hold", ""), "post_holds", "tag snapshots", &[]),
    row("create", ("user", ""), "post_users", "name password role?", &[]),
    row("create", ("token", ""), "post_tokens", "name role?", &[]),
    row("create", ("service", ""), "post_services", "id spec", &[]),
    row("destroy", ("service", ""), "post_services_name_remove", "", &[]),
    row("setup", ("service", "spec"), "post_services_name_spec", "spec", &[]),
    row("setup", ("service", "command"), "post_services_name_command", "command", &[]),
    row("setup", ("replica", "promote"), "post_replicas_promote", "dataset", &[]),
    row("setup", ("replica", "test"), "post_replicas_test", "dataset name", &[]),
    row("show", ("replica", "losses"), "get_replicas_losses", "dataset", &[]),
    row("destroy", ("hold", ""), "post_releases", "tag snapshots", &[]),
    row("destroy", ("user", ""), "post_users_name_remove", "", &[]),
    row("destroy", ("token", ""), "post_tokens_id_remove", "", &[]),
    row("destroy", ("session", ""), "post_sessions_id_end", "", &[]),
    row("destroy", ("alert-route", ""), "post_alert_routes_name_remove", "", &[]),
    row("destroy", ("fault", ""), "post_faults_cancel", "id", &[]),
    row("destroy", ("label", ""), "post_labelclear", "path", &[]),
    row("share", ("filesystem", ""), "post_datasets_name_properties", "", &[("sharenfs", "on")]),
    row("setup", ("filesystem", "unshare"), "post_datasets_name_properties", "", &[("sharenfs", "off")]),
    row("setup", ("dataset", "properties"), "post_datasets_name_properties", "props", &[]),
    row("setup", ("pool", "properties"), "post_pools_name_properties", "props", &[]),
    row("setup", ("dataset", "inherit"), "post_datasets_name_inherit", "property", &[]),
    row("setup", ("dataset", "rename"), "post_datasets_name_rename", "to", &[]),
    row("setup", ("pool", "import"), "post_imports", "which", &[]),
    row("setup", ("pool", "scan"), "post_pools_name_scan", "command?", &[]),
    row("setup", ("pool", "remove"), "post_pools_name_remove", "guid", &[]),
    row("setup", ("pool", "add"), "post_pools_name_vdevs", "data", &[]),
    row("setup", ("pool", "attach"), "post_pools_name_attach", "guid path", &[]),
    row("setup", ("pool", "detach"), "post_pools_name_detach", "guid", &[]),
    row("setup", ("pool", "replace"), "post_pools_name_replace", "guid path?", &[]),
    row("setup", ("pool", "online"), "post_pools_name_online", "guid", &[]),
    row("setup", ("pool", "offline"), "post_pools_name_offline", "guid", &[]),
    row("setup", ("pool", "condemn"), "post_pools_name_condemn", "guid", &[]),
    row("setup", ("dataset", "allow"), "post_datasets_name_allow", "grants", &[]),
    row("setup", ("dataset", "unallow"), "post_datasets_name_unallow", "grants", &[]),
    row("setup", ("filesystem", "mount"), "post_mounts", "dataset", &[]),
    row("setup", ("filesystem", "unmount"), "post_unmounts", "target", &[]),
    row("setup", ("share", "start"), "post_shares", "target", &[]),
    row("setup", ("share", "stop"), "post_unshares", "target", &[]),
    row("setup", ("tunable", ""), "post_tunables", "name value", &[]),
    row("setup", ("log", ""), "post_log", "filter", &[]),
];

/// Requests that are no commands of the shell: `login` is one of the program, a certificate has
/// lines of its own, `destroy` shows what would be destroyed, no answer is a list of secrets, and
/// shells are for browsers.
const HIDDEN: &[&str] = &[
    "get_openapi_json",
    "post_shells",
    "post_shells_name_close",
    "post_shells_name_input",
    "post_shells_name_size",
    "get_datasets_name_destroy",
    "post_datasets_plan",
    "post_datasets_secrets",
    "post_first_administrator",
    "post_certificate",
    "post_login",
    "post_logout",
];
/// Beside those of the verb `destroy`.
const DESTROYING: &[&str] = &[
    "post_datasets_name_rollback",
    "post_datasets_name_abort_receive",
    "post_pools_name_remove",
    "post_services_name_reverse",
];
/// Nouns that take the commands of a dataset.
const DATASETS: [&str; 4] = ["filesystem", "volume", "snapshot", "bookmark"];

/// All commands of an appliance.
pub fn commands(document: &Document) -> Vec<Command> {
    let room = &Room::new();
    let named = ROWS.iter().filter_map(|row| {
        let operation = document.get(row.operation)?;
        let name = (row.verb, row.noun.to_owned(), row.action.to_owned());
        Some(command(operation, document.members(operation, room), name, Some(row)))
    });
    let is_free = |operation: &&Operation| {
        !HIDDEN.contains(&operation.id.as_str()) && !ROWS.iter().any(|row| row.operation == operation.id)
    };
    let derived = document.operations.iter().filter(is_free).filter_map(|operation| {
        let name = derived(document, operation)?;
        Some(command(operation, document.members(operation, room), name, None))
    });
    named.chain(derived).collect()
}

/// Those that a verb has for a noun, in one of its forms.
pub fn find<'a>(all: &'a [Command], verb: &str, noun: &str) -> Vec<&'a Command> {
    let noun = singular(noun);
    let is_it = |command: &&Command| {
        let as_dataset =
            command.noun == "dataset" && !(command.params.is_empty()) && DATASETS.contains(&&*noun);
        command.verb == verb && (command.noun == noun || as_dataset)
    };
    all.iter().filter(is_it).collect()
}

/// The nouns of a verb.
pub fn nouns(all: &[Command], verb: &str) -> Vec<String> {
    let of_verb = || all.iter().filter(|command| command.verb == verb);
    let mut nouns: Vec<String> = of_verb().map(|command| command.noun.clone()).collect();
    if of_verb().any(|command| command.noun == "dataset" && !command.params.is_empty()) {
        nouns.extend(DATASETS.map(str::to_owned));
    }
    nouns.sort_unstable();
    nouns.dedup();
    nouns
}

fn command(
    operation: &Operation,
    members: Vec<Member>,
    (verb, noun, action): (&'static str, String, String),
    row: Option<&Row>,
) -> Command {
    let in_path = |member: &&Member| member.place == Place::Path;
    let params: Vec<String> = members.iter().filter(in_path).map(|member| member.name.clone()).collect();
    let takes = match row {
        Some(row) => row.takes.split_whitespace().map(taken).collect(),
        None => {
            members.iter().filter(|it| it.place != Place::Path && is_needed(verb, it)).map(needed).collect()
        }
    };
    let destroys = verb == "destroy" || DESTROYING.contains(&operation.id.as_str());
    let given = row.map_or(&[][..], |row| row.given);
    Command { verb, noun, action, operation: operation.clone(), members, params, takes, given, destroys }
}

fn taken(name: &str) -> Taken {
    Taken { name: name.trim_end_matches('?').to_owned(), is_needed: !name.ends_with('?') }
}

fn needed(member: &Member) -> Taken {
    Taken { name: member.name.clone(), is_needed: true }
}

/// A description lets a name be left out, though an empty one is refused.
fn is_needed(verb: &str, member: &Member) -> bool {
    member.is_required || verb == "create" && member.name == "name" && member.shape == Shape::Text
}

/// Verb, noun and action of a path.
fn derived(document: &Document, operation: &Operation) -> Option<(&'static str, String, String)> {
    let parts = operation.path.split('/').filter(|part| !part.is_empty()).skip(1);
    let mut words = parts.filter(|part| !part.starts_with('{'));
    let noun = singular(words.next()?);
    let action = words.collect::<Vec<_>>().join("-");
    let verb = match (operation.is_post, action.as_str()) {
        (false, _) => "show",
        (true, "destroy" | "delete") => return Some(("destroy", noun, String::new())),
        (true, "") if document.reading(&operation.path).is_none_or(|list| list.is_list) => "create",
        (true, _) => "setup",
    };
    Some((verb, noun, action))
}

fn singular(noun: &str) -> String {
    match noun {
        noun if noun.ends_with("ies") => format!("{}y", noun.trim_end_matches("ies")),
        noun if noun.ends_with("ss") => noun.to_owned(),
        noun => noun.strip_suffix('s').unwrap_or(noun).to_owned(),
    }
}

impl Command {
    pub fn member(&self, name: &str) -> Option<&Member> {
        let name = name.replace('-', "_");
        self.members.iter().find(|member| member.name.replace('-', "_") == name)
    }

    /// The argument that takes properties, so that each can be given by its own name.
    pub fn properties(&self) -> Option<&Member> {
        self.members.iter().find(|member| member.name == "props" && member.shape == Shape::Pairs)
    }

    /// `setup pool NAME scan COMMAND`
    pub fn synopsis(&self, noun: &str) -> String {
        let mut words = vec![self.verb.to_owned(), noun.to_owned()];
        words.extend(self.params.iter().map(|name| name.to_uppercase()));
        words.extend(Some(self.action.clone()).filter(|action| !action.is_empty()));
        words.extend(self.takes.iter().map(|taken| match taken.is_needed {
            true => taken.name.to_uppercase(),
            false => format!("[{}]", taken.name.to_uppercase()),
        }));
        words.join(" ")
    }
}

/// The requests that rows are about.
#[cfg(test)]
pub fn row_operations() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.operation).chain(HIDDEN.iter().chain(DESTROYING).copied())
}
