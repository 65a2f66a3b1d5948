//! Do the variants that protocols offer as parameters keep their memory model, too?

use std::collections::BTreeSet;

use chorus_protocol::access::{Order, Scope};
use chorus_protocol::registry::{DirectoryShape, Protocol, find};
use chorus_verify::check::{CheckConfig, check, configurations};
use chorus_verify::config::{Evictions, MachineConfig, one_set};
use chorus_verify::explore::{End, Exploration, OnForbidden};
use chorus_verify::program::{Op, Step};
use chorus_verify::settings::Settings;
use chorus_verify::words::Words;

/// Values of parameters, by key.
type Variant = &'static [(&'static str, u64)];

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

fn variant_of(config: CheckConfig, parameters: Variant) -> CheckConfig {
    CheckConfig { machine: MachineConfig { parameters: parameters.to_vec(), ..config.machine }, ..config }
}

/// Explores the configurations of these names.
fn passes(name: &str, parameters: Variant, names: &[&str]) {
    let protocol = protocol(name);
    for config in configurations(protocol).into_iter().filter(|config| names.contains(&config.name)) {
        let report = check(protocol, None, &variant_of(config, parameters));
        assert!(report.passed(), "{name} with {parameters:?}: {}", report.to_text());
    }
}

/// Whether an agent ever has a readable copy of line 0, which lies in the memory of the first of two GPUs.
fn ever_keeps(parameters: Variant, agent: u16) -> bool {
    let config = configurations(protocol("dir")).into_iter().find(|config| config.name == "beside-smoke").unwrap();
    let machine = variant_of(config, parameters).machine;
    let mut exploration = Exploration::new(protocol("dir"), None, &machine, OnForbidden::Stop);
    exploration.run(&Settings::with_states(200_000));
    let nodes = exploration.machine().nodes();
    nodes
        .all_results()
        .iter()
        .map(|step| nodes.node(step.before))
        .any(|node| node.agent == agent && !node.views[0].readable.is_empty())
}

#[test]
fn directories_are_coherent_whichever_caches_keep_lines_of_other_gpus() {
    const NAMES: [&str; 8] = [
        "smoke-shared",
        "modules-smoke",
        "gpus-smoke",
        "beside-smoke",
        "progress-smoke",
        "kernels-smoke",
        "weak",
        "message-gpus",
    ];
    passes("dir", &[("remote_caching", 0)], &NAMES);
    passes("dir", &[("remote_caching", 1)], &NAMES);
}

#[test]
fn only_the_caches_that_remote_caching_names_keep_lines_of_other_gpus() {
    // Two private caches and two banks, module by module.
    let (remote_l1, remote_l2) = (1, 3);
    let cases: [(Variant, [bool; 2]); 3] = [
        (&[("remote_caching", 0)], [false, false]),
        (&[("remote_caching", 1)], [true, false]),
        (&[("remote_caching", 2)], [true, true]),
    ];
    for (parameters, keeping) in cases {
        assert_eq!([remote_l1, remote_l2].map(|agent| ever_keeps(parameters, agent)), keeping, "{parameters:?}");
        assert!([0, 2].into_iter().all(|agent| ever_keeps(parameters, agent)), "{parameters:?}");
    }
}

/// Other suites explore the protocols of the CPElide paper with the harder value of each parameter.
#[test]
fn protocols_of_chiplets_are_coherent_with_other_parameters() {
    const NAMES: [&str; 8] = [
        "smoke-shared",
        "modules-smoke",
        "words-smoke",
        "beside-smoke",
        "progress-smoke",
        "kernels-smoke",
        "message-gpus",
        "kernels",
    ];
    passes("viper-chiplet", &[("remote_reads", 0)], &NAMES);
    passes("viper-chiplet", &[("boundaries", 0), ("remote_reads", 0)], &NAMES);
    passes("viper-chiplet", &[("boundaries", 0), ("remote_reads", 1)], &NAMES);
    passes("cpelide-range", &[("remote_reads", 0)], &NAMES);
    passes("viper-chiplet", &[("remote_reads", 0), ("remote_at_home", 0)], &NAMES);
    passes("cpelide", &[("remote_reads", 1), ("remote_at_home", 0)], &NAMES);
    passes("nhcc-wb", &[("elide", 0)], &NAMES);
}

/// Lines of a directory entry, and one more than that of the first two ranges.
const RANGE: u32 = 4;
const LINES: u8 = 5;

/// The accesses that a thread may choose from in a place: loads or stores of some lines.
#[derive(Clone, Copy)]
enum Weak<'a> {
    Loads(&'a [u8]),
    Stores(&'a [u8]),
}

/// Threads, beside the private caches of the modules given, on GPUs of so many modules. The lines lie in the memory of
/// module 0, whose directory, as every other, has one entry.
fn ranged(modules: [u16; 2], evictions: Evictions, threads: &[(u16, &[Weak<'_>])]) -> CheckConfig {
    let caches: Vec<u16> = threads.iter().map(|(cache, _)| *cache).collect();
    let (order, scope) = (Order::Weak, Scope::WorkGroup);
    let step = |thread: usize, place: usize, choice: &Weak<'_>| {
        let at = |&line: &u8| Words::one(line, 0);
        let value = (1 + thread * 4 + place) as u32;
        let alternatives = match choice {
            Weak::Loads(lines) => lines.iter().map(|line| Op::Load { at: at(line), order, scope }).collect(),
            Weak::Stores(lines) => lines
                .iter()
                .map(|line| Op::Store { at: at(line), values: at(line).values(value), order, scope })
                .collect(),
        };
        Step { alternatives, implied: false }
    };
    let steps: Vec<Vec<Step>> = threads
        .iter()
        .enumerate()
        .map(|(thread, (_, places))| {
            places.iter().enumerate().map(|(place, choice)| step(thread, place, choice)).collect()
        })
        .collect();
    let config = MachineConfig {
        l1: one_set(2, 2),
        l2: one_set(3, 3),
        directory: DirectoryShape { range_lines: RANGE, ..DirectoryShape::SMALLEST },
        evictions,
        parameters: vec![("ranges", 1)],
        ..MachineConfig::for_choices(&caches, LINES, steps)
    };
    let machine = config.on_modules(modules, 1, 3);
    CheckConfig { name: "ranges", description: "lines of ranges in one directory entry", machine }
}

/// Two lines of a range: a module of the home's GPU and one of the other GPU may hold them, the latter behind the home
/// of its own GPU.
fn shared_by_gpms_and_gpus() -> CheckConfig {
    let reads = &[Weak::Loads(&[0, 1])];
    ranged([2, 2], Evictions::WhenNeeded, &[(0, &[Weak::Stores(&[0, 1])]), (1, reads), (3, reads)])
}

/// The threads of [`shared_by_gpms_and_gpus`] without the module of the home's GPU. Entries of both homes leave at any
/// time.
fn leaving() -> CheckConfig {
    ranged([2, 2], Evictions::SharedAnytime, &[(0, &[Weak::Stores(&[0, 1])]), (3, &[Weak::Loads(&[0, 1])])])
}

/// Two ranges that need the same entry of their home, and of their home on the other GPU.
fn in_turn() -> CheckConfig {
    let reads = &[Weak::Loads(&[0, 1]), Weak::Loads(&[1, 4])];
    ranged([2, 2], Evictions::WhenNeeded, &[(3, reads), (0, &[Weak::Stores(&[0, 4])])])
}

#[test]
fn flat_and_hierarchical_directories_may_be_of_ranges() {
    for name in ["nhcc", "hmg"] {
        passes(name, &[("ranges", 1)], &["words-smoke", "entry-smoke", "beside-smoke", "kernels-smoke"]);
        passes(name, &[("ranges", 1), ("write_back", 1), ("downgrades", 1)], &["words-smoke", "entry-smoke"]);
        for config in [in_turn(), leaving(), shared_by_gpms_and_gpus()] {
            let report = check(protocol(name), None, &config);
            assert!(report.passed(), "{name}: {}", report.to_text());
        }
    }
}

/// The numbers of sharers that the directory of a module's bank ever has of a line.
fn sharers_of(exploration: &Exploration, bank: u16, line: usize) -> BTreeSet<u16> {
    let nodes = exploration.machine().nodes();
    let before = nodes.all_results().iter().map(|step| nodes.node(step.before));
    before.filter(|node| node.agent == bank).map(|node| node.views[line].sharers.len()).collect()
}

#[test]
fn a_range_of_hmg_has_gpms_and_gpus_as_sharers_at_both_of_its_homes() {
    let config = shared_by_gpms_and_gpus().machine;
    let mut exploration = Exploration::new(protocol("hmg"), None, &config, OnForbidden::Stop);
    assert_eq!(exploration.run(&Settings::default()), End::Exhausted);
    // Banks come after the private caches of four modules. Both lines have up to two sharers at their home, a module
    // and a GPU, and one at the home of the other GPU.
    let [home, gpu_home] = [4, 6];
    for line in [0, 1] {
        assert_eq!(sharers_of(&exploration, home, line), BTreeSet::from([0, 1, 2]));
        assert_eq!(sharers_of(&exploration, gpu_home, line), BTreeSet::from([0, 1]));
    }
}
