//! Requests and answers without end: the request's body goes out as it comes, the answer's frames
//! come in meanwhile. See `api_types::StreamEvent`.

use super::exchange::{Answer, Outgoing, cut, odd};
use super::{CallError, Client};
use api_types::{FRAME_DATA, FRAME_EVENT, FRAME_HEAD, StreamEvent, read_frame_head};
use hyper::Method;
use hyper::body::Bytes;
use serde::Serialize;
use std::io::{self, Read};

/// The longest frame.
const FRAME_MAX: usize = 16 << 20;

/// A part of the answer.
pub enum Piece<'a> {
    /// Some bytes of the stream.
    Data(&'a [u8]),
    Event(StreamEvent),
}

impl Client {
    /// Sends a request, and `input` after it until that ends or the daemon has answered. `each`
    /// sees the answer as it comes, and may not ask the daemon itself; what it fails with ends the
    /// exchange.
    pub fn flow<E: From<CallError>>(
        &self,
        path: &str,
        request: &impl Serialize,
        input: Option<Box<dyn Read + Send>>,
        each: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut line =
            serde_json::to_vec(request).map_err(|error| CallError::Transport(error.to_string()))?;
        line.push(b'\n');
        let body = match input {
            None => Outgoing::whole(line),
            Some(input) => Outgoing::stream(line, input).map_err(|error| self.lost(&error))?,
        };
        let request = self.request(Method::POST, path, body)?;
        self.wait(async {
            let mut answer = self.ask(request).await?;
            if !answer.status.is_success() {
                return Err(self.refused(&mut answer).await.into());
            }
            let mut frames = Frames { answer, read: Bytes::new(), left: 0, given: Bytes::new() };
            while let Some(piece) = frames.next().await.map_err(|error| self.lost(&error))? {
                each(piece)?;
            }
            Ok(())
        })
    }
}

/// An answer in frames.
struct Frames {
    answer: Answer,
    /// Has come, and was not looked at.
    read: Bytes,
    /// Bytes of the stream to come before the next frame.
    left: usize,
    given: Bytes,
}

impl Frames {
    /// The next piece; `None` at the end.
    async fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        // So that its room can be read into again.
        self.given = Bytes::new();
        while self.left == 0 {
            if self.read.is_empty() && !self.more().await? {
                return Ok(None);
            }
            let mut head = [0; FRAME_HEAD];
            head.copy_from_slice(&self.exactly(FRAME_HEAD).await?);
            let (kind, length) = read_frame_head(head);
            let length = length as usize;
            match kind {
                FRAME_DATA | FRAME_EVENT if length > FRAME_MAX => return Err(odd("no frame")),
                FRAME_DATA => self.left = length,
                FRAME_EVENT => {
                    let event = serde_json::from_slice(&self.exactly(length).await?)?;
                    return Ok(Some(Piece::Event(event)));
                }
                _ => return Err(odd("no frame")),
            }
        }
        if self.read.is_empty() && !self.more().await? {
            return Err(cut());
        }
        self.given = self.read.split_to(self.left.min(self.read.len()));
        self.left -= self.given.len();
        Ok(Some(Piece::Data(&self.given)))
    }

    /// Waits for more; false at the end.
    async fn more(&mut self) -> io::Result<bool> {
        let part = self.answer.part().await?;
        let is_more = part.is_some();
        self.read = part.unwrap_or_default();
        Ok(is_more)
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            if self.read.is_empty() && !self.more().await? {
                return Err(cut());
            }
            let wanted = length - bytes.len();
            bytes.extend_from_slice(&self.read.split_to(wanted.min(self.read.len())));
        }
        Ok(bytes)
    }
}
