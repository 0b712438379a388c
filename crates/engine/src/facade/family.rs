//! A dataset and what is below it, with their snapshots: what streams of whole trees are planned
//! by, on both sides; and which snapshot a guid in a stream means here.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`gather_nvlist`, `send_iterate_fs`).

use engine_api::{DatasetFilter, DatasetInfo, DatasetKind, Error, Result};
use refusal::{Action, Reason, Refused};

use super::convert::api_error;
use super::pool::LocalPool;

/// One dataset.
pub(super) struct Member {
    pub info: DatasetInfo,
    /// Oldest first.
    pub snapshots: Vec<DatasetInfo>,
    /// The snapshot that it is a clone of.
    pub origin: Option<String>,
}

impl Member {
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// The place of the snapshot of this short name.
    pub fn named(&self, short: &str) -> Option<usize> {
        self.snapshots.iter().position(|snapshot| short_name(&snapshot.name) == short)
    }

    fn guid_named(&self, short: &str) -> Option<u64> {
        self.named(short).map(|at| self.snapshots[at].guid)
    }
}

/// What is behind the `@`.
pub(super) fn short_name(name: &str) -> &str {
    name.split_once('@').map_or("", |(_, short)| short)
}

/// The guid of the snapshot of the dataset above that a stream starts from; one that has come since
/// has none of that name, and is known by the one that it ends with. 0 without a dataset above.
pub(super) fn parent_from(family: &[Member], name: &str, from: Option<&str>, to: &str) -> u64 {
    let above = name.rsplit_once('/').map(|(above, _)| above);
    let above = family.iter().find(|member| Some(member.name()) == above);
    let guid = |above: &Member| from.and_then(|from| above.guid_named(from)).or_else(|| above.guid_named(to));
    above.and_then(guid).unwrap_or(0)
}

/// The name that begins most as another does.
pub(super) fn nearest(names: Vec<String>, to: &str) -> Option<String> {
    let common = |name: &String| name.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count();
    names.into_iter().max_by_key(common)
}

/// What can have snapshots.
pub(super) const HEADS: &[DatasetKind] = &[DatasetKind::Filesystem, DatasetKind::Volume];
/// The same, and the snapshots.
pub(super) const HEADS_AND_SNAPSHOTS: &[DatasetKind] =
    &[DatasetKind::Filesystem, DatasetKind::Volume, DatasetKind::Snapshot];

/// Asks for a dataset and what is below it, so deep.
pub(super) fn below(root: &str, depth: Option<u32>, kinds: &[DatasetKind], props: &[&str]) -> DatasetFilter {
    let props = props.iter().map(|&prop| prop.to_owned()).collect();
    DatasetFilter { roots: vec![root.to_owned()], depth, alone: false, kinds: kinds.to_vec(), props }
}

pub(super) fn no_dataset(name: &str) -> Error {
    Refused::new(Action::Open { name: name.to_owned() }, Reason::NoDataset).into()
}

impl LocalPool {
    /// A dataset, and with `recursive` all below it, parents first.
    pub(super) fn family(&self, head: &str, recursive: bool) -> Result<Vec<Member>> {
        let filter = below(head, (!recursive).then_some(1), HEADS_AND_SNAPSHOTS, &["origin"]);
        let found = self.list_datasets(&filter).map_err(|error| match error {
            Error::NotFound => no_dataset(head),
            other => other,
        })?;
        let mut family: Vec<Member> = Vec::new();
        for info in found {
            let (name, _) = info.name.split_once('@').unwrap_or((&info.name, ""));
            if let Some(member) = family.iter_mut().find(|member| member.name() == name) {
                member.snapshots.push(info);
            } else if !info.name.contains('@') && (recursive || info.name == head) {
                let origin = info.props.iter().find(|prop| prop.name == "origin" && !prop.value.is_empty());
                let origin = origin.map(|prop| prop.value.clone());
                family.push(Member { info, snapshots: Vec::new(), origin });
            }
        }
        for member in &mut family {
            member.snapshots.sort_by_key(|snapshot| snapshot.createtxg);
        }
        Ok(family)
    }

    pub(super) fn guid_of(&self, snapshot: &str) -> Result<u64> {
        let object = self.pool.dsl.object_of(snapshot).map_err(api_error)?;
        Ok(self.pool.dsl.snapshot_identity(object).map_err(api_error)?.0)
    }

    /// A snapshot of this guid, as near to a name as there is one.
    pub(super) fn by_guid(&self, guid: u64, near: &str) -> Result<Option<String>> {
        Ok(nearest(self.pool.dsl.snapshots_by_guid(guid).map_err(api_error)?, near))
    }
}
