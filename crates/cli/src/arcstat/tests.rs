use super::*;

#[test]
fn numbers_as_arcstat_prints_them() {
    // What OpenZFS's prettynum gives for the same arguments.
    for (width, scale, number, interval, shown) in [
        (4, Scale::Thousand, 0.0, 1, "   0"),
        (4, Scale::Thousand, 1000.0, 1, "1000"),
        (4, Scale::Thousand, 1500.0, 1, "1.5K"),
        (4, Scale::Thousand, 12_345.0, 1, " 12K"),
        (4, Scale::Thousand, 2.5, 2, " 2.5"),
        (4, Scale::Thousand, 3.0, 2, " 3.0"),
        (4, Scale::Percent, 99.5, 1, " 100"),
        (3, Scale::Percent, 100.0, 1, "100"),
        (5, Scale::Binary, 1_610_612_736.0, 1, " 1.5G"),
        (5, Scale::Binary, 268_435_456.0, 1, " 256M"),
    ] {
        assert_eq!(pretty(width, scale, number, interval), shown, "{number} in {width}");
    }
}

#[test]
fn every_field_has_a_value_and_a_name_of_its_own() {
    let all = fields::fields();
    let values = fields::values(None, &Counts::new(), 1, "12:00:00".into());
    for (n, field) in all.iter().enumerate() {
        assert!(values.contains_key(&field.name), "{}", field.name);
        assert!(all[n + 1..].iter().all(|other| other.name != field.name), "{}", field.name);
    }
    assert_eq!(values.len(), all.len());
    assert_eq!(all.len(), 189, "as many as OpenZFS's has");
}

#[test]
fn rates_and_shares_are_of_the_interval_and_sizes_of_now() {
    let counts = |pairs: &[(&str, u64)]| -> Counts {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    };
    let before = counts(&[("hits", 100), ("misses", 100), ("size", 5)]);
    let now = counts(&[("hits", 190), ("misses", 110), ("size", 9), ("mru_data", 6), ("mfu_data", 2)]);
    let values = fields::values(Some(&before), &now, 10, String::new());
    assert_eq!(values["hits"], Value::Real(9.0));
    assert_eq!(values["read"], Value::Real(10.0));
    assert_eq!(values["hit%"], Value::Real(90.0));
    assert_eq!(values["dh%"], Value::Whole(0));
    assert_eq!(values["size"], Value::Whole(9));
    assert_eq!(values["mruda%"], Value::Real(75.0));
    // Without shares everything is MFU data's.
    assert_eq!(values["mfudt"], Value::Real(8.0));
    let since_start = fields::values(None, &now, 1, String::new());
    assert_eq!(since_start["hits"], Value::Real(190.0));
}
