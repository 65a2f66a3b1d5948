//! A private cache and its translation unit, for tests. The test takes the part of the rest of the machine.

use crate::access::{AtomicOp, Completion, CoreOp, CoreRequest, Order, Scope, Txn};
use crate::address::{AgentId, LineAddr, Role, Topology};
use crate::cache::Replacement;
use crate::controller::{Controller, Input, LineView, Outbox, Outcome};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::parameter::Parameters;
use crate::protocols::spandex::messages::TRANSLATED;
use crate::read_only::ReadOnlyLines;
use crate::registry::{BuildConfig, CacheShape, DirectoryShape, Structure};

/// The number of words of a line in these tests.
pub const WORDS: usize = 4;
/// The line that most tests are about.
pub const X: LineAddr = LineAddr(0);
/// Another line, which maps to the same set.
pub const Y: LineAddr = LineAddr(1);

/// A machine of two devices and a bank.
pub fn topology() -> Topology {
    Structure::Translated.complete(Topology::one_gpu(2, 1))
}

/// Caches of one line, with two wavefronts.
pub fn config() -> BuildConfig {
    let shape = CacheShape { sets: 1, ways: 1, mshrs: 4, replacement: Replacement::Lru };
    BuildConfig {
        topology: topology(),
        l1: shape,
        l2: shape,
        l3: shape,
        directory: DirectoryShape::SMALLEST,
        page_lines: 1,
        waves: 2,
        buffer_wave: None,
        fences: true,
        read_only: ReadOnlyLines::NONE,
        parameters: Parameters::explored(&[]),
        fault: None,
    }
}

/// A weak load of words.
pub fn load(txn: u32, line: LineAddr, words: u32) -> CoreRequest<WORDS> {
    CoreRequest {
        op: CoreOp::Load,
        order: Order::Weak,
        scope: Scope::System,
        line,
        mask: ByteMask::of_words(words),
        data: LineData::default(),
        wave: 0,
        txn: Txn::Operation(txn),
    }
}

/// A weak store of a value to words.
pub fn store(txn: u32, line: LineAddr, words: u32, value: u32) -> CoreRequest<WORDS> {
    CoreRequest { op: CoreOp::Store, data: LineData([value; WORDS]), ..load(txn, line, words) }
}

/// A relaxed addition to words.
pub fn add(txn: u32, line: LineAddr, words: u32, value: u32) -> CoreRequest<WORDS> {
    let op = CoreOp::Atomic(AtomicOp::Add);
    CoreRequest { op, order: Order::Relaxed, ..store(txn, line, words, value) }
}

/// A fence of some order.
pub fn fence(txn: u32, order: Order) -> CoreRequest<WORDS> {
    CoreRequest { op: CoreOp::Fence, order, ..load(txn, X, 0) }
}

/// A copy of `request` that the other wavefront issues.
pub fn by_other_wave(request: CoreRequest<WORDS>) -> CoreRequest<WORDS> {
    CoreRequest { wave: 1, ..request }
}

/// A cache and its unit, and the messages that they have sent to the rest of the machine.
pub struct Pair {
    cache: Box<dyn Controller<WORDS>>,
    unit: Box<dyn Controller<WORDS>>,
    /// Messages to the network, oldest first.
    pub sent: Vec<Message<WORDS>>,
    completions: Vec<Completion<WORDS>>,
}

impl Pair {
    /// A pair with nothing sent, as the first device of the machine.
    pub fn new(cache: Box<dyn Controller<WORDS>>, unit: Box<dyn Controller<WORDS>>) -> Pair {
        Pair { cache, unit, sent: Vec::new(), completions: Vec::new() }
    }

    fn step(&mut self, to: AgentId, input: &Input<'_, WORDS>) -> Outcome {
        let mut out = Outbox::default();
        let is_cache = topology().role(to).0 == Role::L1;
        let controller = if is_cache { &mut self.cache } else { &mut self.unit };
        let outcome = controller.step(input, &mut out).unwrap_or_else(|hole| panic!("{hole}"));
        self.completions.append(&mut out.completions);
        if outcome != Outcome::Done {
            assert!(out.messages.is_empty(), "what is not taken changes nothing");
        }
        for message in out.messages {
            if message.dst == topology().l1(0) || message.dst == topology().tu(0) {
                assert_eq!(self.step(message.dst, &Input::Message(&message)), Outcome::Done);
            } else {
                self.sent.push(message);
            }
        }
        outcome
    }

    /// Gives the cache an operation.
    pub fn issue(&mut self, request: CoreRequest<WORDS>) -> Outcome {
        self.step(topology().l1(0), &Input::Core(&request))
    }

    /// Takes a line out of the cache.
    pub fn evict(&mut self, line: LineAddr) -> Outcome {
        self.step(topology().l1(0), &Input::Evict(line))
    }

    /// Delivers a message that answers `request` or forwards it from the other device. Its words all have the same
    /// value.
    pub fn deliver(&mut self, kind: MsgKind, words: u32, value: u32, request: &Message<WORDS>) -> Outcome {
        let (me, other, llc) = (topology().tu(0), topology().tu(1), topology().l2(0));
        let message = Message {
            txn: request.txn,
            wave: request.wave,
            origin: other,
            mask: ByteMask::of_words(words),
            data: LineData([value; WORDS]),
            ..Message::control(kind, request.line, llc, me)
        };
        self.step(me, &Input::Message(&message))
    }

    /// Forwards a request of the other device.
    pub fn forward(&mut self, kind: MsgKind, line: LineAddr, words: u32) -> Outcome {
        let request =
            Message { txn: Txn::Operation(77), ..Message::control(kind, line, topology().tu(1), topology().l2(0)) };
        self.deliver(kind, words, 0, &request)
    }

    /// Takes the only message sent since the last call. It must be of this kind and for these words.
    pub fn expect(&mut self, kind: MsgKind, words: u32) -> Message<WORDS> {
        let sent: Vec<String> = self.sent.iter().map(name).collect();
        assert_eq!(sent, [format!("{} {words:04b}", TRANSLATED[usize::from(kind.0)].name)]);
        self.sent.remove(0)
    }

    /// Descriptions of the messages sent since the last call.
    pub fn names(&mut self) -> Vec<String> {
        std::mem::take(&mut self.sent).iter().map(name).collect()
    }

    /// The operations that have ended since the last call.
    pub fn ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.completions).iter().filter_map(|completion| completion.txn.operation()).collect()
    }

    /// The value of a word that operation `txn` returned. It must be the only operation that has ended since the last
    /// call.
    pub fn value(&mut self, txn: u32, word: usize) -> u32 {
        let completions = std::mem::take(&mut self.completions);
        assert_eq!(completions.iter().filter_map(|completion| completion.txn.operation()).collect::<Vec<_>>(), [txn]);
        completions[0].data.0[word]
    }

    /// The cache's copy of a line.
    pub fn view(&self, line: LineAddr) -> LineView<WORDS> {
        self.cache.view(line, 0)
    }

    /// The state of a line in the cache.
    pub fn state(&self, line: LineAddr) -> &'static str {
        self.cache.vocabulary().states[usize::from(self.view(line).state)].name
    }

    /// Whether nothing is outstanding in the cache and the unit.
    pub fn is_quiescent(&self) -> bool {
        self.cache.quiescent() && self.unit.quiescent()
    }
}

fn name(message: &Message<WORDS>) -> String {
    let words = message.mask.words().fold(0, |words, word| words | 1u32 << word);
    format!("{} {words:04b}", TRANSLATED[usize::from(message.kind.0)].name)
}
