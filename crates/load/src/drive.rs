//! Keeps the calls of many writers in flight and measures how long each operation took.
//!
//! Many writers are few threads: each has a connection on which the calls of its writers are in
//! flight together, and takes the answers as they come. So the client is not what limits.

use std::collections::HashMap;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use sunrpc::xdr::Decoder;

use crate::nfs3::{Mounted, Share};
use crate::{Crowd, Fail, Outcome};

/// What the writers of one connection do: an operation is one call or several.
pub trait Script {
    /// Sends the next call of this writer's operation and gives its id; `None`: nothing is left to
    /// do.
    fn send(&mut self, client: &mut Mounted, writer: usize) -> Result<Option<u32>, Fail>;

    /// Takes the answer to that call. The bytes which the operation moved, if this was its last
    /// call.
    fn answered(&mut self, writer: usize, results: &mut Decoder<'_>) -> Result<Option<u64>, Fail>;

    /// What belongs to the work after the last operation.
    fn end(&mut self, _client: &mut Mounted) -> Result<(), Fail> {
        Ok(())
    }
}

/// One of the connections.
#[derive(Clone, Copy)]
pub struct Part {
    pub connection: usize,
    /// For its random places.
    pub seed: u64,
    pub writers: usize,
}

/// What one thread has done.
#[derive(Default)]
pub struct Done {
    pub bytes: u64,
    pub took: Duration,
    pub latencies: Vec<Duration>,
}

/// All connections at once; `make` prepares what each does, before the time begins.
pub fn run<S: Script>(
    share: &Share,
    crowd: &Crowd,
    make: impl Fn(&mut Mounted, Part) -> Result<S, Fail> + Sync,
) -> Result<Outcome, Fail> {
    let connections = crowd.connections.clamp(1, crowd.writers.max(1));
    together(connections, |connection, start| {
        let writers = crowd.writers / connections + usize::from(connection < crowd.writers % connections);
        let ready = share.connect().and_then(|mut client| {
            let script = make(&mut client, Part { connection, seed: crowd.seed(connection), writers })?;
            Ok((client, script))
        });
        start.wait();
        let (mut client, mut script) = ready?;
        drive(&mut client, &mut script, writers, crowd.span)
    })
}

/// So many threads, which begin together once each has waited at the barrier (those that failed
/// too: the others wait for them); the time is that of the slowest.
pub fn together(
    threads: usize,
    run: impl Fn(usize, &Barrier) -> Result<Done, Fail> + Sync,
) -> Result<Outcome, Fail> {
    let (barrier, run) = (&Barrier::new(threads), &run);
    let done: Vec<Result<Done, Fail>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|i| scope.spawn(move || run(i, barrier))).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("a writer panicked".into()))).collect()
    });
    let mut all = Done::default();
    for own in done {
        let own = own?;
        all.bytes += own.bytes;
        all.took = all.took.max(own.took);
        all.latencies.extend(own.latencies);
    }
    Ok(Outcome::new(all.bytes, all.took, all.latencies))
}

fn drive(
    client: &mut Mounted,
    script: &mut impl Script,
    writers: usize,
    span: Duration,
) -> Result<Done, Fail> {
    let start = Instant::now();
    // By the id of the call in flight: whose it is, and when the operation began.
    let mut flying: HashMap<u32, (usize, Instant)> = HashMap::with_capacity(writers);
    let mut done = Done::default();
    for writer in 0..writers {
        let begun = Instant::now();
        flying.extend(script.send(client, writer)?.map(|xid| (xid, (writer, begun))));
    }
    while !flying.is_empty() {
        let (writer, begun, bytes) = client.receive(|xid, mut results| {
            let (writer, begun) = flying.remove(&xid).ok_or("an answer to nothing")?;
            Ok((writer, begun, script.answered(writer, &mut results)?))
        })?;
        let mut next = begun;
        if let Some(bytes) = bytes {
            next = Instant::now();
            done.latencies.push(next - begun);
            done.bytes += bytes;
            if next - start >= span {
                continue;
            }
        }
        flying.extend(script.send(client, writer)?.map(|xid| (xid, (writer, next))));
    }
    script.end(client)?;
    done.took = start.elapsed();
    Ok(done)
}
