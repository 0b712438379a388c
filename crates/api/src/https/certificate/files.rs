//! The two files of a certificate: PEM, in a folder that only its owner may enter.

use super::Unfit;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

const CERTIFICATE: &str = "cert.pem";
const KEY: &str = "key.pem";
/// What a file is called until it takes the place of the one before.
const NEXT: &str = "new";
/// Bytes of a file: far more than any chain has.
const LARGEST: u64 = 1 << 20;

/// A certificate and its private key, in PEM.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

/// What is in a folder. `is_fit` tells whether a certificate and a key belong together: where they
/// do not, and the next key does, that one takes its place. `None`: there is no certificate.
pub fn read(folder: &Path, is_fit: &dyn Fn(&Pair) -> bool) -> Result<Option<Pair>, Unfit> {
    let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
    let Some(certificate) = text(&certificate)? else { return Ok(None) };
    let pair = |key: Option<String>| key.map(|key| Pair { certificate: certificate.clone(), key });
    let kept = pair(text(&key)?);
    if kept.as_ref().is_none_or(|kept| !is_fit(kept)) {
        let next = key.with_extension(NEXT);
        if let Some(pair) = pair(text(&next)?).filter(|pair| is_fit(pair)) {
            rename(&next, &key)?;
            flush(folder)?;
            return Ok(Some(pair));
        }
    }
    match kept {
        Some(kept) => Ok(Some(kept)),
        None => Err(Unfit::Io(key, io::ErrorKind::NotFound.into())),
    }
}

/// What is in a folder, as it is. `None`: there is no certificate, or no key yet.
pub fn look(folder: &Path) -> Result<Option<Pair>, Unfit> {
    let (certificate, key) = (text(&folder.join(CERTIFICATE))?, text(&folder.join(KEY))?);
    Ok(certificate.zip(key).map(|(certificate, key)| Pair { certificate, key }))
}

/// Puts both into a folder, in place of those that are there.
pub fn replace(folder: &Path, pair: &Pair) -> Result<(), Unfit> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Unfit::Io(folder.to_owned(), error))?;
    let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
    let (next_certificate, next_key) = (certificate.with_extension(NEXT), key.with_extension(NEXT));
    write(&next_key, &pair.key)?;
    write(&next_certificate, &pair.certificate)?;
    flush(folder)?;
    rename(&next_certificate, &certificate)?;
    flush(folder)?;
    rename(&next_key, &key)?;
    flush(folder)
}

fn text(path: &Path) -> Result<Option<String>, Unfit> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Unfit::Io(path.to_owned(), error)),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Unfit> {
    let failed = |error| Unfit::Io(path.to_owned(), error);
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}

fn rename(from: &Path, to: &Path) -> Result<(), Unfit> {
    fs::rename(from, to).map_err(|error| Unfit::Io(to.to_owned(), error))
}

fn flush(folder: &Path) -> Result<(), Unfit> {
    let flushed = File::open(folder).and_then(|folder| folder.sync_all());
    flushed.map_err(|error| Unfit::Io(folder.to_owned(), error))
}
