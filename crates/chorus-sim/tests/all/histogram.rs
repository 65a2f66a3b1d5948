//! A program of atomics that all modules of a machine share, for tests.

use chorus_kernel::{HostMemory, Kernel, Lanes, Mask, Mismatch};
use chorus_protocol::access::{AtomicOp, Scope};
use chorus_protocol::registry::Protocol;
use chorus_sim::{Simulated, simulate};
use chorus_system::SystemConfig;

use crate::once::Once;

/// All lanes of all wavefronts add to one counter and to a shared histogram, and the kernel after that reads both.
pub fn histogram(config: &SystemConfig, protocol: &'static dyn Protocol) -> Simulated {
    let mut memory = HostMemory::default();
    let (total, bins, copy) = (memory.alloc::<u32>(1), memory.alloc::<u32>(40), memory.alloc::<u32>(41));
    let count = Kernel::new("histogram", 64, 2, move |w| async move {
        let bin = w.global_ids() % 40;
        w.atomic_in(Scope::System, AtomicOp::Add, Mask::ALL, bins, bin, Lanes::splat(1)).await;
        w.atomic_in(Scope::System, AtomicOp::Add, Mask::ALL, total, Lanes::splat(0), Lanes::splat(1)).await;
    });
    let read = Kernel::new("copy", 41, 1, move |w| async move {
        let group = w.work_group();
        let value = if group == 40 { w.load_one(total, 0).await } else { w.load_one(bins, group).await };
        w.store_one(copy, group, value);
    });
    let check = move |memory: &HostMemory| {
        let items = 64 * 2 * 32;
        let copy = memory.read(copy);
        let sum: u32 = copy[..40].iter().sum();
        if (copy[40], sum) == (items, items) { Ok(()) } else { Err(Mismatch(format!("{sum} and {}", copy[40]))) }
    };
    let mut program = Once { kernels: vec![read, count], check };
    simulate(config, protocol, &mut program, memory).unwrap()
}
