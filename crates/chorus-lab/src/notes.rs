//! Everything that was noted of a run beside its counters, as it is stored and printed: counters over time,
//! distributions of latencies, and the sharing of lines.

use std::collections::BTreeMap;

use chorus_sim::Noted;
use chorus_sim::distribution::{Distributions, Histogram, Kind, Latencies, Source};
use chorus_sim::sharing_profile::{Class, Classes, Level, SharingReport};
use serde::{Deserialize, Serialize};

/// Everything that was noted of a run. Nothing is, unless it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// The counters over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Latencies of accesses: of the whole run, then of each kernel, then of each buffer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<Latency>,
    /// The sharing of lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
}

/// The growth of counters in each interval of a run. The sum over the intervals is the counter of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The length of an interval in core cycles. The last one may be shorter.
    pub every: u64,
    /// The core cycle at which each interval ends.
    pub ends: Vec<u64>,
    /// The growth of each counter in each interval, without counters that are zero throughout.
    pub counters: BTreeMap<String, Vec<f64>>,
}

/// Latencies of some accesses, in core cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The kernel that they belong to; none for those of all kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The buffer that they touch, counted from 0 in the order of allocation; none for those of all buffers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<usize>,
    /// The kind of access.
    pub kind: String,
    /// The farthest place that answers came from; none for those from anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The number of these accesses.
    pub count: u64,
    /// The mean of their latencies.
    pub mean: f64,
    /// The latency that half of them do not exceed.
    pub p50: u64,
    /// The latency that 90 % of them do not exceed.
    pub p90: u64,
    /// The latency that 99 % of them do not exceed.
    pub p99: u64,
    /// The latency that 99.9 % of them do not exceed.
    #[serde(rename = "p99.9")]
    pub p999: u64,
    /// The longest of their latencies.
    pub max: u64,
    /// The least and the greatest latency of each bucket, and its count. Parts of a run have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<(u64, u64, u64)>,
}

/// The sharing of lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sharing {
    /// Lines that were accessed.
    pub lines: u64,
    /// The lines by class and by number of sharers, with compute units, modules and GPUs as sharers.
    pub levels: Vec<SharingLevel>,
    /// The lines of each buffer by class, with compute units as sharers.
    pub buffers: Vec<BTreeMap<String, u64>>,
    /// Lines with false sharing among compute units, those with the most accesses first.
    pub false_sharing: Vec<FalseSharing>,
}

/// Lines by class and by number of sharers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharingLevel {
    /// The parts of the machine that count as sharers.
    pub sharers: String,
    /// Lines of each class.
    pub classes: BTreeMap<String, u64>,
    /// Lines by their number of sharers.
    pub by_number: BTreeMap<usize, u64>,
}

/// A line that compute units share although they share none of its words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FalseSharing {
    /// The number of the line among those of the program's memory.
    pub line: u64,
    /// The buffer that it belongs to.
    pub buffer: usize,
    /// The compute units that access it.
    pub units: usize,
    /// The number of accesses to it.
    pub accesses: u64,
}

impl Notes {
    /// Whether nothing was noted.
    pub fn is_empty(&self) -> bool {
        *self == Notes::default()
    }
}

impl From<Noted> for Notes {
    fn from(noted: Noted) -> Notes {
        let series = |series: chorus_sim::series::Series| Series {
            every: series.every,
            ends: series.ends,
            counters: series.counters.into_iter().collect(),
        };
        Notes {
            series: noted.series.map(series),
            distributions: noted.distributions.as_ref().map_or_else(Vec::new, rows),
            sharing: noted.sharing.as_ref().map(Sharing::from),
        }
    }
}

/// The rows of a run, of its kernels and of its buffers.
fn rows(distributions: &Distributions) -> Vec<Latency> {
    let mut rows = Vec::new();
    add_rows(&mut rows, &distributions.all(), None, None);
    for (kernel, latencies) in &distributions.kernels {
        add_rows(&mut rows, latencies, Some(kernel), None);
    }
    for (buffer, latencies) in distributions.buffers.iter().enumerate() {
        add_rows(&mut rows, latencies, None, Some(buffer));
    }
    rows
}

fn add_rows(rows: &mut Vec<Latency>, latencies: &Latencies, kernel: Option<&String>, buffer: Option<usize>) {
    for kind in Kind::ALL {
        let row = |source: Option<Source>, histogram: &Histogram| Latency {
            kernel: kernel.cloned(),
            buffer,
            kind: kind.name().to_owned(),
            source: source.map(|source| source.name().to_owned()),
            count: histogram.count(),
            mean: histogram.mean(),
            p50: histogram.permille(500),
            p90: histogram.permille(900),
            p99: histogram.permille(990),
            p999: histogram.permille(999),
            max: histogram.max(),
            buckets: if kernel.is_none() && buffer.is_none() { histogram.buckets().collect() } else { Vec::new() },
        };
        let all = latencies.of_kind(kind);
        if all.count() > 0 {
            rows.push(row(None, &all));
            let sources = Source::ALL.into_iter().map(|source| (source, latencies.get(kind, source)));
            let counted = sources.filter(|(_, histogram)| histogram.count() > 0);
            rows.extend(counted.map(|(source, histogram)| row(Some(source), histogram)));
        }
    }
}

impl From<&SharingReport> for Sharing {
    fn from(report: &SharingReport) -> Sharing {
        let level = |level: Level| SharingLevel {
            sharers: level.name().to_owned(),
            classes: by_class(&report.classes[level as usize]),
            by_number: report.sharers[level as usize].clone(),
        };
        let false_line = |line: &chorus_sim::sharing_profile::FalseLine| FalseSharing {
            line: line.line,
            buffer: line.buffer,
            units: line.units,
            accesses: line.accesses,
        };
        Sharing {
            lines: report.lines,
            levels: Level::ALL.map(level).into(),
            buffers: report.buffers.iter().map(by_class).collect(),
            false_sharing: report.false_lines.iter().map(false_line).collect(),
        }
    }
}

fn by_class(classes: &Classes) -> BTreeMap<String, u64> {
    Class::ALL.into_iter().map(|class| (class.name().to_owned(), classes.get(class))).collect()
}
