//! Name-value lists and block pointers as text, as `zdb` prints them (lib/libnvpair/libnvpair.c
//! `dump_nvlist`).

use std::fmt::Write as _;
use std::io::{self, Write};

use ondisk::BlkPtr;
use ondisk::nvlist::{NvList, NvValue};

/// A list, one pair a line, nested lists further in.
pub fn nvlist(list: &NvList, indent: usize, out: &mut dyn Write) -> io::Result<()> {
    let pad = " ".repeat(indent);
    for (name, value) in list.iter() {
        match value {
            NvValue::NvList(inner) => {
                writeln!(out, "{pad}{}:", printable(name.as_bytes()))?;
                nvlist(inner, indent + 4, out)?;
            }
            NvValue::NvListArray(lists) => {
                for (index, inner) in lists.iter().enumerate() {
                    writeln!(out, "{pad}{}[{index}]:", printable(name.as_bytes()))?;
                    nvlist(inner, indent + 4, out)?;
                }
            }
            NvValue::Flag => writeln!(out, "{pad}{}", printable(name.as_bytes()))?,
            plain => match array(plain) {
                Some(items) => {
                    for (index, item) in items.iter().enumerate() {
                        writeln!(out, "{pad}{}[{index}]: {item}", printable(name.as_bytes()))?;
                    }
                }
                None => writeln!(out, "{pad}{}: {}", printable(name.as_bytes()), scalar(plain))?,
            },
        }
    }
    Ok(())
}

/// A value that is neither a list nor an array.
pub fn scalar(value: &NvValue) -> String {
    match value {
        NvValue::Bool(value) => value.to_string(),
        NvValue::Byte(value) | NvValue::U8(value) => value.to_string(),
        NvValue::I8(value) => value.to_string(),
        NvValue::I16(value) => value.to_string(),
        NvValue::U16(value) => value.to_string(),
        NvValue::I32(value) => value.to_string(),
        NvValue::U32(value) => value.to_string(),
        NvValue::I64(value) | NvValue::HrTime(value) => value.to_string(),
        NvValue::U64(value) => value.to_string(),
        NvValue::Double(value) => value.to_string(),
        NvValue::String(value) => format!("'{}'", printable(value.as_bytes())),
        other => format!("{other:?}"),
    }
}

/// The items of an array of anything but lists.
pub fn array(value: &NvValue) -> Option<Vec<String>> {
    fn all<T: ToString>(items: &[T]) -> Option<Vec<String>> {
        Some(items.iter().map(T::to_string).collect())
    }
    match value {
        NvValue::BoolArray(items) => all(items),
        NvValue::ByteArray(items) | NvValue::U8Array(items) => all(items),
        NvValue::I8Array(items) => all(items),
        NvValue::I16Array(items) => all(items),
        NvValue::U16Array(items) => all(items),
        NvValue::I32Array(items) => all(items),
        NvValue::U32Array(items) => all(items),
        NvValue::I64Array(items) => all(items),
        NvValue::U64Array(items) => all(items),
        NvValue::StringArray(items) => {
            Some(items.iter().map(|item| format!("'{}'", printable(item.as_bytes()))).collect())
        }
        _ => None,
    }
}

/// Bytes from a disk, fit for a terminal: no control characters reach it.
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() { text.extend(letter.escape_default()) } else { text.push(letter) }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where a block lies and how: `0:5a400:400 0:1385a400:400 20000L/400P fletcher4 lz4 F=5 B=90/90`.
pub fn blkptr(bp: &BlkPtr) -> String {
    if bp.is_hole() {
        return format!("HOLE {:x}L B={}", bp.lsize(), bp.logical_birth());
    }
    let compression =
        bp.compression().map_or_else(|_| format!("Z={}", bp.compression_raw()), |kind| kind.name().into());
    if bp.is_embedded() {
        let Ok(Some(embedded)) = bp.embedded() else { return "EMBEDDED (malformed)".into() };
        let (lsize, psize) = (embedded.lsize, embedded.payload().len());
        return format!("EMBEDDED {lsize:x}L/{psize:x}P {compression} B={}", bp.logical_birth());
    }
    let mut text = String::new();
    for dva in bp.dvas().iter().filter(|dva| dva.is_valid()) {
        let gang = if dva.gang { "G" } else { "" };
        let _ = write!(text, "{}:{:x}:{:x}{gang} ", dva.vdev, dva.offset, dva.asize);
    }
    let checksum = bp
        .checksum_kind()
        .map_or_else(|_| format!("K={}", bp.checksum_kind_raw()), |kind| kind.name().into());
    let _ = write!(
        text,
        "{:x}L/{:x}P {checksum} {compression} F={} B={}/{}",
        bp.lsize(),
        bp.psize(),
        bp.fill(),
        bp.logical_birth(),
        bp.physical_birth()
    );
    for (is, what) in [
        (bp.is_dedup(), "dedup"),
        (bp.is_encrypted(), "encrypted"),
        (bp.is_authenticated(), "authenticated"),
        (bp.byteorder() == ondisk::Endian::Big, "BE"),
    ] {
        if is {
            text += " ";
            text += what;
        }
    }
    let sum: Vec<String> = bp.checksum().iter().map(|word| format!("{word:x}")).collect();
    format!("{text} cksum={}", sum.join(":"))
}

/// Name and value, aligned.
pub fn field(
    indent: usize,
    name: &str,
    value: impl std::fmt::Display,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{:indent$}{name:<18} {value}", "")
}

#[cfg(test)]
mod tests;
