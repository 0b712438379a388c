//! The files of the web console, as the program carries them.
//!
//! Its sources are TypeScript, in the folder `console` of the project. `scripts/console` builds
//! them into `target/console`, and this crate's build script takes them from there. A program that
//! is built without them has a page instead that says so ([`IS_BUILT`]), and its build warns. It
//! does not fail: who works on the engine needs no Node.js. `make run`, `make test` and
//! `scripts/deb` build the console first, and `scripts/deb` packs no program without it.
//!
//! Invariant: the name of a file that lasts has a hash of its content, so what is kept by that name
//! is never old.

/// A file, plain and compressed.
#[derive(Debug)]
pub struct File {
    /// Without a slash before it.
    pub path: &'static str,
    pub media_type: &'static str,
    /// Its name says what is in it.
    pub lasts: bool,
    /// An entity tag of its content, in quotes.
    pub tag: &'static str,
    plain: &'static [u8],
    brotli: &'static [u8],
}

/// What is served at `/`.
pub const INDEX: &str = "index.html";

static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Of a program without a console.
static MISSING: File = File {
    path: INDEX,
    media_type: "text/html; charset=utf-8",
    lasts: false,
    tag: "\"missing\"",
    plain: include_bytes!("missing.html"),
    brotli: &[],
};

/// Whether the program has the console.
pub const IS_BUILT: bool = !FILES.is_empty();

/// The file of that path. `None`: there is none.
pub fn file(path: &str) -> Option<&'static File> {
    match IS_BUILT {
        true => FILES.iter().find(|file| file.path == path),
        false => (path == INDEX).then_some(&MISSING),
    }
}

impl File {
    /// Its content for a client that says this by `Accept-Encoding`, and how that is encoded;
    /// `None`: it is plain.
    pub fn content(&self, accepted: &str) -> (Option<&'static str>, &'static [u8]) {
        match !self.brotli.is_empty() && takes(accepted, "br") {
            true => (Some("br"), self.brotli),
            false => (None, self.plain),
        }
    }
}

/// Whether a header names an encoding, and does not refuse it (RFC 9110, section 12.5.3).
fn takes(accepted: &str, encoding: &str) -> bool {
    accepted.split(',').any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_it = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        is_it && weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_first_page_whether_the_console_is_built_or_not() {
        let index = file(INDEX).expect("a first page");
        assert!(!index.lasts && index.tag.starts_with('"'));
        assert!(index.content("").1.starts_with(b"<!doctype html>"));
        assert!(file("../index.html").is_none() && file("").is_none());
    }

    #[test]
    fn a_client_gets_what_it_takes() {
        for (accepted, wanted) in [
            ("gzip, deflate, br, zstd", true),
            ("BR", true),
            ("br;q=0.5", true),
            ("br; q=0", false),
            ("gzip", false),
            ("brotli", false),
            ("", false),
        ] {
            assert_eq!(takes(accepted, "br"), wanted, "{accepted}");
        }
    }
}
