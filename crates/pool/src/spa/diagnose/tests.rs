use env::DiskError;

use super::*;

fn report(guid: u64, what: What) -> DiskReport {
    DiskReport { guid, what, offset: 0, size: 512 }
}

#[test]
fn ten_errors_within_ten_minutes_condemn_a_disk() {
    for (what, verdict) in [
        (What::Read(DiskError::Io(5)), Verdict::Fault),
        (What::Write(DiskError::Io(5)), Verdict::Fault),
        (What::Checksum, Verdict::Degrade),
    ] {
        let diagnosis = Diagnosis::default();
        // One a minute and a bit is no more than nine in ten minutes.
        let slowly = (0..40).map(|n| diagnosis.record(&report(1, what), Nanos::from_secs(67 * n)));
        assert!(slowly.into_iter().all(|verdict| verdict.is_none()));
        let now = Nanos::from_secs(100_000);
        let quickly: Vec<_> = (0..10).map(|_| diagnosis.record(&report(1, what), now)).collect();
        assert_eq!(quickly[9], Some(verdict));
        assert!(quickly[..9].iter().all(Option::is_none));
    }
}

#[test]
fn each_disk_and_each_kind_of_error_is_counted_by_itself() {
    let diagnosis = Diagnosis::default();
    for n in 0..9 {
        let at = Nanos::from_secs(n);
        assert_eq!(diagnosis.record(&report(1, What::Checksum), at), None);
        assert_eq!(diagnosis.record(&report(1, What::Read(DiskError::Io(5))), at), None);
        assert_eq!(diagnosis.record(&report(2, What::Checksum), at), None);
    }
    diagnosis.forget(Some(1));
    let at = Nanos::from_secs(10);
    assert_eq!(diagnosis.record(&report(1, What::Checksum), at), None);
    assert_eq!(diagnosis.record(&report(2, What::Checksum), at), Some(Verdict::Degrade));
}
