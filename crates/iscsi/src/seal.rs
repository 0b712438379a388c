//! Secrets as volumes keep them: not to be read in what programs print of properties, histories and
//! streams, and no more.
//!
//! CHAP takes the secret itself, and a volume has it along wherever it is sent or imported, so
//! there is no key that could be kept elsewhere: whoever has the volume, and this program, has the
//! secret. COMSTAR and LIO keep theirs no better.

use crate::binary::{bytes, hex};
use crate::md5::md5;

/// What stands for a secret where it is shown.
const HIDDEN: &str = "********";
/// Options that have one: in the clear, and sealed.
const SECRETS: [(&str, &str); 2] = [("secret", "sealed"), ("mutual_secret", "mutual_sealed")];
/// Bytes that make the same secret look like another one only if it is another one.
const SALT: usize = 4;

/// A share with its secrets sealed; all else as it was.
pub fn sealed(share: &str) -> String {
    let option = |option: &str| {
        let secret = option.split_once('=').and_then(|(name, secret)| {
            let (_, sealed) = SECRETS.iter().find(|(clear, _)| *clear == name)?;
            Some(format!("{sealed}={}", seal(secret)))
        });
        secret.unwrap_or_else(|| option.to_owned())
    };
    share.split(',').map(option).collect::<Vec<_>>().join(",")
}

/// The other way. What nobody has sealed stays as it is.
pub fn unsealed(share: &str) -> String {
    let option = |option: &str| {
        let clear = option.split_once('=').and_then(|(name, hidden)| {
            let (clear, _) = SECRETS.iter().find(|(_, sealed)| *sealed == name)?;
            Some(format!("{clear}={}", unseal(hidden)?))
        });
        clear.unwrap_or_else(|| option.to_owned())
    };
    share.split(',').map(option).collect::<Vec<_>>().join(",")
}

/// Any text that may have shares in it, without their secrets.
pub fn without_secrets(text: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    let found = |text: &str| {
        let marks = ["secret=", "sealed="].iter().filter_map(|mark| Some(text.find(mark)? + mark.len()));
        marks.min()
    };
    while let Some(at) = found(rest) {
        shown.push_str(&rest[..at]);
        let end = rest[at..].find([',', ' ', '\'', '"', '\n']).map_or(rest.len(), |len| at + len);
        if end > at {
            shown.push_str(HIDDEN);
        }
        rest = &rest[end..];
    }
    shown + rest
}

fn seal(secret: &str) -> String {
    let digest = md5(secret.as_bytes());
    let salt = &digest[..SALT];
    let hidden: Vec<u8> = salt.iter().copied().chain(mixed(salt, secret.as_bytes())).collect();
    hex(&hidden)
}

/// `None`: nobody has sealed this.
pub fn unseal(sealed: &str) -> Option<String> {
    let hidden = bytes(sealed)?;
    let (salt, hidden) = hidden.split_at_checked(SALT)?;
    let secret = String::from_utf8(mixed(salt, hidden).collect()).ok()?;
    (md5(secret.as_bytes())[..SALT] == *salt).then_some(secret)
}

/// The same twice is what it was.
fn mixed<'a>(salt: &'a [u8], bytes: &'a [u8]) -> impl Iterator<Item = u8> + 'a {
    let key = move |part: usize| md5(&[salt, b"cistern:iscsi", &[part as u8]].concat());
    bytes.chunks(16).enumerate().flat_map(move |(part, bytes)| {
        let key = key(part);
        bytes.iter().zip(key).map(|(byte, key)| byte ^ key).collect::<Vec<u8>>()
    })
}
