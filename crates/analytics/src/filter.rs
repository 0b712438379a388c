//! Which requests somebody wants to see.

use api_types::{Protocol, ServedBy};

use crate::seen::Seen;

/// What is not given is any. Datasets and files are known by their numbers: one that is renamed
/// meanwhile stays what was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub protocol: Option<Protocol>,
    pub client: Option<String>,
    pub user: Option<String>,
    /// The guids of pool and dataset.
    pub dataset: Option<(u64, u64)>,
    pub object: Option<u64>,
    /// In whatever case.
    pub operation: Option<String>,
    /// Bytes of a file or volume that it touches, from and to, the last not included.
    pub offset: (Option<u64>, Option<u64>),
    /// Bytes at the least and at the most.
    pub bytes: (Option<u64>, Option<u64>),
    /// Nanoseconds at the least and at the most.
    pub took: (Option<u64>, Option<u64>),
    pub served: Option<ServedBy>,
    /// The guids of a pool and of a leaf vdev of it.
    pub device: Option<(u64, u64)>,
}

fn is<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
    wanted.is_none_or(|wanted| Some(wanted) == found)
}

fn is_within((least, most): (Option<u64>, Option<u64>), number: u64) -> bool {
    least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most)
}

impl Filter {
    pub fn takes(&self, seen: &Seen) -> bool {
        let trail = &seen.trail;
        is(self.protocol.as_ref(), Some(&seen.protocol))
            && self.client.as_deref().is_none_or(|client| client == &*seen.client)
            && is(self.dataset.as_ref(), trail.dataset.as_ref())
            && is(self.object.as_ref(), trail.object.as_ref())
            && self.operation.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(seen.operation))
            && is_within(self.bytes, trail.bytes)
            && is_within(self.took, seen.took())
            && self.touches(trail.offset, trail.bytes)
            && (self.user.is_none() || self.user == seen.user())
            && (self.served.is_none() || self.served == seen.served_by())
            && (self.device.is_none() || self.device == seen.device())
    }

    fn touches(&self, offset: Option<u64>, bytes: u64) -> bool {
        match (self.offset, offset) {
            ((None, None), _) => true,
            (_, None) => false,
            ((from, to), Some(offset)) => {
                let end = offset.saturating_add(bytes.max(1));
                from.is_none_or(|from| end > from) && to.is_none_or(|to| offset < to)
            }
        }
    }
}
