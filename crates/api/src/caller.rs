//! Who asks: the user of the program at the other end of the socket, as the kernel says it (SO_PEERCRED).
//!
//! A connection is one program's. Its user goes with each of its requests, and with the work that these start on blocking
//! threads, into the histories of pools.

use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::Response;
use axum::serve::IncomingStream;
use tokio::net::UnixListener;

/// The user of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Caller(u32);

impl Connected<IncomingStream<'_, UnixListener>> for Caller {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Caller {
        // A kernel that does not tell, which none does: then it was nobody that could be named.
        Caller(stream.io().peer_cred().map_or(NOBODY, |peer| peer.uid()))
    }
}

const NOBODY: u32 = 65534;

tokio::task_local!(static CALLER: Caller);

/// Has the user of its connection known while a request is handled.
pub async fn known(ConnectInfo(caller): ConnectInfo<Caller>, request: Request, next: Next) -> Response {
    CALLER.scope(caller, next.run(request)).await
}

/// Work for another thread, to be done for who asks in this task.
pub fn on_behalf<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let Caller(user) = CALLER.try_with(|caller| *caller).unwrap_or(Caller(NOBODY));
    move || stdx::behalf::on_behalf_of(user, work)
}
