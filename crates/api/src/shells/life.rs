//! The life of a shell: what it shows is read as long as there is room, connections are handed to
//! it, and it is looked whether it is to end.
//!
//! Invariant: whatever ends this, the process of the shell is gone before the shell's place is
//! free.

use super::line::{Reach, Watched};
use super::process::Process;
use super::{Shell, Shells};
use crate::accounts::Accounts;
use crate::audit::EndNote;
use api_types::ShellEnd;
use sockets::lock;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// How long nothing may be typed, and how long nobody may read.
const IDLE: Duration = Duration::from_secs(15 * 60);
const UNREAD: Duration = Duration::from_secs(60);
/// How often that is looked at, and whether the session lasts.
const LOOK: Duration = Duration::from_secs(2);
/// Bytes that are read of a terminal at once.
const READ: usize = 4 << 10;

/// All that a shell is made of.
pub struct Life {
    pub shells: Arc<Shells>,
    pub shell: Arc<Shell>,
    pub process: Process,
    pub line: Watched,
    pub reach: Reach,
    pub note: EndNote,
}

impl Life {
    pub async fn live(self) {
        let Life { shells, shell, process, line, reach, note } = self;
        let (alive, stop) = watch::channel(());
        let routes = reach.to(&shell);
        let why = tokio::select! {
            () = show(&shell) => ShellEnd::Exited,
            () = line.serve(&routes, &stop) => ShellEnd::Exited,
            why = wished(&shell) => why,
            why = overdue(&shell, &reach.accounts) => why,
        };
        shell.end(why);
        // Whatever made it end first is why.
        let why = shell.wish.borrow().unwrap_or(why);
        drop((alive, line));
        let may_linger = why == ShellEnd::Exited;
        let ended = tokio::task::spawn_blocking(move || process.end(may_linger));
        if may_linger {
            // Its last words.
            tokio::select! {
                () = show(&shell) => {}
                () = sleep(LOOK) => {}
            }
        }
        // A panic there was logged, and has killed the process.
        drop(ended.await);
        lock(&shell.output).finish(why);
        shells.bury(&shell);
        shell.news.send_replace(());
        note.ended(&shell.id, why.name());
    }
}

/// Keeps what it shows, until it shows nothing more.
async fn show(shell: &Shell) {
    let mut bytes = vec![0; READ];
    loop {
        while !lock(&shell.output).has_room() {
            shell.room.notified().await;
        }
        let Some(count) = shell.terminal.read(&mut bytes).await else { return };
        lock(&shell.output).put(&bytes[..count]);
        shell.news.send_replace(());
    }
}

async fn wished(shell: &Shell) -> ShellEnd {
    let mut wish = shell.wish.subscribe();
    // The sender is the shell's, which lives.
    wish.wait_for(Option::is_some).await.ok().and_then(|wish| *wish).unwrap_or(ShellEnd::Closed)
}

/// Waits until nobody uses it any more, or may.
async fn overdue(shell: &Shell, accounts: &Accounts) -> ShellEnd {
    loop {
        sleep(LOOK).await;
        let (typed, read) = (lock(&shell.typed).elapsed(), lock(&shell.read).elapsed());
        if let Some(why) = unused(typed, read) {
            return why;
        }
        let session = shell.session;
        // Where it cannot be told, its next request is refused.
        let found = accounts.quick(move |machine| machine.of_shell(session)).await;
        if let Ok(found) = found
            && !found.is_some_and(|identity| shell.is_of(&identity))
        {
            return ShellEnd::Session;
        }
    }
}

/// Whether a shell ends because of how long ago something was typed, and somebody read.
fn unused(typed: Duration, read: Duration) -> Option<ShellEnd> {
    match (typed, read) {
        (typed, _) if typed >= IDLE => Some(ShellEnd::Idle),
        (_, read) if read >= UNREAD => Some(ShellEnd::Unread),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_ends_a_quarter_of_an_hour_after_the_last_key_and_a_minute_after_the_last_reader() {
        let of = |typed, read| unused(Duration::from_secs(typed), Duration::from_secs(read));
        assert_eq!(of(899, 59), None);
        assert_eq!(of(900, 0), Some(ShellEnd::Idle));
        assert_eq!(of(0, 60), Some(ShellEnd::Unread));
        assert_eq!(of(900, 60), Some(ShellEnd::Idle), "why is said of what began first");
    }
}
