//! What is done to a share, and what came of it.
//!
//! Many writers are few threads: each has a connection on which the calls of its writers are in flight together, and
//! takes the answers as they come. So the client is not what limits.

use std::collections::HashMap;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use env::{Entropy, OsEntropy};
use stdx::prng::Prng;

use super::client::{Mounted, Share, created};

pub type Fail = Box<dyn std::error::Error + Send + Sync>;

/// Bytes of one synchronous write of the single writer.
const WRITE: usize = 4096;
/// Bytes of a small file.
const FILE: usize = 512;
/// Connections that many writers share.
const CONNECTIONS: usize = 8;
/// A copy: bytes of a write, writes in flight, bytes at the most.
const COPY_WRITE: usize = 64 << 10;
const COPY_DEPTH: usize = 16;
const COPY_SIZE: u64 = 256 << 20;

/// What a load achieved.
#[derive(Default)]
pub struct Outcome {
    pub operations: u64,
    pub bytes: u64,
    pub took: Duration,
    /// How long each operation took, sorted.
    latencies: Vec<Duration>,
}

impl Outcome {
    fn new(bytes: u64, took: Duration, mut latencies: Vec<Duration>) -> Outcome {
        latencies.sort_unstable();
        Outcome { operations: latencies.len() as u64, bytes, took, latencies }
    }

    /// Operations a second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.took.as_secs_f64().max(1e-9)
    }

    /// Bytes a second.
    pub fn throughput(&self) -> f64 {
        self.bytes as f64 / self.took.as_secs_f64().max(1e-9)
    }

    /// The latency that so many thousandths of all operations do not exceed.
    pub fn latency(&self, per_mille: usize) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get((last * per_mille).div_ceil(1000)).copied().unwrap_or_default()
    }
}

fn random(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    OsEntropy.fill(&mut bytes);
    bytes
}

/// One writer appends to a file, each write on stable storage before the next.
pub fn synchronous_writes(share: &Share, span: Duration) -> Result<Outcome, Fail> {
    let mut client = share.mount()?;
    let root = client.root.clone();
    let file = client.create(&root, "journal")?;
    let data = random(WRITE);
    let (start, mut latencies, mut offset) = (Instant::now(), Vec::new(), 0);
    while start.elapsed() < span {
        let sent = Instant::now();
        client.send_write(&file, offset, &data)?;
        client.receive(|_, _| Ok(()))?;
        latencies.push(sent.elapsed());
        offset += WRITE as u64;
    }
    Ok(Outcome::new(offset, start.elapsed(), latencies))
}

/// Many writers make small files: a CREATE, then one stable WRITE, then the next file. An operation is a file.
pub fn small_files(share: &Share, writers: usize, span: Duration) -> Result<Outcome, Fail> {
    let connections = CONNECTIONS.min(writers);
    let barrier = Barrier::new(connections);
    let outcomes: Vec<Result<(Duration, Vec<Duration>), Fail>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|i| {
                let barrier = &barrier;
                let own = writers / connections + usize::from(i < writers % connections);
                scope.spawn(move || {
                    let ready = share.mount().and_then(|mut client| {
                        let root = client.root.clone();
                        let dir = client.mkdir(&root, &format!("writers{i}"))?;
                        Ok((client, dir))
                    });
                    // Also of those that failed: the others wait for it.
                    barrier.wait();
                    let (client, dir) = ready?;
                    Writers::new(client, dir).run(own, span)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("a writer panicked".into()))).collect()
    });
    let (mut took, mut latencies) = (Duration::ZERO, Vec::new());
    for outcome in outcomes {
        let (own, more) = outcome?;
        took = took.max(own);
        latencies.extend(more);
    }
    Ok(Outcome::new((latencies.len() * FILE) as u64, took, latencies))
}

/// The writers of one connection.
struct Writers {
    client: Mounted,
    dir: Vec<u8>,
    data: Vec<u8>,
    files: u64,
    /// By the id of the call that is in flight: when the file was begun, and whether it is being written by now.
    flying: HashMap<u32, (Instant, bool)>,
}

impl Writers {
    fn new(client: Mounted, dir: Vec<u8>) -> Writers {
        Writers { client, dir, data: random(FILE), files: 0, flying: HashMap::new() }
    }

    fn begin(&mut self) -> Result<(), Fail> {
        let name = format!("file{:07}", self.files);
        self.files += 1;
        let xid = self.client.send_create(&self.dir, &name)?;
        self.flying.insert(xid, (Instant::now(), false));
        Ok(())
    }

    /// How long it took, and each file.
    fn run(mut self, writers: usize, span: Duration) -> Result<(Duration, Vec<Duration>), Fail> {
        let (start, mut latencies) = (Instant::now(), Vec::new());
        for _ in 0..writers {
            self.begin()?;
        }
        while !self.flying.is_empty() {
            let flying = &mut self.flying;
            let (begun, file) = self.client.receive(|xid, mut d| {
                let (begun, is_write) = flying.remove(&xid).ok_or("an answer to nothing")?;
                Ok((begun, if is_write { None } else { Some(created(&mut d)?) }))
            })?;
            if let Some(file) = file {
                let xid = self.client.send_write(&file, 0, &self.data)?;
                self.flying.insert(xid, (begun, true));
                continue;
            }
            latencies.push(begun.elapsed());
            if start.elapsed() < span {
                self.begin()?;
            }
        }
        Ok((start.elapsed(), latencies))
    }
}

/// A large file is written in order, several stable writes in flight; `settle` waits until the disks have it, and that
/// counts: without the intent log the answers promise nothing.
pub fn copy(share: &Share, span: Duration, settle: &dyn Fn() -> Result<(), Fail>) -> Result<Outcome, Fail> {
    let mut client = share.mount()?;
    let root = client.root.clone();
    let file = client.create(&root, "copy")?;
    let data = random(1 << 20);
    let (start, mut latencies, mut flying, mut offset) = (Instant::now(), Vec::new(), HashMap::new(), 0u64);
    loop {
        while flying.len() < COPY_DEPTH && offset < COPY_SIZE && start.elapsed() < span {
            let from = offset as usize % (data.len() - COPY_WRITE);
            let xid = client.send_write(&file, offset, &data[from..from + COPY_WRITE])?;
            flying.insert(xid, Instant::now());
            offset += COPY_WRITE as u64;
        }
        if flying.is_empty() {
            break;
        }
        let sent = client.receive(|xid, _| Ok(flying.remove(&xid).ok_or("an answer to nothing")?))?;
        latencies.push(sent.elapsed());
    }
    settle()?;
    Ok(Outcome::new(offset, start.elapsed(), latencies))
}

/// Bytes of one random read, and of one read or write in order.
const READ: u32 = 16 << 10;
const STREAM: usize = 64 << 10;
const STREAM_DEPTH: usize = 8;

/// A new file of so many bytes.
pub fn fill(share: &Share, size: u64) -> Result<Vec<u8>, Fail> {
    let mut client = share.mount()?;
    let root = client.root.clone();
    let file = client.create(&root, "data")?;
    let data = random(1 << 20);
    stream(&mut client, size, |client, offset| {
        let from = offset as usize % (data.len() - STREAM);
        client.send_write(&file, offset, &data[from..from + STREAM])
    })?;
    Ok(file)
}

/// Reads a file from its beginning to its end.
pub fn read_all(share: &Share, file: &[u8], size: u64) -> Result<(), Fail> {
    stream(&mut share.mount()?, size, |client, offset| client.send_read(file, offset, STREAM as u32))
}

/// Calls for all of a file in order, several in flight.
fn stream(
    client: &mut Mounted,
    size: u64,
    send: impl Fn(&mut Mounted, u64) -> Result<u32, Fail>,
) -> Result<(), Fail> {
    let (mut flying, mut offset) = (0, 0);
    while flying > 0 || offset < size {
        while flying < STREAM_DEPTH && offset < size {
            send(client, offset)?;
            (flying, offset) = (flying + 1, offset + STREAM as u64);
        }
        client.receive(|_, _| Ok(()))?;
        flying -= 1;
    }
    Ok(())
}

/// So many readers read anywhere in a file, each one block after the other.
pub fn random_reads(
    share: &Share,
    file: &[u8],
    size: u64,
    readers: usize,
    span: Duration,
) -> Result<Outcome, Fail> {
    let read = &|seed: usize| -> Result<Vec<Duration>, Fail> {
        let mut client = share.mount()?;
        let mut places = Prng::new(seed as u64);
        let (start, mut latencies) = (Instant::now(), Vec::new());
        while start.elapsed() < span {
            let (sent, place) = (Instant::now(), places.below(size / u64::from(READ)));
            client.send_read(file, place * u64::from(READ), READ)?;
            client.receive(|_, _| Ok(()))?;
            latencies.push(sent.elapsed());
        }
        Ok(latencies)
    };
    let start = Instant::now();
    let all: Vec<Result<Vec<Duration>, Fail>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..readers).map(|seed| scope.spawn(move || read(seed))).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("a reader panicked".into()))).collect()
    });
    let took = start.elapsed();
    let latencies = all.into_iter().collect::<Result<Vec<_>, Fail>>()?.concat();
    Ok(Outcome::new(latencies.len() as u64 * u64::from(READ), took, latencies))
}
