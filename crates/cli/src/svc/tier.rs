//! What an auto-tier service is to do, from the options of a command line, and back in lines.

use super::schedule::{self, age, shown_age};
use super::value::{bytes, number, schedule_of, shown_place, ssh_place};
use crate::fail::{Stop, usage};
use crate::files;
use crate::getopt::Parsed;
use crate::human::nicebytes;
use api_types::{AutoTierPolicy, SnapTarget, TierAction, TierChoice, TierTarget};

/// Options that say which files go, and where from and to, by their letters.
pub const ALLOWED: [&str; 18] =
    ["f", "F", "i", "S", "z", "k", "u", "A", "B", "C", "D", "E", "I", "M", "e", "R", "move", "plain"];

/// Bytes of a file of patterns.
const LONGEST_LIST: u64 = 1 << 20;

pub fn apply(policy: &mut AutoTierPolicy, options: &Parsed) -> Result<(), Stop> {
    schedule_of(&mut policy.schedule, options)?;
    if let Some(dataset) = options.value("f") {
        policy.source = SnapTarget { dataset: dataset.to_owned(), ..SnapTarget::default() };
    }
    if let Some(folder) = options.value("F") {
        folder.trim_matches('/').clone_into(&mut policy.folder);
    }
    if let Some(text) = options.value("i") {
        policy.target = target(text)?;
    }
    if options.has("move") && policy.action == TierAction::Copy {
        policy.action = TierAction::Move { keep: 0 };
    }
    if let Some(text) = options.value("k") {
        let (TierAction::Move { keep }, Some(age)) = (&mut policy.action, age(text)) else {
            return usage(format!("'{text}' does not say how long a file that --move moves stays: 30d"));
        };
        *keep = age;
    }
    if let Some(text) = options.value("u") {
        match age(text).and_then(|seconds| u32::try_from(seconds).ok()) {
            Some(seconds) => policy.stuck_after = seconds,
            None => return usage(format!("'{text}' is no time: 10m")),
        }
    }
    if let Some(text) = options.value("R") {
        policy.rate = if text == "none" { None } else { Some(bytes(text)?) };
    }
    policy.plain |= options.has("plain");
    choose(&mut policy.choose, options)
}

fn choose(choice: &mut TierChoice, options: &Parsed) -> Result<(), Stop> {
    for (letter, place) in [("A", &mut choice.older_than), ("B", &mut choice.newer_than)] {
        match options.value(letter).map(|text| (text, age(text))) {
            None => {}
            Some(("none", _)) => *place = None,
            Some((_, Some(age))) => *place = Some(age),
            Some((text, None)) => return usage(format!("'{text}' is no age: 12h, 90d or none")),
        }
    }
    for (letter, place) in [("C", &mut choice.min_size), ("D", &mut choice.max_size)] {
        match options.value(letter) {
            None => {}
            Some("none") => *place = None,
            Some(text) => *place = Some(bytes(text)?),
        }
    }
    match options.value("E") {
        None => {}
        Some("none") => choice.max_depth = None,
        Some(text) => choice.max_depth = Some(number(text, "depth")?),
    }
    if options.has("I") || options.has("M") {
        choice.include = options.values("I").map(str::to_owned).collect();
        for path in options.values("M") {
            choice.include.extend(listed(path)?);
        }
    }
    if options.has("e") {
        choice.exclude = options.values("e").map(str::to_owned).collect();
    }
    Ok(())
}

/// The patterns of a file, one a line.
fn listed(path: &str) -> Result<Vec<String>, Stop> {
    use std::io::Read;
    let mut text = String::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(LONGEST_LIST + 1).read_to_string(&mut text));
    match read {
        Ok(len) if len as u64 <= LONGEST_LIST => {
            Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
        }
        Ok(_) => usage(format!("{path}: it has more than {}", nicebytes(LONGEST_LIST))),
        Err(error) => usage(format!("{path}: {}", files::words(&error))),
    }
}

/// A dataset, an absolute path, or `ssh://user@host:port/path`.
fn target(text: &str) -> Result<TierTarget, Stop> {
    if text.starts_with('/') {
        return Ok(TierTarget::Folder { path: without_end(text) });
    }
    let Some(rest) = text.strip_prefix("ssh://") else {
        return Ok(TierTarget::Dataset { dataset: text.to_owned() });
    };
    let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let Some((user, host, port)) = ssh_place(place).filter(|_| !path.is_empty()) else {
        return usage(format!("'{text}' is no target: ssh://user@host:port/path"));
    };
    Ok(TierTarget::Ssh { host, user, port, path: without_end(path) })
}

fn without_end(path: &str) -> String {
    match path.trim_end_matches('/') {
        "" => "/".to_owned(),
        path => path.to_owned(),
    }
}

/// As it is typed.
pub fn shown_target(target: &TierTarget) -> String {
    match target {
        TierTarget::Dataset { dataset } => dataset.clone(),
        TierTarget::Folder { path } => path.clone(),
        TierTarget::Ssh { host, user, port, path } => {
            format!("{}{path}", shown_place(user.as_deref(), host, *port))
        }
    }
}

pub fn shown(policy: &AutoTierPolicy) -> Vec<(&'static str, String)> {
    let folder = if policy.folder.is_empty() { String::new() } else { format!(", folder {}", policy.folder) };
    let action = match policy.action {
        TierAction::Copy => "copy".to_owned(),
        TierAction::Move { keep: 0 } => "move".to_owned(),
        TierAction::Move { keep } => format!("move what has not changed for {}", shown_age(keep)),
    };
    let mut lines = vec![
        ("from", format!("{}{folder}", policy.source.dataset)),
        ("to", shown_target(&policy.target)),
        ("action", action),
    ];
    let TierChoice { older_than, newer_than, min_size, max_size, max_depth, include, exclude } =
        &policy.choose;
    let bounds = [
        older_than.map(|age| format!("older than {}", shown_age(age))),
        newer_than.map(|age| format!("newer than {}", shown_age(age))),
        min_size.map(|size| format!("{} at least", nicebytes(size))),
        max_size.map(|size| format!("{} at most", nicebytes(size))),
        max_depth.map(|depth| format!("{depth} deep at most")),
    ];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    lines.push(("files", if bounds.is_empty() { "all".to_owned() } else { bounds.join(", ") }));
    lines.extend((!include.is_empty()).then(|| ("include", include.join(" "))));
    lines.extend((!exclude.is_empty()).then(|| ("exclude", exclude.join(" "))));
    lines.push(("schedule", schedule::shown(&policy.schedule)));
    lines.extend(policy.rate.map(|rate| ("rate", format!("{}/s", nicebytes(rate)))));
    lines.extend(policy.plain.then(|| ("plain", "no ACLs, no extended attributes".to_owned())));
    lines.push(("stuck after", shown_age(policy.stuck_after.into())));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_shown_in_the_same_form() {
        for text in [
            "backup/cold",
            "/srv/cold",
            "/",
            "ssh://nas/srv/cold",
            "ssh://backup@nas.example:2222/srv/a b:c",
            "ssh://[fe80::1]/x",
            "ssh://root@[::1]:22/",
        ] {
            assert_eq!(shown_target(&target(text).expect("a target")), text);
        }
        assert_eq!(shown_target(&target("/srv/cold/").expect("a target")), "/srv/cold");
        for bad in ["ssh://nas", "ssh://nas:0/a", "ssh://nas:x/a", "ssh://[::1/a", "ssh://[::1]2/a"] {
            assert!(target(bad).is_err(), "{bad}");
        }
    }
}
