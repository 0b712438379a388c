//! Users, their second factors and their sessions; the audit log, and backups of all that.
//!
//! An administrator manages all accounts. Who has logged in manages the own one: password, second
//! factor, sessions and tokens. A token manages none, but an administrator's that is held to no
//! dataset: what was given away for a purpose does not make more of itself, or nothing that
//! outlives it.
//!
//! Invariant: over HTTPS, whoever changes the own account or its second factor gives its password
//! once more, whatever the role: who has stolen a session does not get to keep the account.

use super::pools::query;
use crate::app::{App, Body, Shared, parse};
use crate::audit::Said;
use crate::caller::Asker;
use crate::denied::Unserved;
use crate::identify::Site;
use crate::page::{MOST, Page, address};
use crate::path::Path;
use crate::problem::refuse;
use api_types::{
    Assertion, AuditQuery, AuditRecord, FirstAdministrator, MachineBackup, RecoveryCodes, Role, Secret,
    TotpBegin, TotpConfirm, TotpOffer, User, UserAdd, UserChange, UserSession, kind, routes,
};
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Query, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use machine::{AuditFilter, Credential, Identity, Machine, Second};
use std::fs;
use std::io;
use std::net::IpAddr;

/// Records of the audit log in one answer, unless another number is asked for.
const PAGE: usize = 100;
/// Backups that are kept.
const BACKUPS: usize = 10;
const BACKUP: &str = "machine-";
const BACKUP_END: &str = ".db";

/// What a handler of this part answers.
pub type Answer<T> = Result<Json<T>, Unserved>;

/// Whose accounts somebody manages.
pub enum Manages<'a> {
    All,
    Own(&'a str),
    Nothing,
}

impl Manages<'_> {
    pub fn of(asker: &Asker) -> Manages<'_> {
        if asker.actor.is_administrator() {
            return Manages::All;
        }
        match asker.identity() {
            Some(Identity { user, by: Credential::Session { .. } | Credential::Shell { .. }, .. }) => {
                Manages::Own(user)
            }
            _ => Manages::Nothing,
        }
    }

    /// Refuses who manages neither all nor this one.
    pub fn check(&self, name: &str) -> Result<(), Unserved> {
        match self {
            Manages::All => Ok(()),
            Manages::Own(own) if *own == name => Ok(()),
            Manages::Own(..) | Manages::Nothing => Err(denied()),
        }
    }

    /// Whose are listed: of all, or of one.
    pub fn listed(&self) -> Result<Option<String>, Unserved> {
        match self {
            Manages::All => Ok(None),
            Manages::Own(own) => Ok(Some((*own).to_owned())),
            Manages::Nothing => Err(denied()),
        }
    }
}

/// Where the password is to be confirmed from, of who acts on the own account.
pub fn confirmed_from(asker: &Asker, name: &str) -> Option<IpAddr> {
    let is_own = asker.identity().is_some_and(|identity| identity.user == name);
    asker.address().filter(|_| is_own)
}

/// A second factor as it was sent.
pub enum Given {
    Nothing,
    Code(String),
    Key(Box<Assertion>),
}

impl Given {
    pub fn of(second: Option<Secret>, assertion: Option<Assertion>) -> Result<Given, Unserved> {
        match (second, assertion) {
            (None, None) => Ok(Given::Nothing),
            (Some(Secret(code)), None) => Ok(Given::Code(code)),
            (None, Some(assertion)) => Ok(Given::Key(Box::new(assertion))),
            (Some(_), Some(_)) => {
                Err(refuse(kind::INVALID, "give a code or a security key, not both").into())
            }
        }
    }

    pub fn second(&self) -> Option<Second<'_>> {
        match self {
            Given::Nothing => None,
            Given::Code(code) => Some(Second::Code(code)),
            Given::Key(assertion) => Some(Second::Key(assertion)),
        }
    }
}

pub fn denied() -> Unserved {
    refuse(kind::DENIED, "permission denied").into()
}

/// With the name for the audit log, which the path does not say.
fn about(target: String) -> Extension<Said> {
    Extension(Said { target: Some(target), ..Said::default() })
}

pub async fn list(State(app): State<Shared>) -> Answer<Vec<User>> {
    app.accounts()?.quick(Machine::users).await.map(Json)
}

pub async fn one(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(name): Path<String>,
) -> Answer<User> {
    account(&app, &asker, name).await.map(Json)
}

/// An account, for who manages it.
pub async fn account(app: &App, asker: &Asker, name: String) -> Result<User, Unserved> {
    Manages::of(asker).check(&name)?;
    app.accounts()?.quick(move |machine| machine.user(&name)).await
}

pub async fn add(State(app): State<Shared>, ConnectInfo(asker): ConnectInfo<Asker>, body: Body) -> Response {
    let UserAdd { name, password, role, uid } = match parse(body) {
        Ok(request) => request,
        Err(why) => return Unserved::from(why).into_response(),
    };
    let target = about(name.clone());
    let added = async {
        let add = move |machine: &Machine| {
            let (name, password) = (name.as_str(), password.0.as_str());
            machine.add_user(&machine::NewUser { name, password, role, uid })
        };
        let user = app.accounts()?.hashing(&asker, add).await?;
        Ok::<_, Unserved>(Json(user))
    };
    (target, added.await).into_response()
}

pub async fn first(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    body: Body,
) -> Response {
    let FirstAdministrator { code, name, password } = match parse(body) {
        Ok(request) => request,
        Err(why) => return Unserved::from(why).into_response(),
    };
    let said = Said { who: Some(name.clone()), target: Some(name.clone()), role: None };
    let added = async {
        let redeem = move |machine: &Machine| {
            let (name, password, role) = (name.as_str(), password.0.as_str(), Role::Administrator);
            machine.redeem_first_code(&code.0, &machine::NewUser { name, password, role, uid: None })
        };
        let user = app.accounts()?.hashing(&asker, redeem).await?;
        Ok::<_, Unserved>(Json(user))
    };
    let added = added.await;
    let role = added.as_ref().ok().map(|_| Role::Administrator);
    (Extension(Said { role, ..said }), added).into_response()
}

pub async fn change(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(name): Path<String>,
    body: Body,
) -> Answer<User> {
    let asked: UserChange = parse(body)?;
    let UserChange { role, password, old_password, disabled, uid, drop_totp, drop_keys, keep_tokens } = asked;
    let manages = Manages::of(&asker);
    manages.check(&name)?;
    let is_of_administrator = role.is_some() || disabled.is_some() || uid.is_some();
    if is_of_administrator && !matches!(manages, Manages::All) {
        return Err(denied());
    }
    let from = confirmed_from(&asker, &name);
    if keep_tokens && from.is_none() {
        return Err(
            refuse(kind::INVALID, "only who gives an own account another password keeps tokens").into()
        );
    }
    let change = machine::UserChange {
        role,
        password: password.map(|Secret(text)| text),
        disabled,
        uid,
        drop_totp,
        drop_keys,
        keep_tokens,
    };
    let change = move |machine: &Machine| {
        if let Some(from) = from {
            machine.confirm_password(&name, &old_password.unwrap_or_default().0, from)?;
        }
        machine.change_user(&name, &change)
    };
    app.accounts()?.hashing(&asker, change).await.map(Json)
}

pub async fn remove(State(app): State<Shared>, Path(name): Path<String>) -> Answer<()> {
    app.accounts()?.quick(move |machine| machine.remove_user(&name)).await.map(Json)
}

pub async fn begin_totp(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(name): Path<String>,
    site: Option<Extension<Site>>,
    body: Body,
) -> Answer<TotpOffer> {
    let TotpBegin { password, second, assertion } = parse(body)?;
    Manages::of(&asker).check(&name)?;
    let given = Given::of(second, assertion)?;
    let site = site.and_then(|Extension(Site(site))| site);
    let from = confirmed_from(&asker, &name);
    let begin = move |machine: &Machine| {
        if let Some(address) = from {
            let (second, site) = (given.second(), site.as_ref());
            let (name, password) = (name.as_str(), password.0.as_str());
            machine.confirm_both(&machine::LogIn { name, password, second, address, site })?;
        }
        machine.begin_totp(&name)
    };
    app.accounts()?.hashing(&asker, begin).await.map(Json)
}

pub async fn confirm_totp(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(name): Path<String>,
    body: Body,
) -> Answer<RecoveryCodes> {
    let TotpConfirm { code } = parse(body)?;
    Manages::of(&asker).check(&name)?;
    let codes = app.accounts()?.quick(move |machine| machine.confirm_totp(&name, &code.0)).await?;
    Ok(Json(RecoveryCodes { codes: codes.into_iter().map(Secret).collect() }))
}

pub async fn sessions(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
) -> Answer<Vec<UserSession>> {
    let user = Manages::of(&asker).listed()?;
    app.accounts()?.quick(move |machine| machine.sessions(user.as_deref())).await.map(Json)
}

pub async fn end_session(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(id): Path<String>,
) -> Answer<()> {
    let user = Manages::of(&asker).listed()?;
    // What is no number is no session's.
    let id = id.parse::<u64>().map_err(|_| machine::Denied::NotFound)?;
    let end = move |machine: &Machine| {
        let is_there = machine.sessions(user.as_deref())?.iter().any(|session| session.id == id);
        match is_there {
            true => machine.log_out(id).map_err(machine::Denied::from),
            false => Err(machine::Denied::NotFound),
        }
    };
    app.accounts()?.quick(end).await.map(Json)
}

pub async fn audit(
    State(app): State<Shared>,
    asked: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Page<AuditRecord>, Unserved> {
    let AuditQuery { before, limit, user, verb } = query(asked)?;
    let limit = limit.unwrap_or(PAGE).min(MOST);
    let (by_user, by_verb) = (user.clone().unwrap_or_default(), verb.clone().unwrap_or_default());
    let filter = AuditFilter { user, verb };
    let found = app.accounts()?.long(move |machine| machine.audit(before, limit, &filter)).await?;
    let last = found.last().filter(|_| found.len() == limit);
    let next = last.map(|last| {
        let (before, limit) = (last.id.to_string(), limit.to_string());
        let query = [("before", &*before), ("limit", &limit), ("user", &by_user), ("verb", &by_verb)];
        address(routes::AUDIT, &query)
    });
    Ok(Page { items: found, next })
}

pub async fn backup(State(app): State<Shared>) -> Answer<MachineBackup> {
    let accounts = app.accounts()?;
    let folder = accounts.backups.clone();
    let name = format!("{BACKUP}{:012}{BACKUP_END}", accounts.outside.now().max(0));
    let write = move |machine: &Machine| -> Result<MachineBackup, Unserved> {
        let failed =
            |error: io::Error| Unserved::from(machine::Fault::Io(format!("{}: {error}", folder.display())));
        fs::create_dir_all(&folder).map_err(failed)?;
        let path = folder.join(name);
        machine.backup(&path)?;
        let mut kept: Vec<String> = fs::read_dir(&folder)
            .and_then(|entries| {
                entries
                    .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
                    .collect()
            })
            .map_err(failed)?;
        kept.retain(|name| name.starts_with(BACKUP) && name.ends_with(BACKUP_END));
        // Their names are as long as each other, and the oldest is the first.
        kept.sort_unstable();
        for old in kept.iter().rev().skip(BACKUPS) {
            fs::remove_file(folder.join(old)).map_err(failed)?;
        }
        Ok(MachineBackup { path: path.display().to_string() })
    };
    accounts.long(write).await.map(Json)
}
