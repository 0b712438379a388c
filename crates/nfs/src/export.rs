//! `sharenfs` as a value: who may mount a file system, how, and as whom they act.
//!
//! The syntax is OpenZFS's on Linux, which is that of exports(5) with host lists behind `rw=` and
//! `ro=`: `off`, `on`, or options with commas, as in
//! `rw=@10.0.0.0/8:host.example,ro=[2001:db8::]/32,no_root_squash`. `on` stands for
//! `sec=sys,rw,crossmnt,no_subtree_check`. Where one host matches several entries the narrowest
//! decides, as exports(5) has it; where no list is given everyone may come.
//!
//! What this server cannot do (netgroups, DNS wildcards, Kerberos) is refused when it is set, never
//! quietly widened.

mod host;
mod parse;

use std::net::IpAddr;

use engine_api::Cred;
use stdx::posix::NO_ID;
use sunrpc::msg::Credential;

pub use host::Host;
pub(crate) use host::Names;
pub use parse::parse;

/// The user and group of those who have none: `nobody`.
pub const NOBODY: u32 = 65534;

/// Whose credentials are replaced by the anonymous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Squash {
    /// `no_root_squash`
    None,
    /// `root_squash`, the default: uid 0 and gid 0.
    Root,
    /// `all_squash`
    All,
}

/// One host or network of an `rw=` or `ro=` list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub host: Host,
    pub writable: bool,
}

/// A parsed `sharenfs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportOptions {
    /// False for `off`.
    pub enabled: bool,
    pub rules: Vec<Rule>,
    pub squash: Squash,
    pub anon_uid: u32,
    pub anon_gid: u32,
    /// `secure`, the default: requests come from reserved ports, which only privileged programs of
    /// a client have.
    pub secure: bool,
    /// File systems mounted below appear when looked up.
    pub crossmnt: bool,
    /// `sync`, the default: what a client was told is done is on stable storage. `async` answers
    /// sooner, and a crash may take back the last seconds' changes of names and attributes. Writes
    /// asked to be stable are so in either.
    pub sync: bool,
}

impl ExportOptions {
    /// `off`
    pub fn off() -> ExportOptions {
        ExportOptions {
            enabled: false,
            rules: Vec::new(),
            squash: Squash::Root,
            anon_uid: NOBODY,
            anon_gid: NOBODY,
            secure: true,
            crossmnt: true,
            sync: true,
        }
    }

    /// Whether the address may come, and if so whether it may write.
    pub(crate) fn grant(&self, addr: IpAddr, names: &Names) -> Option<bool> {
        if !self.enabled {
            return None;
        }
        let mut best: Option<(u32, bool)> = None;
        for rule in &self.rules {
            let narrower = best.is_none_or(|(width, _)| rule.host.narrowness() > width);
            if narrower && rule.host.matches(addr, names) {
                best = Some((rule.host.narrowness(), rule.writable));
            }
        }
        best.map(|(_, writable)| writable)
    }

    /// The credential that acts for the caller.
    pub fn cred(&self, credential: &Credential) -> Cred {
        let sys = match credential {
            Credential::Sys(sys) if self.squash != Squash::All => sys,
            _ => return Cred::user(self.anon_uid, self.anon_gid),
        };
        let is_squashed = |id: u32| id == NO_ID || id == 0 && self.squash == Squash::Root;
        let group = |gid: u32| if is_squashed(gid) { self.anon_gid } else { gid };
        let uid = if is_squashed(sys.uid) { self.anon_uid } else { sys.uid };
        let groups = sys.gids().iter().map(|&gid| group(gid)).collect();
        Cred { groups, ..Cred::user(uid, group(sys.gid)) }
    }

    /// Who may come, for `showmount -e`; empty for everyone.
    pub fn groups(&self) -> Vec<String> {
        if self.rules.iter().any(|rule| rule.host == Host::Everyone) {
            return Vec::new();
        }
        self.rules.iter().map(|rule| rule.host.to_string()).collect()
    }
}

#[cfg(test)]
mod tests;
