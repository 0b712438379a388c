//! An appliance and a host with OpenZFS's commands, for replication by OpenSSH between the two.

use crate::daemon::{Daemon, Scratch, text};
use crate::replication::{create, run};
use crate::services::{state, svc};
use crate::sshd::Sshd;
use crate::suspended::until;
use crate::zdb::assert_clean;

/// Two daemons, of which the second is a host with `zfs` and an sshd to the first.
pub struct Site {
    pub scratch: Scratch,
    pub here: Daemon,
    pub there: Daemon,
    pub sshd: Sshd,
}

/// Where the pool `tank` is, which has what is replicated; the other one has `dozer`.
#[derive(PartialEq, Eq)]
pub enum Sources {
    Here,
    There,
}

impl Site {
    /// With pools of so many MiB. The first one finds programs in the folder `bin` before others.
    pub fn new(name: &str, mib: u64, sources: Sources) -> Site {
        let scratch = Scratch::new(name);
        let path =
            format!("{}:{}", text(&scratch.folder("bin")), std::env::var("PATH").expect("there is one"));
        let here = Daemon::start_under(&scratch, "here", &[], &[("PATH", path)]);
        let there = Daemon::start_with(&scratch, "there", &[]);
        let sshd = Sshd::start(&scratch, &there);
        let (source, target) = if sources == Sources::Here { (&here, &there) } else { (&there, &here) };
        source.zpool(&format!("create -m none tank {}", scratch.image_in("one", "a", mib))).done();
        target.zpool(&format!("create -m none dozer {}", scratch.image_in("two", "b", mib))).done();
        Site { scratch, here, there, sshd }
    }

    /// A service that sends to the host, and is let in.
    pub fn push(&self, name: &str, from: &str, to: &str, more: &[&str]) {
        create(&self.here, name, from, &self.sshd.url(to), more);
        self.let_in(name);
    }

    /// A service that takes from the host, and is let in.
    pub fn pull(&self, name: &str, from: &str, to: &str, more: &[&str]) {
        create(&self.here, name, &self.sshd.url(from), to, more);
        self.let_in(name);
    }

    /// It says itself what is to be done for that.
    fn let_in(&self, name: &str) {
        until("it waits for a person", || state(&self.here, name) == "maintenance");
        let told = self.show(name);
        let line = told.lines().find(|line| line.contains("authorized_keys")).expect("it says what to do");
        assert!(
            line.contains("does not let root in: add this line to ~/.ssh/authorized_keys there:"),
            "{told}"
        );
        self.sshd.authorize(line.split("there: ").nth(1).expect("a key"));
        svc(&self.here, &["clear", name]).done();
    }

    pub fn show(&self, name: &str) -> String {
        svc(&self.here, &["show", name]).done()
    }

    /// Runs a service, which succeeds.
    pub fn run(&self, name: &str) {
        run(&self.here, name);
        assert_eq!(state(&self.here, name), "online", "{}", self.show(name));
    }

    pub fn stop(mut self) {
        self.here.stop();
        self.there.stop();
        assert_clean(&self.scratch.path("one"), "tank");
        assert_clean(&self.scratch.path("two"), "dozer");
    }
}
