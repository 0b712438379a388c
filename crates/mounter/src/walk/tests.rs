use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

/// Lets a walk make so many directories, and counts those that it comes to.
struct Few {
    left: usize,
    entered: usize,
}

impl Judge for Few {
    fn enters(&mut self, _: &Place) -> Result<(), Fault> {
        self.entered += 1;
        Ok(())
    }

    fn makes(&self) -> Result<(), Fault> {
        if self.left == 0 { Err(Fault::Kept) } else { Ok(()) }
    }
}

fn names(path: &Path) -> Vec<&OsStr> {
    path.iter().skip(1).collect()
}

#[test]
fn a_walk_ends_at_a_link_and_asks_before_it_makes_something() {
    let folder = std::env::temp_dir().join(format!("cistern-walk-{}", std::process::id()));
    fs::create_dir_all(folder.join("real/inner")).unwrap();
    let folder = folder.canonicalize().unwrap();
    symlink(folder.join("real"), folder.join("link")).unwrap();
    fs::write(folder.join("file"), "").unwrap();
    let find = |name: &str| find(&names(&folder.join(name)), &mut Few { left: 0, entered: 0 });
    let inner = find("real/inner").unwrap();
    assert_eq!(
        fs::metadata(inner.path()).unwrap().ino(),
        fs::metadata(folder.join("real/inner")).unwrap().ino()
    );
    assert!(matches!(find("link"), Err(Fault::Link)));
    assert!(matches!(find("link/inner"), Err(Fault::Link)));
    let missing = find("nowhere/x").unwrap_err();
    assert_eq!(missing.errno(), Some(libc::ENOENT));
    assert_eq!(find("file").unwrap_err().errno(), Some(libc::ENOTDIR));

    let (mut none, mut some) = (Few { left: 0, entered: 0 }, Few { left: 1, entered: 0 });
    assert!(matches!(make(&names(&folder.join("new/er")), &mut none), Err(Fault::Kept)));
    assert!(!folder.join("new").exists());
    assert!(matches!(make(&names(&folder.join("link/new")), &mut some), Err(Fault::Link)));
    some.entered = 0;
    let made = make(&names(&folder.join("new/er")), &mut some).unwrap();
    assert_eq!((some.entered, made.has_entries().unwrap()), (names(&folder).len() + 2, false));
    assert_eq!(fs::metadata(folder.join("new/er")).unwrap().mode() & 0o7777, 0o755);

    // It is the same directory under another name.
    fs::rename(folder.join("real/inner"), folder.join("moved")).unwrap();
    symlink("/etc", folder.join("real/inner")).unwrap();
    fs::write(folder.join("moved/it"), "").unwrap();
    assert!(inner.has_entries().unwrap());
    assert_eq!(inner.owner().unwrap(), fs::metadata(&folder).unwrap().uid());
    fs::remove_dir_all(&folder).unwrap();
}
