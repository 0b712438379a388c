use super::*;
use std::os::fd::AsFd;
use stdx::prng::Prng;

fn all() -> Vec<Request> {
    let at = || PathBuf::from(OsStr::from_bytes(b"/srv/na\xefve dir"));
    let device = DeviceId { major: 0, minor: 77 };
    let flags = Flags::READ_ONLY.and(Flags::NO_ATIME);
    let unmount = |how| Request::Unmount { at: at(), how };
    vec![
        Request::HasEntries { at: at() },
        Request::Resolve { at: at() },
        Request::RemoveDead { at: at() },
        Request::RemoveDirectory { at: at() },
        Request::Mount(Wanted { at: at(), source: "tank/ä".into(), flags, overlay: true }),
        Request::Mount(Wanted { at: at(), source: "t".into(), flags: Flags::default(), overlay: false }),
        Request::RaiseReadAhead { at: at() },
        Request::Remount { at: at(), flags },
        unmount(How::Gently),
        unmount(How::Lazily),
        unmount(How::ByForce),
        Request::Cut { device },
    ]
}

#[test]
fn requests_go_over_the_wire_and_back() {
    for one in all() {
        assert_eq!(read_request(&request(&one).unwrap()), Ok(one));
    }
}

#[test]
fn a_request_is_exactly_as_long_as_it_says() {
    for one in all() {
        let message = request(&one).unwrap();
        assert!(message.len() <= REQUEST_MOST);
        for len in 0..message.len() {
            assert_eq!(read_request(&message[..len]), Err(Refusal::Odd), "{one:?} {len}");
        }
        assert_eq!(read_request(&[&message[..], b"x"].concat()), Err(Refusal::Odd));
        let other = [&[VERSION + 1][..], &message[1..]].concat();
        assert_eq!(read_request(&other), Err(Refusal::Version));
    }
}

#[test]
fn what_means_nothing_is_refused() {
    let message = |what: u8, flags: u8, how: u8, path: &[u8], source: &[u8]| {
        let lengths = [(path.len() as u16).to_le_bytes(), (source.len() as u16).to_le_bytes()].concat();
        read_request(&[&[VERSION, what, flags, how][..], &lengths, path, source].concat())
    };
    assert!(message(what::MOUNT, 63, 1, b"/srv", b"tank").is_ok());
    let long = [b"/".to_vec(), vec![b'a'; PATH_MOST]].concat();
    let wrong = [
        message(what::MOUNT, 64, 0, b"/srv", b"tank"),
        message(what::MOUNT, 0, 2, b"/srv", b"tank"),
        message(what::MOUNT, 0, 0, b"srv", b"tank"),
        message(what::MOUNT, 0, 0, b"/s\0v", b"tank"),
        message(what::MOUNT, 0, 0, b"", b"tank"),
        message(what::MOUNT, 0, 0, b"/srv", b""),
        message(what::MOUNT, 0, 0, b"/srv", b"ta\nnk"),
        message(what::MOUNT, 0, 0, b"/srv", b"\xff"),
        message(what::MOUNT, 0, 0, b"/srv", &[b'a'; SOURCE_MOST + 1]),
        message(what::MOUNT, 0, 0, &long, b"tank"),
        message(what::UNMOUNT, 0, 3, b"/srv", b""),
        message(what::UNMOUNT, 1, 0, b"/srv", b""),
        message(what::REMOUNT, 0, 0, b"/srv", b"tank"),
        message(what::CUT, 0, 0, b"\0\0\0", b"\0\0\0\0"),
        message(what::CUT, 1, 0, b"\0\0\0\0", b"\0\0\0\0"),
        message(0, 0, 0, b"/srv", b""),
        message(what::CUT + 1, 0, 0, b"/srv", b""),
        message(255, 0, 0, b"/srv", b""),
    ];
    wrong.iter().enumerate().for_each(|(number, one)| assert_eq!(*one, Err(Refusal::Odd), "{number}"));
}

/// Changed bytes and noise: a value or a refusal, never a panic, and no path that is not whole.
#[test]
fn noise_is_survived() {
    let mut prng = Prng::new(7);
    for round in 0..20_000 {
        let mut message = match round % 2 {
            0 => request(&all()[round / 2 % all().len()]).unwrap(),
            _ => (0..prng.below(64)).map(|_| prng.next_u64() as u8).collect(),
        };
        for _ in 0..3 {
            if !message.is_empty() {
                let at = prng.below(message.len() as u64) as usize;
                message[at] = prng.next_u64() as u8;
            }
        }
        if let Ok(Request::Mount(Wanted { at, .. }) | Request::Unmount { at, .. }) = read_request(&message) {
            assert!(at.is_absolute() && at.as_os_str().len() <= PATH_MOST);
        }
        drop(read_answer(&message, None));
    }
}

#[test]
fn answers_go_over_the_wire_and_back() {
    let back = |one: Result<Answer, Fault>| read_answer(&answer(&one), None);
    assert!(matches!(back(Ok(Answer::Done)), Ok(Answer::Done)));
    assert!(matches!(back(Ok(Answer::Is(true))), Ok(Answer::Is(true))));
    assert!(matches!(back(Ok(Answer::Is(false))), Ok(Answer::Is(false))));
    let path = PathBuf::from("/srv/a");
    assert!(matches!(back(Ok(Answer::Path(path.clone()))), Ok(Answer::Path(found)) if found == path));
    let os = back(Err(io::Error::from_raw_os_error(libc::EBUSY).into()));
    assert_eq!(os.unwrap_err().errno(), Some(libc::EBUSY));
    for fault in [Fault::NotEmpty, Fault::NotOurs, Fault::Kept, Fault::Link] {
        let text = format!("{fault:?}");
        assert_eq!(format!("{:?}", back(Err(fault)).unwrap_err()), text);
    }
    let refused = |one| format!("{:?}", read_answer(&refusal(one), None).unwrap_err());
    let all = [Refusal::Busy, Refusal::Stranger, Refusal::Version, Refusal::Odd].map(refused);
    assert_eq!(all, ["Broker(Busy)", "Broker(Stranger)", "Broker(Version)", "Broker(Odd)"]);
}

#[test]
fn a_mount_without_its_descriptor_is_no_mount() {
    let id = Some(DeviceId { major: 0, minor: 5 });
    let device = File::open("/dev/null").unwrap();
    let copy = device.as_fd().try_clone_to_owned().unwrap();
    let message = answer(&Ok(Answer::Mounted(Mounted { device, at: "/srv".into(), id })));
    assert!(matches!(read_answer(&message, None), Err(Fault::Broker(Silence::Odd))));
    let Ok(Answer::Mounted(mounted)) = read_answer(&message, Some(copy)) else { panic!("a mount") };
    assert_eq!((mounted.at, mounted.id), (PathBuf::from("/srv"), id));
}
