//! `cistern job`: long work, whoever has asked for it.

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, no_command};
use crate::getopt::{self, Parsed};
use crate::{clock, jobs, table};
use api_types::{Job, JobLine, JobLog, JobState, routes};

pub const USAGE: &str = "\
usage: cistern job list [-H] [-p] [--json]
       cistern job show [--json] ID
       cistern job log [-H] [-p] [--json] ID
       cistern job wait ID
       cistern job cancel ID

Work that takes long: those that run, and the last that ended. 'log' shows the last steps of one; 'wait' ends when the job does, with status 1 where it failed;
'cancel' asks it to end at its next step, where it can be.

  -H       without a head, a tab between fields
  -p       times in seconds since 1970
  --json   what the daemon says, as JSON

examples:
  cistern job list
  cistern job wait 17 && echo done
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") => list(rest, client, io),
        Some("show") => {
            let options = getopt::parse(rest, "j", &["json"])?;
            let job: Job = client.get(&of(&options, routes::JOB)?)?;
            if options.has("j") {
                return table::json(io, &job);
            }
            show(&job, clock::seconds(), io)
        }
        Some("log") => log(rest, client, io),
        Some("wait") => {
            let options = getopt::parse(rest, "", &[])?;
            let job: Job = client.get(&of(&options, routes::JOB)?)?;
            let ended = jobs::wait(client, io, job)?;
            let result = jobs::result(ended)?;
            Ok(result.warnings.sentences.iter().try_for_each(|text| writeln!(io.err, "{text}"))?)
        }
        Some("cancel") => {
            let options = getopt::parse(rest, "", &[])?;
            client.post::<Job>(&of(&options, routes::JOB_CANCEL)?, &())?;
            Ok(())
        }
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

/// The route of the one job that is named.
fn of(options: &Parsed, route: &str) -> Result<String, Stop> {
    match options.operands.as_slice() {
        [id] if id.parse::<u64>().is_ok() => Ok(routes::at(route, id)),
        [id] => Err(Stop::Usage(format!("'{id}' is no number of a job"))),
        [] => Err(Stop::Usage("missing number of a job".into())),
        _ => Err(Stop::Usage("too many arguments".into())),
    }
}

fn list(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    options.none()?;
    let all: Vec<Job> = client.get(routes::JOBS)?;
    if options.has("j") {
        return table::json(io, &all);
    }
    let (now, is_exact) = (clock::seconds(), options.has("p"));
    let row = |job: &Job| {
        [
            job.id.to_string(),
            job.kind.clone(),
            table::plain(&job.target),
            state(job.state).to_owned(),
            progress(job),
            left(job, now).map_or_else(|| "-".to_owned(), |seconds| span(seconds, is_exact)),
            table::time(job.began, is_exact),
            table::time(job.ended, is_exact),
            job.asked_by.map_or_else(|| "-".to_owned(), |user| user.to_string()),
        ]
    };
    const HEAD: [&str; 9] =
        ["ID", "KIND", "TARGET", "STATE", "PROGRESS", "LEFT", "BEGAN", "ENDED", "ASKED BY"];
    table::print(io, HEAD, all.iter().map(row).collect(), options.has("H"))
}

fn log(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    let log: JobLog = client.get(&of(&options, routes::JOB_LOG)?)?;
    if options.has("j") {
        return table::json(io, &log);
    }
    let is_exact = options.has("p");
    let row = |line: &JobLine| [table::time(Some(line.time), is_exact), table::plain(&line.step)];
    table::print(io, ["TIME", "STEP"], log.lines.iter().map(row).collect(), options.has("H"))?;
    if log.left_out > 0 {
        writeln!(io.err, "{} earlier steps are not kept", log.left_out)?;
    }
    Ok(())
}

fn show(job: &Job, now: u64, io: &mut Io<'_>) -> Result<(), Stop> {
    let user = job.asked_by.map_or_else(|| "-".to_owned(), |user| user.to_string());
    let mut lines = vec![
        ("job", job.id.to_string()),
        ("kind", job.kind.clone()),
        ("target", table::plain(&job.target)),
        ("state", state(job.state).to_owned()),
        ("asked by", user),
        ("began", table::time(job.began, false)),
        ("ended", table::time(job.ended, false)),
    ];
    if job.state == JobState::Running {
        let step = table::plain(&job.progress.step);
        lines.push((
            "progress",
            if step.is_empty() { progress(job) } else { format!("{} {step}", progress(job)) },
        ));
        lines.push(("left", left(job, now).map_or_else(|| "-".to_owned(), |seconds| span(seconds, false))));
        lines.push(("can be cancelled", if job.cancellable { "yes" } else { "no" }.to_owned()));
    }
    let result = job.result.iter();
    lines.extend(result.flat_map(|result| &result.warnings.sentences).map(|text| ("warning", text.clone())));
    lines.extend(job.problem.iter().map(|problem| ("problem", problem.to_string())));
    for (name, value) in lines {
        writeln!(io.out, "{name:<16}  {value}")?;
    }
    Ok(())
}

fn state(state: JobState) -> &'static str {
    match state {
        JobState::Running => "running",
        JobState::Done => "done",
        JobState::Failed => "failed",
    }
}

/// `3/8`; a job that does not know how much there is tells nothing.
fn progress(job: &Job) -> String {
    match (job.state, job.progress.total) {
        (JobState::Running, 1..) => format!("{}/{}", job.progress.done, job.progress.total),
        _ => "-".to_owned(),
    }
}

/// Seconds until the end, if it goes on as it did until now.
fn left(job: &Job, now: u64) -> Option<u64> {
    let (done, total) = (u128::from(job.progress.done), u128::from(job.progress.total));
    let spent = u128::from(now.checked_sub(job.began?)?);
    if job.state != JobState::Running || done == 0 || spent == 0 {
        return None;
    }
    u64::try_from(spent * total.checked_sub(done)? / done).ok()
}

/// `1h02m`, `2m05s`, `9s`.
fn span(seconds: u64, is_exact: bool) -> String {
    match seconds {
        _ if is_exact => seconds.to_string(),
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api_types::Progress;

    fn job(began: Option<u64>, done: u64, total: u64) -> Job {
        Job {
            id: 7,
            kind: "pool.import".into(),
            target: "tank".into(),
            state: JobState::Running,
            cancellable: true,
            progress: Progress { step: "mounting tank/a".into(), done, total },
            began,
            ended: None,
            asked_by: None,
            result: None,
            problem: None,
        }
    }

    #[test]
    fn time_left_is_told_where_it_can_be_known() {
        assert_eq!(left(&job(Some(100), 1, 4), 130), Some(90));
        for (known, now) in [
            (job(None, 1, 4), 130),
            (job(Some(100), 0, 4), 130),
            (job(Some(100), 1, 0), 130),
            (job(Some(100), 1, 4), 100),
            (job(Some(100), 1, 4), 99),
            (job(Some(0), 1, u64::MAX), u64::MAX),
            (Job { state: JobState::Done, ..job(Some(100), 1, 4) }, 130),
        ] {
            assert_eq!(left(&known, now), None, "{known:?}");
        }
        assert_eq!([9, 125, 3720].map(|seconds| span(seconds, false)), ["9s", "2m05s", "1h02m"]);
    }

    #[test]
    fn a_job_without_times_shows_a_dash() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut io =
            Io { out: &mut out, err: &mut err, colour: false, progress: false, asks: true, title: |_| () };
        show(&job(None, 1, 4), 130, &mut io).expect("shown");
        let shown = String::from_utf8(out).expect("text");
        assert!(shown.contains("began             -\n") && shown.contains("1/4 mounting tank/a"), "{shown}");
    }
}
