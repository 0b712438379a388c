use super::*;

#[test]
fn interval_and_count_stand_at_the_end() {
    let take = |text: &str| {
        let mut operands: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let pace = Pace::take(&mut operands);
        pace.map(|pace| (operands.join(" "), pace.interval, pace.count)).map_err(|_| ())
    };
    assert_eq!(take("tank/a /mnt"), Ok(("tank/a /mnt".into(), None, None)));
    assert_eq!(take("tank/a 5"), Ok(("tank/a".into(), Some(5), None)));
    assert_eq!(take("5 10"), Ok((String::new(), Some(5), Some(10))));
    assert_eq!(take("1 5 10"), Ok(("1".into(), Some(5), Some(10))), "a dataset may be a number");
    assert_eq!(take("0"), Err(()));
    assert_eq!(take("99999999999999999999999"), Err(()));
}
