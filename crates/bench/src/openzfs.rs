//! OpenZFS's own checksums, called in its library (Debian: libzpool, that zdb is made of).

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use load::Fail;

/// The library changes its number with each release that changes anything in it.
const LIBRARY: &str = "libzpool.so";
const NUMBERS: std::ops::RangeInclusive<u32> = 4..=12;
const IMPLEMENTATIONS: [&CStr; 7] =
    [c"scalar", c"superscalar4", c"sse2", c"ssse3", c"avx2", c"avx512f", c"avx512bw"];

type Init = unsafe extern "C" fn();
type Choose = unsafe extern "C" fn(*const c_char) -> c_int;
/// Gives the rate of what it is given.
type Time<'a> = &'a dyn Fn(&mut dyn FnMut() -> [u64; 4]) -> f64;
type Sum = unsafe extern "C" fn(*const c_void, u64, *const c_void, *mut [u64; 4]);

/// What `time` says of the fastest implementation of fletcher4 that this processor can run. `sum`
/// is what must come out.
pub fn fletcher4(data: &[u8], sum: [u64; 4], time: Time<'_>) -> Result<f64, Fail> {
    let library = open().ok_or_else(|| format!("there is no {LIBRARY}"))?;
    let symbol = |name: &CStr| {
        // SAFETY: `library` is a handle of dlopen's, and the name ends with a zero.
        let found = unsafe { libc::dlsym(library, name.as_ptr()) };
        if found.is_null() { Err(format!("{LIBRARY} has no {}", name.to_string_lossy())) } else { Ok(found) }
    };
    // SAFETY: include/zfs_fletcher.h declares these functions so; the library is never closed.
    let (init, choose, native) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Init>(symbol(c"fletcher_4_init")?),
            std::mem::transmute::<*mut c_void, Choose>(symbol(c"fletcher_4_impl_set")?),
            std::mem::transmute::<*mut c_void, Sum>(symbol(c"fletcher_4_native")?),
        )
    };
    let mut once = || {
        let mut sum = [0; 4];
        // SAFETY: it reads the data, which are a multiple of four bytes, and writes four words.
        unsafe { native(data.as_ptr().cast(), data.len() as u64, ptr::null(), &raw mut sum) };
        sum
    };
    // SAFETY: it takes nothing; no other thread uses the library.
    unsafe { init() };
    let mut best = None;
    for name in IMPLEMENTATIONS {
        // SAFETY: it reads a string that ends with a zero.
        if unsafe { choose(name.as_ptr()) } == 0 {
            if once() != sum {
                return Err("its sum is another than ours".into());
            }
            best = best.max(Some(time(&mut once) as u64));
        }
    }
    best.map(|rate| rate as f64).ok_or_else(|| "it has no implementation for this processor".into())
}

fn open() -> Option<*mut c_void> {
    NUMBERS.rev().find_map(|number| {
        let name = CString::new(format!("{LIBRARY}.{number}")).ok()?;
        // SAFETY: the name ends with a zero; what the library does when it is loaded, it does in
        // zdb, too.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        (!library.is_null()).then_some(library)
    })
}
