use super::*;

#[test]
fn what_is_allocated_is_cut_into_runs_of_stretches() {
    let segment = |start: u64, len: u64| Segment { start, len };
    let allocated = [segment(0, 4096), segment(8192, 2 * STRETCH), segment(8 * STRETCH, 512)];
    let runs: Vec<_> = Runs::new(allocated.into_iter(), STRETCH + 8192).collect();
    let (first, second) = (8192 + STRETCH, 8192 + STRETCH + 4096);
    assert_eq!(
        runs,
        [
            vec![segment(0, 4096), segment(8192, STRETCH), segment(first, 4096)],
            vec![segment(second, STRETCH - 4096), segment(8 * STRETCH, 512)],
        ]
    );
    assert_eq!(Runs::new([].into_iter(), STRETCH).count(), 0);
}
