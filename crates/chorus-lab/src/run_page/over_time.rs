//! Counters over time, as a chart for each.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::chart::series::draw;
use crate::html::{count, details, escape};
use crate::notes::Series;

pub(super) const SCRIPT: &str = include_str!("../html/series.js");

/// Counters whose charts are seen at once.
pub const CHARTED: [&str; 6] =
    ["core.instructions", "l1.accesses", "l1.load_misses", "traffic.flits", "inter_gpu.bytes", "dram.reads"];

/// The most intervals that a chart shows. Of more, adjoining ones are added up.
const INTERVALS_MAX: usize = 300;

/// Counters over time in no more intervals than can be seen.
#[derive(Debug, Serialize)]
pub(super) struct OverTime {
    /// The core cycle at which each interval ends.
    ends: Vec<u64>,
    /// The growth of each counter in each interval.
    counters: BTreeMap<String, Vec<f64>>,
}

impl OverTime {
    pub(super) fn new(series: &Series) -> OverTime {
        let joined = series.ends.len().div_ceil(INTERVALS_MAX).max(1);
        let ends = series.ends.chunks(joined).filter_map(|ends| ends.last().copied()).collect();
        let sums = |growth: &Vec<f64>| growth.chunks(joined).map(|part| part.iter().sum()).collect();
        OverTime { ends, counters: series.counters.iter().map(|(key, growth)| (key.clone(), sums(growth))).collect() }
    }

    /// The section of the page.
    pub(super) fn section(&self, series: &Series) -> String {
        let mut out = format!(
            "<h2 id=\"over-time\">Over time</h2>\n<p class=\"soft\">Growth of counters per core cycle, noted every {} \
             cycles. A chart has {} intervals.</p>\n",
            count(series.every),
            self.ends.len()
        );
        let (shown, others): (Vec<_>, Vec<_>) =
            self.counters.iter().partition(|(key, _)| CHARTED.contains(&key.as_str()));
        for key in CHARTED {
            let found = shown.iter().find(|(name, _)| name.as_str() == key);
            found.into_iter().for_each(|(key, growth)| out.push_str(&self.chart(key, growth)));
        }
        if !others.is_empty() {
            let charts: String = others.iter().map(|(key, growth)| self.chart(key, growth)).collect();
            out.push_str(&details(&format!("{} more counters", others.len()), &charts));
        }
        out
    }

    fn chart(&self, key: &str, growth: &[f64]) -> String {
        let mut out = String::new();
        let chart = draw(key, &self.ends, growth);
        let key = escape(key);
        let _ = write!(
            out,
            "<figure class=\"series\" data-counter=\"{key}\">\n<figcaption><code>{key}</code> <output></output>\
             </figcaption>\n<div class=\"scroll\">{chart}</div>\n</figure>\n"
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_added_up_until_they_can_be_seen() {
        let ends: Vec<u64> = (1..=700).map(|end| end * 10).collect();
        let series = Series { every: 10, ends, counters: BTreeMap::from([("a".to_owned(), vec![1.0; 700])]) };
        let seen = OverTime::new(&series);
        assert_eq!((seen.ends.len(), seen.ends[0], seen.ends.last()), (234, 30, Some(&7000)));
        assert_eq!(seen.counters["a"].iter().sum::<f64>(), 700.0);
        let section = seen.section(&series);
        assert!(section.contains("data-counter=\"a\"") && section.contains("1 more counters"), "{section}");
    }
}
