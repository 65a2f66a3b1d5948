//! Partitions made from the configuration of a machine.

use std::ops::Range;
use std::sync::Arc;

use chorus_kernel::HostMemory;
use chorus_protocol::address::{Role, Topology};
use chorus_protocol::cache::Replacement;
use chorus_protocol::controller::Controller;
use chorus_protocol::read_only::ReadOnlyLines;
use chorus_protocol::registry::{Build, BuildConfig, CacheShape, DirectoryShape, Protocol, Reach, Structure};
use chorus_protocol::sharers::Sharers;
use chorus_system::{BankOrder, DirectoryReplacement, NetworkKind, Placement, SystemConfig};

use super::SimError;
use super::bank::Bank;
use super::context::Context;
use super::partition::{Partition, Share};
use super::plan::Plan;
use super::translation::Translation;
use super::unit::Unit;
use crate::l3::Slice;
use crate::network::{NODES_MAX, nodes_of};
use crate::pages::HOME_SHIFT;
use crate::simulate::Settings;

/// Refuses machines that a protocol is not for.
pub(super) fn check(config: &SystemConfig, protocol: &(impl Protocol + ?Sized)) -> Result<(), SimError> {
    check_structure(config, protocol.structure(), protocol.title())?;
    let topology = protocol.structure().complete(topology(config));
    check_reach(topology, protocol.reach(), protocol.title(), &config.name)?;
    check_network(config, topology)
}

/// Makes an idle partition, number `own` of all `shares`.
pub(super) fn partition<const W: usize, P>(
    plan: &Plan<'_>,
    protocol: &P,
    build: &BuildConfig,
    shares: &[Share],
    own: u8,
    owners: Arc<Vec<u8>>,
) -> Result<Partition<W>, SimError>
where
    P: Protocol + Build<W> + ?Sized,
{
    let controller = |role: Role, index: u16| -> Result<Box<dyn Controller<W>>, SimError> {
        protocol
            .build(role, index, build)
            .ok_or_else(|| SimError::Unsupported(format!("{} has no {} controller", protocol.title(), role.name())))
    };
    let topology = plan.topology;
    let translation = |cache| match topology.tu_of(cache) {
        Some(agent) => {
            let controller = controller(Role::Tu, topology.role(agent).1)?;
            Ok(Some(Box::new(Translation::new(agent, controller, plan.networks))))
        }
        None => Ok::<_, SimError>(None),
    };
    let unit = |index: u16| {
        let cache = controller(Role::L1, index)?;
        Ok(Unit::new(plan, index, cache, translation(topology.l1(index))?))
    };
    let bank = |index: u16| {
        let cache = match index.checked_sub(topology.l2s) {
            None => controller(Role::L2, index)?,
            Some(index) => controller(Role::L3, index)?,
        };
        Ok(Bank::new(plan, index, cache, translation(topology.l2(index))?, slice(plan)))
    };
    let share = &shares[usize::from(own)];
    let units = share.units.clone().map(unit).collect::<Result<_, SimError>>()?;
    let banks = share.banks.clone().map(bank).collect::<Result<_, SimError>>()?;
    let gpu_of = |unit: u16| plan.place(topology.l1(unit)).gpu;
    let gpus = gpu_of(share.units.start)..gpu_of(share.units.end - 1) + 1;
    let context = Context::new(plan, owners, own, shares.len(), gpus);
    Ok(Partition::new(plan, share, units, banks, context))
}

/// The slice of a memory-side L3 beside a bank, on a machine that has such an L3.
fn slice(plan: &Plan<'_>) -> Option<Slice> {
    let config = plan.config;
    let slice = |l3| Slice::new(l3, &config.dram, plan.clocks.core, config.l1.line_bytes);
    config.memory_side_l3().map(slice)
}

/// The agents of a machine with this configuration.
pub(super) fn topology(config: &SystemConfig) -> Topology {
    let modules = config.hierarchy.modules();
    Topology {
        gpus: config.hierarchy.gpus as u16,
        gpms: config.hierarchy.gpms as u16,
        interleave: config.l2.interleave_lines,
        is_hashed: config.l2.bank_order == Some(BankOrder::Hashed),
        home_shift: HOME_SHIFT,
        cpus: config.cpus() as u16,
        ..Topology::one_gpu((config.cpus() + config.core.count * modules) as u16, (config.l2.banks * modules) as u16)
    }
}

/// Refuses machines with more or fewer levels of coherent caches than the protocol has.
fn check_structure(config: &SystemConfig, structure: Structure, protocol: &str) -> Result<(), SimError> {
    let system = &config.name;
    match (structure.has_l3(), config.has_coherent_l3()) {
        (true, false) => Err(SimError::Unsupported(format!(
            "{protocol} is a protocol for three levels of caches; the system {system} has no coherent L3 (l3.kind)\n\
             hint: the system spandex-hier has one"
        ))),
        (false, true) => Err(SimError::Unsupported(format!(
            "{protocol} is a protocol for two levels of caches; the system {system} has a coherent L3 behind them (l3.kind)\n\
             hint: the system spandex has none"
        ))),
        (true, true) | (false, false) => Ok(()),
    }
}

/// Refuses machines that are too large for protocols of one module: machines of several modules, and machines with more
/// private caches than such protocols tell apart.
fn check_reach(topology: Topology, reach: Reach, protocol: &str, system: &str) -> Result<(), SimError> {
    if reach != Reach::OneModule {
        return Ok(());
    }
    let (modules, caches, most) = (topology.modules(), topology.l1s, Sharers::CAPACITY);
    if modules > 1 {
        return Err(SimError::Unsupported(format!(
            "{protocol} is a protocol for the caches of one module; the system {system} has {modules} (hierarchy.gpus x hierarchy.gpms)\n\
             hint: --set hierarchy.gpus=1 --set hierarchy.gpms=1 makes it one, and `chorus list protocols` names protocols that reach further"
        )));
    }
    if caches > most {
        return Err(SimError::Unsupported(format!(
            "{protocol} tells at most {most} private caches apart; the system {system} has {caches} (core.count)\n\
             hint: --set core.count={most} leaves as many, and `chorus list protocols` names protocols that track modules instead"
        )));
    }
    Ok(())
}

/// The lines that the program declares read-only. They are known in advance only where pages are not placed while the
/// program runs.
pub(super) fn read_only_lines<const W: usize>(config: &SystemConfig, memory: &HostMemory) -> ReadOnlyLines {
    let lines = |words: &Range<usize>| (words.start / W) as u64..(words.end / W) as u64;
    match config.memory.placement {
        Placement::Single => ReadOnlyLines::longest(memory.read_only().iter().map(lines)),
        Placement::FirstTouch | Placement::Interleaved | Placement::Block | Placement::Buffer | Placement::Hashed => {
            ReadOnlyLines::NONE
        }
    }
}

fn has_store_buffers(config: &SystemConfig) -> bool {
    config.core.store_buffer_entries > 0 || config.cpu.as_ref().is_some_and(|cpu| cpu.store_buffer_entries > 0)
}

/// The directory of a bank. On one module nothing is remote, and the smallest one does.
fn directory_shape(config: &SystemConfig) -> DirectoryShape {
    let Some(directory) = &config.directory else {
        return DirectoryShape { sets: 1, ways: 1, lines_per_entry: 1, range_lines: 1, replacement: None };
    };
    DirectoryShape {
        sets: directory.entries / config.l2.banks / directory.ways,
        ways: directory.ways,
        lines_per_entry: directory.lines_per_entry,
        range_lines: (directory.range_bytes(config.l1.line_bytes) / config.l1.line_bytes).max(1),
        replacement: match directory.replacement {
            DirectoryReplacement::Own => None,
            DirectoryReplacement::Lru => Some(Replacement::Lru),
            DirectoryReplacement::Fifo => Some(Replacement::Fifo),
        },
    }
}

/// Refuses networks of more nodes than routes are kept for. Machines have few modules, so those between them never are.
fn check_network(config: &SystemConfig, topology: Topology) -> Result<(), SimError> {
    let (kind, nodes) = (&config.network.kind, nodes_of(&config.network.kind, topology));
    if matches!(kind, NetworkKind::Crossbar(_)) || nodes <= NODES_MAX {
        return Ok(());
    }
    Err(SimError::Unsupported(format!(
        "a network of kind {} has at most {NODES_MAX} nodes in the simulator; a module of the system {} has {nodes} \
         caches and banks (network.kind)\n\
         hint: --set network.kind=crossbar joins any number; core.count and l2.banks say how many there are",
        kind.name(),
        config.name
    )))
}

pub(super) fn build_config(
    config: &SystemConfig,
    topology: Topology,
    settings: Settings,
    read_only: ReadOnlyLines,
) -> BuildConfig {
    let policy = |replacement| match replacement {
        chorus_system::Replacement::Lru => Replacement::Lru,
        chorus_system::Replacement::Fifo => Replacement::Fifo,
    };
    let line = config.l1.line_bytes;
    BuildConfig {
        topology,
        l1: CacheShape {
            sets: config.l1.size_bytes / line / config.l1.ways,
            ways: config.l1.ways,
            mshrs: config.l1.mshrs,
            replacement: policy(config.l1.replacement),
        },
        l2: CacheShape {
            sets: config.l2.bank_bytes / line / config.l2.ways,
            ways: config.l2.ways,
            mshrs: config.l2.mshrs,
            replacement: policy(config.l2.replacement),
        },
        l3: CacheShape {
            sets: config.l3.as_ref().map_or(1, |l3| l3.bank_bytes / line / l3.ways),
            ways: config.l3.as_ref().map_or(1, |l3| l3.ways),
            mshrs: config.l2.mshrs,
            replacement: policy(config.l2.replacement),
        },
        directory: directory_shape(config),
        page_lines: (config.memory.page_bytes / line).max(1),
        waves: config.core.wavefronts as u16 + u16::from(has_store_buffers(config)),
        buffer_wave: has_store_buffers(config).then_some(config.core.wavefronts as u16),
        fences: settings.fences,
        read_only,
        parameters: settings.parameters,
        fault: settings.fault,
    }
}
