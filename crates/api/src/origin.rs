//! For whom a request is meant, and which site had a browser send it: what `Host`, `Origin` and
//! `Sec-Fetch-Site` say.
//!
//! A page of another site can have a browser send requests here, and by a name of its own that
//! leads here (DNS rebinding) even read the answers. So `Host` must be a name of this machine, and
//! what a browser says of the site must be this one.

use axum::http::{HeaderMap, Uri, header};
use machine::RelyingParty;
use std::net::IpAddr;

/// The port that is left out.
const DEFAULT_PORT: &str = ":443";

/// Host and port that a request is for, in small letters. `None`: it does not say, or says two.
pub fn authority(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => Some(host.to_str().ok()?.to_ascii_lowercase()),
        (None, _) => None,
        (Some(_), Some(_)) => return None,
    };
    // HTTP/2 has it in the place of the URI; there, and in a whole URI, `Host` may only repeat it.
    let of_uri = uri.authority().map(|authority| authority.as_str().to_ascii_lowercase());
    match (of_uri, host) {
        (Some(of_uri), Some(host)) => (of_uri == host).then_some(host),
        (of_uri, host) => of_uri.or(host),
    }
}

/// The host of an authority, without the port, brackets and a last dot. `None`: it is no host.
pub fn host(authority: &str) -> Option<&str> {
    let host = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            is_port(port).then_some(host)?
        }
        None => {
            let host = authority.split(':').next()?;
            is_port(&authority[host.len()..]).then_some(host)?
        }
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    (!host.is_empty() && !host.contains('@')).then_some(host)
}

/// Nothing, or a colon and a number.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

/// Whether a host is this machine whatever it is called: nobody else can have a browser take these
/// names for theirs.
pub fn is_literal(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok()
}

/// This machine as the browser of a request sees it, for security keys. `None`: it does not see it
/// by a host name, and no key counts for an address.
pub fn relying_party(authority: &str) -> Option<RelyingParty> {
    let id = host(authority).filter(|host| host.parse::<IpAddr>().is_err())?.to_owned();
    Some(RelyingParty { id, origin: format!("https://{}", plain(authority)) })
}

/// Whether no other site had a browser send the request. Programs that are no browsers do not say
/// anything about sites.
pub fn is_same_site(headers: &HeaderMap, authority: &str) -> bool {
    let is_ours = |origin: &str| {
        let site = origin.strip_prefix("https://");
        site.is_some_and(|site| plain(site).eq_ignore_ascii_case(plain(authority)))
    };
    let all = |name: &str, is_fine: &dyn Fn(&str) -> bool| {
        headers.get_all(name).iter().all(|value| value.to_str().is_ok_and(is_fine))
    };
    all("sec-fetch-site", &|site| site == "same-origin") && all("origin", &is_ours)
}

fn plain(authority: &str) -> &str {
    authority.strip_suffix(DEFAULT_PORT).unwrap_or(authority)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use axum::http::HeaderValue;

    /// Headers of these names and values.
    pub fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn the_host_is_that_of_the_uri_or_of_the_header_and_both_agree() {
        let of = |uri: &str, hosts: &[(&'static str, &'static str)]| {
            authority(&uri.parse().expect("a URI"), &headers(hosts))
        };
        assert_eq!(of("/v1/me", &[("host", "Shelf:8443")]).as_deref(), Some("shelf:8443"));
        assert_eq!(of("https://shelf:8443/v1/me", &[]).as_deref(), Some("shelf:8443"));
        assert_eq!(of("https://shelf/v1/me", &[("host", "shelf")]).as_deref(), Some("shelf"));
        assert_eq!(of("https://shelf/v1/me", &[("host", "evil")]), None);
        assert_eq!(of("/v1/me", &[("host", "shelf"), ("host", "shelf")]), None);
        assert_eq!(of("/v1/me", &[]), None);
    }

    #[test]
    fn a_host_is_taken_out_of_what_is_around_it() {
        for (authority, wanted) in [
            ("shelf", Some("shelf")),
            ("shelf:8443", Some("shelf")),
            ("shelf.:8443", Some("shelf")),
            ("10.0.0.1:1", Some("10.0.0.1")),
            ("[::1]:8443", Some("::1")),
            ("[::1]", Some("::1")),
            ("[::1", None),
            ("[::1]x", None),
            ("shelf:", None),
            ("shelf:port", None),
            ("shelf:1:2", None),
            ("shelf:99999", None),
            ("evil@shelf", None),
            (":8443", None),
            ("", None),
        ] {
            assert_eq!(host(authority), wanted, "{authority}");
        }
        assert!(is_literal("::1") && is_literal("192.0.2.1") && is_literal("localhost"));
        assert!(!is_literal("localhost.evil.example") && !is_literal("1.evil.example"));
    }

    #[test]
    fn a_key_counts_for_a_host_name_and_no_address() {
        let of = |authority| relying_party(authority).map(|site| (site.id, site.origin));
        let site = |id: &str, origin: &str| Some((id.to_owned(), origin.to_owned()));
        assert_eq!(of("shelf.example:8443"), site("shelf.example", "https://shelf.example:8443"));
        assert_eq!(of("shelf:443"), site("shelf", "https://shelf"));
        assert_eq!(of("localhost:8443"), site("localhost", "https://localhost:8443"));
        for address in ["192.0.2.1:8443", "[::1]:8443", ""] {
            assert_eq!(of(address), None, "{address}");
        }
    }

    #[test]
    fn another_site_is_told_by_what_its_browser_says() {
        let is_fine = |lines: &[(&'static str, &'static str)]| is_same_site(&headers(lines), "shelf:8443");
        assert!(is_fine(&[]), "no browser");
        assert!(is_fine(&[("origin", "https://shelf:8443"), ("sec-fetch-site", "same-origin")]));
        for (name, value) in [
            ("origin", "https://evil.example"),
            ("origin", "http://shelf:8443"),
            ("origin", "https://shelf"),
            ("origin", "https://shelf:8443.evil.example"),
            ("origin", "null"),
            ("origin", ""),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "none"),
        ] {
            assert!(!is_fine(&[(name, value)]), "{name}: {value}");
        }
        assert!(!is_fine(&[("origin", "https://shelf:8443"), ("origin", "https://evil.example")]));
        assert!(is_same_site(&headers(&[("origin", "https://shelf")]), "shelf:443"));
    }
}
