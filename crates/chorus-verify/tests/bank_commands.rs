//! Does one bank do what a command processor tells it: write back, or empty itself?

use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use chorus_protocol::address::{LineAddr, Role, Topology};
use chorus_protocol::cache::Replacement;
use chorus_protocol::controller::{Controller, Input, Outbox, Outcome};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::{Message, MsgKind, memory};
use chorus_protocol::parameter::Parameters;
use chorus_protocol::protocols::scoped::route::Station;
use chorus_protocol::read_only::ReadOnlyLines;
use chorus_protocol::registry::{BuildConfig, CacheShape, Commands, DirectoryShape, Protocol, find};

/// Two chiplets; lines below this one lie in the memory of the first.
const FIRST_REMOTE_LINE: u64 = 1 << 32;
const TOPOLOGY: Topology = Topology { gpms: 2, interleave: 64, ..Topology::one_gpu(2, 2) };
const PAGE_LINES: u32 = 4;

/// The bank of the first chiplet.
struct Bank {
    protocol: &'static dyn Protocol,
    controller: Box<dyn Controller<2>>,
}

/// The messages of a step, by name and line, and the number of operations that it ended.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    sent: Vec<(&'static str, u64)>,
    done: usize,
}

impl Bank {
    fn new(name: &str, parameters: &[(&str, u64)], sets: u32) -> Bank {
        let protocol = find(name).unwrap();
        let mut values = Parameters::defaults(protocol.parameters());
        for (key, value) in parameters {
            values.set(key, *value);
        }
        let cache = CacheShape { sets, ways: 4, mshrs: 4, replacement: Replacement::Lru };
        let config = BuildConfig {
            topology: TOPOLOGY,
            l1: cache,
            l2: cache,
            l3: cache,
            directory: DirectoryShape { ways: 8, ..DirectoryShape::SMALLEST },
            page_lines: PAGE_LINES,
            waves: 1,
            buffer_wave: None,
            fences: true,
            read_only: ReadOnlyLines::NONE,
            parameters: values,
            fault: None,
        };
        Bank { protocol, controller: protocol.build(Role::L2, 0, &config).unwrap() }
    }

    fn give(&mut self, input: &Input<'_, 2>) -> Step {
        let mut out = Outbox::default();
        assert_eq!(self.controller.step(input, &mut out), Ok(Outcome::Done));
        let name = |message: &Message<2>| self.protocol.messages()[usize::from(message.kind.0)].name;
        let sent = out.messages.iter().map(|message| (name(message), message.line.0)).collect();
        Step { sent, done: out.completions.len() }
    }

    fn kind(&self, name: &str) -> MsgKind {
        MsgKind(self.protocol.messages().iter().position(|spec| spec.name == name).unwrap() as u8)
    }

    /// A request of the private cache beside the bank.
    fn request(&mut self, name: &str, line: u64) -> Step {
        let message = Message::control(self.kind(name), LineAddr(line), TOPOLOGY.l1(0), TOPOLOGY.l2(0));
        let message = Message { mask: ByteMask::full::<2>(), origin: TOPOLOGY.l1(0), ..message };
        self.give(&Input::Message(&message))
    }

    fn store(&mut self, line: u64) -> Step {
        self.request("ST", line)
    }

    fn load(&mut self, line: u64) -> Step {
        self.request("LD", line)
    }

    /// Memory answers what the bank asked it for.
    fn memory_answers(&mut self, line: u64) -> Step {
        let fetch = Message::control(memory::FETCH, LineAddr(line), TOPOLOGY.l2(0), TOPOLOGY.memory(0));
        // The name under which a bank asks for a line of its own memory.
        let fetch = Message { txn: Txn::Bank(Station::Home as u8), origin: TOPOLOGY.l1(0), ..fetch };
        self.give(&Input::Message(&fetch.reply_line(memory::MEM_DATA, &LineData([7, 7]))))
    }

    fn command(&mut self, op: CoreOp, page: Option<u64>) -> Step {
        let order = if op == CoreOp::KernelEnd { Order::Release } else { Order::Acquire };
        let mask = if page.is_some() { ByteMask::full::<2>() } else { ByteMask::EMPTY };
        let line = LineAddr(page.unwrap_or(0));
        let data = LineData::default();
        let request =
            CoreRequest { op, order, scope: Scope::System, line, mask, data, wave: 0, txn: Txn::Operation(9) };
        self.give(&Input::Core(&request))
    }

    fn tally(&self, key: &str) -> u64 {
        let index = self.protocol.tallies().iter().position(|spec| spec.key == key).unwrap();
        self.controller.tallies()[index].get()
    }
}

fn done(sent: &[(&'static str, u64)]) -> Step {
    Step { sent: sent.to_vec(), done: 1 }
}

#[test]
fn a_bank_that_writes_back_keeps_clean_copies() {
    let mut bank = Bank::new("cpelide", &[], 1);
    assert_eq!(bank.store(5), Step { sent: vec![], done: 0 });
    assert_eq!(bank.command(CoreOp::KernelEnd, None), done(&[("WB", 5)]));
    assert_eq!(bank.command(CoreOp::KernelEnd, None), done(&[]));
    assert_eq!(bank.load(5).sent, [("DATA", 5)]);
    assert_eq!(bank.tally("written_back_by_command"), 1);
}

#[test]
fn a_bank_that_is_emptied_writes_back_first() {
    let mut bank = Bank::new("cpelide", &[], 1);
    bank.store(5);
    assert_eq!(bank.command(CoreOp::KernelBegin, None), done(&[("WB", 5)]));
    assert_eq!(bank.load(5).sent, [("FETCH", 5)]);
    assert_eq!(bank.tally("lines_by_command"), 1);
}

#[test]
fn what_is_on_its_way_when_a_bank_is_emptied_is_not_kept() {
    let mut bank = Bank::new("cpelide", &[], 1);
    assert_eq!(bank.load(5).sent, [("FETCH", 5)]);
    assert_eq!(bank.command(CoreOp::KernelBegin, None), done(&[]));
    assert_eq!(bank.memory_answers(5).sent, [("DATA", 5)]);
    assert_eq!(bank.load(5).sent, [("FETCH", 5)]);
}

#[test]
fn a_command_for_a_page_leaves_other_pages_alone() {
    let mut bank = Bank::new("cpelide-range", &[], 1);
    [3, 4, 7, 8].into_iter().for_each(|line| drop(bank.store(line)));
    assert_eq!(bank.command(CoreOp::KernelBegin, Some(4)), done(&[("WB", 4), ("WB", 7)]));
    let fetched = [3, 4, 7, 8].map(|line| bank.load(line).sent[0].0);
    assert_eq!(fetched, ["DATA", "FETCH", "FETCH", "DATA"]);
}

#[test]
fn a_bank_writes_thousands_of_lines_back_at_once() {
    let mut bank = Bank::new("viper-chiplet", &[], 4096);
    (0..16384).for_each(|line| drop(bank.store(line)));
    let Step { sent, done } = bank.command(CoreOp::KernelEnd, None);
    assert_eq!((sent.len(), done), (16384, 1));
}

#[test]
fn remote_stores_leave_nothing_behind_with_forwarding() {
    let mut bank = Bank::new("cpelide", &[], 1);
    assert_eq!(bank.store(FIRST_REMOTE_LINE).sent, [("ST", FIRST_REMOTE_LINE)]);
    assert_eq!(bank.load(FIRST_REMOTE_LINE).sent, [("LD", FIRST_REMOTE_LINE)]);
    assert_eq!(bank.command(CoreOp::KernelBegin, None), done(&[]));
    assert_eq!(bank.tally("lines_by_command"), 0);
}

#[test]
fn a_command_waits_until_another_home_has_what_was_dirty() {
    let mut bank = Bank::new("nhcc-wb", &[("elide", 1)], 1);
    assert_eq!(bank.store(FIRST_REMOTE_LINE).sent, []);
    let step = bank.command(CoreOp::KernelEnd, None);
    assert_eq!(step, Step { sent: vec![("ST", FIRST_REMOTE_LINE), ("REL", 0)], done: 0 });
}

#[test]
fn a_parameter_switches_commands_off() {
    let commands = |name: &str, value: u64| {
        let protocol = find(name).unwrap();
        let mut parameters = Parameters::defaults(protocol.parameters());
        parameters.set(protocol.parameters()[0].key, value);
        protocol.commands(&parameters)
    };
    assert_eq!([0, 1].map(|value| commands("viper-chiplet", value)), [Commands::None, Commands::EveryKernel]);
    assert_eq!([0, 1].map(|value| commands("nhcc-wb", value)), [Commands::None, Commands::Table]);
    assert_eq!(["cpelide", "cpelide-range"].map(|name| commands(name, 0)), [Commands::Table, Commands::TableOfRanges]);
}
