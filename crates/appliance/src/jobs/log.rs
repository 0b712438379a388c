//! What a job did, and when: the last steps that it told.
//!
//! Invariant: a log has at most [`LINES`] lines of at most [`LONGEST`] characters, and says how
//! many were before these.

use api_types::{JobLine, JobLog};

/// Lines that are kept, and characters of each.
const LINES: usize = 64;
const LONGEST: usize = 256;

/// A step has begun. The same as the last one is no news.
pub(super) fn add(log: &mut JobLog, step: &str, time: u64) {
    let step: String = step.chars().take(LONGEST).collect();
    if step.is_empty() || log.lines.last().is_some_and(|last| last.step == step) {
        return;
    }
    if log.lines.len() >= LINES {
        log.lines.remove(0);
        log.left_out += 1;
    }
    log.lines.push(JobLine { time, step });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_steps_are_kept_and_the_others_counted() {
        let mut log = JobLog::default();
        for at in 0..100_u64 {
            add(&mut log, &format!("step {at}"), at);
            add(&mut log, &format!("step {at}"), at + 1);
        }
        assert_eq!((log.left_out, log.lines.len()), (36, LINES));
        assert_eq!(log.lines.first(), Some(&JobLine { time: 36, step: "step 36".into() }));
        assert_eq!(log.lines.last(), Some(&JobLine { time: 99, step: "step 99".into() }));
    }

    #[test]
    fn a_long_step_is_cut_and_none_is_no_line() {
        let mut log = JobLog::default();
        add(&mut log, "", 1);
        add(&mut log, &"ü".repeat(1_000), 2);
        add(&mut log, &"ü".repeat(2_000), 3);
        let lengths: Vec<_> = log.lines.iter().map(|line| line.step.chars().count()).collect();
        assert_eq!(lengths, [LONGEST]);
    }
}
