//! Requests of the management API over the daemon's Unix socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use load::Fail;

/// The longest wait for an answer.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// One connection to the daemon.
pub struct Http(BufReader<UnixStream>);

pub struct Answer {
    pub body: Vec<u8>,
    /// The next page.
    pub next: Option<String>,
}

impl Http {
    pub fn connect(socket: &Path) -> Result<Http, Fail> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Http(BufReader::new(stream)))
    }

    /// Asks, and gives what is answered with success.
    pub fn ask(&mut self, verb: &str, path: &str, body: &str) -> Result<Answer, Fail> {
        let head = format!(
            "{verb} {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.0.get_mut().write_all((head + body).as_bytes())?;
        let (mut line, mut status, mut len, mut next) = (String::new(), String::new(), None, None);
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                None if line.trim_end().is_empty() => break,
                None => line.trim_end().clone_into(&mut status),
                Some(("content-length", text)) => len = Some(text.parse::<usize>()?),
                Some(("link", text)) => next = linked(text),
                Some(_) => {}
            }
        }
        let mut body = vec![0; len.ok_or("an answer without a length")?];
        self.0.read_exact(&mut body)?;
        match status.starts_with("HTTP/1.1 2") {
            true => Ok(Answer { body, next }),
            false => Err(format!("{verb} {path}: {status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }
}

/// The path in `</v1/…>; rel="next"`.
fn linked(text: &str) -> Option<String> {
    Some(text.strip_prefix('<')?.split_once('>')?.0.to_owned())
}
