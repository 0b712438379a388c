//! The daemon, as commands ask it: over its Unix socket, or by HTTPS where it is on another
//! machine. Whoever asks waits. A connection is used again for what is asked soon after and changes
//! nothing.
//!
//! Invariants: an answer and the silence before it are bounded; a stream is never held as a whole;
//! no thread is started but one that reads the input of a stream.

mod exchange;
mod flow;
mod given;
mod line;
mod listen;
mod remote;
mod tls;

use crate::fail::Stop;
use api_types::{LogIn, LoggedIn, Problem, kind, routes};
use exchange::{Answer, Channel, Outgoing};
use given::Given;
use hyper::header::{CONTENT_TYPE, ETAG, HOST, HeaderMap, HeaderValue, IF_MATCH};
use hyper::{Method, Request};
use line::{Line, Transport};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use stdx::os_error::words;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// Largest answer taken: a list of a million datasets with all their properties does not come here
/// in one piece.
const ANSWER_MAX: usize = 1 << 30;
/// Longest silence of the daemon. It answers at once or with a job, but a list may have to read
/// much from slow disks.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// How long a connection waits for the next request: far less than a daemon lets it rest.
const KEPT: Duration = Duration::from_secs(2);

pub use flow::Piece;
pub use remote::{Address, Credential, Remote, Unreached};
pub use tls::{Trust, fingerprint};

/// Where the daemon listens: `$CISTERN_SOCKET`, or the first of the usual places that is there.
pub fn default_socket() -> PathBuf {
    if let Some(path) = std::env::var_os("CISTERN_SOCKET").filter(|path| !path.is_empty()) {
        return PathBuf::from(path);
    }
    let here = ["var", "/run/cistern"].map(PathBuf::from);
    let usual = here.into_iter().chain([default_state(false), default_state(true)]);
    let found = usual.map(|state| state.join("cistern.sock")).find(|socket| socket.exists());
    found.unwrap_or_else(|| default_state(true).join("cistern.sock"))
}

/// Where the daemon keeps its state unless it is told: of a user's own below `$XDG_STATE_HOME`,
/// which is `~/.local/state`.
pub fn default_state(is_root: bool) -> PathBuf {
    let of_system = PathBuf::from("/var/lib/cistern");
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_user = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    match of_user {
        Some(folder) if !is_root => folder.join("cistern"),
        _ => of_system,
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum CallError {
    /// Nobody listens, or it does not speak our language.
    Transport(String),
    Refused(Problem),
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Stop {
        match error {
            CallError::Transport(text) => Stop::Fail(text),
            CallError::Refused(problem) if problem.exit == 2 => {
                Stop::Fail(format!("internal error: {problem}"))
            }
            CallError::Refused(problem) => Stop::Fail(problem.to_string()),
        }
    }
}

impl CallError {
    /// The problem, or the end of the command where there was no answer at all.
    pub fn problem(self) -> Result<Problem, Stop> {
        match self {
            CallError::Refused(problem) if problem.kind != kind::BAD_REQUEST => Ok(problem),
            other => Err(other.into()),
        }
    }
}

#[derive(Clone, Debug)]
enum Place {
    Socket(PathBuf),
    /// That of this machine, for a process that has no files.
    Given(Given),
    Remote(Box<Remote>),
}

/// A connection that was just made.
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// The daemon, by where it listens.
#[derive(Clone, Debug)]
pub struct Client {
    place: Place,
    silence_max: Duration,
    /// Ends a request that takes longer.
    patience: Option<Duration>,
    /// Ends whatever is waited for, when it becomes true.
    interrupt: Option<watch::Receiver<bool>>,
    /// Is made by the first request; copies of a client have one.
    runtime: Arc<OnceLock<Runtime>>,
    /// The channel of the last answer, and when that had come.
    kept: Arc<Mutex<Option<(Channel, Instant)>>>,
}

impl Client {
    pub fn new(socket: &Path) -> Client {
        Client::at(Place::Socket(socket.to_owned()))
    }

    /// The daemon at the other end of a line, which hands connections over.
    pub fn given(line: OwnedFd) -> Client {
        Client::at(Place::Given(Given::new(line)))
    }

    pub fn remote(remote: Remote) -> Client {
        Client::at(Place::Remote(Box::new(remote)))
    }

    fn at(place: Place) -> Client {
        Client {
            place,
            silence_max: SILENCE_MAX,
            patience: None,
            interrupt: None,
            runtime: Arc::default(),
            kept: Arc::default(),
        }
    }

    /// The same daemon, whose answers are waited for until that becomes true.
    pub fn until(&self, interrupt: watch::Receiver<bool>) -> Client {
        Client { interrupt: Some(interrupt), ..self.clone() }
    }

    /// The same daemon, which is to have answered after so long.
    pub fn within(&self, patience: Duration) -> Client {
        Client { patience: Some(patience), ..self.clone() }
    }

    /// Does nothing for so long, or until it is interrupted.
    pub fn pause(&self, time: Duration) -> Result<(), CallError> {
        self.wait(async {
            tokio::time::sleep(time).await;
            Ok(())
        })
    }

    /// Its socket; `None` where it is on another machine, or this process has no files.
    pub fn socket(&self) -> Option<&Path> {
        match &self.place {
            Place::Socket(path) => Some(path),
            Place::Given(_) | Place::Remote(_) => None,
        }
    }

    /// The other machine that it is on.
    pub fn host(&self) -> Option<&Address> {
        match &self.place {
            Place::Socket(_) | Place::Given(_) => None,
            Place::Remote(remote) => Some(remote.address()),
        }
    }

    /// Stops where things of the daemon's machine cannot be seen, which `what` looks at.
    pub fn must_be_here(&self, what: &str) -> Result<(), Stop> {
        match &self.place {
            Place::Socket(_) => Ok(()),
            Place::Given(_) => Err(Stop::Fail(format!(
                "'{what}' looks at files or devices of the machine, and this shell has none: \
                 run it on the machine itself"
            ))),
            Place::Remote(remote) => Err(Stop::Fail(format!(
                "'{what}' is about this machine, and the daemon is on another one, {}: run it there",
                remote.address()
            ))),
        }
    }

    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CallError> {
        self.get_tagged(path).map(|(_, answer)| answer)
    }

    /// With the tag of what was answered, for [`Client::post_if`].
    pub fn get_tagged<T: DeserializeOwned>(&self, path: &str) -> Result<(Option<HeaderValue>, T), CallError> {
        let request = self.request(Method::GET, path, Outgoing::whole(Vec::new()))?;
        self.call(request).map(|(headers, answer)| (headers.get(ETAG).cloned(), answer))
    }

    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, CallError> {
        self.post_if(path, body, None)
    }

    /// Refused where what can be set of the thing is not as this tag says any more.
    pub fn post_if<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        tag: Option<HeaderValue>,
    ) -> Result<T, CallError> {
        let body = serde_json::to_vec(body).map_err(|error| CallError::Transport(error.to_string()))?;
        let mut request = self.request(Method::POST, path, Outgoing::whole(body))?;
        if let Some(tag) = tag {
            request.headers_mut().insert(IF_MATCH, tag);
        }
        self.call(request).map(|(_, answer)| answer)
    }

    /// Begins a session on another machine; the client that comes back is in it.
    pub fn log_in(&self, request: &LogIn) -> Result<(LoggedIn, Client), CallError> {
        let Place::Remote(remote) = &self.place else {
            return Err(CallError::Transport("a daemon of this machine is asked without a login".into()));
        };
        let body = serde_json::to_vec(request).map_err(|error| CallError::Transport(error.to_string()))?;
        let bare =
            Client { place: Place::Remote(Box::new(remote.with(Credential::Nothing))), ..self.clone() };
        let request = bare.request(Method::POST, routes::LOGIN, Outgoing::whole(body))?;
        let (headers, answer) = bare.call::<LoggedIn>(request)?;
        let session = Credential::of_session(&headers, &answer.csrf.0).ok_or_else(|| {
            CallError::Transport("the Cistern daemon begins a session without a cookie".into())
        })?;
        let place = Place::Remote(Box::new(remote.with(session)));
        Ok((answer, Client { place, ..self.clone() }))
    }

    fn call<T: DeserializeOwned>(&self, request: Request<Outgoing>) -> Result<(HeaderMap, T), CallError> {
        self.wait(async {
            let mut answer = match self.take_kept() {
                Some(channel) if request.method() == Method::GET => self.ask_again(channel, request).await?,
                _ => self.ask(request).await?,
            };
            if !answer.status.is_success() {
                return Err(self.refused(&mut answer).await);
            }
            let bytes = self.whole(&mut answer).await?;
            let headers = std::mem::take(&mut answer.headers);
            self.keep(answer);
            Ok((headers, serde_json::from_slice(&bytes).map_err(|error| odd(&error))?))
        })
    }

    /// Sends a request by a new connection, and waits for the head of its answer.
    async fn ask(&self, request: Request<Outgoing>) -> Result<Answer, CallError> {
        let stream = self.reach().await?;
        let line = self.line(stream).await?;
        let channel = Channel::over(line).await.map_err(|error| self.lost(&error))?;
        channel.send(request, self.silence_max).await.map_err(|error| self.lost(&error))
    }

    /// Sends a GET by a channel that was used before. The daemon may have closed that since: then
    /// it is sent by another one, for it changes nothing. Whether a change has gone out by a closed
    /// channel nobody would know, so a change has a channel of its own.
    async fn ask_again(&self, channel: Channel, request: Request<Outgoing>) -> Result<Answer, CallError> {
        let mut again = Request::new(Outgoing::whole(Vec::new()));
        (*again.uri_mut(), *again.headers_mut()) = (request.uri().clone(), request.headers().clone());
        match channel.send(request, self.silence_max).await {
            Ok(answer) => Ok(answer),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(self.lost(&error)),
            Err(_) => self.ask(again).await,
        }
    }

    /// The channel of an answer that came a short while ago.
    fn take_kept(&self) -> Option<Channel> {
        // Plain data: a panic elsewhere can't have left it half-changed.
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.filter(|(_, since)| since.elapsed() < KEPT).map(|(channel, _)| channel)
    }

    fn keep(&self, answer: Answer) {
        let channel = answer.into_channel().map(|channel| (channel, Instant::now()));
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = channel;
    }

    fn request(&self, method: Method, path: &str, body: Outgoing) -> Result<Request<Outgoing>, CallError> {
        let unsendable = |error: hyper::http::Error| {
            CallError::Transport(format!("'{path}' cannot be asked for: {error}"))
        };
        let mut request = Request::builder().method(method).uri(path).body(body).map_err(unsendable)?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let known = match &self.place {
            Place::Socket(_) | Place::Given(_) => {
                headers.insert(HOST, HeaderValue::from_static("cistern"));
                Some(())
            }
            Place::Remote(remote) => {
                HeaderValue::from_str(&remote.address().to_string()).ok().and_then(|host| {
                    headers.insert(HOST, host);
                    remote.headers(headers)
                })
            }
        };
        match known {
            Some(()) => Ok(request),
            None => Err(CallError::Transport("the token has characters that no token has".into())),
        }
    }

    async fn whole(&self, answer: &mut Answer) -> Result<Vec<u8>, CallError> {
        answer.whole(ANSWER_MAX, self.silence_max).await.map_err(|error| self.lost(&error))
    }

    /// The problem that an answer is.
    async fn refused(&self, answer: &mut Answer) -> CallError {
        let bytes = match self.whole(answer).await {
            Ok(bytes) => bytes,
            Err(error) => return error,
        };
        let problem: Problem = match serde_json::from_slice(&bytes) {
            Ok(problem) => problem,
            Err(error) => return odd(&error),
        };
        match &self.place {
            Place::Remote(remote) if remote.has_token() && problem.kind == kind::UNAUTHENTICATED => {
                let at = remote.address();
                CallError::Transport(format!(
                    "{at} does not take the token any more: it has expired, was removed, or its account was disabled.\n\
                     Run 'cistern login {at}' again."
                ))
            }
            _ => CallError::Refused(problem),
        }
    }

    /// Waits for the end of it, or of our patience.
    fn wait<T, E: From<CallError>>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let told = async {
            match self.interrupt.clone() {
                Some(mut interrupt) => interrupt.wait_for(|is_told| *is_told).await.map(drop),
                None => std::future::pending().await,
            }
        };
        let late = async {
            match self.patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        };
        self.runtime()?.block_on(async {
            tokio::select! {
                biased;
                Ok(()) = told => Err(interrupted().into()),
                () = late => Err(self.lost(&io::ErrorKind::TimedOut.into()).into()),
                done = work => done,
            }
        })
    }

    fn runtime(&self) -> Result<&Runtime, CallError> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let made = Builder::new_current_thread().enable_io().enable_time().build();
        let none =
            |error: io::Error| CallError::Transport(format!("cannot wait for the daemon: {}", words(&error)));
        let made = made.map_err(none)?;
        Ok(self.runtime.get_or_init(|| made))
    }

    /// Connects, and waits until somebody has taken the connection.
    async fn reach(&self) -> Result<Stream, CallError> {
        match &self.place {
            Place::Socket(path) => {
                let connected = UnixStream::connect(path).and_then(|stream| {
                    stream.set_nonblocking(true)?;
                    Ok(Stream::Unix(stream))
                });
                connected.map_err(|error| unreachable_at(path, &error))
            }
            Place::Given(line) => {
                let connected = line.connect().and_then(|stream| {
                    stream.set_nonblocking(true)?;
                    Ok(Stream::Unix(stream))
                });
                connected.map_err(|error| self.lost(&error))
            }
            Place::Remote(remote) => {
                remote.reach().await.map(Stream::Tcp).map_err(|why| unreached(remote, &why))
            }
        }
    }

    async fn line(&self, stream: Stream) -> Result<Line, CallError> {
        match (stream, &self.place) {
            (Stream::Unix(stream), _) => {
                let stream = tokio::net::UnixStream::from_std(stream).map_err(|error| self.lost(&error))?;
                Ok(Line::new(Transport::Unix(stream)))
            }
            (Stream::Tcp(stream), Place::Remote(remote)) => {
                remote.secure(stream).await.map_err(|why| unreached(remote, &why))
            }
            (Stream::Tcp(_), Place::Socket(_) | Place::Given(_)) => {
                Err(self.lost(&io::ErrorKind::NotConnected.into()))
            }
        }
    }

    fn lost(&self, error: &io::Error) -> CallError {
        let at = self.host().map(|host| format!(" at {host}")).unwrap_or_default();
        CallError::Transport(format!("lost the Cistern daemon{at} while it worked: {}", words(error)))
    }
}

/// Whose certificate a machine at that address shows. Nothing is sent there.
pub fn look(address: &Address) -> Result<Trust, CallError> {
    let failed = |why: &Unreached| CallError::Transport(why.sentence(address));
    let remote =
        Remote::new(address.clone(), Trust::System, Credential::Nothing).map_err(|why| failed(&why))?;
    let client = Client::remote(remote);
    let Place::Remote(remote) = &client.place else { return Ok(Trust::System) };
    match client.runtime()?.block_on(async { remote.secure(remote.reach().await?).await }) {
        Ok(_) => Ok(Trust::System),
        Err(Unreached::Untrusted { seen, .. }) => Ok(Trust::Known(seen)),
        Err(why) => Err(failed(&why)),
    }
}

fn interrupted() -> CallError {
    CallError::Transport("interrupted; what the daemon has begun goes on there".into())
}

fn odd(error: &serde_json::Error) -> CallError {
    CallError::Transport(format!("the Cistern daemon answers in a way we don't understand: {error}"))
}

fn unreached(remote: &Remote, why: &Unreached) -> CallError {
    CallError::Transport(why.sentence(remote.address()))
}

fn unreachable_at(socket: &Path, error: &io::Error) -> CallError {
    let socket = socket.display();
    CallError::Transport(match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("permission denied: the Cistern daemon's socket {socket} belongs to another user")
        }
        _ => format!(
            "The Cistern daemon is not running (no answer on {socket}: {}).\n\
             Start it with 'cistern serve --state DIR', or set CISTERN_SOCKET to its socket, DIR/cistern.sock.",
            words(error)
        ),
    })
}

#[cfg(test)]
mod tests;
