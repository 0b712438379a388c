//! The certificate of HTTPS.

use super::accounts::Answer;
use crate::app::{Body, Shared, parse};
use crate::denied::Unserved;
use crate::https::certificate::Unfit;
use crate::problem::refuse;
use api_types::{CertificateInfo, CertificateSet, kind};
use axum::Json;
use axum::extract::State;

pub async fn show(State(app): State<Shared>) -> Answer<CertificateInfo> {
    Ok(Json(app.certificates()?.info()))
}

pub async fn set(State(app): State<Shared>, body: Body) -> Answer<CertificateInfo> {
    let CertificateSet { certificate, key } = parse(body)?;
    let certificates = app.certificates()?.clone();
    // It waits for a disk, as what writes to the database does.
    let set = move |_: &machine::Machine| certificates.set(&certificate, &key.0).map_err(refused);
    let info = app.accounts()?.long(set).await?;
    tracing::info!(fingerprint = info.fingerprint, "another certificate is shown by HTTPS");
    Ok(Json(info))
}

fn refused(why: Unfit) -> Unserved {
    let kind = match &why {
        Unfit::Io(..) => kind::UNAVAILABLE,
        Unfit::NotMade(_) => kind::INTERNAL,
        Unfit::NoCertificate
        | Unfit::Unreadable
        | Unfit::TooMany
        | Unfit::Expired(_)
        | Unfit::NoKey
        | Unfit::BadKey
        | Unfit::OtherKey => kind::INVALID,
    };
    refuse(kind, why.to_string()).into()
}
