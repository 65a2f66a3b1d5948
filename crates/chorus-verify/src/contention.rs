//! Machines on which threads contend for one word without end, to look for [starvation](crate::starvation).
//!
//! Two threads repeat an operation for ever. A third one has a single access, and then a fence. All of them choose
//! among a load, a store and an exchange of the same word. Caches start empty, and lines leave when they must.

use chorus_protocol::access::Scope;
use chorus_protocol::address::Topology;
use chorus_protocol::registry::{Counters, MemoryModel, Protocol, Reach};

use crate::check::CheckConfig;
use crate::config::{Arrival, Evictions, MachineConfig, Start};
use crate::heterogeneous;
use crate::scoped::{Choice, steps};
use crate::words::Words;

use Choice::{Exchange, Fence, Load, Store, WeakLoad, WeakStore};

const X: Words = Words::one(0, 0);
const X1: Words = Words::one(0, 1);

/// The machine with two threads that repeat one of `busy` and a fence, and one that does one of `patient` and a fence.
/// Without fences, stores that nobody waits for could pile up without end.
fn machine(caches: [u16; 3], busy: &[Choice], patient: &[Choice], fence: Scope) -> MachineConfig {
    let fences: &[Choice] = &[Fence(fence)];
    of_threads(caches, [&[busy, fences], &[busy, fences], &[patient, fences]])
}

/// The machine with three threads, of which the first two repeat.
fn of_threads(caches: [u16; 3], threads: [&[&[Choice]]; 3]) -> MachineConfig {
    let threads = threads.into_iter().enumerate().map(|(thread, places)| steps(thread, places));
    let config = MachineConfig::for_choices(&caches, 1, threads);
    let mut config = MachineConfig { evictions: Evictions::WhenNeeded, start: Start::Cold, ..config };
    config.threads[..2].iter_mut().for_each(|thread| thread.repeats = true);
    config
}

/// The configurations in which starvation of a protocol is looked for.
pub fn configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    if heterogeneous::applies(protocol) {
        return of_devices();
    }
    match (protocol.reach(), protocol.counters()) {
        (Reach::OneModule, Counters::None) => of_one_module(),
        (Reach::OneModule, Counters::Synchronised) => of_leases(protocol.model()),
        (Reach::AnyMachine, _) => of_several_modules(),
    }
}

fn of_one_module() -> Vec<CheckConfig> {
    let any = [Load(X, Scope::Gpu), Store(X, Scope::Gpu), Exchange(X, Scope::Gpu)];
    let config =
        |name, description, caches| CheckConfig { name, description, machine: machine(caches, &any, &any, Scope::Gpu) };
    vec![
        config(
            "contention",
            "2 threads access 1 word for ever, each beside a cache, and 1 beside a third one does so once",
            [0, 1, 2],
        ),
        config(
            "contention-beside",
            "2 threads access 1 word for ever, each beside a cache, and 1 beside one of these does so once",
            [0, 1, 1],
        ),
    ]
}

/// Machines of protocols that know time, which have several times as many states. Where a write waits for the end of a
/// lease, two threads that load for ever could renew the lease for ever. It ends because requests wait in turn behind
/// the write. Where writes do not wait, each write makes a timestamp greater. Threads that write for ever would have
/// states without end there.
fn of_leases(model: MemoryModel) -> Vec<CheckConfig> {
    let (loads, store) = ([Load(X, Scope::Gpu)], [Store(X, Scope::Gpu)]);
    let any = [loads[0], store[0], Exchange(X, Scope::Gpu)];
    let fences: &[Choice] = &[Fence(Scope::Gpu)];
    let config = |name, description, caches, threads| CheckConfig {
        name,
        description,
        machine: MachineConfig { arrival: Arrival::InTurn, ..of_threads(caches, threads) },
    };
    let mut configurations = vec![
        config(
            "contention",
            "2 threads load 1 word for ever, each beside a cache, and 1 beside a third one accesses it once",
            [0, 1, 2],
            [&[&loads], &[&loads], &[&any, fences]],
        ),
        config(
            "contention-stores",
            "2 threads beside 2 caches load and write 1 word for ever, and 1 beside one of them accesses it once",
            [0, 1, 1],
            [&[&loads], &[&store, fences], &[&any, fences]],
        ),
    ];
    configurations.retain(|config| config.name == "contention" || model == MemoryModel::WriteAtomicRc);
    configurations
}

fn of_several_modules() -> Vec<CheckConfig> {
    let (load, store, exchange) = ([WeakLoad(X)], [WeakStore(X)], [Exchange(X, Scope::System)]);
    let patient = [WeakLoad(X), Load(X, Scope::System), WeakStore(X), Exchange(X, Scope::System)];
    let fences: &[Choice] = &[Fence(Scope::System)];
    let config = |name, description, caches, busy: [&[Choice]; 2]| CheckConfig {
        name,
        description,
        machine: of_threads(caches, [&[busy[0]], &[busy[1], fences], &[&patient, fences]]).on_modules([2, 1], 1, 0),
    };
    vec![
        config(
            "contention-loads",
            "2 GPUs: a thread far from a word's home loads it for ever, one beside it writes, and another one accesses it once",
            [1, 0, 1],
            [&load, &store],
        ),
        config(
            "contention-stores",
            "2 GPUs: a thread beside a word's home loads it for ever, one far from it writes, and another one accesses it once",
            [0, 1, 0],
            [&load, &store],
        ),
        config(
            "contention-atomics",
            "2 GPUs: threads of both exchange a word for ever, and another one far from its home accesses it once",
            [0, 1, 1],
            [&exchange, &exchange],
        ),
    ]
}

fn of_devices() -> Vec<CheckConfig> {
    let busy = [WeakStore(X), Exchange(X, Scope::System)];
    let patient = [WeakLoad(X), Load(X, Scope::System), WeakStore(X), Exchange(X, Scope::System)];
    let config = |name, description, cpus: u16, caches: [u16; 3]| {
        let machine = of_cpus(machine(caches, &busy, &patient, Scope::System), cpus);
        CheckConfig { name, description, machine }
    };
    vec![
        config(
            "contention",
            "a CPU core and a compute unit write 1 word for ever, and another compute unit accesses it once",
            1,
            [0, 1, 2],
        ),
        config(
            "contention-cpu",
            "a CPU core and a compute unit write 1 word for ever, and another CPU core accesses it once",
            2,
            [0, 2, 1],
        ),
        config(
            "contention-cpus",
            "2 CPU cores write 1 word for ever, and a compute unit accesses it once",
            2,
            [0, 1, 2],
        ),
        reads(Retries::One),
        reads_in_a_crowd(),
    ]
}

/// The number of times that a refused read is sent again unchanged (Spandex paper, section III-C).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// It is sent again unchanged every time.
    ForEver,
    /// It is replaced after one refusal by a request that cannot be refused.
    One,
}

impl Retries {
    fn parameters(self) -> Vec<(&'static str, u64)> {
        match self {
            Retries::ForEver => vec![("reqv.retries", 0)],
            Retries::One => vec![("reqv.retries", 1)],
        }
    }
}

/// Two CPU cores that write a word without end, and a compute unit that reads it: the race that may starve ReqV.
pub fn reads(retries: Retries) -> CheckConfig {
    let machine = of_threads([0, 1, 2], [&[&[WeakStore(X)]], &[&[WeakStore(X)]], &[&[WeakLoad(X)]]]);
    CheckConfig {
        name: match retries {
            Retries::ForEver => "contention-reads[reqv.retries=0]",
            Retries::One => "contention-reads",
        },
        description: "2 CPU cores write 1 word for ever, and a compute unit reads it once",
        machine: of_cpus(MachineConfig { parameters: retries.parameters(), ..machine }, 2),
    }
}

/// The machine of [`reads`] with more that happens without end: one of the cores writes both words and reads, and lines
/// leave private caches at any time.
fn reads_in_a_crowd() -> CheckConfig {
    let crowd: &[&[Choice]] = &[&[WeakStore(X)], &[WeakStore(X1)], &[WeakLoad(X)]];
    let machine = of_threads([0, 1, 2], [crowd, &[&[WeakStore(X)]], &[&[WeakLoad(X)]]]);
    let machine = MachineConfig { evictions: Evictions::PrivateAnytime, ..machine };
    CheckConfig {
        name: "contention-crowd",
        description: "2 CPU cores write 2 words of a line for ever, and a compute unit reads one once",
        machine: of_cpus(MachineConfig { parameters: Retries::One.parameters(), ..machine }, 2),
    }
}

/// The machine with so many CPU cores.
fn of_cpus(machine: MachineConfig, cpus: u16) -> MachineConfig {
    MachineConfig { topology: Topology { cpus, ..machine.topology }, ..machine }
}
