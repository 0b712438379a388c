//! `cistern advise`: what a log device, more memory or a cache device would change for a running
//! pool.

use crate::client::Client;
use crate::command::Io;
use crate::fail::Stop;
use crate::getopt;
use crate::json::Json;
use api_types::{Advice, AdviceQuestion, CurvePoint, PoolStatus, routes};

pub const USAGE: &str = "\
usage: cistern advise [POOL] [options]

Says what a log device, more memory or a cache device would change, from what the pool did since import.
What a request takes besides a faster device is rehearsed on a pool in memory, which takes the daemon's machine some
seconds, and its processors while it lasts.

  --log-latency TIME     until a log device has made a block durable: 20us, 1.5ms   (default: an SSD's and a RAM log's)
  --cache-size SIZE      of a cache device: 64G                                     (default: four times the cache)
  --cache-latency TIME   of a read from it                                          (default: 100us)
  --memory SIZE          for the cache, in all                                      (default: twice the cache)
  --json                 every figure, as one JSON object

examples:
  cistern advise tank
  cistern advise tank --log-latency 20us --cache-size 256G
";

#[derive(Debug, Default)]
struct Wish {
    query: AdviceQuestion,
    pools: Vec<String>,
    json: bool,
    help: bool,
}

fn wish(args: &[String]) -> Result<Wish, Stop> {
    let mut wish = Wish::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let (name, inline) = match arg.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (arg.as_str(), None),
        };
        let mut value = || {
            let value = inline.clone().or_else(|| args.next().cloned());
            value.ok_or_else(|| Stop::Usage(format!("{name} wants a value")))
        };
        match name {
            "--log-latency" => wish.query.log_latency = Some(nanos(&value()?)?),
            "--cache-latency" => wish.query.cache_latency = Some(nanos(&value()?)?),
            "--cache-size" => wish.query.cache_size = Some(bytes(&value()?)?),
            "--memory" => wish.query.memory = Some(bytes(&value()?)?),
            "--json" | "-j" => wish.json = true,
            "--help" | "-h" => wish.help = true,
            _ if name.starts_with('-') => {
                getopt::parse(std::slice::from_ref(arg), "", &[])?;
            }
            _ => wish.pools.push(arg.clone()),
        }
    }
    Ok(wish)
}

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let Wish { query, mut pools, json, help } = wish(args)?;
    if help {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    if pools.is_empty() {
        let all: Vec<PoolStatus> = client.get(routes::POOLS)?;
        pools = all.into_iter().map(|pool| pool.name).collect();
    }
    if pools.is_empty() {
        return Err(Stop::Fail("no pools available".into()));
    }
    let mut object = Json::object();
    for (n, pool) in pools.iter().enumerate() {
        let path = routes::at(routes::POOL_ADVICE, pool);
        let advice: Advice = client.get(&format!("{path}{}", query_string(&query)))?;
        if json {
            object.put(pool.as_str(), as_json(&advice));
            continue;
        }
        let gap = if n == 0 { "" } else { "\n" };
        writeln!(io.out, "{gap}pool '{pool}'")?;
        for finding in &advice.findings {
            writeln!(io.out, "\n  {}:", finding.about)?;
            for line in wrapped(&finding.text, 100) {
                writeln!(io.out, "    {line}")?;
            }
        }
    }
    if json {
        let document = Json::document("cistern advise").with("pools", object);
        writeln!(io.out, "{document}")?;
    }
    Ok(io.out.flush()?)
}

fn query_string(query: &AdviceQuestion) -> String {
    let pairs = [
        ("log_latency", query.log_latency),
        ("cache_size", query.cache_size),
        ("cache_latency", query.cache_latency),
        ("memory", query.memory),
    ];
    let given: Vec<String> =
        pairs.iter().filter_map(|(name, value)| value.map(|value| format!("{name}={value}"))).collect();
    if given.is_empty() { String::new() } else { format!("?{}", given.join("&")) }
}

fn as_json(advice: &Advice) -> Json {
    let mut object = Json::object();
    for finding in &advice.findings {
        let mut figures = Json::object().with("text", finding.text.as_str());
        for (name, value) in &finding.figures {
            figures.put(name.as_str(), format!("{value}"));
        }
        if !finding.curve.is_empty() {
            figures.put("curve", Json::List(finding.curve.iter().map(point).collect()));
        }
        object.put(finding.about.as_str(), figures);
    }
    object
}

fn point(point: &CurvePoint) -> Json {
    let CurvePoint { bytes, hit_percent, read_factor } = *point;
    let mut told =
        Json::object().with("bytes", format!("{bytes}")).with("hit_percent", format!("{hit_percent}"));
    if let Some(factor) = read_factor {
        told.put("read_factor", format!("{factor}"));
    }
    told
}

/// Lines of about so many characters, broken between words, but not before a percent sign.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if word == "%" || line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `20us`, `1.5ms`, `250ns`, `1s`.
fn nanos(text: &str) -> Result<u64, Stop> {
    scaled(text, &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)])
        .ok_or_else(|| Stop::Usage(format!("'{text}' is not a time: write 20us or 1.5ms")))
}

/// `512M`, `1.5T`.
fn bytes(text: &str) -> Result<u64, Stop> {
    let power = |n: i32| 1024f64.powi(n);
    let upper = text.to_ascii_uppercase();
    let text = upper.trim_end_matches("IB").trim_end_matches('B');
    scaled(
        text,
        &[("K", power(1)), ("M", power(2)), ("G", power(3)), ("T", power(4)), ("P", power(5)), ("", 1.0)],
    )
    .ok_or_else(|| Stop::Usage(format!("'{upper}' is not a size: write 512M or 64G")))
}

/// The number times what its unit stands for; the first unit that the text ends with counts.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let value = number.parse::<f64>().ok()? * unit;
    (value.is_finite() && (0.0..1e18).contains(&value)).then_some(value as u64)
}

#[cfg(test)]
mod tests;
