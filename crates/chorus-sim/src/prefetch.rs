//! A hint to the host that memory is read soon.
//!
//! A simulated memory is larger than the host's caches, so reading a line that a program has never touched waits for
//! the host's own memory. The simulator knows of such a read hundreds of host nanoseconds ahead, since the fetch still
//! has to get through the simulated channel. See `BENCHMARKS.md` for the gain.

use std::sync::atomic::AtomicU32;

/// Bytes that one hint covers.
#[cfg(target_arch = "x86_64")]
const HOST_LINE_BYTES: usize = 64;

/// Asks the host to bring `words` into its caches. Has no effect but on time.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the instruction has no safe form; it makes a miss 5 % faster")]
pub fn prefetch(words: &[AtomicU32]) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    for part in words.chunks(HOST_LINE_BYTES / size_of::<AtomicU32>()) {
        // SAFETY: the pointer comes from a live slice, and a prefetch reads nothing that the program could observe.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(part.as_ptr().cast()) };
    }
}

/// Asks the host to bring `words` into its caches. This host has no such hint.
#[cfg(not(target_arch = "x86_64"))]
pub fn prefetch(_words: &[AtomicU32]) {}
