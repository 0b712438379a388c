//! A report as HTML that mail readers show: tables, a few styles, no script, nothing from
//! elsewhere.
//!
//! Colours are left to the reader, light or dark, but for lines and marks that can be seen on both.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::document::{Document, Picture, Section, Table};
use crate::picture::{HEIGHT, WIDTH};

/// Where pictures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures {
    /// Parts of the same mail.
    Beside,
    /// In the page itself.
    Within,
}

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<meta name=\"supported-color-schemes\" content=\"light dark\">
<style>:root { color-scheme: light dark; }</style>";
/// Styles stand at their elements: many mail readers drop all others.
const BODY: &str = "font-family: -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; font-size: 15px; \
                    line-height: 1.45; max-width: 680px; margin: 0 auto; padding: 12px;";
const CELL: &str = "padding: 4px 10px 4px 0; vertical-align: top; text-align: left; \
                    border-bottom: 1px solid rgba(128, 128, 128, 0.4);";
const SMALL: &str = "font-size: 13px; opacity: 0.85;";

pub fn write(document: &Document, pictures: Pictures) -> String {
    let title = text(&document.title);
    let mut html = format!("{HEAD}\n<title>{title}</title></head>\n<body style=\"{BODY}\">\n");
    html.push_str(&format!("<h1 style=\"font-size: 20px; margin: 8px 0;\">{title}</h1>\n<p>"));
    let summary: Vec<String> = document.summary.iter().map(|line| text(line)).collect();
    html.push_str(&format!("{}</p>\n", summary.join("<br>\n")));
    document.sections.iter().for_each(|section| add(&mut html, section, pictures));
    html.push_str("</body></html>\n");
    html
}

fn add(html: &mut String, section: &Section, pictures: Pictures) {
    html.push_str(&format!(
        "<h2 style=\"font-size: 17px; margin: 22px 0 6px;\">{}</h2>\n",
        text(section.title)
    ));
    section
        .notes
        .iter()
        .for_each(|note| html.push_str(&format!("<p style=\"margin: 4px 0;\">{}</p>\n", text(note))));
    add_table(html, &section.table);
    section.pictures.iter().for_each(|picture| add_picture(html, picture, pictures));
}

/// A wide table is scrolled by itself, so that a phone shows the rest as wide as it is.
fn add_table(html: &mut String, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    html.push_str(
        "<div style=\"overflow-x: auto;\"><table style=\"border-collapse: collapse; font-size: 14px;\"><tr>",
    );
    for head in table.head {
        html.push_str(&format!("<th style=\"{CELL} {SMALL}\">{}</th>", text(head)));
    }
    html.push_str("</tr>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        row.iter()
            .for_each(|cell| html.push_str(&format!("<td style=\"{CELL}\"><bdi>{}</bdi></td>", text(cell))));
        html.push_str("</tr>\n");
    }
    html.push_str("</table></div>\n");
    if table.more > 0 {
        html.push_str(&format!("<p style=\"{SMALL}\">… and {} more.</p>\n", table.more));
    }
}

fn add_picture(html: &mut String, picture: &Picture, pictures: Pictures) {
    let source = match pictures {
        Pictures::Beside => format!("cid:{}", picture.name),
        Pictures::Within => format!("data:image/png;base64,{}", BASE64_STANDARD.encode(&picture.png)),
    };
    let legend = picture.legend.iter().map(|(colour, name)| {
        let [red, green, blue] = colour.rgb();
        format!(" <span style=\"color: #{red:02x}{green:02x}{blue:02x};\">&#9632;</span> {}", text(name))
    });
    let legend: String = legend.collect();
    let (title, top) = (text(&picture.title), text(&picture.top));
    html.push_str(&format!(
        "<p style=\"margin: 14px 0 2px;\"><b><bdi>{title}</bdi></b>{legend}<br><span style=\"{SMALL}\">from 0 to \
         {top}</span></p>\n<img src=\"{source}\" alt=\"{title}, from 0 to {top}\" width=\"{}\" style=\"display: block; \
         width: 100%; max-width: {}px; height: auto; aspect-ratio: {WIDTH} / {HEIGHT};\">\n",
        WIDTH / 2,
        WIDTH / 2
    ));
    html.push_str(&format!(
        "<table style=\"width: 100%; max-width: {}px; {SMALL}\"><tr><td>{}</td><td style=\"text-align: \
         right;\">{}</td></tr></table>\n",
        WIDTH / 2,
        text(&picture.from),
        text(&picture.to)
    ));
}

/// Text between tags, and within the quotes of an attribute.
fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
