use super::parse;

#[test]
fn a_filter_is_levels() {
    for good in ["info", "off", "warn,nfs=debug", "error,nfs::listen=trace,pool=off"] {
        assert!(parse(good).is_ok(), "{good}");
    }
    for bad in ["blah", "", "info,", "nfs=loud", "=info", "info,nfs=", "INFO"] {
        let why = parse(bad).unwrap_err();
        assert!(why.contains("is no level: write off, error, warn"), "{bad}: {why}");
    }
}
