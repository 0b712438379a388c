//! Entity tags (RFC 9110, section 8.8.3): what a client has seen, and whether it is still so.
//!
//! Each answer to a GET that is JSON and not too long has a strong tag, made of its bytes, unless
//! its handler has given it one. Who sends the tag as `If-None-Match` is spared an answer that he
//! has. What `If-Match` does, [`crate::precondition`] says.

use axum::body::{Body, HttpBody, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::problem::defect;

/// Longest answer that gets a tag, in bytes: making one is quicker than sending it.
const LONGEST: u64 = 1 << 20;
/// Bytes of a hash that are in a tag.
const HASH: usize = 16;

/// A strong tag of a version.
pub fn of_version(version: u64) -> String {
    format!("\"{version:016x}\"")
}

/// The version that a tag is of, if it is of one.
pub fn version_of(tag: &str) -> Option<u64> {
    let digits = tag.strip_prefix('"')?.strip_suffix('"')?;
    let is_ours = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_ours.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// A strong tag of an answer.
pub fn of_bytes(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let digits: String = hash[..HASH].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

/// The tags of `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tags {
    /// `*`
    Any,
    These(Vec<String>),
}

impl Tags {
    /// `None`: there is no such header. What is no text is no tag of ours.
    pub fn of(headers: &HeaderMap, name: HeaderName) -> Option<Tags> {
        let lists = headers.get_all(name).iter().map(|list| list.to_str().unwrap_or_default());
        let lists: Vec<&str> = lists.collect();
        if lists.is_empty() {
            return None;
        }
        // Tags of ours have no comma.
        let tags: Vec<&str> = lists.iter().flat_map(|list| list.split(',')).map(str::trim).collect();
        match tags.contains(&"*") {
            true => Some(Tags::Any),
            false => Some(Tags::These(tags.into_iter().map(str::to_owned).collect())),
        }
    }

    /// Whether a strong tag is among them that says the same to the byte.
    pub fn match_strongly(&self, tag: &str) -> bool {
        match self {
            Tags::Any => true,
            Tags::These(tags) => tags.iter().any(|one| one == tag),
        }
    }

    pub fn match_weakly(&self, tag: &str) -> bool {
        match self {
            Tags::Any => true,
            Tags::These(tags) => tags.iter().any(|one| one.strip_prefix("W/").unwrap_or(one) == tag),
        }
    }
}

/// Whether requests of this kind are answered with tags.
pub fn is_for(verb: &Method) -> bool {
    [Method::GET, Method::HEAD].contains(verb)
}

/// Gives an answer its tag, or says that it is what the client has.
pub async fn tagged(known: Option<Tags>, answer: Response) -> Response {
    if answer.status() != StatusCode::OK {
        return answer;
    }
    let mut answer = answer;
    let tag = match answer.headers().get(header::ETAG) {
        Some(tag) => tag.clone(),
        None => {
            let is_json =
                answer.headers().get(header::CONTENT_TYPE).is_some_and(|it| it == "application/json");
            if !is_json || answer.body().size_hint().exact().is_none_or(|len| len > LONGEST) {
                return answer;
            }
            let (mut head, body) = answer.into_parts();
            let bytes = match to_bytes(body, LONGEST as usize).await {
                Ok(bytes) => bytes,
                Err(error) => return defect(&error).into_response(),
            };
            let tag = match HeaderValue::try_from(of_bytes(&bytes)) {
                Ok(tag) => tag,
                Err(error) => return defect(&error).into_response(),
            };
            head.headers.insert(header::ETAG, tag.clone());
            answer = Response::from_parts(head, Body::from(bytes));
            tag
        }
    };
    // Tags are of our making.
    let is_known = tag.to_str().is_ok_and(|tag| known.is_some_and(|known| known.match_weakly(tag)));
    match is_known {
        true => (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response(),
        false => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(values: &[&'static str]) -> Option<Tags> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::IF_MATCH, HeaderValue::from_static(value));
        }
        Tags::of(&headers, header::IF_MATCH)
    }

    #[test]
    fn a_tag_matches_itself_and_a_weak_one_only_weakly() {
        let tag = of_bytes(b"x");
        assert!(tag.len() == 2 * HASH + 2 && tag == of_bytes(b"x") && tag != of_bytes(b"y"));
        assert_eq!(tags(&[]), None);
        assert!(tags(&["*"]).is_some_and(|tags| tags.match_strongly(&tag)));
        let listed = tags(&["\"a\", W/\"b\"", "\"c\""]).expect("there are some");
        for (tag, strongly, weakly) in
            [("\"a\"", true, true), ("\"b\"", false, true), ("\"c\"", true, true), ("\"d\"", false, false)]
        {
            assert_eq!((listed.match_strongly(tag), listed.match_weakly(tag)), (strongly, weakly), "{tag}");
        }
        assert!(tags(&[""]).is_some_and(|tags| !tags.match_strongly(&tag)));
    }

    #[test]
    fn a_version_goes_there_and_back() {
        for version in [0, 1, u64::MAX] {
            assert_eq!(version_of(&of_version(version)), Some(version));
        }
        for other in ["\"1\"", "0000000000000001", "W/\"0000000000000001\"", "\"+000000000000001\"", "\"\""] {
            assert_eq!(version_of(other), None, "{other}");
        }
        assert_eq!(version_of(&of_bytes(b"x")), None);
    }
}
