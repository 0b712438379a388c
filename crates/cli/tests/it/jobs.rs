//! `cistern job` against the daemon's API.

use super::{Daemon, refused, said};
use api_types::{Job, JobState, PoolRelease, routes};
use std::time::Duration;

/// A daemon whose job 1 made a pool.
fn daemon() -> Daemon {
    Daemon::with_tank()
}

#[test]
fn jobs_are_listed_with_their_times_and_who_asked() {
    let daemon = daemon();
    let listed = daemon.own("job", "list -Hp");
    assert_eq!((listed.status, &*listed.err), (0, ""));
    let fields: Vec<&str> = listed.out.trim_end().split('\t').collect();
    let [id, kind, target, state, progress, left, began, ended, user] = fields[..] else {
        panic!("nine fields: {listed:?}")
    };
    assert_eq!([id, kind, target, state, progress, left], ["1", "pool.create", "tank", "done", "-", "-"]);
    assert_eq!((began, ended), ("1767225600", "1767225600"));
    assert!(user.parse::<u32>().is_ok(), "{user}");
    let head = daemon.own("job", "list").out;
    assert!(head.starts_with("ID  KIND         TARGET  STATE  PROGRESS  LEFT  BEGAN"), "{head}");
    let all: Vec<Job> = serde_json::from_str(&daemon.own("job", "list --json").out).expect("JSON");
    assert_eq!((all.len(), all[0].began), (1, Some(1_767_225_600)));
    let shown = daemon.own("job", "show 1").out;
    assert!(
        shown.contains("state             done\n") && shown.contains("target            tank\n"),
        "{shown}"
    );
}

#[test]
fn a_job_is_waited_for_and_told_why_it_failed() {
    let daemon = daemon();
    *daemon.engine.delay.lock().expect("unpoisoned") = Duration::from_millis(600);
    let path = routes::at(routes::POOL_EXPORT, "tank");
    let begun: Job = daemon.client().post(&path, &PoolRelease::default()).expect("begun");
    assert_eq!((begun.id, begun.state, begun.ended), (2, JobState::Running, None));
    let cancelled = daemon.own("job", "cancel 2");
    assert!(cancelled.status == 1 && cancelled.err.starts_with("cannot cancel job 2: "), "{cancelled:?}");
    assert!(daemon.own("job", "show 2").out.contains("can be cancelled  no\n"));
    assert_eq!(daemon.own("job", "wait 2"), said(""));
    assert_eq!(daemon.own("job", "wait 1"), said(""));
    // The pool is exported already.
    let again: Job = daemon.client().post(&path, &PoolRelease::default()).expect("begun");
    let failed = daemon.own("job", &format!("wait {}", again.id));
    assert!(failed.status == 1 && failed.err.contains("tank"), "{failed:?}");
    assert_eq!(daemon.own("job", "wait 9"), refused("no such job: 9"));
    for (line, status) in [("wait", 2), ("wait x", 2), ("wait 1 2", 2), ("", 2), ("what", 2), ("--help", 0)] {
        assert_eq!(daemon.own("job", line).status, status, "{line}");
    }
}
