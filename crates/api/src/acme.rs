//! Certificates from an authority, by ACME (RFC 8555): asked for, renewed, and what kept one away.
//!
//! Nothing is asked of anybody until an administrator has named the authority and the names. What
//! he has set, and how far it is, is in the machine's database; one task asks when it is due
//! ([`schedule`]). An order is a task of its own: a defect in it, or an answer that nobody thought
//! of, ends that order alone. What he sets anew ends the one that is under way.
//!
//! Before an order it is written down as one that has failed, with the next time: a program that is
//! killed in its midst begins another one then, and not more often than one that goes on.
//!
//! Invariants:
//! - The certificate that is shown stays until another one is there that is good for all names.
//! - An order ends within [`ORDER`], whatever the authority does.
//! - The keys of the account and of certificates are never logged.

mod failure;
mod http;
mod order;
mod schedule;
mod wanted;

pub use wanted::wanted;

use crate::accounts::Accounts;
use crate::denied::Unserved;
use crate::https::certificate::{Certificates, examine};
use crate::https::challenges::{Answers, Challenges};
use api_types::{AcmeFailure, AcmeFault, CertificateInfo};
use failure::Failure;
use http::{Bounds, Http};
use machine::{Acme as Kept, Machine};
use order::Ordered;
use sockets::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

/// How long an order may take: names are looked up and proven in it.
const ORDER: Duration = Duration::from_secs(10 * 60);
/// How often it is looked whether an order is due: the clock may be set meanwhile.
const LOOK: Duration = Duration::from_secs(60);
/// Times that it is tried to keep a certificate, and the pause between two: the database may be
/// busy.
const INSTALLS: usize = 12;
const INSTALL_PAUSE: Duration = Duration::from_secs(5);

/// Who asks an authority for certificates.
pub struct Acme {
    accounts: Arc<Accounts>,
    certificates: Arc<Certificates>,
    challenges: Arc<Challenges>,
    /// Something was set.
    changed: Notify,
    /// An order is under way.
    is_asking: AtomicBool,
    /// Held by who puts a certificate in its place, or sets where it comes from: so one that was
    /// ordered under other settings is not put over what came after.
    alone: Arc<Mutex<()>>,
}

/// That an order is under way, until it is dropped.
struct Asking<'a>(&'a AtomicBool);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Acme {
    pub fn new(accounts: Arc<Accounts>, certificates: Arc<Certificates>) -> Acme {
        Acme {
            accounts,
            certificates,
            challenges: Arc::default(),
            changed: Notify::new(),
            is_asking: AtomicBool::new(false),
            alone: Arc::default(),
        }
    }

    /// What handshakes are answered with.
    pub fn answers(&self) -> Answers {
        Answers { certificates: self.certificates.clone(), challenges: self.challenges.clone() }
    }

    /// To be held by who changes what is set, or the certificate. May wait for a disk.
    pub fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.alone)
    }

    /// To be called when something was set.
    pub fn changed(&self) {
        self.changed.notify_one();
    }

    /// What is told of what is set.
    pub fn status(&self, kept: Option<Kept>) -> api_types::AcmeStatus {
        let status = |Kept { wanted, tries, next, failure, .. }| api_types::Acme {
            domains: wanted.domains,
            email: wanted.email,
            directory: wanted.directory,
            is_asking: self.is_asking.load(Ordering::Acquire),
            next,
            tries,
            failure,
        };
        api_types::AcmeStatus { acme: kept.map(status) }
    }

    /// Asks when it is due, as long as the runtime is there.
    pub async fn run(self: Arc<Self>) {
        let mut is_first = true;
        loop {
            let kept = match self.kept().await {
                Ok(kept) => kept,
                Err(why) => {
                    tracing::error!(?why, "whether a certificate is due is not known");
                    self.rest(LOOK).await;
                    continue;
                }
            };
            let Some(kept) = kept else {
                self.changed.notified().await;
                continue;
            };
            let now = self.now();
            // The files may have been lost while the program did not run.
            let is_lost = is_first && kept.tries == 0 && !is_for(&self.certificates.info(), &kept, now);
            is_first = false;
            let wait = schedule::due(kept.next, kept.tries, now).saturating_sub(now);
            match u64::try_from(wait) {
                Ok(seconds) if seconds > 0 && !is_lost => {
                    self.rest(Duration::from_secs(seconds).min(LOOK)).await;
                }
                _ => self.ask(kept).await,
            }
        }
    }

    /// Waits, at the longest until something is set.
    async fn rest(&self, time: Duration) {
        tokio::select! {
            () = sleep(time) => {}
            () = self.changed.notified() => {}
        }
    }

    async fn kept(&self) -> Result<Option<Kept>, Unserved> {
        self.accounts.quick(Machine::acme).await
    }

    fn now(&self) -> i64 {
        self.accounts.outside.now()
    }

    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        self.accounts.outside.fill(&mut bytes);
        bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// One try, until something else is set.
    async fn ask(self: &Arc<Self>, kept: Kept) {
        let id = kept.id;
        let mut order = JoinSet::new();
        order.spawn(self.clone().try_once(kept));
        loop {
            tokio::select! {
                done = order.join_next() => {
                    if let Some(Err(panic)) = done {
                        // It was counted before it began.
                        tracing::error!(%panic, "an order of a certificate ended in a fault of ours");
                        self.rest(LOOK).await;
                    }
                    return;
                }
                () = self.changed.notified() => {
                    if !matches!(self.kept().await, Ok(Some(now)) if now.id == id) {
                        order.shutdown().await;
                        return;
                    }
                }
            }
        }
    }

    async fn try_once(self: Arc<Self>, kept: Kept) {
        self.is_asking.store(true, Ordering::Release);
        let _asking = Asking(&self.is_asking);
        let tries = kept.tries.saturating_add(1);
        let next = self.now().saturating_add(schedule::pause(tries, self.random()));
        if let Err(why) = self.note(kept.id, tries, next, kept.failure.clone()).await {
            // Whoever cannot count tries makes none.
            tracing::error!(?why, "no certificate is asked for");
            self.rest(LOOK).await;
            return;
        }
        let (id, directory) = (kept.id, kept.wanted.directory.clone());
        let ordered = timeout(ORDER, self.obtain(&kept)).await;
        let ordered =
            ordered.unwrap_or_else(|_| Err(Failure::new(AcmeFault::Unreachable, "it took too long")));
        let failure = match ordered {
            Ok(ordered) => match self.install(kept, ordered).await {
                Ok(()) => return,
                Err(failure) => failure,
            },
            Err(failure) => failure,
        };
        let Failure { fault, why, later, .. } = failure;
        tracing::warn!(directory, fault = fault.word(), why, tries, "no certificate came");
        let at = self.now();
        let pause = schedule::pause(tries, self.random()).max(later.unwrap_or(0).min(schedule::LONGEST));
        let failure = AcmeFailure { at, fault, why };
        if let Err(why) = self.note(id, tries, at.saturating_add(pause), Some(failure)).await {
            tracing::error!(?why, "why no certificate came is not kept");
        }
    }

    async fn note(
        &self,
        id: u64,
        tries: u32,
        next: i64,
        failure: Option<AcmeFailure>,
    ) -> Result<(), Unserved> {
        let note = move |machine: &Machine| machine.note_acme(id, tries, next, failure.as_ref());
        self.accounts.long(note).await
    }

    /// Asks the authority, with the account that is kept, or a new one where it knows none.
    async fn obtain(&self, kept: &Kept) -> Result<Ordered, Failure> {
        let (directory, roots) = (kept.wanted.directory.clone(), kept.wanted.roots.clone());
        let http = spawn_blocking(move || Http::new(&directory, roots.as_deref(), Bounds::USUAL)).await;
        let http = http.map_err(|panic| Failure::new(AcmeFault::Here, panic.to_string()))??;
        let told = |failure: Failure| Failure { later: http.later(), ..failure };
        if let Some(account) = &kept.account {
            let account = order::known(&http, account).await.map_err(told)?;
            match order::order(&account, &kept.wanted.domains, &self.challenges).await {
                Err(failure) if failure.has_no_account => {
                    tracing::warn!("the authority does not know the account any more; another one is begun");
                }
                ordered => return ordered.map_err(told),
            }
        }
        let (account, to_keep) = order::begin(&http, &kept.wanted).await.map_err(told)?;
        let id = kept.id;
        let keep = move |machine: &Machine| machine.keep_acme_account(id, &to_keep);
        let not_kept = |_| Failure::new(AcmeFault::Here, "the account cannot be kept");
        self.accounts.long(keep).await.map_err(not_kept)?;
        order::order(&account, &kept.wanted.domains, &self.challenges).await.map_err(told)
    }

    /// Shows a certificate from now on, unless something else was set meanwhile.
    async fn install(&self, kept: Kept, ordered: Ordered) -> Result<(), Failure> {
        let (now, random) = (self.now(), self.random());
        let unfit = |why: String| Failure::new(AcmeFault::Unfit, why);
        let info = examine(&ordered.certificate, &ordered.key).map_err(|why| unfit(why.to_string()))?;
        if !is_for(&info, &kept, now) {
            return Err(unfit("it signs itself, has ended, or is not for all of the names".to_owned()));
        }
        let next = schedule::renewal(&info, now, random);
        let (id, ordered) = (kept.id, Arc::new(ordered));
        let mut tried = 0;
        let shown = loop {
            let (alone, certificates, ordered) =
                (self.alone.clone(), self.certificates.clone(), ordered.clone());
            let install = move |machine: &Machine| {
                let _alone = lock(&alone);
                if machine.acme()?.is_none_or(|now| now.id != id) {
                    return Ok(Ok(false));
                }
                if let Err(why) = certificates.set(&ordered.certificate, &ordered.key) {
                    return Ok(Err(why));
                }
                machine.note_acme(id, 0, next, None).map(|()| Ok(true))
            };
            tried += 1;
            match self.accounts.long(install).await {
                Ok(outcome) => break outcome.map_err(|why| unfit(why.to_string()))?,
                Err(_) if tried < INSTALLS => sleep(INSTALL_PAUSE).await,
                Err(_) => return Err(Failure::new(AcmeFault::Here, "the certificate cannot be kept")),
            }
        };
        if shown {
            tracing::info!(fingerprint = info.fingerprint, issuer = info.issuer, "a certificate came");
        }
        Ok(())
    }
}

/// Whether a certificate is one that an authority could have given for all names.
fn is_for(info: &CertificateInfo, kept: &Kept, now: i64) -> bool {
    !info.self_signed
        && info.not_after > now
        && kept.wanted.domains.iter().all(|name| info.names.contains(name))
}

#[cfg(test)]
mod tests;
