use std::io::Read;
use std::net::TcpListener;
use std::thread;

use super::*;
use crate::Budget;

struct Rig {
    outbox: Outbox,
    peer: Arc<Peer>,
    far: TcpStream,
}

fn rig() -> Rig {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let near = Arc::new(listener.accept().unwrap().0);
    let own = near.clone();
    let peer = Arc::new(Budget::default()).peer(None, move || drop(own.shutdown(Shutdown::Both)));
    Rig { outbox: Outbox::new(near, peer.clone()).unwrap(), peer, far }
}

fn bytes(len: usize, salt: usize) -> Vec<u8> {
    vec![salt as u8; len]
}

/// So much that no system takes it for a peer that does not read.
const LARGE: usize = 12 << 20;

impl Rig {
    /// A reply that nobody has to copy, and what was counted for it.
    fn push(&self, data: &[u8]) {
        let lease = self.peer.charge(data.len() + 100);
        let slice = Slice::new(Arc::new(data.to_vec()), 0, data.len());
        self.outbox.push(Some(lease), |pieces| {
            pieces.write(|own| own.extend(b"head"));
            pieces.share(slice, 0..data.len());
        });
    }

    fn read(&mut self, len: usize) -> Vec<u8> {
        let mut read = vec![0; len];
        self.far.read_exact(&mut read).unwrap();
        read
    }
}

#[test]
fn replies_leave_in_order_and_are_counted_until_they_do() {
    let mut rig = rig();
    let data = [bytes(1000, 1), bytes(5, 2)];
    data.iter().for_each(|data| rig.push(data));
    assert_eq!((rig.peer.held(), rig.outbox.bytes()), (1013, 1013));
    assert!(rig.outbox.write_now(usize::MAX));
    assert_eq!((rig.peer.held(), rig.outbox.bytes()), (0, 0));
    let all = [&b"head"[..], &data[0], b"head", &data[1]].concat();
    assert_eq!(rig.read(all.len()), all);
}

/// Who does not read keeps no thread waiting, and gets all of it when it does.
#[test]
fn what_a_slow_peer_does_not_take_is_left_to_the_drain() {
    let mut rig = rig();
    let data = bytes(LARGE, 3);
    rig.push(&data);
    assert!(!rig.outbox.write_now(usize::MAX));
    rig.outbox.write_rest();
    assert!(rig.peer.held() > 0);
    // A little of a large block is copied: the block is not kept.
    let block: Arc<Vec<u8>> = Arc::new(bytes(1 << 20, 4));
    let piece = Slice::new(block.clone(), 0, block.len());
    rig.outbox.push(None, |pieces| pieces.share(piece, 7..17));
    assert_eq!(Arc::strong_count(&block), 1);
    let read = rig.read(4 + LARGE + 10);
    assert!(read[4..4 + LARGE] == data && read[4 + LARGE..] == block[7..17]);
    rig.outbox.finish();
    assert_eq!(rig.peer.held(), 0);
    rig.push(b"again");
    rig.outbox.write_all();
    assert_eq!(rig.read(9), b"headagain");
}

#[test]
fn who_is_cut_gives_back_what_waited_for_it() {
    let rig = rig();
    rig.push(&bytes(LARGE, 5));
    rig.outbox.write_all();
    assert!(rig.peer.held() > 0 && rig.outbox.bytes() > 0);
    let peer = rig.peer.clone();
    let cutter = thread::spawn(move || peer.cut());
    assert!(!rig.outbox.wait_for_room());
    cutter.join().unwrap();
    rig.outbox.finish();
    assert_eq!(rig.peer.held(), 0);
    rig.push(b"nobody hears this");
    assert_eq!(rig.peer.held(), 0);
}
