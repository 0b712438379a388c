//! Streams: sending to nowhere beside reading the file, receiving from memory beside writing it, both on the disk that is
//! measured elsewhere; and what it costs to send what little has changed, on a disk in memory.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use engine_api::{ReceiveRequest, SendRequest};
use load::Fail;
use stdx::prng::Prng;

use super::{Bench, CACHE, CALL, POOL, figure, fill, rate};
use crate::options::Options;
use crate::pool_file::{Noise, PoolFile};
use crate::results::{Results, Row, median};

const SENT: u64 = 1 << 30;
/// Blocks of a file of which few change, and how many do.
const BLOCKS: u64 = 1_000_000;
const BLOCK: u64 = 512;
const CHANGED: u64 = 1_000;

pub fn measure(options: &Options, results: &mut Results) -> Result<(), Fail> {
    let noise = Noise::new();
    let mut bench = Bench::on_image(options)?;
    let mut rates: [Vec<f64>; 4] = Default::default();
    for _ in 0..options.rounds {
        for (all, one) in rates.iter_mut().zip(round(&mut bench, &noise)?) {
            all.push(one);
        }
    }
    let [written, read, sent, received] = rates.map(|rates| median(rates).unwrap_or_default());
    let beside = |name, ours, goal, other| Row::beside(name, "MB/s", Some(goal), ours, other);
    results.rows.push(beside("send to nowhere, beside reading", sent, 0.8, ("reading", read)));
    results.rows.push(beside("receive, beside writing", received, 0.7, ("writing", written)));
    drop(bench);
    incremental(&noise, results)
}

/// MB/s of writing, reading, sending and receiving; nothing is in memory that is read or sent.
fn round(bench: &mut Bench, noise: &Noise) -> Result<[f64; 4], Fail> {
    let (dataset, copy) = (format!("{POOL}/sent"), format!("{POOL}/received"));
    let snapshot = format!("{dataset}@s");
    let written = fill(&bench.file(&dataset, &[])?, noise, SENT)?;
    bench.snapshot(snapshot.clone(), false)?;
    bench.reopen(CACHE)?;
    let (file, begun) = (PoolFile::find(&*bench.pool, &dataset)?, Instant::now());
    for at in (0..SENT).step_by(CALL) {
        file.read(at, CALL, &mut |_| {})?;
    }
    let read = rate(SENT, begun);
    drop(file);
    bench.reopen(CACHE)?;
    let begun = Instant::now();
    send(bench, &snapshot, None, &mut io::sink())?;
    let sent = rate(SENT, begun);
    let mut stream = Vec::with_capacity(SENT as usize + (SENT >> 6) as usize);
    send(bench, &snapshot, None, &mut stream)?;
    let request = ReceiveRequest { target: copy.clone(), ..ReceiveRequest::default() };
    let begun = Instant::now();
    bench.pool.receive(&request, &mut &stream[..], &mut |_| {})?;
    let received = rate(SENT, begun);
    for dataset in [dataset, copy] {
        bench.destroy(&dataset, true)?;
    }
    bench.settle()?;
    Ok([written, read, sent, received])
}

fn incremental(noise: &Noise, results: &mut Results) -> Result<(), Fail> {
    let bench = Bench::in_memory(2)?;
    let dataset = format!("{POOL}/sent");
    let file = bench.file(&dataset, &[("recordsize", "512"), ("compression", "off")])?;
    fill(&file, noise, BLOCKS * BLOCK)?;
    let [first, second] = ["first", "second"].map(|name| format!("{dataset}@{name}"));
    bench.snapshot(first.clone(), false)?;
    let mut random = Prng::new(1);
    for _ in 0..CHANGED {
        let at = random.below(BLOCKS) * BLOCK;
        file.write(at, noise.at(at + 1, BLOCK as usize))?;
    }
    bench.snapshot(second.clone(), false)?;
    let took = |snapshot: &str, from: Option<&str>| -> Result<Duration, Fail> {
        let begun = Instant::now();
        send(&bench, snapshot, from, &mut io::sink())?;
        Ok(begun.elapsed())
    };
    let (all, few) = (took(&first, None)?, took(&second, Some(&first))?);
    let shown = |span: Duration| format!("{:.1} ms", span.as_secs_f64() * 1e3);
    figure(results, "1,000,000 blocks sent", shown(all), "");
    figure(results, "1,000 of them, from all over, that have changed", shown(few), "");
    Ok(())
}

fn send(bench: &Bench, snapshot: &str, from: Option<&str>, to: &mut dyn Write) -> Result<(), Fail> {
    let request =
        SendRequest { snapshot: snapshot.into(), from: from.map(str::to_owned), ..SendRequest::default() };
    Ok(bench.pool.send(&request, to, &mut |_| {})?)
}
