use super::*;
use stdx::prng::Prng;

fn every_type() -> NvList {
    let inner = NvList::new().with("x", 1u64).with("long name to pad", "v");
    let mut list = NvList::new();
    list.set_flag("flag").set("byte", NvValue::Byte(0x80)).set("hr", NvValue::HrTime(-1));
    list.set("bool", true).set("i8", -1i8).set("u8", 200u8).set("i16", -2i16).set("u16", 65_535u16);
    list.set("i32", -3i32).set("u32", u32::MAX).set("i64", i64::MIN).set("u64", u64::MAX);
    list.set("double", NvValue::Double(1.5)).set("string", "seven77").set("empty", "");
    list.set("bools", NvValue::BoolArray(vec![true, false]))
        .set("bytes", NvValue::ByteArray(vec![1, 2, 255]));
    list.set("i8s", NvValue::I8Array(vec![-1, 1, 2])).set("u8s", vec![1u8, 255]);
    list.set("i16s", NvValue::I16Array(vec![-1, 5, 6])).set("u16s", NvValue::U16Array(vec![65_535]));
    list.set("i32s", NvValue::I32Array(vec![-1])).set("u32s", vec![7u32; 3]);
    list.set("i64s", vec![-1i64]).set("u64s", vec![1u64, 2]).set("none", Vec::<u64>::new());
    list.set("strings", vec!["a".to_owned(), String::new(), "ccc".to_owned()]);
    list.set("list", inner.clone())
        .set("lists", vec![inner, NvList::new()])
        .set("nolists", Vec::<NvList>::new());
    list
}

#[test]
fn every_type_comes_back_from_both_encodings() {
    let list = every_type();
    for packed in [list.encode_xdr(), list.encode_native()] {
        assert_eq!(NvList::decode(&packed).as_ref(), Ok(&list));
        for len in 0..packed.len() {
            // The native end mark is four bytes: one short, and the list is not whole.
            assert!(NvList::decode(&packed[..len]).is_err(), "cut to {len} of {}", packed.len());
        }
    }
}

#[test]
fn a_pair_of_known_bytes() {
    let packed = NvList::new().with("version", 5000u64).encode_xdr();
    let mut expect = vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 36, 0, 0, 0, 32, 0, 0, 0, 7];
    expect.extend(b"version\0\0\0\0\x08\0\0\0\x01\0\0\0\0\0\0\x13\x88\0\0\0\0\0\0\0\0");
    assert_eq!(packed, expect);
}

#[test]
fn big_endian_native_lists_are_read() {
    let mut packed = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    packed.extend([0, 0, 0, 32, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 8]);
    packed.extend(b"a\0\0\0\0\0\0\0\0\0\0\0\0\0\x13\x88\0\0\0\0");
    assert_eq!(NvList::decode(&packed), Ok(NvList::new().with("a", 5000u64)));
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth| (0..depth).fold(NvList::new(), |inner, _| NvList::new().with("n", inner));
    for (depth, fine) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
        let list = nested(depth);
        assert_eq!(NvList::decode(&list.encode_xdr()).is_ok(), fine);
        assert_eq!(NvList::decode(&list.encode_native()).is_ok(), fine);
    }
}

#[test]
fn damaged_lists_never_panic_nor_grow() {
    let mut prng = Prng::new(5);
    for good in [every_type().encode_xdr(), every_type().encode_native()] {
        for _ in 0..20_000 {
            let mut bad = good.clone();
            for _ in 0..1 + prng.below(4) {
                let at = prng.below(bad.len() as u64) as usize;
                bad[at] = prng.next_u64() as u8;
            }
            if let Ok(list) = NvList::decode(&bad) {
                assert!(list.encode_xdr().len() <= 64 * bad.len());
            }
        }
    }
}

#[test]
fn setting_replaces_and_moves_to_the_end() {
    let mut list = NvList::new().with("a", 1u64).with("b", 2u64);
    list.set("a", "now a string");
    assert_eq!(list.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!((list.u64("a"), list.string("a")), (None, Some("now a string")));
    assert_eq!(list.remove("b"), Some(NvValue::U64(2)));
    assert_eq!((list.len(), list.contains("b")), (1, false));
}
