//! Why something was not done, as data: what failed, and what was refused.
//!
//! Texts in [`Fault`] are for the log. Nothing decides by them.

use std::fmt;
use std::io;
use std::path::Path;

use api_types::SecondFactors;
use rusqlite::ErrorCode;

/// What failed below: the disk, the file, or this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The operating system refused something, memory among it. Says which file, and why.
    Io(String),
    /// The file is no database of ours, or its contents contradict each other.
    Damaged(String),
    /// The disk is full. Nothing was changed.
    Full,
    /// Another process has the database open.
    Busy,
    /// A newer version of the program wrote the database.
    NewerVersion { found: u32, known: u32 },
    /// SQLite refused a statement for a reason that only a defect of this crate explains.
    Defect(String),
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameFault {
    Empty,
    TooLong,
    /// A user's name begins with a letter of a-z or `_`.
    BadStart,
    BadCharacter,
}

/// What is wrong with a new password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordFault {
    /// Fewer than 10 characters.
    TooShort,
    /// More than 1,024 bytes.
    TooLong,
    /// Has a character NUL.
    Nul,
}

/// What is wrong with a security key that is to be kept, or with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFault {
    /// It is not what a browser sends, or too long.
    Unreadable,
    /// Its challenge was not drawn for that, was answered, or is older than five minutes.
    NoChallenge,
    /// It was made for another site, or in a page that another site shows.
    OtherSite,
    /// Nobody was there to touch it.
    NobodyThere,
    /// It signs in a way that is not taken.
    Algorithm,
    /// Another key has signed.
    Signature,
}

/// Which bound is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Users,
    /// Tokens of one user.
    Tokens,
    /// Numbers for users.
    Uids,
    /// Security keys of one user.
    Keys,
    /// Routes that alerts are told by.
    Routes,
    Peers,
    Worksheets,
    /// Panes of a worksheet, and bytes of them.
    Panes,
    /// Panes that have an alert, of all worksheets.
    PanesWatched,
}

/// Why a request was refused. No variant tells a stranger whether an account exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Name, password, second factor or code is wrong; which of them is not told.
    Wrong,
    /// The password is right, and a second factor was not given. The account has these.
    SecondFactorNeeded(Box<SecondFactors>),
    /// The password is right, and so is a security key's signature, but its counter, which was
    /// `kept`, has gone back: there may be a copy of the key.
    CounterWentBack {
        key: u64,
        kept: u32,
        shown: u32,
    },
    /// Too many tries failed. The next one is looked at after this many seconds.
    Throttled {
        seconds: u64,
    },
    /// Too many passwords are being checked.
    TooBusy,
    Exists,
    NotFound,
    BadName(NameFault),
    BadPassword(PasswordFault),
    BadKey(KeyFault),
    /// A number that no account may be given: 0, and those above 2,100,000,000.
    BadUid,
    /// Another account has this number, or had it.
    UidTaken,
    /// A token that would have expired already.
    BadExpiry,
    /// A token that would outlive the one that makes it.
    OutlivesMaker,
    /// A token whose role is above that of its user.
    AboveUser,
    /// No administrator who can log in would be left.
    LastAdministrator,
    /// There is no first code: none was made, it was used, or there is an administrator.
    NoFirstCode,
    TooMany(Limit),
    Fault(Fault),
}

impl Fault {
    /// What the operating system said of a file.
    pub(crate) fn io(path: &Path, error: &io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Fault::Full,
            _ => Fault::Io(format!("{}: {error}", path.display())),
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        use rusqlite::Error as Sql;
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Fault::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Fault::Damaged(text),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Fault::Busy,
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport,
            ) => Fault::Io(text),
            Some(_) => Fault::Defect(text),
            None => match error {
                Sql::FromSqlConversionFailure(..)
                | Sql::IntegralValueOutOfRange(..)
                | Sql::InvalidColumnType(..)
                | Sql::Utf8Error(..) => Fault::Damaged(text),
                _ => Fault::Defect(text),
            },
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Io(text) => write!(f, "the machine's database cannot be read or written: {text}"),
            Fault::Damaged(text) => write!(f, "the machine's database is damaged: {text}"),
            Fault::Full => write!(f, "the disk with the machine's database is full"),
            Fault::Busy => write!(f, "another process has the machine's database open"),
            Fault::NewerVersion { found, known } => write!(
                f,
                "the machine's database is of version {found}, and this program knows up to version {known}"
            ),
            Fault::Defect(text) => write!(f, "a defect of the program: {text}"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for Denied {
    fn from(fault: Fault) -> Denied {
        Denied::Fault(fault)
    }
}

impl From<NameFault> for Denied {
    fn from(fault: NameFault) -> Denied {
        Denied::BadName(fault)
    }
}

impl From<rusqlite::Error> for Denied {
    fn from(error: rusqlite::Error) -> Denied {
        Denied::Fault(error.into())
    }
}
