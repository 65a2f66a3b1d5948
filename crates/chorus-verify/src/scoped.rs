//! Configurations of several GPUs and modules, for protocols that reach further than one module.
//!
//! Threads choose among accesses of every strength and fences of every scope. There is one private cache, one bank and one directory entry in each
//! module unless a configuration says otherwise, and every line and every entry may leave at any time. Line 0 lies in the memory of module 0; on
//! machines of two GPUs with two modules each, line 2 lies in that of the other GPU.

use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_protocol::registry::DirectoryShape;

use crate::check::CheckConfig;
use crate::config::{Evictions, MachineConfig, one_set};
use crate::program::{Location, Op, Step, lines_of};

const X: Location = Location { line: 0, word: 0 };
const X1: Location = Location { line: 0, word: 1 };
const Y: Location = Location { line: 1, word: 0 };
const Z: Location = Location { line: 2, word: 0 };

/// GPUs, and modules of each.
type Modules = [u16; 2];

const ONE_BY_TWO: Modules = [1, 2];
const ONE_BY_THREE: Modules = [1, 3];
const TWO_BY_ONE: Modules = [2, 1];
const TWO_BY_TWO: Modules = [2, 2];

/// What a thread may do at a place, but for the value that it writes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    WeakLoad(Location),
    WeakStore(Location),
    Load(Location, Scope),
    Store(Location, Scope),
    Exchange(Location, Scope),
    Fence(Scope),
}

use Choice::{Exchange, Fence, Load, Store, WeakLoad, WeakStore};
use Scope::{Gpu, System};

impl Choice {
    fn op(self, value: u32) -> Op {
        let (order, weak, work_group) = (Order::Relaxed, Order::Weak, Scope::WorkGroup);
        match self {
            WeakLoad(at) => Op::Load { at, order: weak, scope: work_group },
            WeakStore(at) => Op::Store { at, value, order: weak, scope: work_group },
            Load(at, scope) => Op::Load { at, order, scope },
            Store(at, scope) => Op::Store { at, value, order, scope },
            Exchange(at, scope) => {
                Op::Atomic { at, op: AtomicOp::Exchange, operand: value, order, scope, returns: true }
            }
            Fence(scope) => Op::fence(scope),
        }
    }
}

/// Everything on one word, and weak accesses of the other.
const EVERYTHING: &[Choice] = &[
    WeakLoad(X),
    WeakLoad(X1),
    WeakStore(X),
    WeakStore(X1),
    Load(X, Gpu),
    Load(X, System),
    Store(X, Gpu),
    Store(X, System),
    Exchange(X, Gpu),
    Exchange(X, System),
    Fence(Gpu),
    Fence(System),
];
/// Weak accesses of both words, and one strong one of each kind and scope.
const ONE_WORD: &[Choice] =
    &[WeakLoad(X), WeakStore(X), Load(X, System), Store(X, System), Exchange(X, Gpu), Fence(Gpu), Fence(System)];
/// Weak accesses of a word and fences.
const WEAK: &[Choice] = &[WeakLoad(X), WeakStore(X), Fence(Gpu), Fence(System)];
/// Weak loads and stores of both words of a line.
const WEAK_WORDS: &[Choice] = &[WeakLoad(X), WeakLoad(X1), WeakStore(X), WeakStore(X1)];
/// Weak accesses of two lines that share a directory entry, and fences.
const ENTRY: &[Choice] = &[WeakLoad(X), WeakLoad(Y), WeakStore(X), WeakStore(Y), Fence(System)];
/// Weak accesses of two lines that have their homes on different GPUs.
const TWO_HOMES: &[Choice] = &[WeakLoad(X), WeakLoad(Z), WeakStore(X), WeakStore(Z), Fence(System)];

/// As many places as given, each with every choice. Every value written is different, so that a value read names the write it came from.
fn free(thread: usize, length: usize, choices: &[Choice]) -> Vec<Step> {
    fixed(thread, &vec![choices; length])
}

/// Places with the given choices.
fn fixed(thread: usize, places: &[&[Choice]]) -> Vec<Step> {
    let step = |(place, choices): (usize, &&[Choice])| {
        let value = (1 + thread * 4 + place) as u32;
        Step { alternatives: choices.iter().map(|choice| choice.op(value)).collect(), implied: false }
    };
    places.iter().enumerate().map(step).collect()
}

/// Threads with these operations beside private caches, which are numbered as their modules are.
fn placed(modules: Modules, caches: &[u16], steps: Vec<Vec<Step>>) -> MachineConfig {
    let lines = lines_of(steps.iter().flatten().flat_map(|step| &step.alternatives));
    MachineConfig::for_choices(caches, lines, steps).on_modules(modules, 1, 0)
}

/// Threads that choose freely, thread `i` as many operations as `lengths[i]`.
fn choosing<const N: usize>(
    modules: Modules,
    caches: [u16; N],
    lengths: [usize; N],
    choices: &[Choice],
) -> MachineConfig {
    let steps = lengths.iter().enumerate().map(|(thread, &length)| free(thread, length, choices)).collect();
    placed(modules, &caches, steps)
}

/// A writer of `X` that raises the flag `Z`, and a reader; both choose how far their fences and the flag reach.
fn message_passing(modules: Modules, caches: [u16; 2]) -> MachineConfig {
    let fences: &[Choice] = &[Fence(Gpu), Fence(System)];
    let writer = fixed(0, &[&[WeakStore(X)], fences, &[Store(Z, Gpu), Store(Z, System)]]);
    let reader = fixed(1, &[&[Load(Z, Gpu), Load(Z, System)], fences, &[WeakLoad(X)]]);
    let config = placed(modules, &caches, vec![writer, reader]);
    MachineConfig { l1: one_set(2, 2), l2: one_set(2, 2), ..config }
}

/// Weak accesses in a kernel and in the next.
fn kernels(modules: Modules, caches: [u16; 2]) -> MachineConfig {
    let thread = |thread: usize| {
        let mut steps = free(thread, 1, WEAK_WORDS);
        steps.extend(Step::next_kernel());
        steps.extend(fixed(thread + 2, &[WEAK_WORDS]));
        steps
    };
    placed(modules, &caches, vec![thread(0), thread(1)])
}

/// A directory whose only entry covers four lines, which all lie in the memory of one module.
fn four_line_entry(config: MachineConfig) -> MachineConfig {
    let directory = DirectoryShape { lines_per_entry: 4, ..DirectoryShape::SMALLEST };
    let modules = [config.topology.gpus, config.topology.gpms];
    MachineConfig { directory, l2: one_set(2, 2), ..config }.on_modules(modules, 1, 2)
}

/// The configurations that take a moment each, for tests.
pub fn quick_configurations() -> Vec<CheckConfig> {
    let config = |name, description, machine| CheckConfig { name, description, machine };
    vec![
        config(
            "modules-smoke",
            "1 GPU of 2 modules, 1 line of 2 words, one operation beside its home and one beside the other bank",
            choosing(ONE_BY_TWO, [0, 1], [1, 1], EVERYTHING),
        ),
        config(
            "gpus-smoke",
            "2 GPUs of 2 modules, 1 line of 2 words, one operation each beside banks that are its home on no GPU",
            choosing(TWO_BY_TWO, [1, 3], [1, 1], EVERYTHING),
        ),
        config(
            "kernels-smoke",
            "2 GPUs of 1 module, a weak access in a kernel and one in the next",
            kernels(TWO_BY_ONE, [0, 1]),
        ),
    ]
}

/// The configurations of several modules, cheapest first.
pub fn configurations() -> Vec<CheckConfig> {
    let config = |name, description, machine| CheckConfig { name, description, machine };
    let entries_stay = |machine: MachineConfig| MachineConfig { evictions: Evictions::PrivateAnytime, ..machine };
    let mut configurations = quick_configurations();
    configurations.extend([
        config(
            "modules",
            "1 GPU of 2 modules, 1 word, 2 operations each",
            choosing(ONE_BY_TWO, [0, 1], [2, 2], ONE_WORD),
        ),
        config(
            "modules-words",
            "1 GPU of 2 modules, 1 line of 2 words, 2 operations and 1",
            choosing(ONE_BY_TWO, [1, 0], [2, 1], EVERYTHING),
        ),
        config("gpus", "2 GPUs of 1 module, 1 word, 2 operations each", choosing(TWO_BY_ONE, [0, 1], [2, 2], ONE_WORD)),
        config(
            "gpus-modules",
            "2 GPUs of 2 modules, 1 line of 2 words, 2 operations and 1 beside banks that are its home on no GPU",
            choosing(TWO_BY_TWO, [1, 3], [2, 1], EVERYTHING),
        ),
        config(
            "gpus-home",
            "the same beside its home, and 1 on the other GPU",
            choosing(TWO_BY_TWO, [0, 3], [2, 1], EVERYTHING),
        ),
        config(
            "gpus-weak",
            "2 GPUs of 2 modules, 1 word, 2 weak accesses or fences each beside banks that are its home on no GPU",
            choosing(TWO_BY_TWO, [1, 3], [2, 2], WEAK),
        ),
        config(
            "one-gpu-of-two",
            "2 GPUs of 2 modules, 1 word on one of them, 2 weak accesses or fences each on the other",
            choosing(TWO_BY_TWO, [2, 3], [2, 2], WEAK),
        ),
        config(
            "beside",
            "2 GPUs of 1 module, 2 threads beside one private cache, 1 beside its home, 2, 1 and 1 operations",
            choosing(TWO_BY_ONE, [1, 1, 0], [2, 1, 1], WEAK),
        ),
        config(
            "three-modules",
            "1 GPU of 3 modules, 1 word, 1 operation each",
            choosing(ONE_BY_THREE, [0, 1, 2], [1, 1, 1], ONE_WORD),
        ),
        config(
            "entry",
            "2 GPUs of 1 module, 2 lines in one directory entry, 2 and 1 weak accesses or fences",
            four_line_entry(choosing(TWO_BY_ONE, [0, 1], [2, 1], ENTRY)),
        ),
        config(
            "homes",
            "2 GPUs of 2 modules, 2 lines with homes on different GPUs, 2 and 1 weak accesses or fences",
            choosing(TWO_BY_TWO, [1, 3], [2, 1], TWO_HOMES),
        ),
        config(
            "kernels",
            "2 GPUs of 2 modules, a weak access in a kernel and one in the next",
            kernels(TWO_BY_TWO, [1, 3]),
        ),
        config(
            "message-modules",
            "a message from one module to the other of a GPU, its scope chosen, while private copies leave",
            entries_stay(message_passing(TWO_BY_TWO, [0, 1])),
        ),
        config("message-gpus", "the same from one GPU to the other", entries_stay(message_passing(TWO_BY_TWO, [1, 3]))),
    ]);
    configurations
}
