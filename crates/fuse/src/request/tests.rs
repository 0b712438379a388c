use super::*;

/// A request as the kernel sends it.
fn sent(opcode: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&(40 + body.len() as u32).to_ne_bytes());
    bytes.extend_from_slice(&opcode.to_ne_bytes());
    bytes.extend_from_slice(&7u64.to_ne_bytes());
    bytes.extend_from_slice(&5u64.to_ne_bytes());
    [1000u32, 100, 42, 0].iter().for_each(|number| bytes.extend_from_slice(&number.to_ne_bytes()));
    bytes.extend_from_slice(body);
    bytes
}

fn numbers(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

#[test]
fn the_header_says_who_asks() {
    let bytes = sent(abi::LOOKUP, b"name\0");
    let (found, rest) = header(&bytes).unwrap();
    assert_eq!(found, Header { opcode: abi::LOOKUP, unique: 7, node: 5, uid: 1000, gid: 100, pid: 42 });
    assert_eq!(body(found.opcode, rest), Ok(Body::Lookup { name: b"name" }));
    assert_eq!(header(&bytes[..bytes.len() - 1]), Err(Malformed), "shorter than it says");
    assert_eq!(header(&[]), Err(Malformed));
}

#[test]
fn a_write_brings_its_data() {
    let mut bytes = [3u64.to_ne_bytes(), 4096u64.to_ne_bytes()].concat();
    bytes.extend(numbers(&[5, abi::WRITE_CACHE, 0, 0, libc::O_APPEND as u32, 0]));
    bytes.extend_from_slice(b"hello");
    let expect = Body::Write {
        fh: 3,
        offset: 4096,
        flags: libc::O_APPEND,
        write_flags: abi::WRITE_CACHE,
        data: b"hello",
    };
    assert_eq!(body(abi::WRITE, &bytes), Ok(expect));
    assert_eq!(body(abi::WRITE, &bytes[..bytes.len() - 1]), Err(Malformed));
}

#[test]
fn a_read_says_how_the_file_is_open() {
    let mut bytes = [3u64.to_ne_bytes(), 4096u64.to_ne_bytes()].concat();
    bytes.extend(numbers(&[100, 0, 0, 0, libc::O_NOATIME as u32, 0]));
    let asked = Read { fh: 3, offset: 4096, size: 100, flags: libc::O_NOATIME };
    assert_eq!(body(abi::READ, &bytes), Ok(Body::Read(asked)));
    assert_eq!(body(abi::READDIR, &bytes), Ok(Body::ReadDir(asked)));
    assert_eq!(body(abi::READDIRPLUS, &bytes), Ok(Body::ReadDirPlus(asked)));
    assert_eq!(body(abi::READ, &bytes[..32]), Err(Malformed));
}

#[test]
fn attributes_are_set_where_their_bit_is() {
    use abi::setattr;
    let mut bytes = numbers(&[setattr::MODE | setattr::ATIME_NOW | setattr::MTIME, 0]);
    [9u64, 8, 0, 7, -2i64 as u64, 0].iter().for_each(|number| bytes.extend_from_slice(&number.to_ne_bytes()));
    bytes.extend(numbers(&[1, 800_000_000, 3, 0o644, 0, 11, 12, 0]));
    let Ok(Body::SetAttr { fh, set }) = body(abi::SETATTR, &bytes) else { panic!("no SETATTR") };
    assert_eq!((fh, set.size, set.uid, set.gid), (None, None, None, None));
    assert_eq!((set.mode, set.atime), (Some(0o644), Some(SetTime::Now)));
    assert_eq!(set.mtime, Some(SetTime::To(Time { secs: -2, nanos: 800_000_000 })), "before 1970");
}

#[test]
fn what_is_forgotten_comes_in_a_batch() {
    let all: Vec<u8> = [11u64, 1, 12, 3].iter().flat_map(|number| number.to_ne_bytes()).collect();
    let bytes = [numbers(&[2, 0]), all].concat();
    let Ok(Body::BatchForget { all }) = body(abi::BATCH_FORGET, &bytes) else { panic!("no batch") };
    assert_eq!(forgotten(all).collect::<Vec<_>>(), [(11, 1), (12, 3)]);
    assert_eq!(body(abi::BATCH_FORGET, &numbers(&[u32::MAX, 0])), Err(Malformed));
}

/// Any bytes are a request or malformed: never a panic, whatever the number and wherever they end.
#[test]
fn no_bytes_are_too_odd() {
    let odd: Vec<u8> = (0..200u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for opcode in 0..60 {
        for len in 0..odd.len() {
            let _ = body(opcode, &odd[..len]);
            let _ = body(opcode, &vec![0xff; len]);
            let _ = body(opcode, &vec![0; len]);
        }
    }
}
