use super::*;

#[test]
fn errnos_that_callers_act_upon_are_told_apart() {
    assert_eq!(from_errno(libc::ENOENT), DiskError::NotFound);
    assert_eq!(from_errno(libc::EWOULDBLOCK), DiskError::Busy);
    assert_eq!(from_errno(libc::ENXIO), DiskError::Gone);
    assert_eq!(from_errno(libc::EIO), DiskError::Io(libc::EIO));
    assert_eq!(from_io(&io::Error::other("no errno")), DiskError::Unsupported);
}

#[test]
fn a_closed_disk_is_free_whoever_was_forked_meanwhile() {
    let path = std::env::temp_dir().join(format!("cistern-env-{}-forked", std::process::id()));
    fs::write(&path, [0; 4096]).unwrap();
    let open = || FileDisk::open(path.to_str().unwrap(), OpenMode::ReadWrite, Quirks::default());
    let disk = open().unwrap();
    assert_eq!(open().err().map(|e| from_io(&e)), Some(DiskError::Busy));
    // What a child process holds between its fork and its exec.
    let inherited = disk.buffered.try_clone().unwrap();
    drop(disk);
    drop(open().unwrap());
    drop(inherited);
    fs::remove_file(&path).unwrap();
}
