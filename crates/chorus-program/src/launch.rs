//! Launches and writes of the host, with the values of a run.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES};
use chorus_ptx::Printed;

use crate::element::Element;
use crate::error::Result;
use crate::expression::{Expression, Values};
use crate::facts::Facts;
use crate::layout::{Layout, address};
use crate::manifest::{Argument, ArgumentValue, Launch, Manifest, Set};

/// The most threads of a block.
const THREADS_MAX: i128 = 1024;

/// The most bytes of dynamic shared memory. Machines have less, and say so.
const SHARED_MAX: i128 = 1 << 24;

/// The warps of a launch.
pub(crate) fn warps(launch: &chorus_ptx::Launch) -> u64 {
    let product = |sizes: [u32; 3]| sizes.into_iter().map(u64::from).product::<u64>();
    product(launch.grid) * product(launch.block).div_ceil(LANES as u64)
}

/// A launch with the values of a run. Without a layout, everything is examined but for the addresses.
pub(crate) fn resolve(
    launch: &Launch,
    manifest: &Manifest,
    facts: &Facts,
    values: &Values,
    layout: Option<&Layout>,
) -> Result<chorus_ptx::Launch> {
    let size = |size: &Expression| size.within(values, 1, u32::MAX.into(), "a size").map(|size| size as u32);
    let sizes = |[x, y, z]: &[Expression; 3]| Ok([size(x)?, size(y)?, size(z)?]);
    let (grid, block): ([u32; 3], [u32; 3]) = (sizes(&launch.grid)?, sizes(&launch.block)?);
    let product = |sizes: [u32; 3]| sizes.into_iter().map(i128::from).product::<i128>();
    if product(block) > THREADS_MAX {
        let threads = product(block);
        return Err(launch.block[0].place.mistake(format!("a block has 1 to {THREADS_MAX} threads, not {threads}")));
    }
    if product(grid) > u32::MAX.into() {
        return Err(launch.grid[0].place.mistake(format!("a grid has fewer than 2^32 blocks, not {}", product(grid))));
    }
    let shared = launch.shared_bytes.within(values, 0, SHARED_MAX, "a number of bytes of shared memory")?;
    let argument = |argument: &Argument| bytes_of(argument, manifest, facts, values, layout);
    let arguments = launch.arguments.iter().map(argument).collect::<Result<_>>()?;
    let (dynamic_shared_bytes, device) = (shared as u32, manifest.device);
    Ok(chorus_ptx::Launch { grid, block, dynamic_shared_bytes, arguments, device })
}

fn bytes_of(
    argument: &Argument,
    manifest: &Manifest,
    facts: &Facts,
    values: &Values,
    layout: Option<&Layout>,
) -> Result<Vec<u8>> {
    let bits = match &argument.value {
        ArgumentValue::Bytes(bytes) => return Ok(bytes.clone()),
        ArgumentValue::Buffer { buffer, offset } => {
            let bytes = facts.lengths[*buffer] * manifest.buffers[*buffer].element.bytes();
            let offset = offset.within(values, 0, bytes.into(), "an offset in bytes")? as u64;
            layout.map_or(0, |layout| address(layout.buffers[*buffer])) + offset
        }
        ArgumentValue::Real(real) if argument.bytes == 4 => (*real as f32).to_bits().into(),
        ArgumentValue::Real(real) => real.to_bits(),
        ArgumentValue::Whole { value, is_float: true } => {
            let float = if argument.bytes == 4 { Element::F32 } else { Element::F64 };
            float.of_integer(value.value(values)?)
        }
        ArgumentValue::Whole { value, is_float: false } => {
            let bits = 8 * argument.bytes;
            let what = format!("an argument of {} bytes", argument.bytes);
            value.within(values, -(1 << (bits - 1)), (1 << bits) - 1, &what)? as u64
        }
    };
    Ok(bits.to_le_bytes()[..(argument.bytes as usize).min(8)].to_vec())
}

/// The kernel of a launch.
pub(crate) fn kernel(
    launch: &Launch,
    manifest: &Manifest,
    facts: &Facts,
    values: &Values,
    layout: &Layout,
) -> Result<(Kernel, Printed)> {
    let resolved = resolve(launch, manifest, facts, values, Some(layout))?;
    let made = launch.entry.kernel(&resolved, &layout.memories[launch.module]);
    let (mut kernel, printed) = made.map_err(|message| launch.place.mistake(message))?;
    if launch.access.is_empty() {
        return Ok((kernel, printed));
    }
    for &(buffer, mode) in &launch.access {
        kernel = kernel.access(layout.buffers[buffer], mode);
    }
    // A file cannot name the variables of its modules.
    for &variables in layout.variables.iter().flatten() {
        kernel = kernel.access(variables, AccessMode::ReadWrite);
    }
    Ok((kernel, printed))
}

/// A write of the host with the values of a run.
pub(crate) struct Write {
    element: Element,
    buffer: Buf<u32>,
    index: u64,
    bits: u64,
    name: String,
}

/// The element and the bits that a write of the host sets.
pub(crate) fn examine(set: &Set, manifest: &Manifest, facts: &Facts, values: &Values) -> Result<(u64, u64)> {
    let last = i128::from(facts.lengths[set.buffer]) - 1;
    let index = set.index.within(values, 0, last, "the number of an element")?;
    Ok((index as u64, facts.bits(&manifest.buffers[set.buffer], &set.value, values)?))
}

impl Write {
    pub(crate) fn of(set: &Set, manifest: &Manifest, facts: &Facts, values: &Values, layout: &Layout) -> Result<Write> {
        let (index, bits) = examine(set, manifest, facts, values)?;
        let buffer = &manifest.buffers[set.buffer];
        let name = format!("set {}", buffer.name);
        Ok(Write { element: buffer.element, buffer: layout.buffers[set.buffer], index, bits, name })
    }

    /// Makes the write in memory of which nobody has a copy yet.
    pub(crate) fn make(&self, memory: &HostMemory) {
        self.element.store(memory, self.buffer.start() as usize, self.index, self.bits);
    }

    /// The kernel that makes the write. Caches may have copies of what it writes, so the machine must do it.
    pub(crate) fn kernel(self) -> Kernel {
        let Write { element, buffer, index, bits, name } = self;
        let byte = index * element.bytes();
        let (word, shift) = ((byte / 4) as u32, 8 * (byte % 4));
        let kernel = Kernel::new(name, 1, 1, move |w| async move {
            match element.bytes() {
                8 => {
                    w.store_one(buffer, word, bits as u32);
                    w.store_one(buffer, word + 1, (bits >> 32) as u32);
                }
                4 => w.store_one(buffer, word, bits as u32),
                bytes => {
                    let mask = (u32::MAX >> (32 - 8 * bytes)) << shift;
                    let old = w.load_one(buffer, word).await;
                    w.store_one(buffer, word, old & !mask | (bits as u32) << shift);
                }
            }
        });
        kernel.access(buffer, AccessMode::ReadWrite)
    }
}
