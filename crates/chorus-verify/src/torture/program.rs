//! Random programs: the actions of each wavefront, in a form that is still a program after parts were taken away.
//!
//! A program without data races has phases, which a barrier or the start of a new kernel separates. In each phase every
//! word has one role: it belongs to one wavefront, nobody writes it, a lock guards it, or one wavefront hands it to
//! others. Words of all roles share lines. So a wavefront that may read a word knows its value, as in gem5's
//! data-race-free tester (Ta et al., ISPASS 2019). Wavefronts also read words that they may not use and forget the
//! values: the copies that this leaves behind must do no harm.

use std::fmt;

use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_protocol::line::ByteMask;

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

/// Some words of one line, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Words {
    line: u8,
    places: u8,
}

impl Words {
    /// One word and no other.
    pub fn one(word: Word) -> Words {
        Words { line: word.line() as u8, places: 1 << word.place() }
    }

    /// Every word of a line.
    pub fn whole(line: u64) -> Words {
        Words { line: line as u8, places: (1 << WORDS) - 1 }
    }

    /// The number of their line.
    pub fn line(self) -> u64 {
        u64::from(self.line)
    }

    /// The number of words.
    pub fn count(self) -> u32 {
        self.places.count_ones()
    }

    /// The words, in the order of the line.
    pub fn iter(self) -> impl Iterator<Item = Word> {
        let Words { line, places } = self;
        (0..WORDS as u8)
            .filter(move |place| places >> place & 1 == 1)
            .map(move |place| Word(line * WORDS as u8 + place))
    }

    /// The first word of the line among them.
    pub fn first(self) -> Word {
        Word(self.line * WORDS as u8 + self.places.trailing_zeros() as u8)
    }

    /// Whether a word is among them.
    pub fn contains(self, word: Word) -> bool {
        word.line() == self.line() && self.places >> word.place() & 1 == 1
    }

    /// These words and others of the same line.
    pub fn and(self, others: Words) -> Words {
        Words { places: self.places | others.places, ..self }
    }

    /// The bytes of the line that they are.
    pub fn mask(self) -> ByteMask {
        ByteMask::of_words(u32::from(self.places))
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.iter().map(|word| word.to_string()).collect();
        write!(f, "{}", words.join("+"))
    }
}

/// An atomic operation of which the driver knows what it writes. The operand is a value that nobody else writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Update {
    /// Adds the operand to the word.
    Add,
    /// Combines all bits with those of the operand by and.
    And,
    /// Combines all bits with those of the operand by or.
    Or,
    /// Combines all bits with those of the operand by exclusive or.
    Xor,
    /// Keeps the smaller value.
    Min,
    /// Keeps the larger value.
    Max,
    /// Writes the operand in any case.
    Exchange,
    /// Writes the operand if the word still holds the value that the wavefront last read in the first of the words.
    CompareExchange,
}

impl Update {
    /// All updates. Those that write the operand or nothing come first.
    pub const ALL: [Update; 8] = [
        Update::Exchange,
        Update::CompareExchange,
        Update::Min,
        Update::Max,
        Update::Add,
        Update::And,
        Update::Or,
        Update::Xor,
    ];

    /// The updates that leave a word as it is or write the operand. After others nobody knows whose value a word holds.
    pub const TRACEABLE: &[Update] = Self::ALL.split_at(4).0;

    /// The operation as a request names it. `expected` is the value that an exchange compares with.
    pub fn operation(self, expected: u32) -> AtomicOp {
        match self {
            Update::Add => AtomicOp::Add,
            Update::And => AtomicOp::And,
            Update::Or => AtomicOp::Or,
            Update::Xor => AtomicOp::Xor,
            Update::Min => AtomicOp::Min,
            Update::Max => AtomicOp::Max,
            Update::Exchange => AtomicOp::Exchange,
            Update::CompareExchange => AtomicOp::CompareExchange { expected },
        }
    }

    fn name(self) -> &'static str {
        match self {
            Update::Add => "add",
            Update::And => "and",
            Update::Or => "or",
            Update::Xor => "xor",
            Update::Min => "min",
            Update::Max => "max",
            Update::Exchange => "exch",
            Update::CompareExchange => "cas",
        }
    }
}

/// The operation of an access on its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Does {
    /// Reads them. The values of the known words must be right. Of the others the wavefront accepts any value, but
    /// copies may be left behind.
    Load {
        /// The words whose values the wavefront is entitled to know. There may be none.
        known: Option<Words>,
    },
    /// Writes values that nobody else writes.
    Store,
    /// Reads and writes each word atomically.
    Update(Update),
}

/// A load, a store or an atomic of some words of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The use of the words.
    pub does: Does,
    /// The words that it accesses.
    pub words: Words,
    /// Its order, as the cache is told.
    pub order: Order,
    /// Its scope, as the cache is told.
    pub scope: Scope,
}

impl Access {
    /// A load of words that the wavefront may know, without order.
    pub fn load(words: Words) -> Access {
        Access { does: Does::Load { known: Some(words) }, words, order: Order::Weak, scope: Scope::WorkGroup }
    }

    /// A store without order.
    pub fn store(words: Words) -> Access {
        Access { does: Does::Store, ..Access::load(words) }
    }

    /// Restricts the access to one of its words.
    pub fn narrow(&mut self, word: Word) {
        self.words = Words::one(word);
        if let Does::Load { known } = &mut self.does {
            *known = known.filter(|known| known.contains(word)).map(|_| Words::one(word));
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.does {
            Does::Load { known: None } => "peek",
            Does::Load { known: Some(known) } if known != self.words => return self.load_of(known, f),
            Does::Load { known: Some(_) } => "ld",
            Does::Store => "st",
            Does::Update(update) => update.name(),
        };
        write!(f, "{name}{} {}", order_suffix(self.order, self.scope), self.words)
    }
}

impl Access {
    fn load_of(&self, known: Words, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ld{} {} for {known}", order_suffix(self.order, self.scope), self.words)
    }
}

fn order_suffix(order: Order, scope: Scope) -> String {
    let order = match order {
        Order::Weak => return String::new(),
        Order::Relaxed => "rlx",
        Order::Acquire => "acq",
        Order::Release => "rel",
        Order::AcqRel => "acq_rel",
    };
    let scope = match scope {
        Scope::WorkGroup => "cta",
        Scope::Gpu => "gpu",
        Scope::System => "sys",
    };
    format!(".{order}.{scope}")
}

/// One action of a wavefront.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A load, a store or an atomic.
    Plain(Access),
    /// Adds one to each word, atomically.
    Count(Words),
    /// Changes the wavefront's own bit of each word, atomically.
    Flip {
        /// The words in which it has a bit.
        words: Words,
        /// Whether it does so by exclusive or instead of or and and.
        by_xor: bool,
    },
    /// A fence of the widest scope.
    Fence,
    /// Takes a lock, makes accesses, and releases the lock.
    Critical {
        /// The word of the lock, zero when free.
        lock: Word,
        /// Whether the lock is released by an exchange instead of a store.
        by_exchange: bool,
        /// The accesses under the lock.
        inside: Vec<Access>,
    },
    /// Stores words and raises a flag.
    Publish {
        /// The word of the flag.
        flag: Word,
        /// The words to store.
        words: Vec<Words>,
    },
    /// Waits for the flag, if somebody raises it in this phase, and then loads words.
    Consume {
        /// The word of the flag.
        flag: Word,
        /// Whether the flag is read by atomics instead of loads.
        by_atomics: bool,
        /// The words to load.
        words: Vec<Words>,
    },
    /// Waits until it sees a word raised, and raises a flag behind a fence. Whoever sees the flag must see the word,
    /// where writes are atomic: nobody sees a write before all do.
    Relay {
        /// The word that somebody raises in this phase; otherwise nothing happens.
        seen: Word,
        /// The flag that it raises.
        flag: Word,
    },
}

impl Action {
    /// The number of operations of the memory that it stands for.
    pub fn operations(&self) -> usize {
        match self {
            Action::Plain(_) | Action::Fence | Action::Count(_) | Action::Flip { .. } => 1,
            Action::Critical { inside, .. } => 2 + inside.len(),
            Action::Relay { .. } => 2,
            Action::Publish { words, .. } | Action::Consume { words, .. } => 1 + words.len(),
        }
    }

    /// The number of parts that could be taken away from inside.
    pub fn parts(&self) -> usize {
        match self {
            Action::Critical { inside, .. } => inside.len(),
            Action::Publish { words, .. } | Action::Consume { words, .. } => words.len(),
            Action::Plain(_) | Action::Fence | Action::Count(_) => 0,
            Action::Flip { .. } | Action::Relay { .. } => 0,
        }
    }

    /// Takes a part away from inside.
    pub fn remove_part(&mut self, part: usize) {
        match self {
            Action::Critical { inside, .. } => drop(inside.remove(part)),
            Action::Publish { words, .. } | Action::Consume { words, .. } => drop(words.remove(part)),
            Action::Plain(_) | Action::Fence | Action::Count(_) => {}
            Action::Flip { .. } | Action::Relay { .. } => {}
        }
    }

    /// Restricts every operation of several words to the first or the last of them.
    pub fn narrow(&mut self, to_first: bool) {
        let one = |words: Words| if to_first { words.first() } else { words.iter().last().unwrap_or(words.first()) };
        match self {
            Action::Plain(access) => access.narrow(one(access.words)),
            Action::Critical { inside, .. } => inside.iter_mut().for_each(|access| access.narrow(one(access.words))),
            Action::Count(words) | Action::Flip { words, .. } => *words = Words::one(one(*words)),
            Action::Publish { words, .. } | Action::Consume { words, .. } => {
                words.iter_mut().for_each(|words| *words = Words::one(one(*words)));
            }
            Action::Fence | Action::Relay { .. } => {}
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
            Action::Count(words) => write!(f, "add {words},1"),
            Action::Flip { words, .. } => write!(f, "flip {words}"),
            Action::Fence => write!(f, "fence"),
            Action::Critical { lock, inside, .. } => write!(f, "with lock {lock} {{ {} }}", joined(inside)),
            Action::Publish { flag, words } => write!(f, "publish {} by {flag}", joined(words)),
            Action::Consume { flag, words, .. } => write!(f, "await {flag}, then ld {}", joined(words)),
            Action::Relay { seen, flag } => write!(f, "relay {seen} by {flag}"),
        }
    }
}

/// The least value of a word that is not zero at the beginning. Programs write smaller values.
const FILLED: u32 = 1_000_000;

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
    /// The words that hold a value other than zero at the beginning, one bit each.
    pub filled: u32,
}

impl Program {
    /// The value of a word at the beginning.
    pub fn initial(&self, word: Word) -> u32 {
        if self.filled >> word.0 & 1 == 1 { FILLED + u32::from(word.0) } else { 0 }
    }

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

    fn one(word: u8) -> Words {
        Words::one(Word(word))
    }

    #[test]
    fn a_program_is_printed_wavefront_by_wavefront() {
        let peek = Access { does: Does::Load { known: None }, order: Order::Relaxed, ..Access::load(one(4)) };
        let actions = vec![
            vec![Action::Publish { flag: Word(2), words: vec![Words::whole(0)] }, Action::Plain(peek)],
            vec![Action::Consume { flag: Word(2), by_atomics: false, words: vec![one(0), one(1)] }],
        ];
        let slots = vec![WaveSlot { cache: 0, slot: 0 }, WaveSlot { cache: 1, slot: 0 }];
        let scopes = Scopes { widest: Scope::Gpu, narrow: Vec::new() };
        let phases = vec![Phase { actions, end: Boundary::Kernel }];
        let program = Program { kind: Kind::DataRaceFree, scopes, slots, phases, filled: 0 };
        let lines = ["L1.0.w0: publish a0+a1 by b0; peek.rlx.cta c0", "L1.1.w0: await b0, then ld a0, a1"];
        assert_eq!(program.lines(), lines);
        assert_eq!(program.operations(), 6);
    }

    #[test]
    fn a_load_that_is_narrowed_to_a_word_that_it_may_not_know_is_a_peek() {
        let mut load = Access { does: Does::Load { known: Some(one(1)) }, ..Access::load(Words::whole(0)) };
        assert_eq!(load.to_string(), "ld a0+a1 for a1");
        load.narrow(Word(0));
        assert_eq!(load.to_string(), "peek a0");
    }
}
