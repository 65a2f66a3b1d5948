//! Programs as wavefronts issue them: a fence follows an acquire and precedes a release, as in the other drivers.

use std::fmt;
use std::ops::Range;

use chorus_protocol::access::{Order, Scope};

use super::program::{Action, Boundary, PlainAccess, Program, Scopes, Word};

/// One operation, or something to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Micro {
    /// Reads a word whose value is known.
    Load(Word),
    /// Reads a word and accepts any value.
    Peek(Word),
    /// Writes a value that nobody else writes.
    Store(Word),
    /// Adds one to a word, atomically.
    Count(Word),
    /// Writes a value that nobody else writes and reads the old one, atomically.
    Exchange(Word),
    /// Exchanges, if the word holds the value that the wavefront last read there.
    CompareExchange(Word),
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
            let raised = |flag: Word| {
                let raises = |action: &Action| matches!(action, Action::Publish { flag: other, .. } if *other == flag);
                phase.actions.iter().flatten().any(raises)
            };
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
                    code.push(Micro::Count(word));
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

fn lower_access(access: &PlainAccess) -> Micro {
    match *access {
        PlainAccess::Load(word) => Micro::Load(word),
        PlainAccess::Store(word) => Micro::Store(word),
    }
}

fn lower_action(action: &Action, epoch: u32, scopes: &Scopes, raised: &dyn Fn(Word) -> bool, code: &mut Vec<Micro>) {
    let fence = |order, word: &Word| Micro::Fence(order, scopes.of(*word));
    match action {
        Action::Plain(access) => code.push(lower_access(access)),
        Action::Peek(word) => code.push(Micro::Peek(*word)),
        Action::Count(word) => code.push(Micro::Count(*word)),
        Action::Exchange(word) => code.push(Micro::Exchange(*word)),
        Action::CompareExchange(word) => code.push(Micro::CompareExchange(*word)),
        Action::Fence => code.push(Micro::Fence(Order::AcqRel, scopes.widest)),
        Action::Critical { lock, by_exchange, inside } => {
            code.extend([Micro::Lock(*lock), fence(Order::Acquire, lock)]);
            code.extend(inside.iter().map(lower_access));
            code.extend([fence(Order::Release, lock), Micro::Unlock { lock: *lock, by_exchange: *by_exchange }]);
        }
        Action::Publish { flag, words } => {
            code.extend(words.iter().map(|&word| Micro::Store(word)));
            code.extend([fence(Order::Release, flag), Micro::Signal { flag: *flag, value: epoch }]);
        }
        // If nobody raises the flag, nobody writes the words either.
        Action::Consume { flag, by_atomics, words } if raised(*flag) => {
            code.push(Micro::Await { word: *flag, value: epoch, by_atomics: *by_atomics });
            code.push(fence(Order::Acquire, flag));
            code.extend(words.iter().map(|&word| Micro::Load(word)));
        }
        Action::Consume { .. } => {}
    }
}

impl fmt::Display for Micro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Micro::Load(word) => write!(f, "ld {word}"),
            Micro::Peek(word) => write!(f, "peek {word}"),
            Micro::Store(word) => write!(f, "st {word}"),
            Micro::Count(word) => write!(f, "add {word},1"),
            Micro::Exchange(word) => write!(f, "exch {word}"),
            Micro::CompareExchange(word) => write!(f, "cas {word}"),
            Micro::Fence(..) => write!(f, "fence"),
            Micro::Lock(lock) => write!(f, "lock {lock}"),
            Micro::Unlock { lock, .. } => write!(f, "unlock {lock}"),
            Micro::Signal { flag, value } => write!(f, "st {flag}={value}"),
            Micro::Await { word, value, .. } => write!(f, "await {word}>={value}"),
            Micro::NextKernel => write!(f, "next kernel"),
        }
    }
}
