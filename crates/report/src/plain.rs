//! A report as text: for who reads mail without HTML, and for terminals.

use crate::document::{Document, Section, Table};

pub fn write(document: &Document) -> String {
    let mut text = format!("{}\n\n", document.title);
    document.summary.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    document.sections.iter().for_each(|section| add(&mut text, section));
    text
}

fn add(text: &mut String, section: &Section) {
    text.push_str(&format!("\n{}\n{}\n", section.title, "-".repeat(section.title.len())));
    section.notes.iter().for_each(|note| text.push_str(&format!("{note}\n")));
    add_table(text, &section.table);
}

/// Each row as a paragraph where it is wide: mail wraps at 78.
fn add_table(text: &mut String, table: &Table) {
    for row in &table.rows {
        let named = table.head.iter().zip(row).skip(1).map(|(head, cell)| match head.is_empty() {
            true => cell.clone(),
            false => format!("{head}: {cell}"),
        });
        let first = row.first().map_or("", String::as_str);
        text.push_str(&format!("* {first}\n"));
        let mut line = String::new();
        for part in named {
            if !line.is_empty() && line.chars().count() + part.chars().count() > 72 {
                text.push_str(&format!("  {line}\n"));
                line.clear();
            }
            if !line.is_empty() {
                line.push_str(" · ");
            }
            line.push_str(&part);
        }
        if !line.is_empty() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    if table.more > 0 {
        text.push_str(&format!("… and {} more.\n", table.more));
    }
}
