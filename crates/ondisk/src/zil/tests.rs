use super::*;

#[test]
fn header_and_chain_round_trip() {
    let header = ZilHeader {
        claim_txg: 1,
        replay_seq: 2,
        claim_blk_seq: 3,
        flags: 2,
        claim_lr_seq: 4,
        ..Default::default()
    };
    assert_eq!(ZilHeader::decode(&header.encode()), Ok(header));
    let chain = ZilChain { next: BlkPtr::default(), nused: 4096 };
    assert_eq!(ZilChain::decode(&chain.encode(), Endian::Little), Ok(chain));
}

fn record(txtype: u64, reclen: u64) -> Vec<u8> {
    [txtype, reclen, 5, 6].iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn records_are_walked_until_one_is_malformed() {
    let mut used = record(9, 40);
    used.extend([0xaa; 8]);
    used.extend(record(5 | TX_CI, 32));
    used.extend(record(1, 31));
    let found: Vec<_> = Records::new(&used, Endian::Little).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].map(|(head, bytes)| (head.txtype, bytes.len())), Ok((9, 40)));
    assert_eq!(found[1].map(|(head, _)| (head.txtype, head.ignores_case, head.seq)), Ok((5, true, 6)));
    assert_eq!(found[2], Err(Malformed::at("zil record", 72)));
}
