//! A hint to the host that memory is read soon.
//!
//! The state of a large machine does not fit the host's caches, and a simulated memory is larger still. Whoever knows
//! early what will be read lets the host fetch it while something else runs. See `BENCHMARKS.md` for the gain.

/// Bytes that one hint covers.
#[cfg(target_arch = "x86_64")]
const HOST_LINE_BYTES: usize = 64;

/// Asks the host to bring a value into its caches. Has no effect but on time.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(unsafe_code, reason = "the instruction has no safe form; it makes large machines a tenth faster or more")]
pub fn prefetch<T: ?Sized>(value: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let (first, bytes) = (std::ptr::from_ref(value).cast::<i8>(), size_of_val(value));
    // A value that does not begin with a line of the host may lie in one line more.
    let last = bytes.saturating_sub(1);
    for offset in (0..last).step_by(HOST_LINE_BYTES).chain([last]) {
        // SAFETY: a prefetch reads nothing that the program could observe, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(offset)) };
    }
}

/// Asks the host to bring a value into its caches. This host has no such hint.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn prefetch<T: ?Sized>(_: &T) {}
