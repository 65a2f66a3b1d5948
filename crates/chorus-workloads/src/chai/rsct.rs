//! `rsct`: random sample consensus, in which a CPU thread draws models and work-groups test them.
//!
//! Source: Spandex paper (Alsop, Sinclair and Adve, ISCA 2018), section IV-B and Table VII, `RSCT` (2,000x5,922x4, 1
//! CPU thread, 16 thread blocks); RSCT of Chai (Gómez-Luna et al., ISPASS 2017): 2,000 models of a flow of 5,922
//! vectors. A vector has 4 numbers: a place and the place that it moves to. The CPU thread goes through the models in
//! turn. It reads two vectors that were drawn at random and computes the first-order flow through both: a centre, a
//! divergence and a rotation. Then it writes these 4 parameters and raises the model's flag. A work-group takes every
//! sixteenth model: it waits for the flag, goes through all vectors and counts the outliers, vectors that the model
//! misses by 3 or more in x or y. Where less than three quarters are outliers, model and count become a candidate in a
//! list that work-groups append to.
//!
//! Sharing: all work-groups read all vectors, again for every model. The vectors take 93 KB, three times an L1, so that
//! hardly any vector is found there the next time. The CPU thread reads a few vectors, sparsely. It hands over 4 words
//! per model. Sixteen flags share a line of 64 bytes, and so do the parameters of four models. The CPU's next write
//! therefore goes to a line that work-groups poll.
//!
//! Order: the flag is a release of the CPU thread and an acquire of the work-group. The counter of candidates is a
//! relaxed atomic; nobody reads the list before the kernel has ended.
//!
//! Result: parameters, flags and the number of candidates are compared word for word. Which work-group is the first to
//! append differs from machine to machine, so the list is compared as a set.
//!
//! A vector is one load of 16 bytes per lane. Arithmetic, per vector and lane: 26 instructions, which are 2 conversions
//! of the place, 2 differences, 4 products and their conversions, 6 sums, 2 comparisons, 2 to combine and count them,
//! an address and 3 for the loop. Per model and wavefront: 6 to compare and add up, and 5 more for the wavefront that
//! leads. The CPU thread spends 80 instructions on a model, 40 of them in four divisions, and 8 on addresses and its
//! loop. A poll takes 2.

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, LANES, Lanes, Mask, Mismatch, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;
const REGISTERS_PER_ITEM: u32 = 24;
const LDS_BYTES: u32 = 4;

/// Words of a vector, and parameters of a model.
const FIELDS: u32 = 4;
/// A model that differs from a vector by this much or more, in x or y, misses it.
const ERROR_MAX: f32 = 3.0;
/// The first parameter of a model that two vectors do not give.
const NO_MODEL: f32 = -2011.0;

/// The image that vectors lie in.
const WIDTH: u32 = 640;
const HEIGHT: u32 = 480;
/// Percentage of vectors that follow the flow.
const INLIERS_PERCENT: u32 = 60;

/// Random sample consensus whose tasks are partitioned between CPU and GPU.
pub struct Rsct;

/// A model takes 1500 line accesses of 64 bytes: 0.4 million in all at quick scale, 0.8 million at medium and 3 million
/// at paper scale. The number of vectors is the paper's at every scale.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("work_groups", "work-groups that test models", [16, 16, 16], "Spandex Table VII (RSCT)")
        .range(1, 4096),
    SizeSpec::new("models", "models that are drawn and tested", [256, 512, 2000], "Spandex Table VII (RSCT)")
        .range(1, 1 << 20),
    SizeSpec::new("vectors", "vectors of the flow", [5922, 5922, 5922], "Spandex Table VII (RSCT)").range(2, 1 << 24),
];

/// A place and the place it moves to.
#[derive(Clone, Copy, Debug)]
struct Vector {
    x: i32,
    y: i32,
    vx: i32,
    vy: i32,
}

impl Vector {
    fn from_words([x, y, vx, vy]: [i32; FIELDS as usize]) -> Vector {
        Vector { x, y, vx, vy }
    }
}

/// A first-order flow: places move away from a centre and around it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Model {
    centre: [f32; 2],
    divergence: f32,
    rotation: f32,
}

impl Model {
    /// The flow through two vectors, if there is one. In the complex plane a place `p` moves by `a (p - c)`, where `a`
    /// is divergence and rotation and `c` the centre.
    fn through(first: Vector, second: Vector) -> Option<Model> {
        let place = |vector: Vector| [vector.x as f32, vector.y as f32];
        let motion = |vector: Vector| [(vector.vx - vector.x) as f32, (vector.vy - vector.y) as f32];
        let minus = |a: [f32; 2], b: [f32; 2]| [a[0] - b[0], a[1] - b[1]];
        let factor = divide(minus(motion(first), motion(second)), minus(place(first), place(second)))?;
        let centre = minus(place(first), divide(motion(first), factor)?);
        Some(Model { centre, divergence: factor[0], rotation: factor[1] })
    }

    fn parameters(self) -> [f32; FIELDS as usize] {
        [self.centre[0], self.centre[1], self.divergence, self.rotation]
    }

    fn from_parameters([x, y, divergence, rotation]: [f32; FIELDS as usize]) -> Model {
        Model { centre: [x, y], divergence, rotation }
    }

    /// Whether a vector does not follow the flow. Motions are rounded to whole numbers, as in the original.
    fn misses(self, vector: Vector) -> bool {
        let (dx, dy) = (vector.x as f32 - self.centre[0], vector.y as f32 - self.centre[1]);
        let along_x = (dx * self.divergence) as i32 - (dy * self.rotation) as i32;
        let along_y = (dy * self.divergence) as i32 + (dx * self.rotation) as i32;
        let error = |from: i32, motion: i32, to: i32| from as f32 + motion as f32 - to as f32;
        error(vector.x, along_x, vector.vx).abs() >= ERROR_MAX || error(vector.y, along_y, vector.vy).abs() >= ERROR_MAX
    }
}

/// The quotient of two complex numbers.
fn divide(a: [f32; 2], b: [f32; 2]) -> Option<[f32; 2]> {
    let norm = b[0] * b[0] + b[1] * b[1];
    (norm != 0.0).then(|| [(a[0] * b[0] + a[1] * b[1]) / norm, (a[1] * b[0] - a[0] * b[1]) / norm])
}

/// Whether a model is good enough: less than three quarters of the vectors are outliers.
fn converges(outliers: u32, vectors: u32) -> bool {
    4 * outliers < 3 * vectors
}

/// The buffers of the kernel, and the numbers of models and vectors.
#[derive(Clone, Copy)]
struct Data {
    models: u32,
    vector_count: u32,
    vectors: Buf<i32>,
    /// Numbers of two vectors for each model.
    samples: Buf<u32>,
    parameters: Buf<f32>,
    flags: Buf<u32>,
    candidates: Buf<u32>,
    candidate_models: Buf<u32>,
    candidate_outliers: Buf<u32>,
}

/// The CPU thread: computes models and hands them over.
async fn produce(cpu: Cpu, data: Data) {
    for model in 0..data.models {
        let [first, second]: [u32; 2] = cpu.load_vec(data.samples, 2 * model).await;
        let first = Vector::from_words(cpu.load_vec(data.vectors, first * FIELDS).await);
        let second = Vector::from_words(cpu.load_vec(data.vectors, second * FIELDS).await);
        cpu.alu(88);
        let parameters = Model::through(first, second).map_or([NO_MODEL, 0.0, 0.0, 0.0], |model| model.parameters());
        for (field, parameter) in (0..).zip(parameters) {
            cpu.store(data.parameters, model * FIELDS + field, parameter);
        }
        cpu.store_release(data.flags, model, 1).await;
    }
}

/// A work-group: tests its share of the models, every sixteenth where there are 16 work-groups.
async fn consume(w: Wave, data: Data) {
    let leads = w.id().wave == 0;
    for number in (w.work_group()..data.models).step_by(w.id().work_groups as usize) {
        if leads {
            w.lds_write(Mask::lane(0), Lanes::splat(0), Lanes::splat(0_u32));
            let (lane, at) = (Mask::lane(0), Lanes::splat(number));
            while w.load_relaxed(Scope::System, lane, data.flags, at).await[0] == 0 {
                w.alu(2).await;
            }
            w.fence(Scope::System).await;
        }
        w.barrier().await;
        let fields = Mask::first(FIELDS as usize);
        let parameters = w.load_where(fields, data.parameters, w.lane_ids() + number * FIELDS).await;
        w.alu(2).await;
        if parameters[0] == NO_MODEL {
            continue;
        }
        let model = Model::from_parameters(std::array::from_fn(|field| parameters[field]));
        let outliers = count_outliers(&w, data, model).await;
        w.alu(4).await;
        let before: Lanes<u32> = w.lds_read(Mask::lane(0), Lanes::splat(0));
        w.lds_write(Mask::lane(0), Lanes::splat(0), Lanes::splat(before[0] + outliers));
        w.barrier().await;
        if leads {
            let outliers: Lanes<u32> = w.lds_read(Mask::lane(0), Lanes::splat(0));
            w.alu(5).await;
            if converges(outliers[0], data.vector_count) {
                append(&w, data, number, outliers[0]).await;
            }
        }
    }
}

/// Counts the vectors of a wavefront that a model misses.
async fn count_outliers(w: &Wave, data: Data, model: Model) -> u32 {
    let mut outliers = 0;
    for first in (w.id().wave * LANES as u32..data.vector_count).step_by(WAVES_PER_GROUP as usize * LANES) {
        // One instruction loads 16 bytes per lane, for 8 lanes at a time, which together are 32 adjacent words.
        let loads: [_; FIELDS as usize] = std::array::from_fn(|part| {
            let words = w.lane_ids() + first * FIELDS + (part * LANES) as u32;
            w.load_where(words.below(data.vector_count * FIELDS), data.vectors, words)
        });
        let parts = w.join_all(loads).await;
        w.alu(26).await;
        let word = |vector: usize, field: usize| {
            let place = vector * FIELDS as usize + field;
            parts[place / LANES][place % LANES]
        };
        let missed = |lane: usize| model.misses(Vector::from_words(std::array::from_fn(|field| word(lane, field))));
        let inside = (w.lane_ids() + first).below(data.vector_count);
        outliers += inside.iter().filter(|&lane| missed(lane)).count() as u32;
    }
    outliers
}

/// Appends a model to the list of candidates.
async fn append(w: &Wave, data: Data, model: u32, outliers: u32) {
    let place = w.atomic_one(AtomicOp::Add, data.candidates, 0, 1).await;
    // A machine that gets the counter wrong must not make the kernel leave its buffer.
    if place < data.models {
        w.store_one(data.candidate_models, place, model);
        w.store_one(data.candidate_outliers, place, outliers);
    }
}

/// Vectors of which some follow a flow, with a little noise, and the others are random.
fn draw_vectors(count: u32, generator: &mut SplitMix64) -> Vec<Vector> {
    let flow = Model { centre: [300.0, 250.0], divergence: 0.06, rotation: 0.04 };
    let mut draw = || {
        let (x, y) = (generator.below(WIDTH) as i32, generator.below(HEIGHT) as i32);
        if generator.below(100) >= INLIERS_PERCENT {
            return Vector { x, y, vx: generator.below(WIDTH) as i32, vy: generator.below(HEIGHT) as i32 };
        }
        let (dx, dy) = (x as f32 - flow.centre[0], y as f32 - flow.centre[1]);
        let mut noise = || generator.between_f32(-0.5, 0.5);
        let along_x = dx * flow.divergence - dy * flow.rotation + noise();
        let along_y = dy * flow.divergence + dx * flow.rotation + noise();
        Vector { x, y, vx: x + along_x.round() as i32, vy: y + along_y.round() as i32 }
    };
    (0..count).map(|_| draw()).collect()
}

/// The list of candidates must hold these models and counts, in any order, and nothing behind them.
fn check_candidates(memory: &HostMemory, data: Data, expected: &[[u32; 2]]) -> Result<(), Mismatch> {
    let (models, outliers) = (memory.read(data.candidate_models), memory.read(data.candidate_outliers));
    let mut found: Vec<[u32; 2]> = models.into_iter().zip(outliers).map(|(model, count)| [model, count]).collect();
    let behind = found.split_off(expected.len().min(found.len()));
    found.sort_unstable();
    if let Some(wrong) = (0..found.len()).find(|&place| found[place] != expected[place]) {
        let ([model, count], [right, right_count]) = (found[wrong], expected[wrong]);
        return Err(Mismatch(format!(
            "candidate {wrong} in the order of models is model {model} with {count} outliers instead of model {right} \
             with {right_count}"
        )));
    }
    if behind.iter().any(|entry| *entry != [0, 0]) {
        return Err(Mismatch("there is something behind the last candidate".to_owned()));
    }
    Ok(())
}

impl Workload for Rsct {
    fn name(&self) -> &'static str {
        "rsct"
    }

    fn title(&self) -> &'static str {
        "Random sample consensus, task partitioned"
    }

    fn summary(&self) -> &'static str {
        "A CPU thread draws models of a flow of vectors, and work-groups count what each of them misses."
    }

    fn suite(&self) -> Suite {
        Suite::Chai
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Spandex]
    }

    fn source(&self) -> &'static str {
        "Alsop, Sinclair and Adve, Spandex, ISCA 2018, section IV-B, Table VII (RSCT); \
         Chai RSCT (Gómez-Luna et al., ISPASS 2017)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (models, vector_count) = (sizes.get("models"), sizes.get("vectors"));
        let mut generator = SplitMix64::new(seed);
        let vectors = draw_vectors(vector_count, &mut generator);
        let samples: Vec<u32> = (0..2 * models).map(|_| generator.below(vector_count)).collect();
        let words: Vec<i32> = vectors.iter().flat_map(|vector| [vector.x, vector.y, vector.vx, vector.vy]).collect();
        let data = Data {
            models,
            vector_count,
            vectors: memory.alloc_from(&words),
            samples: memory.alloc_from(&samples),
            parameters: memory.alloc((models * FIELDS) as usize),
            flags: memory.alloc(models as usize),
            candidates: memory.alloc(1),
            candidate_models: memory.alloc(models as usize),
            candidate_outliers: memory.alloc(models as usize),
        };
        memory.declare_read_only(data.vectors);
        memory.declare_read_only(data.samples);
        let mut parameters = Vec::new();
        let mut candidates = Vec::new();
        for (number, pair) in (0..models).zip(samples.chunks_exact(2)) {
            let model = Model::through(vectors[pair[0] as usize], vectors[pair[1] as usize]);
            parameters.extend(model.map_or([NO_MODEL, 0.0, 0.0, 0.0], Model::parameters));
            let outliers = model.map(|model| vectors.iter().filter(|&&vector| model.misses(vector)).count() as u32);
            let converging = outliers.filter(|&outliers| converges(outliers, vector_count));
            candidates.extend(converging.map(|outliers| [number, outliers]));
        }
        let kernel =
            Kernel::new("RANSAC_kernel_block", sizes.get("work_groups"), WAVES_PER_GROUP, move |w| consume(w, data))
                .with_cpu(1, move |cpu| produce(cpu, data))
                .registers(REGISTERS_PER_ITEM)
                .lds(LDS_BYTES);
        let outputs = vec![
            Output::new("parameters", data.parameters, &parameters),
            Output::new("flags", data.flags, &vec![1; models as usize]),
            Output::new("candidates", data.candidates, &[candidates.len() as u32]),
        ];
        let check = move |memory: &HostMemory| check_candidates(memory, data, &candidates);
        HostProgram::new(vec![kernel], outputs).invariant(check)
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Program, Verdict, flat};
    use chorus_system::Scale;

    use super::*;

    #[test]
    fn two_vectors_of_a_flow_give_it_back_and_two_at_one_place_give_none() {
        let flow = Model { centre: [100.0, 50.0], divergence: 0.5, rotation: -0.25 };
        let vector = |x: i32, y: i32| {
            let (dx, dy) = (x - 100, y - 50);
            Vector { x, y, vx: x + dx / 2 + dy / 4, vy: y + dy / 2 - dx / 4 }
        };
        let found = Model::through(vector(140, 90), vector(20, 10)).unwrap();
        assert_eq!(found, flow);
        assert!(!found.misses(vector(60, 130)));
        assert!(found.misses(Vector { vx: 400, ..vector(60, 130) }));
        assert!(Model::through(vector(140, 90), vector(140, 90)).is_none());
        let still = Vector { x: 1, y: 1, vx: 1, vy: 1 };
        assert!(Model::through(still, Vector { x: 2, y: 2, vx: 2, vy: 2 }).is_none());
    }

    /// A program that has run, its memory, the places of both lists of candidates, and the number of candidates.
    fn ran() -> (HostProgram, HostMemory, [usize; 2], usize) {
        let mut memory = HostMemory::default();
        let mut program = Rsct.build(&Rsct.sizes_at(Scale::Quick), 5, &mut memory);
        assert_eq!(flat::run(&mut program, &memory), Ok(()));
        let buffers = memory.buffers();
        let lists = [buffers[buffers.len() - 2].start, buffers[buffers.len() - 1].start];
        let count = memory.load(program.outputs()[2].words().start) as usize;
        (program, memory, lists, count)
    }

    #[test]
    fn some_models_converge_and_some_do_not() {
        let (_, _, _, count) = ran();
        assert!((16..176).contains(&count), "{count} candidates");
    }

    #[test]
    fn candidates_may_come_in_any_order() {
        let (program, memory, lists, _) = ran();
        for list in lists {
            let [first, second] = [list, list + 1].map(|word| memory.load(word));
            memory.store(list, second);
            memory.store(list + 1, first);
        }
        assert_eq!(program.check(&memory), Verdict::Checked);
    }

    #[test]
    fn a_candidate_that_is_wrong_lost_or_too_many_is_found() {
        let (program, memory, [models, outliers], count) = ran();
        for word in [models, outliers, models + count - 1, outliers + count - 1, models + count, outliers + count] {
            let wrong = memory.clone();
            wrong.store(word, memory.load(word) ^ 0x40);
            assert!(program.check(&wrong).is_wrong(), "word {word}");
        }
        let lost = memory.clone();
        lost.store(models, lost.load(models + 1));
        assert!(program.check(&lost).is_wrong());
    }
}
