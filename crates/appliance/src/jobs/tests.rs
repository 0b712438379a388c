use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn fault() -> Problem {
    Problem {
        kind: "/problems/internal".into(),
        title: "Internal error".into(),
        status: 500,
        detail: "the job ended in a fault of ours".into(),
        refused: None,
        exit: 1,
    }
}

fn guest(user: u32) -> Arc<Caller> {
    Arc::new(Caller { user, groups: vec![user], is_administrator: false })
}

fn administrator() -> Arc<Caller> {
    Arc::new(Caller::itself())
}

#[test]
fn a_job_goes_from_its_progress_to_its_result_and_every_change_is_told() {
    let told = Arc::new(AtomicUsize::new(0));
    let jobs = Jobs::new({
        let told = told.clone();
        move || {
            told.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (job, work) = jobs.begin("pool.export", "tank", administrator(), fault()).expect("there is room");
    work.run(|reporter| {
        reporter.step("exporting tank", 1, 2);
        let now = jobs.get(job.id, &administrator()).expect("it runs");
        assert_eq!((now.state, now.progress.done, now.progress.total), (JobState::Running, 1, 2));
        Ok(JobResult { txg: Some(7), ..JobResult::default() })
    });
    let now = jobs.get(job.id, &administrator()).expect("it is remembered");
    assert_eq!((now.state, now.result.and_then(|result| result.txg)), (JobState::Done, Some(7)));
    assert_eq!(told.load(Ordering::SeqCst), 2);
}

#[test]
fn a_job_whose_work_panics_or_is_dropped_has_failed_and_makes_room() {
    let jobs = Jobs::new(|| {});
    let (job, work) = jobs.begin("pool.export", "tank", administrator(), fault()).expect("there is room");
    let panics = move || work.run(|_| panic!("as a fault of ours would"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    let failed = |id| jobs.get(id, &administrator()).map(|job| (job.state, job.problem));
    let told = Problem { detail: format!("{}: as a fault of ours would", fault().detail), ..fault() };
    assert_eq!(failed(job.id), Some((JobState::Failed, Some(told))));
    for _ in 0..=RUNNING {
        let (job, work) = jobs.begin("pool.sync", "tank", administrator(), fault()).expect("there is room");
        drop(work);
        assert_eq!(failed(job.id), Some((JobState::Failed, Some(fault()))));
    }
}

#[test]
fn guests_fill_their_own_places_and_see_their_own_jobs() {
    let jobs = Jobs::new(|| {});
    let begin = |kind: &str, owner: &Arc<Caller>| jobs.begin(kind, "tank", owner.clone(), fault());
    let (one, other) = (guest(1000), guest(1001));
    let of_guests: Vec<_> = (0..GUESTS).map(|_| begin("dataset.destroy", &one).expect("room")).collect();
    assert_eq!(begin("dataset.destroy", &other).err(), Some(TooMany { running: GUESTS }));
    let of_administrators: Vec<_> =
        (0..RUNNING).map(|_| begin("pool.sync", &administrator()).expect("room")).collect();
    assert_eq!(begin("pool.sync", &administrator()).err(), Some(TooMany { running: RUNNING }));
    // What may end the waiting of the others still finds a place.
    assert!(begin("pool.clear", &administrator()).is_ok());
    let (first, _) = &of_guests[0];
    assert_eq!(jobs.get(first.id, &other), None);
    assert_eq!(jobs.all(&other), []);
    assert_eq!((jobs.all(&one).len(), jobs.get(first.id, &administrator()).is_some()), (GUESTS, true));
    drop(of_administrators);
}

#[test]
fn ended_jobs_are_remembered_for_a_while() {
    let jobs = Jobs::new(|| {});
    for _ in 0..KEPT + 10 {
        let (_, work) = jobs.begin("pool.sync", "tank", administrator(), fault()).expect("there is room");
        work.run(|_| Ok(JobResult::default()));
    }
    // The one before the last has been ended when the last was begun.
    assert_eq!(jobs.all(&administrator()).len(), KEPT + 1);
    assert_eq!(jobs.get(1, &administrator()), None);
}
