//! Syslog: a line to `/dev/log` of this machine, or by RFC 5424 to another one.
//!
//! Nobody answers: that a line was sent is all that can be known.

use std::net::SocketAddr;
use std::os::unix::net::UnixDatagram;

use alerts::message::Message;
use alerts::syslog::{line, local_line};
use api_types::SyslogRoute;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UdpSocket, lookup_host};

use crate::Failure;

const LOCAL: &str = "/dev/log";

pub async fn send(place: &SyslogRoute, message: &Message) -> Result<(), Failure> {
    let unreachable = |error: std::io::Error| Failure::Unreachable(error.to_string());
    match place {
        SyslogRoute::Local => {
            let socket = UnixDatagram::unbound().map_err(unreachable)?;
            socket.set_nonblocking(true).map_err(unreachable)?;
            socket.send_to(local_line(message).as_bytes(), LOCAL).map_err(unreachable)?;
        }
        SyslogRoute::Udp(place) => {
            let to = lookup_host(place).await.map_err(unreachable)?.next();
            let to = to.ok_or_else(|| Failure::Unreachable("it has no address".to_owned()))?;
            let from: SocketAddr = match to {
                SocketAddr::V4(_) => ([0; 4], 0).into(),
                SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
            };
            let socket = UdpSocket::bind(from).await.map_err(unreachable)?;
            socket.send_to(line(message).as_bytes(), to).await.map_err(unreachable)?;
        }
        SyslogRoute::Tcp(place) => {
            let line = line(message);
            let mut stream = TcpStream::connect(place).await.map_err(unreachable)?;
            let framed = format!("{} {line}", line.len());
            stream.write_all(framed.as_bytes()).await.map_err(unreachable)?;
            stream.shutdown().await.map_err(unreachable)?;
        }
    }
    Ok(())
}
