//! Security keys as a second factor. A browser makes them and shows them.
//!
//! Invariant: nobody but its owner gives an account a key, over HTTPS, with the password and the
//! second factor that the account has; an administrator takes keys away.

use super::accounts::{Answer, Given, Manages, confirmed_from};
use crate::app::{Body, Shared, parse};
use crate::audit::Said;
use crate::caller::Asker;
use crate::denied::Unserved;
use crate::identify::Site;
use crate::path::Path;
use crate::problem::refuse;
use api_types::{CreationOptions, KeyBegin, KeyConfirm, KeyMade, KeyRemove, SecurityKey, kind};
use axum::extract::{ConnectInfo, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use machine::Machine;
use std::net::IpAddr;

/// Where the owner of an account asks from. Refuses everybody else.
fn owner(asker: &Asker, name: &str) -> Result<IpAddr, Unserved> {
    Manages::of(asker).check(name)?;
    let others = || refuse(kind::INVALID, "only its owner gives an account a security key, over HTTPS");
    confirmed_from(asker, name).ok_or_else(|| others().into())
}

pub async fn list(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(name): Path<String>,
) -> Answer<Vec<SecurityKey>> {
    Manages::of(&asker).check(&name)?;
    app.accounts()?.quick(move |machine| machine.keys(&name)).await.map(Json)
}

pub async fn begin(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(name): Path<String>,
    site: Option<Extension<Site>>,
    body: Body,
) -> Answer<CreationOptions> {
    let address = owner(&asker, &name)?;
    let KeyBegin { password, second, assertion } = parse(body)?;
    let given = Given::of(second, assertion)?;
    let by_address =
        "a security key is made for a host name: come by a name of the certificate, not by an address";
    let site = site.and_then(|Extension(Site(site))| site);
    let site = site.ok_or_else(|| refuse(kind::INVALID, by_address))?;
    let begin = move |machine: &Machine| {
        let (name, password) = (name.as_str(), password.0.as_str());
        let second = given.second();
        machine.confirm_both(&machine::LogIn { name, password, second, address, site: Some(&site) })?;
        machine.begin_key(name, &site, address)
    };
    app.accounts()?.hashing(&asker, begin).await.map(Json)
}

pub async fn confirm(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(name): Path<String>,
    body: Body,
) -> Answer<KeyMade> {
    owner(&asker, &name)?;
    let KeyConfirm { name: called, credential } = parse(body)?;
    let confirm = move |machine: &Machine| machine.confirm_key(&name, &called, &credential);
    app.accounts()?.quick(confirm).await.map(Json)
}

pub async fn remove(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(name): Path<String>,
    body: Body,
) -> Response {
    let removed = async {
        Manages::of(&asker).check(&name)?;
        let KeyRemove { id, password } = parse(body)?;
        let from = confirmed_from(&asker, &name);
        let remove = move |machine: &Machine| {
            if let Some(from) = from {
                machine.confirm_password(&name, &password.0, from)?;
            }
            machine.remove_key(&name, id)
        };
        app.accounts()?.hashing(&asker, remove).await?;
        Ok::<_, Unserved>(id)
    };
    match removed.await {
        Ok(id) => {
            let said = Said { target: Some(format!("key {id}")), ..Said::default() };
            (Extension(said), Json(())).into_response()
        }
        Err(why) => why.into_response(),
    }
}
