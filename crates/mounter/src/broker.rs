//! Has the broker carry requests out: a connection for each, so that it does not matter when the
//! broker began.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::answer::Answer;
use crate::carry::Carry;
use crate::fault::{Fault, Silence};
use crate::protocol::{self, ANSWER_MOST};
use crate::request::Request;
use crate::socket::Socket;

/// How long the broker may take to take a request.
const TAKEN: Duration = Duration::from_secs(10);
/// How long it may take to answer: longer than whoever asks waits for what is dirty to be written.
/// The broker undoes a mount for which nobody waits any more.
const ANSWERED: Duration = Duration::from_secs(75);

/// See the module.
#[derive(Debug)]
pub struct Broker {
    socket: PathBuf,
}

impl Broker {
    pub fn new(socket: PathBuf) -> Broker {
        Broker { socket }
    }

    fn ask(&self, request: &[u8]) -> io::Result<Result<Answer, Fault>> {
        let socket = Socket::connect(&self.socket, TAKEN)?;
        socket.receive_within(ANSWERED)?;
        match socket.send(request, None) {
            // It may have said why it takes no more, and gone.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            sent => sent?,
        }
        let mut room = [0; ANSWER_MOST + 1];
        let message = socket.receive_with_fd(&mut room).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => error,
        })?;
        if message.len == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(protocol::read_answer(&room[..message.len], message.fd))
    }
}

impl Carry for Broker {
    fn carry_out(&self, request: &Request) -> Result<Answer, Fault> {
        let unreachable = |error| Fault::Broker(Silence::Unreachable { socket: self.socket.clone(), error });
        self.ask(&protocol::request(request)?).map_err(unreachable)?
    }
}
