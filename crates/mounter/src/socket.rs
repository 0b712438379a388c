//! Sockets that keep messages apart, and pass a descriptor on.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{PeerCredentials, ReceiveTimeout, SendTimeout};
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
    accept4, bind, connect, getsockopt, listen, recv, recvmsg, sendmsg, setsockopt, socket,
};
use nix::sys::time::TimeVal;

/// One end of a connection, or a socket where connections arrive.
#[derive(Debug)]
pub struct Socket(OwnedFd);

/// A message, and what came with it.
pub struct Message {
    /// Bytes of it that there was room for.
    pub len: usize,
    pub fd: Option<OwnedFd>,
}

impl From<OwnedFd> for Socket {
    fn from(fd: OwnedFd) -> Socket {
        Socket(fd)
    }
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> OwnedFd {
        socket.0
    }
}

impl Socket {
    fn new() -> io::Result<Socket> {
        Ok(Socket(socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?))
    }

    /// A connection to who listens at `path`, where there is room for one within `bound`.
    pub fn connect(path: &Path, bound: Duration) -> io::Result<Socket> {
        let socket = Socket::new()?;
        socket.send_within(bound)?;
        connect(socket.0.as_raw_fd(), &UnixAddr::new(path)?)?;
        Ok(socket)
    }

    /// Listens at `path`, with room for as many that wait.
    pub fn listen(path: &Path, waiting: Backlog) -> io::Result<Socket> {
        let socket = Socket::new()?;
        bind(socket.0.as_raw_fd(), &UnixAddr::new(path)?)?;
        listen(&socket.0, waiting)?;
        Ok(socket)
    }

    /// The next connection.
    pub fn accept(&self) -> Result<Socket, Errno> {
        let fd = accept4(self.0.as_raw_fd(), SockFlag::SOCK_CLOEXEC)?;
        // SAFETY: the kernel has just made this descriptor, for nobody else.
        Ok(Socket(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// User and group of who has connected.
    pub fn peer(&self) -> io::Result<(u32, u32)> {
        let peer = getsockopt(&self.0, PeerCredentials)?;
        Ok((peer.uid(), peer.gid()))
    }

    pub fn send_within(&self, bound: Duration) -> io::Result<()> {
        Ok(setsockopt(&self.0, SendTimeout, &time(bound))?)
    }

    pub fn receive_within(&self, bound: Duration) -> io::Result<()> {
        Ok(setsockopt(&self.0, ReceiveTimeout, &time(bound))?)
    }

    /// Sends a message, and a descriptor with it.
    ///
    /// # Errors
    /// `BrokenPipe` where nobody is there any more; `WouldBlock` where there was no room in time.
    pub fn send(&self, message: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let fds: Vec<RawFd> = fd.iter().map(AsRawFd::as_raw_fd).collect();
        let control = match fds.is_empty() {
            true => &[][..],
            false => &[ControlMessage::ScmRights(&fds)][..],
        };
        let parts = [IoSlice::new(message)];
        again(|| sendmsg::<UnixAddr>(self.0.as_raw_fd(), &parts, control, MsgFlags::MSG_NOSIGNAL, None))?;
        Ok(())
    }

    /// The next message: how many of its bytes there was room for, 0 where there is none any more.
    /// Descriptors that come with it the kernel closes.
    ///
    /// # Errors
    /// `WouldBlock` where none came in time.
    pub fn receive(&self, room: &mut [u8]) -> io::Result<usize> {
        again(|| recv(self.0.as_raw_fd(), room, MsgFlags::empty()))
    }

    /// The same, of somebody who may send one descriptor.
    pub fn receive_with_fd(&self, room: &mut [u8]) -> io::Result<Message> {
        match again(|| self.message(room)) {
            // The other end is closed and had not read all. What it said before comes next.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => again(|| self.message(room)),
            received => received,
        }
    }

    fn message(&self, room: &mut [u8]) -> Result<Message, Errno> {
        let mut space = cmsg_space!(RawFd);
        let mut parts = [IoSliceMut::new(room)];
        let (fd, flags) = (self.0.as_raw_fd(), MsgFlags::MSG_CMSG_CLOEXEC);
        let found = recvmsg::<UnixAddr>(fd, &mut parts, Some(&mut space), flags)?;
        let mut fds = Vec::new();
        for control in found.cmsgs()? {
            if let ControlMessageOwned::ScmRights(numbers) = control {
                // SAFETY: the kernel has just put these into the process, for nobody else.
                fds.extend(numbers.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        // Nobody sends more than one.
        let fd = fds.into_iter().next();
        Ok(Message { len: found.bytes, fd })
    }
}

/// Until no signal comes between.
fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            done => return Ok(done?),
        }
    }
}

fn time(bound: Duration) -> TimeVal {
    TimeVal::new(bound.as_secs() as libc::time_t, bound.subsec_micros().into())
}
