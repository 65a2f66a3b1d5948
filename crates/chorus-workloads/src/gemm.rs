//! Matrix products, tiled through local data.
//!
//! The kernel that dense linear algebra libraries run (Volkov, Demmel: Benchmarking GPUs to Tune Dense Linear Algebra,
//! SC 2008; NVIDIA's CUTLASS): a work-group of four wavefronts computes a tile of the product. It walks along the
//! depth in chunks of 16, fetches a chunk of both operands into registers while it multiplies the chunk before, and
//! hands it over through local data. A work-item keeps some rows of one or two columns in registers; rows of a
//! wavefront are broadcast from local data by vector reads.
//!
//! Work-groups are numbered along rows or along columns first; libraries choose either. An operand is whatever says
//! where its elements lie, so that a convolution is a product whose one operand is gathered from an image (see
//! `conv.rs`).
//!
//! Every element of the product sums its terms one by one in ascending order of depth, and each term is rounded before
//! it is added: a host that does the same gets the same bits. Terms that are zero because an operand has no such
//! element change nothing.
//!
//! Arithmetic: a fused multiply-add per element and step of the depth; 2 instructions per chunk for the loop; as many
//! as the operand says for the addresses of a fetch; per element of the result 1 for its address, 1 for bias or
//! accumulation, and 1 for rectification; 16 for the coordinates of the tile.

use chorus_kernel::wave::Load;
use chorus_kernel::{Buf, Kernel, LANES, Lanes, Mask, Wave};

/// Depth that is fetched at a time.
const CHUNK: u32 = 16;
const WAVES_PER_GROUP: u32 = 4;
const LANES_U32: u32 = LANES as u32;

/// The rows and columns that a work-group computes. A library takes the largest tile that still gives all of the
/// machine something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// Tiles of 16 rows and 32 columns.
    Small,
    /// Tiles of 32 rows and 64 columns.
    Medium,
    /// Tiles of 64 rows and 64 columns.
    Large,
}

impl Tile {
    /// Rows of the tile.
    pub fn rows(self) -> u32 {
        match self {
            Tile::Small => 16,
            Tile::Medium => 32,
            Tile::Large => 64,
        }
    }
}

/// Which index of an operand runs along memory, so that neighbouring lanes should differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjacent {
    /// The row of the left operand, or the column of the right one.
    Outer,
    /// The index that is summed over.
    Depth,
}

/// An operand of a product: where its elements lie.
pub trait Operand: Clone + Send + Sync + 'static {
    /// The buffer that holds its elements.
    fn buf(&self) -> Buf<f32>;
    /// The index that runs along memory.
    fn adjacent(&self) -> Adjacent;
    /// The element of a row or column at a depth, or nothing where it is zero without being stored.
    fn element(&self, outer: u32, depth: u32) -> Option<u32>;
    /// Instructions for the addresses of one fetch.
    fn address_alu(&self) -> u32;
    /// The operand as the tile that begins at `row` sees it, where that is not the same for all.
    fn for_row(self, _row: u32) -> Self {
        self
    }
}

/// Where the elements of a product go.
pub trait Target: Clone + Send + Sync + 'static {
    /// The buffer that holds its elements.
    fn buf(&self) -> Buf<f32>;
    /// The element of a row and a column.
    fn element(&self, row: u32, column: u32) -> u32;
}

/// A matrix with fixed distances between its elements: per row or column and per depth as an operand, per row and per
/// column as a target.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    /// The buffer that holds its elements.
    pub buf: Buf<f32>,
    /// The distances of adjacent elements in both indices, in words.
    pub strides: [u32; 2],
}

impl Operand for Strided {
    fn buf(&self) -> Buf<f32> {
        self.buf
    }

    fn adjacent(&self) -> Adjacent {
        if self.strides[0] == 1 { Adjacent::Outer } else { Adjacent::Depth }
    }

    fn element(&self, outer: u32, depth: u32) -> Option<u32> {
        Some(outer * self.strides[0] + depth * self.strides[1])
    }

    /// One to advance the address, one to test the edge.
    fn address_alu(&self) -> u32 {
        2
    }
}

impl Target for Strided {
    fn buf(&self) -> Buf<f32> {
        self.buf
    }

    fn element(&self, row: u32, column: u32) -> u32 {
        row * self.strides[0] + column * self.strides[1]
    }
}

/// A right operand that is packed for work-groups: 32 columns at a time, depth by depth, so that all
/// elements that a tile needs lie together.
#[derive(Clone, Copy, Debug)]
pub struct Panels {
    /// The buffer that holds its elements.
    pub buf: Buf<f32>,
    /// Terms of each sum.
    pub depth: u32,
}

impl Operand for Panels {
    fn buf(&self) -> Buf<f32> {
        self.buf
    }

    fn adjacent(&self) -> Adjacent {
        Adjacent::Outer
    }

    fn element(&self, outer: u32, depth: u32) -> Option<u32> {
        Some((outer / LANES_U32 * self.depth + depth) * LANES_U32 + outer % LANES_U32)
    }

    fn address_alu(&self) -> u32 {
        2
    }
}

/// The numbers that are added to the product before it is stored.
#[derive(Clone, Copy, Debug)]
pub enum Addend {
    /// A number for each row.
    RowBias(Buf<f32>),
    /// A number for each column.
    ColumnBias(Buf<f32>),
    /// The numbers that the target holds already.
    Accumulate,
    /// The product is stored as it is.
    None,
}

/// How the tiles of a product are numbered. Adjacent work-groups run on the same module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Tiles of the same rows are adjacent.
    ColumnsFirst,
    /// Tiles of the same columns are adjacent.
    RowsFirst,
}

/// A product of two operands: `target = rectify(a b + addend)`.
#[derive(Clone, Debug)]
pub struct Product<A, B, T> {
    /// Rows of the left operand.
    pub rows: u32,
    /// Columns of the right operand.
    pub columns: u32,
    /// Terms of each sum.
    pub depth: u32,
    /// The left operand, which has the rows.
    pub a: A,
    /// The right operand, which has the columns.
    pub b: B,
    /// The matrix that gets the result.
    pub target: T,
    /// The numbers that are added to the product.
    pub addend: Addend,
    /// Whether negative results become zero.
    pub rectify: bool,
    /// Which tiles have adjacent work-groups.
    pub order: Order,
}

impl<A: Operand, B: Operand, T: Target> Product<A, B, T> {
    /// The launch that computes the product.
    pub fn kernel(self, name: &'static str, tile: Tile) -> Kernel {
        match tile {
            Tile::Small => self.launch::<4, 1>(name),
            Tile::Medium => self.launch::<8, 2>(name),
            Tile::Large => self.launch::<16, 2>(name),
        }
    }

    /// A work-item computes R rows in each of C columns.
    fn launch<const R: usize, const C: usize>(self, name: &'static str) -> Kernel {
        let (tile_rows, tile_columns) = (WAVES_PER_GROUP * R as u32, LANES_U32 * C as u32);
        let work_groups = self.rows.div_ceil(tile_rows) * self.columns.div_ceil(tile_columns);
        // Sums, operands of a step, the chunk that is being fetched, and addresses.
        let registers = R * C + R + C + R / 2 + 4 * C + 12;
        Kernel::new(name, work_groups, WAVES_PER_GROUP, move |w| multiply_tile::<R, C, A, B, T>(w, self.clone()))
            .registers(registers as u32)
            .lds(CHUNK * (tile_rows + tile_columns) * 4)
    }
}

/// The part of an operand that a tile needs: `outers` rows or columns, a chunk of the depth at a time.
struct Panel<'a, O> {
    operand: &'a O,
    first: u32,
    outers: u32,
    /// Rows or columns, and depth, of the whole operand.
    limits: [u32; 2],
    /// Where it lies in local data, depth by depth.
    local: u32,
}

impl<O: Operand> Panel<'_, O> {
    /// The row or column and the depth of each lane in one of the fetches of a chunk, counted from the first of both.
    fn places(&self, w: &Wave, fetch: u32) -> Lanes<[u32; 2]> {
        let place = w.lane_ids() + fetch * LANES_U32;
        match self.operand.adjacent() {
            Adjacent::Outer => place.map(|place| [place % self.outers, place / self.outers]),
            Adjacent::Depth => place.map(|place| [place / CHUNK, place % CHUNK]),
        }
    }

    /// The fetches of a chunk that this wavefront makes.
    fn fetches(&self, w: &Wave) -> std::ops::Range<u32> {
        let each = self.outers * CHUNK / LANES_U32 / WAVES_PER_GROUP;
        w.id().wave * each..(w.id().wave + 1) * each
    }

    async fn fetch<'w>(&self, w: &'w Wave, depth: u32) -> Vec<Load<'w, f32>> {
        let mut loads = Vec::new();
        for fetch in self.fetches(w) {
            w.alu(self.operand.address_alu()).await;
            let elements = self.places(w, fetch).map(|[outer, step]| {
                let (outer, depth) = (self.first + outer, depth + step);
                if outer < self.limits[0] && depth < self.limits[1] { self.operand.element(outer, depth) } else { None }
            });
            let exist = elements.where_(|element| element.is_some());
            loads.push(w.load_where(exist, self.operand.buf(), elements.map(|element| element.unwrap_or(0))));
        }
        loads
    }

    /// Hands what was fetched over to the work-group.
    fn put(&self, w: &Wave, values: &[Lanes<f32>]) {
        for (fetch, &values) in self.fetches(w).zip(values) {
            let at = self.places(w, fetch).map(|[outer, step]| self.local + step * self.outers + outer);
            w.lds_write(Mask::ALL, at, values);
        }
    }
}

async fn all(loads: Vec<Load<'_, f32>>) -> Vec<Lanes<f32>> {
    let mut values = Vec::with_capacity(loads.len());
    for load in loads {
        values.push(load.await);
    }
    values
}

async fn multiply_tile<const R: usize, const C: usize, A: Operand, B: Operand, T: Target>(
    w: Wave,
    product: Product<A, B, T>,
) {
    let (tile_rows, tile_columns) = (WAVES_PER_GROUP * R as u32, LANES_U32 * C as u32);
    let (tiles_down, tiles_across) = (product.rows.div_ceil(tile_rows), product.columns.div_ceil(tile_columns));
    let (row, column) = match product.order {
        Order::ColumnsFirst => (w.work_group() / tiles_across, w.work_group() % tiles_across),
        Order::RowsFirst => (w.work_group() % tiles_down, w.work_group() / tiles_down),
    };
    let (row, column) = (row * tile_rows, column * tile_columns);
    let right = product.b.clone().for_row(row);
    let a =
        Panel { operand: &product.a, first: row, outers: tile_rows, limits: [product.rows, product.depth], local: 0 };
    let b = Panel {
        operand: &right,
        first: column,
        outers: tile_columns,
        limits: [product.columns, product.depth],
        local: CHUNK * tile_rows,
    };
    w.alu(16).await;
    let mut sums = [[Lanes::splat(0.0); C]; R];
    let mut fetched = (a.fetch(&w, 0).await, b.fetch(&w, 0).await);
    for depth in (0..product.depth).step_by(CHUNK as usize) {
        let values = (all(fetched.0).await, all(fetched.1).await);
        w.barrier().await;
        a.put(&w, &values.0);
        b.put(&w, &values.1);
        w.barrier().await;
        let next = depth + CHUNK;
        fetched = if next < product.depth {
            (a.fetch(&w, next).await, b.fetch(&w, next).await)
        } else {
            (Vec::new(), Vec::new())
        };
        w.alu(2).await;
        multiply_chunk(&w, b.local, &mut sums).await;
    }
    store(&w, &product, [row + w.id().wave * R as u32, column], sums).await;
}

/// Adds the terms of a chunk to the sums.
async fn multiply_chunk<const R: usize, const C: usize>(w: &Wave, local_b: u32, sums: &mut [[Lanes<f32>; C]; R]) {
    let (tile_rows, tile_columns) = (WAVES_PER_GROUP * R as u32, LANES_U32 * C as u32);
    for step in 0..CHUNK {
        let rows: [f32; R] = w.lds_read_vector(step * tile_rows + w.id().wave * R as u32);
        let columns: [Lanes<f32>; C] = std::array::from_fn(|block| {
            w.lds_read(Mask::ALL, w.lane_ids() + local_b + step * tile_columns + block as u32 * LANES_U32)
        });
        w.alu((R * C) as u32).await;
        for (row, sums) in rows.iter().zip(sums.iter_mut()) {
            for (column, sums) in columns.iter().zip(sums.iter_mut()) {
                add_products(sums, *row, column);
            }
        }
    }
}

/// Adds a multiple of `values` to `sums`, each product rounded before it is added.
pub fn add_products(sums: &mut Lanes<f32>, factor: f32, values: &Lanes<f32>) {
    for (sum, value) in sums.0.iter_mut().zip(&values.0) {
        *sum += factor * value;
    }
}

/// Finishes the rows of a wavefront and stores them; `first` is its first row and column.
async fn store<const R: usize, const C: usize, A: Operand, B: Operand, T: Target>(
    w: &Wave,
    product: &Product<A, B, T>,
    [row, column]: [u32; 2],
    mut sums: [[Lanes<f32>; C]; R],
) {
    let rows = product.rows.saturating_sub(row).min(R as u32) as usize;
    if rows == 0 {
        return;
    }
    let target = &product.target;
    let columns: [Lanes<u32>; C] = std::array::from_fn(|block| w.lane_ids() + column + block as u32 * LANES_U32);
    let inside = columns.map(|columns| columns.below(product.columns));
    let at = |r: usize, c: usize| {
        let place = |column| if column < product.columns { target.element(row + r as u32, column) } else { 0 };
        columns[c].map(place)
    };
    match product.addend {
        Addend::RowBias(bias) => {
            let bias = w.load_where(Mask::first(rows), bias, w.lane_ids() + row).await;
            add_each(&mut sums, |r, _| Lanes::splat(bias[r]));
        }
        Addend::ColumnBias(bias) => {
            let bias = all((0..C).map(|c| w.load_where(inside[c], bias, columns[c])).collect()).await;
            add_each(&mut sums, |_, c| bias[c]);
        }
        Addend::Accumulate => {
            let blocks = (0..rows).flat_map(|r| (0..C).map(move |c| (r, c)));
            let old = all(blocks.map(|(r, c)| w.load_where(inside[c], target.buf(), at(r, c))).collect()).await;
            add_each(&mut sums, |r, c| old.get(r * C + c).copied().unwrap_or(Lanes::splat(0.0)));
        }
        Addend::None => {}
    }
    for (r, sums) in sums.iter().enumerate().take(rows) {
        for (c, &sums) in sums.iter().enumerate() {
            w.alu(2 + u32::from(product.rectify)).await;
            let values = if product.rectify { sums.map(rectify) } else { sums };
            w.store_where(inside[c], target.buf(), at(r, c), values);
        }
    }
}

fn add_each<const R: usize, const C: usize>(
    sums: &mut [[Lanes<f32>; C]; R],
    addend: impl Fn(usize, usize) -> Lanes<f32>,
) {
    for (r, sums) in sums.iter_mut().enumerate() {
        for (c, sums) in sums.iter_mut().enumerate() {
            *sums = *sums + addend(r, c);
        }
    }
}

/// The rectified linear unit.
pub fn rectify(value: f32) -> f32 {
    if value > 0.0 { value } else { 0.0 }
}

/// Rows of a right operand in row-major order, weighted and added up on the host: `sums += factors x matrix`, term by
/// term in the order of the rows.
pub fn add_weighted_rows(sums: &mut [f32], factors: &[f32], matrix: &[f32]) {
    for (factor, row) in factors.iter().zip(matrix.chunks_exact(sums.len())) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += factor * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{HostMemory, flat};

    use super::*;
    use crate::generator::SplitMix64;

    /// Multiplies random matrices, the left one with adjacent rows or depths, and compares the result with the host's.
    fn check(tile: Tile, [rows, columns, depth]: [u32; 3], adjacent: Adjacent, accumulate: bool) {
        let mut generator = SplitMix64::new(9);
        let mut draw = |len: u32| (0..len).map(|_| generator.between_f32(-1.0, 1.0)).collect::<Vec<f32>>();
        let (left, right, bias) = (draw(rows * depth), draw(depth * columns), draw(columns));
        let old = draw(rows * columns);
        let mut memory = HostMemory::default();
        let strides = if adjacent == Adjacent::Outer { [1, rows] } else { [depth, 1] };
        let a = Strided { buf: memory.alloc_from(&left), strides };
        let b = Strided { buf: memory.alloc_from(&right), strides: [1, columns] };
        let target = Strided { buf: memory.alloc_from(&old), strides: [columns, 1] };
        let addend = if accumulate { Addend::Accumulate } else { Addend::ColumnBias(memory.alloc_from(&bias)) };
        let order = if accumulate { Order::ColumnsFirst } else { Order::RowsFirst };
        let product = Product { rows, columns, depth, a, b, target, addend, rectify: !accumulate, order };
        flat::run_kernel(&product.kernel("product", tile), &memory).unwrap();
        let mut expected = Vec::new();
        for row in 0..rows {
            let factors: Vec<f32> =
                (0..depth).map(|depth| left[(row * strides[0] + depth * strides[1]) as usize]).collect();
            let mut sums = vec![0.0; columns as usize];
            add_weighted_rows(&mut sums, &factors, &right);
            expected.extend(sums.iter().zip(0..).map(|(sum, column): (&f32, usize)| {
                if accumulate {
                    sum + old[row as usize * columns as usize + column]
                } else {
                    rectify(sum + bias[column])
                }
            }));
        }
        assert_eq!(memory.read(target.buf), expected);
    }

    #[test]
    fn every_tile_computes_a_product_that_it_divides() {
        check(Tile::Small, [32, 64, 32], Adjacent::Outer, false);
        check(Tile::Medium, [64, 128, 16], Adjacent::Outer, true);
        check(Tile::Large, [64, 64, 48], Adjacent::Depth, false);
    }

    #[test]
    fn products_that_tiles_do_not_divide_are_computed_whole() {
        check(Tile::Small, [17, 33, 5], Adjacent::Depth, true);
        check(Tile::Medium, [3, 70, 19], Adjacent::Outer, false);
        check(Tile::Large, [65, 1, 33], Adjacent::Depth, true);
    }
}
