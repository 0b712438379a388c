//! `cistern notify`: whom alerts are told, and how.

use std::fs::File;
use std::io::Read;

use crate::alert::severity;
use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, no_command, usage};
use crate::getopt::Parsed;
use crate::table::plain;
use crate::{ask, files, getopt, table};
use api_types::{
    AlertRoute, MailRoute, MailTls, RouteAdd, RouteChange, RouteStatus, RouteTarget, RouteTested, Secret,
    SyslogRoute, WebhookForm, WebhookRoute, routes,
};

pub const USAGE: &str = "\
usage: cistern notify list [-H] [--json]
       cistern notify add NAME mail --server HOST[:PORT] --from ADDRESS --to ADDRESS [--to ADDRESS]... [--tls TLS] [--user USER]
       cistern notify add NAME webhook --url URL [--form FORM] [--template FILE]
       cistern notify add NAME syslog [--to local | udp:HOST:PORT | tcp:HOST:PORT]
       cistern notify set NAME [--server ...] [--url ...] [--enable | --disable] [--no-secret]
       cistern notify remove NAME
       cistern notify test NAME

Routes that alerts are told by, once when they are raised, when they get worse and when they are over. 'set' changes what is given.
'test' sends a message and says whether the other end took it. What cannot be sent is sent again until it is.

  --server, --tls TLS   the mail server; starttls (the default), tls, or none
  --user USER           logs in to it; the password is the route's secret
  --url URL             of a webhook, '-': a line of standard input; it is shown to nobody again
  --form FORM           json (the default), slack, mattermost, pagerduty, ntfy or template
  --template FILE       JSON with {title}, {text}, {advice}, {severity}, {subject}, {turn}, {host}, {key} and {time}
  --secret-stdin        the secret is a line of standard input, behind the URL: a password, PagerDuty's routing key, or a token
  --secret              likewise, asked for
  --ca-file FILE        PEM: whose certificates the other end may show, instead of those that the machine trusts
  --least SEVERITY      alerts this bad or worse: warning (the default), error or critical
  --disable             nothing is sent
  -H                    for programs: without a head
  --json                what the daemon says, as JSON

examples:
  cistern notify add ops mail --server mail.example.org --from nas@example.org --to ops@example.org --user nas --secret
  cistern notify add chat webhook --form slack --url https://hooks.slack.com/services/...
  cistern notify add pager webhook --form pagerduty --url https://events.pagerduty.com/v2/enqueue --least error --secret
  cistern notify add log syslog --to udp:loghost.example.org:514
  cistern notify test ops
";
/// Of a file, in bytes.
const LONGEST: u64 = 64 << 10;

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") => list(rest, client, io),
        Some("add") => add(rest, client, io),
        Some("set") => set(rest, client, io),
        Some("remove") => {
            let options = getopt::parse(rest, "", &[])?;
            let name = options.one("missing name of a route")?;
            Ok(client.post::<()>(&routes::at(routes::ALERT_ROUTE_REMOVE, name), &())?)
        }
        Some("test") => test(rest, client, io),
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

fn list(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hj", &["json"])?;
    options.none()?;
    let all: Vec<RouteStatus> = client.get(routes::ALERT_ROUTES)?;
    if options.has("j") {
        return table::json(io, &all);
    }
    if all.is_empty() && !options.has("H") {
        return Ok(writeln!(io.out, "alerts are told to nobody (cistern notify add)")?);
    }
    let row = |status: &RouteStatus| {
        let RouteStatus { route, queued, failure } = status;
        let failure = failure.as_ref().map(|it| {
            format!("{} {}: {}", it.tries, if it.tries == 1 { "try" } else { "tries" }, plain(&it.why))
        });
        [
            plain(&route.name),
            plain(&place(&route.target)),
            route.least.word().to_owned(),
            if route.disabled { "off" } else { "on" }.to_owned(),
            queued.to_string(),
            failure.unwrap_or_else(|| "-".to_owned()),
        ]
    };
    const HEAD: [&str; 6] = ["NAME", "TO", "LEAST", "STATE", "WAITING", "FAILURE"];
    table::print(io, HEAD, all.iter().map(row).collect(), options.has("H"))
}

/// Where messages go, in one word.
pub fn place(target: &RouteTarget) -> String {
    match target {
        RouteTarget::Mail(mail) => format!("mail:{}", mail.to.join(",")),
        RouteTarget::Webhook(webhook) => format!("{}:{}", webhook.form.word(), webhook.url),
        RouteTarget::Syslog(SyslogRoute::Local) => "syslog:local".to_owned(),
        RouteTarget::Syslog(SyslogRoute::Udp(place)) => format!("syslog:udp:{place}"),
        RouteTarget::Syslog(SyslogRoute::Tcp(place)) => format!("syslog:tcp:{place}"),
    }
}

fn options(args: &[String]) -> Result<Parsed, Stop> {
    let long = [
        ("server", "s"),
        ("from", "f"),
        ("to", "t"),
        ("tls", "T"),
        ("user", "u"),
        ("url", "U"),
        ("form", "F"),
        ("template", "P"),
        ("ca-file", "c"),
        ("least", "l"),
        ("secret", "secret"),
        ("secret-stdin", "secret-stdin"),
        ("no-secret", "no-secret"),
        ("disable", "disable"),
        ("enable", "enable"),
    ];
    getopt::parse_as(args, "s:f:t:T:u:U:F:P:c:l:", &long)
}

fn add(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = options(args)?;
    let (name, kind) = options.two(["missing name of a route", "mail, webhook or syslog is wanted"])?;
    let mut target = match kind.as_str() {
        "mail" => RouteTarget::Mail(MailRoute::default()),
        "webhook" => RouteTarget::Webhook(WebhookRoute::default()),
        "syslog" => RouteTarget::Syslog(SyslogRoute::Local),
        other => return usage(format!("'{other}' is none of mail, webhook and syslog")),
    };
    alter(&mut target, &options, io)?;
    let new = RouteAdd {
        name: name.clone(),
        target,
        least: options.value("l").map(severity).transpose()?.unwrap_or_default(),
        disabled: options.has("disable"),
        secret: secret(&options, io)?,
    };
    client.post::<AlertRoute>(routes::ALERT_ROUTES, &new)?;
    Ok(())
}

fn set(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = options(args)?;
    let name = options.one("missing name of a route")?;
    let of_target = ["s", "f", "t", "T", "u", "U", "F", "P", "c"];
    let target = match of_target.iter().any(|letter| options.has(letter)) {
        true => {
            let mut route: AlertRoute = client.get(&routes::at(routes::ALERT_ROUTE, name))?;
            alter(&mut route.target, &options, io)?;
            Some(route.target)
        }
        false => None,
    };
    let disabled = match (options.has("disable"), options.has("enable")) {
        (true, true) => return usage("--enable or --disable, not both"),
        (false, false) => None,
        (disabled, _) => Some(disabled),
    };
    let change = RouteChange {
        target,
        least: options.value("l").map(severity).transpose()?,
        disabled,
        secret: secret(&options, io)?,
    };
    client.post::<AlertRoute>(&routes::at(routes::ALERT_ROUTE_CHANGE, name), &change)?;
    Ok(())
}

fn test(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "", &[])?;
    let name = options.one("missing name of a route")?;
    let tested: RouteTested = client.post(&routes::at(routes::ALERT_ROUTE_TEST, name), &())?;
    match tested.failure {
        None => Ok(writeln!(io.out, "the other end has taken it")?),
        Some(why) => Err(Stop::Fail(format!("it did not arrive: {}", plain(&why)))),
    }
}

/// Sets what the options say.
fn alter(target: &mut RouteTarget, options: &Parsed, io: &mut Io<'_>) -> Result<(), Stop> {
    let fits = |letters: &[&str]| {
        let strange = ["s", "f", "t", "T", "u", "U", "F", "P", "c"]
            .into_iter()
            .find(|letter| options.has(letter) && !letters.contains(letter));
        strange.map_or(Ok(()), |_| usage("an option is of another kind of route"))
    };
    match target {
        RouteTarget::Mail(mail) => {
            fits(&["s", "f", "t", "T", "u", "c"])?;
            alter_mail(mail, options)
        }
        RouteTarget::Webhook(webhook) => {
            fits(&["U", "F", "P", "c"])?;
            alter_webhook(webhook, options, io)
        }
        RouteTarget::Syslog(place) => {
            fits(&["t"])?;
            if let Some(text) = options.value("t") {
                *place = match text.split_once(':') {
                    None if text == "local" => SyslogRoute::Local,
                    Some(("udp", place)) => SyslogRoute::Udp(place.to_owned()),
                    Some(("tcp", place)) => SyslogRoute::Tcp(place.to_owned()),
                    _ => return usage("--to of syslog is local, udp:HOST:PORT or tcp:HOST:PORT"),
                };
            }
            Ok(())
        }
    }
}

fn alter_mail(mail: &mut MailRoute, options: &Parsed) -> Result<(), Stop> {
    if let Some(server) = options.value("s") {
        let (host, port) = match server.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
            _ => (server, None),
        };
        mail.server = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let number = |port: &str| port.parse().map_err(|_| Stop::Usage(format!("'{port}' is no port")));
        mail.port = port.map(number).transpose()?;
    }
    if let Some(tls) = options.value("T") {
        mail.tls = match tls {
            "none" => MailTls::None,
            "starttls" => MailTls::Starttls,
            "tls" => MailTls::Tls,
            other => return usage(format!("'{other}' is none of starttls, tls and none")),
        };
    }
    if let Some(user) = options.value("u") {
        mail.user = Some(user.to_owned()).filter(|user| !user.is_empty());
    }
    if let Some(from) = options.value("f") {
        from.clone_into(&mut mail.from);
    }
    if options.has("t") {
        mail.to = options.values("t").map(str::to_owned).collect();
    }
    if let Some(path) = options.value("c") {
        mail.roots = Some(read(path)?);
    }
    Ok(())
}

fn alter_webhook(webhook: &mut WebhookRoute, options: &Parsed, io: &mut Io<'_>) -> Result<(), Stop> {
    if let Some(url) = options.value("U") {
        webhook.url = if url == "-" { ask::piped_line(io)? } else { url.to_owned() };
    }
    if let Some(form) = options.value("F") {
        webhook.form = match WebhookForm::of_word(form) {
            Some(form) => form,
            None => {
                let all = WebhookForm::ALL.map(WebhookForm::word).join(", ");
                return usage(format!("'{form}' is none of the forms {all}"));
            }
        };
        if webhook.form != WebhookForm::Template {
            webhook.template = None;
        }
    }
    if let Some(path) = options.value("P") {
        webhook.template = Some(read(path)?);
    }
    if let Some(path) = options.value("c") {
        webhook.roots = Some(read(path)?);
    }
    Ok(())
}

/// `None`: it stays as it is.
fn secret(options: &Parsed, io: &mut Io<'_>) -> Result<Option<Secret>, Stop> {
    let given = ["secret", "secret-stdin", "no-secret"].map(|name| options.has(name));
    Ok(match given {
        [false, false, false] => None,
        [true, false, false] => Some(Secret(ask::secret(io, "Secret: ")?)),
        [false, true, false] => Some(Secret(ask::piped_line(io)?)),
        [false, false, true] => Some(Secret::default()),
        _ => return usage("one of --secret, --secret-stdin and --no-secret"),
    })
}

fn read(path: &str) -> Result<String, Stop> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    read.map_err(|error| Stop::Fail(format!("cannot read {path}: {}", files::words(&error))))?;
    Ok(text)
}
