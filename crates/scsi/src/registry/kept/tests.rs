use stdx::prng::Prng;

use super::*;

fn registry() -> Registry {
    let mut registry = Registry { persists: true, ..Registry::default() };
    let nexuses = [Nexus::new("iqn.a,i,0x01", 1), Nexus::new("eui.ä =%@,i,0x02", 0xfffe)];
    for (nexus, key) in nexuses.iter().zip([0xabc, u64::MAX]) {
        registry.keys.insert(nexus.clone(), key);
    }
    registry.reservation = Some(Reservation { kind: 5, holder: nexuses[1].clone() });
    registry
}

#[test]
fn what_is_kept_comes_back_for_the_same_volume_only() {
    let text = write(&registry(), 0x77);
    let back = parse(&text, 0x77).unwrap();
    assert_eq!(write(&back, 0x77), text);
    assert_eq!((back.reservation(), back.keys), (Some(5), registry().keys));
    assert!(parse(&text, 0x78).expect("it makes sense").is_empty());
    assert_eq!(write(&Registry { persists: false, ..registry() }, 0x77), "");
}

#[test]
fn text_that_makes_no_sense_is_refused() {
    let mut rng = Prng::new(77);
    let text = write(&registry(), 0x77);
    for bad in ["x", "77", "77 9=iqn.a 1=iqn.a", "77 1=iqn.b 1=iqn.a", "77 - x=a", "77 - 1=%4", "77 - 1"] {
        assert!(parse(bad, 0x77).is_none(), "{bad}");
    }
    assert!(parse("", 0x77).expect("there is nothing").is_empty());
    for _ in 0..2000 {
        let mut bytes = text.clone().into_bytes();
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] = rng.below(128) as u8;
        bytes.truncate(rng.below(2 * bytes.len() as u64) as usize);
        if let Some(registry) = parse(&String::from_utf8_lossy(&bytes), 0x77) {
            assert!(registry.reservation().is_none() || !registry.is_empty());
        }
    }
}
