//! Changes that are only made while something is still as their client knows it: `If-Match`.
//!
//! A change of a dataset, a pool, an account, a service, a worksheet, a route of alerts or their
//! settings has a resource that says what can be set of it; its tag is what `If-Match` names
//! ([`Subject`]). It is compared before anything is done. Of a dataset the engine compares it once
//! more in one step with the first change that the request makes (`stdx::premise`), so nothing
//! comes in between. Of all others no two requests with `If-Match` are under way at a time; one
//! without it may come in between.
//!
//! Invariant: no request with `If-Match` is carried out as if it had none: one that is about
//! nothing that has a tag is refused.

use crate::app::{App, Shared, patient};
use crate::caller::{Asker, relying};
use crate::denied::Unserved;
use crate::etag::{self, Tags};
use crate::handlers::{accounts, alerts, pools, services, worksheets};
use crate::path::Path;
use crate::problem::{Refusal, defect, refuse};
use crate::shares::Shares;
use api_types::{kind, routes};
use axum::extract::{FromRequestParts, Request};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stdx::premise::Premise;

/// Requests about all but datasets that may be under way with `If-Match`: more than are in the
/// engine at a time.
const MOST: usize = 128;

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// `GET /v1/datasets/{name}/properties`
    Dataset,
    /// `GET /v1/pools/{name}/properties?settable=true`
    Pool,
    /// `GET /v1/users/{name}`
    User,
    /// `GET /v1/services/{name}/spec`
    Service,
    /// `GET /v1/alert-routes/{name}`
    AlertRoute,
    /// `GET /v1/alert-settings`
    AlertSettings,
    /// `GET /v1/analytics/worksheets/{name}`
    Worksheet,
}

impl Subject {
    /// Of a change with this path; `None`: nothing that has a tag.
    pub fn of(path: &str) -> Option<Subject> {
        let is_below = |start: &str| path.strip_prefix(start).is_some_and(|rest| rest.starts_with('/'));
        match () {
            () if is_below("/v1/datasets/{name}") => Some(Subject::Dataset),
            () if is_below("/v1/pools/{name}") => Some(Subject::Pool),
            () if is_below("/v1/users/{name}") => Some(Subject::User),
            () if is_below("/v1/services/{name}") => Some(Subject::Service),
            () if is_below(routes::ALERT_ROUTE) => Some(Subject::AlertRoute),
            () if path == routes::ALERT_SETTINGS => Some(Subject::AlertSettings),
            () if is_below(routes::WORKSHEET) => Some(Subject::Worksheet),
            () => None,
        }
    }

    /// Whose tag `If-Match` names.
    pub fn resource(self) -> &'static str {
        match self {
            Subject::Dataset => "GET /v1/datasets/{name}/properties",
            Subject::Pool => "GET /v1/pools/{name}/properties?settable=true",
            Subject::User => "GET /v1/users/{name}",
            Subject::Service => "GET /v1/services/{name}/spec",
            Subject::AlertRoute => "GET /v1/alert-routes/{name}",
            Subject::AlertSettings => "GET /v1/alert-settings",
            Subject::Worksheet => "GET /v1/analytics/worksheets/{name}",
        }
    }
}

/// Those about all but datasets that are under way.
pub type UnderWay = Shares<(Subject, String)>;

pub fn under_way() -> UnderWay {
    Shares::new(MOST, 1)
}

/// Has a change handled, if what its `If-Match` says is so.
pub async fn held(
    (app, subject, under_way): (&Shared, Option<Subject>, &UnderWay),
    asker: &Asker,
    request: Request,
    next: Next,
) -> Response {
    let Some(tags) = Tags::of(request.headers(), header::IF_MATCH) else { return next.run(request).await };
    let Some(subject) = subject else {
        return refuse(kind::BAD_REQUEST, "this request takes no If-Match").into_response();
    };
    let (mut head, body) = request.into_parts();
    let name = match subject {
        Subject::AlertSettings => String::new(),
        _ => match Path::from_request_parts(&mut head, &()).await {
            Ok(Path(name)) => name,
            Err(why) => return why.into_response(),
        },
    };
    let _alone = match subject {
        Subject::Dataset => None,
        Subject::Pool
        | Subject::User
        | Subject::Service
        | Subject::AlertRoute
        | Subject::AlertSettings
        | Subject::Worksheet => match under_way.take((subject, name.clone())) {
            Some(alone) => Some(alone),
            None => return refuse(kind::BUSY, "it is being changed; try again").into_response(),
        },
    };
    match current(app, subject, asker, &name).await {
        Ok(tag) if tags.match_strongly(&tag) => {}
        Ok(_) => return refuse(kind::PRECONDITION_FAILED, CHANGED).into_response(),
        Err(why) => return why.into_response(),
    }
    let request = Request::from_parts(head, body);
    match tags {
        Tags::These(tags) if subject == Subject::Dataset => {
            let versions = tags.iter().filter_map(|tag| etag::version_of(tag)).collect();
            relying(Premise::Version { subject: name, versions }, next.run(request)).await
        }
        Tags::These(_) | Tags::Any => next.run(request).await,
    }
}

const CHANGED: &str = "it was changed since; read it anew";

/// The tag that it has now.
async fn current(app: &Shared, subject: Subject, asker: &Asker, name: &str) -> Result<String, Unserved> {
    let owned = name.to_owned();
    match subject {
        Subject::Dataset => {
            let version = move |app: &App| Ok(app.pool_of(&owned)?.settings(&owned)?.version());
            Ok(patient(app.clone(), version).await.map(etag::of_version)?)
        }
        Subject::Pool => {
            let settings = move |app: &App| told(&pools::settings(app, &owned)?);
            Ok(patient(app.clone(), settings).await?)
        }
        Subject::Service => {
            let spec = move |app: &App| told(&services::settings(app, &owned)?);
            Ok(patient(app.clone(), spec).await?)
        }
        Subject::User => Ok(told(&accounts::account(app, asker, owned).await?)?),
        Subject::AlertRoute => Ok(told(&alerts::find_route(app, owned).await?)?),
        Subject::AlertSettings => Ok(told(&app.desk()?.settings())?),
        Subject::Worksheet => Ok(told(&worksheets::find(app, owned).await?)?),
    }
}

/// The tag of an answer.
fn told<T: Serialize>(answer: &T) -> Result<String, Refusal> {
    serde_json::to_vec(answer).map(|bytes| etag::of_bytes(&bytes)).map_err(|error| defect(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_changed_has_a_tag_and_what_is_made_has_none() {
        assert_eq!(Subject::of(routes::DATASET_PROPERTIES), Some(Subject::Dataset));
        assert_eq!(Subject::of(routes::POOL_EXPORT), Some(Subject::Pool));
        assert_eq!(Subject::of(routes::USER_REMOVE), Some(Subject::User));
        assert_eq!(Subject::of(routes::SERVICE_REMOVE), Some(Subject::Service));
        assert_eq!(Subject::of(routes::ALERT_ROUTE_CHANGE), Some(Subject::AlertRoute));
        assert_eq!(Subject::of(routes::ALERT_SETTINGS), Some(Subject::AlertSettings));
        assert_eq!(Subject::of(routes::WORKSHEET_CHANGE), Some(Subject::Worksheet));
        assert_eq!(Subject::of(routes::WORKSHEETS), None);
        for none in
            [routes::DATASETS, routes::POOLS, routes::SNAPSHOTS, routes::SERVICES, routes::ALERT_ROUTES]
        {
            assert_eq!(Subject::of(none), None, "{none}");
        }
    }
}
