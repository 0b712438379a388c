use super::*;

fn tried(rewind: Rewind, txgs: &[u64]) -> Vec<(u64, u64, bool)> {
    let found = txgs.iter().map(|&txg| Uberblock { txg, ..Uberblock::new(5000) }).collect();
    let all = rewind.candidates(found);
    all.into_iter().map(|it| (it.uberblock.txg, it.after, it.data)).collect()
}

#[test]
fn only_groups_whose_blocks_are_in_place_are_tried_unless_all_is_read() {
    let found = [100, 99, 99, 98, 96, 40];
    assert_eq!(tried(Rewind::Never, &found), [(100, 97, false)]);
    assert_eq!(tried(Rewind::Safe, &found), [(100, 97, true), (99, 96, true), (98, 95, true)]);
    assert_eq!(tried(Rewind::Safe, &[100, 97, 96]), [(100, 97, true), (97, 0, true)]);
    let all = [(100, 97, true), (99, 96, true), (98, 95, true), (96, 0, true), (40, 0, true)];
    assert_eq!(tried(Rewind::Extreme, &found), all);
    assert_eq!(tried(Rewind::To(97), &found), [(96, 0, true), (40, 0, true)]);
    assert_eq!(tried(Rewind::Extreme, &[]), []);
}
