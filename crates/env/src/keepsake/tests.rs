//! Files in memory: what they keep, whose they are.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;

use super::{Keepsake, MemoryFile};

#[test]
fn a_file_in_memory_keeps_what_was_written_for_one_process_at_a_time() {
    let path = std::env::temp_dir().join(format!("keepsake-{}", std::process::id()));
    let file = MemoryFile::open(&path, 1 << 20).unwrap();
    file.reserve(0, 8192).unwrap();
    file.write(100, &[b"one", b"", b"two"]).unwrap();
    file.write_words(4096, &[7, u64::MAX]).unwrap();
    assert_eq!(MemoryFile::open(&path, 1).err().map(|error| error.kind()), Some(ErrorKind::WouldBlock));
    drop(file);

    let file = MemoryFile::open(&path, 1).unwrap();
    assert_eq!(file.size(), 1 << 20, "it is no smaller than it was");
    assert!(file.write((1 << 20) - 1, &[b"one"]).is_err() && file.write(u64::MAX, &[b"one"]).is_err());
    let (mut bytes, mut words) = ([9; 8], [9; 3]);
    file.read(99, &mut bytes).unwrap();
    file.read_words(4096, &mut words).unwrap();
    assert_eq!((&bytes, words), (b"\0onetwo\0", [7, u64::MAX, 0]));
    file.discard(0, 4096).unwrap();
    file.read(99, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 8]);
    drop(file);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = MemoryFile::open(&path, 1).err().map(|error| error.kind());
    assert_eq!(refused, Some(ErrorKind::PermissionDenied));
    fs::remove_file(&path).unwrap();
}
