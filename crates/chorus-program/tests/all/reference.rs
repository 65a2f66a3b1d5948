//! What the shipped programs must leave in memory, computed by the host.

/// The contents of a buffer.
pub enum Expected {
    Words(Vec<u32>),
    /// Floats, each within a tolerance that is relative to its magnitude plus one.
    Near(Vec<f32>, f32),
}

impl Expected {
    pub fn len(&self) -> usize {
        match self {
            Expected::Words(words) => words.len(),
            Expected::Near(floats, _) => floats.len(),
        }
    }

    pub fn compare(&self, found: &[u32]) -> Result<(), String> {
        let wrong = |at: usize| match self {
            Expected::Words(words) => words[at] != found[at],
            Expected::Near(floats, tolerance) => {
                let difference = (f32::from_bits(found[at]) - floats[at]).abs();
                difference.is_nan() || difference > tolerance * (1.0 + floats[at].abs())
            }
        };
        let Some(at) = (0..found.len()).find(|&at| wrong(at)) else { return Ok(()) };
        Err(match self {
            Expected::Words(words) => format!("word {at} is {} instead of {}", found[at], words[at]),
            Expected::Near(floats, _) => {
                format!("float {at} is {} instead of {}", f32::from_bits(found[at]), floats[at])
            }
        })
    }
}

fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

fn floats(count: usize, seed: u32) -> Vec<f32> {
    let float = |i: usize| (hash((i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed)) >> 8) as f32;
    (0..count).map(|i| float(i) * (2.0 / (1 << 24) as f32) - 1.0).collect()
}

/// Rows and columns of the graph with four to twelve arcs of every vertex.
fn graph(nodes: u32) -> (Vec<u32>, Vec<u32>) {
    let (mut row, mut col) = (vec![0], Vec::new());
    for v in 0..nodes {
        let degree = 4 + hash(v + 77) % 9;
        col.extend((0..degree).map(|k| hash(v.wrapping_mul(31).wrapping_add(k * 7919 + 5)) % nodes));
        row.push(col.len() as u32);
    }
    (row, col)
}

/// The number of each buffer that a program leaves, in the order of its file, with its contents.
pub fn expected(name: &str, sizes: &[(&str, u64)]) -> Vec<(usize, Expected)> {
    let size = |key: &str| sizes.iter().find(|(name, _)| *name == key).map_or(0, |(_, value)| *value as usize);
    let n = size("n");
    let one = |value: usize| Expected::Words(vec![value as u32]);
    match name {
        "saxpy" => {
            let sum = floats(n, 1).into_iter().zip(floats(n, 2)).map(|(x, y)| 1.5f32.mul_add(x, y));
            vec![(1, Expected::Near(sum.collect(), 1e-6))]
        }
        "stencil2d" => vec![(1, stencil(size("w")))],
        "transpose_naive" | "transpose_tiled" => {
            let input = floats(n * n, 4);
            let bits = (0..n * n).map(|i| input[i % n * n + i / n].to_bits());
            vec![(1, Expected::Words(bits.collect()))]
        }
        "matmul_naive" | "matmul_tiled" => vec![(2, product(n))],
        "reduce_atomic" => vec![(1, one((0..n as u32).map(|i| (hash(i) % 100) as usize).sum()))],
        "histogram_global" | "histogram_shared" => {
            let mut bins = vec![0; 256];
            (0..n as u32).for_each(|i| bins[(hash(i) & 255) as usize] += 1);
            vec![(1, Expected::Words(bins))]
        }
        "bfs" => vec![(2, levels(n as u32))],
        "spmv_pr" => vec![(3, ranks(n))],
        "fir" => vec![(2, filtered(n))],
        "spin_lock" => vec![(0, one(0)), (1, one(size("blocks") * size("rounds")))],
        "ticket_lock" => vec![(2, one(size("blocks") * size("rounds")))],
        "spin_lock_lanes" => vec![(1, one(32 * size("blocks")))],
        "work_queue" => vec![(2, one(0)), (4, one(size("leaves")))],
        "pipeline_flags" => {
            let rounds = size("rounds") as u32;
            let sum = |i: u32| 1000 * rounds * (rounds + 1) / 2 + rounds * (i % 256);
            vec![(2, Expected::Words((0..size("pairs") as u32 * 256).map(sum).collect()))]
        }
        "scan_lookback" => {
            let mut sum = 0;
            let sums = (0..n as u32).map(|i| {
                sum += hash(i) & 3;
                sum
            });
            vec![(1, Expected::Words(sums.collect()))]
        }
        "grid_barrier" => vec![(usize::from(size("rounds") % 2 == 1), ring(size("blocks") * 256, size("rounds")))],
        _ => panic!("nobody has computed what {name} leaves"),
    }
}

fn stencil(w: usize) -> Expected {
    let input = floats(w * w, 3);
    let mut output = input.clone();
    for i in (1..w - 1).flat_map(|y| (1..w - 1).map(move |x| y * w + x)) {
        output[i] = 0.2 * (input[i] + input[i - 1] + input[i + 1] + input[i - w] + input[i + w]);
    }
    Expected::Near(output, 1e-5)
}

fn product(n: usize) -> Expected {
    let (a, b) = (floats(n * n, 5), floats(n * n, 6));
    let sum = |i: usize| (0..n).map(|k| f64::from(a[i / n * n + k]) * f64::from(b[k * n + i % n])).sum::<f64>() as f32;
    Expected::Near((0..n * n).map(sum).collect(), 1e-3)
}

fn levels(nodes: u32) -> Expected {
    let (row, col) = graph(nodes);
    let mut level = vec![u32::MAX; nodes as usize];
    level[0] = 0;
    let mut queue = std::collections::VecDeque::from([0usize]);
    while let Some(v) = queue.pop_front() {
        for &u in &col[row[v] as usize..row[v + 1] as usize] {
            if level[u as usize] == u32::MAX {
                level[u as usize] = level[v] + 1;
                queue.push_back(u as usize);
            }
        }
    }
    Expected::Words(level)
}

fn ranks(nodes: usize) -> Expected {
    let (row, col) = graph(nodes as u32);
    let share = floats(nodes, 8);
    let rank = |v: usize| {
        let sum: f32 = col[row[v] as usize..row[v + 1] as usize].iter().map(|&u| share[u as usize]).sum();
        0.15 / nodes as f32 + 0.85 * sum
    };
    Expected::Near((0..nodes).map(rank).collect(), 1e-4)
}

fn filtered(n: usize) -> Expected {
    let (input, taps) = (floats(n, 9), floats(32, 10));
    let sum = |i: usize| (0..32.min(i + 1)).fold(0.0, |sum: f32, t| taps[t].mul_add(input[i - t], sum));
    Expected::Near((0..n).map(sum).collect(), 1e-4)
}

fn ring(n: usize, rounds: usize) -> Expected {
    let mut values: Vec<u32> = (0..n as u32).map(hash).collect();
    for _ in 0..rounds {
        values = (0..n).map(|i| values[i].wrapping_add(values[(i + n - 1) % n])).collect();
    }
    Expected::Words(values)
}
