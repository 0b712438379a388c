//! What is delegated, as `zfs allow` shows it (cmd/zfs/zfs_main.c, `print_fs_perms`).

use crate::accounts::Accounts;
use crate::command::Cx;
use crate::fail::Stop;
use api_types::{Delegation, Grantee};
use std::collections::{BTreeMap, BTreeSet};

/// How long a line with a dataset's name is, at the least.
const WIDTH: usize = 70;

/// Where a permission counts: at the dataset, and below.
type Reach = (bool, bool);
/// Permissions and sets by name.
type Names = BTreeMap<String, Reach>;

pub fn print(cx: &mut Cx<'_>, found: Vec<Delegation>) -> Result<(), Stop> {
    let mut accounts = Accounts::around(&cx.client);
    let mut users = found.iter().flat_map(|it| &it.grants).filter_map(|grant| match grant.who {
        Grantee::User(id) => Some(id),
        _ => None,
    });
    if users.any(|id| accounts.name(true, id).is_none()) {
        accounts = accounts.with_logins(&cx.client)?;
    }
    for Delegation { dataset, grants } in found {
        let mut all: BTreeMap<(u8, String), (Grantee, Names)> = BTreeMap::new();
        for grant in grants {
            let key = (weight(&grant.who), key_of(&grant.who));
            let (_, names) = all.entry(key).or_insert_with(|| (grant.who.clone(), Names::new()));
            for name in grant.permissions.into_iter().flatten() {
                let reach = names.entry(name).or_default();
                (reach.0, reach.1) = (reach.0 || grant.local, reach.1 || grant.descendent);
            }
        }
        writeln!(cx.io.out, "{:-<WIDTH$}", format!("---- Permissions on {dataset} "))?;
        let all: Vec<(Grantee, Names)> = all.into_values().collect();
        sets(cx, &all)?;
        for (title, reach) in [
            ("Local permissions:", (true, false)),
            ("Descendent permissions:", (false, true)),
            ("Local+Descendent permissions:", (true, true)),
        ] {
            people(cx, &all, title, reach, &accounts)?;
        }
    }
    Ok(())
}

/// Sets come first, then creators, users, groups and everyone.
fn weight(who: &Grantee) -> u8 {
    match who {
        Grantee::Set(_) => 0,
        Grantee::Creator => 1,
        Grantee::User(_) => 2,
        Grantee::Group(_) => 3,
        Grantee::Everyone => 4,
    }
}

/// What they are sorted by: numbers as texts.
fn key_of(who: &Grantee) -> String {
    match who {
        Grantee::Set(name) => name.clone(),
        Grantee::User(id) | Grantee::Group(id) => id.to_string(),
        Grantee::Creator | Grantee::Everyone => String::new(),
    }
}

fn sets(cx: &mut Cx<'_>, all: &[(Grantee, Names)]) -> Result<(), Stop> {
    let mut titles = BTreeSet::new();
    for (who, names) in all {
        let (title, name) = match who {
            Grantee::Set(name) => ("Permission sets:", format!("{name} ")),
            Grantee::Creator => ("Create time permissions:", String::new()),
            _ => continue,
        };
        if titles.insert(title) {
            writeln!(cx.io.out, "{title}")?;
        }
        writeln!(cx.io.out, "\t{name}{}", joined(names.keys()))?;
    }
    Ok(())
}

fn people(
    cx: &mut Cx<'_>,
    all: &[(Grantee, Names)],
    title: &str,
    wanted: Reach,
    accounts: &Accounts,
) -> Result<(), Stop> {
    let mut is_first = true;
    for (who, names) in all {
        let known = |user, id: u64| accounts.name(user, id).map_or(format!("(unknown: {id})"), str::to_owned);
        let who = match who {
            Grantee::User(id) => format!("user {}", known(true, *id)),
            Grantee::Group(id) => format!("group {}", known(false, *id)),
            Grantee::Everyone => "everyone".to_owned(),
            Grantee::Set(_) | Grantee::Creator => continue,
        };
        let shown: Vec<&String> =
            names.iter().filter(|(_, reach)| **reach == wanted).map(|(name, _)| name).collect();
        if shown.is_empty() {
            continue;
        }
        if std::mem::take(&mut is_first) {
            writeln!(cx.io.out, "{title}")?;
        }
        writeln!(cx.io.out, "\t{who} {}", joined(shown.into_iter()))?;
    }
    Ok(())
}

fn joined<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(String::as_str).collect::<Vec<_>>().join(",")
}
