//! `cistern dedup-estimate`: whether deduplication would pay, before it is turned on (as `zdb -S`).

use crate::advise::wrapped;
use crate::client::Client;
use crate::command::Io;
use crate::ddt;
use crate::fail::Stop;
use crate::getopt;
use crate::json::Json;
use api_types::{DedupBucket, DedupEstimate, routes};

pub const USAGE: &str = "\
usage: cistern dedup-estimate [-p] [-j|--json] POOL|DATASET

Counts which blocks are stored how often, by the checksums that they have, of a dataset and all below it with their
snapshots; says whether deduplication would pay, and what memory its table wants. All metadata is read.

  -p            exact numbers
  -j, --json    every figure, as one JSON object

examples:
  cistern dedup-estimate tank
  cistern dedup-estimate tank/vm --json
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    let options = getopt::parse(args, "jp", &["json"])?;
    let [name] = options.operands.as_slice() else {
        return Err(Stop::Usage("name one pool or dataset".into()));
    };
    let pool = name.split('/').next().unwrap_or(name);
    let path = routes::at(routes::POOL_DEDUP_ESTIMATE, pool);
    let estimate: DedupEstimate = client.get(&format!("{path}?dataset={}", routes::segment(name)))?;
    if options.has("j") {
        let document = Json::document("cistern dedup-estimate").with("estimate", as_json(name, &estimate));
        writeln!(io.out, "{document}")?;
        return Ok(io.out.flush()?);
    }
    write!(io.out, "Simulated DDT histogram:\n{}", ddt::histogram(&estimate.buckets, options.has("p")))?;
    let total = ddt::total(&estimate.buckets);
    if total.blocks > 0 {
        writeln!(io.out, "{}\n", ratios(&total))?;
    }
    for line in wrapped(&estimate.verdict, 100) {
        writeln!(io.out, "{line}")?;
    }
    if estimate.sampled > 1 {
        writeln!(io.out, "Estimated from one block in {}.", estimate.sampled)?;
    }
    if estimate.unknown > 0 {
        writeln!(
            io.out,
            "Of {} blocks nothing can be said: they have no checksum, or cannot be read.",
            estimate.unknown
        )?;
    }
    Ok(io.out.flush()?)
}

/// As zdb says it (cmd/zdb/zdb.c, `dump_dedup_ratio`).
fn ratios(total: &DedupBucket) -> String {
    let ratio = |one: u64, other: u64| one as f64 / other as f64;
    let dedup = ratio(total.ref_dsize, total.dsize);
    let (compress, copies) =
        (ratio(total.ref_lsize, total.ref_psize), ratio(total.ref_dsize, total.ref_psize));
    format!(
        "dedup = {dedup:.2}, compress = {compress:.2}, copies = {copies:.2}, dedup * compress / copies = {:.2}",
        dedup * compress / copies
    )
}

fn as_json(name: &str, estimate: &DedupEstimate) -> Json {
    let mut buckets = Json::object();
    for bucket in &estimate.buckets {
        let figures = [
            ("blocks", bucket.blocks),
            ("lsize", bucket.lsize),
            ("psize", bucket.psize),
            ("dsize", bucket.dsize),
            ("ref_blocks", bucket.ref_blocks),
            ("ref_lsize", bucket.ref_lsize),
            ("ref_psize", bucket.ref_psize),
            ("ref_dsize", bucket.ref_dsize),
        ];
        let mut object = Json::object();
        figures.into_iter().for_each(|(name, value)| object.put(name, Json::Number(value)));
        buckets.put(bucket.references.to_string(), object);
    }
    let mut object = Json::object().with("name", name).with("histogram", buckets);
    for (name, value) in [
        ("sampled", estimate.sampled),
        ("unknown", estimate.unknown),
        ("entries", estimate.entries),
        ("table", estimate.table),
        ("saved", estimate.saved),
        ("cache", estimate.cache),
    ] {
        object.put(name, Json::Number(value));
    }
    object.put("would_pay", if estimate.would_pay { "yes" } else { "no" });
    object.put("verdict", estimate.verdict.as_str());
    object
}
