//! A host that launches entries on the flat machine.

use std::sync::Arc;

use chorus_kernel::{Buf, HostMemory, flat};
use chorus_ptx::{Device, GLOBAL_MEMORY, Launch, Memory, Module};

/// An argument of a launch.
pub enum Argument {
    Buffer(Buf<u32>),
    Word(u32),
}

/// The address of a buffer.
pub fn address(buffer: Buf<u32>) -> u64 {
    GLOBAL_MEMORY + u64::from(buffer.start()) * 4
}

/// Runs one launch of an entry on the flat machine. Returns what its threads printed.
pub fn run(
    module: &Module,
    entry: &str,
    [blocks, threads]: [u32; 2],
    memory: &HostMemory,
    buffers: &[Buf<u32>],
    arguments: &[Argument],
) -> Result<String, String> {
    let grid = ([blocks, 1, 1], [threads, 1, 1]);
    run_grid(module, entry, grid, memory, buffers, arguments)
}

/// Runs one launch like [`run`], with a grid and a block of three dimensions.
pub fn run_grid(
    module: &Module,
    entry: &str,
    (grid, block): ([u32; 3], [u32; 3]),
    memory: &HostMemory,
    buffers: &[Buf<u32>],
    arguments: &[Argument],
) -> Result<String, String> {
    let entry = module.entry(entry).map_err(|error| error.to_string())?;
    let arguments = arguments
        .iter()
        .map(|argument| match argument {
            Argument::Buffer(buffer) => address(*buffer).to_le_bytes().to_vec(),
            Argument::Word(word) => word.to_le_bytes().to_vec(),
        })
        .collect();
    let launch = Launch { grid, block, dynamic_shared_bytes: 0, arguments, device: Device::Machine };
    let ranges = buffers.iter().map(|&buffer| address(buffer)..address(buffer) + buffer.len() as u64 * 4).collect();
    let variables = buffers.last().map_or(0, |&buffer| address(buffer));
    let (kernel, printed) = entry.kernel(&launch, &Memory { buffers: Arc::new(ranges), variables })?;
    flat::run_kernel(&kernel, memory).map_err(|mismatch| mismatch.to_string())?;
    Ok(printed.take())
}
