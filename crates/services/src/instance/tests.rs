use api_types::{
    FailureClass, LastRun, NextRun, NotNow, Problem, RunReason, Schedule, ScriptLimits, ScriptPolicy,
    ServiceCommand, ServiceFailure, ServiceLogEntry, ServiceSpec, ServiceState, StateCause, When,
};
use stdx::prng::Prng;

use super::{Instance, LOG_LINES, Log};
use crate::backoff::Backoff;

fn spec() -> ServiceSpec {
    ServiceSpec::Script(ScriptPolicy {
        program: "/bin/true".to_owned(),
        arguments: Vec::new(),
        schedule: Schedule { when: When::Day { hour: 0, minute: 0 }, zone: None },
        limits: ScriptLimits::default(),
    })
}

fn enabled() -> Instance {
    let mut instance = Instance::new("nightly-1", spec(), 100).expect("it is an id");
    instance.command(ServiceCommand::Enable, 100).expect("it may be");
    instance
}

fn run(classes: &[FailureClass]) -> LastRun {
    let failure = |class: &FailureClass| ServiceFailure {
        class: *class,
        subject: "tank/home".to_owned(),
        problem: Box::new(Problem {
            kind: api_types::kind::INTERNAL.to_owned(),
            title: "Internal error".to_owned(),
            status: 500,
            detail: "It did not work".to_owned(),
            refused: None,
            second_factors: None,
            service_fault: None,
            exit: 1,
        }),
    };
    LastRun {
        began: 100,
        ended: 110,
        reason: RunReason::Scheduled,
        done: 1,
        destroyed: 0,
        failures: classes.iter().map(failure).collect(),
        failed: classes.len() as u64,
    }
}

#[test]
fn ids_are_plain() {
    for id in ["", "A", "a b", "a/b", "a_b", &"a".repeat(33)] {
        assert_eq!(Instance::new(id, spec(), 0), None, "{id:?}");
    }
}

#[test]
fn the_worst_failure_says_what_follows() {
    use FailureClass::{Fatal, NeedsPerson, Retriable};
    let after = |classes: &[FailureClass], whole: Option<FailureClass>| {
        let mut instance = enabled();
        instance.began(RunReason::Scheduled, 100);
        let backoff = whole.map(|class| Backoff::after(None, class, 110, &mut Prng::new(1)));
        instance.ended(run(classes), backoff, 110);
        instance.state
    };
    assert_eq!(after(&[], None), ServiceState::Online);
    assert_eq!(after(&[Retriable, NeedsPerson], None), ServiceState::Degraded);
    assert_eq!(after(&[Retriable, Fatal], None), ServiceState::Maintenance);
    assert_eq!(after(&[Retriable], Some(Retriable)), ServiceState::Degraded);
    assert_eq!(after(&[NeedsPerson], Some(NeedsPerson)), ServiceState::Maintenance);
}

#[test]
fn maintenance_is_left_only_when_somebody_clears_it() {
    let mut instance = enabled();
    instance.began(RunReason::Scheduled, 100);
    instance.ended(run(&[FailureClass::Fatal]), None, 110);
    let due = Some(NextRun { at: 200, reason: RunReason::Scheduled });
    assert_eq!(instance.next(due.clone(), 300), None);
    let refused = NotNow { state: ServiceState::Maintenance, command: ServiceCommand::Run };
    assert_eq!(instance.command(ServiceCommand::Run, 300), Err(refused));
    instance.restarted(300);
    instance.command(ServiceCommand::Enable, 300).expect("it is enabled");
    assert_eq!(instance.state, ServiceState::Maintenance);
    assert!(matches!(instance.cause, StateCause::Failed { failed: 1, .. }));
    instance.command(ServiceCommand::Clear, 300).expect("it may be");
    assert_eq!(instance.next(due.clone(), 300), due);
}

#[test]
fn the_next_run_has_its_reason() {
    let mut instance = enabled();
    let due = Some(NextRun { at: 200, reason: RunReason::Scheduled });
    assert_eq!(instance.next(due.clone(), 150), due);
    instance.command(ServiceCommand::Run, 150).expect("it may be");
    assert_eq!(instance.next(due.clone(), 150), Some(NextRun { at: 150, reason: RunReason::Asked }));
    instance.began(RunReason::Asked, 150);
    assert_eq!(instance.next(due.clone(), 150), None);
    let failed = Backoff::after(None, FailureClass::Retriable, 160, &mut Prng::new(1));
    instance.ended(run(&[FailureClass::Retriable]), Some(failed), 160);
    let retry = NextRun { at: failed.until, reason: RunReason::Retry { failures: 1 } };
    assert_eq!(instance.next(due.clone(), 161), Some(retry));
    instance.command(ServiceCommand::Disable, 170).expect("it may be");
    assert_eq!(instance.next(due, 170), None);
}

#[test]
fn a_run_that_ends_late_does_not_enable_what_was_disabled() {
    let mut instance = enabled();
    instance.began(RunReason::Scheduled, 100);
    instance.command(ServiceCommand::Disable, 105).expect("it may be");
    instance.ended(run(&[]), None, 110);
    assert_eq!(instance.state, ServiceState::Disabled);
    assert!(instance.last.is_some());
}

#[test]
fn it_outlives_the_program_and_a_newer_form_is_not_guessed_at() {
    let mut instance = enabled();
    instance.began(RunReason::CatchUp { missed: 3 }, 100);
    let kept = serde_json::to_string(&instance).expect("it can be kept");
    let mut again: Instance = serde_json::from_str(&kept).expect("it can be read");
    assert_eq!(again, instance);
    again.restarted(500);
    assert_eq!((again.state, again.cause), (ServiceState::Online, StateCause::Interrupted));
    let newer = kept.replace("\"format\":1", "\"format\":2");
    assert!(serde_json::from_str::<Instance>(&newer).is_err());
}

#[test]
fn a_log_keeps_the_newest_lines() {
    let mut log = Log::default();
    for at in 0..3_000 {
        log.add(at, ServiceLogEntry::Set);
    }
    assert_eq!(log.lines().count(), LOG_LINES);
    assert_eq!(log.lines().next().map(|line| line.at), Some(2_000));
    assert_eq!(log.lines().next_back().map(|line| line.at), Some(2_999));
}
