//! Every limit of the server in one place.

use std::time::Duration;

/// Bytes of data in one PDU that we take: our MaxRecvDataSegmentLength.
pub const SEGMENT: usize = 256 << 10;
/// The same before that is negotiated (RFC 7143 13.12).
pub const DEFAULT_SEGMENT: usize = 8192;
/// Largest sequence of data PDUs, and the part of it that comes unasked.
pub const BURST: usize = 1 << 20;
pub const FIRST_BURST: usize = 256 << 10;
/// Bytes of the buffer that a connection is read into. What is longer is not copied.
pub const BUFFER: usize = 64 << 10;
/// Commands that a reader does before it sends their answers, though more have arrived, and bytes
/// of those answers: so the initiator has something to do meanwhile.
pub const BATCH: usize = 16;
pub const BATCH_BYTES: usize = 128 << 10;
/// Bytes from which on a command is a long one.
pub const LONG: usize = 64 << 10;
/// Bytes of additional headers.
pub const EXTRA_HEADERS: usize = 255 * 4;
/// Bytes that one command may bring.
pub const COMMAND: usize = 16 << 20;
/// Bytes that a connection may have been granted, and have not yet arrived or not yet been worked
/// on.
pub const GRANTED: usize = 32 << 20;
/// Commands that an initiator may have outstanding in a session.
pub const WINDOW: u32 = 128;
/// Connections of one session.
pub const CONNECTIONS_A_SESSION: usize = 8;
/// How long a command waits for those before it, which other connections of its session bring.
pub const TURN: Duration = Duration::from_secs(15);
/// Threads that work on one session's commands.
pub const CREW: usize = 32;
/// A thread that had nothing to do for this long ends.
pub const IDLE_THREAD: Duration = Duration::from_secs(5);
/// Stack of such a thread.
pub const THREAD_STACK: usize = 512 << 10;
/// Bytes of text in one negotiation, its keys, and the rounds of a login.
pub const TEXT: usize = 16 << 10;
pub const KEYS: usize = 256;
pub const LOGIN_ROUNDS: usize = 32;
/// A login must be done in this time.
pub const LOGIN_TIME: Duration = Duration::from_secs(15);
/// A connection on which nothing was heard for this long is asked whether it lives; in the middle
/// of a PDU it ends.
pub const SILENCE: Duration = Duration::from_secs(30);
/// How long who fails to authenticate is kept waiting; how often that may be tried from one place
/// at once, and then once in that time; and places of which that is remembered.
pub const PENALTY: Duration = Duration::from_secs(1);
pub const TRIES: u32 = 8;
pub const GUARDED: usize = 4096;
/// Connections, in all and from one address: for more, others that are silent end. An initiator has
/// a session with each target, and each volume may be one: so one address may have many.
pub const CONNECTIONS: usize = 2048;
pub const FROM_ONE_PLACE: usize = 1024;
/// Bytes that an answer without data may come to.
pub const SHORT_ANSWER: usize = 512;
/// Bytes that one command reads at the most.
pub const MOST_READ: usize = 8 << 20;
/// How long a session that is begun anew waits for the old one to be gone, and `stop` for
/// connections to finish.
pub const DRAIN: Duration = Duration::from_secs(5);
/// The part of that in which initiators are told that the server stops.
pub const PARTING: Duration = Duration::from_millis(500);
/// How often somebody looks whether what is served has changed, and how long a session may see
/// nothing before it is asked to log out: datasets come and go when they are rolled back or
/// received.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);
pub const BLIND: Duration = Duration::from_secs(1);
/// In seconds: in what time it is to do so, and how long an initiator is to wait before it tries
/// again.
pub const LOG_OUT: u16 = 3;
pub const TRY_AGAIN: u16 = 2;
/// Initiators without a session that are still counted one by one; those beyond are counted
/// together.
pub const COUNTED_INITIATORS: usize = 1024;
