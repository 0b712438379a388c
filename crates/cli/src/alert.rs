//! `cistern alert`: what is wrong, what finds it, and from where on.

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, no_command, usage};
use crate::table::{plain, time};
use crate::{getopt, table};
use api_types::{
    Alert, AlertAcknowledge, AlertCheck, AlertReport, AlertReportSent, AlertSettings, CheckState, Severity,
    routes,
};
use serde_json::Value;

pub const USAGE: &str = "\
usage: cistern alert list [--all] [--severity SEVERITY] [-n NUMBER] [-H] [-p] [--json]
       cistern alert show ID [--json]
       cistern alert ack ID [--undo]
       cistern alert clear ID
       cistern alert checks [-H] [-p] [--json]
       cistern alert settings [NAME=VALUE]... [--json]
       cistern alert report [--html | --json]
       cistern alert report --now

What is wrong with pools, disks, datasets and this machine, the newest first. An alert is open as long as a check finds it, and is
over by itself. 'ack' says that somebody looks after it. 'clear' ends it at once; if it is found again, it is raised again.
'checks' shows what looks, and what cannot. 'settings' shows from where on something is an alert, and sets that. Whom alerts are
told: cistern notify. 'report' shows the report of the last week, which routes are sent each week on 'report_day' at 'report_hour'.

  --all                  also those that are over
  --severity SEVERITY    this bad or worse: warning (the default), error or critical
  -n NUMBER              so many                              (default: 100)
  --undo                 nobody looks after it any more
  -H, -p                 for programs: without a head, times in seconds since 1970
  --json                 what the daemon says, as JSON
  --html                 as a page with pictures, for a browser
  --now                  sends the report now, by all routes that take it

examples:
  cistern alert list
  cistern alert ack 7
  cistern alert settings full_warning=75 ups=main@localhost
  cistern alert report --html > report.html
  zfs set org.cistern:freshness=1d tank/home
";
/// Alerts that are asked for at a time.
const PAGE: usize = 1_000;
const USUAL: usize = 100;

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") => list(rest, client, io),
        Some("show") => show(rest, client, io),
        Some("ack") => acknowledge(rest, client, io),
        Some("clear") => {
            let options = getopt::parse(rest, "", &[])?;
            let id = number(options.one("missing number of an alert")?)?;
            client.post::<Alert>(&routes::at(routes::ALERT_CLEAR, &id), &())?;
            Ok(())
        }
        Some("checks") => checks(rest, client, io),
        Some("settings") => settings(rest, client, io),
        Some("report") => report(rest, client, io),
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

fn number(text: &str) -> Result<String, Stop> {
    match text.parse::<u64>() {
        Ok(id) => Ok(id.to_string()),
        Err(_) => usage(format!("'{text}' is no number of an alert")),
    }
}

fn at(seconds: i64, is_exact: bool) -> String {
    time(u64::try_from(seconds).ok(), is_exact)
}

/// What a severity is called.
pub fn severity(text: &str) -> Result<Severity, Stop> {
    Severity::of_word(text)
        .map_or_else(|| usage(format!("'{text}' is no severity: warning, error or critical")), Ok)
}

fn list(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let long = [("all", "all"), ("severity", "s"), ("json", "j")];
    let options = getopt::parse_as(args, "n:s:Hpj", &long)?;
    options.none()?;
    let severity = options.value("s").map_or(Ok(Severity::Warning), severity)?;
    let most = options
        .value("n")
        .map_or(Ok(USUAL), |text| text.parse().map_err(|_| Stop::Usage(format!("'{text}' is no number"))))?;
    let all = options.has("all");
    let mut alerts: Vec<Alert> = Vec::new();
    while alerts.len() < most {
        let wanted = PAGE.min(most - alerts.len());
        let after = alerts.last().map(|alert| format!("&after={}", alert.id)).unwrap_or_default();
        let asked = format!("all={all}&severity={}&limit={wanted}{after}", severity.word());
        let page: Vec<Alert> = client.get(&format!("{}?{asked}", routes::ALERTS))?;
        let is_last = page.len() < wanted;
        alerts.extend(page);
        if is_last {
            break;
        }
    }
    if options.has("j") {
        return table::json(io, &alerts);
    }
    if alerts.is_empty() && !options.has("H") {
        return Ok(writeln!(io.out, "{}", if all { "there was no alert" } else { "nothing is wrong" })?);
    }
    let is_exact = options.has("p");
    let row = |alert: &Alert| {
        [
            alert.id.to_string(),
            alert.severity.word().to_owned(),
            at(alert.since, is_exact),
            alert.cleared.as_ref().map_or_else(|| "-".to_owned(), |cleared| at(cleared.at, is_exact)),
            alert.acknowledged.as_ref().map_or_else(|| "-".to_owned(), |it| plain(&it.by)),
            plain(&alert.title),
        ]
    };
    const HEAD: [&str; 6] = ["ID", "SEVERITY", "SINCE", "OVER", "BY", "WHAT"];
    table::print(io, HEAD, alerts.iter().map(row).collect(), options.has("H"))
}

fn show(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "j", &["json"])?;
    let id = number(options.one("missing number of an alert")?)?;
    let alert: Alert = client.get(&routes::at(routes::ALERT, &id))?;
    if options.has("j") {
        return table::json(io, &alert);
    }
    writeln!(io.out, "{}", plain(&alert.title))?;
    writeln!(io.out, "  {}", plain(&alert.text))?;
    writeln!(io.out, "what to do    {}", plain(&alert.advice))?;
    writeln!(io.out, "severity      {}", alert.severity.word())?;
    writeln!(io.out, "subject       {}", plain(&alert.subject))?;
    writeln!(io.out, "since         {}", at(alert.since, false))?;
    writeln!(io.out, "last seen     {}, {} times in all", at(alert.last_seen, false), alert.count)?;
    if alert.flapping {
        writeln!(io.out, "it comes and goes, and stays open until it was away for half an hour")?;
    }
    if let Some(by) = &alert.acknowledged {
        writeln!(io.out, "looked after  by {} since {}", plain(&by.by), at(by.at, false))?;
    }
    match &alert.cleared {
        Some(over) => writeln!(io.out, "over          since {}: {}", at(over.at, false), plain(&over.why))?,
        None => writeln!(io.out, "over          no")?,
    }
    Ok(())
}

fn acknowledge(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "", &["undo"])?;
    let id = number(options.one("missing number of an alert")?)?;
    let asked = AlertAcknowledge { undo: options.has("undo") };
    let alert: Alert = client.post(&routes::at(routes::ALERT_ACKNOWLEDGE, &id), &asked)?;
    if let Some(by) = alert.acknowledged {
        writeln!(io.out, "{} looks after it", plain(&by.by))?;
    }
    Ok(())
}

fn checks(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    options.none()?;
    let checks: Vec<AlertCheck> = client.get(routes::ALERT_CHECKS)?;
    if options.has("j") {
        return table::json(io, &checks);
    }
    let row = |check: &AlertCheck| {
        let state = match check.state {
            CheckState::Waiting => "waiting",
            CheckState::Good => "good",
            CheckState::Failed => "failed",
            CheckState::Silent => "silent",
            CheckState::Off => "off",
        };
        [
            check.name.word().to_owned(),
            state.to_owned(),
            check.last.map_or_else(|| "-".to_owned(), |last| at(last, options.has("p"))),
            check.took_ms.to_string(),
            check.why.as_deref().map_or_else(|| "-".to_owned(), plain),
        ]
    };
    const HEAD: [&str; 5] = ["CHECK", "STATE", "LAST", "MS", "WHY"];
    table::print(io, HEAD, checks.iter().map(row).collect(), options.has("H"))
}

fn report(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "j", &[("json", "j"), ("html", "html"), ("now", "now")])?;
    options.none()?;
    let kinds = ["j", "html", "now"].into_iter().filter(|kind| options.has(kind)).count();
    if kinds > 1 {
        return usage("only one of --json, --html and --now");
    }
    if options.has("now") {
        let sent: AlertReportSent = client.post(routes::ALERT_REPORT, &())?;
        let names: Vec<String> = sent.routes.iter().map(|name| plain(name)).collect();
        match names.as_slice() {
            [] => writeln!(io.out, "no route takes reports (cistern notify add)")?,
            names => writeln!(io.out, "sent by {}; what does not arrive is tried again", names.join(", "))?,
        }
        return Ok(());
    }
    let report: AlertReport = client.get(routes::ALERT_REPORT)?;
    if options.has("j") {
        return table::json(io, &report);
    }
    if options.has("html") {
        return Ok(write!(io.out, "{}", report.html)?);
    }
    // A daemon that lies moves no cursor.
    Ok(report.text.lines().try_for_each(|line| writeln!(io.out, "{}", plain(line)))?)
}

fn settings(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "j", &["json"])?;
    let mut now: AlertSettings = client.get(routes::ALERT_SETTINGS)?;
    if !options.operands.is_empty() {
        now = client.post(routes::ALERT_SETTINGS, &changed(&now, &options.operands)?)?;
    }
    if options.has("j") {
        return table::json(io, &now);
    }
    for (name, value) in fields(&now)? {
        writeln!(io.out, "{name:<17} {}", plain(&shown(&value)))?;
    }
    Ok(())
}

/// Each setting by its name.
pub fn fields(settings: &AlertSettings) -> Result<serde_json::Map<String, Value>, Stop> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Stop::Fail("the daemon's settings are none".into())),
        Err(error) => Err(Stop::Fail(error.to_string())),
    }
}

/// A value as people write it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) | Value::Null => "off".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Settings with these pairs in place of what they were.
pub fn changed(settings: &AlertSettings, pairs: &[String]) -> Result<AlertSettings, Stop> {
    let mut all = fields(settings)?;
    for pair in pairs {
        let Some((name, text)) = pair.split_once('=') else {
            return usage(format!("'{pair}' is no NAME=VALUE"));
        };
        let Some(value) = all.get_mut(name) else {
            return usage(format!("there is no setting '{name}'"));
        };
        let bad = || Stop::Usage(format!("{name} is no '{text}'"));
        *value = match value {
            Value::Bool(_) => match text {
                "on" => Value::Bool(true),
                "off" => Value::Bool(false),
                _ => return Err(bad()),
            },
            Value::Number(_) => text.parse::<u64>().map(Value::from).map_err(|_| bad())?,
            _ => {
                if text == "off" {
                    Value::Null
                } else {
                    Value::from(text)
                }
            }
        };
    }
    serde_json::from_value(Value::Object(all)).map_err(|error| Stop::Usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_set_by_name_and_nothing_else_is() {
        let pairs = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let before = AlertSettings::default();
        let set = changed(&before, &pairs("full_warning=70 smart=off ups=main@nas")).expect("good");
        let wanted =
            AlertSettings { full_warning: 70, smart: false, ups: Some("main@nas".into()), ..before.clone() };
        assert_eq!(set, wanted);
        assert_eq!(changed(&set, &pairs("ups=off")).expect("good").ups, None);
        for bad in
            ["full=1", "full_warning", "full_warning=x", "full_warning=-1", "full_warning=999", "smart=1"]
        {
            assert!(changed(&before, &pairs(bad)).is_err(), "{bad}");
        }
        assert_eq!(shown(&Value::Null), "off");
    }
}
