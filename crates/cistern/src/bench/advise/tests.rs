use engine::rehearsal::{Played, Scene};

use super::*;

#[test]
fn a_data_sheet_makes_a_question() {
    let log = question(&DeviceModel::ram_log(), true);
    assert_eq!(log.log_latency, Some(20_000 + 4096));
    let cache = question(&DeviceModel::consumer_ssd(), false);
    assert_eq!(cache.cache_latency, Some(92_000 + 32_768));
    assert!(cache.log_latency.is_none());
}

#[test]
fn the_error_is_a_share_of_what_came() {
    let figures = Figures { before: 100.0, predicted: 900.0, measured: 1000.0 };
    assert!((figures.error() + 0.1).abs() < 1e-9);
}

/// Rehearses in this process: a child would be the tests anew.
#[derive(Debug)]
struct Here;

impl Stage for Here {
    fn play(&self, scene: &Scene) -> Option<Played> {
        super::super::rehearse::play(scene).ok()
    }
}

/// The whole way once: how right it is depends on the machine's other work.
#[test]
fn a_prediction_is_made_and_tried() {
    let tried = |millis| {
        let options = Options {
            json: true,
            span: Duration::from_millis(millis),
            only: String::new(),
            writers: 10,
            stage: Some(Arc::new(Here)),
        };
        try_out(&CASES[1], &options)
    };
    // A machine with other work may take longer until there is enough to say something.
    let (figures, finding) = tried(3600).or_else(|_| tried(20_000)).unwrap();
    assert!(figures.before > 0.0 && figures.measured > figures.before && figures.predicted > figures.before);
    assert_eq!(finding.about, "log");
    assert!(finding.figures.iter().any(|(name, _)| *name == "rehearsed_rest_nanos"), "{finding:?}");
}
