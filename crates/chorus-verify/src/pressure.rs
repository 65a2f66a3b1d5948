//! Configurations that fill the networks. Their programs consist of stores and loads that do not wait for each other,
//! on lines that the other private cache holds, in banks that are large enough for all of them or for too few.
//!
//! Threads choose nothing in them: each configuration runs one program in every order, so that many messages are in
//! flight in few states.

use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_protocol::address::Topology;
use chorus_protocol::registry::{Protocol, Reach};

use crate::check::CheckConfig;
use crate::config::{Evictions, Loads, MachineConfig, Start, one_set};
use crate::heterogeneous;
use crate::program::{Op, Step, lines_of};
use crate::words::Words;

fn at(line: u8) -> Words {
    Words::one(line, 0)
}

fn load(line: u8) -> Op {
    Op::Load { at: at(line), order: Order::Relaxed, scope: Scope::Gpu }
}

fn store(line: u8, value: u32) -> Op {
    Op::Store { at: at(line), values: at(line).values(value), order: Order::Relaxed, scope: Scope::Gpu }
}

fn exchange(line: u8, operand: u32) -> Op {
    let (order, scope) = (Order::Relaxed, Scope::Gpu);
    Op::Atomic { at: at(line), op: AtomicOp::Exchange, operands: at(line).values(operand), order, scope, returns: true }
}

/// One thread beside each private cache, with room for every line everywhere. Lines leave only when they must.
fn machine(programs: &[&[Op]]) -> MachineConfig {
    let caches: Vec<u16> = (0..programs.len() as u16).collect();
    let lines = lines_of(programs.iter().copied().flatten());
    let steps = programs.iter().map(|ops| ops.iter().copied().map(Step::fixed).collect());
    let config = MachineConfig::for_steps(&caches, lines, steps);
    MachineConfig {
        topology: Topology { l2s: 1, ..config.topology },
        l2: config.l1,
        loads: Loads::NonBlocking,
        evictions: Evictions::WhenNeeded,
        ..config
    }
}

/// The configurations in which a protocol is put under pressure, cheapest first.
pub fn configurations_of(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    if heterogeneous::applies(protocol) {
        return heterogeneous::under_pressure();
    }
    match protocol.reach() {
        Reach::OneModule => configurations(),
        Reach::AnyMachine => [configurations(), configurations_of_modules()].concat(),
    }
}

/// The configurations for machines of several modules, in which banks ask each other.
fn configurations_of_modules() -> Vec<CheckConfig> {
    let config = |name, description, machine| CheckConfig { name, description, machine };
    let crossed = machine(&[&[load(1), load(3)], &[load(0), load(2)]]).on_modules([2, 1], 1, 0);
    let stores = machine(&[&[store(1, 1), store(1, 2)], &[store(0, 3), store(0, 4)]]).on_modules([2, 1], 1, 0);
    let fences = machine(&[&[store(1, 1), Op::fence(Scope::System)], &[store(0, 2), Op::fence(Scope::System)]]);
    let fences = fences.on_modules([2, 1], 1, 0);
    let small = MachineConfig { l2: one_set(1, 1), start: Start::Cold, ..crossed.clone() };
    vec![
        config("crossed-banks", "2 GPUs load 2 lines each of the other's memory", crossed),
        config("crossed-places", "the same with room for one line in each bank", small),
        config("crossed-stores", "2 GPUs write a line of the other's memory twice, which both hold", stores),
        config("crossed-fences", "2 GPUs write a line of the other's memory and release it", fences),
    ]
}

/// The configurations in which protocols are put under pressure within one module, cheapest first.
pub fn configurations() -> Vec<CheckConfig> {
    let config = |name, description, machine| CheckConfig { name, description, machine };
    let crossed = machine(&[&[load(0), load(1)], &[load(1), load(0)]]);
    let same_line = machine(&[&[store(0, 1), store(0, 2)], &[store(0, 3), exchange(0, 4)]]);
    let stores = machine(&[&[store(0, 1), store(1, 2)], &[store(2, 3), store(3, 4)]]);
    let many_banks = MachineConfig { topology: Topology::one_gpu(2, 4), ..stores.clone() };
    let small_bank = MachineConfig {
        l2: one_set(1, 1),
        start: Start::Cold,
        ..machine(&[&[load(0), store(1, 1), load(1)], &[load(1), store(0, 2), load(0)]])
    };
    let narrow = machine(&[&[store(0, 1), store(1, 2), load(0)], &[store(1, 3), store(0, 4), load(1)]]);
    let small_caches = MachineConfig { l1: one_set(1, 2), start: Start::Cold, ..narrow };
    vec![
        config("crossed-loads", "2 caches load 2 lines in opposite orders", crossed),
        config("same-line", "2 caches write the same line twice", same_line),
        config("stores", "2 caches write 2 lines each, which the other holds", stores),
        config("stores-banks", "the same, each line in a bank of its own", many_banks),
        config("small-bank", "2 caches, 2 lines, room for one of them in the bank", small_bank),
        config("small-caches", "2 caches with room for one line write and read 2", small_caches),
    ]
}
