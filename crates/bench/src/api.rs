//! The management API with many datasets: pages of lists, listeners, and what it takes while nobody
//! asks for anything.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use load::Fail;

use crate::http::{Http, PATIENCE};
use crate::ours::Ours;
use crate::results::{Figure, Results};

pub const PART: &str = "api";

const CACHE: &str = "512M";
const FILE_SYSTEMS: usize = 10_000;
/// Of each file system.
const SNAPSHOTS: usize = 10;
const ASKED: usize = 200;
const LISTENERS: usize = 200;
/// How long it is watched while nobody asks.
const IDLE: Duration = Duration::from_secs(30);

pub fn measure(ours: &mut Ours, about: &str) -> Result<Results, Fail> {
    eprintln!("bench: {PART}");
    ours.start_anew(&["--cache", CACHE])?;
    let socket = ours.socket();
    let mut http = Http::connect(&socket)?;
    for number in 0..FILE_SYSTEMS {
        let body = format!(r#"{{"name":"bench/{number:05}","no_mount":true}}"#);
        http.ask("POST", "/v1/datasets", &body)?;
    }
    for number in 0..SNAPSHOTS {
        ours.command(&["zfs", "snapshot", "-r", &format!("bench@{number}")])?;
    }
    let before = ours.resident("VmRSS")?;
    let mut figures = Vec::new();
    let mut figure = |name: String, value: String, goal: &str| {
        figures.push(Figure { name, value, goal: goal.to_owned() });
    };
    for (what, query) in [
        ("with four properties", "limit=100&props=used,available,referenced,mountpoint"),
        ("with all properties", "limit=100"),
        ("of snapshots, with two properties", "limit=100&kinds=snapshot&props=used,referenced"),
    ] {
        let (median, late) = asked(&mut http, &format!("/v1/datasets?{query}"))?;
        figure(
            format!("a first page of 100, {what}: median / p99"),
            format!("{median:.1} / {late:.1} ms"),
            "< 50 ms at p99",
        );
    }
    for (what, path) in [("a scrape of /metrics", "/metrics"), ("all statistics", "/v1/statistics")] {
        let (median, late) = asked(&mut http, path)?;
        figure(format!("{what}: median / p99"), format!("{median:.1} / {late:.1} ms"), "");
    }
    let (count, took) = all_pages(&mut http, "/v1/datasets?limit=1000&props=used&kinds=snapshot")?;
    figure(format!("all {count} snapshots in pages of 1,000"), format!("{took:.1} s"), "");
    let after = ours.resident("VmRSS")?;
    figure(
        format!("resident before and after these lists, with --cache {CACHE}"),
        format!("{before} and {after} MiB"),
        "flat",
    );

    let idle = busy(ours)?;
    let heard = listen(&socket)?;
    let listened = busy(ours)?;
    figure("processor while nobody asks".into(), format!("{idle:.2} % of a core"), "< 0.5 %");
    figure(format!("the same with {LISTENERS} listeners"), format!("{listened:.2} % of a core"), "< 0.5 %");
    let begun = Instant::now();
    ours.command(&["zfs", "create", "-u", "bench/heard"])?;
    for _ in 0..LISTENERS {
        heard.recv_timeout(PATIENCE)?;
    }
    let took = begun.elapsed().as_secs_f64() * 1e3;
    figure("until a zfs create is heard by all of them".into(), format!("{took:.0} ms"), "");
    Ok(Results {
        part: PART.to_owned(),
        title: "The management API".to_owned(),
        about: about.to_owned(),
        figures,
        ..Results::default()
    })
}

/// Milliseconds that an answer takes: the median, and the 99th percentile.
fn asked(http: &mut Http, path: &str) -> Result<(f64, f64), Fail> {
    let mut times = Vec::with_capacity(ASKED);
    for _ in 0..ASKED {
        let begun = Instant::now();
        http.ask("GET", path, "")?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok((times[ASKED / 2], times[ASKED * 99 / 100]))
}

/// Follows a list from page to page: how many are on all of them, and seconds.
fn all_pages(http: &mut Http, first: &str) -> Result<(usize, f64), Fail> {
    let begun = Instant::now();
    let (mut count, mut next) = (0, Some(first.to_owned()));
    while let Some(path) = next {
        let answer = http.ask("GET", &path, "")?;
        count += String::from_utf8_lossy(&answer.body).matches(r#""kind":"snapshot""#).count();
        next = answer.next;
    }
    Ok((count, begun.elapsed().as_secs_f64()))
}

/// Percent of a core that the daemon uses in [`IDLE`].
fn busy(ours: &Ours) -> Result<f64, Fail> {
    thread::sleep(Duration::from_secs(8));
    let before = ours.processor_time()?;
    thread::sleep(IDLE);
    let used = ours.processor_time()?.saturating_sub(before);
    Ok(used.as_secs_f64() / IDLE.as_secs_f64() * 100.0)
}

/// Listens on the stream of events, by so many. Each tells once that it heard of `bench/heard`.
fn listen(socket: &Path) -> Result<mpsc::Receiver<()>, Fail> {
    let (tell, heard) = mpsc::channel();
    for _ in 0..LISTENERS {
        let mut stream = UnixStream::connect(socket)?;
        stream.write_all(b"GET /v1/events/stream HTTP/1.1\r\nhost: bench\r\n\r\n")?;
        let tell = tell.clone();
        thread::Builder::new().stack_size(128 << 10).spawn(move || {
            let mut lines = BufReader::new(stream).lines();
            if lines.any(|line| line.is_ok_and(|line| line.contains("bench/heard"))) {
                // Nobody waits any more where the bench has failed.
                let _ = tell.send(());
            }
        })?;
    }
    Ok(heard)
}
