use std::os::fd::AsRawFd;

use super::*;

/// The kernel may move less than it was asked for, up to anywhere.
#[test]
fn what_is_left_begins_where_the_kernel_stopped() {
    let data: Vec<u8> = (0..40).collect();
    let parts = [&data[20..30], &data[..10], &data[30..40]];
    for first in 1..30 {
        for second in 1..=30 - first {
            let mut transfer = Transfer::gather(0, 1000, &parts);
            assert!(!transfer.advance(-i64::from(libc::EINTR)));
            assert!(!transfer.advance(first));
            assert_eq!(transfer.advance(second), first + second == 30);
            assert_eq!(transfer.offset, 1000 + (first + second) as u64);
            let bytes = |part: &libc::iovec| {
                let at = part.iov_base.addr() - data.as_ptr().addr();
                &data[at..at + part.iov_len]
            };
            let left: Vec<u8> = transfer.rest().iter().flat_map(bytes).copied().collect();
            assert_eq!(left, parts.concat()[(first + second) as usize..]);
        }
    }
    let mut cut = Transfer::gather(0, 0, &parts);
    assert!(cut.advance(0));
    assert_eq!(cut.result(), Err(libc::EIO));
}

/// Between the ring and the kernel: some calls fail, before or after the kernel did its part.
struct Failing {
    errno: i32,
    /// Calls that pass first, and how many fail then.
    after: usize,
    failures: usize,
    /// The kernel takes what is queued, and then the call fails all the same.
    is_late: bool,
}

impl Failing {
    fn call(&mut self, pass: &mut dyn FnMut() -> io::Result<usize>) -> io::Result<usize> {
        if self.after > 0 {
            self.after -= 1;
            return pass();
        }
        if self.failures == 0 {
            return pass();
        }
        self.failures -= 1;
        if self.is_late {
            pass()?;
        }
        Err(io::Error::from_raw_os_error(self.errno))
    }
}

impl Enter for Failing {
    fn submit_and_wait(&mut self, ring: &IoUring, want: usize) -> io::Result<usize> {
        self.call(&mut || Kernel.submit_and_wait(ring, want))
    }

    fn wait(&mut self, ring: &IoUring) -> io::Result<usize> {
        self.call(&mut || Kernel.wait(ring))
    }
}

#[test]
fn a_ring_that_fails_is_replaced_by_plain_calls() {
    const LEN: usize = 4096;
    // More than fit into the ring at once.
    const COUNT: usize = DEPTH + 70;
    let path = std::env::temp_dir().join(format!("uring-fails-{}", std::process::id()));
    let file =
        std::fs::File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let fd = file.as_raw_fd();
    let errors = [libc::ENOMEM, libc::EBADF, libc::EPERM, libc::EINVAL, libc::EFAULT, libc::EAGAIN];
    for (round, errno) in errors.into_iter().enumerate() {
        for (after, failures, is_late) in [(0, 1, false), (0, 3, true), (1, 2, false), (2, 20, true)] {
            let Some(mut ring) = new_ring() else { return };
            let mut kernel = Failing { errno, after, failures, is_late };
            let fill = |i: usize| vec![(i + round + after) as u8; LEN];
            let data: Vec<Vec<u8>> = (0..COUNT).map(fill).collect();
            let mut writes: Vec<Transfer> =
                (0..COUNT).map(|i| Transfer::write(fd, (i * LEN) as u64, &data[i])).collect();
            // SAFETY: the data live longer, and so does the file.
            let is_good = unsafe { run_ring(&mut ring, &mut writes, &mut kernel) };
            assert_eq!(is_good, errno == libc::EAGAIN, "errno {errno}");
            drop(ring);
            for write in writes.iter_mut().filter(|write| !write.is_done()) {
                assert!(!is_good);
                // SAFETY: as above.
                unsafe { write.move_plainly() };
            }
            assert!(writes.iter().all(|write| write.result() == Ok(())));
            let mut back = vec![0; COUNT * LEN];
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut back, 0).unwrap();
            assert!(back == data.concat(), "errno {errno} after {after}");
        }
    }
}

#[test]
fn a_ring_that_only_asks_for_patience_is_given_up() {
    let Some(mut ring) = new_ring() else { return };
    let file = std::fs::File::open("/dev/zero").unwrap();
    let mut memory = vec![1; 8192];
    let (one, two) = memory.split_at_mut(4096);
    let fd = file.as_raw_fd();
    let mut reads = vec![Transfer::read(fd, 0, one), Transfer::read(fd, 0, two)];
    let mut kernel = Failing { errno: libc::EAGAIN, after: 0, failures: usize::MAX, is_late: false };
    // SAFETY: memory and file live longer.
    assert!(!unsafe { run_ring(&mut ring, &mut reads, &mut kernel) });
    for read in &mut reads {
        assert!(!read.is_done());
        // SAFETY: as above.
        unsafe { read.move_plainly() };
        assert_eq!(read.result(), Ok(()));
    }
}
