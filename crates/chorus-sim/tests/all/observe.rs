//! Does the chain of every access that is observed add up to its latency exactly, on every family of machines, and does
//! observation change nothing?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use chorus_kernel::HostMemory;
use chorus_protocol::registry;
use chorus_sim::observe::{Access, Cause, Interval, Observer, Passage, Purpose, Scene, SharedObserver};
use chorus_sim::synthetic::{Pattern, Synthetic};
use chorus_sim::{Settings, Simulated, Stream, Watch, simulate_watched, simulate_with};
use chorus_system::{Scale, SystemConfig, resolve};

/// The machines of every family with protocols of theirs.
const MACHINES: [(&str, &[&str]); 7] = [
    ("tc", &["gpu-vi", "tc-weak", "tc-strong", "mesi", "no-l1", "ideal-coh"]),
    ("hmg", &["hmg", "nhcc", "sw-hier"]),
    ("rec", &["dir", "rec"]),
    ("cpelide", &["cpelide", "viper-chiplet"]),
    ("spandex", &["sdd", "smg", "spandex-adaptive"]),
    ("spandex-hier", &["spandex-hier-mg", "spandex-hier-dd"]),
    ("h200", &["hopper"]),
];

/// An observer that checks every chain and adds up what it is told.
#[derive(Default)]
struct Checked {
    cycle: u64,
    ticks: BTreeMap<Purpose, u64>,
    count: BTreeMap<Purpose, u64>,
    by_cause: BTreeMap<Cause, u64>,
    numbers: BTreeSet<u64>,
    messages: u64,
}

impl Observer for Checked {
    fn begin(&mut self, scene: &Scene) {
        self.cycle = scene.cycle;
    }

    fn access(&mut self, access: &Access, chain: &[Interval]) {
        let mut now = access.issued;
        for interval in chain {
            assert_eq!(interval.from, now, "{access:?} has a gap: {chain:?}");
            assert!(interval.until > interval.from, "{access:?} has an empty interval: {chain:?}");
            now = interval.until;
        }
        assert_eq!(now, access.ended, "{access:?}: {chain:?}");
        assert!(self.numbers.insert(access.served.number.0), "{access:?} has the number of another");
        *self.ticks.entry(access.served.purpose).or_default() += access.ended - access.issued;
        *self.count.entry(access.served.purpose).or_default() += 1;
        if access.served.purpose == Purpose::Load {
            for interval in chain {
                let ticks = interval.until - interval.from;
                *self.by_cause.entry(interval.cause).or_default() += ticks;
            }
        }
    }

    fn wants_messages(&self) -> bool {
        true
    }

    fn message(&mut self, passage: &Passage<'_>) {
        let mut now = passage.sent;
        for segment in passage.segments {
            assert!(segment.until > now, "{passage:?}");
            now = segment.until;
        }
        self.messages += 1;
    }
}

fn observed(system: &SystemConfig, protocol: &str, pattern: Pattern) -> (Simulated, Checked) {
    let protocol = registry::find(protocol).unwrap();
    let checked = Arc::new(Mutex::new(Checked::default()));
    let shared: SharedObserver = checked.clone();
    let modules = system.hierarchy.modules();
    let mut memory = HostMemory::aligned(system.memory.alignment_bytes);
    let mut program = Synthetic::new(pattern, modules * 4, 6, &mut memory);
    let streams = &mut [Stream { program: &mut program, modules: 0..modules as u16 }];
    let watch = Watch { observer: Some(&shared), ..Watch::default() };
    let settings = Settings::defaults(protocol);
    let (result, _) = simulate_watched(system, protocol, settings, watch, streams, memory).unwrap();
    drop(shared);
    (result, Arc::into_inner(checked).unwrap().into_inner().unwrap())
}

fn alone(system: &SystemConfig, protocol: &str, pattern: Pattern) -> Simulated {
    let protocol = registry::find(protocol).unwrap();
    let mut memory = HostMemory::aligned(system.memory.alignment_bytes);
    let mut program = Synthetic::new(pattern, system.hierarchy.modules() * 4, 6, &mut memory);
    simulate_with(system, protocol, Settings::defaults(protocol), &mut program, memory).unwrap()
}

#[test]
fn chains_add_up_on_every_machine_and_nothing_changes() {
    for (name, protocols) in MACHINES {
        let system = resolve(name, Scale::Quick, &[]).unwrap().config;
        for &protocol in protocols {
            for pattern in [Pattern::HitHeavy, Pattern::MissHeavy, Pattern::ShareHeavy, Pattern::AtomicHeavy] {
                let (result, checked) = observed(&system, protocol, pattern);
                let label = format!("{protocol} on {name}, {}", pattern.name());
                assert_eq!(result, alone(&system, protocol, pattern), "{label}");
                let ticks = |purpose| checked.ticks.get(&purpose).copied().unwrap_or(0);
                let count = |purpose| checked.count.get(&purpose).copied().unwrap_or(0);
                let metric = |key: &str| result.metrics[key] as u64;
                assert_eq!(ticks(Purpose::Load) / checked.cycle, metric("l1.load_latency_cycles"), "{label}");
                assert_eq!(count(Purpose::Load), metric("l1.loads_completed"), "{label}");
                assert_eq!(ticks(Purpose::Fence) / checked.cycle, metric("core.fence_wait_cycles"), "{label}");
                assert_eq!(checked.by_cause.values().sum::<u64>(), ticks(Purpose::Load), "{label}");
                assert!(checked.messages > 0 || pattern == Pattern::HitHeavy, "{label}");
                let earlier = checked.by_cause.get(&Cause::Earlier).copied().unwrap_or(0);
                assert!(earlier * 100 <= ticks(Purpose::Load), "{label}: {earlier} ticks are unexplained");
            }
        }
    }
}
