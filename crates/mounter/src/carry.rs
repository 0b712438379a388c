//! The two ways of doing what is asked for have this in common.

use std::fmt::Debug;

use crate::answer::Answer;
use crate::fault::Fault;
use crate::request::Request;

/// Carries requests out, each with an answer that belongs to it.
pub trait Carry: Debug + Send + Sync {
    fn carry_out(&self, request: &Request) -> Result<Answer, Fault>;
}
