//! Random programs: what each wavefront does, in a form from which parts can be taken away and what is left is still a program.
//!
//! A data-race-free program has phases, which a barrier or the start of a new kernel separates. In each phase every word has one role: it
//! belongs to one wavefront, nobody writes it, a lock guards it, or one wavefront hands it to others. Words of all roles share lines. So
//! whoever may read a word knows what it holds, as in gem5's data-race-free tester (Ta et al., ISPASS 2019). Wavefronts also look at words
//! that they have no business with and forget what they saw: the copies that this leaves behind must do no harm.

use std::fmt;

use chorus_protocol::access::{Order, Scope};

/// Words of a line.
pub const WORDS: usize = 2;

/// One word of memory, by number. `a0` and `a1` are the words of line 0, `b0` and `b1` those of line 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(pub u8);

impl Word {
    /// The number of its line.
    pub fn line(self) -> u64 {
        u64::from(self.0) / WORDS as u64
    }

    /// Its place in the line.
    pub fn place(self) -> usize {
        usize::from(self.0) % WORDS
    }

    /// As an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The name of a line: the letter with which those of its words begin.
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
pub enum Access {
    /// Reads.
    Load(Word),
    /// Writes a value that nobody else writes.
    Store(Word),
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Access::Load(word) => write!(f, "ld {word}"),
            Access::Store(word) => write!(f, "st {word}"),
        }
    }
}

/// What a wavefront does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A load or store.
    Plain(Access),
    /// Reads without being entitled to: any value will do, but a copy may be left behind.
    Peek(Word),
    /// Adds one, atomically.
    Count(Word),
    /// Writes a value that nobody else writes, atomically, and reads the old one.
    Exchange(Word),
    /// As an exchange, if the word still holds what the wavefront last read there.
    CompareExchange(Word),
    /// A fence.
    Fence,
    /// Takes a lock, makes accesses, gives it back.
    Critical {
        /// The lock: zero when free.
        lock: Word,
        /// Whether the lock is given back by an exchange instead of a store.
        by_exchange: bool,
        /// The accesses.
        inside: Vec<Access>,
    },
    /// Stores words and says so in a flag.
    Publish {
        /// The flag.
        flag: Word,
        /// The words.
        words: Vec<Word>,
    },
    /// Waits for the flag, if somebody raises it in this phase, and then loads words.
    Consume {
        /// The flag.
        flag: Word,
        /// Whether the flag is read by atomics instead of loads.
        by_atomics: bool,
        /// The words.
        words: Vec<Word>,
    },
}

impl Action {
    /// How many operations of the memory it stands for.
    pub fn operations(&self) -> usize {
        match self {
            Action::Plain(_) | Action::Peek(_) | Action::Fence => 1,
            Action::Count(_) | Action::Exchange(_) | Action::CompareExchange(_) => 1,
            Action::Critical { inside, .. } => 2 + inside.len(),
            Action::Publish { words, .. } | Action::Consume { words, .. } => 1 + words.len(),
        }
    }

    /// How many parts could be taken away from inside.
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

/// What separates a phase from the next.
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
    /// What comes between this phase and the next.
    pub end: Boundary,
}

/// How a program's results are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Every load's value is known when it is issued.
    DataRaceFree,
    /// The values of each word must fit one order of its writes.
    Racy,
}

/// Where a wavefront runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seat {
    /// Index of the private cache.
    pub cache: u16,
    /// Wavefront slot beside it.
    pub slot: u16,
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L1.{}.w{}", self.cache, self.slot)
    }
}

/// How far synchronisation reaches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scopes {
    /// What reaches all wavefronts.
    pub widest: Scope,
    /// Words by which fewer synchronise, all of them in this scope.
    pub narrow: Vec<(Word, Scope)>,
    /// The order of accesses that race: weak ones only where the protocol keeps the order of a word's writes for them too.
    pub races: Order,
}

impl Scopes {
    /// The scope of those who synchronise by a word.
    pub fn of(&self, word: Word) -> Scope {
        self.narrow.iter().find(|(other, _)| *other == word).map_or(self.widest, |&(_, scope)| scope)
    }
}

/// What all wavefronts do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// How its results are judged.
    pub kind: Kind,
    /// How far its synchronisation reaches.
    pub scopes: Scopes,
    /// Where each wavefront runs.
    pub seats: Vec<Seat>,
    /// The phases, one after the other.
    pub phases: Vec<Phase>,
}

impl Program {
    /// Operations of all wavefronts, without the fences and barriers between them.
    pub fn operations(&self) -> usize {
        self.phases.iter().flat_map(|phase| &phase.actions).flatten().map(Action::operations).sum()
    }

    /// A line for each wavefront.
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
            format!("{}: {text}", self.seats[wave])
        };
        (0..self.seats.len()).map(line).collect()
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
        let seats = vec![Seat { cache: 0, slot: 0 }, Seat { cache: 1, slot: 0 }];
        let scopes = Scopes { widest: Scope::Gpu, narrow: Vec::new(), races: Order::Weak };
        let phases = vec![Phase { actions, end: Boundary::Kernel }];
        let program = Program { kind: Kind::DataRaceFree, scopes, seats, phases };
        assert_eq!(program.lines(), ["L1.0.w0: publish a0 by b0", "L1.1.w0: await b0, then ld a0, a1"]);
        assert_eq!(program.operations(), 5);
    }
}
