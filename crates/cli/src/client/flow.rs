//! Requests and answers without end: the request's body goes out in chunks by a thread of its own,
//! the answer's frames come in meanwhile. See `api_types::StreamEvent`.

use super::{CallError, Client, header_line, lost, odd, read_body};
use api_types::{FRAME_DATA, FRAME_EVENT, FRAME_HEAD, StreamEvent, read_frame_head};
use serde::Serialize;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

/// Bytes that are sent at a time.
const PIECE: usize = 256 << 10;
/// The longest event.
const EVENT_MAX: usize = 16 << 20;

/// A part of the answer.
pub enum Piece<'a> {
    Data(&'a [u8]),
    Event(StreamEvent),
}

impl Client {
    /// Sends a request, and `input` after it until that ends or the daemon has answered. `each`
    /// sees the answer as it comes; what it fails with ends the exchange.
    pub fn flow<E: From<CallError>>(
        &self,
        path: &str,
        request: &impl Serialize,
        input: Option<Box<dyn Read + Send>>,
        each: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let stream = UnixStream::connect(&self.socket).map_err(|error| self.unreachable(&error))?;
        let mut line =
            serde_json::to_vec(request).map_err(|error| CallError::Transport(error.to_string()))?;
        line.push(b'\n');
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: cistern\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        let mut to = stream.try_clone().map_err(lost)?;
        // Whoever feeds us may never end: nobody waits for this thread.
        std::thread::spawn(move || {
            if to.write_all(head.as_bytes()).and_then(|()| chunk(&mut to, &line)).is_ok() {
                pump(input, to);
            }
        });
        let mut answer = Chunks::new(BufReader::with_capacity(PIECE, stream)).map_err(lost)?;
        if !answer.is_fine() {
            return Err(answer.refusal().into());
        }
        while let Some((kind, bytes)) = answer.frame().map_err(lost)? {
            match kind {
                FRAME_DATA => each(Piece::Data(&bytes))?,
                _ => {
                    let event = serde_json::from_slice(&bytes).map_err(|error| lost(error.into()))?;
                    each(Piece::Event(event))?;
                }
            }
        }
        Ok(())
    }
}

/// The daemon may have enough before the input ends, or before it begins: then writing fails, and
/// the answer says why.
fn pump(input: Option<Box<dyn Read + Send>>, mut to: UnixStream) {
    let mut buffer = vec![0; PIECE];
    if let Some(mut input) = input {
        loop {
            match input.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) if chunk(&mut to, &buffer[..len]).is_ok() => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }
    let _ = to.write_all(b"0\r\n\r\n");
}

fn chunk(to: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    to.write_all(format!("{:x}\r\n", bytes.len()).as_bytes())?;
    to.write_all(bytes)?;
    to.write_all(b"\r\n")
}

/// An answer in chunks.
struct Chunks<R> {
    from: R,
    status: u16,
    length: Option<u64>,
    /// Bytes left of the chunk.
    left: u64,
}

impl<R: BufRead> Chunks<R> {
    fn new(mut from: R) -> io::Result<Chunks<R>> {
        let (status, length) = super::read_head(&mut from)?;
        Ok(Chunks { from, status, length, left: 0 })
    }

    fn is_fine(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn refusal(mut self) -> CallError {
        let body = self.length.map(|length| read_body(&mut self.from, length));
        match body.map(|body| body.map(|body| serde_json::from_slice(&body))) {
            Some(Ok(Ok(problem))) => CallError::Refused(problem),
            _ => CallError::Transport("the Cistern daemon answers in a way we don't understand".into()),
        }
    }

    /// The next frame; `None` at the end.
    fn frame(&mut self) -> io::Result<Option<(u8, Vec<u8>)>> {
        let mut head = [0; FRAME_HEAD];
        match self.read(&mut head[..1])? {
            0 => return Ok(None),
            _ => self.read_exact(&mut head[1..])?,
        }
        let (kind, length) = read_frame_head(head);
        let length = length as usize;
        if length > EVENT_MAX || ![FRAME_DATA, FRAME_EVENT].contains(&kind) {
            return Err(odd("no frame"));
        }
        let mut bytes = vec![0; length];
        self.read_exact(&mut bytes)?;
        Ok(Some((kind, bytes)))
    }
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let line = header_line(&mut self.from)?;
            let length = u64::from_str_radix(line.trim(), 16);
            self.left = length.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            if self.left == 0 {
                return Ok(0);
            }
        }
        let most = to.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.from.read(&mut to[..most])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        if self.left == 0 {
            header_line(&mut self.from)?;
        }
        Ok(read)
    }
}
