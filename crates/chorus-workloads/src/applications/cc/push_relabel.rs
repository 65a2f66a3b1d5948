//! The kernels: push, pull and relabel in one, the breadth-first search, and the labels.
//!
//! A work-group has a tile of 32 x 8 pixels, as in the original, a wavefront one row of it. The combined kernel takes
//! the heights of the tile and of the pixels around it to local data. Then every pixel that may push sends excess to
//! the sink, if it is one below, and to every neighbour that is one below it: it reads its excess and its arc, takes the
//! flow from both, and adds it to the neighbour's excess and arc back, by four atomics. When the whole work-group has
//! pushed, every pixel reads its arcs again and rises just above the lowest neighbour that can take flow, or to 1 beside
//! the sink. Its new height goes to another array, which the next launch reads. A pixel is marked to push in the next
//! launch if it has excess and was above a neighbour that can take it.
//!
//! Only the pixel itself takes from its excess and its arcs; others add. So what it reads is never more than what is
//! there, even if a write is seen late, and no flow is lost. A pixel may be relabelled before a neighbour of another
//! work-group pushes to it, and then miss the arc back: its height can come to lie above the true distance to the
//! sink. The search makes heights exact again.
//!
//! Order: a fence and a barrier separate the pushes of a work-group from its relabelling. Launches separate the rest.
//! A step of the search looks for neighbours of one height and gives the next one, so steps do not disturb themselves.
//!
//! Arithmetic: 10 instructions for the coordinates and addresses of a pixel and its neighbours, and 6 for the local
//! data; 3 for a push to the sink and 8 per direction for a push to a neighbour (three tests, minimum, two addresses,
//! difference, sum); 5 per direction for the mark and the lowest neighbour, and 3 for the new height; 3 per direction for
//! a step of the search.

use chorus_kernel::{Buf, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use super::grid::{DIRECTIONS, Grid, opposite};

/// Rows of a tile, one for each wavefront of a work-group.
pub(super) const ROWS: u32 = 8;

/// Words of a row of heights in local data: those of the tile and one on each side.
const LDS_ROW: u32 = LANES as u32 + 2;
pub(super) const LDS_BYTES: u32 = (ROWS + 2) * LDS_ROW * 4;

type Arcs = [Lanes<u32>; DIRECTIONS];

/// One wavefront of the combined kernel. It reads the heights of one array and writes those of the other.
pub(super) async fn flow(w: Wave, grid: Grid, from: usize) {
    let segment = Segment::new(&w, &grid);
    w.alu(16).await;
    let heights = segment.share_heights(&w, grid.heights[from]).await;
    segment.push(&w, &grid, &heights).await;
    w.fence(Scope::Gpu).await;
    w.barrier().await;
    segment.relabel(&w, &grid, &heights, grid.heights[1 - from]).await;
}

/// One wavefront of the kernel that forgets all heights but those beside the sink.
pub(super) async fn begin_search(w: Wave, grid: Grid) {
    let segment = Segment::new(&w, &grid);
    w.alu(6).await;
    let beside_sink = w.load(grid.sink, segment.at).await;
    let max = grid.height_max();
    w.store(grid.heights[0], segment.at, beside_sink.map(|sink| if sink > 0 { 1 } else { max }));
}

/// One wavefront of a step of the search: pixels without a height that have an arc to a pixel of the height below get
/// this one. A step that reaches any leaves its stamp.
pub(super) async fn search(w: Wave, grid: Grid, height: u32, stamp: u32) {
    let segment = Segment::new(&w, &grid);
    w.alu(10).await;
    let old = w.load(grid.heights[0], segment.at).await;
    let unknown = old.where_(|height| height == grid.height_max());
    if !unknown.any() {
        return;
    }
    let mut next = Mask::NONE;
    for direction in 0..DIRECTIONS {
        let looking = unknown & segment.inside[direction];
        let arc = w.load_where(looking, grid.arcs[direction], segment.at);
        let neighbour = w.load_where(looking, grid.heights[0], segment.neighbours[direction]);
        let (arc, neighbour) = w.join(arc, neighbour).await;
        w.alu(3).await;
        next = next | looking & arc.where_(|arc| arc > 0) & neighbour.where_(|below| below + 1 == height);
    }
    if next.any() {
        w.store_where(next, grid.heights[0], segment.at, height.into());
        w.store_one(grid.reached, 0, stamp);
    }
}

/// One wavefront of the segmentation: what cannot reach the sink is on the side of the source.
pub(super) async fn label(w: Wave, grid: Grid) {
    let segment = Segment::new(&w, &grid);
    w.alu(8).await;
    let height = w.load(grid.heights[0], segment.at).await;
    w.store(grid.label, segment.at, height.map(|height| u32::from(height >= grid.height_max())));
}

/// 32 pixels of a row.
struct Segment {
    at: Lanes<u32>,
    neighbours: Arcs,
    inside: [Mask; DIRECTIONS],
}

/// The heights of 32 pixels and of their neighbours.
struct Heights {
    own: Lanes<u32>,
    neighbours: Arcs,
}

impl Heights {
    /// The lanes whose neighbour is one below them.
    fn above(&self, direction: usize) -> Mask {
        self.own.zip(self.neighbours[direction], |own, neighbour| own == neighbour.saturating_add(1)).where_(|is| is)
    }
}

impl Segment {
    fn new(w: &Wave, grid: &Grid) -> Segment {
        let (size, tile) = (grid.size, w.work_group());
        let tiles_x = size.width / LANES as u32;
        let row = tile / tiles_x * ROWS + w.id().wave;
        let at = w.lane_ids() + (row * size.width + tile % tiles_x * LANES as u32);
        let neighbour = |direction| at.map(|pixel| size.neighbour(pixel, direction));
        Segment {
            at,
            neighbours: std::array::from_fn(|direction| neighbour(direction).map(|pixel| pixel.unwrap_or(0))),
            inside: std::array::from_fn(|direction| neighbour(direction).where_(|pixel| pixel.is_some())),
        }
    }

    /// Exchanges heights with the other rows of the tile, and loads those around it.
    async fn share_heights(&self, w: &Wave, heights: Buf<u32>) -> Heights {
        let row = w.id().wave;
        let word = w.lane_ids() + ((row + 1) * LDS_ROW + 1);
        let beside = [word + 1, word - 1, word + LDS_ROW, word - LDS_ROW];
        let ends = [Mask::lane(LANES - 1), Mask::lane(0), Mask::ALL, Mask::ALL];
        let at_edge = [true, true, row + 1 == ROWS, row == 0];
        let own = w.load(heights, self.at);
        let halo = std::array::from_fn::<_, DIRECTIONS, _>(|direction| {
            let lanes = if at_edge[direction] { self.inside[direction] & ends[direction] } else { Mask::NONE };
            lanes.any().then(|| (lanes, w.load_where(lanes, heights, self.neighbours[direction])))
        });
        let own = own.await;
        w.lds_write(Mask::ALL, word, own);
        for (loaded, word) in halo.into_iter().zip(beside) {
            if let Some((lanes, loaded)) = loaded {
                w.lds_write(lanes, word, loaded.await);
            }
        }
        w.barrier().await;
        let neighbours = std::array::from_fn(|direction| w.lds_read(self.inside[direction], beside[direction]));
        Heights { own, neighbours }
    }

    /// Sends excess to the sink and to the neighbours one below.
    async fn push(&self, w: &Wave, grid: &Grid, heights: &Heights) {
        let (mask, excess) = w.join(w.load(grid.mask, self.at), w.load(grid.excess, self.at)).await;
        let active = mask.where_(|mask| mask == 1);
        w.alu(1).await;
        if !active.any() {
            return;
        }
        let none = Lanes::splat(0);
        let sink = w.load_where(active, grid.sink, self.at).await;
        w.alu(3).await;
        let beside_sink = heights.own.where_(|height| height == 1);
        let flow = excess.zip(sink, u32::min).select(active & beside_sink, none);
        let pushes = flow.where_(|flow| flow > 0);
        if pushes.any() {
            w.store_where(pushes, grid.sink, self.at, sink - flow);
            add(w, pushes, grid.excess, self.at, flow.map(u32::wrapping_neg));
        }
        for direction in 0..DIRECTIONS {
            let excess = w.load_where(active, grid.excess, self.at);
            let arc = w.load_where(active, grid.arcs[direction], self.at);
            let (excess, arc) = w.join(excess, arc).await;
            w.alu(8).await;
            let open = active & self.inside[direction] & heights.above(direction);
            let flow = excess.zip(arc, u32::min).select(open, none);
            let pushes = flow.where_(|flow| flow > 0);
            if pushes.any() {
                let neighbours = self.neighbours[direction];
                add(w, pushes, grid.arcs[direction], self.at, flow.map(u32::wrapping_neg));
                add(w, pushes, grid.arcs[opposite(direction)], neighbours, flow);
                add(w, pushes, grid.excess, self.at, flow.map(u32::wrapping_neg));
                add(w, pushes, grid.excess, neighbours, flow);
            }
        }
    }

    /// Marks pixels that may push next, and gives every pixel the height above its lowest neighbour that can take flow.
    async fn relabel(&self, w: &Wave, grid: &Grid, heights: &Heights, to: Buf<u32>) {
        let own = w.join(w.load(grid.excess, self.at), w.load(grid.sink, self.at));
        let arcs = grid.arcs.map(|buf| w.load(buf, self.at));
        let ((excess, sink), arcs) = (own.await, w.join_all(arcs).await);
        w.alu(5 * DIRECTIONS as u32 + 3).await;
        let beside_sink = sink.where_(|sink| sink > 0);
        let mut admissible = beside_sink & heights.own.where_(|height| height == 1);
        let mut lowest = Lanes::splat(grid.height_max());
        for direction in 0..DIRECTIONS {
            let open = self.inside[direction] & arcs[direction].where_(|arc| arc > 0);
            admissible = admissible | open & heights.above(direction);
            lowest = lowest.zip(heights.neighbours[direction], u32::min).select(open, lowest);
        }
        let marked = admissible & excess.where_(|excess| excess > 0);
        w.store(grid.mask, self.at, Lanes::splat(1).select(marked, Lanes::splat(0)));
        let above = lowest.map(|lowest| (lowest + 1).min(grid.height_max()));
        w.store(to, self.at, Lanes::splat(1).select(beside_sink, above));
    }
}

/// Adds to one word per lane. Nobody waits for the old values, so the atomic is posted like a store.
fn add(w: &Wave, mask: Mask, buf: Buf<u32>, at: Lanes<u32>, by: Lanes<u32>) {
    drop(w.atomic_where(AtomicOp::Add, mask, buf, at, by));
}
