//! Tests of a bank of GPU-VIni, step by step: lines that leave the L2, and entries that leave the directory.

use super::GpuVini;
use crate::address::{AgentId, LineAddr, Role, Topology};
use crate::cache::Replacement;
use crate::controller::{Controller, Input, Outbox, Outcome};
use crate::line::ByteMask;
use crate::message::{Message, MsgKind, memory};
use crate::parameter::Parameters;
use crate::protocols::write_through::{GETS, GETX, INV_ACK, RCL_ACK};
use crate::read_only::ReadOnlyLines;
use crate::registry::{Build, BuildConfig, CacheShape, DirectoryShape, Protocol};

const TOPOLOGY: Topology = Topology::one_gpu(2, 1);
const X: LineAddr = LineAddr(0);
const Y: LineAddr = LineAddr(1);

/// A bank with room for two lines.
struct Bank(Box<dyn Controller<2>>);

impl Bank {
    /// A bank with this number of entries in its directory.
    fn new(entries: u64) -> Bank {
        let mut parameters = Parameters::explored(GpuVini.parameters());
        parameters.set("directory.associativity", entries);
        let shape = CacheShape { sets: 1, ways: 2, mshrs: 4, replacement: Replacement::Lru };
        let config = BuildConfig {
            topology: TOPOLOGY,
            l1: shape,
            l2: shape,
            l3: shape,
            directory: DirectoryShape::SMALLEST,
            page_lines: 1,
            waves: 1,
            buffer_wave: None,
            fences: true,
            read_only: ReadOnlyLines::NONE,
            parameters,
            fault: None,
        };
        Bank(GpuVini.build(Role::L2, 0, &config).unwrap())
    }

    fn step(&mut self, input: &Input<'_, 2>) -> Vec<String> {
        let mut out = Outbox::default();
        assert_eq!(self.0.step(input, &mut out), Ok(Outcome::Done));
        let name = |message: &Message<2>| {
            let kind = GpuVini.messages()[usize::from(message.kind.0)].name;
            format!("{kind} {} to {}", message.line.0, TOPOLOGY.name(message.dst))
        };
        out.messages.iter().map(name).collect()
    }

    /// Delivers a message and returns descriptions of the messages sent.
    fn deliver(&mut self, kind: MsgKind, line: LineAddr, src: AgentId) -> Vec<String> {
        let message = Message::control(kind, line, src, TOPOLOGY.l2(0));
        self.step(&Input::Message(&message))
    }

    fn l1_sends(&mut self, kind: MsgKind, line: LineAddr, l1: u16) -> Vec<String> {
        self.deliver(kind, line, TOPOLOGY.l1(l1))
    }

    fn memory_answers(&mut self, line: LineAddr) -> Vec<String> {
        self.deliver(memory::MEM_DATA, line, TOPOLOGY.memory(0))
    }

    /// Lets a private cache read a line from memory.
    fn load(&mut self, line: LineAddr, l1: u16) {
        self.l1_sends(GETS, line, l1);
        self.memory_answers(line);
    }

    fn state(&self, line: LineAddr) -> &'static str {
        self.0.vocabulary().states[usize::from(self.0.view(line, 0).state)].name
    }
}

#[test]
fn data_leaves_without_a_recall_and_its_entry_stays() {
    let mut bank = Bank::new(1);
    bank.load(X, 0);
    assert!(bank.step(&Input::Evict(X)).is_empty());
    assert_eq!(bank.state(X), "C");
    assert_eq!(bank.l1_sends(GETX, X, 1), ["INV 0 to L1.0", "FETCH 0 to Memory.0"]);
}

#[test]
fn an_entry_leaves_with_a_recall_and_its_data_stays() {
    let mut bank = Bank::new(1);
    bank.load(X, 0);
    assert_eq!(bank.l1_sends(GETS, Y, 1), ["RCL 0 to L1.0", "FETCH 1 to Memory.0"]);
    assert_eq!((bank.state(X), bank.0.view(X, 0).readable), ("S_V", ByteMask::full::<2>()));
    bank.l1_sends(RCL_ACK, X, 0);
    assert_eq!(bank.state(X), "V");
}

#[test]
fn an_entry_that_records_nobody_leaves_without_a_recall() {
    let mut bank = Bank::new(1);
    bank.load(X, 0);
    bank.l1_sends(GETX, X, 1);
    bank.l1_sends(INV_ACK, X, 0);
    assert_eq!(bank.state(X), "U");
    assert_eq!(bank.l1_sends(GETS, Y, 1), ["FETCH 1 to Memory.0"]);
    assert_eq!(bank.state(X), "V");
}

#[test]
fn a_larger_directory_recalls_nobody() {
    let mut bank = Bank::new(2);
    bank.load(X, 0);
    assert_eq!(bank.l1_sends(GETS, Y, 1), ["FETCH 1 to Memory.0"]);
}

#[test]
fn data_without_a_place_in_the_directory_is_sent_and_recalled_right_behind() {
    let mut bank = Bank::new(1);
    bank.load(X, 0);
    bank.l1_sends(GETX, X, 1);
    assert_eq!((bank.state(X), bank.l1_sends(GETS, Y, 1)), ("S_M", vec!["FETCH 1 to Memory.0".to_owned()]));
    assert_eq!(bank.memory_answers(Y), ["DATA 1 to L1.1", "RCL 1 to L1.1"]);
    bank.l1_sends(RCL_ACK, Y, 1);
    assert_eq!(bank.state(Y), "V");
}
