//! Snapshots, and clones of them: what all files were at one moment. Whatever becomes of disks,
//! they are that or cannot be had.

use std::sync::Arc;

use engine_api::{Cred, FileSystem, Result};

use crate::promised::Promised;
use crate::workload::{Done, Life, failed};

/// More than any file has.
const FILE_MAX: usize = 1 << 20;

/// See the module. Names are not used twice in a story.
#[derive(Clone)]
pub struct Frozen {
    pub name: String,
    /// Names of files with what they hold.
    files: Arc<Vec<(String, Vec<u8>)>>,
}

impl Frozen {
    /// As everything is now.
    pub fn now(name: String, files: &[Promised]) -> Frozen {
        let file = |file: &Promised| (file.name.clone(), file.now().to_vec());
        Frozen { name, files: Arc::new(files.iter().map(file).collect()) }
    }

    /// A clone.
    pub fn copied(&self, name: String) -> Frozen {
        Frozen { name, files: self.files.clone() }
    }

    pub fn is_snapshot(&self) -> bool {
        self.name.contains('@')
    }

    /// All of it is there.
    pub fn check(&self, life: &Life<'_>) -> Done {
        let wrong = self.compare(life).map_err(failed(&self.name))?;
        wrong.map_or(Ok(()), Err)
    }

    /// Whether some of it can be had and is something else: that is said. It is no matter if it is
    /// not there.
    pub fn distrust(&self, life: &Life<'_>) -> Done {
        self.compare(life).ok().flatten().map_or(Ok(()), Err)
    }

    fn compare(&self, life: &Life<'_>) -> Result<Option<String>> {
        let fs = life.api.open_fs(&self.name)?;
        let mut unreadable = None;
        for (name, bytes) in self.files.iter() {
            match content(&*fs, name) {
                Ok(found) if found == *bytes => {}
                Ok(_) => return Ok(Some(format!("{} of {} is what it never was", name, self.name))),
                Err(error) => unreadable = Some(error),
            }
        }
        unreadable.map_or(Ok(None), Err)
    }
}

/// Of each file all of it, if it can be read.
pub type Contents = Vec<Option<Vec<u8>>>;

/// Of all these files what can be read.
pub fn contents(fs: &dyn FileSystem, files: &[Promised]) -> Contents {
    files.iter().map(|file| content(fs, &file.name).ok()).collect()
}

/// All of a file.
pub fn content(fs: &dyn FileSystem, name: &str) -> Result<Vec<u8>> {
    let node = fs.lookup(&Cred::root(), fs.root(), name.as_bytes())?.node;
    Ok(fs.read(&Cred::root(), node, 0, FILE_MAX)?.to_vec())
}

/// After an import: each file is as it may be then, and is known to be so from now on.
pub fn found_again(fs: &dyn FileSystem, files: &mut [Promised]) -> Done {
    for file in files {
        let found = content(fs, &file.name).map_err(failed(&file.name))?;
        if !file.may_be(&found, true) {
            return Err(format!("{} came back as nothing that it may be", file.name));
        }
        file.found(found);
    }
    Ok(())
}
