//! Draws the machines that random programs run on.
//!
//! Small machines are drawn first and more often: most mistakes show soonest where few caches contend for a line or two
//! that never stay for long. Large ones have what small ones lack: third sharers, several banks in a module, modules
//! without wavefronts, entries of several lines, and every value that a parameter may have.

use chorus_protocol::address::Topology;
use chorus_protocol::cache::Replacement;
use chorus_protocol::parameter::{ParameterSpec, Parameters};
use chorus_protocol::registry::{CacheShape, DirectoryShape, Protocol, Reach};

use super::program::WaveSlot;
use super::random::Random;
use super::setup::{CommandsGiven, Delays, Evictions, Setup};
use crate::heterogeneous;

/// The most wavefronts of an episode. Each has a bit of its own in words that all of them change.
const WAVES_MAX: usize = 24;

/// The extent of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Few caches, lines and operations, and many evictions.
    Small,
    /// Any number of each.
    Large,
}

/// The number of episodes at the beginning of which only one in eight is large.
const SMALL_EPISODES: u64 = 20_000;

impl Extent {
    /// The extent of episode number `index`.
    pub(super) fn of(index: u64) -> Extent {
        let large_one_in = if index < SMALL_EPISODES { 8 } else { 2 };
        if index % large_one_in == large_one_in - 1 { Extent::Large } else { Extent::Small }
    }

    /// One of the small values, or one of the large ones.
    pub(super) fn pick<T: Copy>(self, small: &[T], large: &[T], random: &mut Random) -> T {
        random.pick(if self == Extent::Small { small } else { large })
    }
}

/// A random machine for a protocol.
pub(super) fn draw_setup(protocol: &dyn Protocol, extent: Extent, random: &mut Random) -> Setup {
    let (topology, directory) = match protocol.reach() {
        Reach::OneModule => {
            let caches = extent.pick(&[2, 2, 2, 3, 3, 4], &[1, 2, 3, 3, 4, 5, 6, 8], random);
            let one = Topology::one_gpu(caches, extent.pick(&[1, 1, 1, 2], &[1, 1, 2, 2, 3, 4], random));
            let cpus = if heterogeneous::applies(protocol) { random.between(0, u32::from(caches)) as u16 } else { 0 };
            (Topology { cpus, ..one }, DirectoryShape::SMALLEST)
        }
        Reach::AnyMachine => draw_modules(extent, random),
    };
    let mut shape = || CacheShape {
        sets: random.pick(&[1, 1, 2]),
        ways: extent.pick(&[1, 1, 2], &[1, 2, 2, 4], random),
        mshrs: random.between(1, 3),
        replacement: random.pick(&[Replacement::Lru, Replacement::Fifo]),
    };
    let (l1, mut l2) = (shape(), shape());
    if protocol.reach() == Reach::AnyMachine {
        // Banks reserve registers for requests that wait for fewer other banks: at a home, at a GPU home, and on the
        // path to them.
        l2.mshrs += 2;
    }
    let mut parameters = Parameters::defaults(protocol.parameters());
    for spec in protocol.parameters() {
        parameters.set(spec.key, draw_value(spec, random));
    }
    // Lines of several homes make messages of several homes race.
    let few: &[u8] = if protocol.reach() == Reach::AnyMachine { &[1, 2, 3, 3, 4, 6] } else { &[1, 1, 2, 2, 2, 3] };
    let lines = extent.pick(few, &[2, 2, 3, 3, 4, 5, 6, 8, 12, 16], random);
    Setup {
        topology,
        l1,
        l2,
        directory,
        waves: extent.pick(&[1, 1, 1, 2, 2, 3], &[1, 1, 2, 2, 3, 4], random),
        lines,
        fences: true,
        parameters,
        loads_in_flight: random.pick(&[1, 1, 2, 4]),
        evictions: draw_evictions(protocol, extent, random),
        shortcuts: random.once_in(2),
        read_only: if random.once_in(4) { random.next() as u32 & random.next() as u32 & ((1 << lines) - 1) } else { 0 },
        commands: match random.below(4) {
            0 => CommandsGiven::All,
            drawn => CommandsGiven::Needed { by_memory: drawn == 1 },
        },
        delays: draw_delays(random),
    }
}

/// Draws a value of a parameter: any that it may have. Of a long range the least values are likely, since they stress
/// the protocol, and so are the ends, the default, and every order of magnitude.
fn draw_value(spec: &ParameterSpec, random: &mut Random) -> u64 {
    // Reads that are refused for ever are the subject of another check.
    let least = if spec.key == "reqv.retries" { 1 } else { spec.min };
    let range = spec.max - least;
    if range < 16 {
        return least + u64::from(random.below(range as u32 + 1));
    }
    let drawn = match random.below(8) {
        0 => spec.explored[0],
        1 | 2 => least + u64::from(random.below(5)),
        3 => least + u64::from(random.below(64)),
        4 | 5 => least + u64::from(random.below(512)),
        6 => random.pick(&[least, least + 1, spec.default, spec.max - 1, spec.max]),
        _ => least + (random.next() & ((1 << random.between(0, range.ilog2() + 1)) - 1)),
    };
    drawn.clamp(least, spec.max)
}

/// A few GPUs of a few modules, with directories that are soon too small.
fn draw_modules(extent: Extent, random: &mut Random) -> (Topology, DirectoryShape) {
    let small = [(1, 1), (1, 2), (1, 3), (1, 3), (2, 1), (2, 1), (3, 1), (3, 1), (2, 2)];
    let large = [(1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (4, 1), (4, 2)];
    let (gpus, gpms) = extent.pick(&small, &large, random);
    let l1s = extent.pick(&[1, 1, 1, 2], &[1, 1, 2, 2, 3], random);
    let banks = extent.pick(&[1, 1, 2], &[1, 1, 2, 2, 3], random);
    let (entry_shift, range_shift) = (random.pick(&[0, 0, 1, 2]), random.pick(&[0, 1, 2]));
    let directory = DirectoryShape {
        sets: random.pick(&[1, 1, 2]),
        ways: extent.pick(&[1, 1, 2], &[1, 2, 4], random),
        lines_per_entry: 1 << entry_shift,
        range_lines: 1 << range_shift,
        replacement: Some(random.pick(&[Replacement::Lru, Replacement::Fifo])),
    };
    let modules = gpus * gpms;
    // An entry's lines lie in the memory of one module, and are served by one of its banks.
    let covered = entry_shift.max(range_shift);
    let home_shift = covered + random.pick(&[0, 0, 1]);
    let (interleave, home_shift) = (1 << covered, home_shift as u8);
    let topology = Topology { gpus, gpms, interleave, home_shift, ..Topology::one_gpu(modules * l1s, modules * banks) };
    (topology, directory)
}

/// Draws the wavefronts of a machine: beside all private caches, or beside some of them, so that other modules have
/// nothing but the homes of lines.
pub(super) fn draw_slots(setup: &Setup, random: &mut Random) -> Vec<WaveSlot> {
    let caches = u32::from(setup.topology.l1s);
    let used = if random.once_in(3) { random.between(1.max(caches / 3), caches) } else { caches };
    let mut chosen: Vec<u16> = (0..setup.topology.l1s).collect();
    random.shuffle(&mut chosen);
    chosen.truncate(used as usize);
    let every = chosen.iter().flat_map(|&cache| (0..setup.waves).map(move |slot| WaveSlot { cache, slot }));
    let mut slots: Vec<WaveSlot> = every.filter(|_| !random.once_in(8)).collect();
    random.shuffle(&mut slots);
    slots.truncate(WAVES_MAX);
    slots.sort_unstable_by_key(|slot| (slot.cache, slot.slot));
    slots
}

fn draw_evictions(protocol: &dyn Protocol, extent: Extent, random: &mut Random) -> Evictions {
    let mut rate = || extent.pick(&[0, 2, 4, 10, 30], &[0, 0, 4, 10, 30, 100], random);
    let (private, shared, entries) = (rate(), rate(), rate());
    // Only protocols that reach several modules may have directories with entries to evict.
    let entries = if protocol.reach() == Reach::AnyMachine { entries } else { 0 };
    Evictions { private, shared, entries }
}

fn draw_delays(random: &mut Random) -> Delays {
    Delays {
        message: random.pick(&[1, 2, 4, 8, 16, 32]),
        slow_networks: if random.once_in(2) { random.next() as u16 & random.next() as u16 } else { 0 },
        slow_agents: if random.once_in(2) { random.next() & random.next() } else { 0 },
        slow_links: if random.once_in(3) { random.next() } else { 0 },
        slowness: random.pick(&[2, 2, 4, 6]),
        late_one_in: random.pick(&[0, 0, 8, 32]),
        think: random.pick(&[0, 0, 1, 4, 16, 64]),
    }
}

#[cfg(test)]
mod tests {
    use chorus_protocol::registry;

    use super::*;

    fn setups(name: &str) -> Vec<Setup> {
        let protocol = registry::find(name).unwrap();
        let mut random = Random::new(1);
        (0..4000).map(|index| draw_setup(protocol, Extent::of(index), &mut random)).collect()
    }

    #[test]
    fn machines_of_many_shapes_are_drawn() {
        let drawn = setups("hmg");
        let some = |what: &str, is_such: &dyn Fn(&Setup) -> bool| assert!(drawn.iter().any(is_such), "{what}");
        some("four GPUs", &|setup| setup.topology.gpus == 4);
        some("four modules", &|setup| setup.topology.gpms == 4);
        some("three GPUs of modules", &|setup| setup.topology.gpus == 3 && setup.topology.gpms > 1);
        some("three banks", &|setup| setup.topology.banks_per_module() == 3);
        some("three caches", &|setup| setup.topology.l1s == 3 * setup.topology.modules());
        some("entries of four lines", &|setup| setup.directory.lines_per_entry == 4);
        some("ranges unlike entries", &|setup| setup.directory.lines_per_entry != setup.directory.range_lines);
        some("entries that leave alone", &|setup| {
            setup.evictions == Evictions { entries: setup.evictions.entries.max(1), ..Evictions::default() }
        });
        let everywhere = Evictions { private: 1, shared: 1, entries: 1 };
        some("lines that leave", &|setup| setup.evictions.private.min(setup.evictions.shared) >= everywhere.private);
    }

    #[test]
    fn every_value_of_a_short_range_and_the_ends_of_a_long_one_are_drawn() {
        for name in ["hmg", "cpelide", "smd", "tc-weak", "gpu-vini"] {
            let drawn = setups(name);
            for spec in registry::find(name).unwrap().parameters() {
                let has = |value: u64| drawn.iter().any(|setup| setup.parameters.get(spec.key) == value);
                let least = if spec.key == "reqv.retries" { 1 } else { spec.min };
                assert!(has(least) && has(spec.max) && has(spec.default), "{name} {}", spec.key);
                assert!(spec.max - least > 16 || (least..=spec.max).all(has), "{name} {}", spec.key);
            }
        }
    }

    #[test]
    fn wavefronts_leave_modules_out() {
        let mut random = Random::new(1);
        let idle = |setup: &Setup, random: &mut Random| {
            let slots = draw_slots(setup, random);
            let module = |slot: &WaveSlot| setup.topology.module_of(setup.topology.l1(slot.cache));
            let used: std::collections::BTreeSet<u16> = slots.iter().map(module).collect();
            used.len() + 1 < usize::from(setup.topology.modules())
        };
        assert!(setups("nhcc").iter().filter(|setup| idle(setup, &mut random)).count() > 100);
    }
}
