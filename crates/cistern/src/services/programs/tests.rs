use std::time::Instant;

use api_types::{Schedule, When};

use super::*;

fn policy(script: &str, limits: ScriptLimits) -> ScriptPolicy {
    ScriptPolicy {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        schedule: Schedule { when: When::Day { hour: 0, minute: 0 }, zone: None },
        limits,
    }
}

fn limits() -> ScriptLimits {
    ScriptLimits { seconds: 20, ..ScriptLimits::default() }
}

fn run_it(script: &str, limits: ScriptLimits, number: u64) -> (ScriptEnd, String) {
    run(&policy(script, limits), &Cancel::default(), number)
}

#[test]
fn a_program_is_run_with_nothing_but_its_arguments() {
    let (end, output) = run_it("cat; pwd; echo $HOME; echo to both >&2; exit 3", limits(), 1);
    assert_eq!((end, output.as_str()), (ScriptEnd::Exited { status: 3 }, "/\n\nto both\n"));
    let (end, output) = run_it("kill -9 $$", limits(), 2);
    assert_eq!((end, output.as_str()), (ScriptEnd::Signal { signal: 9 }, ""));
    let missing = ScriptPolicy { program: "/nowhere".to_owned(), ..policy("", limits()) };
    let (end, _) = run(&missing, &Cancel::default(), 3);
    assert!(matches!(end, ScriptEnd::NotStarted { .. }), "{end:?}");
}

#[test]
fn what_hangs_is_ended_with_all_that_it_began() {
    let began = Instant::now();
    // One child of its session, and one that has left it and its parents.
    let script = "sleep 1000 & (setsid sleep 1001 &) ; sleep 1002";
    let (end, _) = run_it(script, ScriptLimits { seconds: 1, ..limits() }, 4);
    assert_eq!(end, ScriptEnd::TimedOut { seconds: 1 });
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(members(0, &format!("{:016x}", 4)).iter().all(|pid| !has_mark(*pid, &format!("{:016x}", 4))));
}

#[test]
fn what_it_left_behind_ends_with_it() {
    let began = Instant::now();
    let (end, output) = run_it("(setsid sleep 1003 &); echo done", limits(), 5);
    assert_eq!((end, output.as_str()), (ScriptEnd::Exited { status: 0 }, "done\n"));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_flood_holds_nothing_up_and_its_end_is_kept() {
    let flood = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done";
    let (end, output) = run_it(flood, ScriptLimits { output: 100, ..limits() }, 6);
    assert_eq!(end, ScriptEnd::Exited { status: 0 });
    assert!(
        output.len() <= 100 && output.starts_with("line ") && output.ends_with("line 19999\n"),
        "{output}"
    );
}

#[test]
fn who_forks_without_end_is_ended() {
    let bomb = "f() { sleep 100 & f2; }; f2() { sleep 0.01; f; }; f";
    let (end, _) = run_it(bomb, ScriptLimits { processes: 20, ..limits() }, 7);
    assert_eq!(end, ScriptEnd::TooManyProcesses { processes: 20 });
}

#[test]
fn memory_is_bounded() {
    let hungry = "a=x; while :; do a=$a$a$a$a; done";
    let (end, _) = run_it(hungry, ScriptLimits { memory: 32 << 20, ..limits() }, 8);
    assert!(matches!(end, ScriptEnd::Exited { status: 1.. } | ScriptEnd::Signal { .. }), "{end:?}");
}

#[test]
fn what_is_stopped_ends_soon() {
    let (stop, began) = (Cancel::default(), Instant::now());
    stop.cancel();
    let (end, _) = run(&policy("sleep 100", limits()), &stop, 9);
    assert_eq!(end, ScriptEnd::Stopped);
    assert!(began.elapsed() < Duration::from_secs(5));
}
