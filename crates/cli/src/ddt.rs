//! Histograms of deduplication (lib/libzutil/zutil_pool.c, `zpool_dump_ddt`; cmd/zdb/zdb.c,
//! `dump_dedup_ratio`).

use api_types::DedupBucket;

use crate::human::{nicebytes, nicenum};

/// All buckets together.
pub fn total(buckets: &[DedupBucket]) -> DedupBucket {
    buckets.iter().fold(DedupBucket::default(), |sum, bucket| DedupBucket {
        references: 0,
        blocks: sum.blocks + bucket.blocks,
        lsize: sum.lsize + bucket.lsize,
        psize: sum.psize + bucket.psize,
        dsize: sum.dsize + bucket.dsize,
        ref_blocks: sum.ref_blocks + bucket.ref_blocks,
        ref_lsize: sum.ref_lsize + bucket.ref_lsize,
        ref_psize: sum.ref_psize + bucket.ref_psize,
        ref_dsize: sum.ref_dsize + bucket.ref_dsize,
    })
}

/// The table, with an empty line before and after.
pub fn histogram(buckets: &[DedupBucket], literal: bool) -> String {
    let mut text = concat!(
        "\nbucket   ",
        "           allocated             ",
        "          referenced          \n",
        "______   ______________________________   ______________________________\n",
    )
    .to_owned();
    let mut line = |words: [String; 9]| {
        let [first, blocks, l, p, d, ref_blocks, ref_l, ref_p, ref_d] = words;
        text += &format!(
            "{first:>6}   {blocks:>6}   {l:>5}   {p:>5}   {d:>5}   {ref_blocks:>6}   {ref_l:>5}   {ref_p:>5}   {ref_d:>5}\n"
        );
    };
    line(
        ["refcnt", "blocks", "LSIZE", "PSIZE", "DSIZE", "blocks", "LSIZE", "PSIZE", "DSIZE"]
            .map(String::from),
    );
    line(
        ["------", "------", "-----", "-----", "-----", "------", "-----", "-----", "-----"]
            .map(String::from),
    );
    let count = |number: u64| if literal { number.to_string() } else { nicenum(number) };
    let bytes = |number: u64| if literal { number.to_string() } else { nicebytes(number) };
    let row = |first: String, of: &DedupBucket| {
        let [l, p, d] = [of.lsize, of.psize, of.dsize].map(bytes);
        let [ref_l, ref_p, ref_d] = [of.ref_lsize, of.ref_psize, of.ref_dsize].map(bytes);
        [first, count(of.blocks), l, p, d, count(of.ref_blocks), ref_l, ref_p, ref_d]
    };
    for bucket in buckets {
        line(row(count(bucket.references), bucket));
    }
    let total = total(buckets);
    if total.blocks > 0 {
        line(row("Total".into(), &total));
    }
    text + "\n"
}
