//! The command processor: kernel launches, and work-groups placed on compute units as far as their resources go.

use std::cell::RefCell;
use std::rc::Rc;

use chorus_protocol::access::{CoreOp, Order, Scope, Txn};
use chorus_protocol::controller::Input;

use super::{Event, Machine, SimError, lineless_request};
use crate::compute_unit::{ComputeUnit, Group, WaveSlot};
use crate::frontend::{Kernel, LANES, WaveId, WaveTask};
use crate::stats::Counter;

impl<const W: usize> Machine<'_, W> {
    /// Refuses kernels whose work-groups fit no compute unit.
    pub(super) fn check_fits(&self, kernel: &Kernel) -> Result<(), SimError> {
        let core = &self.config.core;
        let registers = kernel.waves_per_group * LANES as u32 * kernel.registers_per_item;
        let needs = [
            ("wavefronts", kernel.waves_per_group, core.wavefronts),
            ("registers", registers, core.registers),
            ("bytes of local data share", kernel.lds_bytes, core.lds_bytes),
        ];
        for (what, needed, available) in needs {
            if needed > available {
                let name = &kernel.name;
                let text =
                    format!("a work-group of kernel {name} needs {needed} {what}; a compute unit has {available}");
                return Err(SimError::Unsupported(text));
            }
        }
        Ok(())
    }

    /// Starts a launch: private caches learn of it, and work-groups start after the launch latency.
    pub(super) fn begin_kernel(&mut self, kernel: &Kernel) -> Result<(), SimError> {
        self.tell_time();
        for unit in 0..self.topology.l1s {
            let request = lineless_request(CoreOp::KernelBegin, Order::Acquire, Scope::System, 0, Txn(0));
            self.caches[usize::from(unit)].controller.step_making_room(&Input::Core(&request), &mut self.outbox)?;
            self.outbox.completions.clear();
            self.route(self.topology.l1(unit), true, kernel)?;
        }
        let now = self.wheel.now();
        self.progress = now;
        self.launch.next_group = 0;
        self.launch.finished_groups = 0;
        self.launch.next_unit = 0;
        let latency = self.clocks.core.cycles(u64::from(self.config.core.launch_latency_cycles));
        self.wheel.schedule(self.clocks.core.edge(now) + latency, Event::Dispatch);
        Ok(())
    }

    /// Places work-groups in order, one per compute unit in turn, until none fits.
    pub(super) fn dispatch(&mut self, kernel: &Kernel) {
        let mut refused = 0;
        while self.launch.next_group < kernel.work_groups && refused < self.units.len() {
            let unit = self.launch.next_unit;
            self.launch.next_unit = (unit + 1) % self.units.len();
            if self.fits(&self.units[unit], kernel) {
                self.start_group(unit as u16, kernel);
                refused = 0;
            } else {
                refused += 1;
            }
        }
    }

    fn fits(&self, unit: &ComputeUnit, kernel: &Kernel) -> bool {
        let core = &self.config.core;
        let waves = unit.running + kernel.waves_per_group;
        unit.resident < core.work_groups
            && waves <= core.wavefronts
            && waves * LANES as u32 * kernel.registers_per_item <= core.registers
            && (unit.resident + 1) * kernel.lds_bytes <= core.lds_bytes
    }

    fn start_group(&mut self, unit: u16, kernel: &Kernel) {
        let work_group = self.launch.next_group;
        self.launch.next_group += 1;
        let lds = Rc::new(RefCell::new(vec![0; kernel.lds_bytes as usize / 4]));
        let cu = &mut self.units[usize::from(unit)];
        cu.resident += 1;
        let group = cu.groups.insert(Group { running: kernel.waves_per_group, at_barrier: 0 });
        let mut slot = 0;
        for wave in 0..kernel.waves_per_group {
            let cu = &mut self.units[usize::from(unit)];
            while cu.waves[slot].is_some() {
                slot += 1;
            }
            cu.running += 1;
            let (waves_per_group, work_groups) = (kernel.waves_per_group, kernel.work_groups);
            let id = WaveId { work_group, wave, waves_per_group, work_groups, gpu: 0, gpus: 1 };
            cu.waves[slot] = Some(WaveSlot {
                task: WaveTask::start(kernel, id, Rc::clone(&lds)),
                id,
                group,
                loads_in_flight: 0,
                ended: false,
                idle: false,
                at_barrier: false,
                last_operation: "start",
                last_line: None,
            });
            cu.slots.set_age(slot, self.launch.waves_started);
            self.launch.waves_started += 1;
            self.advance_wave(unit, slot);
        }
    }

    /// A wavefront has passed its final release.
    pub(super) fn retire_wave(&mut self, unit: u16, wave: usize, kernel: &Kernel) {
        self.progress = self.wheel.now();
        self.stats.add(Counter::WaveFronts, 1);
        let cu = &mut self.units[usize::from(unit)];
        let Some(retired) = cu.waves[wave].take() else { return };
        let group = cu.groups.get_mut(retired.group);
        group.running -= 1;
        if group.running > 0 {
            self.release_barrier(unit, retired.group);
            return;
        }
        // What a work-group holds is free for another when all of it has finished.
        cu.groups.remove(retired.group);
        cu.resident -= 1;
        cu.running -= kernel.waves_per_group;
        self.stats.add(Counter::WorkGroups, 1);
        self.launch.finished_groups += 1;
        self.dispatch(kernel);
    }
}
