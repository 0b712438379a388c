use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use stdx::behalf::{Rank, Way};

use super::*;

fn fault() -> Problem {
    Problem {
        kind: "/problems/internal".into(),
        title: "Internal error".into(),
        status: 500,
        detail: "the job ended in a fault of ours".into(),
        refused: None,
        second_factors: None,
        service_fault: None,
        exit: 1,
    }
}

fn interrupted() -> Problem {
    Problem { kind: "/problems/interrupted".into(), detail: "the program ended".into(), ..fault() }
}

fn guest(user: u32) -> Actor {
    Actor { user, groups: vec![user], rank: Rank::Guest, within: None, way: Way::Management }
}

fn administrator() -> Actor {
    Actor::itself()
}

/// A ledger that outlives its jobs; copies are one.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Page>>);

#[derive(Default)]
struct Page {
    record: Record,
    /// How often it was replaced.
    replaced: usize,
    is_full: bool,
    is_unwritable: bool,
    /// Goes on by ten seconds when it is looked at.
    time: Arc<AtomicU64>,
}

impl Memory {
    fn page(&self) -> MutexGuard<'_, Page> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program begins, with what is written down now.
    fn begin(&self) -> Arc<Jobs> {
        let record = self.page().record.clone();
        Jobs::new(record, self.clone(), &interrupted(), |_| {})
    }
}

impl Ledger for Memory {
    fn clock(&self) -> Clock {
        let time = self.page().time.clone();
        Arc::new(move || time.fetch_add(10, Ordering::SeqCst))
    }

    fn add(&mut self, entry: &Entry) -> bool {
        let mut page = self.page();
        if page.is_full || page.is_unwritable {
            return false;
        }
        page.record.jobs.push(entry.clone());
        true
    }

    fn replace(&mut self, record: &Record) -> io::Result<()> {
        let mut page = self.page();
        if page.is_unwritable {
            return Err(io::Error::other("no space"));
        }
        (page.record, page.replaced, page.is_full) = (record.clone(), page.replaced + 1, false);
        Ok(())
    }
}

fn begin(jobs: &Arc<Jobs>, kind: &str) -> (Job, Work) {
    jobs.begin(kind, "tank", &administrator(), fault()).expect("there is room")
}

fn done(jobs: &Arc<Jobs>) -> u64 {
    let (job, work) = begin(jobs, "pool.sync");
    work.run(|_| Ok(JobResult::default()));
    job.id
}

fn ended(jobs: &Jobs, id: u64) -> Option<(JobState, Option<Problem>)> {
    jobs.get(id, &administrator()).map(|job| (job.state, job.problem))
}

#[test]
fn a_job_goes_from_its_progress_to_its_result_and_every_change_is_told() {
    let told = Arc::new(AtomicUsize::new(0));
    let tell = {
        let told = told.clone();
        move |_: &Job| {
            told.fetch_add(1, Ordering::SeqCst);
        }
    };
    let jobs = Jobs::new(Record::default(), Memory::default(), &interrupted(), tell);
    let (job, work) = begin(&jobs, "pool.export");
    assert_eq!(job.id, 1);
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
fn a_job_tells_when_it_began_and_ended_and_who_asked_for_it() {
    let ledger = Memory::default();
    ledger.page().time.store(1000, Ordering::SeqCst);
    let jobs = ledger.begin();
    let told = |job: Job| (job.began, job.ended, job.asked_by);
    let (job, work) = jobs.begin("dataset.destroy", "tank/a", &guest(7), fault()).expect("room");
    assert_eq!(told(job.clone()), (Some(1000), None, Some(7)));
    work.run(|_| Ok(JobResult::default()));
    let known = |jobs: &Jobs, id| told(jobs.get(id, &administrator()).expect("it is known"));
    assert_eq!(known(&jobs, job.id), (Some(1000), Some(1010), Some(7)));
    // The program ends while the next one runs: when, nobody has seen.
    let (running, work) = begin(&jobs, "pool.export");
    let mut later = None;
    work.run(|_| {
        let dead = ledger.page().record.clone();
        later = Some(Jobs::new(dead, Memory::default(), &interrupted(), |_| {}));
        Ok(JobResult::default())
    });
    let later = later.expect("it ran");
    assert_eq!(known(&later, job.id), (Some(1000), Some(1010), Some(7)));
    assert_eq!(known(&later, running.id), (Some(1020), None, Some(0)));
    // What an older program wrote down has no times, and its owner all the same.
    let mut old = ledger.page().record.clone();
    for entry in &mut old.jobs {
        (entry.job.began, entry.job.ended, entry.job.asked_by) = (None, None, None);
    }
    let jobs = Jobs::new(old, Memory::default(), &interrupted(), |_| {});
    assert_eq!(known(&jobs, job.id), (None, None, Some(7)));
}

#[test]
fn a_job_whose_work_panics_or_is_dropped_has_failed_and_makes_room() {
    let jobs = Memory::default().begin();
    let (job, work) = begin(&jobs, "pool.export");
    let panics = move || work.run(|_| panic!("as a fault of ours would"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    let told = Problem { detail: format!("{}: as a fault of ours would", fault().detail), ..fault() };
    assert_eq!(ended(&jobs, job.id), Some((JobState::Failed, Some(told))));
    for _ in 0..=RUNNING {
        let (job, work) = begin(&jobs, "pool.sync");
        drop(work);
        assert_eq!(ended(&jobs, job.id), Some((JobState::Failed, Some(fault()))));
    }
}

#[test]
fn guests_fill_their_own_places_and_see_their_own_jobs() {
    let jobs = Memory::default().begin();
    let begin = |kind: &str, owner: &Actor| jobs.begin(kind, "tank", owner, fault());
    let (one, other) = (guest(1000), guest(1001));
    let of_one: Vec<_> = (0..OF_ONE_GUEST).map(|_| begin("dataset.destroy", &one).expect("room")).collect();
    assert_eq!(begin("dataset.destroy", &one).err(), Some(TooMany { running: OF_ONE_GUEST }));
    let of_others: Vec<_> = (0..GUESTS - OF_ONE_GUEST)
        .map(|n| begin("dataset.destroy", &guest(2000 + n as u32)).expect("room"))
        .collect();
    assert_eq!(begin("dataset.destroy", &other).err(), Some(TooMany { running: GUESTS }));
    let of_administrators: Vec<_> =
        (0..RUNNING).map(|_| begin("pool.sync", &administrator()).expect("room")).collect();
    assert_eq!(begin("pool.sync", &administrator()).err(), Some(TooMany { running: RUNNING }));
    // What may end the waiting of the others still finds a place.
    assert!(begin("pool.clear", &administrator()).is_ok());
    let (first, _) = &of_one[0];
    assert_eq!(jobs.get(first.id, &other), None);
    assert_eq!(jobs.all(&other), []);
    assert_eq!((jobs.all(&one).len(), jobs.get(first.id, &administrator()).is_some()), (OF_ONE_GUEST, true));
    drop((of_administrators, of_others));
}

#[test]
fn ended_jobs_are_remembered_for_a_while() {
    let ledger = Memory::default();
    let jobs = ledger.begin();
    for _ in 0..KEPT + 10 {
        done(&jobs);
    }
    // The one before the last has been ended when the last was begun.
    assert_eq!(jobs.all(&administrator()).len(), KEPT + 1);
    assert_eq!(jobs.get(1, &administrator()), None);
    // What was added to the ledger since it was replaced is no more than that afterwards.
    assert!(ledger.page().record.jobs.len() > 2 * KEPT);
    let jobs = ledger.begin();
    assert_eq!((jobs.all(&administrator()).len(), ledger.page().record.jobs.len()), (KEPT, KEPT));
}

#[test]
fn the_next_program_knows_what_was_done_and_what_was_not() {
    let ledger = Memory::default();
    let jobs = ledger.begin();
    let first = done(&jobs);
    let (of_guest, work) = jobs.begin("dataset.destroy", "tank/a", &guest(1000), fault()).expect("room");
    work.run(|_| Err(fault()));
    let (running, work) = begin(&jobs, "pool.export");
    let mut later = None;
    work.run(|reporter| {
        reporter.step("exporting tank", 0, 0);
        // The program dies here.
        let dead = ledger.page().record.clone();
        later = Some(Jobs::new(dead, Memory::default(), &interrupted(), |_| {}));
        Ok(JobResult::default())
    });
    let later = later.expect("it ran");
    let known = |jobs: &Jobs, id| jobs.get(id, &administrator()).expect("it is known");
    assert_eq!(known(&later, first), known(&jobs, first));
    assert_eq!(ended(&later, of_guest.id), Some((JobState::Failed, Some(fault()))));
    assert!(later.get(of_guest.id, &guest(1000)).is_some() && later.get(of_guest.id, &guest(1)).is_none());
    assert_eq!(ended(&later, running.id), Some((JobState::Failed, Some(interrupted()))));
    assert!(done(&later) > running.id);
    // It did not die: what ended afterwards is written down as well.
    assert_eq!(known(&ledger.begin(), running.id).state, JobState::Done);
}

#[test]
fn a_job_is_written_down_before_its_work_runs() {
    let ledger = Memory::default();
    let jobs = ledger.begin();
    let (job, work) = begin(&jobs, "pool.export");
    let written = |id| ledger.page().record.jobs.iter().any(|entry| entry.job.id == id);
    assert!(!written(job.id));
    work.run(|_| {
        assert!(written(job.id));
        Ok(JobResult::default())
    });
}

#[test]
fn a_number_is_given_once_though_the_last_jobs_were_not_written_down() {
    let ledger = Memory::default();
    let jobs = ledger.begin();
    let several = |count: u32| (0..count).fold(0, |_, _| done(&jobs));
    let written = several(600);
    let replaced = ledger.page().replaced;
    assert!(replaced < 4, "all was written {replaced} times");
    ledger.page().is_unwritable = true;
    let lost = several(500);
    assert_eq!(lost, written + 500, "a job does not fail by that");
    // The next program does not know those, but does not take their numbers either.
    let jobs = ledger.begin();
    assert_eq!(jobs.get(lost, &administrator()), None);
    assert!(done(&jobs) > lost);
}

#[test]
fn a_ledger_that_can_be_written_again_has_all() {
    let ledger = Memory::default();
    let jobs = ledger.begin();
    ledger.page().is_unwritable = true;
    let lost = done(&jobs);
    ledger.page().is_unwritable = false;
    ledger.page().is_full = true;
    let replaced = ledger.page().replaced;
    done(&jobs);
    assert_eq!(ledger.page().replaced, replaced + 1, "it was full");
    assert_eq!(ended(&ledger.begin(), lost), Some((JobState::Done, None)));
}

#[test]
fn a_job_is_cancelled_at_the_steps_that_it_names_by_whoever_sees_it() {
    let jobs = Memory::default().begin();
    let (one, other) = (guest(1000), guest(1001));
    let (job, work) = jobs.begin("pool.import", "tank", &one, fault()).expect("room");
    let cancel = |caller: &Actor| jobs.cancel(job.id, caller).map(|asked| asked.map(|job| job.cancellable));
    let not_now = Some(Err(Failure::NotCancellable { job: job.id }));
    assert_eq!(cancel(&one), not_now);
    let told = Arc::new(AtomicUsize::new(0));
    work.run(|reporter| {
        reporter.cancellation().on_cancel({
            let told = told.clone();
            move || {
                told.fetch_add(1, Ordering::SeqCst);
            }
        });
        assert_eq!((cancel(&administrator()), reporter.is_cancelled()), (not_now.clone(), false));
        reporter.set_cancellable(true);
        assert_eq!((cancel(&other), reporter.is_cancelled()), (None, false));
        assert_eq!((cancel(&one), reporter.is_cancelled()), (Some(Ok(true)), true));
        assert_eq!(told.load(Ordering::SeqCst), 1);
        reporter.set_cancellable(false);
        assert_eq!(cancel(&one), not_now);
        Err(fault())
    });
    assert_eq!(cancel(&administrator()), Some(Err(Failure::JobEnded { job: job.id })));
    assert_eq!(jobs.cancel(job.id + 1, &administrator()), None);
    // One that ended while it could be cancelled cannot be any more.
    let (job, work) = begin(&jobs, "pool.import");
    work.run(|reporter| {
        reporter.set_cancellable(true);
        Ok(JobResult::default())
    });
    let now = jobs.get(job.id, &administrator()).expect("it is remembered");
    assert_eq!((now.state, now.cancellable), (JobState::Done, false));
}
