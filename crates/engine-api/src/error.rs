//! The one error of the engine's interface: few variants, each asking something different of the
//! caller.

use refusal::Refused;

/// Result of every engine call.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the engine refused. Each protocol maps it, without a catch-all arm, in exactly one place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No such name, object, dataset, pool or attribute.
    NotFound,
    /// The name is taken.
    Exists,
    /// Directory or dataset has entries, children or dependants.
    NotEmpty,
    /// A directory was needed.
    NotDir,
    /// A directory was given where none may be.
    IsDir,
    /// Mode bits or ACL do not allow it (EACCES).
    Denied,
    /// Only the owner or a privileged caller may do it (EPERM).
    NotPermitted,
    /// Pool, dataset or import is read-only.
    ReadOnly,
    /// In use: mounted, open, or another operation runs.
    Busy,
    /// The handle names something that no longer exists.
    Stale,
    /// Name longer than 255 bytes, or dataset name longer than 255.
    NameTooLong,
    /// The pool is full.
    NoSpace,
    /// A quota is reached.
    Quota,
    /// Past the largest file size.
    FileTooLarge,
    /// Too many links to one object.
    TooManyLinks,
    /// Source and target are in different file systems.
    CrossDevice,
    /// The output does not fit in what the caller offered (READDIR, getxattr).
    TooSmall,
    /// The argument makes no sense; says what and, where it helps, what would.
    Invalid(String),
    /// Understood, but not built or not possible here; names it.
    Unsupported(String),
    /// What an administrator asked for is refused.
    Refused(Box<Refused>),
    /// The dataset's encryption key is not loaded.
    KeyNotLoaded,
    /// Every copy of a block is damaged.
    Corrupt { object: u64, block: u64 },
    /// The pool lost more devices than it can; it waits for them.
    Suspended,
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        Error::Refused(Box::new(refused))
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Error::NotFound => "no such object",
            Error::Exists => "already exists",
            Error::NotEmpty => "not empty",
            Error::NotDir => "not a directory",
            Error::IsDir => "is a directory",
            Error::Denied => "permission denied",
            Error::NotPermitted => "operation not permitted",
            Error::ReadOnly => "read-only file system",
            Error::Busy => "busy",
            Error::Stale => "stale file handle",
            Error::NameTooLong => "name is too long",
            Error::NoSpace => "out of space",
            Error::Quota => "disk quota exceeded",
            Error::FileTooLarge => "file too large",
            Error::TooManyLinks => "too many links",
            Error::CrossDevice => "invalid cross-device link",
            Error::TooSmall => "buffer too small",
            Error::Invalid(what) => return write!(f, "invalid argument: {what}"),
            Error::Unsupported(what) => return write!(f, "not supported: {what}"),
            Error::Refused(refused) => return refused.fmt(f),
            Error::KeyNotLoaded => "encryption key not loaded",
            Error::Corrupt { object, block } => {
                return write!(f, "permanent damage in object {object}, block {block}");
            }
            Error::Suspended => "pool I/O is currently suspended",
        };
        f.write_str(text)
    }
}

impl std::error::Error for Error {}
