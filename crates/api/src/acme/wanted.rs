//! What an administrator may set about certificates by ACME.

use super::http::{are_roots, is_https};
use crate::problem::{Refusal, refuse};
use api_types::{AcmeSet, kind};
use machine::AcmeWanted;
use std::net::IpAddr;

/// The authority where no other is named.
const USUAL: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// Names of one certificate.
const NAMES: usize = 16;
/// Bytes of a name and of one of its labels, as in DNS; of an address of e-mail, of a URL, and of
/// roots.
const NAME: usize = 253;
const LABEL: usize = 63;
const EMAIL: usize = 254;
const URL: usize = 1 << 10;
const ROOTS: usize = 256 << 10;

/// Checks what is asked for.
pub fn wanted(asked: AcmeSet) -> Result<AcmeWanted, Refusal> {
    let AcmeSet { domains, email, directory, roots, agree_terms } = asked;
    let invalid = |why: String| Err(refuse(kind::INVALID, why));
    if !agree_terms {
        return invalid("it takes that the authority's terms of service are agreed to".to_owned());
    }
    let mut names = Vec::new();
    for name in domains {
        let name = name.to_ascii_lowercase();
        if let Some(why) = is_no_name(&name) {
            let shown: String = name.chars().take(LABEL).collect();
            return invalid(format!("'{}' {why}", shown.escape_debug()));
        }
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() > NAMES {
            return invalid(format!("a certificate is for at most {NAMES} names"));
        }
    }
    if names.is_empty() {
        return invalid("a name is wanted".to_owned());
    }
    if email.as_deref().is_some_and(|email| !is_email(email)) {
        return invalid("that is no address of e-mail".to_owned());
    }
    let directory = directory.unwrap_or_else(|| USUAL.to_owned());
    if directory.len() > URL || !is_https(&directory) {
        return invalid("the directory is no URL of HTTPS".to_owned());
    }
    if roots.as_deref().is_some_and(|roots| roots.len() > ROOTS || !are_roots(roots)) {
        return invalid("the roots are no certificates in PEM".to_owned());
    }
    Ok(AcmeWanted { domains: names, email, directory, roots })
}

/// What is wrong with a name; `None`: nothing.
fn is_no_name(name: &str) -> Option<&'static str> {
    let is_label = |label: &str| {
        (1..=LABEL).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let last_is_number =
        name.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    if name.starts_with("*.") {
        Some("stands for many names: those are proven in the DNS alone, which is not done here")
    } else if name.parse::<IpAddr>().is_ok() {
        Some("is an address: a name is wanted")
    } else if name.len() > NAME || !name.contains('.') || last_is_number || !name.split('.').all(is_label) {
        Some("is no whole name of the DNS; one with other letters than a to z is wanted as 'xn--…'")
    } else {
        None
    }
}

/// What an authority can write to: one address, without more.
fn is_email(text: &str) -> bool {
    let parts = text.split_once('@');
    text.len() <= EMAIL
        && parts
            .is_some_and(|(user, host)| !user.is_empty() && is_no_name(&host.to_ascii_lowercase()).is_none())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@.-_+".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(domains: &[&str]) -> AcmeSet {
        let domains = domains.iter().map(|&name| name.to_owned()).collect();
        AcmeSet { domains, agree_terms: true, ..AcmeSet::default() }
    }

    #[test]
    fn names_are_taken_once_and_in_small_letters() {
        let taken = wanted(asked(&["NAS.example.org", "nas.example.org", "xn--bcher-kva.example"]));
        let taken = taken.expect("it is in order");
        assert_eq!(taken.domains, ["nas.example.org", "xn--bcher-kva.example"]);
        assert_eq!((taken.directory.as_str(), taken.email, taken.roots), (USUAL, None, None));
    }

    #[test]
    fn what_no_authority_could_use_is_refused_before_one_is_asked() {
        let long = format!("{}.org", "a".repeat(64));
        let longer = format!("{}org", "a.".repeat(126));
        for name in [
            "",
            "nas",
            "*.example.org",
            "192.0.2.1",
            "::1",
            "1.2.3",
            "a..b",
            ".a.b",
            "a.b.",
            "-a.b",
            "a_b.c",
            "a b.c",
            "b\u{fc}cher.example",
            "a.b\n",
            "a.b/c",
            "a.b:443",
            &long,
            &longer,
        ] {
            assert_eq!(wanted(asked(&[name])).expect_err(name).0.kind, kind::INVALID, "{name}");
        }
        let many: Vec<String> = (0..17).map(|n| format!("n{n}.example.org")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        wanted(asked(&many[..16])).expect("as many as there may be");
        wanted(asked(&many)).expect_err("too many");
        wanted(asked(&[])).expect_err("none");
        let good = asked(&["nas.example.org"]);
        wanted(AcmeSet { agree_terms: false, ..good.clone() }).expect_err("not agreed to");
        for email in ["ada@example.org", "a.d+a@mail.example.org"] {
            wanted(AcmeSet { email: Some(email.to_owned()), ..good.clone() }).expect(email);
        }
        for email in
            ["", "ada", "@example.org", "a@b@c.org", "ada@example.org,eve@example.org", "a@b.org?c=d"]
        {
            wanted(AcmeSet { email: Some(email.to_owned()), ..good.clone() }).expect_err(email);
        }
        wanted(AcmeSet { directory: Some("https://[::1]:14000/dir".to_owned()), ..good.clone() })
            .expect("one");
        for url in
            ["http://ca.example/", "https://", "https://u:p@ca.example/", "ca.example", "file:///etc", ""]
        {
            wanted(AcmeSet { directory: Some(url.to_owned()), ..good.clone() }).expect_err(url);
        }
        for roots in ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            wanted(AcmeSet { roots: Some(roots.to_owned()), ..good.clone() }).expect_err(roots);
        }
    }
}
