//! Colours, on terminals only.

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Bold,
    Warning,
    Bad,
}

/// The text in its colour where `colour` is set, by OpenZFS's codes (include/libzutil.h).
pub fn paint(colour: bool, tone: Tone, text: &str) -> String {
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Bold => "1",
        Tone::Warning => "0;33",
        Tone::Bad => "0;31",
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// The tone of a state, as `zpool status` colours it.
pub fn of_health(health: api_types::Health) -> Tone {
    use api_types::Health::{Degraded, Faulted, Offline, Online, Removed, Suspended, Unavail};
    match health {
        Online => Tone::Plain,
        Degraded | Offline | Removed => Tone::Warning,
        Faulted | Unavail | Suspended => Tone::Bad,
    }
}
