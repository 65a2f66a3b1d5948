//! The maximum flow and the minimum cut that the host computes, by another algorithm.
//!
//! Source: Dinic, Algorithm for Solution of a Problem of Maximum Flow in a Network with Power Estimation, Soviet Math.
//! Doklady 11, 1970. In each phase, distances to the sink are found by breadth-first search, and then paths along which
//! they fall are saturated, each pixel remembering which of its arcs can no longer be on one.

use super::grid::{DIRECTIONS, Network, opposite};

const UNREACHABLE: u32 = u32::MAX;

/// The flow and the cut that the kernels must find.
pub(super) struct MaxFlow {
    /// The flow that reaches the sink.
    pub(super) value: u64,
    /// For each pixel, 0 if it can reach the sink in the residual network, and 1 if not. This cut, of all minimum cuts
    /// the nearest to the sink, is the same for every maximum flow, and every maximum preflow.
    pub(super) labels: Vec<u32>,
}

impl MaxFlow {
    /// Computes the maximum flow of a network.
    pub(super) fn new(network: &Network) -> MaxFlow {
        let mut residual = network.clone();
        let mut value = 0;
        loop {
            let distances = distances(&residual);
            let sources = |pixel: &usize| residual.source[*pixel] > 0 && distances[*pixel] != UNREACHABLE;
            let starts: Vec<usize> = (0..network.size.pixels()).filter(sources).collect();
            if starts.is_empty() {
                let labels = distances.iter().map(|&distance| u32::from(distance == UNREACHABLE)).collect();
                return MaxFlow { value, labels };
            }
            value += saturate(&mut residual, &distances, &starts);
        }
    }
}

/// The number of arcs from each pixel to the sink.
fn distances(residual: &Network) -> Vec<u32> {
    let mut distances: Vec<u32> = residual.sink.iter().map(|&sink| if sink > 0 { 1 } else { UNREACHABLE }).collect();
    let mut queue: Vec<u32> = (0..distances.len() as u32).filter(|&pixel| residual.sink[pixel as usize] > 0).collect();
    let mut next = 0;
    while let Some(&pixel) = queue.get(next) {
        next += 1;
        for direction in 0..DIRECTIONS {
            let Some(neighbour) = residual.size.neighbour(pixel, direction) else { continue };
            let arc = residual.arcs[opposite(direction)][neighbour as usize];
            if arc > 0 && distances[neighbour as usize] == UNREACHABLE {
                distances[neighbour as usize] = distances[pixel as usize] + 1;
                queue.push(neighbour);
            }
        }
    }
    distances
}

/// Sends as much as possible along shortest paths. Returns how much that is.
fn saturate(residual: &mut Network, distances: &[u32], starts: &[usize]) -> u64 {
    let mut sent = 0;
    let mut arc = vec![0; distances.len()];
    for &start in starts {
        let mut path: Vec<usize> = Vec::new();
        let mut pixel = start;
        while residual.source[start] > 0 {
            if distances[pixel] == 1 && residual.sink[pixel] > 0 {
                sent += u64::from(augment(residual, start, pixel, &path, &arc));
                (pixel, path) = (start, Vec::new());
            } else if let Some(next) = admissible(residual, distances, pixel, arc[pixel]) {
                path.push(pixel);
                pixel = next;
            } else if arc[pixel] < DIRECTIONS {
                arc[pixel] += 1;
            } else if let Some(previous) = path.pop() {
                arc[previous] += 1;
                pixel = previous;
            } else {
                break;
            }
        }
    }
    sent
}

/// The neighbour in a direction, if it is nearer to the sink and can take more.
fn admissible(residual: &Network, distances: &[u32], pixel: usize, direction: usize) -> Option<usize> {
    let capacity = residual.arcs.get(direction)?[pixel];
    let neighbour = residual.size.neighbour(pixel as u32, direction)? as usize;
    let nearer = distances[neighbour] != UNREACHABLE && distances[neighbour] + 1 == distances[pixel];
    (capacity > 0 && nearer).then_some(neighbour)
}

/// Sends as much flow as a path from the source over `start`, the pixels of `path` and `end` to the sink can take.
fn augment(residual: &mut Network, start: usize, end: usize, path: &[usize], arc: &[usize]) -> u32 {
    let narrowest = path.iter().map(|&pixel| residual.arcs[arc[pixel]][pixel]).min().unwrap_or(u32::MAX);
    let flow = narrowest.min(residual.source[start]).min(residual.sink[end]);
    residual.source[start] -= flow;
    residual.sink[end] -= flow;
    for (index, &pixel) in path.iter().enumerate() {
        let next = path.get(index + 1).copied().unwrap_or(end);
        residual.arcs[arc[pixel]][pixel] -= flow;
        residual.arcs[opposite(arc[pixel])][next] += flow;
    }
    flow
}

#[cfg(test)]
mod tests {
    use super::super::grid::Size;
    use super::*;
    use crate::generator::SplitMix64;

    /// The least capacity that any set of pixels has to cut to be on the source's side.
    fn least_cut(network: &Network) -> u64 {
        let pixels = network.size.pixels() as u32;
        let cut = |side: u32| {
            let with_source = |pixel: u32| side >> pixel & 1 == 1;
            (0..pixels)
                .map(|pixel| {
                    if !with_source(pixel) {
                        return u64::from(network.source[pixel as usize]);
                    }
                    let crossing = |direction: &usize| {
                        network.size.neighbour(pixel, *direction).is_some_and(|neighbour| !with_source(neighbour))
                    };
                    let arcs =
                        (0..DIRECTIONS).filter(crossing).map(|direction| network.arcs[direction][pixel as usize]);
                    u64::from(network.sink[pixel as usize]) + arcs.map(u64::from).sum::<u64>()
                })
                .sum::<u64>()
        };
        (0..1 << pixels).map(cut).min().unwrap()
    }

    #[test]
    fn the_flow_equals_the_least_of_all_cuts() {
        let mut generator = SplitMix64::new(9);
        for _ in 0..40 {
            let size = Size { width: 4, height: 3 };
            let mut terminal = || (0..size.pixels()).map(|_| generator.below(60)).collect();
            let (source, sink) = (terminal(), terminal());
            let arcs = [(); DIRECTIONS].map(|()| (0..size.pixels()).map(|_| generator.below(30)).collect());
            let network = Network { size, source, sink, arcs };
            assert_eq!(MaxFlow::new(&network).value, least_cut(&network));
        }
    }
}
