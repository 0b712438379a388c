use std::net::TcpListener;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use engine_api::Slice;

use super::*;
use crate::budget::Limits;
use crate::outbox::Outbox;

const MIB: usize = 1 << 20;

/// A connection whose far end reads whatever comes.
struct Rig {
    outbox: Outbox,
    near: Arc<TcpStream>,
}

fn rig(budget: &Arc<Budget>) -> Rig {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let near = Arc::new(listener.accept().unwrap().0);
    hold_little(&near).unwrap();
    thread::spawn(move || io::copy(&mut far, &mut io::sink()));
    let peer = budget.peer(None, || {});
    Rig { outbox: Outbox::new(near.clone(), peer).unwrap(), near }
}

impl Rig {
    fn send(&self, bytes: usize) {
        let slice = Slice::new(Arc::new(vec![7; bytes]), 0, bytes);
        self.outbox.push(None, |pieces| pieces.share(slice, 0..bytes));
        self.outbox.finish();
    }

    /// What the system may hold, as the system says.
    fn holds(&self) -> usize {
        let (mut value, mut len): (libc::c_int, _) = (0, size_of::<libc::c_int>() as libc::socklen_t);
        let (fd, option) = (self.near.as_raw_fd(), libc::TCP_NOTSENT_LOWAT);
        let into = (&raw mut value).cast();
        // SAFETY: the value is an int, as this option is, and as long as is said.
        let got = unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, option, into, &raw mut len) };
        assert_eq!(got, 0, "{}", io::Error::last_os_error());
        value as usize
    }
}

/// 8 MiB, an eighth of what peers may hold: for two.
#[test]
fn who_has_taken_much_in_large_pieces_may_have_more_waiting_while_there_is_room() {
    let budget = Arc::new(Budget::new(Limits { all: 64 * MIB, place: 32 * MIB, peer: 16 * MIB }));
    let mut rigs: Vec<Rig> = (0..3).map(|_| rig(&budget)).collect();
    rigs[0].send(8 * MIB);
    assert_eq!(rigs[0].holds(), LITTLE, "a stranger's");
    for rig in &rigs {
        (0..5).for_each(|_| rig.send(8 * MIB));
    }
    let holds = |rigs: &[Rig]| rigs.iter().map(Rig::holds).collect::<Vec<_>>();
    assert_eq!(holds(&rigs), [MUCH, MUCH, LITTLE]);
    assert_eq!(budget.held().load(SeqCst), 2 * MUCH, "counted, with nothing to send");
    rigs.remove(0);
    assert_eq!(budget.held().load(SeqCst), MUCH);
    rigs[1].send(8 * MIB);
    assert_eq!(holds(&rigs), [MUCH, MUCH]);
    drop(rigs);
    assert_eq!(budget.held().load(SeqCst), 0);
}

#[test]
fn who_takes_little_at_a_time_needs_no_more() {
    let budget = Arc::new(Budget::default());
    let rig = rig(&budget);
    (0..400).for_each(|_| rig.send(64 << 10));
    assert_eq!(rig.holds(), LITTLE);
}
