//! Data and attributes.

use nfs::procedure as p;
use sunrpc::xdr::{Decoder, Encoder};

use crate::calls::{post, sattr, wcc};
use crate::setup::Setup;

#[test]
fn what_is_written_is_read() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, attr) = nfs.create(&root, b"data").expect("created");
    assert_eq!((attr.kind, attr.mode, attr.size), (1, 0o644, 0));
    let data: Vec<u8> = (0..1_048_576_u32).map(|i| ((i * 7) >> 3) as u8).collect();
    let written = nfs.write(&file, 3, &data, 0);
    assert_eq!(written.map(|(count, _, verifier)| (count, verifier)), Ok((1 << 20, 0x7e57)));
    assert_eq!(nfs.write(&file, 0, b"abc", 2).map(|(count, stable, _)| (count, stable)), Ok((3, 2)));
    let (read, eof) = nfs.read(&file, 3, 1 << 20).expect("read");
    assert!(read == data && eof);
    // More than the largest transfer is cut, not refused.
    let (read, eof) = nfs.read(&file, 0, u32::MAX).expect("read");
    assert_eq!((read.len(), eof), (1 << 20, false));
    assert_eq!(nfs.read(&file, 1 << 40, 10), Ok((vec![], true)));
    for len in 1..9 {
        assert_eq!(nfs.read(&file, 0, len).expect("read").0.len(), len as usize);
    }
    let mut args = Encoder::new();
    args.opaque(&file);
    args.u64(0);
    args.u32(0);
    let (status, rest) = nfs.call(p::COMMIT, &args);
    let mut d = Decoder::new(&rest);
    wcc(&mut d);
    assert_eq!((status, d.u64()), (0, Ok(0x7e57)));
    assert_eq!(nfs.read(&root, 0, 10), Err(21));
}

#[test]
fn setattr_honours_its_guard() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, attr) = nfs.create(&root, b"f").expect("created");
    let mut set = |ctime: Option<(u32, u32)>, size: u64| {
        let mut args = Encoder::new();
        args.opaque(&file);
        sattr(&mut args, Some(0o600), Some(size));
        args.bool(ctime.is_some());
        ctime.into_iter().for_each(|(secs, nanos)| {
            args.u32(secs);
            args.u32(nanos);
        });
        let (status, rest) = nfs.call(p::SETATTR, &args);
        (status, wcc(&mut Decoder::new(&rest)).1.map(|attr| attr.size))
    };
    assert_eq!(set(Some((1, 1)), 9), (10002, Some(0)));
    assert_eq!(set(Some(attr.ctime), 9), (0, Some(9)));
    assert_eq!(set(None, 4), (0, Some(4)));
    assert_eq!(nfs.getattr(&file).map(|attr| (attr.mode, attr.size)), Ok((0o600, 4)));
}

#[test]
fn owners_write_whatever_the_mode_says_and_others_run_what_they_cannot_read() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(100, 100);
    let root = nfs.root.clone();
    let (file, _) = nfs.create(&root, b"f").expect("created");
    let mut chmod = |mode: u32| {
        let mut args = Encoder::new();
        args.opaque(&file);
        sattr(&mut args, Some(mode), None);
        args.bool(false);
        assert_eq!(nfs.call(p::SETATTR, &args).0, 0);
    };
    chmod(0o011);
    let mut owner = setup.client(100, 100);
    assert!(owner.write(&file, 0, b"mine", 0).is_ok());
    let mut other = setup.client(200, 200);
    assert_eq!(other.write(&file, 0, b"yours", 0), Err(13));
    assert_eq!(other.read(&file, 0, 9).map(|(data, _)| data), Ok(b"mine".to_vec()));
    let mut args = Encoder::new();
    args.opaque(&file);
    args.u32(0x3f);
    let (status, rest) = other.call(p::ACCESS, &args);
    let mut d = Decoder::new(&rest);
    post(&mut d);
    assert_eq!((status, d.u32()), (0, Ok(0x20)));
}

#[test]
fn limits_and_sizes_are_told() {
    let setup = Setup::new("insecure");
    let mut nfs = setup.client(1, 1);
    let mut args = Encoder::new();
    args.opaque(&nfs.root.clone());
    let (status, rest) = nfs.call(p::FSINFO, &args);
    let mut d = Decoder::new(&rest);
    post(&mut d).expect("attributes");
    let words: Vec<u32> = std::iter::from_fn(|| d.u32().ok()).collect();
    assert_eq!((status, words.len()), (0, 12));
    assert_eq!((words[0], words[1], words[3], words[4]), (1 << 20, 1 << 20, 1 << 20, 1 << 20));
    assert_eq!((words[7], words[8], words[11]), (0x7fff_ffff, u32::MAX, 0x1b));
    let (status, rest) = nfs.call(p::PATHCONF, &args);
    let mut d = Decoder::new(&rest);
    post(&mut d);
    let words: Vec<u32> = std::iter::from_fn(|| d.u32().ok()).collect();
    assert_eq!((status, words[1], &words[2..]), (0, 255, &[1, 1, 0, 1][..]));
    let (status, rest) = nfs.call(p::FSSTAT, &args);
    assert_eq!((status, rest.len()), (0, 4 + 84 + 6 * 8 + 4));
}
