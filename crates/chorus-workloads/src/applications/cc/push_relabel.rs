//! The kernel: push, pull and relabel in one, between exact heights and the segmentation.
//!
//! A work-group has tiles of 32 x 8 pixels, as in the original, a wavefront one row of each. In a sweep a pixel with
//! excess that may reach the sink pushes to the sink and to every neighbour below it; if excess is left, it rises just
//! above the lowest neighbour that can take more; and it pulls the flow that was pushed to it. Wavefronts sweep on
//! without waiting for each other: coherent memory brings them the writes of their neighbours sooner or later.
//!
//! Every word but notes and flags has one writer, its pixel. A push adds to the count of all flow ever sent over that
//! arc, and the neighbour pulls the part of this count that it has not yet received. So nothing is lost, even if a
//! write is seen late. A push also leaves a note for the neighbour's row segment, and segments without a new note pull
//! nothing, as the original skips tiles at rest. A note may be seen before the flow that it announces; flow that is
//! missed in this way is pulled when all have stopped.
//!
//! Heights: the height of a neighbour may be seen late. Where a push opens an arc back from a pixel that rises
//! meanwhile, a height can come to lie above the true distance to the sink. And excess that has no way to the sink
//! would rise for as long as there are pixels. So heights are made exact after some sweeps: all are forgotten, then
//! wavefronts lower theirs until none can any more. Meanwhile heights only fall, so an old height that is read is too
//! high and only delays. The program ends when no pixel with excess has an exact height: then no path is left from the
//! source to the sink.
//!
//! Order: fast barriers separate sweeps from the making of heights, so these see everything that was done before. Flags
//! hold the number of the latest phase that set them, so nothing has to be reset. A flag may be set anew before all
//! wavefronts have read it. Then it was set in the phase before as well, because a phase of the same kind follows only
//! if the flag is set.
//!
//! Arithmetic: 10 instructions for the coordinates and addresses of a pixel and its neighbours; 4 for each test of a
//! segment and its loop; 3 for a push to the sink and 6 per direction for a push to a neighbour (two tests, minimum,
//! two differences, sum); 3 per direction for the lowest neighbour and 2 for the rise; 4 per direction to pull
//! (difference, two sums, copy).

use chorus_kernel::{Buf, LANES, Lanes, Mask, Wave};

use super::grid::{DIRECTIONS, Grid, opposite};
use crate::fast_barrier::FastBarrier;

/// Rows of a tile, one for each wavefront of a work-group.
pub(super) const ROWS: u32 = 8;

/// Sweeps before heights are made exact again.
const SWEEPS: u32 = 16;
/// Times that a wavefront finds no height to lower before it meets the others.
const IDLE_PASSES: u32 = 4;
/// The most rounds. No image comes near this number, which makes a program whose flow has gone wrong end.
const ROUNDS_MAX: u32 = 200;

type Arcs = [Lanes<u32>; DIRECTIONS];

/// One wavefront of the kernel.
pub(super) struct Cut {
    w: Wave,
    grid: Grid,
    barrier: FastBarrier,
    /// The number of barriers passed so far.
    phase: u32,
    /// A row segment of each of the work-group's tiles.
    segments: Vec<Segment>,
}

/// 32 pixels of a row.
struct Segment {
    at: Lanes<u32>,
    neighbours: Arcs,
    inside: [Mask; DIRECTIONS],
    /// The latest note that was read.
    note: u32,
}

impl Cut {
    pub(super) fn new(w: Wave, grid: Grid, barrier: FastBarrier) -> Cut {
        let tiles = grid.size.width / LANES as u32 * (grid.size.height / ROWS);
        let segments = (w.work_group()..tiles).step_by(w.id().work_groups as usize);
        let segments = segments.map(|tile| Segment::new(&w, &grid, tile)).collect();
        Cut { w, grid, barrier, phase: 0, segments }
    }

    pub(super) async fn run(mut self) {
        for _ in 0..ROUNDS_MAX {
            self.make_heights_exact().await;
            if !self.push_towards_sink().await {
                break;
            }
        }
        let Cut { w, grid, .. } = &self;
        for segment in &self.segments {
            w.alu(10).await;
            let height = w.load(grid.height, segment.at).await;
            w.alu(2).await;
            w.store(grid.label, segment.at, height.map(|height| u32::from(height >= grid.height_max())));
        }
    }

    /// Ends a phase by a barrier across all work-groups.
    async fn meet(&mut self) {
        self.phase += 1;
        self.barrier.wait(&self.w, self.phase).await;
    }

    /// Ends a phase. Returns whether `set` was true for any wavefront.
    async fn meet_and_ask(&mut self, flag: Buf<u32>, set: bool) -> bool {
        let phase = self.phase + 1;
        if set {
            self.w.store_one(flag, 0, phase);
        }
        self.meet().await;
        self.w.alu(2).await;
        self.w.load_one(flag, 0).await >= phase
    }

    /// Makes every height the distance to the sink.
    async fn make_heights_exact(&mut self) {
        let (sink, height, max) = (self.grid.sink, self.grid.height, self.grid.height_max());
        for segment in &self.segments {
            self.w.alu(12).await;
            let beside_sink = self.w.load(sink, segment.at).await;
            self.w.store(height, segment.at, beside_sink.map(|sink| if sink > 0 { 1 } else { max }));
        }
        self.meet().await;
        loop {
            let (mut lowered, mut idle) = (false, 0);
            while idle < IDLE_PASSES {
                let mut falls = false;
                for segment in &self.segments {
                    falls |= segment.lower(&self.w, &self.grid).await;
                }
                idle = if falls { 0 } else { idle + 1 };
                lowered |= falls;
            }
            if !self.meet_and_ask(self.grid.lowered, lowered).await {
                return;
            }
        }
    }

    /// Moves excess for some sweeps. Returns whether there was any that exact heights show a way for.
    async fn push_towards_sink(&mut self) -> bool {
        let mut active = false;
        for sweep in 0..SWEEPS {
            let note = self.phase * SWEEPS + sweep + 1;
            for segment in &mut self.segments {
                let pushes = segment.push(&self.w, &self.grid, note).await;
                active |= sweep == 0 && pushes;
                if segment.has_news(&self.w, &self.grid).await {
                    segment.pull(&self.w, &self.grid).await;
                }
            }
        }
        let any_active = self.meet_and_ask(self.grid.active, active).await;
        for segment in &self.segments {
            segment.pull(&self.w, &self.grid).await;
        }
        self.meet().await;
        any_active
    }
}

impl Segment {
    fn new(w: &Wave, grid: &Grid, tile: u32) -> Segment {
        let size = grid.size;
        let tiles_x = size.width / LANES as u32;
        let row = tile / tiles_x * ROWS + w.id().wave;
        let at = w.lane_ids() + (row * size.width + tile % tiles_x * LANES as u32);
        let neighbour = |direction| at.map(|pixel| size.neighbour(pixel, direction));
        Segment {
            at,
            neighbours: std::array::from_fn(|direction| neighbour(direction).map(|pixel| pixel.unwrap_or(0))),
            inside: std::array::from_fn(|direction| neighbour(direction).where_(|pixel| pixel.is_some())),
            note: 0,
        }
    }

    async fn load(&self, w: &Wave, bufs: [Buf<u32>; DIRECTIONS]) -> Arcs {
        w.join_all(bufs.map(|buf| w.load(buf, self.at))).await
    }

    /// Loads one word of each neighbour, from one buffer per direction; zero where there is no neighbour.
    async fn load_neighbours(&self, w: &Wave, bufs: [Buf<u32>; DIRECTIONS]) -> Arcs {
        let load = |direction: usize| w.load_where(self.inside[direction], bufs[direction], self.neighbours[direction]);
        let loaded = w.join_all([load(0), load(1), load(2), load(3)]).await;
        std::array::from_fn(|direction| loaded[direction].select(self.inside[direction], Lanes::splat(0)))
    }

    /// Lowers heights to one above the lowest neighbour that can take flow, once. Returns whether any fell.
    async fn lower(&self, w: &Wave, grid: &Grid) -> bool {
        w.alu(10).await;
        let height = w.load(grid.height, self.at).await;
        let arcs = self.load(w, grid.arcs).await;
        let heights = self.load_neighbours(w, [grid.height; DIRECTIONS]).await;
        w.alu(4 + 3 * DIRECTIONS as u32 + 2).await;
        let next = above_lowest(grid, arcs, heights);
        let falls = next.zip(height, |next, height| next < height).where_(|falls| falls);
        w.store_where(falls, grid.height, self.at, next);
        falls.any()
    }

    /// Sends excess to the sink and to the neighbours below. Returns whether any pixel was active.
    async fn push(&self, w: &Wave, grid: &Grid, note: u32) -> bool {
        w.alu(14).await;
        let (excess, height) = w.join(w.load(grid.excess, self.at), w.load(grid.height, self.at)).await;
        let active = excess.where_(|excess| excess > 0) & height.below(grid.height_max());
        if !active.any() {
            return false;
        }
        let sink = w.load(grid.sink, self.at);
        let mut arcs = self.load(w, grid.arcs).await;
        let sent = self.load(w, grid.sent).await;
        let heights = self.load_neighbours(w, [grid.height; DIRECTIONS]).await;
        let sink = sink.await;

        let none = Lanes::splat(0);
        w.alu(3).await;
        let flow = excess.zip(sink, u32::min).select(active, none);
        w.store_where(flow.where_(|flow| flow > 0), grid.sink, self.at, sink - flow);
        let mut left = excess - flow;
        for direction in 0..DIRECTIONS {
            w.alu(6).await;
            let below = heights[direction].zip(height, |neighbour, height| neighbour < height).where_(|below| below);
            let flow = left.zip(arcs[direction], u32::min).select(active & below & self.inside[direction], none);
            let pushes = flow.where_(|flow| flow > 0);
            left = left - flow;
            arcs[direction] = arcs[direction] - flow;
            if pushes.any() {
                w.store_where(pushes, grid.arcs[direction], self.at, arcs[direction]);
                let sent = sent[direction].zip(flow, u32::wrapping_add);
                w.store_where(pushes, grid.sent[direction], self.at, sent);
                let segments = self.neighbours[direction].map(|pixel| pixel / LANES as u32);
                w.store_where(pushes, grid.notes, segments, note.into());
            }
        }
        w.store_where(left.zip(excess, |left, excess| left < excess).where_(|less| less), grid.excess, self.at, left);
        w.alu(3 * DIRECTIONS as u32 + 2).await;
        let above = above_lowest(grid, arcs, heights).zip(height, u32::max);
        w.store_where(active & left.where_(|left| left > 0), grid.height, self.at, above);
        true
    }

    /// Whether a note says that something was pushed here since the last one.
    async fn has_news(&mut self, w: &Wave, grid: &Grid) -> bool {
        w.alu(4).await;
        let note = w.load_one(grid.notes, self.at[0] / LANES as u32).await;
        std::mem::replace(&mut self.note, note) != note
    }

    /// Takes the flow that the neighbours have sent.
    async fn pull(&self, w: &Wave, grid: &Grid) {
        let back = std::array::from_fn(|direction| grid.sent[opposite(direction)]);
        let excess = w.load(grid.excess, self.at);
        let received = self.load(w, grid.received).await;
        let sent = self.load_neighbours(w, back).await;
        let arcs = self.load(w, grid.arcs).await;
        let mut excess = excess.await;
        let mut pulls_any = Mask::NONE;
        for direction in 0..DIRECTIONS {
            w.alu(4).await;
            let flow = sent[direction].zip(received[direction], u32::wrapping_sub);
            let pulls = flow.where_(|flow| flow > 0);
            if pulls.any() {
                excess = excess.zip(flow, u32::wrapping_add);
                w.store_where(pulls, grid.arcs[direction], self.at, arcs[direction].zip(flow, u32::wrapping_add));
                w.store_where(pulls, grid.received[direction], self.at, sent[direction]);
            }
            pulls_any = pulls_any | pulls;
        }
        w.store_where(pulls_any, grid.excess, self.at, excess);
    }
}

/// One above the lowest neighbour to which an arc has capacity left.
fn above_lowest(grid: &Grid, arcs: Arcs, heights: Arcs) -> Lanes<u32> {
    let max = grid.height_max();
    Lanes::from_fn(|lane| {
        let open = (0..DIRECTIONS).filter(|&direction| arcs[direction][lane] > 0);
        let lowest = open.map(|direction| heights[direction][lane]).min();
        lowest.map_or(max, |lowest| max.min(lowest.saturating_add(1)))
    })
}
