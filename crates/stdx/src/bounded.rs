//! A queue with a limit: pushing into a full one gives the item back instead of growing.

use std::collections::VecDeque;

/// First in, first out, never more than `limit` items.
#[derive(Debug)]
pub struct Bounded<T> {
    items: VecDeque<T>,
    limit: usize,
}

impl<T> Bounded<T> {
    /// An empty queue; nothing is allocated until the first push.
    pub const fn new(limit: usize) -> Self {
        Bounded { items: VecDeque::new(), limit }
    }

    /// Appends, or hands the item back when the queue is full.
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if self.is_full() {
            return Err(item);
        }
        self.items.push_back(item);
        Ok(())
    }

    /// Takes the oldest item.
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop_front()
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.items.len() >= self.limit
    }

    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }
}

#[cfg(test)]
mod tests;
