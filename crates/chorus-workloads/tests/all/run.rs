//! One run at quick scale whose result must be right.

use chorus_kernel::{HostMemory, Verdict};
use chorus_protocol::registry::Protocol;
use chorus_sim::{Settings, simulate_with};
use chorus_system::{Scale, resolve};
use chorus_workloads::Workload;

/// Runs a workload on a system with overrides, under a protocol with parameters, and returns its cycles.
pub fn cycles(
    system: &str,
    set: &[String],
    protocol: &'static dyn Protocol,
    parameters: &[(&str, u64)],
    workload: &dyn Workload,
) -> u64 {
    let config = resolve(system, Scale::Quick, set).unwrap().config;
    let mut settings = Settings { fences: workload.communicates(), ..Settings::defaults(protocol) };
    for &(key, value) in parameters {
        settings.parameters.set(key, value);
    }
    let mut memory = HostMemory::default();
    let mut program = workload.prepare(&workload.sizes_at(Scale::Quick), 1, &mut memory);
    let name = format!("{} under {} {parameters:?} on {system} {set:?}", workload.name(), protocol.name());
    match simulate_with(&config, protocol, settings, program.as_mut(), memory) {
        Ok(run) => {
            assert_eq!(run.check, Verdict::Checked, "{name}");
            run.cycles
        }
        Err(error) => panic!("{name}: {error}"),
    }
}
