//! Do kernels touch only what they declare, however many chiplets share them, and does a recording find out as much?

use chorus_kernel::{AccessMode, Annotated, HostMemory, Kernel, Mismatch, Program, Recording, Verdict, flat};
use chorus_system::Scale;
use chorus_workloads::{Paper, Sizes, Workload, workloads};

/// Numbers of chiplets, odd ones among them, so that parts begin anywhere.
const CHIPLETS: [u32; 5] = [1, 2, 4, 7, 16];

/// Programs of other papers that declare what they access as well.
const OTHERS: [&str; 4] = ["hsp", "ndl", "sr", "bfs"];

fn that_declare() -> impl Iterator<Item = &'static dyn Workload> {
    let declares =
        |workload: &&dyn Workload| workload.papers().contains(&Paper::CpElide) || OTHERS.contains(&workload.name());
    workloads().filter(declares)
}

fn prepare(workload: &dyn Workload, memory: &mut HostMemory) -> Box<dyn Program> {
    workload.prepare(&workload.sizes_at(Scale::Quick), 1, memory)
}

/// A program whose kernels are seen, and changed, before they run.
struct Seen<F>(Box<dyn Program>, F);

impl<F: FnMut(&mut Kernel)> Program for Seen<F> {
    fn next_kernel(&mut self, memory: &HostMemory) -> Option<Kernel> {
        let mut kernel = self.0.next_kernel(memory)?;
        (self.1)(&mut kernel);
        Some(kernel)
    }

    fn check(&self, memory: &HostMemory) -> Verdict {
        self.0.check(memory)
    }
}

/// The smallest sizes that a workload accepts, where those of all its ranges go together.
fn smallest(workload: &dyn Workload) -> Option<Sizes> {
    let mut sizes = workload.sizes_at(Scale::Quick);
    for spec in workload.sizes() {
        sizes.set(spec.key, spec.min).unwrap();
    }
    workload.misfit(&sizes).is_none().then_some(sizes)
}

#[test]
fn kernels_of_the_smallest_programs_touch_what_they_declare() {
    for workload in that_declare() {
        let Some(sizes) = smallest(workload) else { continue };
        let mut memory = HostMemory::default();
        let mut program = workload.prepare(&sizes, 1, &mut memory);
        assert_eq!(flat::run_declared(&CHIPLETS, program.as_mut(), &memory), Ok(()), "{}", workload.name());
    }
}

#[test]
fn kernels_touch_what_they_declare_and_nothing_else_and_all_declare_something() {
    for workload in that_declare() {
        let mut memory = HostMemory::default();
        let declares =
            |kernel: &mut Kernel| assert!(!kernel.annotations.is_empty(), "{} of {}", kernel.name, workload.name());
        let mut program = Seen(prepare(workload, &mut memory), declares);
        assert_eq!(flat::run_declared(&CHIPLETS, &mut program, &memory), Ok(()), "{}", workload.name());
    }
}

/// Whether kernels touch on so many chiplets what was recorded there.
fn check_recorded(chiplets: u32) {
    for workload in that_declare() {
        let mut memory = HostMemory::default();
        let mut program = prepare(workload, &mut memory);
        let recording = Recording::of(program.as_mut(), &memory, 1, chiplets).unwrap();
        let mut memory = HostMemory::default();
        let recorded = |kernel: &mut Kernel| {
            assert!(!kernel.annotations.is_empty(), "{} of {}", kernel.name, workload.name());
            assert!(kernel.annotations.iter().all(|annotation| annotation.is_recorded()));
        };
        let program = Annotated::recorded(prepare(workload, &mut memory), recording);
        let mut program = Seen(Box::new(program), recorded);
        assert_eq!(flat::run_declared(&[chiplets], &mut program, &memory), Ok(()), "{}", workload.name());
    }
}

#[test]
fn recordings_on_two_chiplets_cover_what_kernels_touch() {
    check_recorded(2);
}

#[test]
fn recordings_on_four_chiplets_cover_what_kernels_touch() {
    check_recorded(4);
}

#[test]
fn a_kernel_that_writes_what_it_declares_as_read_is_named() {
    for workload in that_declare() {
        let mut memory = HostMemory::default();
        let only_read = |kernel: &mut Kernel| {
            kernel.annotations.iter_mut().for_each(|annotation| annotation.mode = AccessMode::Read);
        };
        let mut program = Seen(prepare(workload, &mut memory), only_read);
        let Mismatch(message) = flat::run_declared(&[4], &mut program, &memory).unwrap_err();
        assert!(message.contains(" writes word ") && message.contains(" to be read and nothing to be"), "{message}");
    }
}
