//! Answers that are events, one after the other, as long as there are any (server-sent events).

use super::exchange::Outgoing;
use super::{CallError, Client, odd};
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest event.
const EVENT_MAX: usize = 1 << 20;

impl Client {
    /// Sends a request; `each` sees the events of its answer as they come, those that have come
    /// together in one row, and may not ask the daemon itself. What it fails with ends the
    /// exchange.
    pub fn listen<T: DeserializeOwned, E: From<CallError>>(
        &self,
        path: &str,
        request: &impl Serialize,
        each: &mut dyn FnMut(Vec<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let body = serde_json::to_vec(request).map_err(|error| CallError::Transport(error.to_string()))?;
        let request = self.request(Method::POST, path, Outgoing::whole(body))?;
        self.wait(async {
            let mut answer = self.ask(request).await?;
            if !answer.status.is_success() {
                return Err(self.refused(&mut answer).await.into());
            }
            let mut come = Vec::new();
            while let Some(part) = answer.part().await.map_err(|error| self.lost(&error))? {
                come.extend_from_slice(&part);
                let events = take_whole(&mut come);
                if come.len() > EVENT_MAX {
                    return Err(CallError::Transport("an event of the daemon is too long".to_owned()).into());
                }
                let events: Result<Vec<T>, _> =
                    events.iter().map(|event| serde_json::from_str(event)).collect();
                each(events.map_err(|error| odd(&error))?)?;
            }
            Ok(())
        })
    }
}

/// Takes the data of whole events from what has come. What has no data is none.
fn take_whole(come: &mut Vec<u8>) -> Vec<String> {
    let Some(end) = come.windows(2).rposition(|two| two == b"\n\n") else { return Vec::new() };
    let whole: Vec<u8> = come.drain(..end + 2).collect();
    let text = String::from_utf8_lossy(&whole);
    let events = text.split("\n\n").map(|event| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    });
    events.filter(|event| !event.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_whole_in_whatever_pieces_they_come() {
        let sent = b"data: {\"a\":1}\n\n:\n\nid: 5\ndata: two\ndata:lines\n\ndata: rest";
        for cut in 0..sent.len() {
            let (first, second) = sent.split_at(cut);
            let mut come = first.to_vec();
            let mut found = take_whole(&mut come);
            come.extend_from_slice(second);
            found.extend(take_whole(&mut come));
            assert_eq!(found, ["{\"a\":1}", "two\nlines"], "cut at {cut}");
            assert_eq!(come, b"data: rest");
        }
    }
}
