use super::Agenda;

#[test]
fn what_is_due_comes_by_its_time_and_nothing_else_is_touched() {
    let mut agenda = Agenda::default();
    for dataset in 0..3_000 {
        agenda.set(dataset, 1_000 + i64::try_from(dataset).expect("it is small"));
    }
    assert_eq!(agenda.next(), Some(1_000));
    assert_eq!(agenda.due(1_002, 10), [0, 1, 2]);
    assert_eq!(agenda.due(1_002, 2), [0, 1]);
    agenda.set(0, 4_400);
    agenda.hasten(1, 900);
    agenda.hasten(2, 4_400);
    agenda.remove(3);
    assert_eq!(agenda.due(1_004, 10), [1, 2, 4]);
}

#[test]
fn a_clock_that_goes_back_loses_nobody() {
    let mut agenda = Agenda::default();
    agenda.set(1, 1_000_000);
    agenda.set(2, 2_000);
    assert_eq!(agenda.due(1_000, 10), [1]);
    assert_eq!(agenda.due(2_000, 10), [2, 1]);
    assert_eq!(agenda.due(1_000_000 - 21_600, 10), [2]);
    assert_eq!(agenda.due(i64::MAX, 10), [2, 1]);
}
