//! What is mounted locally, so that the next start mounts it again: dataset, mount point and
//! options, a line a mount.
//!
//! A clean stop unmounts all and forgets none; what an operator unmounts is forgotten. Where the
//! program was killed the kernel has its mounts still, and the next start takes them away first.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use appliance::LocalMount;
use env::lock;

use crate::state_file;

pub struct MountList {
    file: PathBuf,
    /// What was written last, where that is known: a start that mounts a thousand again writes
    /// nothing.
    written: Mutex<Option<String>>,
}

impl MountList {
    pub fn in_state(state: &Path) -> MountList {
        MountList { file: state.join("mounts"), written: Mutex::default() }
    }

    /// Nothing where there is no file yet. Lines that make no sense are logged, and passed over.
    ///
    /// Errors: see [`state_file::read`].
    pub fn load(&self) -> io::Result<Vec<LocalMount>> {
        let known = |line: &str| {
            let mount = parse(line);
            if mount.is_none() {
                tracing::error!(file = %self.file.display(), line, "this line names no mount");
            }
            mount
        };
        Ok(state_file::read(&self.file)?.lines().filter_map(known).collect())
    }

    pub fn path(&self) -> &Path {
        &self.file
    }

    /// In the order of datasets, whatever order they come in.
    pub fn save(&self, mounts: impl Iterator<Item = LocalMount>) {
        let mut lines: Vec<String> = mounts.map(|mount| format(&mount)).collect();
        lines.sort_unstable();
        let text = lines.concat();
        let mut written = lock(&self.written);
        if written.as_ref() == Some(&text) {
            return;
        }
        // After a failure nobody knows what is there.
        *written = None;
        match state_file::replace(&self.file, &text) {
            Ok(()) => *written = Some(text),
            Err(error) => {
                tracing::error!(file = %self.file.display(), %error, "the list of mounts cannot be kept");
            }
        }
    }
}

fn format(mount: &LocalMount) -> String {
    state_file::line([&*mount.dataset, &*mount.mountpoint, &*mount.options])
}

fn parse(line: &str) -> Option<LocalMount> {
    let mut fields = state_file::fields(line);
    let (dataset, mountpoint, options) = (fields.next()?, fields.next()?, fields.next()?);
    (!dataset.is_empty() && mountpoint.starts_with('/')).then_some(LocalMount {
        dataset,
        mountpoint,
        options,
    })
}

#[cfg(test)]
mod tests;
