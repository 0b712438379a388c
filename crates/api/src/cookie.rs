//! The cookie of a session.
//!
//! Its name makes browsers take it from this host alone, over HTTPS alone, for all paths
//! (`__Host-`, RFC 6265bis). No other site can have a browser send it along (`SameSite`), and no
//! script can read it.

use axum::http::{HeaderMap, HeaderValue, header};

const NAME: &str = "__Host-cistern";
const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Strict";

/// The secret of the session that a request shows. Where it shows two, it is not known which one is
/// ours: that is none.
pub fn session(headers: &HeaderMap) -> Option<&str> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(name, _)| *name == NAME).map(|(_, secret)| secret);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Has a browser keep the secret until it is closed. `None`: the secret is none of ours.
pub fn keep(secret: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("{NAME}={secret}; {ATTRIBUTES}")).ok()
}

/// Has a browser forget it.
pub fn forget() -> HeaderValue {
    const FORGET: &str = "__Host-cistern=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict";
    HeaderValue::from_static(FORGET)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(cookies: &[&'static str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(header::COOKIE, HeaderValue::from_static(cookie));
        }
        session(&headers).map(str::to_owned)
    }

    #[test]
    fn a_session_is_found_among_other_cookies_and_is_never_guessed() {
        assert_eq!(shown(&["__Host-cistern=abc"]).as_deref(), Some("abc"));
        assert_eq!(shown(&["a=b; __Host-cistern=x=y ;c"]).as_deref(), Some("x=y"));
        // HTTP/2 may send each in a header of its own.
        assert_eq!(shown(&["a=b", "__Host-cistern=abc", "c=d"]).as_deref(), Some("abc"));
        assert_eq!(shown(&["__Host-cistern=a; __Host-cistern=b"]), None);
        assert_eq!(shown(&["__Host-cistern=a", "__Host-cistern=a"]), None);
        for other in ["", "cistern=a", "__host-cistern=a", "x__Host-cistern=a", "__Host-cistern"] {
            assert_eq!(shown(&[other]), None, "{other}");
        }
    }

    #[test]
    fn what_a_browser_is_told_cannot_be_escaped_from() {
        let kept = keep("session_1_abc").expect("a header");
        assert_eq!(kept, "__Host-cistern=session_1_abc; Path=/; Secure; HttpOnly; SameSite=Strict");
        assert_eq!(keep("a\r\nSet-Cookie: b=c"), None);
        assert_eq!(forget(), format!("{NAME}=; Max-Age=0; {ATTRIBUTES}"));
    }
}
