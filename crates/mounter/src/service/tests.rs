//! A broker in this process. It needs no privileges for what is asked here, for it is refused or
//! changes nothing of the machine.

use super::*;
use crate::Mounter;
use crate::fault::Silence;
use crate::protocol::{ANSWER_MOST, read_answer};
use crate::request::Wanted;
use nix::unistd::geteuid;
use std::path::PathBuf;
use std::time::Instant;

/// Serves this process's user, or another one, until the tests end.
fn broker(name: &str, others: u32) -> PathBuf {
    let path = std::env::temp_dir().join(format!("cistern-broker-{name}-{}", std::process::id()));
    drop(std::fs::remove_file(&path));
    let listener = listen(&path).unwrap();
    let service = Service::new(listener, geteuid().as_raw() + others, Flags::default());
    Builder::new().spawn(move || service.run()).unwrap();
    path
}

fn said(socket: &Socket) -> Result<Answer, Fault> {
    let mut room = [0; ANSWER_MOST];
    let message = socket.receive_with_fd(&mut room).unwrap();
    read_answer(&room[..message.len], message.fd)
}

fn connect(path: &Path) -> Socket {
    Socket::connect(path, HURRY).unwrap()
}

#[test]
fn each_request_has_its_answer() {
    let path = broker("answers", 0);
    let mounter = Mounter::broker(path.clone());
    assert!(
        mounter
            .has_entries(Path::new("/tmp/../proc"))
            .is_err_and(|fault| fault.errno() == Some(libc::EINVAL))
    );
    assert!(matches!(mounter.has_entries(Path::new("/proc/self")), Err(Fault::Kept)));
    assert!(!mounter.has_entries(Path::new("/nowhere/at/all")).unwrap());
    assert_eq!(mounter.resolve(Path::new("/proc/self/root/..")).unwrap(), Path::new("/"));
    assert!(!mounter.remove_dead(Path::new("/nowhere")).unwrap());
    assert!(matches!(mounter.unmount(Path::new("/proc"), How::ByForce), Err(Fault::NotOurs)));
    assert!(matches!(mounter.remove_directory(Path::new("/etc/cistern-none")), Err(Fault::Kept)));
    let wanted =
        |at: &str| Wanted { at: at.into(), source: "t".into(), flags: Flags::default(), overlay: true };
    for at in ["/", "/etc/cistern-none", "/usr", "/dev/shm/x", "/proc/1", "/var"] {
        assert!(matches!(mounter.mount(&wanted(at)), Err(Fault::Kept)), "{at}");
    }
    let long = PathBuf::from(format!("/{}", "a/".repeat(3000)));
    assert!(mounter.resolve(&long).is_err_and(|fault| fault.errno() == Some(libc::ENAMETOOLONG)));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn another_user_is_told_so() {
    let path = broker("stranger", 1);
    let answer = Mounter::broker(path.clone()).has_entries(Path::new("/tmp"));
    assert!(matches!(answer, Err(Fault::Broker(Silence::Stranger))), "{answer:?}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_broker_that_is_not_there_is_named() {
    let path = PathBuf::from("/nowhere/mount.sock");
    let fault = Mounter::broker(path.clone()).resolve(Path::new("/")).unwrap_err();
    assert!(matches!(fault, Fault::Broker(Silence::Unreachable { socket, .. }) if socket == path));
}

#[test]
fn garbage_and_too_much_are_answered_and_the_next_is_served() {
    let path = broker("garbage", 0);
    for garbage in [&b"x"[..], &[0; 100], &[1; REQUEST_MOST], &[1; REQUEST_MOST + 1], &[1; 100_000]] {
        let socket = connect(&path);
        socket.send(garbage, None).unwrap();
        let answer = said(&socket);
        assert!(matches!(answer, Err(Fault::Broker(Silence::Odd | Silence::Version))), "{answer:?}");
    }
    // A descriptor with a request is none of the broker's, and does not stay with it.
    let kept = path.with_extension("sent");
    let file = std::fs::File::create(&kept).unwrap();
    let request = protocol::request(&Request::Resolve { at: "/".into() }).unwrap();
    for _ in 0..20 {
        let socket = connect(&path);
        socket.send(&request, Some(file.as_fd())).unwrap();
        assert!(matches!(said(&socket), Ok(Answer::Path(_))));
    }
    let all = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let of_file = all.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to == kept));
    assert_eq!(of_file.count(), 1, "only ours is open");
    std::fs::remove_file(kept).unwrap();
    // Who goes at once.
    (0..300).for_each(|_| drop(connect(&path)));
    let mounter = Mounter::broker(path.clone());
    assert!(!mounter.has_entries(Path::new("/nowhere")).unwrap());
    std::fs::remove_file(path).unwrap();
}

#[test]
fn silent_clients_hold_the_broker_for_a_moment_only() {
    let path = broker("silent", 0);
    let begun = Instant::now();
    let mounter = Mounter::broker(path.clone());
    // None of them ever says or reads anything.
    let silent: Vec<Socket> = (0..MOST).map(|_| connect(&path)).collect();
    let mut refused = 0;
    while matches!(mounter.remove_dead(Path::new("/nowhere")), Err(Fault::Broker(Silence::Busy))) {
        refused += 1;
        thread::sleep(BREATHE);
        assert!(begun.elapsed() < HURRY * 4);
    }
    assert!(refused > 0, "there was room for more than it takes");
    drop(silent);
    std::fs::remove_file(path).unwrap();
}
