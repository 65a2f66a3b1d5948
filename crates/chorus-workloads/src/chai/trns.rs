//! `trns`: CPU threads and work-groups transpose a matrix in place, piece by piece along the cycles of the permutation.
//!
//! Source: Spandex paper (Alsop, Sinclair, Adve, ISCA 2018), section IV-B2 and Table VII: TRNS of Chai (Gómez-Luna et
//! al., ISPASS 2017), a matrix of 64 x 4,096, 8 CPU threads and 8 thread blocks of 256 work-items. Chai moves
//! super-elements of 32 adjacent elements of a row, in double precision, 256 bytes at a time. So does this program: it
//! transposes the matrix of super-elements. Whoever wants work takes the next super-element from a queue and follows
//! its cycle: it saves the super-element at the next place, claims that place by an exchange on its flag, puts the
//! super-element that it carries there, and goes on with the saved one. It stops at a place that has been claimed
//! already.
//!
//! Sharing: flags arbitrate between participants who meet on a cycle. Cycles jump all over the matrix, so that flags
//! have little spatial locality (section V-B). Neither have the super-elements. Each of them is read and written once
//! or twice. Nobody reads a written super-element again in the same launch: everybody reads a place before claiming it,
//! and uses what was read only if the flag says that nobody had written the place. An old value is therefore the right
//! one, and the only one that is used.
//!
//! Taking work and claiming a place are an acquire and a release.
//!
//! Chai measures again and again on a matrix that the host puts back. Here a second launch applies the same permutation
//! to what the first has left, with flags and a queue of its own, and finds the matrix in the caches.
//!
//! A work-group follows one cycle at a time. Its first 32 work-items carry an element each. The others have none, as in
//! Chai where a block is wider than a super-element, and take part in the barriers only. An element is two random
//! words.
//!
//! Arithmetic: 23 instructions for the next place of a cycle, 20 of them for the division. A CPU keeps elements on its
//! stack: 2 instructions per element read, written or handed on, for the stack and the loop. A wavefront takes 4 for
//! the addresses of a super-element, and 2 per step of a cycle.

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use crate::chai::task_counter::TaskCounter;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;

/// Elements that are moved together.
const SUPER_ELEMENT: u32 = 32;
/// Words of an element.
const ELEMENT_WORDS: u32 = 2;
const SUPER_ELEMENT_WORDS: u32 = SUPER_ELEMENT * ELEMENT_WORDS;

/// Two words of local data that take turns. They say whether a place had been claimed.
const CLAIMED_SLOTS: [u32; 2] = [0, 1];
/// The word of local data that holds the number of the super-element taken from the queue.
const WORK_SLOT: u32 = 2;

/// The super-element that a CPU thread carries.
type Carried = [[u32; ELEMENT_WORDS as usize]; SUPER_ELEMENT as usize];

/// Transposes a matrix in place.
pub struct Trns;

/// Cycles have 13 super-elements each. The matrix takes 2 MB. A CPU makes about 100 line accesses per super-element and
/// a work-group 14.
static SIZES: [SizeSpec; 5] = [
    SizeSpec::new("cpu_threads", "CPU threads", [8, 8, 8], "Spandex Table VII (TRNS)").range(1, 64),
    SizeSpec::new("work_groups", "work-groups", [8, 8, 8], "Spandex Table VII (TRNS)").range(1, 4096),
    SizeSpec::new("rows", "rows of the matrix", [64, 64, 64], "Spandex Table VII (TRNS)").range(2, 1 << 10),
    SizeSpec::new("columns", "columns of the matrix", [4096, 4096, 4096], "Spandex Table VII (TRNS)")
        .range(2 * SUPER_ELEMENT as u64, 1 << 15)
        .multiple_of(SUPER_ELEMENT as u64),
    SizeSpec::new(
        "launches",
        "launches, each of which applies the permutation to the matrix",
        [2, 2, 16],
        "chosen: at most 2^19, 2^20 and 2^23 line accesses; Chai repeats its measurement",
    )
    .range(1, 1000),
];

/// The rows and columns of the matrix of super-elements.
#[derive(Clone, Copy)]
struct Shape {
    rows: u32,
    columns: u32,
}

impl Shape {
    fn of(sizes: &Sizes) -> Shape {
        Shape { rows: sizes.get("rows"), columns: sizes.get("columns") / SUPER_ELEMENT }
    }

    fn super_elements(self) -> u32 {
        self.rows * self.columns
    }

    /// The last place. Its super-element stays where it is.
    fn last(self) -> u32 {
        self.super_elements() - 1
    }

    /// The place that a super-element goes to: the remainder of `place * rows` by the last place.
    fn next(self, place: u32) -> u32 {
        place * self.rows - self.last() * (place / self.columns)
    }
}

/// One launch: the matrix, the flags of its places, and the queue.
#[derive(Clone, Copy)]
struct Launch {
    shape: Shape,
    matrix: Buf<u32>,
    claimed: Buf<u32>,
    queue: TaskCounter,
}

impl Launch {
    async fn wavefront(self, w: Wave) {
        let mut steps = 0;
        loop {
            let start = self.queue.take(&w, WORK_SLOT).await;
            if start >= self.shape.last() {
                break;
            }
            w.alu(23).await;
            if self.shape.next(start) != start {
                self.follow(&w, start, &mut steps).await;
            }
        }
    }

    /// Follows a cycle until a place has been claimed already. `steps` counts on, since two slots take turns.
    async fn follow(&self, w: &Wave, start: u32, steps: &mut usize) {
        let mut carried = self.read(w, start).await;
        let mut place = self.shape.next(start);
        let leads = w.id().wave == 0;
        let checked = if leads { w.load_acquire(self.claimed, start, Scope::System).await } else { 0 };
        let mut claimed = self.tell(w, checked, steps).await;
        while !claimed {
            let saved = self.read(w, place).await;
            let before = if leads { self.claim(w, place).await } else { 0 };
            claimed = self.tell(w, before, steps).await;
            if !claimed && leads {
                self.write(w, place, carried).await;
            }
            carried = saved;
            w.alu(2 + 23).await;
            place = self.shape.next(place);
        }
    }

    /// Reads a super-element, two words per work-item that has an element.
    async fn read(&self, w: &Wave, place: u32) -> [Lanes<u32>; ELEMENT_WORDS as usize] {
        if w.id().wave > 0 {
            return [Lanes::splat(0); ELEMENT_WORDS as usize];
        }
        w.alu(4).await;
        let loads = std::array::from_fn(|row| w.load(self.matrix, words(w, place, row)));
        w.join_all(loads).await
    }

    async fn write(&self, w: &Wave, place: u32, values: [Lanes<u32>; ELEMENT_WORDS as usize]) {
        w.alu(4).await;
        for (row, values) in values.into_iter().enumerate() {
            w.store(self.matrix, words(w, place, row), values);
        }
    }

    /// Claims a place and returns its flag from before.
    async fn claim(&self, w: &Wave, place: u32) -> u32 {
        w.fence_release(Scope::System).await;
        let (one, at) = (Mask::lane(0), Lanes::splat(place));
        let before = w.atomic_in(Scope::System, AtomicOp::Exchange, one, self.claimed, at, Lanes::splat(1)).await[0];
        w.fence(Scope::System).await;
        before
    }

    /// Hands a flag from the first wavefront to the others, through a slot that all have read since it was last used.
    async fn tell(&self, w: &Wave, flag: u32, steps: &mut usize) -> bool {
        let (one, slot) = (Mask::lane(0), Lanes::splat(CLAIMED_SLOTS[*steps % 2]));
        *steps += 1;
        if w.id().wave == 0 {
            w.lds_write(one, slot, Lanes::splat(flag));
        }
        w.barrier().await;
        w.lds_read::<u32>(one, slot)[0] != 0
    }

    async fn cpu_thread(self, cpu: Cpu) {
        loop {
            let start = self.queue.take_cpu(&cpu).await;
            if start >= self.shape.last() {
                break;
            }
            cpu.alu(23);
            if self.shape.next(start) != start {
                self.follow_cpu(&cpu, start).await;
            }
        }
    }

    /// Follows a cycle as wavefronts do in [`Launch::follow`].
    async fn follow_cpu(&self, cpu: &Cpu, start: u32) {
        let mut carried = self.read_cpu(cpu, start).await;
        let mut place = self.shape.next(start);
        let mut claimed = cpu.load_acquire(self.claimed, start).await != 0;
        while !claimed {
            let saved = self.read_cpu(cpu, place).await;
            cpu.fence_release().await;
            claimed = cpu.atomic(AtomicOp::Exchange, self.claimed, place, 1).await != 0;
            cpu.fence().await;
            if !claimed {
                for (element, value) in (0..).zip(carried) {
                    cpu.alu(2);
                    cpu.store_vec(self.matrix, place * SUPER_ELEMENT_WORDS + element * ELEMENT_WORDS, value);
                }
            }
            cpu.alu(2 * SUPER_ELEMENT);
            carried = saved;
            cpu.alu(23);
            place = self.shape.next(place);
        }
    }

    async fn read_cpu(&self, cpu: &Cpu, place: u32) -> Carried {
        let mut carried = Carried::default();
        for (element, value) in (0..).zip(&mut carried) {
            *value = cpu.load_vec(self.matrix, place * SUPER_ELEMENT_WORDS + element * ELEMENT_WORDS).await;
            cpu.alu(2);
        }
        carried
    }
}

/// The words of one access of a wavefront, which covers half of a super-element.
fn words(w: &Wave, place: u32, row: usize) -> Lanes<u32> {
    w.lane_ids() + (place * SUPER_ELEMENT_WORDS + (row * LANES) as u32)
}

/// The matrix after one launch.
fn permuted(shape: Shape, matrix: &[u32]) -> Vec<u32> {
    let words = |place: u32| (place * SUPER_ELEMENT_WORDS) as usize..((place + 1) * SUPER_ELEMENT_WORDS) as usize;
    let mut result = matrix.to_vec();
    for place in 0..shape.last() {
        result[words(shape.next(place))].copy_from_slice(&matrix[words(place)]);
    }
    result
}

impl Workload for Trns {
    fn name(&self) -> &'static str {
        "trns"
    }

    fn title(&self) -> &'static str {
        "In-place transposition"
    }

    fn summary(&self) -> &'static str {
        "CPU threads and work-groups transpose a matrix in place; flags arbitrate where they meet on a cycle."
    }

    fn suite(&self) -> Suite {
        Suite::Chai
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Spandex]
    }

    fn source(&self) -> &'static str {
        "Alsop, Sinclair, Adve, Spandex, ISCA 2018, section IV-B2 (TRNS); Chai (Gómez-Luna et al., ISPASS 2017)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (cpu_threads, work_groups) = (sizes.get("cpu_threads"), sizes.get("work_groups"));
        let shape = Shape::of(sizes);
        let mut generator = SplitMix64::new(seed);
        let words = shape.super_elements() * SUPER_ELEMENT_WORDS;
        let mut expected: Vec<u32> = (0..words).map(|_| generator.next_u64() as u32).collect();
        let matrix = memory.alloc_from(&expected);
        let flags: Vec<u32> =
            (0..=shape.last()).map(|place| u32::from(place < shape.last() && shape.next(place) != place)).collect();

        let (mut kernels, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..sizes.get("launches") {
            let (claimed, queue) = (memory.alloc(flags.len()), TaskCounter::new(memory));
            let launch = Launch { shape, matrix, claimed, queue };
            kernels.push(
                Kernel::new("transpose", work_groups, WAVES_PER_GROUP, move |w| launch.wavefront(w))
                    .lds((WORK_SLOT + 1) * 4)
                    .with_cpu(cpu_threads, move |cpu| launch.cpu_thread(cpu)),
            );
            outputs.push(Output::new("flags", claimed, &flags));
            expected = permuted(shape, &expected);
        }
        outputs.push(Output::new("matrix", matrix, &expected));
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Scale;

    use super::*;

    #[test]
    fn the_paper_scale_has_the_sizes_of_table_vii() {
        let shape = Shape::of(&Trns.sizes_at(Scale::Paper));
        assert_eq!((shape.rows, shape.columns * SUPER_ELEMENT), (64, 4096));
    }

    #[test]
    fn a_super_element_goes_to_its_place_in_the_transposed_matrix() {
        for scale in Scale::ALL {
            let shape = Shape::of(&Trns.sizes_at(scale));
            for place in 0..shape.last() {
                let (row, column) = (place / shape.columns, place % shape.columns);
                assert_eq!(shape.next(place), column * shape.rows + row, "{scale}");
            }
        }
    }

    #[test]
    fn cycles_are_longer_than_exchanges_of_two_places() {
        for scale in Scale::ALL {
            let shape = Shape::of(&Trns.sizes_at(scale));
            let length = 1 + std::iter::successors(Some(shape.next(1)), |&place| Some(shape.next(place)))
                .take_while(|&place| place != 1)
                .count();
            assert_eq!(length, 13, "{scale}");
        }
    }
}
