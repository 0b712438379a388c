//! Where targets are reached: portals, in groups. A group is a port of every target that does not
//! say otherwise.
//!
//! The connections of one session come through portals of one group; sessions through several
//! groups are several paths.
//!
//! Source: RFC 7143 4.4.1 (groups), 13.8 and 13.9 (addresses and tags).

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

/// An address, and the tag of the group that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portal {
    /// Port 0 picks one. `[::]` takes IPv4 initiators too.
    pub addr: SocketAddr,
    /// From 1 on.
    pub group: u16,
}

/// Of a portal that does not say its group.
const FIRST: u16 = 1;

impl FromStr for Portal {
    type Err = String;

    /// As targets are announced: `10.0.0.1:3260,2`.
    fn from_str(text: &str) -> Result<Portal, String> {
        let (addr, group) = text.rsplit_once(',').map_or((text, None), |(addr, tag)| (addr, Some(tag)));
        let group = group.map_or(Some(FIRST), |tag| tag.parse().ok().filter(|group| *group > 0));
        let portal = addr.parse().ok().zip(group).map(|(addr, group)| Portal { addr, group });
        portal.ok_or_else(|| format!("'{text}' is not ADDR:PORT or ADDR:PORT,TAG"))
    }
}

impl fmt::Display for Portal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.addr, self.group)
    }
}

/// The portal that a connection came through, with the others beside it.
#[derive(Clone, Debug)]
pub struct Door {
    pub portals: Arc<[Portal]>,
    pub group: u16,
    /// The connection's own address here.
    pub local: SocketAddr,
}

impl Door {
    /// Portals of some groups, or of all where none is named, as who came through this one can find
    /// them.
    pub fn addresses(&self, groups: &[u16]) -> Vec<Portal> {
        let own = self.local.ip().to_canonical();
        let found = |portal: &Portal| {
            let mut portal = *portal;
            let ip = portal.addr.ip();
            if ip.is_unspecified() {
                // All addresses: the one that this initiator is known to find, if it is one of
                // them.
                let covers = ip.is_ipv6() || own.is_ipv4();
                covers.then(|| portal.addr = SocketAddr::new(own, portal.addr.port()))?;
            }
            Some(portal)
        };
        let wanted = |portal: &&Portal| groups.is_empty() || groups.contains(&portal.group);
        let mut addresses: Vec<Portal> = Vec::new();
        for portal in self.portals.iter().filter(wanted).filter_map(found) {
            if !addresses.contains(&portal) {
                addresses.push(portal);
            }
        }
        addresses
    }
}
