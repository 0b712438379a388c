//! What is mounted locally, so that the next start mounts it again: dataset, mount point and
//! options, a line a mount.
//!
//! A clean stop unmounts all and forgets none; what an operator unmounts is forgotten. Where the
//! program was killed the kernel has its mounts still, and the next start takes them away first.

use std::fs;
use std::path::{Path, PathBuf};

use api::LocalMount;

use crate::state_file;

pub struct MountList {
    file: PathBuf,
}

impl MountList {
    pub fn in_state(state: &Path) -> MountList {
        MountList { file: state.join("mounts") }
    }

    /// Nothing where there is no file yet. Lines that make no sense are passed over.
    pub fn load(&self) -> Vec<LocalMount> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                tracing::error!(file = %self.file.display(), %error, "the list of mounts cannot be read");
                String::new()
            }
        };
        text.lines().filter_map(parse).collect()
    }

    pub fn save(&self, mounts: impl Iterator<Item = LocalMount>) {
        let text: String = mounts.filter_map(|mount| format(&mount)).collect();
        if let Err(error) = state_file::replace(&self.file, &text) {
            tracing::error!(file = %self.file.display(), %error, "the list of mounts cannot be kept");
        }
    }
}

/// `None` for a path with a tab or a line feed, which cannot be remembered.
fn format(mount: &LocalMount) -> Option<String> {
    let fields = [&*mount.dataset, &*mount.mountpoint, &*mount.options];
    let is_plain = fields.iter().all(|field| !field.contains(['\t', '\n']));
    is_plain.then(|| fields.join("\t") + "\n")
}

fn parse(line: &str) -> Option<LocalMount> {
    let mut fields = line.split('\t').map(str::to_owned);
    let (dataset, mountpoint, options) = (fields.next()?, fields.next()?, fields.next()?);
    (!dataset.is_empty() && mountpoint.starts_with('/')).then_some(LocalMount {
        dataset,
        mountpoint,
        options,
    })
}

#[cfg(test)]
mod tests;
