//! What surrounds one call, for the programs that carry it out.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::sync::Arc;

use engine_api::Promise;
use sunrpc::msg::Credential;

use crate::shares::{Shares, Table};
use crate::stats::Counters;

/// One call's surroundings.
pub struct Context<'a> {
    pub client: SocketAddr,
    pub credential: Credential,
    pub(crate) shares: &'a Shares,
    pub(crate) table: Arc<Table>,
    pub(crate) counters: &'a Counters,
    pub(crate) promises: RefCell<Vec<Promise>>,
    /// Nothing is said: the client asks again.
    pub(crate) is_unanswered: Cell<bool>,
}

impl Context<'_> {
    /// The answer may leave when this is kept.
    pub(crate) fn answer_after(&self, promise: Promise) {
        self.promises.borrow_mut().push(promise);
    }
}
