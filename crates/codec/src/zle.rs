//! ZLE: runs of zeros, everything else literal.
//!
//! A length byte below 64 is followed by that many plus one literal bytes; one of 64 or more stands
//! for a run of `byte - 63` zeros. Fact: `module/zfs/zle.c`, at level 64.

use crate::failure::Corrupt;

const LITERALS: usize = 64;
const RUN: usize = 256 - LITERALS;

pub fn compress(src: &[u8], dst: &mut [u8]) -> Option<usize> {
    let (mut from, mut to) = (0, 0);
    while from < src.len() {
        let rest = &src[from..];
        let zeros = rest.iter().take(RUN).take_while(|&&byte| byte == 0).count();
        if zeros > 0 {
            *dst.get_mut(to)? = (zeros - 1 + LITERALS) as u8;
            to += 1;
            from += zeros;
            continue;
        }
        // Literals go on over single zeros: a pair is needed to make a run pay.
        let window = &rest[..rest.len().min(LITERALS)];
        let pair = window.windows(2).position(|pair| pair == [0, 0]);
        let mut len = pair.unwrap_or(window.len());
        if pair.is_none() && window.len() > 1 && window[window.len() - 1] == 0 {
            len -= 1;
        }
        let out = dst.get_mut(to..to + 1 + len)?;
        out[0] = (len - 1) as u8;
        out[1..].copy_from_slice(&rest[..len]);
        to += 1 + len;
        from += len;
    }
    Some(to)
}

pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Corrupt> {
    let (mut src, mut dst) = (src, dst);
    while !dst.is_empty() {
        let (&length, rest) = src.split_first().ok_or(Corrupt)?;
        let length = usize::from(length) + 1;
        let zeros = length > LITERALS;
        let count = if zeros { length - LITERALS } else { length };
        let (out, after) = dst.split_at_mut_checked(count).ok_or(Corrupt)?;
        if zeros {
            out.fill(0);
            src = rest;
        } else {
            out.copy_from_slice(rest.get(..count).ok_or(Corrupt)?);
            src = &rest[count..];
        }
        dst = after;
    }
    Ok(())
}
