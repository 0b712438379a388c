//! Routes: whom alerts are told, and how.
//!
//! Invariant: what a route needs to be let in is given and never told: its secret, and the path of
//! a webhook's URL, which is one, too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Secret, Severity};

/// How a connection to a mail server is secured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MailTls {
    /// Not at all.
    None,
    /// STARTTLS, without which no mail is sent.
    #[default]
    Starttls,
    /// TLS from the first byte.
    Tls,
}

/// A mail for each message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MailRoute {
    pub server: String,
    /// Else 25, 587 or 465, by `tls`.
    pub port: Option<u16>,
    pub tls: MailTls,
    /// Logs in, with the secret of the route as password.
    pub user: Option<String>,
    pub from: String,
    pub to: Vec<String>,
    /// PEM: whose certificates the server may show; `None`: those that this machine trusts.
    pub roots: Option<String>,
}

/// The form of what a webhook is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WebhookForm {
    /// JSON with all that an alert has.
    #[default]
    Json,
    Slack,
    Mattermost,
    /// Events API v2; the secret of the route is the routing key.
    Pagerduty,
    /// The last part of the URL's path is the topic.
    Ntfy,
    /// By the template of the route.
    Template,
}

impl WebhookForm {
    pub const ALL: [WebhookForm; 6] = [
        WebhookForm::Json,
        WebhookForm::Slack,
        WebhookForm::Mattermost,
        WebhookForm::Pagerduty,
        WebhookForm::Ntfy,
        WebhookForm::Template,
    ];

    pub fn word(self) -> &'static str {
        match self {
            WebhookForm::Json => "json",
            WebhookForm::Slack => "slack",
            WebhookForm::Mattermost => "mattermost",
            WebhookForm::Pagerduty => "pagerduty",
            WebhookForm::Ntfy => "ntfy",
            WebhookForm::Template => "template",
        }
    }

    /// `None`: there is none of that name.
    pub fn of_word(word: &str) -> Option<WebhookForm> {
        WebhookForm::ALL.into_iter().find(|form| form.word() == word)
    }
}

/// A POST for each message. No redirection is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookRoute {
    /// Of HTTP or HTTPS. What is told of it is the host alone.
    pub url: String,
    pub form: WebhookForm,
    /// JSON in which `{title}`, `{text}`, `{advice}`, `{severity}`, `{subject}`, `{turn}`,
    /// `{host}`, `{key}` and `{time}` are filled in.
    pub template: Option<String>,
    /// PEM: whose certificates the host may show; `None`: those that this machine trusts.
    pub roots: Option<String>,
}

/// A line of RFC 5424 for each message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyslogRoute {
    /// `/dev/log` of this machine.
    #[default]
    Local,
    /// `HOST:PORT`
    Udp(String),
    /// `HOST:PORT`, each line with its length before it (RFC 6587).
    Tcp(String),
}

/// Where messages go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RouteTarget {
    Mail(MailRoute),
    Webhook(WebhookRoute),
    Syslog(SyslogRoute),
}

impl Default for RouteTarget {
    fn default() -> RouteTarget {
        RouteTarget::Syslog(SyslogRoute::Local)
    }
}

/// `POST /v1/alert-routes`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RouteAdd {
    /// Letters, digits, `-`, `_` and `.`, up to 64.
    pub name: String,
    pub target: RouteTarget,
    /// Alerts this bad or worse are told.
    pub least: Severity,
    pub disabled: bool,
    /// The password for mail, the routing key for PagerDuty; of other webhooks a bearer token.
    pub secret: Option<Secret>,
}

/// `POST /v1/alert-routes/{name}/change`; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RouteChange {
    /// All of it. A webhook whose URL is as it was told keeps the one that it has.
    pub target: Option<RouteTarget>,
    pub least: Option<Severity>,
    pub disabled: Option<bool>,
    /// An empty one is none.
    pub secret: Option<Secret>,
}

/// Why messages did not arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteFailure {
    /// Of the last try: seconds since 1970.
    pub at: i64,
    pub tries: u32,
    pub why: String,
}

/// `GET /v1/alert-routes/{name}`: what is set. Its `ETag` is for `If-Match`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlertRoute {
    pub name: String,
    pub target: RouteTarget,
    pub least: Severity,
    pub disabled: bool,
    pub has_secret: bool,
}

/// `GET /v1/alert-routes`: a route, and how it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteStatus {
    pub route: AlertRoute,
    /// Messages that wait.
    pub queued: u64,
    /// `None`: the last message arrived, or there was none.
    pub failure: Option<RouteFailure>,
}

/// `POST /v1/alert-routes/{name}/test`: whether a test message was taken at the other end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteTested {
    /// `None`: it was.
    pub failure: Option<String>,
}
