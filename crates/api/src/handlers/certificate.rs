//! The certificate of HTTPS, and where it comes from.

use super::accounts::Answer;
use crate::acme::wanted;
use crate::app::{Body, Shared, parse};
use crate::denied::Unserved;
use crate::https::certificate::Unfit;
use crate::problem::refuse;
use api_types::{AcmeStatus, CertificateInfo, CertificateSet, kind};
use axum::Json;
use axum::extract::State;
use machine::{Acme, Fault, Machine};

pub async fn show(State(app): State<Shared>) -> Answer<CertificateInfo> {
    Ok(Json(app.certificates()?.info()))
}

pub async fn set(State(app): State<Shared>, body: Body) -> Answer<CertificateInfo> {
    let CertificateSet { certificate, key } = parse(body)?;
    let (certificates, acme) = (app.certificates()?.clone(), app.acme()?.clone());
    // It waits for a disk, as what writes to the database does.
    let set = move |machine: &Machine| {
        let _alone = acme.alone();
        if machine.acme()?.is_some() {
            return Err(
                refuse(kind::REFUSED, "certificates come by ACME, and that is to be ended first").into()
            );
        }
        certificates.set(&certificate, &key.0).map_err(refused)
    };
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

/// How certificates come by ACME.
pub async fn acme(State(app): State<Shared>) -> Answer<AcmeStatus> {
    let acme = app.acme()?;
    let kept = app.accounts()?.quick(Machine::acme).await?;
    Ok(Json(acme.status(kept)))
}

pub async fn set_acme(State(app): State<Shared>, body: Body) -> Answer<AcmeStatus> {
    let wanted = wanted(parse(body)?)?;
    change_acme(&app, move |machine| machine.set_acme(&wanted).map(Some)).await
}

pub async fn end_acme(State(app): State<Shared>) -> Answer<AcmeStatus> {
    change_acme(&app, |machine| machine.end_acme().map(|_| None)).await
}

async fn change_acme(
    app: &Shared,
    change: impl FnOnce(&Machine) -> Result<Option<Acme>, Fault> + Send + 'static,
) -> Answer<AcmeStatus> {
    let acme = app.acme()?.clone();
    let inside = acme.clone();
    let change = move |machine: &Machine| {
        let _alone = inside.alone();
        change(machine)
    };
    let kept = app.accounts()?.long(change).await?;
    acme.changed();
    Ok(Json(acme.status(kept)))
}
