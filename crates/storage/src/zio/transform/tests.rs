use super::*;
use crate::testing::{noise, text, with};

const SHAPE: Shape<'_> = Shape { salt: None, min_ashift: 12, max_ashift: 12 };

fn lz4() -> WritePolicy {
    with(ChecksumKind::Fletcher4, CompressKind::Lz4)
}

fn stored(data: &Arc<Block>, policy: &WritePolicy) -> Stored {
    match transform(&SHAPE, data, policy, 4) {
        Transformed::Stored(stored) => stored,
        _ => panic!("not for the disk"),
    }
}

#[test]
fn zeros_are_holes_only_with_compression() {
    let zeros = Arc::new(Block::zeroed(131_072));
    assert!(matches!(transform(&SHAPE, &zeros, &lz4(), 4), Transformed::Hole));
    let off = WritePolicy { compression: CompressKind::Off, ..lz4() };
    assert_eq!(stored(&zeros, &off).psize, 131_072);
    let mut last = Block::zeroed(131_072);
    last[131_071] = 1;
    assert_eq!(stored(&Arc::new(last), &lz4()).psize, 4096);
}

#[test]
fn small_data_is_embedded_if_allowed() {
    let data = text(131_072, 1);
    let mut tiny = Block::zeroed(16384);
    tiny[..5].copy_from_slice(b"hello");
    let tiny = Arc::new(tiny);
    let embed = WritePolicy { embed: true, ..lz4() };
    let Transformed::Embedded(bp) = transform(&SHAPE, &tiny, &embed, 4) else { panic!("not embedded") };
    assert_eq!((bp.lsize(), bp.logical_birth(), bp.is_embedded()), (16384, 4, true));
    assert_eq!(stored(&tiny, &lz4()).psize, 4096);
    assert_eq!(stored(&tiny, &WritePolicy { level: 1, ..embed }).psize, 4096);
    assert!(stored(&data, &embed).psize < 131_072);
}

#[test]
fn compression_must_save_an_eighth_and_a_sector() {
    let hard = noise(131_072, 1);
    let done = stored(&hard, &lz4());
    assert_eq!((done.psize, done.compression), (131_072, CompressKind::Off));
    // 8 KiB to about 7 KiB: an eighth is saved, but no sector.
    let mut mixed = Block::from_slice(&noise(8192, 2));
    mixed[..1300].fill(0);
    assert_eq!(stored(&Arc::new(mixed), &lz4()).psize, 8192);
}

#[test]
fn blocks_smaller_than_a_sector_are_padded_but_not_summed_so() {
    let data = noise(512, 1);
    let done = stored(&data, &WritePolicy { compression: CompressKind::Off, ..lz4() });
    assert_eq!((done.psize, done.payload.len()), (512, 4096));
    assert_eq!(done.checksum, codec::checksum(7, &data, None, false).unwrap());
}

#[test]
fn what_does_not_compress_spoils_nothing_that_comes_after_it() {
    let kinds = [CompressKind::Lzjb, CompressKind::Zle, CompressKind::Lz4, CompressKind::Zstd]
        .into_iter()
        .chain((5..=13).filter_map(CompressKind::from_raw));
    // Half zeros, so that each kind saves something.
    let mut easy = Block::from_slice(&text(65_536, 1));
    easy[20_000..60_000].fill(0);
    let easy = Arc::new(easy);
    for kind in kinds {
        for complevel in if kind == CompressKind::Zstd { vec![0, 1, 9, 19, 103, 123] } else { vec![0] } {
            let policy = WritePolicy { complevel, ..with(ChecksumKind::Fletcher4, kind) };
            let before = stored(&easy, &policy);
            assert_eq!(before.compression, kind);
            for seed in 0..3 {
                assert_eq!(stored(&noise(65_536, seed), &policy).compression, CompressKind::Off);
                let after = stored(&easy, &policy);
                assert_eq!(
                    (after.compression, after.psize, after.checksum),
                    (kind, before.psize, before.checksum)
                );
            }
        }
    }
}

#[test]
fn a_level_that_does_not_exist_stores_the_block_as_it_is() {
    let policy = WritePolicy { complevel: 77, ..with(ChecksumKind::Fletcher4, CompressKind::Zstd) };
    let done = stored(&text(131_072, 1), &policy);
    assert_eq!((done.psize, done.compression), (131_072, CompressKind::Off));
}
