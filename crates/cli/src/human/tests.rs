use super::*;

/// Pairs from listings of real OpenZFS pools: `zfs get -p` beside `zfs list`.
#[test]
fn as_openzfs_prints_them() {
    let pairs: [(u64, &str); 12] = [
        (38177280, "36.4M"),
        (20542976, "19.6M"),
        (26624, "26K"),
        (13312, "13K"),
        (1512960, "1.44M"),
        (117440512, "112M"),
        (29796864, "28.4M"),
        (87643648, "83.6M"),
        (10239, "10.0K"),
        (1023, "1023"),
        (u64::MAX, "16.0E"),
        (0, "0"),
    ];
    for (number, text) in pairs {
        assert_eq!(nicenum(number), text);
    }
    assert_eq!(
        (nicebytes(0), nicebytes(1023), nicebytes(1536)),
        ("0B".into(), "1023B".into(), "1.50K".into())
    );
}

#[test]
fn times_are_cut_off() {
    for (nanos, text) in [
        (0, "-"),
        (999, "999ns"),
        (1999, "1us"),
        (999_999, "999us"),
        (8_388_607, "8ms"),
        (137_438_953_471, "137s"),
    ] {
        assert_eq!(nicetime(nanos), text);
    }
}
