//! Configurations for protocols whose machines have CPU cores beside compute units, translation units, or a coherent
//! L3.
//!
//! The private caches of CPU cores come first and those of compute units after them, so a configuration says how many
//! of its caches belong to CPU cores. Threads choose among three kinds of operations: weak accesses, which caches hold
//! and write as their device does; accesses with an order and exchanges, which are performed in one place; and fences,
//! at which caches invalidate what they must. There is room for one line in every cache, and lines leave at any moment
//! unless a configuration says otherwise.

use chorus_protocol::access::Scope;
use chorus_protocol::address::{Role, Topology};
use chorus_protocol::registry::{Build, Protocol, Structure};

use crate::check::CheckConfig;
use crate::config::{Evictions, Loads, MachineConfig, Start, one_set};
use crate::program::{Step, WORDS, lines_of};
use crate::scoped::{Choice, steps};
use crate::words::Words;

mod programs;

use Choice::{Acquire, Exchange, Fence, Load, NextKernel, Release, Store, WeakLoad, WeakStore};
use Scope::System;
pub use programs::programs;

const X: Words = Words::one(0, 0);
const X1: Words = Words::one(0, 1);
const BOTH: Words = Words::all(0);
const Y: Words = Words::one(1, 0);
const Y1: Words = Words::one(1, 1);
const Z: Words = Words::one(2, 0);

/// Everything on both words of a line, with an order on the first.
const ALL: &[Choice] = &[
    WeakLoad(X),
    WeakLoad(X1),
    WeakStore(X),
    WeakStore(X1),
    Load(X, System),
    Store(X, System),
    Exchange(X, System),
    Fence(System),
];
/// Everything on one word.
const WORD: &[Choice] =
    &[WeakLoad(X), WeakStore(X), Load(X, System), Store(X, System), Exchange(X, System), Fence(System)];
const WEAK: &[Choice] = &[WeakLoad(X), WeakStore(X)];
const WEAK_OR_EXCHANGE: &[Choice] = &[WeakLoad(X), WeakStore(X), Exchange(X, System)];
const WEAK_WORDS: &[Choice] = &[WeakLoad(X), WeakLoad(X1), WeakStore(X), WeakStore(X1)];
const FENCED_WORDS: &[Choice] = &[WeakLoad(X), WeakLoad(X1), WeakStore(X), WeakStore(X1), Fence(System)];
/// Accesses of both words of a line at once, and of one.
const WIDE: &[Choice] = &[WeakLoad(BOTH), WeakStore(BOTH), WeakStore(X), Exchange(BOTH, System)];
const WEAK_LINES: &[Choice] = &[WeakLoad(X), WeakLoad(Y), WeakStore(X), WeakStore(Y)];
const KERNEL: &[Choice] = &[NextKernel];

/// A thread: the private cache beside it, and the operations that it may choose from in each place.
type Thread<'a> = (u16, &'a [&'a [Choice]]);

/// Whether a protocol is checked in these configurations.
pub fn applies(protocol: &dyn Protocol) -> bool {
    protocol.structure() != Structure::TwoLevels
}

/// The kinds of devices of a protocol. The kind of CPU cores comes first, then the kinds of compute units, which take
/// turns.
pub fn devices(protocol: &dyn Protocol) -> Vec<&'static str> {
    let topology = protocol.structure().complete(Topology { cpus: 1, ..Topology::one_gpu(3, 1) });
    let config = MachineConfig { topology, ..MachineConfig::for_choices(&[], 1, []) };
    let build = config.build_config(protocol, None);
    let device = |index| Some(Build::<WORDS>::build(protocol, Role::L1, index, &build)?.vocabulary().device);
    let mut devices: Vec<&'static str> = (0..3).filter_map(device).collect();
    if devices.len() == 3 && devices[1] == devices[2] {
        devices.pop();
    }
    devices
}

/// Threads beside caches, of which the first `cpus` belong to CPU cores.
fn machine(cpus: u16, threads: &[Thread<'_>]) -> MachineConfig {
    let caches: Vec<u16> = threads.iter().map(|(cache, _)| *cache).collect();
    let steps: Vec<Vec<Step>> = threads.iter().enumerate().map(|(index, (_, places))| steps(index, places)).collect();
    let lines = lines_of(steps.iter().flatten().flat_map(|step| &step.alternatives));
    let config = MachineConfig::for_choices(&caches, lines, steps);
    // The names of agents must not depend on which caches have threads.
    let l1s = config.topology.l1s.max(cpus);
    MachineConfig { topology: Topology { cpus, l1s, ..config.topology }, ..config }
}

/// The machine with room for every line.
fn roomy(config: MachineConfig) -> MachineConfig {
    MachineConfig { l1: one_set(2, 2), l2: one_set(2, 2), ..config }
}

fn config(name: &'static str, description: &'static str, machine: MachineConfig) -> CheckConfig {
    CheckConfig { name, description, machine }
}

/// A message from one cache to another, whose lines leave at any time.
fn message(cpus: u16, writer: u16, reader: u16) -> MachineConfig {
    let writer: Thread<'_> = (writer, &[&[WeakStore(X)], &[Release(Y)]]);
    let reader: Thread<'_> = (reader, &[&[Acquire(Y)], &[WeakLoad(X)]]);
    MachineConfig { evictions: Evictions::PrivateAnytime, ..roomy(machine(cpus, &[writer, reader])) }
}

/// The configurations that take a moment each.
pub fn quick_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let mut configurations = vec![
        config(
            "devices-smoke",
            "a CPU core and a compute unit, 1 line of 2 words, 1 operation each",
            machine(1, &[(0, &[ALL]), (1, &[ALL])]),
        ),
        config(
            "weak-smoke",
            "a CPU core and a compute unit, 1 line of 2 words, 2 and 1 weak accesses",
            machine(1, &[(0, &[WEAK_WORDS, WEAK_WORDS]), (1, &[WEAK_WORDS])]),
        ),
        config(
            "wide-smoke",
            "a CPU core and a compute unit, 1 access of both words of a line or of one each",
            machine(1, &[(0, &[WIDE]), (1, &[WIDE])]),
        ),
        config(
            "wide-owners",
            "a CPU core and 2 compute units, two write a word or both, and the third accesses both at once",
            machine(
                1,
                &[
                    (0, &[&[WeakStore(X), WeakStore(BOTH)]]),
                    (1, &[&[WeakStore(X1)]]),
                    (2, &[&[WeakLoad(BOTH), WeakStore(BOTH), Exchange(BOTH, System)]]),
                ],
            ),
        ),
        config("message-to-gpu", "a message from a CPU core to a compute unit", message(1, 0, 1)),
        config("message-to-cpu", "a message from a compute unit to a CPU core", message(1, 1, 0)),
    ];
    if devices(protocol).len() > 2 {
        configurations.extend([
            config(
                "three-smoke",
                "a CPU core and 2 compute units of different kinds, 1 word, 1 weak access or exchange each",
                machine(1, &[(0, &[WEAK_OR_EXCHANGE]), (1, &[WEAK_OR_EXCHANGE]), (2, &[WEAK_OR_EXCHANGE])]),
            ),
            config("message-of-units", "a message from a compute unit to one of the other kind", message(0, 0, 1)),
        ]);
    }
    configurations
}

/// The configurations that a transition table is filled from: small ones of one line, and two lines in one place.
pub fn table_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let table = |name, machine| config(name, "for the transition table", machine);
    let in_flight = machine(1, &[(0, &[WEAK_WORDS, WEAK]), (1, &[WEAK])]);
    let in_flight_gpu = machine(1, &[(0, &[WEAK]), (1, &[WEAK_WORDS, WEAK])]);
    let mut configurations = vec![
        table("table-devices", machine(1, &[(0, &[ALL]), (1, &[ALL])])),
        table("table-cpus", machine(2, &[(0, &[ALL]), (1, &[ALL])])),
        table("table-gpus", machine(0, &[(0, &[ALL]), (1, &[ALL])])),
        table("table-cpu", machine(1, &[(0, &[FENCED_WORDS, WEAK]), (1, &[WEAK_WORDS])])),
        table("table-gpu", machine(1, &[(0, &[WEAK_WORDS]), (1, &[FENCED_WORDS, WEAK])])),
        table("table-nb", MachineConfig { loads: Loads::NonBlocking, ..in_flight }),
        table("table-nb-gpu", MachineConfig { loads: Loads::NonBlocking, ..in_flight_gpu }),
        table("table-beside", machine(1, &[(0, &[WEAK]), (1, &[WEAK_OR_EXCHANGE]), (1, &[WEAK_OR_EXCHANGE])])),
        table("table-cores", machine(2, &[(0, &[WEAK]), (1, &[WEAK]), (2, &[WEAK_OR_EXCHANGE])])),
        table("table-units", machine(1, &[(0, &[WEAK_OR_EXCHANGE]), (1, &[WEAK]), (2, &[WEAK])])),
        table("table-lines", machine(1, &[(0, &[WEAK_LINES]), (1, &[WEAK_LINES])])),
    ];
    configurations.extend(of_options_where_some(protocol));
    // A third level makes several times as many states.
    let larger = ["table-cpu", "table-gpu", "table-nb-gpu", "table-cores", "table-units"];
    configurations.retain(|config| !protocol.structure().has_l3() || !larger.contains(&config.name));
    configurations
}

/// The configurations that a protocol is checked in, cheapest first.
pub fn configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    all_configurations(protocol).into_iter().filter(|config| !is_large(protocol, config)).collect()
}

/// The configurations that take longer.
pub fn larger_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    all_configurations(protocol).into_iter().filter(|config| is_large(protocol, config)).collect()
}

fn all_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let devices = devices(protocol);
    let mut configurations = [quick_configurations(protocol), of_two_caches()].concat();
    let alike = devices.first() == devices.get(1);
    configurations.extend(of_one_kind().into_iter().filter(|config| !alike || config.name != "gpus"));
    configurations.extend(of_three_caches());
    configurations.extend(of_options_where_some(protocol));
    configurations.extend(of_regions(protocol));
    configurations
}

/// Whether a configuration takes long. A third level makes several times as many states.
fn is_large(protocol: &dyn Protocol, config: &CheckConfig) -> bool {
    protocol.structure().has_l3() && LARGEST.contains(&config.name)
}

/// The configurations that take long under protocols with an L3.
const LARGEST: [&str; 7] = ["cpu", "gpu", "words", "word", "lines-gpu", "in-flight-loads", "gpus"];

/// The configurations with the other ways to serve ReqS, for protocols in which a device asks for sharing. Where CPU
/// cores ask an L3 that speaks MESI, no device does.
fn of_options_where_some(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let shares = devices(protocol).contains(&"MESI") && protocol.structure() != Structure::ThreeLevels;
    let has_options = protocol.parameters().iter().any(|spec| spec.key == "reqs.option");
    if shares && has_options { of_options() } else { Vec::new() }
}

fn of_two_caches() -> Vec<CheckConfig> {
    let in_flight = machine(1, &[(0, &[WEAK_WORDS, WEAK]), (1, &[WEAK_WORDS, WEAK])]);
    vec![
        config(
            "cpu",
            "a CPU core and a compute unit, 1 line of 2 words, 2 operations beside the CPU and 1 beside the GPU",
            machine(1, &[(0, &[ALL, ALL]), (1, &[ALL])]),
        ),
        config(
            "gpu",
            "the same with 2 operations beside the GPU and 1 beside the CPU",
            machine(1, &[(0, &[ALL]), (1, &[ALL, ALL])]),
        ),
        config(
            "words",
            "a CPU core and a compute unit, 1 line of 2 words, 2 weak accesses or fences each",
            machine(1, &[(0, &[FENCED_WORDS, FENCED_WORDS]), (1, &[FENCED_WORDS, FENCED_WORDS])]),
        ),
        config(
            "word",
            "a CPU core and a compute unit, 1 word, 2 weak accesses or exchanges each",
            machine(1, &[(0, &[WEAK_OR_EXCHANGE, WEAK_OR_EXCHANGE]), (1, &[WEAK_OR_EXCHANGE, WEAK_OR_EXCHANGE])]),
        ),
        config(
            "lines",
            "a CPU core and a compute unit, 2 lines in one place, 2 and 1 weak accesses",
            machine(1, &[(0, &[WEAK_LINES, WEAK_LINES]), (1, &[WEAK_LINES])]),
        ),
        config(
            "lines-gpu",
            "the same with 1 beside the CPU and 2 beside the GPU",
            machine(1, &[(0, &[WEAK_LINES]), (1, &[WEAK_LINES, WEAK_LINES])]),
        ),
        config(
            "in-flight-loads",
            "a CPU core and a compute unit, 2 weak accesses each, with loads that do not block",
            MachineConfig { loads: Loads::NonBlocking, ..in_flight },
        ),
        config(
            "kernels",
            "a CPU core and a compute unit, 1 word, a weak access in a kernel and one in the next",
            machine(1, &[(0, &[WEAK, KERNEL, WEAK]), (1, &[WEAK, KERNEL, WEAK])]),
        ),
    ]
}

fn of_one_kind() -> Vec<CheckConfig> {
    vec![
        config(
            "cpus",
            "2 CPU cores, 1 line of 2 words, 2 and 1 operations",
            machine(2, &[(0, &[ALL, ALL]), (1, &[ALL])]),
        ),
        config(
            "gpus",
            "2 compute units, 1 line of 2 words, 2 and 1 operations",
            machine(0, &[(0, &[ALL, ALL]), (1, &[ALL])]),
        ),
        config(
            "beside",
            "2 threads beside a compute unit and 1 beside a CPU core, 1 word, 1 operation each",
            machine(1, &[(0, &[WORD]), (1, &[WORD]), (1, &[WORD])]),
        ),
    ]
}

fn of_three_caches() -> Vec<CheckConfig> {
    let long = machine(1, &[(0, &[WEAK, WEAK_OR_EXCHANGE]), (1, &[WEAK]), (2, &[WEAK])]);
    vec![
        config(
            "three",
            "a CPU core and 2 compute units, 1 line of 2 words, 1 weak access or exchange each, from empty caches",
            MachineConfig {
                start: Start::Cold,
                ..machine(1, &[(0, &[WEAK_WORDS]), (1, &[WEAK_OR_EXCHANGE]), (2, &[WEAK_WORDS])])
            },
        ),
        config(
            "three-long",
            "a CPU core and 2 compute units, 1 word, 2, 1 and 1 weak accesses; lines of the shared cache stay",
            MachineConfig { evictions: Evictions::PrivateAnytime, ..long },
        ),
        config(
            "cores",
            "2 CPU cores and a compute unit, 1 word, 1 weak access or exchange each",
            machine(2, &[(0, &[WEAK_OR_EXCHANGE]), (1, &[WEAK_OR_EXCHANGE]), (2, &[WEAK_OR_EXCHANGE])]),
        ),
    ]
}

/// The other ways to serve ReqS (Spandex paper, Table III).
fn of_options() -> Vec<CheckConfig> {
    let accesses = || machine(2, &[(0, &[WEAK_WORDS]), (1, &[WEAK]), (2, &[WEAK])]);
    let option = |name, description, parameters| {
        config(name, description, MachineConfig { parameters, evictions: Evictions::PrivateAnytime, ..accesses() })
    };
    vec![
        option(
            "option-1",
            "2 CPU cores and a compute unit, 1 weak access each, with ReqS always served with Shared state",
            vec![("reqs.option", 1)],
        ),
        option("option-2", "the same with ReqS always served as ReqV", vec![("reqs.option", 2)]),
        option("option-3", "the same with ReqS always served as ReqO+data", vec![("reqs.option", 3)]),
    ]
}

/// Regions, for protocols that know them. A DeNovo cache has read a line that nobody writes and a line behind it, and
/// then receives a message about the second line.
fn of_regions(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    const WRITER: &[&[Choice]] = &[&[WeakStore(Y)], &[Release(Z)]];
    const READER: &[&[Choice]] = &[&[WeakLoad(X)], &[WeakLoad(Y1)], &[Acquire(Z)], &[WeakLoad(X)], &[WeakLoad(Y)]];
    if protocol.parameters().iter().all(|spec| spec.key != "regions") {
        return Vec::new();
    }
    let of_reader = |reader: u16| {
        let machine = machine(1, &[(reader, READER), (u16::from(reader == 0), WRITER)]);
        let machine =
            MachineConfig { l1: one_set(3, 3), l2: one_set(3, 3), parameters: vec![("regions", 1)], ..machine };
        let machine = MachineConfig { evictions: Evictions::PrivateAnytime, ..machine };
        match reader {
            0 => {
                config("region-cpu", "a message to a CPU core that keeps copies of a line that nobody writes", machine)
            }
            _ => config(
                "region-gpu",
                "a message to a compute unit that keeps copies of a line that nobody writes",
                machine,
            ),
        }
    };
    let devices = devices(protocol).into_iter().zip(0..);
    devices.filter(|(device, _)| *device == "DeNovo").map(|(_, cache)| of_reader(cache)).collect()
}

/// Threads whose loads do not wait for each other, on a machine whose lines leave only when they must.
fn pressed(cpus: u16, threads: &[Thread<'_>]) -> MachineConfig {
    MachineConfig { loads: Loads::NonBlocking, evictions: Evictions::WhenNeeded, ..machine(cpus, threads) }
}

/// Refused reads of both compute units at the same time, while all requests wait for room for answers. It has many more
/// states than the configurations of [`under_pressure`].
pub fn refused_reads() -> CheckConfig {
    const READS: &[&[Choice]] = &[&[WeakLoad(X)], &[WeakLoad(Y)]];
    let writers: [Thread<'_>; 2] = [(0, &[&[WeakStore(X)], &[WeakStore(X)]]), (1, &[&[WeakStore(X)], &[WeakLoad(Y)]])];
    config(
        "refused-reads",
        "2 compute units read a word that 2 CPU cores write, and another line",
        roomy(pressed(2, &[writers[0], writers[1], (2, READS), (3, READS)])),
    )
}

/// The configurations in which virtual networks are put under pressure, cheapest first. Writes and reads meet at
/// owners.
pub fn under_pressure() -> Vec<CheckConfig> {
    const ALONG: &[&[Choice]] = &[&[WeakStore(X)], &[WeakStore(Y)]];
    const CROSSED: &[&[Choice]] = &[&[WeakStore(Y)], &[WeakStore(X)]];
    const WRITE_AND_EXCHANGE: &[&[Choice]] = &[&[WeakStore(X)], &[Exchange(X, System)]];
    const READS: &[&[Choice]] = &[&[WeakLoad(X)], &[WeakLoad(Y)]];
    vec![
        config(
            "crossed-devices",
            "a CPU core and a compute unit write 2 lines in opposite orders, with room for both",
            roomy(pressed(1, &[(0, ALONG), (1, CROSSED)])),
        ),
        config(
            "read-of-written",
            "a compute unit reads 2 lines that a CPU core writes, with room for both",
            roomy(pressed(1, &[(0, CROSSED), (1, READS)])),
        ),
        config(
            "same-word",
            "a CPU core and a compute unit write and exchange one word",
            pressed(1, &[(0, WRITE_AND_EXCHANGE), (1, WRITE_AND_EXCHANGE)]),
        ),
        config(
            "one-place",
            "a CPU core and a compute unit write 2 lines in opposite orders, with room for one everywhere",
            pressed(1, &[(0, ALONG), (1, CROSSED)]),
        ),
        config(
            "three-writers",
            "2 CPU cores and a compute unit write one word",
            pressed(2, &[(0, &[&[WeakStore(X)]]), (1, &[&[WeakStore(X1)]]), (2, WRITE_AND_EXCHANGE)]),
        ),
    ]
}
