//! The words that a host program reads when it decides on its next launch.
//!
//! A host program is a piece of the program that nobody can write down: it may keep anything. But it depends on nothing
//! but the words that it reads from memory. So a run that goes on from a checkpoint has the host program decide on all
//! earlier launches once more, and gives it the words that it read then.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::kernel::{Kernel, Program};
use crate::memory::HostMemory;

/// Notes of the words that are read, or words to be read once more.
#[derive(Debug, Default)]
pub(crate) struct HostReads {
    watched: AtomicBool,
    words: Mutex<Words>,
}

#[derive(Debug)]
enum Words {
    Noted(Vec<u32>),
    Given(VecDeque<u32>),
}

impl Default for Words {
    fn default() -> Words {
        Words::Noted(Vec::new())
    }
}

impl HostReads {
    fn words(&self) -> MutexGuard<'_, Words> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether reads are noted or answered at all.
    #[inline]
    pub(crate) fn are_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// Notes a word that is read, or answers with the one that was read then.
    #[cold]
    pub(crate) fn pass(&self, value: u32) -> u32 {
        match &mut *self.words() {
            Words::Noted(noted) => {
                noted.push(value);
                value
            }
            Words::Given(given) => given.pop_front().unwrap_or(value),
        }
    }

    /// Watches reads during `action`. Returns what is noted or left afterwards.
    fn during<T>(&self, words: Words, action: impl FnOnce() -> T) -> (T, Words) {
        *self.words() = words;
        self.watched.store(true, Ordering::Relaxed);
        let result = action();
        self.watched.store(false, Ordering::Relaxed);
        (result, std::mem::take(&mut *self.words()))
    }
}

impl HostMemory {
    /// The next launch of a program, and the words that it read for that.
    pub fn next_kernel_noted(&self, program: &mut dyn Program) -> (Option<Kernel>, Vec<u32>) {
        let (kernel, words) = self.reads.during(Words::default(), || program.next_kernel(self));
        match words {
            Words::Noted(noted) => (kernel, noted),
            Words::Given(_) => (kernel, Vec::new()),
        }
    }

    /// The next launch of a program that reads the same words as it did in another run.
    pub fn next_kernel_again(&self, program: &mut dyn Program, words: Vec<u32>) -> Option<Kernel> {
        self.reads.during(Words::Given(words.into()), || program.next_kernel(self)).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Verdict;
    use crate::memory::Buf;

    /// Launches kernels with the numbers that it reads.
    struct Reading(Buf<u32>);

    impl Program for Reading {
        fn next_kernel(&mut self, memory: &HostMemory) -> Option<Kernel> {
            let name = (memory.get(self.0, 0) + memory.get(self.0, 1)).to_string();
            Some(Kernel::new(name, 1, 1, |_| async {}))
        }

        fn check(&self, _: &HostMemory) -> Verdict {
            Verdict::Unchecked
        }
    }

    #[test]
    fn a_program_that_reads_the_same_words_decides_the_same() {
        let mut memory = HostMemory::default();
        let mut program = Reading(memory.alloc_from(&[3, 4]));
        let (kernel, words) = memory.next_kernel_noted(&mut program);
        assert_eq!((kernel.unwrap().name, &words), ("7".to_owned(), &vec![3, 4]));
        memory.set(program.0, 0, 9);
        assert_eq!(memory.next_kernel_again(&mut program, words).unwrap().name, "7");
        assert_eq!(program.next_kernel(&memory).unwrap().name, "13");
    }
}
