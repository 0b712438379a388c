//! API tokens. Who manages an account manages its tokens; a token may also end itself.

use super::accounts::{Answer, Manages, denied};
use crate::app::{Body, Shared, parse};
use crate::audit::Said;
use crate::caller::Asker;
use crate::path::Path;
use crate::problem::refuse;
use api_types::{By, Secret, Token, TokenAdd, TokenMade, kind};
use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::response::{IntoResponse, Response};
use machine::{Machine, NewToken};

pub async fn list(State(app): State<Shared>, ConnectInfo(asker): ConnectInfo<Asker>) -> Answer<Vec<Token>> {
    let user = Manages::of(&asker).listed()?;
    app.accounts()?.quick(move |machine| machine.tokens(user.as_deref())).await.map(Json)
}

pub async fn add(State(app): State<Shared>, ConnectInfo(asker): ConnectInfo<Asker>, body: Body) -> Response {
    let made = make(&app, &asker, body).await;
    // Of one that was not made there is no more to say than its refusal does.
    let said = made.as_ref().ok().map(|Json(made)| Said {
        target: Some(format!("{} of {}", made.token.name, made.token.user)),
        ..Said::default()
    });
    let mut answer = made.into_response();
    answer.extensions_mut().insert(said.unwrap_or_default());
    answer
}

async fn make(app: &Shared, asker: &Asker, body: Body) -> Answer<TokenMade> {
    let TokenAdd { user, name, role, expires, dataset } = parse(body)?;
    let manages = Manages::of(asker);
    // Who manages nothing is told so, whatever was asked for.
    manages.listed()?;
    let own = asker.identity().map(|identity| identity.user.clone());
    let user = user.or(own).ok_or_else(|| refuse(kind::BAD_REQUEST, "whose token it is has to be said"))?;
    manages.check(&user)?;
    let maker = match asker.by() {
        By::Token { id } => Some(id),
        By::Nobody | By::Socket { .. } | By::Session { .. } | By::Peer => None,
    };
    let add = move |machine: &Machine| {
        let (user, name, dataset) = (user.as_str(), name.as_str(), dataset.as_deref());
        machine.add_token(&NewToken { user, name, role, expires, dataset, maker })
    };
    let (token, secret) = app.accounts()?.quick(add).await?;
    Ok(Json(TokenMade { token, secret: Secret(secret) }))
}

pub async fn remove(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(id): Path<String>,
) -> Answer<()> {
    // What is no number is no token's.
    let id = id.parse::<u64>().map_err(|_| machine::Denied::NotFound)?;
    let is_itself = asker.by() == By::Token { id };
    let user = match Manages::of(&asker) {
        Manages::Nothing if !is_itself => return Err(denied()),
        Manages::Nothing | Manages::All => None,
        Manages::Own(own) => Some(own.to_owned()),
    };
    let remove = move |machine: &Machine| {
        if let Some(user) = user
            && !machine.tokens(Some(&user))?.iter().any(|token| token.id == id)
        {
            return Err(machine::Denied::NotFound);
        }
        machine.remove_token(id)
    };
    app.accounts()?.quick(remove).await.map(Json)
}
