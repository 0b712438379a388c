//! How rsync(1) is asked, and what it answers.
//!
//! It is given the names that it is to look at, each ended by a byte 0, on its standard input, and
//! looks at no others. It makes a folder where one is needed on the way, follows no symbolic link
//! of the source, and removes nothing anywhere. Each file gets its name at the target when all of
//! it is there; of what breaks off, a part stays in [`PARTIAL`] beside it, and is gone on with.

use api_types::{AutoTierPolicy, FailureClass, RsyncEnd, TierTarget};

/// Where parts of files are kept at the target, in the folder of each.
const PARTIAL: &str = ".cistern-partial";
/// What begins a line about a file.
const MARK: u8 = b'=';
/// Bytes by which rsync says what it did, or would do, with a file.
const CHANGES: usize = 11;

/// What rsync is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Copy,
    /// To read both sides and change nothing.
    Compare,
}

/// The arguments of an rsync. `from`: where the folder is in the snapshot; `to`: where the target
/// is, for a target on this machine.
pub fn arguments(policy: &AutoTierPolicy, ask: Ask, from: &str, to: &str) -> Vec<String> {
    let mut words: Vec<String> = [
        // Links as links, and the numbers of owners as they are; holes stay holes.
        "--links",
        "--perms",
        "--times",
        "--group",
        "--owner",
        "--numeric-ids",
        "--hard-links",
        "--sparse",
        "--from0",
        "--files-from=-",
        // No shell takes a name apart.
        "--secluded-args",
        // One line a file, whether it is sent or not.
        "--itemize-changes",
        "--itemize-changes",
        "--out-format==%i %l %n",
        "--outbuf=L",
    ]
    .map(str::to_owned)
    .into();
    if !policy.plain {
        words.extend(["--acls", "--xattrs"].map(str::to_owned));
    }
    match ask {
        Ask::Compare => words.extend(["--checksum", "--dry-run"].map(str::to_owned)),
        Ask::Copy => {
            let partial = format!("--partial-dir={PARTIAL}");
            // So that what broke off is gone on with on this machine, too.
            words.extend([partial, "--no-whole-file".to_owned()]);
            words.extend(["--info=progress2", "--no-human-readable"].map(str::to_owned));
            words.extend(policy.rate.map(|rate| format!("--bwlimit={}", rate.div_ceil(1_024))));
        }
    }
    let target = match &policy.target {
        TierTarget::Dataset { .. } | TierTarget::Folder { .. } => to.to_owned(),
        TierTarget::Ssh { host, user, port, path } => {
            words.push(format!("--rsh={}", shell(port.map(std::num::NonZeroU16::get))));
            if ask == Ask::Copy && policy.action != api_types::TierAction::Copy {
                // What is removed here has to outlive a power cut there.
                words.push("--fsync".to_owned());
            }
            let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
            let at = user.as_ref().map_or_else(String::new, |user| format!("{user}@"));
            format!("{at}{host}:{path}")
        }
    };
    // With a dot behind it a folder has to be there, and is not made.
    words.extend(["--".to_owned(), format!("{from}/"), format!("{}/.", target.trim_end_matches('/'))]);
    words
}

/// The remote shell: it asks nobody anything, heeds no configuration but this, and ends when the
/// other side is gone. Its files are in the folder that it runs in.
fn shell(port: Option<u16>) -> String {
    let port = port.map_or_else(String::new, |port| format!(" -p {port}"));
    let options = [
        "BatchMode=yes",
        "StrictHostKeyChecking=accept-new",
        "UserKnownHostsFile=known_hosts",
        "IdentityFile=id_ed25519",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "PreferredAuthentications=publickey",
        "ClearAllForwardings=yes",
        "ConnectTimeout=20",
        "ServerAliveInterval=15",
        "ServerAliveCountMax=4",
    ];
    format!("ssh -F none -T -a -x -o{}{port}", options.join(" -o"))
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// About a file or symbolic link.
    File {
        deed: Deed,
        size: u64,
        /// As it was handed to rsync.
        path: Vec<u8>,
    },
    /// So many files were sent by now, and so many bytes of them put together at the target.
    Sent { files: u64, bytes: u64 },
}

/// What rsync does with a file, or would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// What it holds is at the target, as far as was looked; its owner or times may not be.
    Same,
    /// It begins to be sent.
    Send,
    /// It is a link, and is made.
    Link,
    /// It is another name of a file, and was not looked at by itself.
    Name,
}

/// Understands a line of the standard output, without its end. `None`: it is nothing to count.
pub fn understood(line: &[u8]) -> Option<Said> {
    match line.split_first() {
        Some((&MARK, rest)) => of_file(rest),
        _ => {
            let text = std::str::from_utf8(line).ok()?;
            let mut words = text.split_ascii_whitespace();
            let bytes = words.next()?.parse().ok()?;
            words.next()?.strip_suffix('%')?;
            let files = words.find_map(|word| word.strip_prefix("(xfr#"))?;
            Some(Said::Sent { files: files.trim_end_matches(',').parse().ok()?, bytes })
        }
    }
}

fn of_file(line: &[u8]) -> Option<Said> {
    let (changes, rest) = line.split_at_checked(CHANGES)?;
    let rest = rest.strip_prefix(b" ")?;
    let end = rest.iter().position(|byte| *byte == b' ')?;
    let size = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    let deed = match (changes[0], changes[1]) {
        (b'.', b'f' | b'L') => Deed::Same,
        (b'<' | b'>', b'f') => Deed::Send,
        (b'c', b'L') => Deed::Link,
        (b'h', b'f' | b'L') if changes[2..].iter().all(|byte| *byte == b' ') => Deed::Name,
        (b'h', b'f' | b'L') => Deed::Link,
        _ => return None,
    };
    Some(Said::File { deed, size, path: unescaped(&rest[end + 1..]) })
}

/// rsync writes a byte that cannot be printed as `\#` and three octal digits; so it does a
/// backslash that would be taken for that.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(name.len()), name);
    while let Some((&byte, after)) = rest.split_first() {
        let digits = rest.strip_prefix(b"\\#").and_then(|digits| digits.first_chunk::<3>());
        let value = digits.and_then(|digits| {
            let digit = |byte: u8| matches!(byte, b'0'..=b'7').then(|| u32::from(byte - b'0'));
            u8::try_from(digit(digits[0])? * 64 + digit(digits[1])? * 8 + digit(digits[2])?).ok()
        });
        bytes.push(value.unwrap_or(byte));
        rest = if value.is_some() { &rest[5..] } else { after };
    }
    bytes
}

/// What an end asks for; `None`: all is well.
pub fn class(end: &RsyncEnd) -> Option<FailureClass> {
    match end {
        RsyncEnd::Exited { status: 0 } => None,
        // Wrong usage, sides that do not understand each other, what is not there, and no rsync.
        RsyncEnd::Exited { status: 1..=6 | 126 | 127 } | RsyncEnd::NotStarted { .. } => {
            Some(FailureClass::NeedsPerson)
        }
        RsyncEnd::Exited { .. } | RsyncEnd::Signal { .. } | RsyncEnd::Stuck { .. } | RsyncEnd::Stopped => {
            Some(FailureClass::Retriable)
        }
    }
}

/// Whether what rsync did not say anything of can be gone on with: some files could not be copied,
/// and all others were.
pub fn is_partial(end: &RsyncEnd) -> bool {
    matches!(end, RsyncEnd::Exited { status: 23 | 24 })
}

#[cfg(test)]
mod tests;
