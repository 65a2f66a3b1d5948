//! Does a kernel that panics end its run with the same panic on any number of threads?

use chorus_kernel::{HostMemory, Kernel, Mismatch, Wave};
use chorus_protocol::registry;
use chorus_sim::{Settings, quietly, simulate_with};
use chorus_system::{Scale, resolve};

use crate::once::Once;

/// The message of a run in which work-groups panic, those with high numbers first.
fn message(system: &str, protocol: &str, threads: u32, window: Option<u64>) -> String {
    let config = resolve(system, Scale::Quick, &[]).unwrap().config;
    let protocol = registry::find(protocol).unwrap();
    let groups = 2 * config.core.count * config.hierarchy.modules();
    let mut memory = HostMemory::default();
    let words = memory.alloc::<u32>(32 * groups as usize);
    let kernel = Kernel::new("crash", groups, 1, move |w: Wave| async move {
        let group = w.work_group();
        w.alu(10 * (groups - group)).await;
        let values = w.load(words, w.global_ids()).await;
        assert!(group < 2 || values[0] == 1, "work-group {group} read {}", values[0]);
    });
    let check = |_: &HostMemory| -> Result<(), Mismatch> { Ok(()) };
    let mut program = Once { kernels: vec![kernel], check };
    let settings = Settings { threads, window, ..Settings::defaults(protocol) };
    let panic = quietly(|| simulate_with(&config, protocol, settings, &mut program, memory)).expect_err("it panics");
    panic.downcast_ref::<String>().cloned().expect("a message")
}

#[test]
fn a_panic_of_a_kernel_ends_the_run_with_the_earliest_message() {
    for (system, protocol) in [("tc", "gpu-vi"), ("hmg", "hmg")] {
        let expected = message(system, protocol, 1, None);
        assert!(expected.starts_with("work-group ") && expected.ends_with(" read 0"), "{expected}");
        for (threads, window) in [(1, Some(7)), (2, None), (4, None), (3, Some(11))] {
            assert_eq!(message(system, protocol, threads, window), expected, "{system}, {threads} threads, {window:?}");
        }
    }
}
