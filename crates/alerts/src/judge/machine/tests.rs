use super::*;

#[test]
fn memory_is_judged_by_what_programs_can_have() {
    let meminfo =
        |available: u64| format!("MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:  {available} kB\n");
    let found = |available| memory(&meminfo(available), &AlertSettings::default()).expect("read");
    assert!(found(50).is_empty());
    assert!(!found(45)[0].is_firm && found(29)[0].is_firm);
    let what = AlertKind::MemoryLow { available: 29 * 1_024, total: 1_000 * 1_024 };
    assert_eq!(found(29)[0].what, what);
    assert!(memory("MemTotal: 5 kB", &AlertSettings::default()).is_err());
    let off = AlertSettings { memory: 0, ..AlertSettings::default() };
    assert!(memory(&meminfo(0), &off).expect("read").is_empty());
}

#[test]
fn a_link_counts_that_somebody_wants_up() {
    let link = |is_device, is_up, has_carrier| Link { name: "eth0".into(), is_device, is_up, has_carrier };
    assert_eq!(links(&[link(true, true, false)]).len(), 1);
    for good in [link(false, true, false), link(true, false, false), link(true, true, true)] {
        assert!(links(&[good]).is_empty());
    }
}

#[test]
fn a_certificate_is_told_of_before_it_ends() {
    let info = |not_after| CertificateInfo {
        fingerprint: "AA".into(),
        names: Vec::new(),
        not_before: 0,
        not_after,
        issuer: String::new(),
        self_signed: true,
    };
    let severity = |not_after| {
        let found = certificate(&info(not_after), &AlertSettings::default(), 1_000 * DAY);
        found.first().map(|finding| finding.severity)
    };
    assert_eq!(severity(1_015 * DAY), None);
    assert_eq!(
        (severity(1_013 * DAY), severity(999 * DAY)),
        (Some(Severity::Warning), Some(Severity::Error))
    );
    assert_eq!(severity(i64::MIN), Some(Severity::Error));
}
