//! One order: from the account to the certificate (RFC 8555, section 7.4).
//!
//! The authority says what has to be proven; of the ways there are TLS-ALPN-01 is taken, for it
//! takes no port but that of HTTPS itself.
//!
//! Invariants: the key of a certificate is made here, for each order another one, and never sent. A
//! name that was not asked for is not proven. Whoever calls bounds the time of all of it.

use super::failure::Failure;
use super::http::Http;
use crate::https::challenges::{Challenges, Proof};
use api_types::AcmeFault;
use instant_acme::{
    Account, AccountCredentials, AuthorizationHandle, AuthorizationStatus, ChallengeType, Identifier,
    NewAccount, NewOrder, Order, OrderStatus,
};
use machine::AcmeWanted;
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How long it is waited before the authority is asked again how far it is: at first, and at the
/// most.
const FIRST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(10);

/// What came of an order, in PEM.
pub struct Ordered {
    pub certificate: String,
    pub key: String,
}

/// The account that was kept.
pub async fn known(http: &Http, kept: &str) -> Result<Account, Failure> {
    let unreadable = |_| Failure::new(AcmeFault::Here, "the account that is kept cannot be read");
    let credentials: AccountCredentials = serde_json::from_str(kept).map_err(unreadable)?;
    Ok(Account::builder_with_http(Box::new(http.clone())).from_credentials(credentials).await?)
}

/// A new account, and what is to be kept of it.
pub async fn begin(http: &Http, wanted: &AcmeWanted) -> Result<(Account, String), Failure> {
    let contact: Vec<String> = wanted.email.iter().map(|email| format!("mailto:{email}")).collect();
    let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
    let new = NewAccount { contact: &contact, terms_of_service_agreed: true, only_return_existing: false };
    let builder = Account::builder_with_http(Box::new(http.clone()));
    let (account, credentials) = builder.create(&new, wanted.directory.clone(), None).await?;
    let unwritable = |_| Failure::new(AcmeFault::Here, "the account cannot be written down");
    Ok((account, serde_json::to_string(&credentials).map_err(unwritable)?))
}

/// A certificate for all of these names.
pub async fn order(
    account: &Account,
    domains: &[String],
    challenges: &Arc<Challenges>,
) -> Result<Ordered, Failure> {
    let names: Vec<Identifier> = domains.iter().cloned().map(Identifier::Dns).collect();
    let mut order = account.new_order(&NewOrder::new(&names)).await?;
    if order.state().authorizations.len() > domains.len() {
        return Err(bad("the order has more names than were asked for"));
    }
    // Shown until the names are proven, or are not.
    let mut proofs = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        proofs.extend(prove(authorization?, domains, challenges).await?);
    }
    let mut status = order.state().status;
    let mut pause = FIRST;
    while status == OrderStatus::Pending {
        wait(&mut pause).await;
        status = order.refresh().await?.status;
    }
    drop(proofs);
    if status == OrderStatus::Invalid {
        return Err(why_not(&mut order).await);
    }
    let key = KeyPair::generate().map_err(here)?;
    let mut params = CertificateParams::new(domains.to_vec()).map_err(here)?;
    params.distinguished_name = DistinguishedName::new();
    let request = params.serialize_request(&key).map_err(here)?;
    order.finalize_csr(request.der()).await?;
    pause = FIRST;
    loop {
        match order.state().status {
            OrderStatus::Valid => break,
            OrderStatus::Invalid => return Err(why_not(&mut order).await),
            OrderStatus::Pending | OrderStatus::Ready | OrderStatus::Processing => {}
        }
        wait(&mut pause).await;
        order.refresh().await?;
    }
    let certificate = order.certificate().await?.ok_or_else(|| bad("there is no certificate"))?;
    Ok(Ordered { certificate, key: key.serialize_pem() })
}

/// Has a name proven, where it is not yet.
async fn prove(
    mut authorization: AuthorizationHandle<'_>,
    domains: &[String],
    challenges: &Arc<Challenges>,
) -> Result<Option<Proof>, Failure> {
    match authorization.status {
        AuthorizationStatus::Valid => return Ok(None),
        AuthorizationStatus::Pending => {}
        AuthorizationStatus::Invalid
        | AuthorizationStatus::Revoked
        | AuthorizationStatus::Expired
        | AuthorizationStatus::Deactivated => return Err(bad("a name is neither proven nor to be proven")),
    }
    let name = match authorization.identifier().identifier {
        Identifier::Dns(name) if domains.contains(name) => name.clone(),
        _ => return Err(bad("a name is to be proven that was not asked for")),
    };
    let Some(mut challenge) = authorization.challenge(ChallengeType::TlsAlpn01) else {
        let why = format!("{name} cannot be proven by TLS-ALPN-01, and nothing else is done here");
        return Err(Failure::new(AcmeFault::Refused, why));
    };
    let key = challenge.key_authorization();
    let proof = challenges.prove(&name, key.digest().as_ref()).map_err(|why| here(why.to_string()))?;
    challenge.set_ready().await?;
    Ok(Some(proof))
}

/// Waits a moment, and the next time longer.
async fn wait(pause: &mut Duration) {
    sleep(*pause).await;
    *pause = (*pause * 2).min(MOST);
}

/// Why an order has come to nothing: what the authority says of the names, or of the order.
async fn why_not(order: &mut Order) -> Failure {
    let of_order = order.state().error.clone();
    let mut reasons = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        if authorization.refresh().await.is_err() {
            continue;
        }
        let name = authorization.identifier().to_string();
        let errors = authorization.challenges.iter().filter_map(|challenge| challenge.error.as_ref());
        reasons.extend(errors.map(|error| format!("{name}: {}", Failure::from(error).why)));
    }
    match (reasons.is_empty(), of_order) {
        (false, _) => Failure::new(AcmeFault::NotProven, reasons.join("; ")),
        (true, Some(problem)) => Failure::from(&problem),
        (true, None) => bad("the order has come to nothing, and it is not said why"),
    }
}

fn bad(why: &str) -> Failure {
    Failure::new(AcmeFault::BadAnswer, why)
}

fn here(why: impl ToString) -> Failure {
    Failure::new(AcmeFault::Here, why.to_string())
}
