//! What the shell of the console gives up before it reads the first key: files, programs, other
//! processes and the network. What is left is its terminal, its memory, its threads and the line by
//! which the daemon hands it connections.
//!
//! The kernel keeps it, by a filter of system calls (seccomp): those that are listed here are done,
//! every other fails with EPERM. So what a command may do to the machine does not depend on which
//! commands there are. What the shell needs of files is read before: the time zone.
//!
//! Invariant: either all of this is in force, or the shell does not begin, and says why.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, stderr, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use nix::libc::{self, c_long};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::socket::sockopt::{ReceiveTimeout, SockType as TypeOf};
use nix::sys::socket::{SockType, getsockopt, setsockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::unistd::{Gid, Uid, dup2_stderr, geteuid, getpid, setgroups, setresgid, setresuid, setsid};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use stdx::os_error::words;

use crate::{clock, files};

/// Bytes of data: what an answer of the daemon and its text may take.
const MEMORY: u64 = 512 << 20;
const DESCRIPTORS: u64 = 64;
/// How long the daemon may take to hand a connection over: seconds.
const HANDED: i64 = 10;
const NOBODY: u32 = 65534;

/// Gives it all up. The line to the daemon is what the daemon has put in the place of standard
/// error; an error is a sentence.
pub fn confine() -> Result<OwnedFd, String> {
    let line = stderr().as_fd().try_clone_to_owned().map_err(|error| words(&error))?;
    if getsockopt(&line, TypeOf).ok() != Some(SockType::SeqPacket) || !stdin().is_terminal() {
        return Err("--confined is for the daemon, which begins it for the console".to_owned());
    }
    dup2_stderr(stdout()).map_err(|error| failed("take the terminal", error.into()))?;
    take_terminal()?;
    setsockopt(&line, ReceiveTimeout, &TimeVal::seconds(HANDED))
        .map_err(|error| failed("limit a wait", error.into()))?;
    let limits = [
        (Resource::RLIMIT_DATA, MEMORY),
        (Resource::RLIMIT_NOFILE, DESCRIPTORS),
        (Resource::RLIMIT_FSIZE, 0),
        (Resource::RLIMIT_CORE, 0),
    ];
    for (what, most) in limits {
        setrlimit(what, most, most).map_err(|error| failed("limit itself", error.into()))?;
    }
    if geteuid().is_root() {
        become_nobody().map_err(|error| failed("become another user", error.into()))?;
    }
    let _zone_is_known = clock::time();
    give_up_files()?;
    files::forbid();
    outlive_nobody(&line).map_err(|error| failed("watch the daemon", error))?;
    Ok(line)
}

fn failed(what: &str, error: io::Error) -> String {
    format!("the shell cannot {what}, and does not begin: {}", words(&error))
}

/// So that Ctrl-C is a signal to this process, and to no other.
fn take_terminal() -> Result<(), String> {
    setsid().map_err(|error| failed("be a session", error.into()))?;
    // Of a session that has none, the first terminal that is opened is the controlling one.
    let opened = OpenOptions::new().read(true).write(true).open("/proc/self/fd/0");
    opened.map(drop).map_err(|error| failed("take the terminal", error))
}

/// It has no need of root.
fn become_nobody() -> nix::Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)
}

/// Ends with the daemon, whatever a command does at that moment.
fn outlive_nobody(line: &OwnedFd) -> io::Result<()> {
    let line = line.try_clone()?;
    let watch = move || {
        loop {
            let mut hangs_up = [PollFd::new(line.as_fd(), PollFlags::empty())];
            match poll(&mut hangs_up, PollTimeout::NONE) {
                Ok(_) => std::process::exit(1),
                Err(nix::Error::EINTR) => {}
                Err(_) => std::process::exit(1),
            }
        }
    };
    thread::Builder::new().name("lifeline".to_owned()).spawn(watch).map(drop)
}

/// From here on only what is listed is done.
fn give_up_files() -> Result<(), String> {
    let unfit = |error: &dyn std::fmt::Display| {
        format!("this system has no seccomp, without which the shell does not begin: {error}")
    };
    let arch = std::env::consts::ARCH.try_into().map_err(|error| unfit(&error))?;
    let filter = |rules, otherwise, allowed| -> Result<BpfProgram, seccompiler::Error> {
        Ok(SeccompFilter::new(rules, otherwise, allowed, arch)?.try_into()?)
    };
    let allowed = allowed().map_err(|error| unfit(&error))?;
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let main = filter(allowed, refused, SeccompAction::Allow).map_err(|error| unfit(&error))?;
    // What clone3(2) is asked for no filter can see. Where it is not there, clone(2) is called.
    let absent = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let clone3 = filter(clone3, SeccompAction::Allow, absent).map_err(|error| unfit(&error))?;
    // Of two that say something else, the stricter one counts.
    for program in [clone3, main] {
        apply_filter(&program).map_err(|error| unfit(&error))?;
    }
    Ok(())
}

/// System calls that are done whatever their arguments are: those on what is open already, on
/// memory, on this process's own threads and signals, and clocks.
const PLAIN: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpeername,
    libc::SYS_getpgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_robust_list,
    libc::SYS_shutdown,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
];

/// The same, which newer architectures have by other names.
#[cfg(target_arch = "x86_64")]
const OLD: &[c_long] = &[
    libc::SYS_dup2,
    libc::SYS_epoll_wait,
    libc::SYS_getpgrp,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[c_long] = &[];

/// What may be asked of a terminal and of a socket.
const IOCTLS: &[u64] = &[
    libc::TCGETS,
    libc::TCSETS,
    libc::TCSETSW,
    libc::TCSETSF,
    libc::TIOCGWINSZ,
    libc::TIOCGPGRP,
    libc::FIONBIO,
    libc::FIONREAD,
];
const FCNTLS: &[libc::c_int] =
    &[libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL];

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

fn allowed() -> Result<Rules, seccompiler::BackendError> {
    use SeccompCmpArgLen::Dword;
    use SeccompCmpOp::{Eq, MaskedEq};
    let rule =
        |argument, how, value| SeccompRule::new(vec![SeccompCondition::new(argument, Dword, how, value)?]);
    let number = |value: libc::c_int| u64::from(value.unsigned_abs());
    let one_of = |argument, values: &[u64]| -> Result<Vec<_>, _> {
        values.iter().map(|value| rule(argument, Eq, *value)).collect()
    };
    let mut rules: Rules = PLAIN.iter().chain(OLD).map(|call| (*call, Vec::new())).collect();
    // Memory is never a program.
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![rule(2, MaskedEq(number(libc::PROT_EXEC)), 0)?]);
    }
    // A thread, and no process.
    let thread = number(libc::CLONE_THREAD);
    rules.insert(libc::SYS_clone, vec![rule(0, MaskedEq(thread), thread)?]);
    // The signal of a process that gives up is to itself.
    let own = u64::try_from(getpid().as_raw()).unwrap_or(u64::MAX);
    rules.insert(libc::SYS_tgkill, vec![rule(0, Eq, own)?]);
    rules.insert(libc::SYS_socketpair, vec![rule(0, Eq, number(libc::AF_UNIX))?]);
    rules.insert(libc::SYS_prctl, vec![rule(0, Eq, number(libc::PR_SET_NAME))?]);
    rules.insert(libc::SYS_ioctl, one_of(1, IOCTLS)?);
    let fcntls: Vec<u64> = FCNTLS.iter().map(|call| number(*call)).collect();
    rules.insert(libc::SYS_fcntl, one_of(1, &fcntls)?);
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::net::{TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    /// What a thread finds out that has given files up, as the process does.
    fn given_up<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let confined = move || {
            give_up_files().expect("this kernel has seccomp");
            work()
        };
        thread::spawn(confined).join().expect("it was not killed")
    }

    #[test]
    fn the_kernel_refuses_files_programs_processes_and_the_network() {
        let folder = std::env::temp_dir().join(format!("cistern-confined-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("made");
        let kept = folder.join("kept");
        fs::write(&kept, "x").expect("written");
        let (inside, own) = (folder.clone(), std::process::id());
        let done = given_up(move || {
            let (kept, new) = (inside.join("kept"), inside.join("new"));
            let is_refused = |error: io::Error| error.raw_os_error() == Some(libc::EPERM);
            let kill =
                |process: u32| nix::sys::signal::kill(nix::unistd::Pid::from_raw(process as i32), None);
            let mut done = Vec::new();
            let mut refused = |what: &'static str, outcome: io::Result<()>| {
                if !outcome.is_err_and(is_refused) {
                    done.push(what);
                }
            };
            refused("read", fs::read(&kept).map(drop));
            refused("read /proc", fs::read("/proc/self/environ").map(drop));
            refused("look", fs::metadata(&kept).map(drop));
            refused("list", fs::read_dir(&inside).map(drop));
            refused("create", fs::write(&new, "y"));
            refused("make a folder", fs::create_dir(&new));
            refused("remove", fs::remove_file(&kept));
            refused("rename", fs::rename(&kept, &new));
            refused("link", fs::hard_link(&kept, &new));
            refused("symlink", std::os::unix::fs::symlink(&kept, &new));
            refused("chdir", std::env::set_current_dir("/"));
            refused("run a program", Command::new("/bin/true").status().map(drop));
            refused("connect to a socket", UnixStream::connect("/run/cistern/cistern.sock").map(drop));
            refused("connect to a port", TcpStream::connect(("127.0.0.1", 8443)).map(drop));
            refused("bind a port", UdpSocket::bind(("127.0.0.1", 0)).map(drop));
            refused("signal init", kill(1).map_err(io::Error::from));
            refused("signal the daemon", kill(own).map_err(io::Error::from));
            done
        });
        assert_eq!(done, Vec::<&str>::new(), "these were done, or failed by themselves");
        assert_eq!(fs::read_to_string(&kept).expect("it is there"), "x");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn threads_memory_pairs_of_sockets_and_clocks_are_left() {
        let sum = given_up(|| {
            let parts: Vec<_> = (0..4u8).map(|n| thread::spawn(move || vec![n; 4 << 20])).collect();
            let sum: usize = parts.into_iter().map(|part| part.join().expect("a thread").len()).sum();
            let (mut one, mut other) = UnixStream::pair().expect("a pair");
            io::Write::write_all(&mut one, b"x").expect("written");
            io::Read::read_exact(&mut other, &mut [0]).expect("read");
            thread::sleep(std::time::Duration::from_millis(1));
            assert!(!clock::time().is_empty());
            sum
        });
        assert_eq!(sum, 16 << 20);
    }
}
