//! A small blocking HTTP/1.1 client on a Unix socket: one connection a request, bounded answers.

mod flow;

use crate::fail::Stop;
use api_types::{Problem, kind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use stdx::os_error::words;

/// Largest answer taken: a list of a million datasets with all their properties does not come here
/// in one piece.
const ANSWER_MAX: u64 = 1 << 30;
/// Longest header line.
const LINE_MAX: u64 = 16 << 10;
/// Longest silence of the daemon. It answers at once or with a job, but a list may have to read
/// much from slow disks.
const SILENCE_MAX: Duration = Duration::from_secs(600);

pub use flow::Piece;

/// Where the daemon listens: `$CISTERN_SOCKET`, or the first of the usual places that is there.
pub fn default_socket() -> PathBuf {
    if let Some(path) = std::env::var_os("CISTERN_SOCKET").filter(|path| !path.is_empty()) {
        return PathBuf::from(path);
    }
    let here = ["var", "/run/cistern"].map(PathBuf::from);
    let usual = here.into_iter().chain([default_state(false), default_state(true)]);
    let found = usual.map(|state| state.join("cistern.sock")).find(|socket| socket.exists());
    found.unwrap_or_else(|| default_state(true).join("cistern.sock"))
}

/// Where the daemon keeps its state unless it is told: of a user's own below `$XDG_STATE_HOME`,
/// which is `~/.local/state`.
pub fn default_state(is_root: bool) -> PathBuf {
    let of_system = PathBuf::from("/var/lib/cistern");
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_user = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    match of_user {
        Some(folder) if !is_root => folder.join("cistern"),
        _ => of_system,
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum CallError {
    /// Nobody listens, or it does not speak our language.
    Transport(String),
    Refused(Problem),
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Stop {
        match error {
            CallError::Transport(text) => Stop::Fail(text),
            CallError::Refused(problem) if problem.exit == 2 => {
                Stop::Fail(format!("internal error: {problem}"))
            }
            CallError::Refused(problem) => Stop::Fail(problem.to_string()),
        }
    }
}

impl CallError {
    /// The problem, or the end of the command where there was no answer at all.
    pub fn problem(self) -> Result<Problem, Stop> {
        match self {
            CallError::Refused(problem) if problem.kind != kind::BAD_REQUEST => Ok(problem),
            other => Err(other.into()),
        }
    }
}

/// The daemon, by its socket.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

impl Client {
    pub fn new(socket: &Path) -> Client {
        Client { socket: socket.to_owned() }
    }

    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CallError> {
        self.call("GET", path, &[])
    }

    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, CallError> {
        let body = serde_json::to_vec(body).map_err(|error| CallError::Transport(error.to_string()))?;
        self.call("POST", path, &body)
    }

    fn call<T: DeserializeOwned>(&self, method: &str, path: &str, body: &[u8]) -> Result<T, CallError> {
        let stream = UnixStream::connect(&self.socket).map_err(|error| self.unreachable(&error))?;
        let (status, answer) = exchange(stream, method, path, body).map_err(lost)?;
        let odd = |error: serde_json::Error| {
            CallError::Transport(format!("the Cistern daemon answers in a way we don't understand: {error}"))
        };
        if (200..300).contains(&status) {
            return serde_json::from_slice(&answer).map_err(odd);
        }
        Err(CallError::Refused(serde_json::from_slice(&answer).map_err(odd)?))
    }

    fn unreachable(&self, error: &std::io::Error) -> CallError {
        let socket = self.socket.display();
        CallError::Transport(match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                format!("permission denied: the Cistern daemon's socket {socket} belongs to another user")
            }
            _ => format!(
                "The Cistern daemon is not running (no answer on {socket}: {}).\n\
                 Start it with 'cistern serve --state DIR', or set CISTERN_SOCKET to its socket, DIR/cistern.sock.",
                words(error)
            ),
        })
    }
}

fn lost(error: std::io::Error) -> CallError {
    CallError::Transport(format!("lost the Cistern daemon while it worked: {}", words(&error)))
}

fn exchange(
    mut stream: UnixStream,
    method: &str,
    path: &str,
    body: &[u8],
) -> std::io::Result<(u16, Vec<u8>)> {
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: cistern\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    // In one piece, and a daemon that answers before it has read all of it is listened to: it may
    // need no body, or refuse what the head says, and close.
    let sent = stream.write_all(&[head.as_bytes(), body].concat());
    let answer = read_answer(BufReader::new(stream));
    answer.map_err(|error| sent.err().unwrap_or(error))
}

/// Status and body. Our server says how long its body is, but for streams.
fn read_answer(mut from: impl BufRead) -> std::io::Result<(u16, Vec<u8>)> {
    let (status, length) = read_head(&mut from)?;
    let length = length.ok_or_else(|| odd("no usable content-length"))?;
    Ok((status, read_body(&mut from, length)?))
}

fn odd(what: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, what.to_owned())
}

/// Status, and how long the body is.
fn read_head(from: &mut impl BufRead) -> std::io::Result<(u16, Option<u64>)> {
    let line = header_line(from)?;
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse::<u16>().ok());
    let status = status.ok_or_else(|| odd("no HTTP status"))?;
    let mut length = None;
    loop {
        let line = header_line(from)?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<u64>().ok();
        }
    }
    Ok((status, length.filter(|length| *length <= ANSWER_MAX)))
}

fn read_body(from: &mut impl BufRead, length: u64) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    from.take(length).read_to_end(&mut body)?;
    if (body.len() as u64) < length {
        return Err(odd("the answer breaks off"));
    }
    Ok(body)
}

fn header_line(from: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    from.take(LINE_MAX).read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.trim_end_matches('\r').to_owned()),
        None => Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "the answer breaks off")),
    }
}

#[cfg(test)]
mod tests;
