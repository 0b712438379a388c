//! The usage of `zfs allow` and `unallow`, which has a form of its own: it names all permissions
//! (cmd/zfs/zfs_main.c, `allow_usage`).

use crate::command::Cx;
use crate::fail::{Outcome, Stop};
use api_types::{DatasetProperty, Edit, PropertyDef};
use std::fmt::Write as _;

pub const ALLOW: &str = "\tallow <filesystem|volume>\n\
    \tallow [-ldug] <\"everyone\"|user|group>[,...] <perm|@setname>[,...]\n\
    \t    <filesystem|volume>\n\
    \tallow [-ld] -e <perm|@setname>[,...] <filesystem|volume>\n\
    \tallow -c <perm|@setname>[,...] <filesystem|volume>\n\
    \tallow -s @setname <perm|@setname>[,...] <filesystem|volume>";

pub const UNALLOW: &str = "\tunallow [-rldug] <\"everyone\"|user|group>[,...]\n\
    \t    [<perm|@setname>[,...]] <filesystem|volume>\n\
    \tunallow [-rld] -e [<perm|@setname>[,...]] <filesystem|volume>\n\
    \tunallow [-r] -c [<perm|@setname>[,...]] <filesystem|volume>\n\
    \tunallow [-r] -s @setname [<perm|@setname>[,...]] <filesystem|volume>";

/// Of the name of a set, in bytes, with '@' (`ZFS_PERMSET_MAXLEN` counts a terminator, too).
const LONGEST_SET: usize = 63;

const OPTIONS: [(&str, &str); 9] = [
    ("-h", "show this help message and exit"),
    ("-l", "set permission locally"),
    ("-d", "set permission for descents"),
    ("-u", "set permission for user"),
    ("-g", "set permission for group"),
    ("-e", "set permission for everyone"),
    ("-c", "set create time permission"),
    ("-s", "define permission set"),
    ("-r", "remove permissions recursively"),
];

/// Permissions to run a subcommand: name and note.
const SUBCOMMANDS: [(&str, &str); 20] = [
    ("allow", "Must also have the permission that is being\n\t\t\t\tallowed"),
    ("clone", "Must also have the 'create' ability and 'mount'\n\t\t\t\tability in the origin file system"),
    ("create", "Must also have the 'mount' ability"),
    ("destroy", "Must also have the 'mount' ability"),
    (
        "diff",
        "Allows lookup of paths within a dataset;\n\t\t\t\tgiven an object number. Ordinary users need this\n\t\t\t\tin order to use zfs diff",
    ),
    ("hold", "Allows adding a user hold to a snapshot"),
    ("mount", "Allows mount/umount of ZFS datasets"),
    ("promote", "Must also have the 'mount'\n\t\t\t\tand 'promote' ability in the origin file system"),
    ("receive", "Must also have the 'mount' and 'create' ability"),
    ("release", "Allows releasing a user hold which\n\t\t\t\tmight destroy the snapshot"),
    ("rename", "Must also have the 'mount' and 'create'\n\t\t\t\tability in the new parent"),
    ("rollback", ""),
    ("send", "Allow sending datasets"),
    ("send:raw", "Allow sending datasets, but only in 'raw'\n\t\t\t\treplication mode"),
    ("send:encrypted", "Allow sending only encrypted datasets, and\n\t\t\t\tonly in 'raw' replication mode"),
    ("share", "Allows sharing file systems over NFS or SMB\n\t\t\t\tprotocols"),
    ("snapshot", ""),
    ("bookmark", ""),
    ("load-key", "Allows loading or unloading an encryption key"),
    ("change-key", "Allows changing or adding an encryption key"),
];

/// Permissions that are neither a subcommand's nor a property's.
const OTHERS: [(&str, &str); 13] = [
    ("groupquota", "Allows accessing any groupquota@... property"),
    ("groupused", "Allows reading any groupused@... property"),
    ("userprop", "Allows changing any user property"),
    ("userquota", "Allows accessing any userquota@... property"),
    ("userused", "Allows reading any userused@... property"),
    ("userobjquota", "Allows accessing any userobjquota@... property"),
    ("userobjused", "Allows reading any userobjused@... property"),
    ("groupobjquota", "Allows accessing any \n\t\t\t\tgroupobjquota@... property"),
    ("groupobjused", "Allows reading any groupobjused@... property"),
    ("projectused", "Allows reading any projectused@... property"),
    ("projectquota", "Allows accessing any projectquota@... property"),
    ("projectobjused", "Allows accessing any \n\t\t\t\tprojectobjused@... property"),
    ("projectobjquota", "Allows accessing any \n\t\t\t\tprojectobjquota@... property"),
];

/// OpenZFS has it, and does not tell of it.
const UNTOLD: &str = "receive:append";

/// Whether a text is a permission as listings have it; of a set that is its name, with '@'.
pub fn is_permission(name: &str) -> bool {
    let is_set = |set: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.: ".contains(&byte);
        !set.is_empty() && set.len() < LONGEST_SET && set.bytes().all(fits)
    };
    let is_given = |row: &PropertyDef| row.name == name && row.edit() != Edit::Never;
    match name.strip_prefix('@') {
        Some(set) => is_set(set),
        None => {
            name == UNTOLD
                || SUBCOMMANDS.iter().any(|(known, _)| *known == name)
                || OTHERS.iter().any(|(known, _)| *known == name)
                || DatasetProperty::listed().into_iter().any(is_given)
        }
    }
}

fn text(un: bool) -> String {
    let mut text = format!("Usage: {}\n\nOptions:\n", if un { UNALLOW } else { ALLOW });
    let options = OPTIONS.iter().filter(|(letter, _)| un || *letter != "-r");
    let properties = DatasetProperty::listed().into_iter().filter(|row| row.edit() != Edit::Never);
    let rows = [("NAME", "TYPE", "NOTES")].into_iter();
    let rows = rows.chain(SUBCOMMANDS.map(|(name, note)| (name, "subcommand", note)));
    let rows = rows.chain(OTHERS.map(|(name, note)| (name, "other", note)));
    // Writing into a String cannot fail.
    for (letter, meaning) in options {
        let _ = writeln!(text, "  {letter:<10}  {meaning}");
    }
    text.push_str("\nThe following permissions are supported:\n\n");
    for (name, kind, note) in rows.chain(properties.map(|row| (row.name, "property", ""))) {
        let _ = writeln!(text, "{name:<16} {kind:<14}\t{note}");
    }
    text
}

/// As it was asked for.
pub fn tell(cx: &mut Cx<'_>, un: bool) -> Outcome {
    cx.io.out.write_all(text(un).as_bytes())?;
    Ok(0)
}

/// Because something is wrong.
pub fn refuse(cx: &mut Cx<'_>, un: bool, why: &str) -> Outcome {
    write!(cx.io.err, "{}\nzfs: error: {why}", text(un))?;
    Err(Stop::Exit(2))
}
