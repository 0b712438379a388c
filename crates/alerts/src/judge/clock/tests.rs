use super::*;

#[test]
fn a_clock_that_is_set_is_told_of_for_a_day_and_one_that_drifts_is_not() {
    let mut clocks = Clocks::default();
    let mut look = |wall, steady| {
        let found = clocks.look(Moment { wall, steady });
        found.first().map(|it| it.what.clone())
    };
    let jumped = |seconds| Some(AlertKind::ClockJumped { seconds });
    assert_eq!((look(1_000_000, 0), look(1_000_060, 60), look(1_000_180, 120)), (None, None, None));
    assert_eq!(look(1_000_240 - 3_600, 180), jumped(-3_600));
    assert_eq!(look(1_000_300 - 3_600, 240), jumped(-3_600));
    assert_eq!(look(1_000_360, 300), jumped(3_600), "and forward again");
    assert_eq!(look(1_000_360 + TOLD as i64, 300 + TOLD), None);
    assert_eq!(look(i64::MAX, 301 + TOLD), jumped(i64::MAX - 1_000_361 - TOLD as i64));
    assert!(look(i64::MIN, 302 + TOLD).is_some(), "no sum overflows");
}
