//! Buffers that a kernel fills before a recurrent layer runs.
//!
//! Source: DeepBench (Baidu Research), `code/nvidia/rnn_bench.cu` and `tensor.h`. Weights, inputs, states and gradients
//! are drawn by cuRAND on the GPU, results included, and workspaces are filled with zeros, each buffer in the order of
//! memory and before the layer runs.
//!
//! Where a page belongs to the module that touches it first, this is what places all of them: every module has as much
//! of each buffer as any other. Without these kernels all modules would race for the pages of what all of them write.
//!
//! Arithmetic, per element: 2 instructions for index and address, and 20 for a random number: 15 for the additions,
//! products and shifts of 64 bits, 5 to convert and scale.

use chorus_kernel::{Buf, HostMemory, Kernel, Lanes};

use crate::dnn::recurrent::elementwise;
use crate::generator::SplitMix64;

const FILL_ALU: u32 = 20;

/// The kernels that fill the buffers of a layer, and the random numbers that they draw.
pub(super) struct Filled {
    seed: u64,
    drawn: u64,
    kernels: Vec<Kernel>,
}

impl Filled {
    pub fn new(seed: u64) -> Filled {
        Filled { seed, drawn: 0, kernels: Vec::new() }
    }

    /// A buffer of random numbers between `-limit` and `limit`, and these numbers.
    pub fn random(&mut self, len: u32, limit: f32, memory: &mut HostMemory) -> (Buf<f32>, Vec<f32>) {
        let buf = memory.alloc::<f32>(len as usize);
        let (seed, first) = (self.seed, self.drawn);
        self.drawn += u64::from(len);
        let draw = move |element: u32| SplitMix64::at(seed, first + u64::from(element)).between_f32(-limit, limit);
        self.kernels.push(elementwise("fill", len, move |w| async move {
            let element = w.global_ids();
            w.alu(2 + FILL_ALU).await;
            w.store(buf, element, element.map(draw));
        }));
        (buf, (0..len).map(draw).collect())
    }

    /// A buffer of zeros.
    pub fn zeros(&mut self, len: u32, memory: &mut HostMemory) -> Buf<f32> {
        let buf = memory.alloc::<f32>(len as usize);
        self.kernels.push(elementwise("fill", len, move |w| async move {
            let element = w.global_ids();
            w.alu(2).await;
            w.store(buf, element, Lanes::splat(0.0));
        }));
        buf
    }

    /// The kernels, in the order in which the buffers were asked for.
    pub fn into_kernels(self) -> Vec<Kernel> {
        self.kernels
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;

    use super::*;

    #[test]
    fn kernels_fill_the_buffers_with_what_the_host_knows() {
        let mut memory = HostMemory::default();
        let mut filled = Filled::new(3);
        let ((a, drawn_a), (b, drawn_b)) = (filled.random(256, 1.0, &mut memory), filled.random(128, 0.5, &mut memory));
        let zeros = filled.zeros(128, &mut memory);
        for kernel in filled.into_kernels() {
            flat::run_kernel(&kernel, &memory).unwrap();
        }
        assert_eq!((memory.read(a), memory.read(b)), (drawn_a.clone(), drawn_b.clone()));
        assert_eq!(memory.read(zeros), vec![0.0; 128]);
        assert!(drawn_a[..128] != drawn_b && drawn_b.iter().all(|value| value.abs() <= 0.5));
    }
}
