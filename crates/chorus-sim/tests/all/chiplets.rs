//! Does the command processor give L2s the right commands between kernels at the right time, and do kernels of several
//! streams run at the same time?

use std::ops::Range;

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Mismatch, Program, Verdict};
use chorus_protocol::registry;
use chorus_sim::{Settings, Simulated, Stream, simulate_streams};
use chorus_system::{Scale, SystemConfig, resolve};

const CHIPLETS: u32 = 4;
/// Work-groups, one line of 16 words for each half of their wavefront.
const GROUPS: u32 = 64;
const WORDS: usize = GROUPS as usize * LANES;

/// Adds 1 to every element of an array, round after round.
struct Rounds {
    data: Buf<u32>,
    rounds: u32,
    left: u32,
    /// The element of a work-item: its own, or the element of the work-item this many work-groups further on.
    shift: u32,
    declares: bool,
}

impl Rounds {
    fn new(memory: &mut HostMemory, rounds: u32) -> Rounds {
        Rounds { data: memory.alloc(WORDS), rounds, left: rounds, shift: 0, declares: true }
    }
}

impl Program for Rounds {
    fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
        self.left = self.left.checked_sub(1)?;
        let data = self.data;
        let moved = self.left % 2 * self.shift;
        let kernel = Kernel::new("add", GROUPS, 1, move |w| async move {
            let group = (w.work_group() + moved) % GROUPS;
            let i = w.lane_ids() + group * LANES as u32;
            let values = w.load(data, i).await;
            w.store(data, i, values + 1);
        });
        if !self.declares {
            return Some(kernel);
        }
        Some(kernel.access_parts(data, AccessMode::ReadWrite, move |share| {
            let groups = share.groups();
            let of = |group: u32| (group + moved) % GROUPS * LANES as u32;
            groups.map(|group| of(group) as usize..of(group) as usize + LANES).collect()
        }))
    }

    fn check(&self, memory: &HostMemory) -> Verdict {
        let right = memory.read(self.data).iter().all(|value| *value == self.rounds);
        let wrong = || Mismatch("an element was not counted up in every round".to_owned());
        right.then_some(()).ok_or_else(wrong).into()
    }
}

fn config(set: &[&str]) -> SystemConfig {
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    resolve("cpelide", Scale::Quick, &set).unwrap().config
}

fn run_on(protocol: &str, set: &[&str], programs: &mut [(Rounds, Range<u16>)], memory: HostMemory) -> Simulated {
    let protocol = registry::find(protocol).unwrap();
    let mut streams: Vec<Stream<'_>> =
        programs.iter_mut().map(|(program, modules)| Stream { program, modules: modules.clone() }).collect();
    let settings = Settings::defaults(protocol);
    let result = simulate_streams(&config(set), protocol, settings, &mut streams, memory).unwrap();
    assert_eq!(result.check, Verdict::Checked);
    result
}

fn run(protocol: &str, set: &[&str], change: impl Fn(&mut Rounds)) -> Simulated {
    let mut memory = HostMemory::default();
    let mut program = Rounds::new(&mut memory, 4);
    change(&mut program);
    run_on(protocol, set, &mut [(program, 0..CHIPLETS as u16)], memory)
}

fn operations(result: &Simulated) -> (f64, f64) {
    (result.metrics["boundary.l2_acquires"], result.metrics["boundary.l2_releases"])
}

#[test]
fn the_baseline_writes_every_l2_back_and_empties_it_with_every_kernel() {
    let result = run("viper-chiplet", &[], |_| {});
    assert_eq!(operations(&result), (16.0, 16.0));
    assert_eq!(result.metrics["boundary.written_back"], 4.0 * (WORDS / 16) as f64);
}

#[test]
fn only_the_final_releases_remain_where_chiplets_keep_to_their_own() {
    let result = run("cpelide", &[], |_| {});
    assert_eq!(operations(&result), (0.0, 4.0));
    assert_eq!(result.metrics["boundary.l2_elided"], 32.0);
    assert_eq!(result.metrics["boundary.written_back"], (WORDS / 16) as f64);
    let without_work = run("cpelide", &["command_processor.elide_ns=0"], |_| {});
    assert!(without_work.cycles < run("viper-chiplet", &[], |_| {}).cycles);
}

#[test]
fn what_another_chiplet_will_access_is_written_back_before() {
    let moves = |program: &mut Rounds| program.shift = GROUPS / CHIPLETS;
    let own_memory = run("cpelide", &[], moves);
    assert_eq!(own_memory.metrics["boundary.l2_acquires"], 0.0);
    assert!(own_memory.metrics["boundary.l2_releases"] > 4.0);
    let as_drawn = run("cpelide", &["command_processor.holds=accessed"], moves);
    assert!(as_drawn.metrics["boundary.l2_acquires"] > 0.0);
}

#[test]
fn a_kernel_that_declares_nothing_is_treated_as_by_the_baseline() {
    let result = run("cpelide", &[], |program| program.declares = false);
    assert_eq!(result.metrics["boundary.l2_acquires"], 16.0);
}

#[test]
fn ranges_are_written_back_page_by_page() {
    let moves = |program: &mut Rounds| program.shift = 1;
    let (whole, ranges) = (run("cpelide", &[], moves), run("cpelide-range", &[], moves));
    assert!(ranges.metrics["boundary.written_back"] <= whole.metrics["boundary.written_back"]);
    assert!(ranges.metrics["boundary.l2_releases"] >= 4.0);
}

#[test]
fn work_on_the_table_delays_the_first_kernel_alone() {
    let result = run("cpelide", &[], |_| {});
    let waited = |kernel: usize| result.kernels[kernel].metrics["boundary.cycles"];
    let quick = run("cpelide", &["command_processor.elide_ns=0"], |_| {});
    assert!(waited(0) > 6900.0, "{}", waited(0));
    assert_eq!([1, 2, 3].map(waited), [0.0; 3]);
    assert_eq!(quick.kernels[0].metrics["boundary.cycles"], 0.0);
}

#[test]
fn more_sets_of_operations_take_longer() {
    let moves = |program: &mut Rounds| program.shift = GROUPS / CHIPLETS;
    let cycles = |sets: &str| {
        run("cpelide", &[&format!("command_processor.sets={sets}"), "core.launch_latency_cycles=1"], moves).cycles
    };
    assert!(cycles("1") < cycles("2") && cycles("2") < cycles("4"));
}

#[test]
fn kernels_of_several_streams_run_at_the_same_time() {
    let mut memory = HostMemory::default();
    let modules = 0..CHIPLETS as u16;
    let mut programs: Vec<_> = (0..3).map(|_| (Rounds::new(&mut memory, 4), modules.clone())).collect();
    let together = run_on("cpelide", &[], &mut programs, memory);
    let alone = run("cpelide", &[], |_| {});
    assert_eq!(together.metrics["core.kernels"], 12.0);
    assert!(together.cycles < 2 * alone.cycles, "{} and {}", together.cycles, alone.cycles);
}

#[test]
fn streams_stay_on_the_modules_that_they_are_bound_to() {
    for protocol in ["viper-chiplet", "cpelide", "cpelide-range", "nhcc-wt", "nhcc-wb"] {
        let mut memory = HostMemory::default();
        let mut programs: Vec<_> =
            [0..2, 2..3].into_iter().map(|modules| (Rounds::new(&mut memory, 4), modules)).collect();
        let result = run_on(protocol, &[], &mut programs, memory);
        if protocol == "viper-chiplet" {
            assert_eq!(operations(&result), (12.0, 12.0));
        }
    }
}

#[test]
fn the_same_streams_give_the_same_result_to_the_bit() {
    let run = || {
        let mut memory = HostMemory::default();
        let mut programs: Vec<_> = (0..2).map(|_| (Rounds::new(&mut memory, 3), 0..4)).collect();
        run_on("cpelide", &["command_processor.holds=accessed"], &mut programs, memory)
    };
    assert_eq!(run(), run());
}
