//! Keeps calls in flight and measures how long each took.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use stdx::prng::Prng;
use sunrpc::client::Client;
use sunrpc::xdr::Decoder;

use crate::Options;
use crate::nfs3::{self, Fail};

const FILE: &str = "load.data";

pub struct Outcome {
    bytes: u64,
    took: Duration,
    /// Of each call, sorted.
    latencies: Vec<Duration>,
}

impl Outcome {
    pub fn line(&self, options: &Options) -> String {
        let secs = self.took.as_secs_f64();
        let percentile = |percent: usize| {
            let index = (self.latencies.len() * percent / 100).min(self.latencies.len().saturating_sub(1));
            self.latencies.get(index).copied().unwrap_or_default().as_secs_f64() * 1e6
        };
        format!(
            "{:<9} block {:>7} depth {:>2}: {:>8.1} MB/s {:>9.0} ops/s  p50 {:>7.0} us  p99 {:>7.0} us",
            options.work,
            options.block,
            options.depth,
            self.bytes as f64 / secs / 1e6,
            self.latencies.len() as f64 / secs,
            percentile(50),
            percentile(99),
        )
    }
}

/// One call to make: procedure, arguments, and how much of the payload goes behind them.
type Next = (u32, Vec<u8>, usize);

struct Load<'a> {
    client: Client,
    options: &'a Options,
    payload: Vec<u8>,
}

impl Load<'_> {
    /// Makes calls until `next` has none or time is up; `seen` gets the results.
    fn drive(
        &mut self,
        mut next: impl FnMut(u64) -> Option<Next>,
        mut seen: impl FnMut(&mut Decoder<'_>) -> Result<u64, Fail>,
    ) -> Result<Outcome, Fail> {
        let (mut flying, mut latencies) = (HashMap::new(), Vec::new());
        let (mut bytes, mut count, mut more) = (0, 0, true);
        let start = Instant::now();
        loop {
            while more && flying.len() < self.options.depth {
                more = self.options.limit.is_none_or(|limit| start.elapsed() < limit);
                let Some((procedure, args, len)) = next(count).filter(|_| more) else {
                    more = false;
                    break;
                };
                count += 1;
                let sent = Instant::now();
                let xid = self.client.send(procedure, &args, &self.payload[..len])?;
                flying.insert(xid, sent);
            }
            if flying.is_empty() {
                break;
            }
            let record = self.client.receive()?;
            let (xid, mut d) = nfs3::results(&record)?;
            let sent: Instant = flying.remove(&xid).ok_or("a reply to nothing")?;
            latencies.push(sent.elapsed());
            bytes += seen(&mut d)?;
        }
        let took = start.elapsed();
        latencies.sort_unstable();
        Ok(Outcome { bytes, took, latencies })
    }
}

pub fn run(options: &Options) -> Result<Outcome, Fail> {
    let (client, root) = nfs3::mount(&options.server, options.mount_port, &options.path)?;
    let mut payload = vec![0; options.block as usize];
    Prng::new(1).fill(&mut payload);
    let mut load = Load { client, options, payload };
    match options.work.as_str() {
        "write" | "randwrite" => write(&mut load, &root),
        "read" | "randread" => read(&mut load, &root),
        "create" => names(&mut load, |i| (nfs3::CREATE, nfs3::create_args(&root, &name(i)).into_bytes(), 0)),
        "stat" => names(&mut load, |i| (nfs3::LOOKUP, nfs3::place_args(&root, &name(i)).into_bytes(), 0)),
        "unlink" => names(&mut load, |i| (nfs3::REMOVE, nfs3::place_args(&root, &name(i)).into_bytes(), 0)),
        "null" => names(&mut load, |_| (nfs3::GETATTR, nfs3::handle_args(&root).into_bytes(), 0)),
        other => Err(format!("{other} is no work").into()),
    }
}

fn name(i: u64) -> String {
    format!("load.{i:08}")
}

fn names(load: &mut Load<'_>, call: impl Fn(u64) -> Next) -> Result<Outcome, Fail> {
    let files = load.options.files;
    load.drive(|i| (i < files).then(|| call(i)), |_| Ok(0))
}

/// Offsets in order or at random, as many as the file has blocks.
fn offsets(options: &Options) -> impl FnMut(u64) -> Option<u64> + use<> {
    let (block, blocks) = (u64::from(options.block), options.size / u64::from(options.block));
    let random = options.work.starts_with("rand");
    let endless = random && options.limit.is_some();
    let mut rng = Prng::new(7);
    move |i| {
        let index = if random { rng.below(blocks.max(1)) } else { i };
        (i < blocks || endless).then_some(index * block)
    }
}

fn write(load: &mut Load<'_>, root: &[u8]) -> Result<Outcome, Fail> {
    let file = if load.options.work == "write" {
        let results = load.client.call(nfs3::CREATE, nfs3::create_args(root, FILE).bytes())?;
        let mut d = Decoder::new(&results);
        nfs3::ok(&mut d)?;
        nfs3::created(&mut d)?
    } else {
        nfs3::lookup(&mut load.client, root, FILE)?
    };
    let (block, mut offset) = (load.options.block, offsets(load.options));
    let start = Instant::now();
    let mut outcome = load.drive(
        |i| {
            let args = nfs3::write_args(&file, offset(i)?, block);
            Some((nfs3::WRITE, args.into_bytes(), block as usize))
        },
        |d| {
            skip_wcc(d)?;
            Ok(u64::from(d.u32()?))
        },
    )?;
    let done = load.client.call(nfs3::COMMIT, nfs3::read_args(&file, 0, 0).bytes())?;
    nfs3::ok(&mut Decoder::new(&done))?;
    outcome.took = start.elapsed();
    Ok(outcome)
}

fn skip_wcc(d: &mut Decoder<'_>) -> Result<(), Fail> {
    d.option(|d| d.fixed::<24>())?;
    d.option(|d| d.fixed::<84>())?;
    Ok(())
}

fn read(load: &mut Load<'_>, root: &[u8]) -> Result<Outcome, Fail> {
    let file = nfs3::lookup(&mut load.client, root, FILE)?;
    let (block, mut offset) = (load.options.block, offsets(load.options));
    load.drive(
        |i| Some((nfs3::READ, nfs3::read_args(&file, offset(i)?, block).into_bytes(), 0)),
        |d| {
            d.option(|d| d.fixed::<84>())?;
            Ok(u64::from(d.u32()?))
        },
    )
}
