//! The line of a shell: it asks for a connection, and one end of a new one is handed to it.
//!
//! Who sends a request is known by the connection that it comes by, for the daemon has made it for
//! that shell. Nothing is asked of the kernel about the process, so nothing can be mistaken: not
//! for one that has ended, whose number another process has, nor for root. A request is looked at
//! as it comes: the session that opened the shell has to last, and its account counts as it is now.
//!
//! Invariants: a shell has [`CONNECTIONS`] at a time. A request of a shell that is to end, or whose
//! session has ended, is refused, and the shell ends.

use super::Shell;
use super::watched::watched;
use crate::accounts::Accounts;
use crate::caller::Asker;
use crate::connection::{self, Manner};
use crate::problem::refuse;
use api_types::{ShellEnd, kind};
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use nix::sys::socket::{ControlMessage, MsgFlags, recv, sendmsg};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, watch};

/// Connections of one shell.
const CONNECTIONS: usize = 16;
/// Bytes of a message; who sends more means nothing by them.
const MESSAGE: usize = 16;

/// The daemon's end of a line.
pub struct Line(OwnedFd);

/// The same, once a runtime looks after it.
pub struct Watched {
    line: AsyncFd<OwnedFd>,
    places: Arc<Semaphore>,
}

/// What shells may ask, and of whom it is known who they are. It is an extension of requests that
/// have come over HTTPS.
#[derive(Clone)]
pub struct Reach {
    pub routes: Router,
    pub accounts: Arc<Accounts>,
}

impl Line {
    pub fn new(end: OwnedFd) -> Line {
        Line(end)
    }

    /// To be called inside of a runtime.
    pub fn watched(self) -> io::Result<Watched> {
        use nix::fcntl::{FcntlArg, OFlag, fcntl};
        fcntl(&self.0, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Watched { line: watched(self.0)?, places: Arc::new(Semaphore::new(CONNECTIONS)) })
    }
}

impl Watched {
    /// Hands connections over as they are asked for, until nobody has the other end any more.
    /// Connections end when the sender of `stop` is gone.
    pub async fn serve(&self, routes: &Router, stop: &watch::Receiver<()>) {
        let mut message = [0; MESSAGE];
        loop {
            let Ok(mut ready) = self.line.readable().await else { return };
            let asked =
                ready.try_io(|line| Ok(recv(line.as_raw_fd(), &mut message, MsgFlags::MSG_DONTWAIT)?));
            match asked {
                Ok(Ok(0) | Err(_)) => return,
                Ok(Ok(_)) if self.connect(routes, stop).is_err() => return,
                // One was handed over, or nothing was there.
                Ok(Ok(_)) | Err(_) => {}
            }
        }
    }

    /// Makes a connection, serves it, and hands the other end over. Where there is no place, the
    /// answer has none.
    fn connect(&self, routes: &Router, stop: &watch::Receiver<()>) -> io::Result<()> {
        let Ok(place) = self.places.clone().try_acquire_owned() else { return self.answer(&[]) };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let ours = UnixStream::from_std(ours)?;
        self.answer(&[theirs.as_raw_fd()])?;
        let (routes, stop) = (routes.clone(), stop.clone());
        tokio::spawn(async move {
            let _place = place;
            connection::serve(ours, routes, |_| (), || true, Manner::Local, stop).await;
        });
        Ok(())
    }

    /// There is room for it: the shell waits for each answer.
    fn answer(&self, fds: &[RawFd]) -> io::Result<()> {
        let control = [ControlMessage::ScmRights(fds)];
        let control = if fds.is_empty() { &[][..] } else { &control[..] };
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        sendmsg::<()>(self.line.as_raw_fd(), &[IoSlice::new(&[1])], control, flags, None)?;
        Ok(())
    }
}

impl Reach {
    /// All routes, for one shell.
    pub fn to(&self, shell: &Arc<Shell>) -> Router {
        let state = (shell.clone(), self.accounts.clone());
        self.routes.clone().layer(from_fn_with_state(state, identify))
    }
}

/// Lets a request of a shell through as its session's, or refuses it.
async fn identify(
    State((shell, accounts)): State<(Arc<Shell>, Arc<Accounts>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let ended =
        || refuse(kind::UNAUTHENTICATED, "the session that opened this shell has ended").into_response();
    if shell.is_ending() {
        return ended();
    }
    let session = shell.session;
    match accounts.quick(move |machine| machine.of_shell(session)).await {
        Ok(Some(identity)) if shell.is_of(&identity) => {
            request.extensions_mut().insert(ConnectInfo(Asker::known(identity, shell.address)));
            next.run(request).await
        }
        Ok(_) => {
            shell.end(ShellEnd::Session);
            ended()
        }
        Err(why) => why.into_response(),
    }
}
