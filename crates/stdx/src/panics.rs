//! What a panic that was caught says.

use std::any::Any;

/// The message; `None` if the panic has none, as that of `std::panic::panic_any`.
pub fn text(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied())
}

#[cfg(test)]
mod tests;
