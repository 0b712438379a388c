//! Streams: sending to nowhere beside reading the file, receiving from memory beside writing it,
//! both on the disk that is measured elsewhere; and what it costs to send what little has changed,
//! on a disk in memory.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use engine_api::{ReceiveRequest, SendRequest};
use load::Fail;
use stdx::prng::Prng;

use super::{Bench, CACHE, CALL, POOL, compression, figure, fill, rate};
use crate::options::Options;
use crate::pool_file::{Noise, PoolFile};
use crate::results::{Results, Row, median};

const SENT: u64 = 1 << 30;
/// How often each is read and sent in a round.
const TURNS: usize = 2;
/// Blocks of a file of which few change, and how many do.
const BLOCKS: u64 = 1_000_000;
const BLOCK: u64 = 512;
const CHANGED: u64 = 1_000;

pub fn measure(options: &Options, results: &mut Results) -> Result<(), Fail> {
    let noise = Noise::new();
    let mut bench = Bench::on_image(options)?;
    let mut rates: [Vec<f64>; 4] = Default::default();
    let mut of_text: [Vec<f64>; 2] = Default::default();
    for _ in 0..options.rounds {
        round(&mut bench, &noise, &mut rates)?;
        compressed(&mut bench, &mut of_text)?;
    }
    let middle = |rates| median(rates).unwrap_or_default();
    let ([written, read, sent, received], [text_read, text_sent]) = (rates.map(middle), of_text.map(middle));
    let beside = |name, ours, goal, other| Row::beside(name, "MB/s", goal, ours, other);
    results.rows.push(beside("send to nowhere, beside reading", sent, Some(0.8), ("reading", read)));
    let name = "send -c of compressible data to nowhere, beside reading, in bytes before compression";
    results.rows.push(beside(name, text_sent, None, ("reading", text_read)));
    results.rows.push(beside("receive, beside writing", received, Some(0.7), ("writing", written)));
    drop(bench);
    incremental(&noise, results)
}

/// MB/s of writing, reading, sending and receiving.
fn round(bench: &mut Bench, noise: &Noise, rates: &mut [Vec<f64>; 4]) -> Result<(), Fail> {
    let [writing, reading, sending, receiving] = rates;
    let (dataset, copy) = (format!("{POOL}/sent"), format!("{POOL}/received"));
    writing.push(fill(&bench.file(&dataset, &[])?, noise, SENT)?);
    bench.snapshot(format!("{dataset}@s"), false)?;
    take_turns(bench, &dataset, false, (reading, sending))?;
    let mut stream = Vec::with_capacity(SENT as usize + (SENT >> 6) as usize);
    send(bench, &whole(&dataset), &mut stream)?;
    let request = ReceiveRequest { target: copy.clone(), ..ReceiveRequest::default() };
    let begun = Instant::now();
    bench.pool.receive(&request, &mut &stream[..], &mut |_| {})?;
    receiving.push(rate(SENT, begun));
    for dataset in [dataset, copy] {
        bench.destroy(&dataset, true)?;
    }
    Ok(bench.settle()?)
}

/// MB/s of reading and sending what is compressed, as it is stored.
fn compressed(bench: &mut Bench, rates: &mut [Vec<f64>; 2]) -> Result<(), Fail> {
    let [reading, sending] = rates;
    let dataset = format!("{POOL}/text");
    let file = bench.file(&dataset, &[("compression", "lz4")])?;
    compression::write(&file, &compression::compressible(), SENT)?;
    drop(file);
    bench.snapshot(format!("{dataset}@s"), false)?;
    take_turns(bench, &dataset, true, (reading, sending))?;
    bench.destroy(&dataset, true)?;
    Ok(bench.settle()?)
}

/// Reads the file of a dataset, and sends its snapshot: MB/s. Nothing is in memory that is read or
/// sent. The disk's own rate changes from second to second, so both are done by turns.
fn take_turns(
    bench: &mut Bench,
    dataset: &str,
    compress: bool,
    (reading, sending): (&mut Vec<f64>, &mut Vec<f64>),
) -> Result<(), Fail> {
    for _ in 0..TURNS {
        bench.reopen(CACHE)?;
        let (file, begun) = (PoolFile::find(&*bench.pool, dataset)?, Instant::now());
        for at in (0..SENT).step_by(CALL) {
            file.read(at, CALL, &mut |_| {})?;
        }
        reading.push(rate(SENT, begun));
        drop(file);
        bench.reopen(CACHE)?;
        let begun = Instant::now();
        send(bench, &SendRequest { compress, ..whole(dataset) }, &mut io::sink())?;
        sending.push(rate(SENT, begun));
    }
    Ok(())
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
        let (snapshot, from) = (snapshot.to_owned(), from.map(str::to_owned));
        send(&bench, &SendRequest { snapshot, from, ..SendRequest::default() }, &mut io::sink())?;
        Ok(begun.elapsed())
    };
    let (all, few) = (took(&first, None)?, took(&second, Some(&first))?);
    let shown = |span: Duration| format!("{:.1} ms", span.as_secs_f64() * 1e3);
    figure(results, "1,000,000 blocks sent", shown(all), "");
    figure(results, "1,000 of them, from all over, that have changed", shown(few), "");
    Ok(())
}

/// The snapshot of a dataset, from the beginning.
fn whole(dataset: &str) -> SendRequest {
    SendRequest { snapshot: format!("{dataset}@s"), ..SendRequest::default() }
}

fn send(bench: &Bench, request: &SendRequest, to: &mut dyn Write) -> Result<(), Fail> {
    Ok(bench.pool.send(request, to, &mut |_| {})?)
}
