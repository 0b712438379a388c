//! The broker: carries requests out for one user, a connection each.
//!
//! Each connection has a thread, which the kernel may keep for as long as a file system on the path
//! of a request does not answer; so there are [`MOST`] of them, and whoever comes then is told.
//! Whoever is not there any more for his answer has nothing mounted.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, Builder};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::Backlog;

use crate::answer::Answer;
use crate::carry::Carry;
use crate::fault::Fault;
use crate::flags::Flags;
use crate::guard::Client;
use crate::here::Here;
use crate::protocol::{self, REQUEST_MOST, Refusal};
use crate::request::{How, Request};
use crate::socket::Socket;

/// Requests at a time. A daemon has one for each mount that is being made or taken away.
const MOST: usize = 64;
/// Connections that wait to be taken.
const WAITING: i32 = 64;
/// How long a client may take to send its request, and to make room for its answer.
const HURRY: Duration = Duration::from_secs(5);
/// How long nobody is taken where there are no descriptors left.
const BREATHE: Duration = Duration::from_millis(100);

/// Listens at a path of its own.
///
/// # Errors
/// The operating system's.
pub fn listen(path: &Path) -> io::Result<OwnedFd> {
    let waiting = Backlog::new(WAITING)?;
    Socket::listen(path, waiting).map(OwnedFd::from)
}

/// See the module.
pub struct Service {
    listener: Socket,
    /// The user who may ask.
    user: u32,
    forced: Flags,
    /// One for each request that is being carried out, beside this one.
    slots: Arc<()>,
}

impl Service {
    /// Serves `user`; every mount gets the options in `forced`, too.
    pub fn new(listener: OwnedFd, user: u32, forced: Flags) -> Service {
        Service { listener: listener.into(), user, forced, slots: Arc::default() }
    }

    /// Serves, until the listening socket fails.
    pub fn run(&self) -> io::Error {
        loop {
            match self.listener.accept() {
                Ok(socket) => self.take(socket),
                Err(Errno::EINTR | Errno::ECONNABORTED) => {}
                Err(Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM) => thread::sleep(BREATHE),
                Err(errno) => return errno.into(),
            }
        }
    }

    /// A connection gets a thread, where its user may ask and there is one left.
    fn take(&self, socket: Socket) {
        let refuse = |refusal| drop(socket.send(&protocol::refusal(refusal), None));
        let client = match self.client(&socket) {
            Ok(Some(client)) => client,
            Ok(None) => return refuse(Refusal::Stranger),
            Err(error) => return tracing::warn!(%error, "a connection is not served"),
        };
        if Arc::strong_count(&self.slots) > MOST {
            return refuse(Refusal::Busy);
        }
        let slot = self.slots.clone();
        let serve = move || {
            if let Err(error) = serve(&socket, client) {
                tracing::debug!(%error, "a client has gone, or said nothing");
            }
            drop(slot);
        };
        if let Err(error) = Builder::new().name("broker".into()).spawn(serve) {
            tracing::warn!(%error, "a connection is not served");
        }
    }

    /// `None`: a user who may not ask.
    fn client(&self, socket: &Socket) -> io::Result<Option<Client>> {
        socket.send_within(HURRY)?;
        socket.receive_within(HURRY)?;
        let (uid, gid) = socket.peer()?;
        if uid != self.user {
            tracing::warn!(uid, "asks, and is not served");
            return Ok(None);
        }
        Ok(Some(Client { uid, gid, forced: self.forced }))
    }
}

/// One request, and its answer.
fn serve(socket: &Socket, client: Client) -> io::Result<()> {
    let mut room = [0; REQUEST_MOST + 1];
    let len = socket.receive(&mut room)?;
    if len == 0 {
        return Ok(());
    }
    // One that is longer than the room fills it, and none that is right does.
    let request = match protocol::read_request(&room[..len]) {
        Ok(request) => request,
        Err(refusal) => {
            tracing::warn!(?refusal, "a request makes no sense");
            return socket.send(&protocol::refusal(refusal), None);
        }
    };
    let here = Here::of_client(client);
    let answer = here.carry_out(&request);
    note(&request, &answer);
    let device = match &answer {
        Ok(Answer::Mounted(mounted)) => Some(mounted.device.as_fd()),
        _ => None,
    };
    let sent = socket.send(&protocol::answer(&answer), device);
    if let (Ok(Answer::Mounted(mounted)), Err(_)) = (&answer, &sent) {
        let undo = Request::Unmount { at: mounted.at.clone(), how: How::Lazily };
        note(&undo, &here.carry_out(&undo));
    }
    sent
}

/// What is changed about mounts is in the log, and what the broker refuses by itself.
fn note(request: &Request, answer: &Result<Answer, Fault>) {
    let is_change = matches!(
        request,
        Request::Mount(_) | Request::Remount { .. } | Request::Unmount { .. } | Request::Cut { .. }
    );
    match answer {
        Err(fault @ (Fault::Kept | Fault::Link | Fault::NotOurs)) => {
            tracing::warn!(?request, ?fault, "refused");
        }
        // Whoever asked says so, where it matters.
        Err(fault) => tracing::debug!(?request, ?fault, "cannot be done"),
        Ok(_) if is_change => tracing::info!(?request, "done"),
        Ok(_) => tracing::debug!(?request, "done"),
    }
}

#[cfg(test)]
mod tests;
