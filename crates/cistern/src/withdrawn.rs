//! Datasets whose share was withdrawn with `zfs unshare`: until `zfs share`, or until somebody says
//! anew how they are shared. Nothing of this outlives the program.

use std::collections::BTreeSet;
use std::slice::from_ref;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use engine_api::Change;
use env::lock;
use stdx::names::is_at_or_below;

/// See the module.
#[derive(Debug, Default)]
pub struct Withdrawn {
    names: Mutex<BTreeSet<String>>,
    changes: AtomicU64,
}

impl Withdrawn {
    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>)) {
        change(&mut lock(&self.names));
        self.changes.fetch_add(1, SeqCst);
    }

    pub fn withdraw(&self, dataset: &str) {
        self.change(|names| {
            names.insert(dataset.to_owned());
        });
    }

    pub fn offer(&self, dataset: &str) {
        self.change(|names| {
            names.remove(dataset);
        });
    }

    pub fn contains(&self, dataset: &str) -> bool {
        lock(&self.names).contains(dataset)
    }

    pub fn names(&self) -> Vec<String> {
        lock(&self.names).iter().cloned().collect()
    }

    /// Grows when a share is withdrawn or offered again.
    pub fn generation(&self) -> u64 {
        self.changes.load(SeqCst)
    }

    /// What a change says of sharing counts for a dataset and all below it, that are there then.
    pub fn follow(&self, change: &Change) {
        let told = match change {
            Change::SetProperties { name, props } if props.iter().any(|prop| is_of_sharing(&prop.name)) => {
                from_ref(name)
            }
            Change::Inherit { name, property, .. } if is_of_sharing(property) => from_ref(name),
            Change::Destroy { names, .. } => names,
            Change::Rename { from, .. } => from_ref(from),
            _ => return,
        };
        let is_told = |name: &String| told.iter().any(|above| is_at_or_below(name, above));
        self.change(|names| names.retain(|name| !is_told(name)));
    }
}

fn is_of_sharing(property: &str) -> bool {
    matches!(property, "sharenfs" | "sharesmb" | "mountpoint") || property == iscsi::PROPERTY
}

#[cfg(test)]
mod tests;
