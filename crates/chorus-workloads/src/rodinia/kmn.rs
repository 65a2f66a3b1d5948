//! `kmn`: k-means clustering.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Table 3; kmeans of Rodinia (Che et al., IISWC 2009). One
//! work-item per point compares it with every cluster centre, feature by feature. Features are stored feature by
//! feature, so that the points of a wavefront lie side by side, and are read again for each centre, as in Rodinia's
//! kernel; 34 features and 5 clusters are its usual input.
//!
//! Sharing: the centres are read by everybody and rewritten between kernels. A wavefront reads its own 34 lines of
//! features five times, and as many wavefronts as fit on a compute unit together want several times its private cache.
//!
//! Rodinia averages the points of each cluster on the host. Here a second kernel does: a work-group per feature walks
//! over all points, adds them up in registers, reduces the sums in local data and writes that feature of every centre.
//! Features are fixed-point numbers of 10 bits, so that sums do not depend on their order.
//!
//! Left out: the count of points that changed their cluster, with which Rodinia decides to stop; the number of
//! iterations is fixed. Rodinia's constant and texture memory, which have caches of their own, are ordinary memory
//! here.
//!
//! Arithmetic of the first kernel: 2 instructions for the index; per two features 2 subtractions, 2 multiply-adds and 1
//! for the loop (its addresses advance by immediate offsets); per cluster a comparison, two selections and 1 for the
//! loop. Of the second: per 32 points 3 for addresses and loop, and per cluster a comparison, a predicated addition and
//! a predicated increment; 1 addition per value reduced; 20 for an integer division.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Features are below this, so that a squared distance fits a word.
const FEATURE_LIMIT: u32 = 1024;
const WAVES_PER_GROUP: u32 = 8;
const GROUP: u32 = WAVES_PER_GROUP * LANES as u32;

pub(crate) struct Kmn;

/// Features take 1.4 MB and 5.6 MB; an iteration takes 341 line accesses per wavefront of points and 68 more for the
/// new centres, so 0.4 and 2.1 million in all, and 1.6 million at medium scale. Points fill whole work-groups. Sums of
/// the features of all points, and squared distances, fit a word; sums and counts of all clusters fit the local data of
/// a work-group, 2 KB for each cluster.
static SIZES: [SizeSpec; 4] = [
    SizeSpec::new("points", "points to cluster", [10_240, 30_720, 40_960], "chosen: 2.1 million line accesses")
        .range(GROUP as u64, 1 << 20)
        .multiple_of(GROUP as u64),
    SizeSpec::new("features", "features of a point", [34, 34, 34], "Rodinia's usual input")
        .range(2, 1024)
        .multiple_of(2),
    SizeSpec::new("clusters", "clusters, and centres", [5, 5, 5], "Rodinia's usual input").range(1, 16),
    SizeSpec::new("iterations", "times that centres move", [3, 4, 4], "chosen: 2.1 million line accesses")
        .range(1, 1000),
];

/// Numbers of points, features and clusters.
#[derive(Clone, Copy)]
struct Shape {
    points: u32,
    features: u32,
    clusters: u32,
}

#[derive(Clone, Copy)]
struct Data {
    shape: Shape,
    /// Feature f of point p is element f x points + p.
    features: Buf<i32>,
    /// Feature f of cluster c is element c x features + f.
    centres: Buf<i32>,
    /// The cluster of each point.
    membership: Buf<u32>,
}

/// Assigns each point to the nearest centre; the first of equals wins.
async fn assign(w: Wave, data: Data) {
    let Shape { points, features, clusters } = data.shape;
    let point = w.global_ids();
    w.alu(2).await;
    let mut nearest = Lanes::splat(0);
    let mut nearest_distance = Lanes::splat(i32::MAX);
    for cluster in 0..clusters {
        let mut distance = Lanes::splat(0);
        for feature in (0..features).step_by(2) {
            let row = point + feature * points;
            let centre = Lanes::splat(cluster * features + feature);
            let [x0, c0, x1, c1] = w
                .join_all([
                    w.load(data.features, row),
                    w.load(data.centres, centre),
                    w.load(data.features, row + points),
                    w.load(data.centres, centre + 1),
                ])
                .await;
            w.alu(5).await;
            let (d0, d1) = (x0 - c0, x1 - c1);
            distance = distance + d0 * d0 + d1 * d1;
        }
        let closer = distance.zip(nearest_distance, |a, b| a < b).where_(|closer| closer);
        nearest = Lanes::splat(cluster).select(closer, nearest);
        nearest_distance = distance.select(closer, nearest_distance);
        w.alu(4).await;
    }
    w.store(data.membership, point, nearest);
}

/// Averages one feature of the points of each cluster.
async fn recentre(w: Wave, data: Data) {
    let Shape { points, clusters, .. } = data.shape;
    let feature = w.work_group();
    // The sums of all clusters, and behind them their counts.
    let mut partial = vec![Lanes::splat(0); 2 * clusters as usize];
    for batch in (w.id().wave..points / LANES as u32).step_by(WAVES_PER_GROUP as usize) {
        let point = w.lane_ids() + batch * LANES as u32;
        let (cluster, value) =
            w.join(w.load(data.membership, point), w.load(data.features, point + feature * points)).await;
        w.alu(3 + 3 * clusters).await;
        for lane in 0..LANES {
            // A cluster that does not exist, which only a machine that loses writes can show, counts nowhere.
            if cluster[lane] < clusters {
                let sum = cluster[lane] as usize;
                partial[sum].0[lane] += value[lane];
                partial[clusters as usize + sum].0[lane] += 1;
            }
        }
    }
    for (quantity, lanes) in (0..).zip(partial) {
        w.lds_write(Mask::ALL, w.local_ids() + quantity * GROUP, lanes);
    }
    w.barrier().await;
    for quantity in (w.id().wave..2 * clusters).step_by(WAVES_PER_GROUP as usize) {
        reduce(&w, quantity * GROUP).await;
    }
    w.barrier().await;
    if w.id().wave == 0 {
        store_centres(&w, data, feature).await;
    }
}

/// Adds up a work-group's words of local data from `first` on; the sum replaces the first of them.
async fn reduce(w: &Wave, first: u32) {
    let at = w.lane_ids() + first;
    let mut sum: Lanes<i32> = w.lds_read(Mask::ALL, at);
    for wave in 1..WAVES_PER_GROUP {
        sum = sum + w.lds_read(Mask::ALL, at + wave * LANES as u32);
        w.alu(1).await;
    }
    // The lanes of a wavefront run in step, so halving needs no barrier.
    let mut half = LANES as u32 / 2;
    while half > 0 {
        w.lds_write(Mask::first(2 * half as usize), at, sum);
        sum = sum + w.lds_read(Mask::first(half as usize), at + half);
        w.alu(1).await;
        half /= 2;
    }
    w.lds_write(Mask::lane(0), at, sum);
}

/// One lane per cluster divides its sum by its count; a cluster without points stays where it is.
async fn store_centres(w: &Wave, data: Data, feature: u32) {
    let clusters = Mask::first(data.shape.clusters as usize);
    let cluster = w.lane_ids();
    let at = cluster * data.shape.features + feature;
    let old = w.load_where(clusters, data.centres, at).await;
    let sum: Lanes<i32> = w.lds_read(clusters, cluster * GROUP);
    let count: Lanes<i32> = w.lds_read(clusters, (cluster + data.shape.clusters) * GROUP);
    w.alu(20).await;
    let new = Lanes::from_fn(|lane| if count[lane] == 0 { old[lane] } else { sum[lane] / count[lane] });
    w.store_where(clusters, data.centres, at, new);
}

/// Point p of cluster c scatters around a place of its own.
fn draw_features(shape: Shape, generator: &mut SplitMix64) -> Vec<i32> {
    const SPREAD: u32 = FEATURE_LIMIT / 2;
    let Shape { points, features: per_point, clusters } = shape;
    let places: Vec<u32> = (0..clusters * per_point).map(|_| generator.below(FEATURE_LIMIT - SPREAD)).collect();
    let mut features = vec![0; (per_point * points) as usize];
    for point in 0..points {
        let cluster = generator.below(clusters);
        for feature in 0..per_point {
            let value = places[(cluster * per_point + feature) as usize] + generator.below(SPREAD);
            features[(feature * points + point) as usize] = value as i32;
        }
    }
    features
}

/// The first points are the first centres, as in Rodinia.
fn first_centres(shape: Shape, features: &[i32]) -> Vec<i32> {
    (0..shape.clusters * shape.features)
        .map(|element| {
            let (cluster, feature) = (element / shape.features, element % shape.features);
            features[(feature * shape.points + cluster) as usize]
        })
        .collect()
}

/// One iteration on the host: moves the centres and returns the cluster of each point.
fn reference_iteration(shape: Shape, features: &[i32], centres: &mut [i32]) -> Vec<u32> {
    let Shape { points, features: per_point, clusters } = shape;
    let mut totals = vec![(0, 0); centres.len()];
    let mut membership = Vec::with_capacity(points as usize);
    for point in 0..points {
        let value = |feature: u32| features[(feature * points + point) as usize];
        let distance = |cluster: u32| -> i32 {
            (0..per_point).map(|f| (value(f) - centres[(cluster * per_point + f) as usize]).pow(2)).sum()
        };
        let nearest = (0..clusters).min_by_key(|&cluster| distance(cluster)).unwrap_or(0);
        membership.push(nearest);
        for feature in 0..per_point {
            let (sum, count) = &mut totals[(nearest * per_point + feature) as usize];
            *sum += value(feature);
            *count += 1;
        }
    }
    for (centre, (sum, count)) in centres.iter_mut().zip(totals) {
        if count > 0 {
            *centre = sum / count;
        }
    }
    membership
}

impl Workload for Kmn {
    fn name(&self) -> &'static str {
        "kmn"
    }

    fn title(&self) -> &'static str {
        "K-means"
    }

    fn summary(&self) -> &'static str {
        "Clusters points around moving centres, two kernels per iteration; features are read again for every centre."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (KMN); \
         Rodinia kmeans (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let words = u64::from(sizes.get("points")) * (u64::from(sizes.get("features")) + 1);
        sizes.too_large(words, &["points", "features"])
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let shape =
            Shape { points: sizes.get("points"), features: sizes.get("features"), clusters: sizes.get("clusters") };
        let features = draw_features(shape, &mut SplitMix64::new(seed));
        let mut centres = first_centres(shape, &features);
        let data = Data {
            shape,
            features: memory.alloc_from(&features),
            centres: memory.alloc_from(&centres),
            membership: memory.alloc_from(&vec![u32::MAX; shape.points as usize]),
        };
        let mut kernels = Vec::new();
        let mut membership = Vec::new();
        for _ in 0..sizes.get("iterations") {
            kernels.push(Kernel::new("assign", shape.points / GROUP, WAVES_PER_GROUP, move |w| assign(w, data)));
            let recentre = Kernel::new("recentre", shape.features, WAVES_PER_GROUP, move |w| recentre(w, data));
            kernels.push(recentre.registers(24).lds(2 * shape.clusters * GROUP * 4));
            membership = reference_iteration(shape, &features, &mut centres);
        }
        let outputs = vec![
            Output::new("membership", data.membership, &membership),
            Output::new("centres", data.centres, &centres),
        ];
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_squared_distances_fit_a_word() {
        let [points, features, ..] = &SIZES;
        let distance_max = features.max * u64::from(FEATURE_LIMIT).pow(2);
        let sum_max = points.max * u64::from(FEATURE_LIMIT);
        assert!(distance_max.max(sum_max) < i32::MAX as u64);
    }

    #[test]
    fn iterations_bring_points_closer_to_their_centres() {
        let shape = Shape { points: 1024, features: 34, clusters: 5 };
        let features = draw_features(shape, &mut SplitMix64::new(5));
        let mut centres = first_centres(shape, &features);
        let mut spread = || {
            let before = centres.clone();
            let membership = reference_iteration(shape, &features, &mut centres);
            let squared = |point: u32, f: u32| {
                let centre = before[(membership[point as usize] * shape.features + f) as usize];
                i64::from(features[(f * shape.points + point) as usize] - centre).pow(2)
            };
            (0..shape.points)
                .flat_map(|point| (0..shape.features).map(move |f| (point, f)))
                .map(|(p, f)| squared(p, f))
                .sum::<i64>()
        };
        let first = spread();
        assert!(spread() < first);
    }
}
