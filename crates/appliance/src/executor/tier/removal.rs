//! What has moved, taken away from its source.

use engine_api::{Cancel, Cred, Error, FileSystem, NodeId, Result};

use super::walk::{self, Chosen};

/// What came of it.
pub struct Removed {
    pub files: u64,
    pub ended: Result<()>,
}

/// Removes files below a folder, each as long as it is what it was when it was chosen. What has
/// changed, or is not there any more, stays as it is. Folders stay.
pub fn remove(fs: &dyn FileSystem, folder: &[&[u8]], chosen: &[Chosen], stop: &Cancel) -> Removed {
    let mut removed = Removed { files: 0, ended: Ok(()) };
    // Files of one folder stand together.
    let mut last: Option<(&[u8], Option<NodeId>)> = None;
    for file in chosen {
        if stop.is_cancelled() {
            break;
        }
        let (way, name) = match file.path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&file.path[..at], &file.path[at + 1..]),
            None => (&b""[..], &file.path[..]),
        };
        let parent = match last {
            Some((known, node)) if known == way => node,
            _ => {
                let names = way.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
                match walk::folder(fs, folder.iter().copied().chain(names)) {
                    Ok(node) => node,
                    Err(error) => {
                        removed.ended = Err(error);
                        break;
                    }
                }
            }
        };
        last = Some((way, parent));
        let Some(parent) = parent else { continue };
        match fs.remove_unchanged(&Cred::root(), parent, name, &file.attr) {
            Ok(_) => removed.files += 1,
            // It has changed, or is another's name by now.
            Err(Error::Stale | Error::NotFound | Error::IsDir) => last = None,
            Err(error) => {
                removed.ended = Err(error);
                break;
            }
        }
    }
    removed
}
