//! The host side of a machine in a checkpoint.

use std::ops::Range;
use std::sync::Arc;

use chorus_kernel::Kernel;
use chorus_protocol::save::{Damaged, Reader, Restore, Save};
use chorus_system::WorkGroupOrder;

use super::Host;
use crate::compute_unit::Job;
use crate::machine::launch::Launch;

impl Host<'_> {
    /// Appends the state. All orders have been handed to components.
    pub(in crate::machine) fn keep_all(&self, to: &mut Vec<u8>) {
        debug_assert!(self.orders.is_empty(), "orders that no component has");
        self.keep(to);
        self.pages().keep(to);
        self.launches.len().save(to);
        for launch in &self.launches {
            (launch.job.name, launch.modules.clone()).save(to);
            launch.keep(to);
            launch.job.kernel.keep_state(to);
        }
        self.dispatcher.iter().for_each(|dispatcher| dispatcher.keep_all(to));
    }

    /// Takes over the state of the same host side. `kernels` are the last ones that the streams have launched. Returns
    /// them as units run them.
    pub(in crate::machine) fn restore_all(
        &mut self,
        from: &mut Reader<'_>,
        kernels: Vec<Kernel>,
    ) -> Result<Vec<Arc<Job>>, Damaged> {
        self.restore(from)?;
        self.pages_mut().restore(from)?;
        if usize::load(from)? != kernels.len() {
            return Err(Damaged);
        }
        for kernel in kernels {
            let (name, modules) = <(u16, Range<u16>)>::load(from)?;
            let job = self.job(name, kernel, &modules);
            let mut launch = Launch::new(job, modules, WorkGroupOrder::Blocks, 0);
            launch.restore(from)?;
            launch.job.kernel.restore_state(from)?;
            self.launches.push(launch);
        }
        let jobs: Vec<Arc<Job>> = self.launches.iter().map(|launch| Arc::clone(&launch.job)).collect();
        self.dispatcher.iter_mut().try_for_each(|dispatcher| dispatcher.restore_all(from, &jobs))?;
        Ok(jobs)
    }
}
