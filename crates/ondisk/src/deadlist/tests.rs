use super::*;

#[test]
fn sums_round_trip() {
    let sums = DeadlistPhys { used: 1, comp: 2, uncomp: 3 };
    assert_eq!(DeadlistPhys::decode(&sums.encode()), Ok(sums));
}

#[test]
fn keys_are_plain_hexadecimal() {
    for number in [0, 10, 0xdead_beef, u64::MAX] {
        assert_eq!(parse_int_key(format!("{number:x}").as_bytes()), Some(number));
    }
    for bad in ["", "+1", "-1", "0x1", "10000000000000000", "g", "\u{ff}"] {
        assert_eq!(parse_int_key(bad.as_bytes()), None, "{bad:?}");
    }
}
