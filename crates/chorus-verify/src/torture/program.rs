//! Random programs: the actions of each wavefront, in a form that is still a program after parts were taken away.
//!
//! A program without data races has phases, which a barrier or the start of a new kernel separates. In each phase every
//! word has one role: it belongs to one wavefront, nobody writes it, a lock guards it, or one wavefront hands it to
//! others. Words of all roles share lines. So a wavefront that may read a word knows its value, as in gem5's
//! data-race-free tester (Ta et al., ISPASS 2019). Wavefronts also read words that they may not use and forget the
//! values: the copies that this leaves behind must do no harm.

use std::fmt;

use chorus_protocol::access::{Order, Scope};

/// The number of words of a line.
pub const WORDS: usize = 2;

/// One word of memory, by number. `a0` and `a1` are the words of line 0, `b0` and `b1` those of line 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(pub u8);

impl Word {
    /// The number of its line.
    pub fn line(self) -> u64 {
        u64::from(self.0) / WORDS as u64
    }

    /// The place of the word in its line.
    pub fn place(self) -> usize {
        usize::from(self.0) % WORDS
    }

    /// The number of the word as an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The name of a line: the letter with which the names of its words begin.
pub fn line_name(line: u64) -> char {
    char::from(b'a' + (line % 26) as u8)
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", line_name(self.line()), self.place())
    }
}

/// A load or store of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlainAccess {
    /// Reads one word of memory.
    Load(Word),
    /// Writes a value that nobody else writes.
    Store(Word),
}

impl fmt::Display for PlainAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlainAccess::Load(word) => write!(f, "ld {word}"),
            PlainAccess::Store(word) => write!(f, "st {word}"),
        }
    }
}

/// One action of a wavefront.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A load or a store without synchronisation.
    Plain(PlainAccess),
    /// A read that the wavefront is not entitled to: any value will do, but a copy may be left behind.
    Peek(Word),
    /// Adds one to a word, atomically.
    Count(Word),
    /// Writes a value that nobody else writes, atomically, and reads the old one.
    Exchange(Word),
    /// An exchange, if the word still holds the value that the wavefront last read there.
    CompareExchange(Word),
    /// A fence of the widest scope.
    Fence,
    /// Takes a lock, makes accesses, and releases the lock.
    Critical {
        /// The word of the lock, zero when free.
        lock: Word,
        /// Whether the lock is released by an exchange instead of a store.
        by_exchange: bool,
        /// The accesses under the lock.
        inside: Vec<PlainAccess>,
    },
    /// Stores words and raises a flag.
    Publish {
        /// The word of the flag.
        flag: Word,
        /// The words to store.
        words: Vec<Word>,
    },
    /// Waits for the flag, if somebody raises it in this phase, and then loads words.
    Consume {
        /// The word of the flag.
        flag: Word,
        /// Whether the flag is read by atomics instead of loads.
        by_atomics: bool,
        /// The words to load.
        words: Vec<Word>,
    },
}

impl Action {
    /// The number of operations of the memory that it stands for.
    pub fn operations(&self) -> usize {
        match self {
            Action::Plain(_) | Action::Peek(_) | Action::Fence => 1,
            Action::Count(_) | Action::Exchange(_) | Action::CompareExchange(_) => 1,
            Action::Critical { inside, .. } => 2 + inside.len(),
            Action::Publish { words, .. } | Action::Consume { words, .. } => 1 + words.len(),
        }
    }

    /// The number of parts that could be taken away from inside.
    pub fn parts(&self) -> usize {
        match self {
            Action::Critical { inside, .. } => inside.len(),
            Action::Publish { words, .. } | Action::Consume { words, .. } => words.len(),
            Action::Plain(_) | Action::Peek(_) | Action::Fence => 0,
            Action::Count(_) | Action::Exchange(_) | Action::CompareExchange(_) => 0,
        }
    }

    /// Takes a part away from inside.
    pub fn remove_part(&mut self, part: usize) {
        match self {
            Action::Critical { inside, .. } => drop(inside.remove(part)),
            Action::Publish { words, .. } | Action::Consume { words, .. } => drop(words.remove(part)),
            Action::Plain(_) | Action::Peek(_) | Action::Fence => {}
            Action::Count(_) | Action::Exchange(_) | Action::CompareExchange(_) => {}
        }
    }
}

fn joined<T: fmt::Display>(values: &[T]) -> String {
    let values: Vec<String> = values.iter().map(T::to_string).collect();
    if values.is_empty() { "nothing".to_owned() } else { values.join(", ") }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Plain(access) => write!(f, "{access}"),
            Action::Peek(word) => write!(f, "peek {word}"),
            Action::Count(word) => write!(f, "add {word},1"),
            Action::Exchange(word) => write!(f, "exch {word}"),
            Action::CompareExchange(word) => write!(f, "cas {word}"),
            Action::Fence => write!(f, "fence"),
            Action::Critical { lock, inside, .. } => write!(f, "with lock {lock} {{ {} }}", joined(inside)),
            Action::Publish { flag, words } => write!(f, "publish {} by {flag}", joined(words)),
            Action::Consume { flag, words, .. } => write!(f, "await {flag}, then ld {}", joined(words)),
        }
    }
}

/// The boundary between a phase and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// A barrier of all wavefronts, made of atomics.
    Barrier(Word),
    /// The end of the kernel and the start of the next.
    Kernel,
}

/// A part of a program in which every word has one role.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Phase {
    /// The actions of each wavefront.
    pub actions: Vec<Vec<Action>>,
    /// The boundary between this phase and the next.
    pub end: Boundary,
}

/// The way in which a program's results are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The value of every load is known when it is issued.
    DataRaceFree,
    /// The values of each word must fit one order of its writes.
    Racy,
}

/// The wavefront slot that a wavefront runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaveSlot {
    /// The index of the private cache.
    pub cache: u16,
    /// The number of the slot beside it.
    pub slot: u16,
}

impl fmt::Display for WaveSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L1.{}.w{}", self.cache, self.slot)
    }
}

/// The scopes of a program's synchronisation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scopes {
    /// The scope that contains all wavefronts.
    pub widest: Scope,
    /// Words by which fewer wavefronts synchronise, with the scope that contains those.
    pub narrow: Vec<(Word, Scope)>,
    /// The order of accesses that race. They are weak only where the protocol keeps the order of a word's writes for
    /// weak accesses too.
    pub races: Order,
}

impl Scopes {
    /// The scope of the wavefronts that synchronise by a word.
    pub fn of(&self, word: Word) -> Scope {
        self.narrow.iter().find(|(other, _)| *other == word).map_or(self.widest, |&(_, scope)| scope)
    }
}

/// The actions of all wavefronts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// The way in which its results are judged.
    pub kind: Kind,
    /// The scopes of its synchronisation.
    pub scopes: Scopes,
    /// The slot of each wavefront.
    pub slots: Vec<WaveSlot>,
    /// The phases, one after the other.
    pub phases: Vec<Phase>,
}

impl Program {
    /// The number of operations of all wavefronts, without the fences and barriers between them.
    pub fn operations(&self) -> usize {
        self.phases.iter().flat_map(|phase| &phase.actions).flatten().map(Action::operations).sum()
    }

    /// The program as text, a line for each wavefront.
    pub fn lines(&self) -> Vec<String> {
        let line = |wave: usize| {
            let mut parts: Vec<String> = Vec::new();
            for (number, phase) in self.phases.iter().enumerate() {
                parts.extend(phase.actions[wave].iter().map(Action::to_string));
                if number + 1 < self.phases.len() {
                    parts.push(match phase.end {
                        Boundary::Barrier(word) => format!("barrier {word}"),
                        Boundary::Kernel => "next kernel".to_owned(),
                    });
                }
            }
            let text = if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") };
            format!("{}: {text}", self.slots[wave])
        };
        (0..self.slots.len()).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_printed_wavefront_by_wavefront() {
        let actions = vec![
            vec![Action::Publish { flag: Word(2), words: vec![Word(0)] }],
            vec![Action::Consume { flag: Word(2), by_atomics: false, words: vec![Word(0), Word(1)] }],
        ];
        let slots = vec![WaveSlot { cache: 0, slot: 0 }, WaveSlot { cache: 1, slot: 0 }];
        let scopes = Scopes { widest: Scope::Gpu, narrow: Vec::new(), races: Order::Weak };
        let phases = vec![Phase { actions, end: Boundary::Kernel }];
        let program = Program { kind: Kind::DataRaceFree, scopes, slots, phases };
        assert_eq!(program.lines(), ["L1.0.w0: publish a0 by b0", "L1.1.w0: await b0, then ld a0, a1"]);
        assert_eq!(program.operations(), 5);
    }
}
