//! The socket, HTTPS beside it, and the runtimes that serve them.

use crate::accounts::Accounts;
use crate::acme::Acme;
use crate::app::{App, BLOCKING, House, Shared};
use crate::audit::{self, Writer};
use crate::caller::Asker;
use crate::connection::{self, Manner};
use crate::console_files;
use crate::desk::AlertDesk;
use crate::door::Door;
use crate::history;
use crate::https::certificate::Certificates;
use crate::identify::{Front, identify};
use crate::keeper::StateKeeper;
use crate::pane_history::PaneHistory;
use crate::peering::neighbours;
use crate::program::Program;
use crate::recorder::{HistoryConfig, Recorder};
use crate::shells::line::Reach;
use crate::statistics;
use crate::table::router;
use crate::watching::{self, WatchedPane};
use crate::web::Web;
use crate::words::failure;
use api_types::{CertificateInfo, History, SeriesQuery, Statistics};
use appliance::{Appliance, Ledger, MOST_JOBS, Record, Services, untold};
use axum::extract::ConnectInfo;
use axum::http::Extensions;
use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use machine::{Machine, Outside};
use peers::Book;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

/// How long requests under way may take to end after `stop`.
const GRACE: Duration = Duration::from_secs(5);
/// How often the automatic backup of accounts is written, where they were changed.
const KEEP: Duration = Duration::from_secs(60);
/// How long it is waited for an event of a pool before it is looked whether the server stops:
/// nanoseconds.
const EVENTS_PATIENCE: u64 = 250_000_000;
/// Blocking threads: as many requests and jobs are in the engine at one time. There is one for each
/// that may be, so none waits for another's.
const BLOCKING_THREADS: usize = BLOCKING + MOST_JOBS;

pub struct Config {
    /// Where to listen.
    pub socket: PathBuf,
    /// The socket there, if it listens already: then it stays when the server stops.
    pub inherited: Option<UnixListener>,
    /// Of the daemon, as `zpool version` prints it.
    pub version: String,
    /// Users, tokens and the audit log; `None` where their database could not be opened.
    pub accounts: Option<AccountsConfig>,
    /// `None`: no HTTPS. It takes accounts.
    pub https: Option<HttpsConfig>,
    /// `None`: the machine's state is kept in no pool.
    pub keeper: Option<Arc<dyn StateKeeper>>,
    /// `None`: nobody looks after the data.
    pub services: Option<Arc<Services>>,
    /// `None`: what is done is not noted.
    pub history: Option<HistoryConfig>,
    /// `None`: there are no alerts.
    pub desk: Option<Arc<dyn AlertDesk>>,
    /// Other appliances; `None`: the database could not be opened.
    pub peers: Option<Arc<Book>>,
    /// The program whose command `shell` is the console's; `None`: the console has none.
    pub shell: Option<PathBuf>,
}

/// The machine's database, and what it takes beside it.
pub struct AccountsConfig {
    pub machine: Arc<Machine>,
    /// Time; the same as the database has.
    pub outside: Arc<dyn Outside>,
    /// A folder for backups, which need not be there.
    pub backups: PathBuf,
}

/// What HTTPS is served with.
pub struct HttpsConfig {
    /// Listens already.
    pub listener: TcpListener,
    /// Of the certificate and its key; need not be there.
    pub folder: PathBuf,
    /// Of this machine, for a certificate that is made here.
    pub names: Vec<String>,
}

/// Where HTTPS is served.
pub struct Served {
    pub address: SocketAddr,
    /// SHA-256 of the certificate.
    pub fingerprint: String,
}

/// The running server. Dropping it stops it too.
pub struct ApiServer {
    app: Shared,
    socket: PathBuf,
    stays: bool,
    stop: Option<watch::Sender<()>>,
    runtime: Option<tokio::runtime::Runtime>,
    task: Option<tokio::task::JoinHandle<()>>,
    /// `None`: nobody asked for HTTPS. An error says why it is not there.
    web: Option<Result<Web, String>>,
    /// Of the audit log.
    writer: Option<Writer>,
    /// Follows the events of pools.
    events: Option<JoinHandle<()>>,
    /// Notes what is done, until the sender is gone.
    history: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Listens on the socket until stopped. `AddrInUse` where another daemon answers there. `jobs` are
/// those of the program before, and where they are written down. Where HTTPS cannot be served, the
/// socket is, and [`ApiServer::https`] says why.
pub fn serve(
    config: Config,
    appliance: Appliance,
    program: Arc<dyn Program>,
    jobs: (Record, impl Ledger + 'static),
) -> io::Result<ApiServer> {
    let stays = config.inherited.is_some();
    let listener = config.inherited.map_or_else(|| listen(&config.socket, FOR_ALL), Ok)?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("api")
        .enable_io()
        .enable_time()
        .build()?;
    let (stop, stopped) = watch::channel(());
    let listener = {
        let _inside = runtime.enter();
        Door::new(tokio::net::UnixListener::from_std(listener)?)
    };
    let (auditor, writer) = match &config.accounts {
        Some(with) => {
            let (auditor, writer) = audit::begin(with.machine.clone(), with.outside.clone())?;
            (Some(auditor), Some(writer))
        }
        None => (None, None),
    };
    let certificates = match (&config.https, &config.accounts) {
        (Some(https), Some(with)) => Some(open_certificates(https, with)),
        _ => None,
    };
    let friends = config.accounts.as_ref().map_or_else(Vec::new, |with| friends(&with.machine));
    let accounts = config.accounts.map(|AccountsConfig { machine, outside, backups }| {
        Arc::new(Accounts::new(machine, outside, backups))
    });
    // Why there is none is told where HTTPS is.
    let shown = certificates.as_ref().and_then(|opened| opened.as_ref().ok()).cloned();
    let asks = |(accounts, certificates)| Arc::new(Acme::new(accounts, certificates));
    let acme = accounts.clone().zip(shown.clone()).map(asks);
    let house = House {
        accounts: accounts.clone(),
        certificates: shown,
        acme: acme.clone(),
        keeper: config.keeper,
        services: config.services.clone(),
        desk: config.desk.clone(),
        peers: config.peers.clone(),
        shell: config.shell,
    };
    let histories = histories(config.history);
    let app = Shared::new(App::new(appliance, program, config.version, jobs, house, histories));
    if let Some(services) = &config.services {
        let feed = app.feed.clone();
        services.tell(move |event| feed.service(event));
    }
    if let Some(desk) = config.desk {
        let feed = app.feed.clone();
        desk.listen(Box::new(move |event| feed.alert(event)));
    }
    let routes = router(app.clone(), auditor.clone());
    let kept = accounts.clone();
    let web = config.https.map(|HttpsConfig { listener, .. }| {
        let (Some(accounts), Some(auditor), Some(certificates)) = (accounts, auditor, certificates) else {
            return Err("the machine's database could not be opened".to_owned());
        };
        let certificates = certificates?;
        let acme = acme.ok_or("there is nobody to ask for certificates")?;
        let reach = Reach { routes: routes.clone(), accounts: accounts.clone() };
        let front = Front { accounts, certificates: certificates.clone(), auditor: auditor.clone() };
        let routes = routes.clone().layer(Extension(reach)).merge(console_files::files());
        let routes = routes.layer(from_fn_with_state(Arc::new(front), identify));
        let routes = routes.merge(console_files::reports(app.tally.clone()));
        let neighbours = neighbours(&app, config.peers, auditor)?;
        Web::begin((listener, friends), (certificates, acme), (routes, neighbours), BLOCKING_THREADS)
            .map_err(|error| error.to_string())
    });
    if let Some(accounts) = kept {
        runtime.spawn(keep(accounts));
    }
    let events = Arc::downgrade(&app);
    let events = thread::Builder::new().name("events".to_owned()).spawn(move || follow(&events))?;
    let (going, gone) = channel();
    let noting = Arc::downgrade(&app);
    let history = thread::Builder::new().name("history".to_owned());
    let history = history.spawn(move || history::follow(&noting, &gone))?;
    let task = runtime.spawn(take_all(listener, routes, stopped));
    Ok(ApiServer {
        app,
        socket: config.socket,
        stays,
        stop: Some(stop),
        runtime: Some(runtime),
        task: Some(task),
        web,
        writer,
        events: Some(events),
        history: Some((going, history)),
    })
}

/// What was noted before, where that can be read, and what is from now on.
fn histories(config: Option<HistoryConfig>) -> (Option<Recorder>, Option<PaneHistory>) {
    let panes = config.as_ref().and_then(|config| PaneHistory::open(&config.panes));
    (config.and_then(Recorder::open), panes)
}

/// Puts the events of pools into the feed, until that is closed.
fn follow(app: &Weak<App>) {
    let mut last = 0;
    while let Some(app) = app.upgrade().filter(|app| !app.feed.is_closed()) {
        for event in app.engine().diagnostics().zevents(last, EVENTS_PATIENCE) {
            if event.eid != last + 1 {
                app.feed.skip();
            }
            last = event.eid;
            app.feed.pool(event);
        }
    }
}

/// Has the automatic backup follow the accounts, as long as the runtime is there.
async fn keep(accounts: Arc<Accounts>) {
    loop {
        sleep(KEEP).await;
        if let Err(why) = accounts.long(Machine::keep).await {
            tracing::error!(?why, "the automatic backup of accounts was not written");
        }
    }
}

/// Places where somebody was let in before: whoever comes from there is a stranger until he has
/// logged in, no more.
fn friends(machine: &Machine) -> Vec<IpAddr> {
    machine.places().unwrap_or_else(|fault| {
        tracing::error!(%fault, "where people have logged in from is not known");
        Vec::new()
    })
}

fn open_certificates(https: &HttpsConfig, with: &AccountsConfig) -> Result<Arc<Certificates>, String> {
    let (folder, names) = (https.folder.clone(), https.names.clone());
    let opened = Certificates::open(folder, names, with.outside.clone());
    opened.map(Arc::new).map_err(|why| format!("{}: {why}", https.folder.display()))
}

/// Takes who comes by the socket until the sender of `stop` is dropped, and returns when the last
/// connection has ended.
async fn take_all(door: Door, routes: Router, mut stop: watch::Receiver<()>) {
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);
    loop {
        let visitor = tokio::select! {
            visitor = door.accept() => visitor,
            _ = stop.changed() => break,
        };
        let asker = Asker::local(visitor.caller());
        let (routes, stop, alive) = (routes.clone(), stop.clone(), alive.clone());
        tokio::spawn(async move {
            let tell = move |extensions: &mut Extensions| {
                extensions.insert(ConnectInfo(asker.clone()));
            };
            connection::serve(visitor, routes, tell, || true, Manner::Local, stop).await;
            drop(alive);
        });
    }
    drop((door, alive));
    // None is ever sent: it ends when the last connection has let go.
    let _: Option<Infallible> = ended.recv().await;
}

/// Who may connect to a socket, as a mode: its owner alone, or everybody on this machine.
pub const FOR_OWNER: u32 = 0o600;
const FOR_ALL: u32 = 0o666;

/// Binds a socket, replacing one that nobody answers on.
pub fn listen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    if path.exists() {
        if UnixStream::connect(path).is_ok() {
            let text = format!("another daemon answers on {}", path.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
        }
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    Ok(listener)
}

impl ApiServer {
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Mounts what wants to be mounted by itself and isn't, where file systems are
    /// ([`Appliance::auto_mount`]): for the start, when pools are there that nobody has imported
    /// just now. What cannot be is logged. Nothing is mounted before what this gives is called.
    pub fn mount_all(&self) -> impl FnOnce() + Send + use<> {
        let app = self.app.clone();
        move || {
            if !app.appliance.auto_mount {
                return;
            }
            for pool in app.engine().pools() {
                let mounted = app.appliance.mount_all(&pool.name(), &[], false, &mut untold);
                mounted.failed.into_iter().map(failure).for_each(|why| tracing::error!("{why}"));
            }
        }
    }

    /// Where HTTPS is served, or why it is not; `None`: nobody asked for it.
    pub fn https(&self) -> Option<Result<Served, &str>> {
        let served = |web: &Web| Served { address: web.address, fingerprint: web.fingerprint() };
        self.web.as_ref().map(|web| web.as_ref().map(served).map_err(String::as_str))
    }

    /// The certificate of HTTPS; `None`: there is none.
    pub fn certificate(&self) -> impl Fn() -> Option<CertificateInfo> + Send + Sync + use<> {
        // Where HTTPS is off, there is nothing to look at.
        let certificates = self.app.certificates().ok().cloned();
        move || certificates.as_ref().map(|certificates| certificates.info())
    }

    /// What was noted of what the appliance does; `None`: that cannot be read.
    pub fn history(&self) -> impl Fn(&SeriesQuery) -> Option<History> + Send + Sync + use<> {
        let app = Arc::downgrade(&self.app);
        // Why it cannot, who asks by the API is told.
        move |asked| app.upgrade()?.history.as_ref()?.read(asked).ok()
    }

    /// All counts of the appliance as they are now; `None`: the server is gone.
    pub fn statistics(&self) -> impl Fn() -> Option<Statistics> + Send + Sync + use<> {
        let app = Arc::downgrade(&self.app);
        move || {
            let app = app.upgrade()?;
            Some(statistics::of(&app, &statistics::pools(&app)))
        }
    }

    /// What panes of worksheets that have an alert find; an error where that cannot be told.
    /// `None`: the server is gone.
    pub fn watched(&self) -> impl Fn() -> Option<Result<Vec<WatchedPane>, String>> + Send + Sync + use<> {
        let app = Arc::downgrade(&self.app);
        move || Some(watching::watch(&*app.upgrade()?))
    }

    /// Takes no new request, lets those under way end, removes the socket if it is its own.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        self.app.feed.close();
        drop(self.stop.take());
        if let Some(Ok(web)) = self.web.take() {
            web.stop(GRACE);
        }
        if let Some(task) = self.task.take() {
            // A time-out only means that somebody's request is still in the engine; it is left
            // behind.
            let _ = runtime.block_on(async { tokio::time::timeout(GRACE, task).await });
        }
        runtime.shutdown_timeout(GRACE);
        if let Some(writer) = self.writer.take() {
            writer.end(GRACE);
        }
        if let Some((going, history)) = self.history.take() {
            drop(going);
            // Likewise.
            drop(history.join());
        }
        if let Some(events) = self.events.take() {
            // A panic there was logged, and is no reason not to end.
            drop(events.join());
        }
        if !self.stays {
            let _ = std::fs::remove_file(&self.socket);
        }
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.shut_down();
    }
}
