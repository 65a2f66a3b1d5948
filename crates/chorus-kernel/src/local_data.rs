//! The local data share of a work-group.

use std::cell::Cell;
use std::rc::Rc;

use chorus_protocol::save::{Damaged, Reader, Restore, Save};

use crate::kernel::Kernel;

/// The words that the wavefronts of a work-group share. Work-groups start often, and most kernels have no such words.
/// These take no memory.
#[derive(Clone, Debug, Default)]
pub struct LocalData(Option<Rc<Vec<Cell<u32>>>>);

impl LocalData {
    /// The local data share of a work-group of `kernel`, all zeros.
    pub fn of(kernel: &Kernel) -> LocalData {
        let words = kernel.lds_bytes / 4;
        LocalData((words > 0).then(|| Rc::new(vec![Cell::new(0); words as usize])))
    }

    /// The words, all of the work-group. There are none where the kernel declares no local data.
    #[inline]
    pub fn words(&self) -> &[Cell<u32>] {
        self.0.as_ref().map_or(&[], |words| words)
    }
}

impl Restore for LocalData {
    fn keep(&self, to: &mut Vec<u8>) {
        self.words().iter().for_each(|word| word.get().save(to));
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        self.words().iter().try_for_each(|word| u32::load(from).map(|value| word.set(value)))
    }
}
