//! Usage texts: OpenZFS's synopses, with examples.

use super::Program;
use crate::command::Command;
use api_types::{DatasetProperty, Edit, PoolProperty};
use std::fmt::Write;

/// Everything that a program can do.
pub fn program(program: Program) -> String {
    let name = program.name();
    let mut text = format!("usage: {name} command args ...\nwhere 'command' is one of the following:\n\n");
    for command in program.commands() {
        text.push_str(command.usage);
        text.push('\n');
    }
    match program {
        Program::Zpool => {
            text.push_str("\nFor further help on a command or topic, run: zpool help [<topic>]\n");
        }
        Program::Zfs => {
            text.push_str("\nEach dataset is of the form: pool/[dataset/]*dataset[@name]\n");
            text.push_str("\nFor the property list, run: zfs set|get\n");
        }
    }
    text
}

/// One command.
pub fn command(program: Program, command: &Command) -> String {
    let mut text = format!("usage:\n{}\n", command.usage);
    if !command.examples.is_empty() {
        text.push_str("\nexamples:\n");
        for example in command.examples {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "\t{example}");
        }
    }
    match (program, command.name) {
        (Program::Zfs, "set" | "get" | "inherit" | "list") => text.push_str(&dataset_table()),
        (Program::Zpool, "set" | "get" | "list") => text.push_str(&pool_table()),
        (Program::Zfs, _) => text.push_str("\nFor the property list, run: zfs set|get\n"),
        (Program::Zpool, _) => {}
    }
    text
}

fn dataset_table() -> String {
    let mut text = String::from("\nThe following properties are supported:\n");
    text.push_str("\n\tPROPERTY              EDIT  INHERIT   VALUES\n\n");
    for row in DatasetProperty::listed() {
        let edit = if row.edit() == Edit::Always { "YES" } else { " NO" };
        let inherit = if row.is_inherited() { "YES" } else { " NO" };
        let _ = writeln!(text, "\t{:<22} {edit}      {inherit}   {}", row.name, row.values);
    }
    text.push_str("\nSizes are specified in bytes with standard units such as K, M, G, etc.\n");
    text.push_str("\nUser-defined properties can be specified by using a name containing a colon (:).\n");
    text
}

fn pool_table() -> String {
    let mut text = String::from("\nthe following properties are supported:\n");
    text.push_str("\n\tPROPERTY             EDIT   VALUES\n\n");
    for row in PoolProperty::listed() {
        let edit = if row.edit() == Edit::Always { " YES   " } else { "  NO   " };
        let _ = writeln!(text, "\t{:<19}  {edit}{}", row.name, row.values);
    }
    let _ = writeln!(text, "\t{:<19}   YES   disabled | enabled | active", "feature@...");
    text.push_str("\nThe feature@ properties must be appended with a feature name.\n");
    text.push_str("See zpool-features(7).\n");
    text
}
