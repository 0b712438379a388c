use super::*;

#[test]
fn numbers_as_zilstat_prints_them() {
    // What OpenZFS's prettynum gives for the same arguments.
    for (width, scale, number, shown) in [
        (5, 1000, 0, "    0"),
        (5, 1000, 1000, " 1000"),
        (5, 1000, 1500, " 1.5K"),
        (5, 1000, 15_900, "  15K"),
        (5, 1024, 1 << 31, " 2.0G"),
        (6, 1024, 1024, "  1024"),
        (3, 100, 100, "100"),
    ] {
        assert_eq!(pretty(width, scale, number), shown, "{number}");
    }
}

#[test]
fn sums_and_quotients_of_what_changed() {
    let counts = |pairs: &[(&str, u64)]| -> Counts {
        pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    let before = counts(&[("zil_itx_copied_count", 5), ("zil_itx_metaslab_slog_bytes", 100)]);
    let now = counts(&[
        ("zil_itx_copied_count", 8),
        ("zil_itx_needcopy_count", 4),
        ("zil_itx_indirect_count", 2),
        ("zil_itx_metaslab_slog_bytes", 400),
        ("zil_itx_metaslab_slog_write", 1200),
    ]);
    let line = Line { pool: "tank", now: &now, before: &before, interval: 0 };
    assert_eq!((line.change("icc"), line.change("idc"), line.change("iwc")), (3, 7, 9));
    assert_eq!((line.change("tes%"), line.change("te%"), line.change("ten%")), (25, 25, 100));
    assert_eq!(line.text("ds"), "tank");
}

#[test]
fn every_sum_is_of_headers_that_exist() {
    for (_, _, _, source) in COLUMNS {
        for part in source.split(['+', '/']).filter(|_| source.contains(['+', '/'])) {
            assert!(COLUMNS.iter().any(|column| column.0 == part), "{source}");
        }
    }
}
