//! Hours of the day in which something may be.

use api_types::Window;

/// Minutes of a day.
pub const MINUTES: u16 = 1_440;

/// Whether it is one: of minutes of a day, and not empty.
pub fn is_window(window: &Window) -> bool {
    window.from < MINUTES && window.until < MINUTES && window.from != window.until
}

/// Whether a minute of the day is in it.
pub fn is_open(window: &Window, minute: u16) -> bool {
    let Window { from, until } = *window;
    if from < until { (from..until).contains(&minute) } else { minute >= from || minute < until }
}
