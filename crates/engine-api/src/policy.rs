//! What the program around an engine has to say about what is asked of its pools.
//!
//! An engine is given its policy when it is made. What comes in through [`crate::Engine`] and
//! [`crate::Pool`] it shows to the policy, which refuses or alters it before anything is done, and
//! hears afterwards of what was done. What the engine does by itself (a step of a receive, a
//! directory made in `.zfs/snapshot`, a note of a volume) is not shown.

use std::fmt::Debug;

use crate::{Change, PropValue, PropertyChange, Result};

/// See the module.
pub trait Policy: Send + Sync + Debug {
    /// Properties that a dataset is about to be given: by `create` of a pool, by a change that
    /// makes a dataset or sets properties of one, by the request of a receive. They may be altered.
    ///
    /// # Errors
    /// `Refused` says why they cannot be given; then nothing is done.
    fn admit(&self, props: &mut [PropertyChange]) -> Result<()>;
    /// A command line as the pool's history gets it.
    fn recorded(&self, command: &str) -> String;
    /// Alters a property of a dataset that is about to be shown.
    fn show(&self, prop: &mut PropValue);
    /// The same for an administrator who asks for what is secret.
    fn reveal(&self, prop: &mut PropValue);
    /// A change is durable. The caller of the change waits until this returns.
    fn committed(&self, change: &Change);
}

/// Of a program that has nothing to say.
#[derive(Debug)]
pub struct NoPolicy;

impl Policy for NoPolicy {
    fn admit(&self, _props: &mut [PropertyChange]) -> Result<()> {
        Ok(())
    }

    fn recorded(&self, command: &str) -> String {
        command.to_owned()
    }

    fn show(&self, _prop: &mut PropValue) {}

    fn reveal(&self, _prop: &mut PropValue) {}

    fn committed(&self, _change: &Change) {}
}
