//! OpenSSH's server, as a host with OpenZFS has it: who comes in finds the commands of a daemon.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::daemon::{Daemon, PROGRAM, Ran, Scratch, end_with_parent, free_port, program, text};
use crate::suspended::until;

/// It ends with this value, and with it all whom it let in.
pub struct Sshd {
    folder: PathBuf,
    pub host: String,
    pub port: u16,
    child: Option<Child>,
}

impl Sshd {
    /// For the commands of a daemon; in `scratch/sshd`.
    pub fn start(scratch: &Scratch, there: &Daemon) -> Sshd {
        let folder = scratch.folder("sshd");
        // The folder that it shuts its unprivileged part in.
        fs::create_dir_all("/run/sshd").expect("root may");
        let bin = scratch.folder("sshd/bin");
        for name in ["zfs", "zpool"] {
            symlink(PROGRAM, bin.join(name)).expect("linked");
        }
        let (host, port) = (there.host.clone(), free_port(&there.host));
        let (path, socket) = (text(&bin), text(&there.socket()));
        let config = format!(
            "Port {port}\nListenAddress {host}\nHostKey {at}/host_key\nPidFile none\n\
             AuthorizedKeysFile {at}/authorized_keys\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n\
             PrintMotd no\nMaxStartups 100\n\
             SetEnv CISTERN_SOCKET={socket} PATH={path}:/usr/sbin:/usr/bin:/sbin:/bin\n",
            at = text(&folder)
        );
        fs::write(folder.join("config"), config).expect("written");
        fs::write(folder.join("authorized_keys"), "").expect("written");
        let mut sshd = Sshd { folder, host, port, child: None };
        sshd.change_host_key();
        sshd.begin();
        sshd
    }

    /// The host is another one from its next start on.
    pub fn change_host_key(&self) {
        let key = self.folder.join("host_key");
        make_key(&key);
    }

    pub fn begin(&mut self) {
        let log = File::options().create(true).append(true).open(self.folder.join("log")).expect("a log");
        let mut command = Command::new("/usr/sbin/sshd");
        command.args(["-D", "-e", "-f"]).arg(self.folder.join("config")).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(log);
        // SAFETY: between fork and exec, one system call that takes plain numbers.
        unsafe { command.pre_exec(end_with_parent) };
        self.child = Some(command.spawn().expect("openssh-server is needed for this test"));
        let at = (self.host.clone(), self.port);
        until("sshd", || std::net::TcpStream::connect((at.0.as_str(), at.1)).is_ok());
    }

    /// Dies with all whom it let in, and what they run.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // Whoever was let in has a session of his own.
        let mut all = vec![child.id()];
        let mut at = 0;
        while at < all.len() {
            all.extend(children(all[at]));
            at += 1;
        }
        for pid in all {
            drop(Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status());
        }
        drop(child.wait());
    }

    /// Lets in whoever has this key.
    pub fn authorize(&self, key: &str) {
        fs::write(self.folder.join("authorized_keys"), format!("{key}\n")).expect("written");
    }

    /// `ssh://` with a dataset.
    pub fn url(&self, dataset: &str) -> String {
        format!("ssh://root@{}:{}/{dataset}", self.host, self.port)
    }

    /// A key for programs of others, which it lets in: options of `ssh`, for a configuration file.
    pub fn client(&self) -> String {
        let key = self.folder.join("client_key");
        make_key(&key);
        let public = fs::read_to_string(key.with_extension("pub")).expect("made");
        self.authorize(public.trim());
        let (port, at) = (self.port, text(&self.folder));
        format!(
            "Port {port}\nUser root\nIdentityFile {at}/client_key\nIdentitiesOnly yes\nBatchMode yes\n\
             StrictHostKeyChecking accept-new\nUserKnownHostsFile {at}/client_known_hosts\n"
        )
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(20).collect();
            eprintln!("sshd's log ends with:");
            tail.iter().rev().for_each(|line| eprintln!("  {line}"));
        }
    }
}

fn make_key(at: &Path) {
    drop(fs::remove_file(at));
    drop(fs::remove_file(at.with_extension("pub")));
    Ran::of(program("ssh-keygen", 20).args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at)).done();
}

/// The processes that a process, by any of its threads, has begun and that are there.
pub fn children(pid: u32) -> Vec<u32> {
    // Of what is gone there are none.
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let listed = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = |listed: String| -> Vec<u32> {
        listed.split_whitespace().filter_map(|child| child.parse().ok()).collect()
    };
    listed.flat_map(numbers).collect()
}
