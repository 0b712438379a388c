//! One connection: it logs in, and its PDUs are taken until it ends.

use std::io::{self, BufReader, BufWriter, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;

use crate::catalogue::Catalogue;
use crate::limits::{DEFAULT_SEGMENT, LOGIN_TIME, PENALTY, SEGMENT, SILENCE, STALL};
use crate::login::{Login, Member, NOT_AUTHENTICATED, Step};
use crate::pdu::{Digests, Pdu, PduError};
use crate::session::{Next, Session};

/// Who has logged in, or `None` where that came to nothing.
pub fn log_in(
    stream: &TcpStream,
    peer: SocketAddr,
    catalogue: &Catalogue,
    random: &dyn Fn() -> u64,
) -> Result<Option<Member>, PduError> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOGIN_TIME))?;
    stream.set_write_timeout(Some(STALL))?;
    let (mut from, mut to) = (stream, stream);
    let mut login = Login::new(catalogue, random);
    while let Some(request) = Pdu::read(&mut from, Digests::default(), DEFAULT_SEGMENT)? {
        match login.step(&request) {
            Step::Answer(answer) => answer.write(&mut to, Digests::default())?,
            Step::Failed(answer, failure) => {
                let initiator = login.initiator();
                tracing::warn!(%peer, initiator, status = format!("{:#06x}", failure.0), "login failed");
                if failure == NOT_AUTHENTICATED {
                    thread::sleep(PENALTY);
                }
                answer.write(&mut to, Digests::default())?;
                return Ok(None);
            }
            Step::Done(answer, member) => {
                answer.write(&mut to, Digests::default())?;
                return Ok(Some(*member));
            }
        }
    }
    Ok(None)
}

/// The session of who has logged in, from its first PDU to its last.
pub fn serve(stream: &TcpStream, member: Member, catalogue: Arc<Catalogue>) -> Result<(), PduError> {
    stream.set_read_timeout(Some(SILENCE))?;
    let digests = member.parameters.digests;
    let mut from = BufReader::with_capacity(SEGMENT, stream);
    let to = BufWriter::with_capacity(SEGMENT, stream.try_clone()?);
    let session = Session::new(member, stream.local_addr()?, catalogue, to);
    let ended = read(&session, &mut from, digests);
    session.end();
    ended
}

fn read<W: Write + Send + 'static>(
    session: &Arc<Session<W>>,
    from: &mut impl io::Read,
    digests: Digests,
) -> Result<(), PduError> {
    let mut asked = false;
    loop {
        let next = match Pdu::read(from, digests, SEGMENT) {
            Ok(Some(pdu)) => session.take(pdu)?,
            Ok(None) => return Ok(()),
            Err(PduError::Silence) if !asked => {
                session.ping()?;
                asked = true;
                continue;
            }
            Err(PduError::Data(header)) => session.reject_data(&header)?,
            Err(error) => return Err(error),
        };
        asked = false;
        if next == Next::Ends {
            return Ok(());
        }
    }
}
