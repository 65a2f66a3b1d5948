//! The table of one machine: cells, and what they are relative to.

use crate::run::{RunError, RunResult};
use crate::stats::Mean;

/// The metrics that count as traffic. A machine's tables show the first one that all of its runs have counted and that
/// is not zero in all of them.
const TRAFFIC: [(&str, &str); 4] = [
    ("traffic.flit_hops", "flits times hops through the network"),
    ("inter_gpu.bytes", "bytes between GPUs"),
    ("inter_gpm.bytes", "bytes between the modules of a GPU"),
    ("traffic.flits", "flits through the crossbars"),
];

/// All workloads under the protocols of one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineTable {
    /// The name of the machine.
    pub system: String,
    /// The title of the machine's system file.
    pub title: String,
    /// The protocol that cells are relative to.
    pub baseline: String,
    /// The protocols that the machine can have: the columns.
    pub protocols: Vec<String>,
    /// The protocols that the machine cannot have, each with the reason.
    pub refused: Vec<(String, String)>,
    /// The rows, one per workload.
    pub rows: Vec<Row>,
}

/// A workload under all protocols of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of the workload.
    pub workload: String,
    /// The cells, one per protocol.
    pub cells: Vec<Cell>,
}

/// A workload under a protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// It ran to its end with the right result.
    Measured(Measured),
    /// It gave no usable result.
    Cannot(RunError),
    /// It is still to be made.
    NotRun,
}

/// The numbers of a run that the tables show.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Core cycles of the whole run.
    pub cycles: u64,
    traffic: [Option<f64>; TRAFFIC.len()],
}

impl Measured {
    /// Takes the numbers of the tables from the result of a run.
    pub fn of(result: &RunResult) -> Measured {
        let traffic = TRAFFIC.map(|(metric, _)| result.metrics.get(metric).copied());
        Measured { cycles: result.cycles, traffic }
    }
}

/// The quantity that a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Core cycles of a run.
    Time,
    /// A metric of traffic, by its place among those that count as traffic.
    Traffic(usize),
}

impl Quantity {
    /// The metric and what it is.
    pub fn metric(self) -> (&'static str, &'static str) {
        match self {
            Quantity::Time => (crate::figure::CYCLES, "core cycles"),
            Quantity::Traffic(place) => TRAFFIC[place],
        }
    }
}

/// A mean of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Average {
    /// The geometric mean of the ratios; none where there is no ratio.
    pub mean: Option<f64>,
    /// The workloads that it is over.
    pub workloads: usize,
}

impl Cell {
    /// The number behind it.
    pub fn value(&self, quantity: Quantity) -> Option<f64> {
        match (self, quantity) {
            (Cell::Measured(measured), Quantity::Time) => Some(measured.cycles as f64),
            (Cell::Measured(measured), Quantity::Traffic(place)) => measured.traffic[place],
            (Cell::Cannot(_) | Cell::NotRun, _) => None,
        }
    }
}

impl MachineTable {
    /// The quantity that counts as traffic on this machine. There is none where nothing ran.
    pub fn traffic(&self) -> Option<Quantity> {
        let cells = || self.rows.iter().flat_map(|row| &row.cells).filter(|cell| matches!(cell, Cell::Measured(_)));
        let counts = |&place: &usize| {
            let values: Option<Vec<f64>> = cells().map(|cell| cell.value(Quantity::Traffic(place))).collect();
            values.is_some_and(|values| values.iter().any(|value| *value > 0.0))
        };
        (0..TRAFFIC.len()).find(counts).map(Quantity::Traffic)
    }

    /// The column that a row is relative to: the baseline's, or the first one with a number where it has none.
    pub fn reference(&self, row: &Row) -> Option<usize> {
        let measured = |index: &usize| matches!(row.cells.get(*index), Some(Cell::Measured(_)));
        self.baseline_column().filter(measured).or_else(|| (0..row.cells.len()).find(measured))
    }

    /// Whether a row is relative to the baseline.
    pub fn has_baseline(&self, row: &Row) -> bool {
        let baseline = self.baseline_column();
        baseline.is_some() && self.reference(row) == baseline
    }

    fn baseline_column(&self) -> Option<usize> {
        self.protocols.iter().position(|protocol| *protocol == self.baseline)
    }

    /// A cell over the one that its row is relative to.
    pub fn ratio(&self, row: &Row, column: usize, quantity: Quantity) -> Option<f64> {
        let reference = row.cells.get(self.reference(row)?)?.value(quantity)?;
        let ratio = row.cells.get(column)?.value(quantity)? / reference;
        Some(ratio).filter(|ratio| ratio.is_finite())
    }

    /// The mean of a column over the workloads that it and the baseline ran.
    pub fn average(&self, column: usize, quantity: Quantity) -> Average {
        self.average_over(column, quantity, &|_| true)
    }

    /// The mean of a column over the workloads that every protocol ran that ran any.
    pub fn common_average(&self, column: usize, quantity: Quantity) -> Average {
        let has_ratio = |row: &Row, column: usize| self.ratio(row, column, quantity).is_some();
        let alive: Vec<usize> =
            (0..self.protocols.len()).filter(|&column| self.rows.iter().any(|row| has_ratio(row, column))).collect();
        self.average_over(column, quantity, &|row| alive.iter().all(|&column| has_ratio(row, column)))
    }

    fn average_over(&self, column: usize, quantity: Quantity, takes: &dyn Fn(&Row) -> bool) -> Average {
        let rows = self.rows.iter().filter(|row| self.has_baseline(row) && takes(row));
        // What moves nothing has no place in a geometric mean.
        let ratios = rows.filter_map(|row| self.ratio(row, column, quantity)).filter(|ratio| *ratio > 0.0);
        let ratios: Vec<f64> = ratios.collect();
        Average { mean: Mean::Geometric.of(&ratios), workloads: ratios.len() }
    }

    /// The least ratio of a row.
    pub fn best(&self, row: &Row, quantity: Quantity) -> Option<f64> {
        (0..row.cells.len()).filter_map(|column| self.ratio(row, column, quantity)).reduce(f64::min)
    }
}
