//! Configurations of several GPUs and modules, for protocols that reach further than one module.
//!
//! Threads choose among accesses of every strength and fences of every scope. There is one private cache, one bank and
//! one directory entry in each module unless a configuration says otherwise. Lines and entries of banks may leave at
//! any time, and private copies where a configuration says so. Line 0 lies in the memory of module 0. On machines of
//! two GPUs with two modules each, line 2 lies in the memory of the other GPU, and line 0 has its home on that GPU in
//! module 2.

use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_protocol::address::Role;
use chorus_protocol::registry::{Build, DirectoryShape, MemoryModel, Promise, Protocol};

use crate::check::CheckConfig;
use crate::config::{Evictions, Loads, MachineConfig, Start, one_set};
use crate::program::{Op, Step, WORDS, lines_of};
use crate::words::Words;

const X: Words = Words::one(0, 0);
const X1: Words = Words::one(0, 1);
const BOTH: Words = Words::all(0);
const Y: Words = Words::one(1, 0);
const Z: Words = Words::one(2, 0);

/// The number of GPUs, and of modules of each.
type Modules = [u16; 2];

const ONE_BY_TWO: Modules = [1, 2];
const ONE_BY_THREE: Modules = [1, 3];
const TWO_BY_ONE: Modules = [2, 1];
const TWO_BY_TWO: Modules = [2, 2];

/// An operation that a thread may choose, but for the value that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    WeakLoad(Words),
    WeakStore(Words),
    Load(Words, Scope),
    Store(Words, Scope),
    Exchange(Words, Scope),
    Fence(Scope),
    /// A load of system scope that acquires.
    Acquire(Words),
    /// A store of system scope that releases.
    Release(Words),
    /// A kernel ends and the next begins.
    NextKernel,
    /// All threads wait until nothing is in flight.
    Settle,
}

use Choice::{Acquire, Exchange, Fence, Load, NextKernel, Release, Settle, Store, WeakLoad, WeakStore};
use Scope::{Gpu, System};

impl Choice {
    fn op(self, value: u32) -> Option<Op> {
        let (order, weak, work_group) = (Order::Relaxed, Order::Weak, Scope::WorkGroup);
        Some(match self {
            WeakLoad(at) => Op::Load { at, order: weak, scope: work_group },
            WeakStore(at) => Op::Store { at, values: at.values(value), order: weak, scope: work_group },
            Load(at, scope) => Op::Load { at, order, scope },
            Store(at, scope) => Op::Store { at, values: at.values(value), order, scope },
            Exchange(at, scope) => {
                Op::Atomic { at, op: AtomicOp::Exchange, operands: at.values(value), order, scope, returns: true }
            }
            Fence(scope) => Op::fence(scope),
            Acquire(at) => Op::Load { at, order: Order::Acquire, scope: System },
            Release(at) => Op::Store { at, values: at.values(value), order: Order::Release, scope: System },
            Settle => Op::Settle,
            NextKernel => return None,
        })
    }
}

/// Weak accesses of both words of a line, one strong access of each kind to its first word, and fences. [`STRONG`] has
/// the other scopes.
const ALL: &[Choice] = &[
    WeakLoad(X),
    WeakLoad(X1),
    WeakStore(X),
    WeakStore(X1),
    Load(X, System),
    Store(X, Gpu),
    Exchange(X, System),
    Fence(Gpu),
    Fence(System),
];
const WEAK: &[Choice] = &[WeakLoad(X), WeakStore(X)];
const WEAK_WORDS: &[Choice] = &[WeakLoad(X), WeakLoad(X1), WeakStore(X), WeakStore(X1)];
/// Accesses of both words of a line at once, and of one.
const TOGETHER: &[Choice] = &[WeakLoad(BOTH), WeakStore(BOTH), WeakStore(X), Exchange(BOTH, System)];
const WEAK_LINES: &[Choice] = &[WeakLoad(X), WeakLoad(Y), WeakStore(X), WeakStore(Y)];
const WEAK_HOMES: &[Choice] = &[WeakLoad(X), WeakLoad(Z), WeakStore(X), WeakStore(Z)];
const STRONG: &[Choice] =
    &[Load(X, Gpu), Load(X, System), Store(X, Gpu), Store(X, System), Exchange(X, Gpu), Exchange(X, System)];
const FENCES: &[Choice] = &[Fence(Gpu), Fence(System)];
const RAISE: &[Choice] = &[Store(Z, Gpu), Store(Z, System)];
const LOOK: &[Choice] = &[Load(Z, Gpu), Load(Z, System)];
const WIDE: &[Choice] = &[Load(X, System)];
const KERNEL: &[Choice] = &[NextKernel];
const SETTLE: &[Choice] = &[Settle];
const BESIDE: &[Choice] =
    &[WeakLoad(X), WeakLoad(BOTH), WeakStore(X), Load(X, System), Exchange(X, System), Fence(Gpu)];

/// A thread: the private cache beside it, numbered as its module is, and the operations that it may choose from in each
/// place.
type Thread<'a> = (u16, &'a [&'a [Choice]]);

/// The steps of a thread that chooses among these operations in each place. Where one operation acquires or releases,
/// all choices of the place do. Every value written is different, so that a value read names the write that it came
/// from.
pub(crate) fn steps(thread: usize, places: &[&[Choice]]) -> Vec<Step> {
    let step = |(place, choices): (usize, &&[Choice])| {
        let value = (1 + thread * 4 + place) as u32;
        let alternatives: Vec<Op> = choices.iter().filter_map(|choice| choice.op(value)).collect();
        let Some(first) = alternatives.first() else { return Step::next_kernel().to_vec() };
        let [before, after] =
            Step::implied_fences(first).map(|fence| fence.map(|op| Step { alternatives: vec![op], implied: true }));
        [before, Some(Step { alternatives, implied: false }), after].into_iter().flatten().collect()
    };
    places.iter().enumerate().flat_map(step).collect()
}

/// Threads on a machine whose caches have room for one line.
fn machine(modules: Modules, threads: &[Thread<'_>]) -> MachineConfig {
    let caches: Vec<u16> = threads.iter().map(|(cache, _)| *cache).collect();
    let steps: Vec<Vec<Step>> = threads.iter().enumerate().map(|(index, (_, places))| steps(index, places)).collect();
    let lines = lines_of(steps.iter().flatten().flat_map(|step| &step.alternatives));
    let config = MachineConfig::for_choices(&caches, lines, steps);
    MachineConfig { evictions: Evictions::SharedAnytime, ..config }.on_modules(modules, 1, 0)
}

/// The machine with room for every line.
fn roomy(config: MachineConfig) -> MachineConfig {
    MachineConfig { l1: one_set(2, 2), l2: one_set(2, 2), ..config }
}

/// The machine with directories whose only entry covers four lines, which lie in the memory of one module.
fn four_line_entry(config: MachineConfig) -> MachineConfig {
    let directory = DirectoryShape { lines_per_entry: 4, range_lines: 4, ..DirectoryShape::SMALLEST };
    let modules = [config.topology.gpus, config.topology.gpms];
    MachineConfig { directory, ..roomy(config) }.on_modules(modules, 1, 2)
}

/// A message whose sender and receiver choose the scopes of their fences and of the flag. Banks lose lines and entries
/// only when they must.
fn message(modules: Modules, writer: u16, reader: u16) -> MachineConfig {
    let writer: Thread<'_> = (writer, &[&[WeakStore(X)], FENCES, RAISE]);
    let reader: Thread<'_> = (reader, &[LOOK, FENCES, &[WeakLoad(X)]]);
    MachineConfig { evictions: Evictions::WhenNeeded, ..roomy(machine(modules, &[writer, reader])) }
}

/// A message between two modules of two banks each. The line and the flag lie in one module, in different banks.
fn message_past_banks() -> MachineConfig {
    let writer: Thread<'_> = (1, &[&[WeakStore(X)], FENCES, &[Store(Y, System)]]);
    let reader: Thread<'_> = (0, &[&[Load(Y, System)], FENCES, &[WeakLoad(X)]]);
    let config = MachineConfig { evictions: Evictions::WhenNeeded, ..roomy(machine(ONE_BY_TWO, &[writer, reader])) };
    config.on_banks(ONE_BY_TWO, 1, 2, 1)
}

/// The configurations that take a moment each, for tests.
pub fn quick_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    [quick_of_one_gpu(), quick_of_two_gpus(protocol)].concat()
}

/// The configuration that asks whether writes are found once everything has settled. Where weak stores may stay in a
/// cache until they are released, threads make strong stores instead.
fn progress(protocol: &dyn Protocol) -> CheckConfig {
    let accesses: Thread<'_> = (1, &[WEAK, SETTLE, WIDE]);
    if protocol.promises().contains(&Promise::Progress) {
        return config(
            "progress-smoke",
            "2 GPUs of 2 modules, 1 word, a weak access each; when all is settled, wide loads find what was written",
            machine(TWO_BY_TWO, &[accesses, (3, accesses.1)]),
        );
    }
    let accesses: Thread<'_> = (1, &[&[WeakLoad(X), Store(X, Gpu), Store(X, System)], SETTLE, WIDE]);
    config(
        "progress-smoke",
        "2 GPUs of 2 modules, 1 word, a weak load or a strong store each; when all is settled, wide loads find what was written",
        machine(TWO_BY_TWO, &[accesses, (3, accesses.1)]),
    )
}

/// The configurations that a transition table is filled from besides the quick ones. Where private caches hold parts of
/// lines, threads beside one cache meet in more ways.
pub(crate) fn table_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    if !holds_parts(protocol) {
        return Vec::new();
    }
    let in_flight = machine(ONE_BY_TWO, &[(1, &[WEAK_WORDS, WEAK]), (1, &[BESIDE])]);
    let in_flight = MachineConfig { loads: Loads::NonBlocking, evictions: Evictions::WhenNeeded, ..in_flight };
    vec![config("table-beside", "for the transition table", in_flight)]
}

/// Whether private caches of a protocol hold parts of lines, in state P.
fn holds_parts(protocol: &dyn Protocol) -> bool {
    let build = machine(ONE_BY_TWO, &[(0, &[WEAK]), (1, &[WEAK])]).build_config(protocol, None);
    let cache = Build::<WORDS>::build(protocol, Role::L1, 0, &build);
    cache.is_some_and(|cache| cache.vocabulary().states.iter().any(|state| state.name == "P"))
}

fn quick_of_one_gpu() -> Vec<CheckConfig> {
    vec![
        config(
            "modules-smoke",
            "1 GPU of 2 modules, 1 line of 2 words, 1 operation each",
            machine(ONE_BY_TWO, &[(0, &[ALL]), (1, &[ALL])]),
        ),
        config(
            "words-smoke",
            "1 GPU of 2 modules, 1 line of 2 words, 2 weak accesses far from its home and 1 beside it",
            machine(ONE_BY_TWO, &[(1, &[WEAK_WORDS, WEAK_WORDS]), (0, &[WEAK_WORDS])]),
        ),
        config(
            "wide-smoke",
            "1 GPU of 2 modules, 2 accesses of both words of a line or of one far from its home, and 1 beside it",
            machine(ONE_BY_TWO, &[(1, &[TOGETHER, TOGETHER]), (0, &[TOGETHER])]),
        ),
        config(
            "entry-smoke",
            "1 GPU of 2 modules, 2 lines in one directory entry, 1 weak access each and a fence",
            four_line_entry(machine(ONE_BY_TWO, &[(0, &[WEAK_LINES, FENCES]), (1, &[WEAK_LINES])])),
        ),
        config(
            "write-back-smoke",
            "1 GPU of 2 modules, 1 word, weak accesses and a fence, with stores that stay where they may",
            MachineConfig {
                parameters: vec![("write_back", 2), ("downgrades", 1)],
                ..machine(ONE_BY_TWO, &[(1, &[WEAK, FENCES]), (0, &[WEAK])])
            },
        ),
    ]
}

fn quick_of_two_gpus(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    vec![
        config(
            "gpus-smoke",
            "2 GPUs of 2 modules, 1 word, a weak access and a fence beside its home, a weak access far from it",
            machine(TWO_BY_TWO, &[(0, &[WEAK, FENCES]), (3, &[WEAK])]),
        ),
        config(
            "beside-smoke",
            "2 GPUs of 1 module, 1 word, 2 threads beside one private cache and 1 beside its home, 1 weak access each",
            machine(TWO_BY_ONE, &[(1, &[WEAK]), (1, &[WEAK]), (0, &[WEAK])]),
        ),
        progress(protocol),
        config(
            "kernels-smoke",
            "2 GPUs of 1 module, 1 word, a weak access in a kernel and one in the next",
            machine(TWO_BY_ONE, &[(0, &[WEAK, KERNEL, WEAK]), (1, &[WEAK, KERNEL, WEAK])]),
        ),
    ]
}

/// The configurations of several modules that a protocol is checked in: those that take a moment, those of one GPU, and
/// those of two.
pub fn configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let mut configurations =
        [quick_configurations(protocol), of_one_gpu(), of_two_gpus(), of_two_gpus_in_full()].concat();
    // Only a scoped model can describe atomics that are atomic on one GPU alone.
    configurations.retain(|config| config.name != "strong" || protocol.model() == MemoryModel::Ptx);
    configurations
}

/// A configuration with a name and a description.
fn config(name: &'static str, description: &'static str, machine: MachineConfig) -> CheckConfig {
    CheckConfig { name, description, machine }
}

fn of_one_gpu() -> Vec<CheckConfig> {
    vec![
        config(
            "three-modules",
            "1 GPU of 3 modules, 1 word, 1 weak access each",
            machine(ONE_BY_THREE, &[(0, &[WEAK]), (1, &[WEAK]), (2, &[WEAK])]),
        ),
        config(
            "fences",
            "1 GPU of 2 modules, 1 word, weak accesses around a fence and before one",
            machine(ONE_BY_TWO, &[(1, &[WEAK, FENCES, WEAK]), (0, &[WEAK, FENCES])]),
        ),
        config(
            "modules",
            "1 GPU of 2 modules, 1 line of 2 words, 2 operations beside its home and 1 beside the other bank",
            machine(ONE_BY_TWO, &[(0, &[ALL, ALL]), (1, &[ALL])]),
        ),
        config(
            "private",
            "1 GPU of 2 modules, 1 line of 2 words, 2 and 1 weak accesses, while private copies leave too",
            MachineConfig {
                evictions: Evictions::Anytime,
                ..machine(ONE_BY_TWO, &[(0, &[WEAK_WORDS, WEAK_WORDS]), (1, &[WEAK_WORDS])])
            },
        ),
    ]
}

fn of_two_gpus() -> Vec<CheckConfig> {
    vec![
        config(
            "weak",
            "2 GPUs of 2 modules, 1 word, 2 and 1 weak accesses beside banks that are its home on no GPU",
            machine(TWO_BY_TWO, &[(1, &[WEAK, WEAK]), (3, &[WEAK])]),
        ),
        config(
            "beside",
            "2 GPUs of 1 module, 2 threads beside one private cache and 1 beside the home of a word, 2, 1 and 1 weak accesses",
            machine(TWO_BY_ONE, &[(1, &[WEAK, WEAK]), (1, &[WEAK]), (0, &[WEAK])]),
        ),
        config("message-modules", "a message from one module to the other of a GPU", message(TWO_BY_TWO, 0, 1)),
        config("message-gpus", "a message from one GPU to the other", message(TWO_BY_ONE, 0, 1)),
        config(
            "message-three-modules",
            "a message between two modules of a GPU, about a line of the third",
            message(ONE_BY_THREE, 1, 2),
        ),
        config("message-three-gpus", "a message between two GPUs, about a line of the third", message([3, 1], 1, 2)),
        config(
            "message-banks",
            "a message between two modules of two banks each, about lines of different banks",
            message_past_banks(),
        ),
        config(
            "three-beside",
            "2 GPUs of 1 module, 3 threads beside one private cache and 1 beside the home of a word, 1 weak access each",
            machine(TWO_BY_ONE, &[(1, &[WEAK]), (1, &[WEAK]), (1, &[WEAK]), (0, &[WEAK])]),
        ),
        config(
            "strong",
            "2 GPUs of 2 modules, 1 word, a strong access each beside banks that are its home on no GPU",
            machine(TWO_BY_TWO, &[(1, &[STRONG]), (3, &[STRONG])]),
        ),
        config(
            "kernels",
            "2 GPUs of 2 modules, 1 word, written in a kernel and read in the next, far from its homes; lines leave when they must",
            MachineConfig {
                evictions: Evictions::WhenNeeded,
                ..machine(TWO_BY_TWO, &[(1, &[WEAK, KERNEL]), (3, &[&[WeakLoad(X)], KERNEL, &[WeakLoad(X)]])])
            },
        ),
        config(
            "in-flight-loads",
            "2 GPUs of 1 module, 1 word, 2 and 2 weak accesses, with loads that do not block",
            MachineConfig {
                loads: Loads::NonBlocking,
                ..machine(TWO_BY_ONE, &[(0, &[WEAK, WEAK]), (1, &[WEAK, WEAK])])
            },
        ),
    ]
}

/// The configurations with the most states.
fn of_two_gpus_in_full() -> Vec<CheckConfig> {
    vec![
        config(
            "gpus-home",
            "2 GPUs of 2 modules, 1 line of 2 words, 1 operation beside its home and 1 far from it",
            machine(TWO_BY_TWO, &[(0, &[ALL]), (3, &[ALL])]),
        ),
        config(
            "one-gpu-of-two",
            "2 GPUs of 2 modules, 1 line of 2 words, 1 operation each on the GPU that it does not lie on",
            machine(TWO_BY_TWO, &[(2, &[ALL]), (3, &[ALL])]),
        ),
        config(
            "release",
            "2 GPUs of 2 modules, 1 word, a weak access and a fence beside a bank that is its home on no GPU, a weak access on the other GPU",
            machine(TWO_BY_TWO, &[(1, &[WEAK, FENCES]), (3, &[WEAK])]),
        ),
        config(
            "homes",
            "2 GPUs of 2 modules, from empty caches, 2 lines with homes on different GPUs, 2 and 1 weak accesses",
            MachineConfig {
                start: Start::Cold,
                ..machine(TWO_BY_TWO, &[(1, &[WEAK_HOMES, WEAK_HOMES]), (3, &[WEAK_HOMES])])
            },
        ),
        config(
            "gpus",
            "2 GPUs of 2 modules, 1 line of 2 words, 1 operation each beside banks that are its home on no GPU",
            machine(TWO_BY_TWO, &[(1, &[ALL]), (3, &[ALL])]),
        ),
    ]
}

/// A program on a machine of such modules that evicts only when it has to.
fn program_on(modules: Modules, name: &'static str, description: &'static str, threads: &[Thread<'_>]) -> CheckConfig {
    let machine = MachineConfig { evictions: Evictions::WhenNeeded, ..roomy(machine(modules, threads)) };
    CheckConfig { name, description, machine }
}

/// Programs made for faults of protocols that reach further than one module.
pub fn programs() -> Vec<CheckConfig> {
    [programs_of_one_kernel(), programs_of_two_kernels(), programs_in_flight()].concat()
}

/// Programs of threads that do not wait for their loads.
fn programs_in_flight() -> Vec<CheckConfig> {
    let program = program_on(
        TWO_BY_ONE,
        "store-behind-own-load",
        "a thread that does not wait for its loads loads, stores and loads a word",
        &[(1, &[&[WeakLoad(X)], &[WeakStore(X)], &[WeakLoad(X)]])],
    );
    let machine = MachineConfig { loads: Loads::NonBlocking, ..program.machine };
    vec![CheckConfig { machine, ..program }]
}

fn programs_of_two_kernels() -> Vec<CheckConfig> {
    vec![
        program_on(
            TWO_BY_ONE,
            "kernels-second-line",
            "a kernel reads a line that is not the first of its page, as another module writes it, and the next kernel reads it again",
            &[(0, &[&[WeakLoad(Y)], KERNEL, &[WeakLoad(Y)]]), (1, &[&[WeakStore(Y)], KERNEL])],
        ),
        program_on(
            TWO_BY_ONE,
            "kernels-remote-store",
            "a kernel writes a line far from its home, and the next kernel reads it there",
            &[(0, &[KERNEL, &[WeakLoad(X)]]), (1, &[&[WeakStore(X)], KERNEL])],
        ),
    ]
}

/// A thread that sends a message, and one that receives it.
const WRITER: &[&[Choice]] = &[&[WeakStore(X)], &[Release(Y)]];
const READER: &[&[Choice]] = &[&[Acquire(Y)], &[WeakLoad(X)]];

fn programs_of_one_kernel() -> Vec<CheckConfig> {
    let mut programs = programs_of_one_thread_per_module();
    programs.extend(programs_of_neighbours());
    programs
}

fn programs_of_one_thread_per_module() -> Vec<CheckConfig> {
    let on = program_on;
    let program = |name, description, threads: &[Thread<'_>]| on(TWO_BY_ONE, name, description, threads);
    vec![
        program(
            "other-word",
            "a thread writes both words of a line that it has a copy of, and loads the first that it wrote",
            &[(1, &[&[WeakStore(X1)], &[WeakStore(X)], &[WeakLoad(X1)]])],
        ),
        on(
            ONE_BY_THREE,
            "message-past-home",
            "a message between two modules, about a line that lies in the memory of a third",
            &[(1, WRITER), (2, READER)],
        ),
        on(
            TWO_BY_TWO,
            "message-past-gpu-home",
            "a message to a module that gets its lines from the home within its GPU",
            &[(0, WRITER), (3, READER)],
        ),
        program(
            "store-behind-refill",
            "a thread stores and loads while another beside it has a load on its way",
            &[(1, &[&[WeakStore(X)], &[WeakLoad(X)]]), (1, &[&[WeakLoad(X)]])],
        ),
        program(
            "atomic-before-load",
            "a thread loads what it has just exchanged, near to its home or far from it",
            &[(1, &[&[Exchange(X, Gpu), Exchange(X, System)], &[WeakLoad(X), Load(X, System)]])],
        ),
        program(
            "store-behind-atomic",
            "a store follows an exchange of its word, and both meet at the homes",
            &[(1, &[&[Exchange(X, Gpu)], &[WeakStore(X)], &[WeakLoad(X)]])],
        ),
        program(
            "two-atomics",
            "two GPUs exchange a word",
            &[(0, &[&[Exchange(X, System)]]), (1, &[&[Exchange(X, System)]])],
        ),
        program(
            "message",
            "a message from one GPU to the other, to a reader that has an old copy",
            &[(0, WRITER), (1, READER)],
        ),
        program("message-back", "a message from one GPU to another that its words lie on", &[(1, WRITER), (0, READER)]),
    ]
}

/// Programs in which a thread has others beside it, or has done something itself, while a message comes.
fn programs_of_neighbours() -> Vec<CheckConfig> {
    let program = |name, description, threads: &[Thread<'_>]| program_on(TWO_BY_ONE, name, description, threads);
    vec![
        program(
            "refill-beside",
            "another thread beside the reader of a message has a load on its way",
            &[(0, WRITER), (1, READER), (1, &[&[WeakLoad(X)]])],
        ),
        program(
            "store-into-refill",
            "a thread stores and loads a word that another beside it fetches, and a third loads it with a wider scope",
            &[(1, &[&[WeakLoad(X)]]), (1, &[&[WeakStore(X)], &[WeakLoad(X)]]), (1, &[&[Load(X, System)]])],
        ),
        program(
            "word-before-message",
            "the reader of a message has stored the word that the message is about",
            &[(0, &[&[Store(X, System)], &[Release(Y)]]), (1, &[&[Store(X, System)], &[Acquire(Y)], &[WeakLoad(X)]])],
        ),
        program(
            "other-word-after-message",
            "the reader of a message stores the other word of the line that the message is about",
            &[(0, WRITER), (1, &[&[Acquire(Y)], &[WeakStore(X1)], &[WeakLoad(X)]])],
        ),
        program(
            "atomic-beside",
            "another thread beside the reader of a message exchanges the other word of its line",
            &[(0, WRITER), (1, READER), (1, &[&[Exchange(X1, Gpu)]])],
        ),
        program(
            "refill-in-fence",
            "another thread loads while a fence waits",
            &[
                (0, &[&[WeakStore(X)], &[Fence(System)], &[WeakLoad(Y)]]),
                (0, &[&[WeakLoad(Y)]]),
                (1, &[&[WeakStore(Y)], &[Fence(System)], &[WeakLoad(X)]]),
            ],
        ),
    ]
}
