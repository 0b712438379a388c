use super::*;

fn record(txg: u64, len: usize) -> Itx {
    Itx { txg, what: What::Record(vec![0; len]), answer: None }
}

fn write(txg: u64, offset: u64, len: u64) -> Itx {
    Itx { txg, what: What::Write { object: 7, generation: 1, offset, len }, answer: None }
}

fn pieces(batch: &[Itx]) -> Vec<(u64, u64)> {
    let piece = |itx: &Itx| match itx.what {
        What::Write { offset, len, .. } | What::Indirect { offset, len, .. } => (offset, len),
        What::Record(ref record) | What::Copied { ref record, .. } => (u64::MAX, record.len() as u64),
    };
    batch.iter().map(piece).collect()
}

#[test]
fn one_object_is_committed_without_the_others() {
    let mut queue = Queue::default();
    queue.push_own(7, record(5, 100));
    queue.push_own(8, record(5, 200));
    queue.push(record(5, 50));
    let ticket = queue.ticket(Some(8), 4);
    assert_eq!((ticket.number, ticket.txg, ticket.needs_group), (2, 5, false));
    assert_eq!(queue.bytes(), 250);
    assert_eq!(queue.ticket(None, 4).number, 3);
    assert_eq!(queue.bytes(), 350);
}

#[test]
fn a_change_without_record_needs_its_group() {
    let mut queue = Queue::default();
    queue.unlogged(9);
    assert!(queue.ticket(None, 8).needs_group);
    assert!(!queue.ticket(None, 9).needs_group);
}

#[test]
fn a_large_write_goes_out_in_pieces() {
    let mut queue = Queue::default();
    queue.push(write(5, 1000, 10_000));
    queue.push(record(5, 64));
    let (batch, upto) = queue.take(WRITE_HEAD + 4096 + 100);
    assert_eq!((pieces(&batch), upto), (vec![(1000, 4096)], 0));
    let (batch, upto) = queue.take(64 << 10);
    assert_eq!((pieces(&batch), upto), (vec![(5096, 5904), (u64::MAX, 64)], 2));
    assert!(queue.is_empty());
    assert_eq!(queue.bytes(), 0);
}

#[test]
fn a_record_that_does_not_fit_waits_for_the_next_block() {
    let mut queue = Queue::default();
    queue.push(record(5, 4096));
    let (batch, upto) = queue.take(1024);
    assert_eq!((batch.len(), upto), (0, 0));
    assert_eq!(queue.bytes(), 4096);
}

#[test]
fn what_is_durable_is_forgotten_wherever_it_waits() {
    let mut queue = Queue::default();
    queue.push_own(7, record(5, 100));
    queue.push(record(5, 10));
    queue.push(record(6, 20));
    queue.push_own(8, record(6, 30));
    queue.sync_done(5);
    assert_eq!(queue.bytes(), 20);
    queue.ticket(None, 5);
    assert_eq!(pieces(&queue.take(1000).0), [(u64::MAX, 20), (u64::MAX, 30)]);
}

#[test]
fn a_removed_object_leaves_nothing_and_an_ordered_one_its_place() {
    let mut queue = Queue::default();
    queue.push_own(7, record(5, 1));
    queue.push_own(8, record(5, 2));
    queue.order(7);
    queue.push(record(5, 3));
    queue.forget(8);
    queue.ticket(None, 0);
    assert_eq!(pieces(&queue.take(1000).0), [(u64::MAX, 1), (u64::MAX, 3)]);
}

#[test]
fn a_write_is_led_to_block_by_block() {
    let write = LoggedWrite {
        object: 7,
        generation: 1,
        offset: 1000,
        len: 9000,
        block_size: 4096,
        is_large: false,
        data: None,
    };
    let itxs: Vec<Itx> = What::blocks_of(&write).map(|what| Itx { txg: 5, what, answer: None }).collect();
    assert_eq!(pieces(&itxs), [(1000, 3096), (4096, 4096), (8192, 1808)]);
    let mut queue = Queue::default();
    itxs.into_iter().for_each(|itx| queue.push(itx));
    let (mut batch, upto) = queue.take(3 * WRITE_HEAD);
    assert_eq!((upto, queue.bytes()), (3, 0));
    let back: Vec<Itx> = batch.drain(1..).collect();
    assert_eq!(queue.put_back(back), 1);
    assert_eq!(pieces(&queue.take(1 << 20).0), [(4096, 4096), (8192, 1808)]);
}

struct Call;

impl stdx::call::Keeping for Call {
    fn changed(&self, _group: u64) {}
    fn logged(&self, _log: u64, _record: u64) {}
    fn answer(&self, _reply: &[u8]) {}
}

#[test]
fn records_of_one_call_are_not_torn_apart() {
    let of = |call: &Answer, len| Itx { answer: call.clone(), ..record(5, len) };
    let [one, other]: [Answer; 2] = [(); 2].map(|()| Some(Arc::new(Call) as _));
    let mut queue = Queue::default();
    for itx in [of(&one, 100), of(&other, 100), of(&other, 200), of(&one, 100), record(5, 100)] {
        queue.push(itx);
    }
    let (batch, upto) = queue.take(399);
    assert_eq!((batch.len(), upto), (1, 1), "the second call's would not all fit");
    assert_eq!(queue.take(299).0.len(), 0);
    assert_eq!(queue.take(400).0.len(), 3);
    assert_eq!((queue.take(400).0.len(), queue.bytes()), (1, 0));
}
