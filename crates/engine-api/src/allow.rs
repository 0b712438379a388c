//! Delegated permissions: what users who are no administrators may do with a dataset.

/// Whom permissions are for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grantee {
    User(u64),
    Group(u64),
    Everyone,
    /// Who makes a dataset below gets them there.
    Creator,
    /// What a set has; its name begins with '@'.
    Set(String),
}

/// Permissions that are given to, or taken from, somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub who: Grantee,
    /// Of users, groups and everyone: for the dataset itself, and for those below it.
    pub local: bool,
    pub descendent: bool,
    /// Names of permissions, and of sets with their '@'. `None`: all that there is to take back.
    pub permissions: Option<Vec<String>>,
}

/// What is delegated at a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegation {
    pub dataset: String,
    pub grants: Vec<Grant>,
}
