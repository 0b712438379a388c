//! The parser of `sharenfs`, with an error that says what is wrong and what would be right.

use super::{ExportOptions, Host, Rule, Squash};

/// Options of exports(5) that make no difference to this server, so that shares moved here keep
/// working.
const WITHOUT_EFFECT: &[&str] = &[
    "wdelay",
    "no_wdelay",
    "subtree_check",
    "no_subtree_check",
    "nosub",
    "hide",
    "nohide",
    "secure_locks",
    "insecure_locks",
    "auth_nlm",
    "no_auth_nlm",
    "acl",
    "no_acl",
    "pnfs",
    "no_pnfs",
    "security_label",
    "fsid",
    "mp",
    "mountpoint",
];

/// Parses the value of `sharenfs`. The error is a sentence for the operator.
pub fn parse(text: &str) -> Result<ExportOptions, String> {
    let mut options = ExportOptions::off();
    match text {
        "off" => return Ok(options),
        "" => return Err("sharenfs must be 'on', 'off' or a list of options".to_owned()),
        _ => options.enabled = true,
    }
    if text != "on" {
        // `crossmnt` is the default in OpenZFS's own `on`; with options it has to be asked for.
        options.crossmnt = false;
        for option in split(text, ',')? {
            apply(&mut options, option)?;
        }
    }
    if options.rules.is_empty() {
        options.rules.push(Rule { host: Host::Everyone, writable: true });
    }
    Ok(options)
}

fn apply(options: &mut ExportOptions, option: &str) -> Result<(), String> {
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    let number = || id(name, value);
    match (name, value) {
        ("rw" | "ro", None) => options.rules.push(Rule { host: Host::Everyone, writable: name == "rw" }),
        ("rw" | "ro", Some(hosts)) => {
            for host in split(hosts, ':')? {
                options.rules.push(Rule { host: Host::parse(host)?, writable: name == "rw" });
            }
        }
        ("root_squash", None) => options.squash = Squash::Root,
        ("no_root_squash", None) => options.squash = Squash::None,
        ("all_squash", None) => options.squash = Squash::All,
        ("no_all_squash", None) => {
            if options.squash == Squash::All {
                options.squash = Squash::Root;
            }
        }
        ("anonuid" | "anon", _) => options.anon_uid = number()?,
        ("anongid", _) => options.anon_gid = number()?,
        ("root_mapping", _) => (options.squash, options.anon_uid) = (Squash::Root, number()?),
        ("secure", None) => options.secure = true,
        ("insecure", None) => options.secure = false,
        ("crossmnt", None) => options.crossmnt = true,
        ("sync", None) => options.sync = true,
        ("async", None) => options.sync = false,
        ("sec", Some(flavors)) => {
            if !flavors.split(':').any(|flavor| flavor == "sys") {
                return Err(format!("'{option}': only sec=sys is supported"));
            }
        }
        _ if WITHOUT_EFFECT.contains(&name) => {}
        _ => return Err(format!("'{option}' is not an option of sharenfs")),
    }
    Ok(())
}

/// A user or group id; exports(5) writes -1 and -2 for the last ones.
fn id(name: &str, value: Option<&str>) -> Result<u32, String> {
    let text = value.unwrap_or("");
    let negative = || text.parse::<i32>().ok().filter(|&id| id < 0).map(|id| id as u32);
    text.parse::<u32>()
        .ok()
        .or_else(negative)
        .ok_or_else(|| format!("'{name}' needs a number, as in {name}=1000"))
}

/// Splits at a separator outside brackets, which hold IPv6 addresses; parts may not be empty.
fn split(text: &str, separator: char) -> Result<Vec<&str>, String> {
    let mut inside = false;
    let parts: Vec<&str> = text
        .split(|c| {
            match c {
                '[' => inside = true,
                ']' => inside = false,
                _ => {}
            }
            c == separator && !inside
        })
        .collect();
    if inside {
        return Err(format!("'{text}': ']' is missing"));
    }
    if parts.iter().any(|part| part.is_empty()) {
        return Err(format!("'{text}' has an empty entry"));
    }
    Ok(parts)
}
