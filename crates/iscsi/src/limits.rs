//! Every limit of the server in one place.

use std::time::Duration;

/// Bytes of data in one PDU that we take: our MaxRecvDataSegmentLength.
pub const SEGMENT: usize = 256 << 10;
/// The same before that is negotiated (RFC 7143 13.12).
pub const DEFAULT_SEGMENT: usize = 8192;
/// Largest sequence of data PDUs, and the part of it that comes unasked.
pub const BURST: usize = 1 << 20;
pub const FIRST_BURST: usize = 256 << 10;
/// Bytes of additional headers.
pub const EXTRA_HEADERS: usize = 255 * 4;
/// Bytes that one command may bring.
pub const COMMAND: usize = 16 << 20;
/// Bytes that a connection may have been granted, and have not yet arrived or not yet been worked on.
pub const GRANTED: usize = 32 << 20;
/// Commands that an initiator may have outstanding in a session.
pub const WINDOW: u32 = 128;
/// Threads that work on one connection's commands.
pub const CREW: usize = 32;
/// A thread that had nothing to do for this long ends.
pub const IDLE_THREAD: Duration = Duration::from_secs(5);
/// Stack of such a thread.
pub const THREAD_STACK: usize = 512 << 10;
/// Bytes of text in one negotiation, its keys, and the rounds of a login.
pub const TEXT: usize = 64 << 10;
pub const KEYS: usize = 256;
pub const LOGIN_ROUNDS: usize = 32;
/// A login must be done in this time, and a PDU whole this long after its beginning.
pub const LOGIN_TIME: Duration = Duration::from_secs(15);
pub const STALL: Duration = Duration::from_secs(60);
/// A connection on which nothing was heard for this long is asked whether it lives.
pub const SILENCE: Duration = Duration::from_secs(30);
/// How long who fails to authenticate is kept waiting.
pub const PENALTY: Duration = Duration::from_secs(1);
/// Connections beyond are refused.
pub const CONNECTIONS: usize = 4096;
/// How long a session that is begun anew waits for the old one to be gone, and `stop` for connections to finish.
pub const DRAIN: Duration = Duration::from_secs(5);
