//! `zfs allow`, `unallow`
//!
//! Source: cmd/zfs/zfs_main.c (`zfs_do_allow_unallow_impl`, `parse_allow_args`,
//! `construct_fsacl_list`). One exit status is another: who names a user that there is none of
//! gets 2 here, and 0 there.

mod help;
mod show;

use crate::accounts::Accounts;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, fail, sentence, usage};
use crate::getopt::{self, Parsed};
use api_types::{Allow, Changed, Delegation, Grant, Grantee, Unallow, kind, routes};

pub use help::{ALLOW, UNALLOW, is_permission};

pub fn allow(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    run(cx, args, false)
}

pub fn unallow(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    run(cx, args, true)
}

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    whom: Whom,
    local: bool,
    descendent: bool,
    /// `None`: all of them.
    permissions: Option<Vec<String>>,
    dataset: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Whom {
    /// Nobody: what is delegated is to be shown.
    Show,
    /// Names or numbers of these.
    Users(String),
    Groups(String),
    /// Of either.
    Named(String),
    Everyone,
    Creator,
    Set(String),
}

/// Why a command line makes no sense: the usage of these two commands, then this.
type Misused = &'static str;

fn run(cx: &mut Cx<'_>, args: &[String], un: bool) -> Outcome {
    let options = getopt::parse(args, if un { "ldugecsrh" } else { "ldugecsh" }, &[])?;
    // Where more than one kind of who is asked for, that is said before anything else.
    if options.has("h") && count(&options, &["u", "g", "e"]) <= 1 {
        let others = options.options.iter().any(|option| option.name != "h");
        return match others || !options.operands.is_empty() {
            true => usage(""),
            false => help::tell(cx, un),
        };
    }
    let asked = match ask(&options, un) {
        Ok(asked) => asked,
        Err(why) => return help::refuse(cx, un, why),
    };
    let dataset = asked.dataset.clone();
    if dataset.contains('@') {
        cx.complain(&format!("cannot open '{dataset}': snapshot delimiter '@' is not expected here"))?;
        return not_opened(cx, &dataset);
    }
    if let Some(why) = super::name_fault(&dataset) {
        cx.complain(&format!("cannot open '{dataset}': {why}"))?;
        return not_opened(cx, &dataset);
    }
    let found = match cx.client.get::<Vec<Delegation>>(&routes::at(routes::DATASET_PERMISSIONS, &dataset)) {
        Ok(found) => found,
        Err(error) => {
            cx.refused(&format!("cannot open '{dataset}'"), error, Noun::Dataset)?;
            return not_opened(cx, &dataset);
        }
    };
    if asked.whom == Whom::Show {
        return show::print(cx, found).map(|()| 0);
    }
    let accounts = Accounts::around(&cx.client);
    let grants = match grants(&asked, &accounts) {
        Ok(grants) => grants,
        // It may be an account for HTTPS.
        Err(_) => match self::grants(&asked, &accounts.with_logins(&cx.client)?) {
            Ok(grants) => grants,
            Err(why) => return help::refuse(cx, un, &why),
        },
    };
    let history = cx.history.clone();
    let done = match un {
        true => {
            let request = Unallow { grants, recursive: options.has("r"), history };
            cx.client.post::<Changed>(&routes::at(routes::DATASET_UNALLOW, &dataset), &request)
        }
        false => {
            let request = Allow { grants, history };
            cx.client.post::<Changed>(&routes::at(routes::DATASET_ALLOW, &dataset), &request)
        }
    };
    if let Err(error) = done {
        let problem = error.problem()?;
        let text = format!("cannot set permissions on '{dataset}'");
        return fail(match problem.kind.as_str() {
            kind::NOT_FOUND => format!("{text}: dataset does not exist"),
            _ => sentence(&text, &problem, Noun::Dataset),
        });
    }
    Ok(0)
}

fn not_opened(cx: &mut Cx<'_>, dataset: &str) -> Outcome {
    cx.complain(&format!("Failed to open dataset: {dataset}"))?;
    Ok(255)
}

fn count(options: &Parsed, letters: &[&str]) -> usize {
    letters.iter().filter(|letter| options.has(letter)).count()
}

fn ask(options: &Parsed, un: bool) -> Result<Asked, Misused> {
    let kinds = count(options, &["u", "g", "e"]);
    let whose = kinds + count(options, &["c", "s"]);
    if kinds > 1 {
        return Err("-u, -g, and -e are mutually exclusive\n");
    }
    let operands = &options.operands[..];
    let everyone = options.has("e");
    let (whom, rest) = if options.has("s") {
        if whose > 1 {
            return Err("invalid options combined with -s\n");
        }
        let (_, rest) = split(operands, un, 3)?;
        let name = operands.first().cloned().unwrap_or_default();
        if !name.starts_with('@') {
            return Err("invalid set name: missing '@' prefix\n");
        }
        (Whom::Set(name), rest)
    } else if options.has("c") {
        if whose + count(options, &["l", "d"]) > 1 {
            return Err("invalid options combined with -c\n");
        }
        (Whom::Creator, split(operands, un, 2)?.1)
    } else if everyone {
        if whose > 1 {
            return Err("invalid options combined with -e\n");
        }
        (Whom::Everyone, split(operands, un, 2)?.1)
    } else if kinds == 0 && operands.first().is_some_and(|first| first == "everyone") {
        (Whom::Everyone, split(&operands[1..], un, 2)?.1)
    } else if operands.len() == 1 && !un {
        (Whom::Show, (None, operands[0].clone()))
    } else {
        let (names, rest) = split(operands, un, 3)?;
        let names = names.to_owned();
        let whom = match (options.has("u"), options.has("g")) {
            (true, _) => Whom::Users(names),
            (_, true) => Whom::Groups(names),
            _ => Whom::Named(names),
        };
        (whom, rest)
    };
    let (local, descendent) = (options.has("l"), options.has("d"));
    let both = !local && !descendent;
    let (permissions, dataset) = rest;
    Ok(Asked { whom, local: local || both, descendent: descendent || both, permissions, dataset })
}

/// Permissions and a dataset.
type Rest = (Option<Vec<String>>, String);

/// The first of so many operands, and the last two; `unallow` may leave out the permissions.
fn split(operands: &[String], un: bool, expected: usize) -> Result<(&str, Rest), Misused> {
    let (first, dataset) = match operands {
        [first, .., dataset] => (first.as_str(), dataset.clone()),
        [dataset] => ("", dataset.clone()),
        [] => return Err("wrong number of parameters\n"),
    };
    if operands.len() == expected {
        let list = &operands[expected - 2];
        let names = list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        return Ok((first, (Some(names), dataset)));
    }
    match un && operands.len() == expected - 1 {
        true => Ok((first, (None, dataset))),
        false => Err("wrong number of parameters\n"),
    }
}

fn grants(asked: &Asked, accounts: &Accounts) -> Result<Vec<Grant>, String> {
    let grant = |who| Grant {
        who,
        local: asked.local,
        descendent: asked.descendent,
        permissions: asked.permissions.clone(),
    };
    let each = |names: &str, one: &dyn Fn(&str) -> Result<Grantee, String>| {
        names.split(',').filter(|name| !name.is_empty()).map(|name| one(name).map(grant)).collect()
    };
    match &asked.whom {
        Whom::Show => Ok(Vec::new()),
        Whom::Everyone => Ok(vec![grant(Grantee::Everyone)]),
        Whom::Creator => Ok(vec![grant(Grantee::Creator)]),
        Whom::Set(name) => Ok(vec![grant(Grantee::Set(name.clone()))]),
        Whom::Users(names) => each(names, &|name| {
            let id = accounts.id(true, name).or_else(|| number(name));
            id.map(|id| Grantee::User(id.into())).ok_or_else(|| format!("invalid user {name}\n"))
        }),
        Whom::Groups(names) => each(names, &|name| {
            let id = accounts.id(false, name).or_else(|| number(name));
            id.map(|id| Grantee::Group(id.into())).ok_or_else(|| format!("invalid group {name}\n"))
        }),
        Whom::Named(names) => each(names, &|name| {
            let known = |user| match number(name) {
                Some(id) => accounts.name(user, id.into()).map(|_| id),
                None => accounts.id(user, name),
            };
            let user = known(true).map(|id| Grantee::User(id.into()));
            let found = user.or_else(|| known(false).map(|id| Grantee::Group(id.into())));
            found.ok_or_else(|| format!("invalid user/group {name}\n"))
        }),
    }
}

/// A number as strtol(3) takes it.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u32::from_str_radix(&text[1..], 8).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
