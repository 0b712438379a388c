use api_types::{RunReason, Schedule, ScheduleFault, ScriptLimits, ScriptPolicy, ServiceFault, When};
use jiff::tz::TimeZone;

use super::{Script, Step};
use crate::schedule::Due;

fn policy() -> ScriptPolicy {
    ScriptPolicy {
        program: "/usr/local/bin/tidy".to_owned(),
        arguments: vec!["--all".to_owned()],
        schedule: Schedule { when: When::Hour { step: 1, minute: 0 }, zone: None },
        limits: ScriptLimits::default(),
    }
}

fn script(policy: &ScriptPolicy) -> Result<Script, ServiceFault> {
    Script::new(policy, &|_| Some(TimeZone::UTC))
}

#[test]
fn what_was_missed_is_one_run() {
    let script = script(&policy()).expect("it is good");
    assert_eq!(script.step(0, None, 3_599), Step::Wait { until: Some(3_600) });
    let due = Due { slot: 3_600, missed: 0 };
    assert_eq!(script.step(0, None, 3_600), Step::Run { due, reason: RunReason::Scheduled });
    let due = Due { slot: 36_000, missed: 9 };
    let reason = RunReason::CatchUp { missed: 9 };
    assert_eq!(script.step(0, None, 36_100), Step::Run { due, reason });
    assert_eq!(script.step(36_000, None, 36_100), Step::Wait { until: Some(39_600) });
}

#[test]
fn it_never_runs_twice_at_once() {
    let script = script(&policy()).expect("it is good");
    assert_eq!(script.step(0, Some(3_600), 36_000), Step::Running);
    assert_eq!(script.deadline(3_600), 7_200);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |change: &dyn Fn(&mut ScriptPolicy)| {
        let mut policy = policy();
        change(&mut policy);
        script(&policy).err()
    };
    assert_eq!(refused(&|it| it.program = "tidy".to_owned()), Some(ServiceFault::Program));
    assert_eq!(refused(&|it| it.arguments.push("a\0b".to_owned())), Some(ServiceFault::Program));
    assert_eq!(refused(&|it| it.limits.seconds = 0), Some(ServiceFault::Limits));
    assert_eq!(refused(&|it| it.limits.memory = 1), Some(ServiceFault::Limits));
    assert_eq!(refused(&|it| it.limits.output = u32::MAX), Some(ServiceFault::Limits));
    assert_eq!(refused(&|it| it.limits.processes = 0), Some(ServiceFault::Limits));
    let never = When::Cron { pattern: "0 0 31 4 *".to_owned() };
    let fault = ServiceFault::Schedule { fault: ScheduleFault::Never };
    assert_eq!(refused(&|it| it.schedule.when = never.clone()), Some(fault));
}
