use super::*;

const A: Extent = Extent { unit: 0, lba: 70, blocks: 2 };
const B: Extent = Extent { unit: 0, lba: 80, blocks: 2 };
const LOCK: Extent = Extent { unit: 0, lba: 5, blocks: 2 };

fn journal() -> Journal {
    Journal::new(vec![vec![0; 100]], 1000)
}

/// From one event of the disks to another.
fn done(journal: &mut Journal, kind: Kind, promises: bool, (from, to): (usize, usize)) -> usize {
    let call = journal.begin(kind, promises, from);
    journal.end(call, to);
    call
}

fn found(extent: Extent, values: [u64; 2]) -> Vec<Vec<u64>> {
    let mut sectors = vec![0; 100];
    sectors[extent.lba as usize..][..2].copy_from_slice(&values);
    vec![sectors]
}

#[test]
fn what_is_promised_is_there_and_other_things_may_be() {
    let mut journal = journal();
    done(&mut journal, Kind::Write(A, 10), true, (1, 3));
    done(&mut journal, Kind::Write(A, 20), false, (4, 5));
    let check = |cut, values| journal.check_after(Cut::Power(cut), &found(A, values), &[LOCK]);
    assert!(check(0, [0, 0]).is_ok() && check(0, [10, 11]).is_err(), "not begun");
    assert!(
        [[0, 0], [10, 0], [0, 11], [10, 11]].into_iter().all(|values| check(2, values).is_ok()),
        "under way"
    );
    assert!(check(2, [11, 10]).is_err(), "in the wrong place");
    assert!(check(3, [0, 11]).is_err(), "promised, and lost");
    assert!(check(9, [20, 11]).is_ok() && check(9, [0, 21]).is_err(), "no promise");
    done(&mut journal, Kind::Flush(vec![0]), false, (6, 8));
    let check = |cut, values| journal.check_after(Cut::Power(cut), &found(A, values), &[LOCK]);
    assert!(check(7, [10, 21]).is_ok() && check(8, [10, 21]).is_err() && check(8, [20, 21]).is_ok());
}

#[test]
fn what_is_atomic_is_whole_or_not_there() {
    let mut journal = journal();
    done(&mut journal, Kind::Write(A, 10), true, (0, 1));
    done(&mut journal, Kind::Atomic(A, 20), false, (2, 4));
    let check = |journal: &Journal, cut, values| journal.check_after(Cut::Power(cut), &found(A, values), &[]);
    for cut in [3, 9] {
        assert!([[10, 11], [20, 21]].into_iter().all(|values| check(&journal, cut, values).is_ok()));
        assert!([[10, 21], [20, 11]].into_iter().all(|values| check(&journal, cut, values).is_err()));
    }
    // A later write may show beside it, and alone.
    done(&mut journal, Kind::Write(A, 30), false, (5, 6));
    assert!([[20, 31], [30, 21], [30, 11]].into_iter().all(|values| check(&journal, 9, values).is_ok()));
    assert!(check(&journal, 9, [20, 11]).is_err());
    done(&mut journal, Kind::Atomic(A, 40), true, (7, 8));
    assert!(check(&journal, 9, [40, 41]).is_ok() && check(&journal, 9, [20, 21]).is_err(), "promised");
}

#[test]
fn a_copy_is_what_its_source_was_meanwhile() {
    let mut journal = journal();
    done(&mut journal, Kind::Write(A, 10), true, (0, 0));
    let copy = journal.begin(Kind::Copy(A, B), false, 1);
    done(&mut journal, Kind::Fill(A, 7), true, (1, 2));
    journal.end(copy, 3);
    done(&mut journal, Kind::Fill(A, 9), true, (4, 4));
    done(&mut journal, Kind::Flush(vec![0]), false, (4, 5));
    let check = |values: [u64; 2]| {
        let mut sectors = found(B, values);
        sectors[0][70..72].fill(9);
        journal.check_after(Cut::Power(6), &sectors, &[])
    };
    assert!(check([10, 11]).is_ok() && check([7, 11]).is_ok() && check([7, 7]).is_ok());
    assert!(check([0, 11]).is_err() && check([9, 9]).is_err());
}

#[test]
fn locks_have_one_winner_and_are_whole() {
    let mut journal = journal();
    let exchange = |old, new| Kind::Exchange { lock: LOCK, old, new };
    done(&mut journal, exchange(0, 1), true, (0, 2));
    done(&mut journal, exchange(1, 2), false, (3, 4));
    let lost = done(&mut journal, exchange(1, 3), false, (4, 4));
    journal.calls[lost].lost = true;
    assert_eq!(journal.check_answers(&[LOCK]), Ok(()));
    let check = |cut, values| journal.check_after(Cut::Power(cut), &found(LOCK, values), &[LOCK]);
    assert!(check(1, [0, 0]).is_ok() && check(1, [1, 1]).is_ok() && check(1, [1, 0]).is_err());
    assert!(check(5, [0, 0]).is_err() && check(5, [1, 1]).is_ok() && check(5, [2, 2]).is_ok());
    assert!(check(5, [3, 3]).is_err() && check(5, [2, 1]).is_err());
    journal.calls[lost].lost = false;
    assert!(journal.check_answers(&[LOCK]).is_err(), "two winners");
    (journal.calls[lost].lost, journal.calls[lost].kind) = (true, exchange(2, 3));
    assert!(journal.check_answers(&[LOCK]).is_err(), "it was what was expected");
}
