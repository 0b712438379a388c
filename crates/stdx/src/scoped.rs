//! What a thread knows as long as some work lasts, and no longer.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Runs `work` with `value` in `place`, and puts back what was there before, also after a panic.
pub fn set_during<T: Default + 'static, R>(
    place: &'static LocalKey<RefCell<T>>,
    value: T,
    work: impl FnOnce() -> R,
) -> R {
    let _restored = Restored(place, place.replace(value));
    work()
}

struct Restored<T: Default + 'static>(&'static LocalKey<RefCell<T>>, T);

impl<T: Default + 'static> Drop for Restored<T> {
    fn drop(&mut self) {
        self.0.set(std::mem::take(&mut self.1));
    }
}
