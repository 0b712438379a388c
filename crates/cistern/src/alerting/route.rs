//! What may be set of routes and of alerts, and what is shown of a route.
//!
//! Invariant: neither the secret of a route nor the path of a webhook's URL is shown.

use alerts::forms::is_template;
use alerts::judge::ups::Place;
use api_types::{
    AlertRoute, AlertSettings, MailRoute, RouteAdd, RouteChange, RouteTarget, Severity, SyslogRoute,
    WebhookForm, WebhookRoute,
};
use machine::Route;
use notify::{are_roots, host_of, is_address, is_url};

/// Bytes: of a name or address, a URL, a secret, a template and of roots.
const NAME: usize = 255;
const URL: usize = 2_048;
const SECRET: usize = 1_024;
const TEMPLATE: usize = 8 << 10;
const ROOTS: usize = 64 << 10;
/// Who gets one mail.
const RECEIVERS: usize = 32;

/// As it is told.
pub fn shown(route: &Route) -> AlertRoute {
    let mut target = route.target.clone();
    if let RouteTarget::Webhook(webhook) = &mut target {
        // It was a URL when it was set.
        webhook.url = host_of(&webhook.url).unwrap_or_default();
    }
    AlertRoute {
        name: route.name.clone(),
        target,
        least: route.least,
        disabled: route.disabled,
        has_secret: route.secret.is_some(),
    }
}

/// Whether the weekly report goes by it: who reads it wants to know of warnings, and is no pager.
pub fn takes_reports(route: &Route) -> bool {
    let is_read = match &route.target {
        RouteTarget::Mail(_) => true,
        RouteTarget::Webhook(webhook) => webhook.form != WebhookForm::Pagerduty,
        RouteTarget::Syslog(_) => false,
    };
    is_read && !route.disabled && route.least == Severity::Warning
}

/// A new one; `Err` says what makes no sense. Its name is checked where it is kept.
pub fn added(new: RouteAdd) -> Result<Route, String> {
    let RouteAdd { name, target, least, disabled, secret } = new;
    let secret = secret.map(|secret| secret.0).filter(|secret| !secret.is_empty());
    let route = Route { name, target, least, disabled, secret };
    check(&route).map(|()| route)
}

/// What a route becomes; `Err` says what makes no sense.
pub fn changed(before: &Route, change: RouteChange) -> Result<Route, String> {
    let mut route = before.clone();
    if let Some(target) = change.target {
        route.target = target;
        if let (RouteTarget::Webhook(new), RouteTarget::Webhook(old)) = (&mut route.target, &before.target)
            && host_of(&old.url).is_some_and(|told| told == new.url)
        {
            new.url.clone_from(&old.url);
        }
    }
    route.least = change.least.unwrap_or(route.least);
    route.disabled = change.disabled.unwrap_or(route.disabled);
    if let Some(secret) = change.secret {
        route.secret = Some(secret.0).filter(|secret| !secret.is_empty());
    }
    check(&route).map(|()| route)
}

fn check(route: &Route) -> Result<(), String> {
    if route.secret.as_ref().is_some_and(|secret| secret.len() > SECRET || has_control(secret)) {
        return Err(format!("a secret has at most {SECRET} bytes, and no control characters"));
    }
    match &route.target {
        RouteTarget::Mail(mail) => check_mail(mail),
        RouteTarget::Webhook(webhook) => check_webhook(webhook, route.secret.is_some()),
        RouteTarget::Syslog(SyslogRoute::Local) => Ok(()),
        RouteTarget::Syslog(SyslogRoute::Udp(place) | SyslogRoute::Tcp(place)) => check_place(place),
    }
}

fn check_mail(mail: &MailRoute) -> Result<(), String> {
    if !is_host(&mail.server) {
        return Err(format!("'{}' is no name or address of a mail server", shortened(&mail.server)));
    }
    if mail.to.is_empty() || mail.to.len() > RECEIVERS {
        return Err(format!("a mail goes to one address or more, and {RECEIVERS} at most"));
    }
    for address in mail.to.iter().chain([&mail.from]) {
        if address.len() > NAME || has_control(address) || !is_address(address) {
            return Err(format!("'{}' is no address of mail", shortened(address)));
        }
    }
    if mail.user.as_ref().is_some_and(|user| user.len() > NAME || has_control(user)) {
        return Err("the name of the user is too long, or has control characters".to_owned());
    }
    check_roots(mail.roots.as_deref())
}

fn check_webhook(webhook: &WebhookRoute, has_secret: bool) -> Result<(), String> {
    if webhook.url.len() > URL || !is_url(&webhook.url) || has_control(&webhook.url) {
        return Err("the URL of a webhook begins with http:// or https://".to_owned());
    }
    match (webhook.form, &webhook.template) {
        (WebhookForm::Pagerduty, _) if !has_secret => {
            return Err("PagerDuty takes a routing key: the secret of the route".to_owned());
        }
        (WebhookForm::Template, Some(template)) if template.len() <= TEMPLATE && is_template(template) => {}
        (WebhookForm::Template, _) => {
            return Err(format!("a template is JSON once it is filled in, of at most {TEMPLATE} bytes"));
        }
        (_, Some(_)) => return Err("only form 'template' has a template".to_owned()),
        (_, None) => {}
    }
    check_roots(webhook.roots.as_deref())
}

fn check_place(place: &str) -> Result<(), String> {
    let bad = || format!("'{}' is no HOST:PORT", shortened(place));
    let (host, port) = place.rsplit_once(':').ok_or_else(bad)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match is_host(host) && port.parse::<u16>().is_ok_and(|port| port > 0) {
        true => Ok(()),
        false => Err(bad()),
    }
}

fn check_roots(roots: Option<&str>) -> Result<(), String> {
    match roots {
        Some(roots) if roots.len() > ROOTS || !are_roots(roots) => {
            Err(format!("roots are certificates in PEM, of at most {ROOTS} bytes"))
        }
        _ => Ok(()),
    }
}

fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= NAME
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte))
}

fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// What is wrong with settings.
pub fn check_settings(settings: &AlertSettings) -> Result<(), String> {
    let AlertSettings { full_warning, full_error, full_critical, fragmented, .. } = *settings;
    if full_warning > full_error || full_error > full_critical {
        return Err("full_warning, full_error and full_critical have to ascend".to_owned());
    }
    let bounded = |name: &str, value: u64, least: u64, most: u64| match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(format!("{name} is from {least} to {most}")),
    };
    bounded("full_warning", full_warning.into(), 1, 100)?;
    bounded("full_error", full_error.into(), 1, 100)?;
    bounded("full_critical", full_critical.into(), 1, 100)?;
    bounded("fragmented", fragmented.into(), 1, 100)?;
    bounded("snapshots", settings.snapshots, 1, u64::MAX)?;
    bounded("over_commit", settings.over_commit.into(), 1, 100_000)?;
    bounded("memory", settings.memory.into(), 0, 100)?;
    bounded("certificate_days", settings.certificate_days.into(), 0, 3_650)?;
    bounded("slow_disk", settings.slow_disk.into(), 110, 100_000)?;
    bounded("hot_disk", settings.hot_disk, 20, 120)?;
    bounded("report_hour", settings.report_hour.into(), 0, 23)?;
    match &settings.ups {
        Some(ups) if Place::of(ups).is_none() => Err("ups is NAME@HOST or NAME@HOST:PORT".to_owned()),
        _ => Ok(()),
    }
}
