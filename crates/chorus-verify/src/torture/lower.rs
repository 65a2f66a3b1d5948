//! Programs as wavefronts issue them: a fence follows an acquire and precedes a release, as in the other drivers.

use std::fmt;
use std::ops::Range;

use chorus_protocol::access::{Order, Scope};

use super::program::{Access, Action, Boundary, Program, Scopes, Word, Words};

/// One operation, or something to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Micro {
    /// A load, a store or an atomic of some words.
    Access(Access),
    /// Adds one to each word, atomically.
    Count(Words),
    /// Changes the wavefront's own bit of each word, atomically.
    Flip { words: Words, by_xor: bool },
    /// Orders accesses: all of them, or those around the operation that the fence stands for.
    Fence(Order, Scope),
    /// Takes a lock, trying until it is free.
    Lock(Word),
    /// Releases a lock again.
    Unlock { lock: Word, by_exchange: bool },
    /// Raises a flag to a value.
    Signal { flag: Word, value: u32 },
    /// Reads until a word has at least this value.
    Await { word: Word, value: u32, by_atomics: bool },
    /// Waits for all wavefronts, and for the caches to have begun a new kernel.
    NextKernel,
}

/// Lowers the program of every wavefront into `code`, one after the other. `ranges` receives the range of each.
pub(super) fn lower(program: &Program, code: &mut Vec<Micro>, ranges: &mut Vec<Range<usize>>) {
    code.clear();
    ranges.clear();
    let waves = program.slots.len();
    for wave in 0..waves {
        let start = code.len();
        let mut barriers = 0;
        for (number, phase) in program.phases.iter().enumerate() {
            let published = |flag: Word| {
                let raises = |action: &Action| matches!(action, Action::Publish { flag: other, .. } if *other == flag);
                phase.actions.iter().flatten().any(raises)
            };
            let relayed = |flag: Word| {
                let raises = |action: &Action| match action {
                    Action::Relay { seen, flag: other } => *other == flag && published(*seen),
                    _ => false,
                };
                phase.actions.iter().flatten().any(raises)
            };
            let raised = |flag: Word| published(flag) || relayed(flag);
            for action in &phase.actions[wave] {
                lower_action(action, number as u32 + 1, &program.scopes, &raised, code);
            }
            if number + 1 == program.phases.len() {
                break;
            }
            match phase.end {
                Boundary::Barrier(word) => {
                    code.push(Micro::Fence(Order::Release, program.scopes.widest));
                    barriers += waves as u32;
                    code.push(Micro::Count(Words::one(word)));
                    code.push(Micro::Await { word, value: barriers, by_atomics: (number + wave) % 2 == 0 });
                    code.push(Micro::Fence(Order::Acquire, program.scopes.widest));
                }
                // The fence sends the wavefront's writes in order; the end of the kernel takes them further.
                Boundary::Kernel => {
                    code.extend([Micro::Fence(Order::Release, Scope::WorkGroup), Micro::NextKernel]);
                }
            }
        }
        ranges.push(start..code.len());
    }
}

fn lower_action(action: &Action, epoch: u32, scopes: &Scopes, raised: &dyn Fn(Word) -> bool, code: &mut Vec<Micro>) {
    let fence = |order, word: &Word| Micro::Fence(order, scopes.of(*word));
    match action {
        Action::Plain(access) => code.push(Micro::Access(*access)),
        Action::Count(words) => code.push(Micro::Count(*words)),
        Action::Flip { words, by_xor } => code.push(Micro::Flip { words: *words, by_xor: *by_xor }),
        Action::Fence => code.push(Micro::Fence(Order::AcqRel, scopes.widest)),
        Action::Critical { lock, by_exchange, inside } => {
            code.extend([Micro::Lock(*lock), fence(Order::Acquire, lock)]);
            code.extend(inside.iter().map(|&access| Micro::Access(access)));
            code.extend([fence(Order::Release, lock), Micro::Unlock { lock: *lock, by_exchange: *by_exchange }]);
        }
        Action::Publish { flag, words } => {
            code.extend(words.iter().map(|&words| Micro::Access(Access::store(words))));
            code.extend([fence(Order::Release, flag), Micro::Signal { flag: *flag, value: epoch }]);
        }
        // If nobody raises the flag, nobody writes the words either.
        Action::Consume { flag, by_atomics, words } if raised(*flag) => {
            code.push(Micro::Await { word: *flag, value: epoch, by_atomics: *by_atomics });
            code.push(fence(Order::Acquire, flag));
            code.extend(words.iter().map(|&words| Micro::Access(Access::load(words))));
        }
        Action::Relay { seen, flag } if raised(*seen) => {
            code.push(Micro::Await { word: *seen, value: epoch, by_atomics: false });
            code.extend([fence(Order::AcqRel, flag), Micro::Signal { flag: *flag, value: epoch }]);
        }
        Action::Consume { .. } | Action::Relay { .. } => {}
    }
}

impl fmt::Display for Micro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Micro::Access(access) => write!(f, "{access}"),
            Micro::Count(words) => write!(f, "add {words},1"),
            Micro::Flip { words, .. } => write!(f, "flip {words}"),
            Micro::Fence(..) => write!(f, "fence"),
            Micro::Lock(lock) => write!(f, "lock {lock}"),
            Micro::Unlock { lock, .. } => write!(f, "unlock {lock}"),
            Micro::Signal { flag, value } => write!(f, "st {flag}={value}"),
            Micro::Await { word, value, .. } => write!(f, "await {word}>={value}"),
            Micro::NextKernel => write!(f, "next kernel"),
        }
    }
}
