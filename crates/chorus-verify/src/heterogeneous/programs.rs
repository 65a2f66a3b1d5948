//! Programs made for faults of protocols with several kinds of devices.
//!
//! They have more operations than threads can choose freely.

use super::{Choice, Thread, X, X1, Y, Z, config, devices, machine};
use crate::check::CheckConfig;
use crate::config::{Evictions, MachineConfig, one_set};
use crate::names::interned;

use chorus_protocol::access::Scope::System;
use chorus_protocol::registry::Protocol;

use Choice::{Acquire, Exchange, Fence, Release, WeakLoad, WeakStore};

const STORES: &[&[Choice]] = &[&[WeakStore(X)], &[WeakStore(X1)], &[Fence(System)], &[WeakLoad(X)]];
const REREADS: &[&[Choice]] = &[&[WeakLoad(X)], &[Fence(System)], &[WeakLoad(X)]];
const EXCHANGES: &[&[Choice]] = &[&[Exchange(X, System)], &[WeakStore(X)], &[Exchange(X, System)]];
const WRITER: &[&[Choice]] = &[&[WeakStore(X)], &[Release(Y)]];
const READER: &[&[Choice]] = &[&[Acquire(Y)], &[WeakLoad(X)]];
const WRITER_OF_TWO: &[&[Choice]] = &[&[WeakStore(X)], &[WeakStore(Y)], &[Release(Z)]];
const READER_OF_TWO: &[&[Choice]] = &[&[Acquire(Z)], &[WeakLoad(X)]];
const WRITER_BESIDE: &[&[Choice]] = &[&[WeakStore(X1)], &[Release(Y)]];
const WRITING_READER: &[&[Choice]] = &[&[Acquire(Y)], &[WeakStore(X)], &[WeakLoad(X1)]];
const SECOND_WRITER: &[&[Choice]] = &[&[WeakLoad(X)], &[WeakStore(X1)], &[Release(Y)]];
const SECOND_READER: &[&[Choice]] = &[&[WeakLoad(X1)], &[WeakStore(X)], &[Acquire(Y)], &[WeakLoad(X1)]];

/// A name or a description.
type Text = &'static str;

/// Programs made for faults of a protocol. Where there are compute units of two kinds, programs of a CPU core and a
/// compute unit are also run with a unit of the second kind.
pub fn programs(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let mut programs = all_programs();
    if devices(protocol).len() > 2 {
        let of_two_devices = programs.iter().filter(|config| config.machine.topology.cpus == 1);
        let second: Vec<CheckConfig> = of_two_devices.filter_map(beside_second_kind).collect();
        programs.extend(second);
    }
    programs
}

/// The program with everything beside the second compute unit that was beside the first; none if both take part.
fn beside_second_kind(config: &CheckConfig) -> Option<CheckConfig> {
    let mut machine = config.machine.clone();
    if machine.topology.l1s > 2 {
        return None;
    }
    machine.topology.l1s = 3;
    machine.threads.iter_mut().filter(|thread| thread.cache == 1).for_each(|thread| thread.cache = 2);
    Some(CheckConfig { name: interned(format!("{}-second", config.name)), machine, ..*config })
}

/// Programs that have more operations than threads can choose freely. Lines leave private caches at any time.
fn all_programs() -> Vec<CheckConfig> {
    let program = |name: Text, description: Text, cpus: u16, threads: &[Thread<'_>]| {
        let room = MachineConfig { l1: one_set(3, 3), l2: one_set(3, 3), ..machine(cpus, threads) };
        config(name, description, MachineConfig { evictions: Evictions::PrivateAnytime, ..room })
    };
    [
        programs_of_two_threads(program),
        programs_of_three_threads(program),
        programs_with_fences(program),
        programs_of_three_writers(program),
    ]
    .concat()
}

fn programs_of_two_threads(program: impl Fn(Text, Text, u16, &[Thread<'_>]) -> CheckConfig) -> Vec<CheckConfig> {
    // Three lines that leave at any time would make too many states.
    let still = |name: Text, description: Text, cpus: u16, threads: &[Thread<'_>]| {
        let CheckConfig { name, description, machine } = program(name, description, cpus, threads);
        config(name, description, MachineConfig { evictions: Evictions::WhenNeeded, ..machine })
    };
    vec![
        still(
            "two-writes-cpu-gpu",
            "a message of a CPU core about two lines",
            1,
            &[(0, WRITER_OF_TWO), (1, READER_OF_TWO)],
        ),
        still("two-writes-gpu-cpu", "the same the other way round", 1, &[(0, READER_OF_TWO), (1, WRITER_OF_TWO)]),
        program(
            "stores-cpu-gpu",
            "a CPU core writes both words of a line that a compute unit reads, and reads again behind a fence",
            1,
            &[(0, STORES), (1, REREADS)],
        ),
        program("stores-gpu-cpu", "the same the other way round", 1, &[(0, REREADS), (1, STORES)]),
        program("stores-cpus", "the same between CPU cores", 2, &[(0, STORES), (1, REREADS)]),
        program("stores-gpus", "the same between compute units", 0, &[(0, STORES), (1, REREADS)]),
        program(
            "exchanges-cpu-gpu",
            "a CPU core and a compute unit exchange and write one word",
            1,
            &[(0, EXCHANGES), (1, EXCHANGES)],
        ),
        program("exchanges-cpus", "the same beside CPU cores", 2, &[(0, EXCHANGES), (1, EXCHANGES)]),
        program("exchanges-gpus", "the same beside compute units", 0, &[(0, EXCHANGES), (1, EXCHANGES)]),
        program(
            "half-lines-cpu-gpu",
            "a message about a line whose other word its reader writes",
            1,
            &[(0, SECOND_WRITER), (1, SECOND_READER)],
        ),
        program("half-lines-gpu-cpu", "the same the other way round", 1, &[(0, SECOND_READER), (1, SECOND_WRITER)]),
        program(
            "half-written-gpu",
            "a compute unit writes a word of a line and reads the other, which a message is about",
            1,
            &[(0, WRITER_BESIDE), (1, WRITING_READER)],
        ),
        program("half-written-cpu", "the same beside a CPU core", 1, &[(0, WRITING_READER), (1, WRITER_BESIDE)]),
        program("half-lines-gpus", "the same between compute units", 0, &[(0, SECOND_READER), (1, SECOND_WRITER)]),
    ]
}

fn programs_of_three_threads(program: impl Fn(Text, Text, u16, &[Thread<'_>]) -> CheckConfig) -> Vec<CheckConfig> {
    vec![
        program(
            "load-beside-store",
            "a thread beside a compute unit loads a word of a line whose other word two caches write",
            1,
            &[(0, &[&[WeakStore(X)]]), (1, &[&[WeakLoad(X1)]]), (1, &[&[WeakStore(X)], &[WeakLoad(X)]])],
        ),
        program(
            "load-beside-store-cpu",
            "the same beside a CPU core",
            1,
            &[(0, &[&[WeakLoad(X1)]]), (0, &[&[WeakStore(X)], &[WeakLoad(X)]]), (1, &[&[WeakStore(X)]])],
        ),
        program(
            "two-owners",
            "a compute unit reads a line whose words two CPU cores have written",
            2,
            &[(0, &[&[WeakStore(X)]]), (1, &[&[WeakStore(X1)]]), (2, &[&[WeakLoad(X)], &[WeakLoad(X1)]])],
        ),
        program(
            "reader-beside",
            "another thread beside the reader of a message has a load on its way",
            1,
            &[(0, WRITER), (1, READER), (1, &[&[WeakLoad(X)]])],
        ),
    ]
}

fn programs_with_fences(program: impl Fn(Text, Text, u16, &[Thread<'_>]) -> CheckConfig) -> Vec<CheckConfig> {
    vec![
        program(
            "refill-in-fence",
            "another thread beside a compute unit loads while a fence there waits for a store",
            1,
            &[
                (0, &[&[WeakStore(Y)], &[Fence(System)], &[WeakLoad(X)]]),
                (1, &[&[WeakStore(X)], &[Fence(System)], &[WeakLoad(Y)]]),
                (1, &[&[WeakLoad(Y)]]),
            ],
        ),
        program(
            "refill-in-fence-cpu",
            "the same beside a CPU core",
            1,
            &[
                (0, &[&[WeakStore(X)], &[Fence(System)], &[WeakLoad(Y)]]),
                (0, &[&[WeakLoad(Y)]]),
                (1, &[&[WeakStore(Y)], &[Fence(System)], &[WeakLoad(X)]]),
            ],
        ),
        program(
            "exchange-in-fence",
            "another thread beside a compute unit exchanges what a load after a fence there reads",
            1,
            &[
                (0, &[&[WeakStore(Y)], &[Fence(System)], &[WeakLoad(X)]]),
                (1, &[&[WeakStore(X)], &[Fence(System)], &[WeakLoad(Y)]]),
                (1, &[&[Exchange(Y, System)]]),
            ],
        ),
        program(
            "exchange-in-fence-cpu",
            "the same beside a CPU core",
            1,
            &[
                (0, &[&[WeakStore(X)], &[Fence(System)], &[WeakLoad(Y)]]),
                (0, &[&[Exchange(Y, System)]]),
                (1, &[&[WeakStore(Y)], &[Fence(System)], &[WeakLoad(X)]]),
            ],
        ),
        program(
            "refill-in-fence-cpus",
            "another thread beside a CPU core loads what another core writes twice, while a fence waits for a store",
            2,
            &[
                (0, &[&[WeakStore(X)], &[Fence(System)], &[WeakLoad(Y)]]),
                (0, &[&[WeakLoad(Y)]]),
                (1, &[&[WeakStore(Y)], &[WeakStore(Y)], &[Fence(System)], &[WeakLoad(X)]]),
            ],
        ),
    ]
}

fn programs_of_three_writers(program: impl Fn(Text, Text, u16, &[Thread<'_>]) -> CheckConfig) -> Vec<CheckConfig> {
    vec![
        program(
            "writer-beside",
            "another thread beside the writer of a message writes too",
            1,
            &[(0, READER), (1, WRITER), (1, &[&[WeakStore(X1)]])],
        ),
        program(
            "third-writer",
            "a third cache writes the other word of the line that a message is about",
            1,
            &[(0, READER), (1, WRITER), (2, &[&[WeakStore(X1)]])],
        ),
    ]
}
