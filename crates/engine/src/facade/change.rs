//! Changes of pools, as the layer below takes them.

use ::pool::change::Change as PoolChange;
use ::pool::recv::Step;
use engine_api::{Change, PropertyChange};

/// As the pool takes them.
pub(super) fn pairs(props: &[PropertyChange]) -> Vec<(String, String)> {
    props.iter().map(|prop| (prop.name.clone(), prop.value.clone())).collect()
}

/// What a volume's size is to be; what is no number is refused later.
pub(super) fn new_size(props: &[PropertyChange]) -> Option<u64> {
    stdx::number::parse(&props.iter().find(|prop| prop.name == "volsize")?.value).ok()
}

/// `None`: a change this version of the engine does not know.
pub(super) fn pool_change(change: &Change) -> Option<PoolChange> {
    Some(match change {
        Change::CreateFilesystem { name, parents, props } => {
            PoolChange::CreateFilesystem { name: name.clone(), parents: *parents, props: pairs(props) }
        }
        Change::CreateVolume { name, parents, sparse, props } => PoolChange::CreateVolume {
            name: name.clone(),
            parents: *parents,
            sparse: *sparse,
            props: pairs(props),
        },
        Change::Destroy { names, defer } => PoolChange::Destroy { names: names.clone(), defer: *defer },
        Change::Snapshot { names, recursive, props } => {
            PoolChange::Snapshot { names: names.clone(), recursive: *recursive, props: pairs(props) }
        }
        Change::Rollback { snapshot } => PoolChange::Rollback { snapshot: snapshot.clone() },
        Change::Clone { snapshot, name, parents, props } => PoolChange::Clone {
            snapshot: snapshot.clone(),
            name: name.clone(),
            parents: *parents,
            props: pairs(props),
        },
        Change::Promote { name } => PoolChange::Promote { name: name.clone() },
        Change::Bookmark { source, name } => {
            PoolChange::Bookmark { source: source.clone(), name: name.clone() }
        }
        Change::Hold { snapshots, tag, recursive } => {
            PoolChange::Hold { snapshots: snapshots.clone(), tag: tag.clone(), recursive: *recursive }
        }
        Change::Release { snapshots, tag, recursive } => {
            PoolChange::Release { snapshots: snapshots.clone(), tag: tag.clone(), recursive: *recursive }
        }
        Change::SetProperties { name, props } => {
            PoolChange::SetProperties { name: name.clone(), props: pairs(props) }
        }
        Change::Inherit { name, property, received } => {
            PoolChange::Inherit { name: name.clone(), property: property.clone(), received: *received }
        }
        Change::Rename { from, to, parents, recursive } => PoolChange::Rename {
            from: from.clone(),
            to: to.clone(),
            parents: *parents,
            recursive: *recursive,
        },
        Change::AbortReceive { name } => PoolChange::Receive(Box::new(Step::Abort { name: name.clone() })),
        Change::Allow { name, grants } => PoolChange::Allow { name: name.clone(), grants: grants.clone() },
        Change::Unallow { name, grants, recursive } => {
            PoolChange::Unallow { name: name.clone(), grants: grants.clone(), recursive: *recursive }
        }
        Change::SetPoolProperties { props } => PoolChange::SetPoolProperties { props: pairs(props) },
        _ => return None,
    })
}
