use super::*;

/// Bytes without pattern.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// A stripe of `long` columns of `len` bytes and `short` ones that are a unit shorter.
fn stripe(long: usize, short: usize, len: usize) -> Vec<Vec<u8>> {
    let len_of = |n| if n < long { len } else { len - UNIT };
    (0..long + short).map(|n| noise(len_of(n), n as u64 + 7)).collect()
}

/// The sums straight from their definition, byte by byte.
fn defined(level: usize, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let sum = |parity: usize, at: usize| {
        data.iter().enumerate().fold(0, |sum, (n, column)| {
            let byte = column.get(at).copied().unwrap_or(0);
            sum ^ field::times(byte, field::power(1 << parity, data.len() - 1 - n))
        })
    };
    (0..level).map(|parity| (0..data[0].len()).map(|at| sum(parity, at)).collect()).collect()
}

fn generated(method: Method, level: usize, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut parity = vec![vec![0xee; data[0].len()]; level];
    let data: Vec<&[u8]> = data.iter().map(|column| &column[..]).collect();
    let mut into: Vec<&mut [u8]> = parity.iter_mut().map(|column| &mut column[..]).collect();
    method.generate(&mut into, &data);
    parity
}

/// All ways to lose at most `most` of `count` columns, as bits.
fn losses(count: usize, most: usize) -> impl Iterator<Item = u32> {
    (0..1u32 << count).filter(move |lost| lost.count_ones() as usize <= most)
}

#[test]
fn the_field_has_inverses_and_two_generates_it() {
    let powers: std::collections::BTreeSet<u8> = (0..255).map(|n| field::power(2, n)).collect();
    assert_eq!(powers.len(), 255);
    assert_eq!(field::times(0x80, 2), 0x1d);
    for a in 1..=255u8 {
        assert_eq!(field::times(a, field::power(a, 254)), 1);
    }
}

#[test]
fn every_method_computes_the_sums_as_they_are_defined() {
    for method in Method::available() {
        for (long, short) in [(1, 0), (2, 0), (1, 1), (3, 2), (8, 0), (5, 9), (252, 0), (100, 151)] {
            let data = stripe(long, short, 2 * UNIT);
            for level in 1..=MAX_PARITY {
                let parity = generated(method, level, &data);
                assert!(parity == defined(level, &data), "{} {level} {long}+{short}", method.name());
            }
        }
    }
}

#[test]
fn a_parity_over_one_column_is_a_copy_of_it() {
    let data = stripe(1, 0, 4 * UNIT);
    assert!(generated(Method::SCALAR, 3, &data).iter().all(|parity| *parity == data[0]));
}

/// Loses columns (by number, parities first) and gets the data back, if it can be.
fn recovered(
    method: Method,
    data: &[Vec<u8>],
    parity: &[Vec<u8>],
    is_lost: &dyn Fn(usize) -> bool,
) -> Option<Vec<Vec<u8>>> {
    let mut found = data.to_vec();
    (0..data.len()).filter(|&n| is_lost(parity.len() + n)).for_each(|n| found[n].fill(0xee));
    let known: Vec<Option<&[u8]>> =
        parity.iter().enumerate().map(|(n, column)| (!is_lost(n)).then_some(&column[..])).collect();
    let mut columns: Vec<Column<'_>> = found
        .iter_mut()
        .enumerate()
        .map(|(n, column)| match is_lost(parity.len() + n) {
            true => Column::Lost(column),
            false => Column::Known(column),
        })
        .collect();
    method.reconstruct(&known, &mut columns).ok()?;
    drop(columns);
    Some(found)
}

#[test]
fn every_method_recovers_from_every_loss() {
    for method in Method::available() {
        for (long, short) in [(1, 0), (2, 0), (1, 2), (3, 3), (6, 0)] {
            let data = stripe(long, short, 2 * UNIT);
            for level in 1..=MAX_PARITY {
                let parity = defined(level, &data);
                for lost in losses(level + data.len(), level) {
                    let found = recovered(method, &data, &parity, &|n| lost & (1 << n) != 0);
                    assert!(found.as_ref() == Some(&data), "{} {level} lost {lost:b}", method.name());
                }
            }
        }
    }
}

#[test]
fn wide_stripes_recover_from_losses_at_their_ends_and_between() {
    let data = stripe(200, 52, UNIT);
    let parity = defined(3, &data);
    for method in Method::available() {
        for lost in [[0, 1, 251], [17, 199, 200], [249, 250, 251], [0, 127, 128]] {
            let found = recovered(method, &data, &parity, &|n| n >= 3 && lost.contains(&(n - 3)));
            assert!(found.as_ref() == Some(&data), "{} {lost:?}", method.name());
        }
    }
}

#[test]
fn one_loss_more_than_parities_is_too_many() {
    let data = stripe(3, 1, 2 * UNIT);
    for level in 1..=MAX_PARITY {
        let parity = defined(level, &data);
        for lost in losses(level + data.len(), level + 1) {
            let of_data = (lost >> level).count_ones() as usize;
            let left = level - (lost & ((1 << level) - 1)).count_ones() as usize;
            let found = recovered(Method::SCALAR, &data, &parity, &|n| lost & (1 << n) != 0);
            assert_eq!(found.is_some(), of_data <= left, "{level} lost {lost:b}");
        }
    }
}

#[test]
fn the_quickest_is_the_one_that_took_least() {
    let mut now = 0;
    // Methods are tried from the last on, four rounds each, with two looks at the clock: the second
    // from behind is best.
    let count = Method::available().len();
    let mut looks = 0;
    let found = Method::fastest(&mut || {
        let method = looks / 8;
        looks += 1;
        now += if method == count.min(2) - 1 { 1 } else { 5 };
        now
    });
    assert_eq!(found, Method::available()[count - count.min(2)]);
    assert_eq!(Method::fastest(&mut || 0), *Method::available().last().unwrap());
}
