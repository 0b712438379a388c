//! Random numbers: pool and dataset GUIDs, salts, verifiers.

/// Where random bytes come from.
pub trait Entropy: Send + Sync {
    fn fill(&self, buf: &mut [u8]);

    fn u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// The kernel's random numbers, fit for keys.
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&self, buf: &mut [u8]) {
        let mut done = 0;
        while done < buf.len() {
            let rest = &mut buf[done..];
            // SAFETY: the pointer and length describe the writable slice `rest`.
            let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
            if got > 0 {
                done += got as usize;
                continue;
            }
            let error = std::io::Error::last_os_error();
            assert_eq!(error.raw_os_error(), Some(libc::EINTR), "the kernel gives no random bytes: {error}");
        }
    }
}

#[cfg(test)]
mod tests;
