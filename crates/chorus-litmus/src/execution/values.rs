//! The values read and written, once the source of each read is known.

use crate::execution::path::{MAX_EVENTS, Stored};
use crate::execution::skeleton::Skeleton;

/// The source of each read: the number of a write for each event.
pub(crate) type Sources = [u8; MAX_EVENTS];

/// The values of all writes.
pub(crate) struct Values {
    known: u64,
    under_way: u64,
    values: [u32; MAX_EVENTS],
}

impl Values {
    /// The values that follow from `sources`. There are none if a value would depend on itself, or if a branch would
    /// take the other direction.
    pub fn resolve(skeleton: &Skeleton, sources: &Sources) -> Option<Values> {
        let mut values = Values { known: 0, under_way: 0, values: [0; MAX_EVENTS] };
        for write in (0..skeleton.events.len()).filter(|&event| skeleton.events[event].is_write()) {
            values.write(skeleton, sources, write)?;
        }
        for (thread, path) in skeleton.paths.iter().enumerate() {
            let start = usize::from(skeleton.starts[thread]);
            let read = |event: usize| values.read(sources, start + event);
            if !path.guards.iter().all(|guard| guard.holds(read)) {
                return None;
            }
        }
        Some(values)
    }

    fn write(&mut self, skeleton: &Skeleton, sources: &Sources, write: usize) -> Option<u32> {
        if self.known >> write & 1 == 1 {
            return Some(self.values[write]);
        }
        if self.under_way >> write & 1 == 1 {
            return None;
        }
        self.under_way |= 1 << write;
        let event = skeleton.events[write];
        let value = match (skeleton.in_path(write).and_then(|event| event.stored.as_ref()), event.thread) {
            (Some(stored), Some(thread)) => {
                let start = usize::from(skeleton.starts[usize::from(thread)]);
                let mut read = |event: usize| self.write(skeleton, sources, usize::from(sources[start + event]));
                match stored {
                    Stored::Value(value) => value.value(read)?,
                    Stored::Modified { modify, operands } => {
                        let old = read(write - 1 - start)?;
                        let operands = [operands[0].value(&mut read)?, operands[1].value(&mut read)?];
                        let (operation, operand) = Stored::operation(*modify, operands);
                        operation.apply(old, operand)
                    }
                }
            }
            _ => skeleton.program.locations[usize::from(event.at)].initial,
        };
        self.known |= 1 << write;
        self.values[write] = value;
        Some(value)
    }

    /// The value that a write stored.
    pub fn written(&self, write: usize) -> u32 {
        self.values[write]
    }

    /// The value that a read returned.
    pub fn read(&self, sources: &Sources, read: usize) -> u32 {
        self.values[usize::from(sources[read])]
    }

    /// The final values of the registers of all threads.
    pub fn registers(&self, skeleton: &Skeleton, sources: &Sources) -> Vec<u32> {
        let count = skeleton.paths.iter().map(|path| path.registers.len()).sum();
        let mut registers = Vec::with_capacity(count);
        for (thread, path) in skeleton.paths.iter().enumerate() {
            let start = usize::from(skeleton.starts[thread]);
            for register in &path.registers {
                registers.push(register.value(|event| Some(self.read(sources, start + event))).unwrap_or(0));
            }
        }
        registers
    }
}
