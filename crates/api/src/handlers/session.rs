//! Logging in and out, and who one is.

use super::accounts::{Answer, Given};
use crate::app::{App, Body, Shared, parse};
use crate::audit::Said;
use crate::caller::Asker;
use crate::cookie;
use crate::denied::Unserved;
use crate::identify::Site;
use crate::problem::refuse;
use api_types::{LogIn, LoggedIn, Me, Role, Secret, kind};
use axum::extract::{ConnectInfo, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use machine::{Credential, Machine, RelyingParty};
use stdx::behalf::Rank;

pub async fn log_in(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    site: Option<Extension<Site>>,
    body: Body,
) -> Response {
    let request: LogIn = match parse(body) {
        Ok(request) => request,
        Err(why) => return why.into_response(),
    };
    let name = Some(request.name.clone());
    let site = site.and_then(|Extension(Site(site))| site);
    let begun = begin(&app, &asker, site, request).await;
    let role = begun.as_ref().ok().map(|(role, _)| *role);
    let mut answer = begun.map_or_else(IntoResponse::into_response, |(_, answer)| answer);
    answer.extensions_mut().insert(Said { who: name.clone(), target: name, role });
    answer
}

async fn begin(
    app: &App,
    asker: &Asker,
    site: Option<RelyingParty>,
    request: LogIn,
) -> Result<(Role, Response), Unserved> {
    let Some(address) = asker.address() else {
        return Err(refuse(kind::BAD_REQUEST, "a session begins over HTTPS; the socket needs none").into());
    };
    let given = Given::of(request.second, request.assertion)?;
    let log_in = move |machine: &Machine| {
        let (name, password) = (request.name.as_str(), request.password.0.as_str());
        let (second, site) = (given.second(), site.as_ref());
        machine.log_in(&machine::LogIn { name, password, second, address, site })
    };
    let session = app.accounts()?.hashing(asker, log_in).await?;
    let cookie = cookie::keep(&session.secret);
    let cookie = cookie.ok_or_else(|| refuse(kind::INTERNAL, "a session's secret is no header"))?;
    let role = session.identity.role;
    let me = me_of(&Asker::known(session.identity, address));
    let logged_in = LoggedIn { csrf: me.csrf.clone().unwrap_or_default(), me };
    Ok((role, ([(header::SET_COOKIE, cookie)], Json(logged_in)).into_response()))
}

pub async fn log_out(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
) -> Result<Response, Unserved> {
    let Some(Credential::Session { id, .. }) = asker.identity().map(|identity| &identity.by) else {
        return Err(refuse(kind::BAD_REQUEST, "there is no session to end").into());
    };
    let id = *id;
    app.accounts()?.quick(move |machine| machine.log_out(id)).await?;
    Ok(([(header::SET_COOKIE, cookie::forget())], Json(())).into_response())
}

pub async fn me(ConnectInfo(asker): ConnectInfo<Asker>) -> Answer<Me> {
    Ok(Json(me_of(&asker)))
}

fn me_of(asker: &Asker) -> Me {
    let (uid, by) = (asker.actor.user, asker.by());
    let Some(identity) = asker.identity() else {
        let role = (asker.actor.rank == Rank::Administrator).then_some(Role::Administrator);
        return Me { name: None, uid, role, by, dataset: None, csrf: None };
    };
    let csrf = match &identity.by {
        Credential::Session { csrf, .. } => Some(Secret(csrf.clone())),
        Credential::Token { .. } | Credential::Shell { .. } => None,
    };
    let (name, role) = (Some(identity.user.clone()), Some(identity.role));
    Me { name, uid, role, by, dataset: identity.dataset.clone(), csrf }
}
