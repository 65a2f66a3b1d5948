//! Buffers in memory: where they lie, and what they hold at first.

use std::ops::Range;
use std::sync::Arc;

use chorus_kernel::{Buf, HostMemory};
use chorus_ptx::{GLOBAL_MEMORY, Memory};
use chorus_workloads::generator::SplitMix64;
use chorus_workloads::graph::Graph;

use crate::element::Element;
use crate::error::Result;
use crate::facts::Facts;
use crate::graphs::hash;
use crate::manifest::{Buffer, Contents, GraphPart, Manifest};

/// Numbers that the contents of two buffers are drawn from do not overlap: every buffer has seeds of its own.
const SEEDS_APART: u64 = 0x5851_f42d_4c95_7f2d;

pub(crate) struct Layout {
    pub(crate) buffers: Vec<Buf<u32>>,
    /// The memory of each module's launches.
    pub(crate) memories: Vec<Memory>,
    /// The variables of each module, if it has any.
    pub(crate) variables: Vec<Option<Buf<u32>>>,
}

impl Layout {
    /// Lays the buffers and the modules' variables out, and fills them.
    pub(crate) fn of(manifest: &Manifest, facts: &Facts, seed: u64, memory: &mut HostMemory) -> Result<Layout> {
        let mut buffers = Vec::new();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (index, buffer) in manifest.buffers.iter().enumerate() {
            let bytes = facts.lengths[index] * buffer.element.bytes();
            // An empty buffer has an address of its own as well.
            let words = memory.alloc::<u32>(bytes.div_ceil(4).max(1) as usize);
            ranges.push(address(words)..address(words) + bytes);
            fill(buffer, index, words.start() as usize, facts, seed, memory)?;
            if buffer.read_only {
                memory.declare_read_only(words);
            }
            buffers.push(words);
        }
        let mut variables = Vec::new();
        for module in &manifest.modules {
            let bytes = module.variable_bytes();
            if bytes == 0 {
                variables.push(None);
                continue;
            }
            let words = memory.alloc::<u32>(bytes.div_ceil(4));
            ranges.push(address(words)..address(words) + bytes as u64);
            let start = words.start() as usize;
            let contents = module.variables(address(words));
            (0..).zip(contents).for_each(|(index, byte)| Element::U8.store(memory, start, index, byte.into()));
            variables.push(Some(words));
        }
        let buffers_of_all = Arc::new(ranges);
        let memory_of = |variables: &Option<Buf<u32>>| Memory {
            buffers: Arc::clone(&buffers_of_all),
            variables: variables.map_or(GLOBAL_MEMORY, address),
        };
        Ok(Layout { buffers, memories: variables.iter().map(memory_of).collect(), variables })
    }

    /// The word of memory in which a buffer begins.
    pub(crate) fn start(&self, buffer: usize) -> usize {
        self.buffers[buffer].start() as usize
    }
}

/// The address of a buffer's first byte.
pub(crate) fn address(buffer: Buf<u32>) -> u64 {
    GLOBAL_MEMORY + 4 * u64::from(buffer.start())
}

fn fill(buffer: &Buffer, index: usize, start: usize, facts: &Facts, seed: u64, memory: &HostMemory) -> Result<()> {
    let (element, length) = (buffer.element, facts.lengths[index]);
    let store = |at: u64, bits: u64| element.store(memory, start, at, bits);
    match &buffer.contents {
        Contents::Zero => {}
        Contents::Fill(number) => {
            let bits = facts.bits(buffer, number, &facts.values)?;
            (0..length).for_each(|at| store(at, bits));
        }
        Contents::Values(numbers) => {
            for (at, number) in (0..).zip(numbers) {
                store(at, facts.bits(buffer, number, &facts.values)?);
            }
        }
        Contents::Iota { start, step } => {
            let first = element.real(facts.bits(buffer, start, &facts.values)?);
            let step = element.real(facts.bits(buffer, step, &facts.values)?);
            (0..length).for_each(|at| store(at, element.of_real(first + step * at as f64)));
        }
        Contents::Random { min, max, seed: own } => {
            let derived = || seed.wrapping_add((index as u64 + 1).wrapping_mul(SEEDS_APART));
            let mut generator = SplitMix64::new(own.unwrap_or_else(derived));
            (0..length).for_each(|at| store(at, draw(element, *min, *max, &mut generator)));
        }
        Contents::Hash(of) => {
            let hashed = |at: u64| hash((at as u32).wrapping_mul(of.factor).wrapping_add(of.seed));
            (0..length).for_each(|at| store(at, hashed_element(element, hashed(at), of.modulo)));
        }
        Contents::Bytes(bytes) => {
            (0..).zip(&**bytes).for_each(|(at, &byte)| Element::U8.store(memory, start, at, byte.into()));
        }
        Contents::Graph { graph, part } => {
            let values = facts.graphs[*graph].as_deref().map_or(&[][..], |graph| part_of(graph, *part));
            (0..).zip(values).for_each(|(at, &value)| store(at, value.into()));
        }
    }
    Ok(())
}

fn part_of(graph: &Graph, part: GraphPart) -> &[u32] {
    match part {
        GraphPart::Offsets => graph.offsets(),
        GraphPart::Targets => graph.targets(),
        GraphPart::Weights => graph.weights().unwrap_or(&[]),
    }
}

/// A number from `min` to `max`; a float is less than `max`.
fn draw(element: Element, min: f64, max: f64, generator: &mut SplitMix64) -> u64 {
    match element {
        Element::F32 => element.of_real(generator.between_f32(min as f32, max as f32).into()),
        Element::F64 => element.of_real(min + (max - min) * (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64),
        _ => {
            let (min, max) = (min as i128, (max as i128).min(element.range()[1]));
            let span = (max - min + 1) as u128;
            element.of_integer(min + ((u128::from(generator.next_u64()) * span) >> 64) as i128)
        }
    }
}

/// A float from -1 up to 1 in steps of 2^-23, or a whole number.
fn hashed_element(element: Element, hashed: u32, modulo: u32) -> u64 {
    if element.is_float() {
        return element.of_real(f64::from((hashed >> 8) as f32 * (2.0 / (1 << 24) as f32) - 1.0));
    }
    element.of_integer(if modulo == 0 { hashed } else { hashed % modulo }.into())
}
