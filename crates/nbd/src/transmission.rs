//! Requests of a connection that has its volume.
//!
//! Each connection has some threads, and they take turns at reading: who has a whole request lets
//! the next one read, works and answers. So requests overlap without a queue, and no more is in
//! memory than the threads hold.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use analytics::{Observer, Protocol};
use engine_api::{Error, ReadBuf, Seek, Stable};
use sockets::{Lease, Peer, lock};

use crate::handshake::Agreed;
use crate::stats::Stats;
use crate::wire::{
    ALLOCATION_ID, MAX_EXTENTS, MAX_PAYLOAD, Request, SIMPLE_REPLY_MAGIC, STATE_DATA, STATE_HOLE_ZERO,
    STRUCTURED_REPLY_MAGIC, chunk, command, error, take,
};

/// Requests of one connection that are worked on at a time.
const THREADS: usize = 16;
const STACK: usize = 256 << 10;
const BUFFER: usize = 256 << 10;

/// A request with its data, and the lease for that or for what it reads.
struct Taken {
    request: Request,
    data: Vec<u8>,
    lease: Lease,
}

/// What a request comes to.
enum Answer {
    Done,
    Data(ReadBuf),
    /// Lengths and states.
    Extents(Vec<(u32, u32)>),
}

struct Connection<'a> {
    agreed: Agreed,
    peer: Arc<Peer>,
    from: Mutex<BufReader<&'a UnixStream>>,
    to: Mutex<BufWriter<&'a UnixStream>>,
    ended: AtomicBool,
    watching: &'a Watching,
}

/// What is noted of requests.
pub struct Watching {
    pub stats: Arc<Stats>,
    pub observer: Arc<Observer>,
    /// As who looks at requests sees whoever sends them.
    pub client: Arc<str>,
}

/// Until the client goes away, and all that it began is answered.
pub fn serve(stream: &UnixStream, peer: &Arc<Peer>, agreed: Agreed, watching: &Watching) -> io::Result<()> {
    let connection = Connection {
        agreed,
        peer: peer.clone(),
        from: Mutex::new(BufReader::with_capacity(BUFFER, stream)),
        to: Mutex::new(BufWriter::with_capacity(BUFFER, stream)),
        ended: AtomicBool::new(false),
        watching,
    };
    thread::scope(|scope| {
        for _ in 1..THREADS {
            let thread = thread::Builder::new().name("nbd-conn".to_owned()).stack_size(STACK);
            // With fewer of them it is slower, no more; what ends the connection is told by the
            // first.
            if thread.spawn_scoped(scope, || drop(connection.work())).is_err() {
                break;
            }
        }
        connection.work()
    })
}

impl Connection<'_> {
    fn work(&self) -> io::Result<()> {
        let worked = self.try_work();
        self.ended.store(true, Ordering::SeqCst);
        worked
    }

    fn try_work(&self) -> io::Result<()> {
        while let Some(Taken { request, data, lease: _lease }) = self.next()? {
            let begun = Instant::now();
            let operation = || command::name(request.command);
            let Watching { stats, observer, client } = self.watching;
            let mut live = observer.begin((Protocol::Nbd, operation), client, None);
            let answer = analytics::working(&mut live, || self.execute(request, &data));
            let moved = if answer.is_ok() { u64::from(request.len) } else { 0 };
            stats.took(request.command, moved, begun.elapsed());
            self.answer(request, answer)?;
            drop(live);
            self.peer.note_moved(request.len as usize);
        }
        Ok(())
    }

    /// A whole request; `None` when there are no more.
    fn next(&self) -> io::Result<Option<Taken>> {
        let mut from = lock(&self.from);
        if self.ended.load(Ordering::SeqCst) {
            return Ok(None);
        }
        let next = read_request(&mut *from, &self.peer);
        if !matches!(next, Ok(Some(_))) {
            // Before the others get to read: what follows is nobody's.
            self.ended.store(true, Ordering::SeqCst);
        }
        next
    }

    fn execute(&self, request: Request, data: &[u8]) -> Result<Answer, u32> {
        let volume = &*self.agreed.volume;
        let (offset, len) = (request.offset, u64::from(request.len));
        let fua = request.flags & command::FLAG_FUA != 0;
        let stable = if fua { Stable::DataSync } else { Stable::Unstable };
        let changes = matches!(request.command, command::WRITE | command::TRIM | command::WRITE_ZEROES);
        if offset.checked_add(len).is_none_or(|end| volume.geometry().is_ok_and(|now| end > now.size)) {
            return Err(if changes { error::NO_SPACE } else { error::INVALID });
        }
        let done = match request.command {
            command::READ if request.len > MAX_PAYLOAD => return Err(error::OVERFLOW),
            command::READ => volume.read(offset, request.len as usize).map(Answer::Data),
            command::WRITE => volume.write(offset, data, stable).map(|()| Answer::Done),
            command::FLUSH => volume.flush().map(|()| Answer::Done),
            command::TRIM | command::WRITE_ZEROES => {
                volume.write_zeroes(offset, len, stable).map(|()| Answer::Done)
            }
            command::BLOCK_STATUS if self.agreed.allocation && len > 0 => {
                let most = if request.flags & command::FLAG_REQ_ONE != 0 { 1 } else { MAX_EXTENTS };
                self.extents(offset, offset + len, most).map(Answer::Extents)
            }
            _ => return Err(error::INVALID),
        };
        done.map_err(|failure| {
            tracing::debug!(volume = self.agreed.name, ?request, %failure, "request failed");
            number_of(&failure)
        })
    }

    /// What of a range is data and what holes, from its beginning.
    fn extents(&self, from: u64, to: u64, most: usize) -> engine_api::Result<Vec<(u32, u32)>> {
        let volume = &*self.agreed.volume;
        let (mut at, mut extents) = (from, Vec::new());
        while at < to && extents.len() < most {
            let data = volume.seek(at, Seek::Data)?;
            let (end, state) = if data > at {
                (data.min(to), STATE_HOLE_ZERO)
            } else {
                // A change in between may have made it a hole: it was data when we came.
                (volume.seek(at, Seek::Hole)?.clamp(at + 1, to), STATE_DATA)
            };
            // A range is as long as a request at the most.
            extents.push(((end - at) as u32, state));
            at = end;
        }
        Ok(extents)
    }

    fn answer(&self, request: Request, answer: Result<Answer, u32>) -> io::Result<()> {
        let mut to = lock(&self.to);
        if self.agreed.structured {
            structured(&mut *to, request, &answer)?;
        } else {
            let failure = answer.as_ref().err().copied().unwrap_or(0);
            to.write_all(&SIMPLE_REPLY_MAGIC.to_be_bytes())?;
            to.write_all(&failure.to_be_bytes())?;
            to.write_all(&request.cookie.to_be_bytes())?;
            if let Ok(Answer::Data(data)) = &answer {
                data.parts.iter().try_for_each(|part| to.write_all(part.bytes()))?;
            }
        }
        to.flush()
    }
}

fn structured(to: &mut impl Write, request: Request, answer: &Result<Answer, u32>) -> io::Result<()> {
    let mut head = |kind: u16, len: usize| {
        let mut bytes = Vec::with_capacity(20);
        bytes.extend(STRUCTURED_REPLY_MAGIC.to_be_bytes());
        bytes.extend(chunk::FLAG_DONE.to_be_bytes());
        bytes.extend(kind.to_be_bytes());
        bytes.extend(request.cookie.to_be_bytes());
        bytes.extend((len as u32).to_be_bytes());
        to.write_all(&bytes)
    };
    match answer {
        Ok(Answer::Done) => head(chunk::NONE, 0),
        Ok(Answer::Data(data)) if data.is_empty() => head(chunk::NONE, 0),
        Ok(Answer::Data(data)) => {
            head(chunk::OFFSET_DATA, 8 + data.len())?;
            to.write_all(&request.offset.to_be_bytes())?;
            data.parts.iter().try_for_each(|part| to.write_all(part.bytes()))
        }
        Ok(Answer::Extents(extents)) => {
            head(chunk::BLOCK_STATUS, 4 + 8 * extents.len())?;
            to.write_all(&ALLOCATION_ID.to_be_bytes())?;
            extents.iter().try_for_each(|(len, state)| {
                to.write_all(&len.to_be_bytes())?;
                to.write_all(&state.to_be_bytes())
            })
        }
        Err(failure) => {
            // An error and a text, which is empty.
            head(chunk::ERROR, 6)?;
            to.write_all(&failure.to_be_bytes())?;
            to.write_all(&0_u16.to_be_bytes())
        }
    }
}

/// `None`: the client is gone, or said that it goes.
fn read_request(from: &mut impl Read, peer: &Arc<Peer>) -> io::Result<Option<Taken>> {
    let mut head = [0; Request::SIZE];
    match from.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let request = Request::decode(&head).ok_or_else(|| broken("not a request"))?;
    // For what it brings, and what it asks for, which nobody gets if that is too much.
    let moves = matches!(request.command, command::READ | command::WRITE) && request.len <= MAX_PAYLOAD;
    let lease = peer.take(if moves { request.len as usize } else { 0 }).ok_or_else(|| broken("cut off"))?;
    let data = match request.command {
        command::DISCONNECT => return Ok(None),
        command::WRITE if request.len > MAX_PAYLOAD => {
            return Err(broken("more data than may be sent at once"));
        }
        command::WRITE => take(from, request.len)?,
        _ => Vec::new(),
    };
    Ok(Some(Taken { request, data, lease }))
}

/// Why a request failed, as the protocol says it.
fn number_of(failure: &Error) -> u32 {
    match failure {
        Error::NoSpace | Error::Quota => error::NO_SPACE,
        Error::ReadOnly | Error::Denied | Error::NotPermitted => error::PERM,
        Error::Invalid(_) | Error::FileTooLarge => error::INVALID,
        Error::Unsupported(_) => error::NOT_SUPPORTED,
        Error::Stale | Error::NotFound => error::SHUTDOWN,
        _ => error::IO,
    }
}
