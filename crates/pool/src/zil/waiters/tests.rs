use super::*;

fn sit(waiters: &mut Waiters, number: u64, txg: u64) -> (Seat, Arc<Condvar>) {
    waiters.sit(&Ticket { number, txg, needs_group: false })
}

/// Which of these seats' bells are among `bells`.
fn rung(seats: &[(Seat, Arc<Condvar>)], bells: &[Arc<Condvar>]) -> Vec<bool> {
    seats.iter().map(|(_, bell)| bells.iter().any(|other| Arc::ptr_eq(other, bell))).collect()
}

#[test]
fn only_those_that_are_covered_are_rung_for_and_only_once() {
    let mut waiters = Waiters::default();
    let seats = [(5, 9), (3, 9), (5, 9), (7, 8)].map(|(number, txg)| sit(&mut waiters, number, txg));
    assert_eq!(rung(&seats, &waiters.covered(5, 0)), [true, true, true, false]);
    assert!(waiters.covered(5, 0).is_empty());
    assert_eq!(rung(&seats, &waiters.covered(5, 8)), [false, false, false, true]);
    assert!(waiters.first().is_none());
}

#[test]
fn the_oldest_leads() {
    let mut waiters = Waiters::default();
    let seats = [(4, 1), (2, 1), (2, 1)].map(|(number, txg)| sit(&mut waiters, number, txg));
    assert_eq!(rung(&seats, &[waiters.first().unwrap()]), [false, true, false]);
    waiters.leave(seats[1].0);
    assert_eq!(rung(&seats, &[waiters.first().unwrap()]), [false, false, true]);
    // Twice: whoever has to wait on after all is not forgotten.
    assert_eq!(rung(&seats, &waiters.all()), [true, false, true]);
    assert_eq!(rung(&seats, &waiters.all()), [true, false, true]);
}

#[test]
fn a_seat_can_be_given_back_twice() {
    let mut waiters = Waiters::default();
    let (seat, _bell) = sit(&mut waiters, 1, 1);
    assert_eq!(waiters.covered(1, 0).len(), 1);
    waiters.leave(seat);
    assert!(waiters.all().is_empty());
}
