//! Who asks: the user of the program at the other end of the socket, as the kernel says it
//! (SO_PEERCRED, SO_PEERGROUPS).
//!
//! A connection is one program's. Its user goes with each of its requests, and with the work that
//! these start on blocking threads: into the histories of pools, and to where it is decided what
//! may be done (`engine`'s `rights`).

use crate::door::Door;
use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use std::sync::Arc;
use stdx::behalf::{self, Actor, Way};

/// The user of a connection.
#[derive(Clone, Debug)]
pub struct Asker(pub Arc<Actor>);

impl Connected<IncomingStream<'_, Door>> for Asker {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Asker {
        Asker(stream.io().caller())
    }
}

const NOBODY: u32 = 65534;

tokio::task_local!(static ASKER: Asker);

/// Has it known who asks while something is done.
pub async fn known<T>(asker: Asker, work: impl Future<Output = T>) -> T {
    ASKER.scope(asker, work).await
}

/// Who asks in this task. Where that is not known, it is nobody who may do anything.
pub fn asker() -> Arc<Actor> {
    let nobody = || {
        let (groups, way) = (vec![NOBODY], Way::Management);
        Arc::new(Actor { user: NOBODY, groups, is_administrator: false, way })
    };
    ASKER.try_with(|asker| asker.0.clone()).unwrap_or_else(|_| nobody())
}

/// Work for another thread, to be done for who asks in this task.
pub fn on_behalf<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let asker = asker();
    move || behalf::on_behalf_of(asker, work)
}
