//! Probes: programs that measure one property of a machine, compared with what they measured on a GPU.

use std::path::Path;

use serde::Serialize;

use super::description::{Description, beside};
use super::measured::{Measured, ProbeRow, probe_title};
use super::spec_of;
use crate::run::{Record, RunResult, RunSpec};

/// Begins a rule that counts the elements of a reading that are hits. The row tells whether all were, or none.
const HITS: &str = "hits ";

/// A probe with the run that answers it.
pub(super) struct Probe {
    row: ProbeRow,
    pub(super) spec: RunSpec,
}

/// The number of a probe on the simulated machine beside that on the GPU.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeResult {
    /// The group of probes.
    pub group: String,
    /// The name of the probe.
    pub name: String,
    /// The value of what was varied: bytes, lanes, blocks.
    pub param: f64,
    /// The unit of the numbers.
    pub unit: String,
    /// The number on the GPU.
    pub measured: f64,
    /// The number on the simulated machine.
    pub simulated: Option<f64>,
    /// The reason why there is none.
    pub trouble: Option<String>,
    /// The relative error that the group may have. Groups of hits and counts must be equal.
    pub within: f64,
    /// Whether the probe tells hits from misses, and both are the same on GPU and machine.
    pub same_hits: Option<bool>,
}

impl ProbeResult {
    /// The title of the row in tables.
    pub fn title(&self) -> String {
        probe_title(&self.group, &self.name, self.param)
    }

    /// The relative error, with its sign.
    pub fn error(&self) -> Option<f64> {
        let simulated = self.simulated?;
        match self.measured {
            0.0 => Some(if simulated == 0.0 { 0.0 } else { 1.0 }),
            measured => Some(simulated / measured - 1.0),
        }
    }

    /// Whether the number is near enough.
    pub fn passes(&self) -> bool {
        self.error().is_some_and(|error| error.abs() <= self.within) && self.same_hits != Some(false)
    }
}

/// The probes of a description's list that have a measured row.
pub(super) fn probes(description: &Description, rows: Vec<ProbeRow>, measured: &Measured, quick: bool) -> Vec<Probe> {
    let list = description.path(&description.probes);
    let folder = Path::new(&list).parent().unwrap_or(Path::new(""));
    let has_row = |row: &ProbeRow| measured.row(&row.group, &row.name, row.param).is_some();
    let chosen = rows.into_iter().filter(|row| (row.quick || !quick) && has_row(row));
    let probe = |row: ProbeRow| {
        let spec = spec_of(description, &beside(folder, &row.program), &row.sizes, &[]);
        Probe { row, spec }
    };
    chosen.map(probe).collect()
}

impl Probe {
    /// Compares the run of the probe with its row.
    pub(super) fn judge(&self, description: &Description, measured: &Measured, record: Option<&Record>) -> ProbeResult {
        let ProbeRow { group, name, param, .. } = &self.row;
        let (value, unit) = measured.row(group, name, *param).unwrap_or((f64::NAN, ""));
        let (simulated, trouble) = match record.map(|record| (record.result(), record.trouble())) {
            None => (None, Some("it was not run".to_owned())),
            Some((Some(result), None)) => match number(&self.row.value, result, description) {
                Some(number) => (Some(number), None),
                None => (None, Some(format!("the run gives no `{}`", self.row.value))),
            },
            Some((_, trouble)) => (None, trouble.map(str::to_owned)),
        };
        let is_hit = |cycles: f64| cycles < description.hit_below;
        if let Some(reading) = self.row.value.strip_prefix(HITS) {
            let result = record.and_then(Record::result);
            let lines = result.and_then(|result| result.readings.get(reading)).map_or(0, Vec::len);
            return ProbeResult {
                group: format!("{group}, line by line"),
                name: name.clone(),
                param: *param,
                unit: format!("hits of {lines}"),
                measured: if is_hit(value) { lines as f64 } else { 0.0 },
                simulated,
                trouble,
                within: 0.0,
                same_hits: None,
            };
        }
        let tells_hits = group.starts_with("l1_probe");
        let same_hits = simulated.filter(|_| tells_hits).map(|simulated| is_hit(simulated) == is_hit(value));
        ProbeResult {
            group: group.clone(),
            name: name.clone(),
            param: *param,
            unit: unit.to_owned(),
            measured: value,
            simulated,
            trouble,
            within: if unit.starts_with("of ") { 0.0 } else { description.limit(group) },
            same_hits,
        }
    }
}

/// The number that a rule makes of a run: the mean of a reading, `hits READING` or `far READING` for the number of its
/// elements that are hits in the L1 or far, `kernel_cycles` of the last launch, or an amount `per_cycle`, `per_ns` or
/// `per_cycle_and_block` of it. With `event_` before `cycle` or `ns`, the time is that between two events around it.
fn number(rule: &str, result: &RunResult, description: &Description) -> Option<f64> {
    let words: Vec<&str> = rule.split_whitespace().collect();
    let ns_per_cycle = result.simulated_ns / result.cycles as f64;
    let launch = result.kernels.last()?.cycles as f64;
    let between_events = launch + description.between_events_us * 1000.0 / ns_per_cycle;
    let cycles = if rule.starts_with("per_event_") { between_events } else { launch };
    let amount = || words.get(1)?.parse::<f64>().ok();
    match words.first()?.replace("per_event_", "per_").as_str() {
        "kernel_cycles" => Some(cycles),
        "per_cycle" => Some(amount()? / cycles),
        "per_ns" => Some(amount()? / (cycles * ns_per_cycle)),
        "per_cycle_and_block" => Some(amount()? / cycles / *result.sizes.get("blocks")? as f64),
        "hits" => {
            let values = result.readings.get(*words.get(1)?)?;
            Some(values.iter().filter(|&&cycles| cycles < description.hit_below).count() as f64)
        }
        "far" => {
            let values = result.readings.get(*words.get(1)?)?;
            Some(values.iter().filter(|&&cycles| cycles > description.far_above).count() as f64)
        }
        name => {
            let values = result.readings.get(name)?;
            Some(values.iter().sum::<f64>() / values.len().max(1) as f64)
        }
    }
}
