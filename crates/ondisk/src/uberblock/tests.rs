use super::*;
use stdx::prng::Prng;

#[test]
fn both_orders_come_back() {
    for endian in [Endian::Little, Endian::Big] {
        let mut ub = Uberblock::new(5000);
        ub.endian = endian;
        (ub.txg, ub.guid_sum, ub.timestamp, ub.checkpoint_txg, ub.raidz_reflow) = (7, 8, 9, 10, 11);
        ub.root_bp.set_birth(7, 7);
        let slot = ub.encode_slot(1024, [1, 0, 0, 0]);
        assert_eq!(Uberblock::decode(&slot), Ok(ub));
        assert_eq!(Eck::decode_tail(&slot), Ok(Eck { endian, checksum: [1, 0, 0, 0] }));
    }
}

#[test]
fn multihost_fields() {
    let mut ub = Uberblock::new(5000);
    assert_eq!(ub.mmp(), Some(Mmp::default()));
    ub.mmp_config = 0x000a_0003_0003_e807;
    let all = Mmp { interval_ms: Some(1000), sequence: Some(3), fail_intervals: Some(10) };
    assert_eq!(ub.mmp(), Some(all));
    let mut newer = ub.clone();
    newer.mmp_config += 1 << 32;
    assert_eq!(newer.cmp_age(&ub), Ordering::Greater);
    newer.timestamp = 0;
    ub.timestamp = 1;
    assert_eq!(newer.cmp_age(&ub), Ordering::Less);
    ub.mmp_magic = 0;
    assert_eq!(ub.mmp(), None);
}

#[test]
fn garbage_is_refused() {
    let mut prng = Prng::new(3);
    let mut slot = [0; 1024];
    prng.fill(&mut slot);
    assert!(Uberblock::decode(&slot).is_err());
    slot[..8].copy_from_slice(&MAGIC.to_le_bytes());
    slot[16..24].copy_from_slice(&77_u64.to_le_bytes());
    for len in 0..Uberblock::SIZE {
        assert!(Uberblock::decode(&slot[..len]).is_err());
    }
    assert!(Uberblock::decode(&slot[..Uberblock::SIZE]).is_ok());
}

#[test]
fn multihost_settings_come_back() {
    let mut uberblock = Uberblock::new(5000);
    let mmp = Mmp { interval_ms: Some(1000), sequence: Some(77), fail_intervals: Some(10) };
    uberblock.set_mmp(mmp, 1_000_000_000);
    assert_eq!((uberblock.mmp(), uberblock.mmp_delay), (Some(mmp), 1_000_000_000));
    // As include/sys/uberblock_impl.h packs them.
    assert_eq!(uberblock.mmp_config, 10 << 48 | 77 << 32 | 1000 << 8 | 7);
    uberblock.set_mmp(Mmp::default(), 0);
    assert_eq!(uberblock.mmp_config, 0);
}

#[test]
fn a_group_beyond_all_counting_is_not_believed() {
    let mut uberblock = Uberblock::new(5000);
    for (txg, is_sound) in [(TXG_END - 1, true), (TXG_END, false), (1 << 63, false), (u64::MAX, false)] {
        uberblock.txg = txg;
        let slot = uberblock.encode_slot(MIN_SLOT, [0; 4]);
        assert_eq!(Uberblock::decode(&slot).is_ok(), is_sound, "{txg:#x}");
    }
}

/// As `spa_checkpoint_sync` of OpenZFS 2.1 stores it: 26 integers.
#[test]
fn the_array_of_a_checkpoint_says_all() {
    let mut ub = Uberblock::new(5000);
    (ub.txg, ub.guid_sum, ub.timestamp, ub.checkpoint_txg) = (7, 8, 9, 7);
    let words = ub.to_words();
    assert_eq!((words.len(), words[0], words[2], words[25]), (26, MAGIC, 7, 7));
    assert_eq!(Uberblock::from_words(&words), Ok(ub.clone()));
    ub.raidz_reflow = 10;
    assert_eq!(ub.to_words().len(), 27);
    assert_eq!(Uberblock::from_words(&ub.to_words()), Ok(ub));
    assert!(Uberblock::from_words(&words[..20]).is_ok_and(|short| short.checkpoint_txg == 0));
    assert!(Uberblock::from_words(&words[..4]).is_err());
    assert!(Uberblock::from_words(&[0; 26]).is_err());
}
