//! Whom lines are for: one appliance, or those of a group.
//!
//! Invariants: no appliance of a group waits for another one; what each says is kept until all have
//! answered, and has a bound.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::appliance::Appliance;
use super::interrupt::{Cut, Interrupt};
use super::keys::Places;
use super::nouns::Command;
use super::show;
use crate::client::{Client, default_socket};
use crate::command::Io;
use crate::fail::{Outcome, Stop, fail, usage};
use crate::hosts::{self, Hosts};

/// Appliances of a group that work at one time.
const AT_ONCE: usize = 8;
/// Bytes that one of a group may say to a line.
const MOST_SAID: usize = 16 << 20;
/// The name of this machine's own daemon.
const LOCAL: &str = "local";

/// It is never empty.
pub struct Target {
    group: Option<String>,
    pub all: Vec<Arc<Appliance>>,
    interrupt: Interrupt,
}

impl Target {
    pub fn one(client: Client, interrupt: &Interrupt) -> Target {
        Target::with(None, vec![client], interrupt)
    }

    pub fn with(group: Option<String>, clients: Vec<Client>, interrupt: &Interrupt) -> Target {
        let appliance = |client: Client| Arc::new(Appliance::new(client.until(interrupt.receiver())));
        Target { group, all: clients.into_iter().map(appliance).collect(), interrupt: interrupt.clone() }
    }

    /// What `switch` names.
    pub fn of(words: &[String], interrupt: &Interrupt) -> Result<Target, Stop> {
        match words {
            [group, name] if group == "group" => {
                let groups = Hosts::of_user()?.groups()?;
                let Some(members) = groups.get(name).filter(|members| !members.is_empty()) else {
                    return fail(format!(
                        "there is no group '{name}': 'create group {name} HOST …' makes it"
                    ));
                };
                let members = members.iter().map(|host| client(host)).collect::<Result<_, _>>()?;
                Ok(Target::with(Some(name.clone()), members, interrupt))
            }
            [host] => Ok(Target::one(client(host)?, interrupt)),
            _ => usage("usage: switch HOST | switch local | switch group NAME"),
        }
    }

    /// What a line may be, as the first one says that answers.
    pub fn commands(&self) -> Result<&[Command], Stop> {
        let told = self.first().commands();
        told.or_else(|why| self.all.iter().skip(1).find_map(|other| other.commands().ok()).ok_or(why))
    }

    /// The one that Tab and the prompt ask.
    pub fn first(&self) -> &Arc<Appliance> {
        &self.all[0]
    }

    pub fn name(&self) -> String {
        self.group.as_ref().map_or_else(|| self.first().name.clone(), |group| format!("group {group}"))
    }

    /// For the prompt.
    pub fn state(&self) -> String {
        match &self.group {
            None => self.first().state(),
            Some(group) => format!("group {group} ({})", self.all.len()),
        }
    }

    /// Does something at each, of a group at several at the same time. Gives the first status that
    /// is no success.
    pub fn each(&self, io: &mut Io<'_>, work: &(dyn Fn(&Appliance, &mut Io<'_>) -> i32 + Sync)) -> Outcome {
        if self.group.is_none() {
            return Ok(work(self.first(), io));
        }
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|threads| {
            for _ in 0..self.all.len().min(AT_ONCE) {
                threads.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(appliance) = self.all.get(number) else { return };
                        let said = self.quietly(appliance, work);
                        done.lock().unwrap_or_else(PoisonError::into_inner).push((number, said));
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(number, _)| *number);
        let mut status = 0;
        for (number, said) in done {
            let told = if said.status == 0 { String::new() } else { format!(" (status {})", said.status) };
            writeln!(io.out, "== {}{told}", self.all[number].name)?;
            io.out.write_all(&said.out)?;
            io.out.flush()?;
            io.err.write_all(&said.err)?;
            status = if status == 0 { said.status } else { status };
        }
        Ok(status)
    }

    fn quietly(&self, appliance: &Appliance, work: &dyn Fn(&Appliance, &mut Io<'_>) -> i32) -> Said {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let status = work(
            appliance,
            &mut Io {
                out: &mut Cut { to: &mut out, interrupt: &self.interrupt, left: MOST_SAID },
                err: &mut Cut { to: &mut err, interrupt: &self.interrupt, left: MOST_SAID },
                colour: false,
                progress: false,
                asks: false,
                title: |_| (),
            },
        );
        Said { status, out, err }
    }
}

/// What one of a group said to a line.
struct Said {
    status: i32,
    out: Vec<u8>,
    err: Vec<u8>,
}

/// The daemon of a host, or of this machine. A token of the environment is for the host that the
/// program was started for, and for no other.
fn client(host: &str) -> Result<Client, Stop> {
    match host {
        LOCAL => Ok(Client::new(&default_socket())),
        host => hosts::client_of(host, None),
    }
}

/// What can be switched to. A file that cannot be read is told when somebody switches.
pub fn places() -> Places {
    let hosts = Hosts::of_user();
    let addresses = hosts.as_ref().ok().and_then(|hosts| hosts.addresses().ok());
    let groups = hosts.as_ref().ok().and_then(|hosts| hosts.groups().ok());
    Places {
        has_machine: true,
        hosts: addresses.unwrap_or_default(),
        groups: groups.unwrap_or_default().into_keys().collect(),
    }
}

/// Shows, makes or forgets groups, which are this user's and no appliance's.
pub fn groups(verb: &str, rest: &[String], io: &mut Io<'_>) -> Outcome {
    let hosts = Hosts::of_user()?;
    match (verb, rest) {
        ("show", []) => {
            let head = ["GROUP", "HOSTS"].map(str::to_owned).to_vec();
            let groups = hosts.groups()?;
            let rows = groups.iter().map(|(name, hosts)| vec![name.clone(), hosts.join(" ")]);
            show::aligned(io, &std::iter::once(head).chain(rows).collect::<Vec<_>>())?;
        }
        ("create", [name, members @ ..]) if !members.is_empty() => {
            let mut addresses = Vec::new();
            for host in members {
                let address = client(host)?.host().map_or_else(|| LOCAL.to_owned(), ToString::to_string);
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
            hosts.set_group(name, Some(addresses))?;
        }
        ("destroy", [name]) => {
            if !hosts.set_group(name, None)? {
                return fail(format!("there is no group '{name}'"));
            }
        }
        _ => return usage("usage: show group | create group NAME HOST … | destroy group NAME"),
    }
    Ok(0)
}
