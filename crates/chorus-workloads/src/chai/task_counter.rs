//! A queue of numbered tasks that CPU threads and work-groups take one by one.
//!
//! Source: the dynamic partitioning of Chai (Gómez-Luna et al., Chai: Collaborative Heterogeneous Applications for
//! Integrated-architectures, ISPASS 2017). Tasks are numbers. Whoever wants the next task adds 1 to a shared counter.
//! One work-item of a work-group does so and hands the number to the others through local data.
//!
//! Order: taking a task is a release and an acquire for the whole system, as operations on queues are.

use chorus_kernel::{Buf, Cpu, HostMemory, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

/// The number of the next task.
#[derive(Clone, Copy)]
pub(crate) struct TaskCounter {
    next: Buf<u32>,
}

impl TaskCounter {
    /// A queue whose first task is 0.
    pub(crate) fn new(memory: &mut HostMemory) -> TaskCounter {
        TaskCounter { next: memory.alloc(1) }
    }

    /// The next task of a work-group. All of its wavefronts must ask. The word `slot` of local data passes the task on.
    pub(crate) async fn take(&self, w: &Wave, slot: u32) -> u32 {
        let (one, slot) = (Mask::lane(0), Lanes::splat(slot));
        w.fence_release(Scope::System).await;
        // Behind this barrier all wavefronts have read the last task out of the slot.
        w.barrier().await;
        if w.id().wave == 0 {
            let add = w.atomic_in(Scope::System, AtomicOp::Add, one, self.next, Lanes::splat(0), Lanes::splat(1));
            let task = add.await;
            w.fence(Scope::System).await;
            w.lds_write(one, slot, task);
        }
        w.barrier().await;
        w.lds_read(one, slot)[0]
    }

    /// The next task of a CPU thread.
    pub(crate) async fn take_cpu(&self, cpu: &Cpu) -> u32 {
        cpu.fence_release().await;
        let task = cpu.atomic(AtomicOp::Add, self.next, 0, 1).await;
        cpu.fence().await;
        task
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Kernel, flat};

    use super::*;

    #[test]
    fn every_task_is_taken_once_by_a_cpu_thread_or_a_whole_work_group() {
        const TASKS: u32 = 50;
        let mut memory = HostMemory::default();
        let counter = TaskCounter::new(&mut memory);
        let taken = memory.alloc::<u32>(TASKS as usize);
        let kernel = Kernel::new("take", 3, 2, move |w| async move {
            loop {
                let task = counter.take(&w, 0).await;
                if task >= TASKS {
                    break;
                }
                w.atomic_one(AtomicOp::Add, taken, task, 1).await;
            }
        })
        .lds(4)
        .with_cpu(2, move |cpu| async move {
            loop {
                let task = counter.take_cpu(&cpu).await;
                if task >= TASKS {
                    break;
                }
                cpu.atomic(AtomicOp::Add, taken, task, 2).await;
            }
        });
        flat::run_kernel(&kernel, &memory).unwrap();
        assert_eq!(memory.read(taken), [2; TASKS as usize], "a work-group has two wavefronts, which count 1 each");
    }
}
