//! What every handler shares, and the hop from the runtime to a blocking thread.

use crate::accounts::{self, Accounts};
use crate::acme::Acme;
use crate::audit::JobNote;
use crate::caller::{asker, on_behalf};
use crate::denied::Unserved;
use crate::desk::AlertDesk;
use crate::drill_downs::DrillDowns;
use crate::feed::Feed;
use crate::https::certificate::Certificates;
use crate::keeper::StateKeeper;
use crate::pane_history::PaneHistory;
use crate::problem::{Refusal, defect, refuse, refused};
use crate::program::Program;
use crate::recorder::Recorder;
use crate::shares::{Shares, Turn};
use crate::shells::{self, Shells};
use crate::tally::Tally;
use crate::words::warnings;
use api_types::{Changed, Job, JobResult, JobState, kind};
use appliance::{Appliance, Jobs, Ledger, Record, Reporter, Services, TooMany, Warning};
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine_api::refusal::{JobFault, Refused};
use engine_api::{Change, Committed, Engine, Pool};
use peers::Book;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// How long a request that starts a job waits for its end before it answers with the job running.
const PATIENCE: Duration = Duration::from_millis(250);

/// Requests that are in the engine at one time, of those that may have to wait for a pool, and of
/// those that do not: they are answered whatever becomes of the others.
const PATIENT: usize = 64;
const PROMPT: usize = 16;
/// Likewise of guests, who are no administrators, whether they have an account or not: they have a
/// part of their own, of which each has a share.
const GUESTS: usize = 16;
const OF_GUEST: usize = 4;
/// Together.
pub const BLOCKING: usize = PATIENT + PROMPT + GUESTS + accounts::THREADS + shells::THREADS;
/// Streams, and requests that wait for what is to happen: each has a thread of its own.
const APART: usize = 256;
const GUESTS_APART: usize = 32;
const OF_GUEST_APART: usize = 8;

pub struct App {
    pub appliance: Appliance,
    pub program: Arc<dyn Program>,
    pub jobs: Arc<Jobs>,
    /// All that happens.
    pub feed: Arc<Feed>,
    /// Is told of every change of a job.
    job_changes: watch::Receiver<()>,
    room: Room,
    pub version: String,
    pub tally: Arc<Tally>,
    /// `None`: there is none.
    pub history: Option<Recorder>,
    /// Places of traces.
    pub traces: Arc<Semaphore>,
    pub drill_downs: DrillDowns,
    pub shells: Arc<Shells>,
    /// `None`: nothing is kept of what panes find.
    pub panes: Option<PaneHistory>,
    house: House,
}

/// What belongs to the machine, where it is there.
#[derive(Default)]
pub struct House {
    pub accounts: Option<Arc<Accounts>>,
    /// Of HTTPS.
    pub certificates: Option<Arc<Certificates>>,
    /// Where those come from, if an administrator has said so.
    pub acme: Option<Arc<Acme>>,
    /// Keeps its state in a pool.
    pub keeper: Option<Arc<dyn StateKeeper>>,
    /// Look after the data.
    pub services: Option<Arc<Services>>,
    /// Keeps alerts.
    pub desk: Option<Arc<dyn AlertDesk>>,
    /// Other appliances.
    pub peers: Option<Arc<Book>>,
    /// The program whose command `shell` is the console's.
    pub shell: Option<PathBuf>,
}

/// Traces at a time.
const TRACES: usize = 8;

/// Who may work on requests.
pub struct Room {
    patient: Arc<Semaphore>,
    prompt: Arc<Semaphore>,
    guests: Shares<u32>,
    apart: Arc<Semaphore>,
    guests_apart: Shares<u32>,
    /// What guests have computed for minutes: one after the other.
    long: Arc<Semaphore>,
}

impl Room {
    fn new() -> Room {
        let places = |count| Arc::new(Semaphore::new(count));
        Room {
            patient: places(PATIENT),
            prompt: places(PROMPT),
            guests: Shares::new(GUESTS, OF_GUEST),
            apart: places(APART),
            guests_apart: Shares::new(GUESTS_APART, OF_GUEST_APART),
            long: places(1),
        }
    }

    /// Waits for the turn of who asks in this task.
    async fn turn(&self, administrators: &Arc<Semaphore>) -> Option<Turn> {
        let asker = asker();
        match asker.is_administrator() {
            // It is never closed.
            true => administrators.clone().acquire_owned().await.ok().map(Turn::from),
            false => self.guests.wait(asker.user).await,
        }
    }

    /// A place for a thread apart, where there is one.
    fn apart(&self) -> Result<Turn, Refusal> {
        let asker = asker();
        let (turn, most) = match asker.is_administrator() {
            // There is none, for it is never closed.
            true => (self.apart.clone().try_acquire_owned().ok().map(Turn::from), APART),
            false => (self.guests_apart.take(asker.user), OF_GUEST_APART),
        };
        let busy = || refuse(kind::BUSY, format!("{most} streams are under way already; try again later"));
        turn.ok_or_else(busy)
    }
}

/// How handlers see it.
pub type Shared = Arc<App>;
/// A body as axum hands it over, or why it did not.
pub type Body = Result<Bytes, BytesRejection>;

impl App {
    /// With the jobs of the program before, and where those of this one are written down.
    pub fn new(
        appliance: Appliance,
        program: Arc<dyn Program>,
        version: String,
        (record, ledger): (Record, impl Ledger + 'static),
        house: House,
        (history, panes): (Option<Recorder>, Option<PaneHistory>),
    ) -> App {
        let (tell, job_changes) = watch::channel(());
        let Refusal(interrupted) = refused(kind::INTERRUPTED, Refused::because(JobFault::Interrupted));
        let feed = Arc::new(Feed::new(ledger.clock()));
        let told = feed.clone();
        let tally = Arc::<Tally>::default();
        let counting = tally.clone();
        let changed = move |job: &Job| {
            tell.send_modify(|()| {});
            counting.job(job);
            if job.state != JobState::Running {
                told.job(job);
            }
        };
        let jobs = Jobs::new(record, ledger, &interrupted, changed);
        let (room, traces) = (Room::new(), Arc::new(Semaphore::new(TRACES)));
        let shells = Shells::new(house.shell.clone());
        App {
            appliance,
            program,
            jobs,
            feed,
            job_changes,
            room,
            version,
            tally,
            history,
            traces,
            drill_downs: DrillDowns::default(),
            shells,
            panes,
            house,
        }
    }

    pub fn engine(&self) -> &dyn Engine {
        &*self.appliance.engine
    }

    pub fn pool(&self, name: &str) -> Result<Arc<dyn Pool>, Refusal> {
        Ok(self.appliance.pool(name)?)
    }

    /// Users, tokens and the audit log. Refused where the database could not be opened.
    pub fn accounts(&self) -> Result<&Arc<Accounts>, Unserved> {
        let missing = || refuse(kind::UNAVAILABLE, "the machine's database could not be opened; see the log");
        self.house.accounts.as_ref().ok_or_else(|| missing().into())
    }

    /// The certificate of HTTPS. Refused where that is off.
    pub fn certificates(&self) -> Result<&Arc<Certificates>, Unserved> {
        let missing = || refuse(kind::UNAVAILABLE, "HTTPS is off");
        self.house.certificates.as_ref().ok_or_else(|| missing().into())
    }

    /// Certificates from an authority. Refused where HTTPS is off.
    pub fn acme(&self) -> Result<&Arc<Acme>, Unserved> {
        let missing = || refuse(kind::UNAVAILABLE, "HTTPS is off");
        self.house.acme.as_ref().ok_or_else(|| missing().into())
    }

    /// Who keeps the machine's state in a pool; `None`: nobody does.
    pub fn keeper(&self) -> Option<&dyn StateKeeper> {
        self.house.keeper.as_deref()
    }

    /// Who looks after the data; `None`: nobody does.
    pub fn services(&self) -> Option<&Services> {
        self.house.services.as_deref()
    }

    /// Alerts. Refused where the database could not be opened.
    pub fn desk(&self) -> Result<&Arc<dyn AlertDesk>, Unserved> {
        let missing = || refuse(kind::UNAVAILABLE, "the machine's database could not be opened; see the log");
        self.house.desk.as_ref().ok_or_else(|| missing().into())
    }

    /// Other appliances. Refused where the database could not be opened.
    pub fn peers(&self) -> Result<&Arc<Book>, Unserved> {
        let missing = || refuse(kind::UNAVAILABLE, "the machine's database could not be opened; see the log");
        self.house.peers.as_ref().ok_or_else(|| missing().into())
    }

    /// What time services believe that it is, in seconds since 1970.
    pub fn now(&self) -> i64 {
        // Where there are none, nothing goes by its age: all is of the year 1970.
        self.services().map_or(0, Services::now)
    }

    /// See [`Appliance::pool_of`].
    pub fn pool_of(&self, dataset: &str) -> Result<Arc<dyn Pool>, Refusal> {
        Ok(self.appliance.pool_of(dataset)?)
    }

    /// The job of that number when it ends or, if `progress` is set, when it gets on; at the latest
    /// after `wait`. None that who asks in this task may see: `None`.
    pub async fn wait_for_job(&self, id: u64, wait: Duration, progress: bool) -> Option<Job> {
        let mut changes = self.job_changes.clone();
        let asker = asker();
        let first = self.jobs.get(id, &asker)?;
        let settled =
            |job: &Job| job.state != JobState::Running || progress && job.progress != first.progress;
        let deadline = tokio::time::sleep(wait);
        tokio::pin!(deadline);
        loop {
            changes.borrow_and_update();
            let job = self.jobs.get(id, &asker)?;
            if settled(&job) {
                return Some(job);
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = &mut deadline => return Some(job),
            }
        }
    }
}

/// What a change that was committed is to a client.
pub fn changed((committed, told): (Committed, Vec<Warning>)) -> Changed {
    Changed { txg: committed.txg, warnings: warnings(told) }
}

/// Commits a change that no mount depends on.
pub fn commit(pool: &dyn Pool, change: &Change, history: &str) -> Result<Changed, Refusal> {
    Ok(changed((pool.commit(change, history)?, Vec::new())))
}

pub fn answer<T: Serialize>(outcome: Result<T, Refusal>) -> Response {
    match outcome {
        Ok(value) => axum::Json(value).into_response(),
        Err(why) => why.into_response(),
    }
}

/// The body as JSON; an empty one is the type's default.
pub fn parse<T: DeserializeOwned + Default>(body: Body) -> Result<T, Refusal> {
    let bytes = body.map_err(|rejection| refuse(kind::BAD_REQUEST, rejection.body_text()))?;
    if bytes.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| refuse(kind::BAD_REQUEST, format!("request body: {error}")))
}

/// The body as JSON; there has to be one.
pub fn whole<T: DeserializeOwned>(body: Body) -> Result<T, Refusal> {
    let bytes = body.map_err(|rejection| refuse(kind::BAD_REQUEST, rejection.body_text()))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| refuse(kind::BAD_REQUEST, format!("request body: {error}")))
}

/// Runs `work`, which may have to wait for a pool, on a blocking thread, and sends what it gives.
pub async fn blocking<T: Serialize + Send + 'static>(
    app: Shared,
    work: impl FnOnce(&App) -> Result<T, Refusal> + Send + 'static,
) -> Response {
    answer(patient(app, work).await)
}

/// As [`blocking`], and gives it to who sends it otherwise.
pub async fn patient<T: Send + 'static>(
    app: Shared,
    work: impl FnOnce(&App) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let turn = app.room.turn(&app.room.patient).await;
    hop(app, turn, work).await
}

/// As [`blocking`], for work that may take minutes: of guests only one is under way.
pub async fn long<T: Serialize + Send + 'static>(
    app: Shared,
    work: impl FnOnce(&App) -> Result<T, Refusal> + Send + 'static,
) -> Response {
    let alone = match asker().is_administrator() {
        true => None,
        // It is never closed.
        false => app.room.long.clone().acquire_owned().await.ok(),
    };
    let work = move |app: &App| {
        let _alone = alone;
        work(app)
    };
    blocking(app, work).await
}

/// As [`blocking`], for work that takes what the body says ([`parse`]).
pub async fn posted<Q, T>(
    app: Shared,
    body: Body,
    work: impl FnOnce(&App, Q) -> Result<T, Refusal> + Send + 'static,
) -> Response
where
    Q: DeserializeOwned + Default + Send + 'static,
    T: Serialize + Send + 'static,
{
    let request = parse(body);
    blocking(app, move |app| work(app, request?)).await
}

/// As [`blocking`], for work that waits for nothing, and is not to wait for those that do.
pub async fn prompt<T: Serialize + Send + 'static>(
    app: Shared,
    work: impl FnOnce(&App) -> Result<T, Refusal> + Send + 'static,
) -> Response {
    answer(prompted(app, work).await)
}

/// As [`prompt`], and gives it to who sends it otherwise.
pub async fn prompted<T: Send + 'static>(
    app: Shared,
    work: impl FnOnce(&App) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let turn = app.room.turn(&app.room.prompt).await;
    hop(app, turn, work).await
}

/// Runs `work`, which may take as long as its client wants, on a thread of its own.
pub fn apart(app: Shared, work: impl FnOnce(&App) + Send + 'static) -> Result<(), Refusal> {
    let turn = app.room.apart()?;
    let thread = thread::Builder::new().name("api-stream".to_owned()).spawn(on_behalf(move || {
        let _turn = turn;
        work(&app);
    }));
    thread.map(drop).map_err(|error| refuse(kind::BUSY, format!("no thread to be had: {error}")))
}

/// Runs `work` on a blocking thread. The turn is the thread's: who goes away meanwhile does not
/// make room for another.
async fn hop<T: Send + 'static>(
    app: Shared,
    turn: Option<Turn>,
    work: impl FnOnce(&App) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let work = move || {
        let _turn = turn;
        work(&app)
    };
    let done = tokio::task::spawn_blocking(on_behalf(work)).await;
    done.unwrap_or_else(|panic| Err(defect(&panic)))
}

/// Parses the body, starts `work` as a job and sends the job, ended where it was quick.
pub async fn job<T: DeserializeOwned + Default + Send + 'static>(
    app: Shared,
    what: &'static str,
    body: Body,
    target: impl FnOnce(&T) -> String,
    work: impl FnOnce(&App, &T, &Reporter) -> Result<JobResult, Refusal> + Send + 'static,
) -> Response {
    let request: T = match parse(body) {
        Ok(request) => request,
        Err(why) => return why.into_response(),
    };
    let target = target(&request);
    tracing::info!(kind = what, target, "job");
    let Refusal(fault) = refuse(kind::INTERNAL, "the job ended in a fault of ours");
    let (job, run) = match app.jobs.begin(what, &target, &asker(), fault) {
        Ok(begun) => begun,
        Err(TooMany { running }) => {
            let why = format!("{running} jobs are running already; try again later");
            return refuse(kind::BUSY, why).into_response();
        }
    };
    app.tally.job_begins();
    app.feed.job(&job);
    let worker = Arc::clone(&app);
    let note = JobNote::of(&job);
    let work = move |reporter: &Reporter| {
        let ended = work(&worker, &request, reporter).map_err(|Refusal(why)| why);
        note.ended(&ended);
        ended
    };
    // A panic is logged by whoever catches them all, and the job has failed by it.
    drop(tokio::task::spawn_blocking(on_behalf(move || run.run(work))));
    let now = app.wait_for_job(job.id, PATIENCE, false).await.unwrap_or(job);
    (StatusCode::ACCEPTED, axum::Json(now)).into_response()
}
