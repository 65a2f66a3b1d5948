//! Does a machine of several chiplets check kernels against their annotations, and only where there are any?

use chorus_kernel::{
    AccessMode, Annotated, Buf, HostMemory, Kernel, Mismatch, Program, Recording, Share, Verdict, flat,
};
use chorus_protocol::access::AtomicOp;
use chorus_protocol::registry;
use chorus_sim::{Settings, SimError, Simulated, simulate_with};
use chorus_system::{Scale, SystemConfig, resolve};

const WORK_GROUPS: u32 = 8;
const WORDS: usize = WORK_GROUPS as usize * 32;

/// A program of one launch.
struct Once(Option<Kernel>);

impl Program for Once {
    fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
        self.0.take()
    }

    fn check(&self, _: &HostMemory) -> Verdict {
        Verdict::Unchecked
    }
}

/// A kernel in which each work-group copies its own elements, and the memory of the program.
fn copy(declare: impl Fn(Kernel, Buf<u32>, Buf<u32>) -> Kernel) -> (Kernel, HostMemory) {
    let mut memory = HostMemory::default();
    let [x, y] = [(); 2].map(|()| memory.alloc::<u32>(WORDS));
    let kernel = Kernel::new("copy", WORK_GROUPS, 1, move |w| async move {
        let values = w.load(x, w.global_ids()).await;
        w.store(y, w.global_ids(), values);
    });
    (declare(kernel, x, y), memory)
}

/// A GPU of this many chiplets.
fn config(chiplets: u32) -> SystemConfig {
    resolve("cpelide", Scale::Quick, &[format!("hierarchy.gpms={chiplets}")]).unwrap().config
}

fn run(chiplets: u32, kernel: Kernel, memory: HostMemory) -> Result<Simulated, SimError> {
    run_under("cpelide", chiplets, true, kernel, memory)
}

fn run_under(
    protocol: &str,
    chiplets: u32,
    check_annotations: bool,
    kernel: Kernel,
    memory: HostMemory,
) -> Result<Simulated, SimError> {
    let protocol = registry::find(protocol).unwrap();
    let settings = Settings { check_annotations, ..Settings::defaults(protocol) };
    simulate_with(&config(chiplets), protocol, settings, &mut Once(Some(kernel)), memory)
}

fn own(share: Share) -> Vec<std::ops::Range<usize>> {
    vec![share.elements(32, WORDS)]
}

/// All but the last element.
fn short(share: Share) -> Vec<std::ops::Range<usize>> {
    vec![share.elements(32, WORDS - 1)]
}

fn right(kernel: Kernel, x: Buf<u32>, y: Buf<u32>) -> Kernel {
    kernel.access_parts(x, AccessMode::Read, own).access_parts(y, AccessMode::ReadWrite, own)
}

fn narrow(kernel: Kernel, x: Buf<u32>, y: Buf<u32>) -> Kernel {
    kernel.access_parts(x, AccessMode::Read, short).access_parts(y, AccessMode::ReadWrite, own)
}

#[test]
fn a_range_that_is_too_narrow_is_found_with_kernel_buffer_and_address() {
    let (kernel, memory) = copy(narrow);
    let Err(SimError::Undeclared(undeclared)) = run(4, kernel, memory) else { panic!("it is found") };
    assert_eq!((undeclared.kernel.as_str(), undeclared.work_group, undeclared.writes), ("copy", 7, false));
    assert_eq!((undeclared.word, undeclared.buffer.clone(), undeclared.chiplet), (255, Some((0, 0..256)), [3, 4]));
    let text = undeclared.to_string();
    assert!(text.starts_with("kernel copy reads word 255 (address 0x3fc) of buffer 0 (words 0..256)"), "{text}");
    assert!(text.contains("it declares words 192..255 of that buffer to be read and nothing to be written"), "{text}");
}

#[test]
fn a_write_to_what_is_declared_as_read_is_found() {
    let (kernel, memory) =
        copy(|kernel, x, y| kernel.access(x, AccessMode::ReadWrite).access_parts(y, AccessMode::Read, own));
    let Err(SimError::Undeclared(undeclared)) = run(2, kernel, memory) else { panic!("it is found") };
    assert!(undeclared.writes);
    assert_eq!(undeclared.buffer, Some((1, WORDS..2 * WORDS)));
}

#[test]
fn what_is_declared_rightly_or_not_at_all_runs() {
    for declare in [right, |kernel: Kernel, _, _| kernel] {
        let (kernel, memory) = copy(declare);
        assert!(run(4, kernel, memory).is_ok());
    }
}

#[test]
fn nobody_asks_on_one_chiplet_where_nobody_believes_kernels_or_where_the_check_is_off() {
    for (protocol, chiplets, check) in [("cpelide", 1, true), ("viper-chiplet", 4, true), ("cpelide", 4, false)] {
        let (kernel, memory) = copy(narrow);
        assert!(run_under(protocol, chiplets, check, kernel, memory).is_ok(), "{protocol} on {chiplets}");
    }
}

#[test]
fn a_write_to_read_only_data_is_found_with_kernel_buffer_and_address() {
    let said = "kernel update writes word 64 (address 0x100) of buffer 1 (words 64..128), which the program declares read-only";
    for atomic in [false, true] {
        let mut memory = HostMemory::default();
        let [x, y] = [(); 2].map(|()| memory.alloc::<u32>(64));
        memory.declare_read_only(y);
        let kernel = || {
            Kernel::new("update", 1, 1, move |w| async move {
                let values = w.load(y, w.lane_ids()).await;
                w.store(x, w.lane_ids(), values);
                if atomic {
                    w.atomic_one(AtomicOp::Add, y, 0, 1).await;
                } else {
                    w.store_one(y, 0, 1);
                }
            })
        };
        let written = run(1, kernel(), memory.clone()).unwrap_err().to_string();
        assert_eq!(written.lines().next(), Some(said));
        let Mismatch(written) = flat::run(&mut Once(Some(kernel())), &memory).unwrap_err();
        assert_eq!(written.lines().next(), Some(said));
    }
}

#[test]
fn an_access_that_was_not_recorded_ends_the_run_and_says_that_it_depends_on_timing() {
    let fill = |first: u32, memory: &mut HostMemory| {
        let x = memory.alloc::<u32>(4096);
        Kernel::new("fill", 2, 1, move |w| async move { w.store(x, w.global_ids() + first, w.lane_ids()) })
    };
    let mut memory = HostMemory::default();
    let mut program = Once(Some(fill(0, &mut memory)));
    let recording = Recording::of(&mut program, &memory, 1, 2).unwrap();
    let mut memory = HostMemory::default();
    let other = Once(Some(fill(1, &mut memory)));
    let mut program = Annotated::recorded(Box::new(other), recording);
    let protocol = registry::find("cpelide").unwrap();
    let ended = simulate_with(&config(2), protocol, Settings::defaults(protocol), &mut program, memory);
    let Err(SimError::Undeclared(undeclared)) = ended else { panic!("it is found") };
    assert!(undeclared.recorded);
    assert!(undeclared.to_string().contains("depends on timing; --annotate hand"), "{undeclared}");
}
