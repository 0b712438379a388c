//! Lists in pages: where a page ends, and how its client gets to the next one.
//!
//! The answer is the list as it always was; header `Link` (RFC 8288) leads on. A cursor is a place
//! in the order of the list, so that it means the same whatever comes and goes meanwhile.

use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::problem::{Refusal, refuse};
use api_types::routes::segment;
use api_types::{DatasetPlace, kind};

/// Most entries of a page.
pub const MOST: usize = 1_000;

/// A part of a list. `next` is the address of the part behind it, where there may be one.
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}

impl<T: Serialize> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.items).into_response();
        let link = self.next.map(|next| HeaderValue::try_from(format!("<{next}>; rel=\"next\"")));
        // An address of ours has printable ASCII alone.
        if let Some(Ok(link)) = link {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }
}

/// A path with a query of those of these that say something.
pub fn address(path: &str, query: &[(&str, &str)]) -> String {
    let told = query.iter().filter(|(_, value)| !value.is_empty());
    let told: Vec<String> = told.map(|(name, value)| format!("{name}={}", segment(value))).collect();
    format!("{path}?{}", told.join("&"))
}

/// A place in the lists of several roots, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Which of the roots that were asked for; 0 where all pools are.
    pub root: usize,
    pub place: DatasetPlace,
}

impl Cursor {
    /// What clients are given. They have no need to know what is in it.
    pub fn text(&self) -> String {
        format!("{}.{}.{}", self.root, self.place.createtxg, self.place.name)
    }

    /// `None`: the text is empty.
    pub fn parse(text: &str) -> Result<Option<Cursor>, Refusal> {
        let unread = || refuse(kind::BAD_REQUEST, format!("'{text}' is no cursor that a list has given"));
        if text.is_empty() {
            return Ok(None);
        }
        let mut parts = text.splitn(3, '.');
        let mut part = || parts.next().ok_or_else(unread);
        let (root, createtxg, name) = (part()?, part()?, part()?);
        let root = root.parse().map_err(|_| unread())?;
        let createtxg = createtxg.parse().map_err(|_| unread())?;
        Ok(Some(Cursor { root, place: DatasetPlace { name: name.to_owned(), createtxg } }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_what_it_was_and_nothing_else_is_one() {
        let place = DatasetPlace { name: "tank/a.b@c.d".into(), createtxg: 47 };
        let cursor = Cursor { root: 2, place };
        assert_eq!(Cursor::parse(&cursor.text()), Ok(Some(cursor)));
        assert_eq!(Cursor::parse(""), Ok(None));
        for wrong in ["0", "0.1", "x.1.tank", "0.-1.tank", "0.99999999999999999999999.tank"] {
            assert!(Cursor::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_next_page_is_in_a_header_beside_the_list() {
        let next = address("/v1/datasets", &[("roots", "tank/a"), ("props", ""), ("limit", "2")]);
        assert_eq!(next, "/v1/datasets?roots=tank%2Fa&limit=2");
        let link = |next| Page { items: vec![1], next }.into_response().headers().get("link").cloned();
        let value = HeaderValue::from_static("</v1/datasets?roots=tank%2Fa&limit=2>; rel=\"next\"");
        assert_eq!((link(Some(next)), link(None)), (Some(value), None));
    }
}
