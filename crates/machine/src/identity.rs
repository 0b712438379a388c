//! Who has been let in, and by what.

use api_types::Role;

/// Who has been let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub user: String,
    pub uid: u32,
    /// The lesser of the user's and the token's.
    pub role: Role,
    pub by: Credential,
    /// Of a token that may act only at this dataset or below it.
    pub dataset: Option<String>,
}

/// By what.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// `csrf` is what each request that changes something has to repeat.
    Session {
        id: u64,
        csrf: String,
    },
    Token {
        id: u64,
        name: String,
    },
    /// A shell that this session has opened, and that is good for as much as it.
    Shell {
        session: u64,
    },
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Credential::Session { id, .. } => write!(f, "Session {id}"),
            Credential::Token { id, name } => write!(f, "Token {id} {name:?}"),
            Credential::Shell { session } => write!(f, "Shell of session {session}"),
        }
    }
}
