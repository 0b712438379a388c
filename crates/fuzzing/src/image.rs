//! A disk in memory that many cases share: one image, and the pages that differ from it.

use std::collections::BTreeMap;
use std::sync::Arc;

const PAGE: usize = 4096;

/// Copying one costs only the pages that differ.
#[derive(Clone)]
pub struct Image {
    base: Arc<Vec<u8>>,
    pages: BTreeMap<usize, Box<[u8]>>,
    len: usize,
}

impl Image {
    pub fn new(bytes: Vec<u8>) -> Image {
        let len = bytes.len();
        Image { base: Arc::new(bytes), pages: BTreeMap::new(), len }
    }

    /// In bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Cuts the disk short.
    pub fn truncate(&mut self, len: usize) {
        self.len = len.min(self.len);
    }

    /// # Panics
    /// When the range leaves the disk, as in every call here.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        assert!(offset + into.len() <= self.len);
        let mut done = 0;
        while done < into.len() {
            let at = offset + done;
            let (page, within) = (at / PAGE, at % PAGE);
            let len = (PAGE - within).min(into.len() - done);
            let out = &mut into[done..done + len];
            match self.pages.get(&page) {
                Some(bytes) => out.copy_from_slice(&bytes[within..within + len]),
                None => out.copy_from_slice(&self.base[at..at + len]),
            }
            done += len;
        }
    }

    pub fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.read(offset, &mut bytes);
        bytes
    }

    pub fn write(&mut self, offset: usize, data: &[u8]) {
        assert!(offset + data.len() <= self.len);
        let mut done = 0;
        while done < data.len() {
            let at = offset + done;
            let (page, within) = (at / PAGE, at % PAGE);
            let len = (PAGE - within).min(data.len() - done);
            let base = &self.base;
            let bytes = self.pages.entry(page).or_insert_with(|| {
                let mut bytes = vec![0; PAGE].into_boxed_slice();
                let old = &base[page * PAGE..((page + 1) * PAGE).min(base.len())];
                bytes[..old.len()].copy_from_slice(old);
                bytes
            });
            bytes[within..within + len].copy_from_slice(&data[done..done + len]);
            done += len;
        }
    }
}
