//! Does the simulator allocate for every access, and how much memory does it take?
//!
//! These tests have a binary of their own. They count allocations with a global allocator, which a binary has once for
//! all of its tests, and which would slow down every other test.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use chorus_kernel::HostMemory;
use chorus_protocol::registry;
use chorus_sim::simulate;
use chorus_sim::synthetic::{Pattern, Synthetic};
use chorus_system::{Scale, resolve};

const WORK_GROUPS: u32 = 96;
const ROUNDS: u32 = 24;
/// Pools that grow to the most that is ever in use at once may do so late, but not for every access.
const GROWTH_MAX: i64 = 50;
/// More pools grow on a machine with 96 queues at its banks, over a hundred thousand accesses more.
const REMOTE_GROWTH_MAX: i64 = 500;

thread_local! {
    /// Allocations of this thread.
    static ALLOCATIONS: Cell<i64> = const { Cell::new(0) };
    /// Bytes that this thread has allocated and not freed, now and at most.
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// An allocator that counts, in front of the system's.
struct Counting;

fn count(allocations: i64, bytes: i64) {
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations);
    LIVE.set(LIVE.get() + bytes);
    PEAK.set(PEAK.get().max(LIVE.get()));
}

// SAFETY: every method passes its arguments to the system's allocator unchanged and returns what that returns. Counting
// touches only thread-local cells that are initialised at compile time and need no destructor, so it neither allocates
// nor unwinds.
#[expect(unsafe_code, reason = "only an allocator sees every allocation, and its trait is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc`, which is the system's too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the system's too.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: the pointer came from the system's allocator with this layout, since all of them do.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: the pointer came from the system's allocator with this layout, since all of them do.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations while a synthetic program runs.
fn allocations(system: &str, scale: Scale, pattern: Pattern, protocol: &str, rounds: u32) -> i64 {
    let config = resolve(system, scale, &[]).unwrap().config;
    let mut memory = HostMemory::default();
    let mut program = Synthetic::new(pattern, WORK_GROUPS, rounds, &mut memory);
    let before = ALLOCATIONS.get();
    simulate(&config, registry::find(protocol).unwrap(), &mut program, memory).unwrap();
    ALLOCATIONS.get() - before
}

#[test]
fn no_access_allocates() {
    for protocol in ["no-coh", "gpu-vi"] {
        for pattern in Pattern::OF_ONE_MODULE {
            let [short, long] =
                [ROUNDS, 2 * ROUNDS].map(|rounds| allocations("tc", Scale::Paper, pattern, protocol, rounds));
            let name = pattern.name();
            assert!(long - short < GROWTH_MAX, "{name} under {protocol}: {short}, then {long} allocations");
        }
    }
}

#[test]
fn no_access_to_another_gpu_allocates() {
    for protocol in ["no-remote", "nhcc", "hmg"] {
        let [short, long] = [2 * ROUNDS, 4 * ROUNDS]
            .map(|rounds| allocations("hmg", Scale::Quick, Pattern::RemoteHeavy, protocol, rounds));
        assert!(long - short < REMOTE_GROWTH_MAX, "{protocol}: {short}, then {long} allocations");
    }
}

#[test]
fn memory_stays_within_one_and_a_half_times_the_footprint_and_256_megabytes() {
    const MEGABYTE: i64 = 1 << 20;
    let config = resolve("tc", Scale::Paper, &[]).unwrap().config;
    let before = LIVE.get();
    PEAK.set(before);
    let mut memory = HostMemory::default();
    memory.alloc::<u32>(64 << 20);
    let mut program = Synthetic::new(Pattern::MissHeavy, WORK_GROUPS, 2, &mut memory);
    let footprint = memory.bytes() as i64;
    assert!(footprint > 256 * MEGABYTE);
    simulate(&config, registry::find("gpu-vi").unwrap(), &mut program, memory).unwrap();
    let peak = PEAK.get() - before;
    assert!(peak <= footprint * 3 / 2 + 256 * MEGABYTE, "{} MB at most", peak / MEGABYTE);
}
