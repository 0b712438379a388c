//! One entry of a host list, and how an address is held against it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};
use std::sync::Mutex;
use std::time::Instant;

use sockets::lock;

use crate::limits::NAME_AGE;

/// Who an entry of a host list means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// `*`, or `rw`/`ro` without a list.
    Everyone,
    /// A network; one address is a network of full length.
    Net { addr: IpAddr, prefix: u8 },
    /// A name, resolved when a client comes.
    Name(String),
}

impl Host {
    /// Parses one entry.
    pub fn parse(text: &str) -> Result<Host, String> {
        let marked = text.strip_prefix('@');
        let bare = marked.unwrap_or(text);
        if bare == "*" {
            return Ok(Host::Everyone);
        }
        if let Some(net) = parse_net(bare)? {
            return Ok(net);
        }
        if marked.is_some() {
            return Err(format!("'{text}': netgroups are not supported; list networks or hosts"));
        }
        if bare.contains(['*', '?', '[', ']']) || bare.starts_with('.') {
            return Err(format!("'{text}': patterns of DNS names are not supported; list networks or hosts"));
        }
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        // A name of digits and dots alone is a mistyped address.
        if bare.is_empty()
            || bare.len() > 253
            || !bare.chars().all(good)
            || !bare.contains(char::is_alphabetic)
        {
            return Err(format!("'{text}' is neither an address, a network nor a host name"));
        }
        Ok(Host::Name(bare.to_ascii_lowercase()))
    }

    /// Larger for fewer hosts: a single one, then networks by prefix, then everyone.
    pub(super) fn narrowness(&self) -> u32 {
        match self {
            Host::Everyone => 0,
            Host::Net { addr: IpAddr::V4(_), prefix } => 97 + u32::from(*prefix),
            Host::Net { addr: IpAddr::V6(_), prefix } => 1 + u32::from(*prefix),
            Host::Name(_) => 200,
        }
    }

    pub(super) fn matches(&self, client: IpAddr, names: &Names) -> bool {
        match self {
            Host::Everyone => true,
            Host::Net { addr, prefix } => bits_equal(*addr, client.to_canonical(), *prefix),
            Host::Name(name) => names.resolve(name).contains(&client.to_canonical()),
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Host::Everyone => f.write_str("*"),
            Host::Net { addr, prefix } if u32::from(*prefix) == width(*addr) => addr.fmt(f),
            Host::Net { addr, prefix } => write!(f, "{addr}/{prefix}"),
            Host::Name(name) => f.write_str(name),
        }
    }
}

fn width(addr: IpAddr) -> u32 {
    if addr.is_ipv4() { 32 } else { 128 }
}

/// `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, `[2001:db8::]/32`, `[2001:db8::/32]`, or an address without
/// the length. `Ok(None)`: not an address at all.
fn parse_net(text: &str) -> Result<Option<Host>, String> {
    let unbracketed: String = text.chars().filter(|c| !matches!(c, '[' | ']')).collect();
    let (addr, length) = match unbracketed.split_once('/') {
        Some((addr, length)) => (addr, Some(length)),
        None => (unbracketed.as_str(), None),
    };
    let Ok(addr) = addr.parse::<IpAddr>() else {
        return match length {
            Some(_) => Err(format!("'{text}' is not a network")),
            None => Ok(None),
        };
    };
    let width = width(addr);
    let prefix = match length {
        None => Some(width),
        Some(length) => length.parse().ok().filter(|&bits| bits <= width).or_else(|| mask_bits(addr, length)),
    };
    match prefix {
        Some(prefix) => Ok(Some(Host::Net { addr, prefix: prefix as u8 })),
        None => Err(format!("'{text}': the length of the network must be 0 to {width}")),
    }
}

/// The length that a netmask stands for, if its ones are all in front.
fn mask_bits(addr: IpAddr, mask: &str) -> Option<u32> {
    let mask = u32::from(mask.parse::<Ipv4Addr>().ok()?);
    (addr.is_ipv4() && mask.leading_ones() == mask.count_ones()).then(|| mask.count_ones())
}

fn bits_equal(a: IpAddr, b: IpAddr, prefix: u8) -> bool {
    let high = |bits: u128, width: u32| bits.checked_shr(width - u32::from(prefix)).unwrap_or(0);
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            high(u128::from(u32::from(a)), 32) == high(u128::from(u32::from(b)), 32)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => high(u128::from(a), 128) == high(u128::from(b), 128),
        _ => false,
    }
}

/// Addresses of the host names in exports, remembered for a while.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: Mutex<HashMap<String, (Instant, Vec<IpAddr>)>>,
}

impl Names {
    /// Asks the system's resolver where the answer is missing or old; that may take as long as it
    /// takes.
    fn resolve(&self, name: &str) -> Vec<IpAddr> {
        if let Some((at, addrs)) = lock(&self.known).get(name)
            && at.elapsed() < NAME_AGE
        {
            return addrs.clone();
        }
        let found =
            (name, 0).to_socket_addrs().map(|addrs| addrs.map(|addr| addr.ip().to_canonical()).collect());
        let addrs: Vec<IpAddr> = found.unwrap_or_else(|error| {
            tracing::warn!(name, %error, "host name in sharenfs does not resolve");
            Vec::new()
        });
        lock(&self.known).insert(name.to_owned(), (Instant::now(), addrs.clone()));
        addrs
    }

    /// Forgets everything; called when the exports change.
    pub(crate) fn clear(&self) {
        lock(&self.known).clear();
    }
}
