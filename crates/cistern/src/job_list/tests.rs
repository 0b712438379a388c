use api_types::refusal::{JobFault, Refused};
use api_types::{JobLine, JobState, Problem};

use super::*;

fn load(state: &Path) -> io::Result<(Record, JobList)> {
    JobList::load(state, Arc::new(env::RealClock::new()))
}

/// A folder of its own.
fn state(name: &str) -> PathBuf {
    let state = std::env::temp_dir().join(format!("cistern-job-list-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&state));
    fs::create_dir_all(&state).expect("made");
    state
}

fn entry(id: u64, state: JobState) -> Entry {
    let problem = Problem {
        kind: "/problems/cancelled".into(),
        title: "Cancelled".into(),
        status: 409,
        detail: "no\tmore\nof \\this".into(),
        refused: Some(Box::new(Refused::because(JobFault::Cancelled))),
        second_factors: None,
        service_fault: None,
        exit: 1,
    };
    let job = Job {
        id,
        kind: "pool.import".into(),
        target: "a\tb\n\"c\"\\".into(),
        state,
        cancellable: state == JobState::Running,
        progress: Progress::default(),
        began: Some(1_767_225_600),
        ended: (state != JobState::Running).then_some(1_767_225_661),
        asked_by: Some(1000),
        result: None,
        problem: (state == JobState::Failed).then_some(problem),
    };
    let line = JobLine { time: 1_767_225_603, step: "mounting\ta".into() };
    let log = JobLog { left_out: id, lines: vec![line] };
    Entry { job, log, owner: 1000, of_administrators: id.is_multiple_of(2) }
}

#[test]
fn jobs_are_read_back_as_they_were_written() {
    let state = state("back");
    let (record, mut list) = load(&state).expect("there is none yet");
    assert_eq!(record, Record::default());
    assert!(!list.add(&entry(1, JobState::Running)), "nothing is added before it is written anew");
    let written = Record { next: 65, jobs: vec![entry(1, JobState::Running)] };
    list.replace(&written).expect("written");
    assert!(list.add(&entry(1, JobState::Failed)) && list.add(&entry(2, JobState::Done)));
    let (record, mut list) = load(&state).expect("it can be read");
    let all = [(1, JobState::Running), (1, JobState::Failed), (2, JobState::Done)];
    assert_eq!(record, Record { next: 65, jobs: all.map(|(id, state)| entry(id, state)).to_vec() });
    list.replace(&Record { next: 129, ..record.clone() }).expect("written");
    assert_eq!(load(&state).expect("it can be read").0, Record { next: 129, ..record });
    assert!(!state.join("jobs.damaged").exists());
    fs::remove_dir_all(&state).expect("removed");
}

/// As the version before this one wrote it.
#[test]
fn a_job_without_times_is_read_as_it_is() {
    let state = state("old");
    let job = r#"{"id":1,"kind":"pool.sync","target":"tank","state":"done","cancellable":false,"#.to_owned()
        + r#""progress":{"step":"","done":0,"total":0},"result":null,"problem":null}"#;
    fs::write(state.join("jobs"), format!("next\t65\n1000\tguest\t{job}\n")).expect("written");
    let (record, _) = load(&state).expect("it can be read");
    let read = record.jobs.first().expect("one");
    assert_eq!((read.job.id, read.job.began, read.job.ended, read.owner), (1, None, None, 1000));
    assert!(!state.join("jobs.damaged").exists());
    fs::remove_dir_all(&state).expect("removed");
}

#[test]
fn a_torn_line_is_passed_over_and_the_file_kept_aside() {
    let state = state("torn");
    let file = state.join("jobs");
    let (_, mut list) = load(&state).expect("there is none yet");
    list.replace(&Record { next: 65, jobs: vec![entry(1, JobState::Done)] }).expect("written");
    let mut torn = entry(2, JobState::Done);
    torn.job.target = "caf\u{e9}".into();
    let torn = line(&torn);
    let within = torn.find('\u{e9}').expect("it is written as it is") + 1;
    let mut damaged = fs::read(&file).expect("it is there");
    damaged.extend_from_slice(&torn.as_bytes()[..within]);
    fs::write(&file, &damaged).expect("written");
    let (record, mut list) = load(&state).expect("it can be read");
    assert_eq!(record, Record { next: 65, jobs: vec![entry(1, JobState::Done)] });
    list.replace(&record).expect("written");
    assert_eq!(fs::read(state.join("jobs.damaged")).expect("kept"), damaged);
    assert_eq!(load(&state).expect("it can be read").0, record);
    fs::remove_dir_all(&state).expect("removed");
}

/// Nobody has reserved it, and the next one would be too large for any job.
#[test]
fn a_job_of_an_impossible_number_is_none() {
    let state = state("number");
    let (_, mut list) = load(&state).expect("there is none yet");
    let jobs = vec![entry(1, JobState::Done), entry(u64::MAX, JobState::Done)];
    list.replace(&Record { next: 65, jobs }).expect("written");
    let (record, _) = load(&state).expect("it can be read");
    assert_eq!(record, Record { next: 65, jobs: vec![entry(1, JobState::Done)] });
    fs::remove_dir_all(&state).expect("removed");
}

#[test]
fn a_list_that_cannot_be_read_is_no_empty_list() {
    let state = state("unreadable");
    let file = state.join("jobs");
    for text in ["", "0\tguest\t{}\n", "next\tmany\n", "next\t18446744073709551615\n"] {
        fs::write(&file, text).expect("written");
        assert!(load(&state).is_err(), "{text:?}");
        assert_eq!(fs::read_to_string(&file).expect("it stays"), text);
    }
    fs::remove_file(&file).expect("removed");
    fs::create_dir(&file).expect("made");
    assert!(load(&state).is_err(), "no file");
    fs::remove_dir_all(&state).expect("removed");
}

#[test]
fn after_a_failure_nothing_is_added_before_all_is_written() {
    let state = state("failed");
    let (_, mut list) = load(&state).expect("there is none yet");
    list.replace(&Record { next: 65, jobs: Vec::new() }).expect("written");
    let away = state.with_extension("away");
    fs::rename(&state, &away).expect("moved");
    let ended = entry(1, JobState::Done);
    assert!(!list.add(&ended));
    let failed = list.replace(&Record::default()).expect_err("there is no folder");
    assert!(failed.to_string().starts_with(state.join("jobs").to_str().expect("text")), "{failed}");
    fs::rename(&away, &state).expect("moved back");
    assert!(!list.add(&ended), "what has failed may have left a part of a line");
    list.replace(&Record { next: 65, jobs: Vec::new() }).expect("written");
    assert!(list.add(&ended));
    fs::remove_dir_all(&state).expect("removed");
}

#[test]
fn the_file_is_bounded_whatever_names_users_choose() {
    let state = state("bounded");
    let (_, mut list) = load(&state).expect("there is none yet");
    let mut long = entry(1, JobState::Failed);
    long.job.target = "\u{1}".repeat(4 * TEXT_MAX);
    if let Some(problem) = &mut long.job.problem {
        problem.detail = long.job.target.clone();
    }
    for (of_administrators, most) in [(true, TEXT_MAX), (false, GUESTS_TEXT_MAX)] {
        long.of_administrators = of_administrators;
        list.replace(&Record { next: 65, jobs: Vec::new() }).expect("written");
        let mut added = 0;
        while list.add(&long) {
            added += 1;
        }
        let size = fs::metadata(state.join("jobs")).expect("it is there").len();
        assert!(added > 30 && size < 1100 << 10, "{added} in {size} bytes");
        let kept = load(&state).expect("it can be read").0.jobs.pop().expect("one");
        let problem = kept.job.problem.expect("it failed");
        assert_eq!((kept.job.target.len(), problem.detail.len(), problem.refused), (most, most, None));
        let wanted = (1, JobState::Failed, "/problems/cancelled");
        assert_eq!((kept.job.id, kept.job.state, &*problem.kind), wanted);
    }
    fs::remove_dir_all(&state).expect("removed");
}
