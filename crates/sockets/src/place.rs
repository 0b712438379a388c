//! Where a peer comes from, as far as limits go.

use std::net::IpAddr;

/// Who has an IPv6 address has many: 64 bits say where it is.
pub fn place(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() >> 64 << 64).into()),
        ip @ IpAddr::V4(_) => ip,
    }
}
