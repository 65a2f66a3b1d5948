//! What the metrics of a run mean.

use chorus_lab::report::MetricDefinition;
use chorus_protocol::message::TrafficClass;
use chorus_sim::stats::{COUNTERS, Unit};

/// A metric's key, unit and meaning.
#[derive(Clone, Debug)]
pub struct Definition {
    key: String,
    unit: &'static str,
    meaning: String,
}

impl Definition {
    /// The same, as reports take it.
    pub fn as_metric(&self) -> MetricDefinition<'_> {
        MetricDefinition { name: &self.key, unit: self.unit, definition: &self.meaning }
    }
}

/// Every metric of a run.
pub fn all() -> Vec<Definition> {
    let define = |key: &str, unit, meaning: &str| Definition { key: key.to_owned(), unit, meaning: meaning.to_owned() };
    let mut definitions = vec![define("cycles", "core cycles", "from the first launch to the end of the last kernel")];
    definitions.extend(COUNTERS.iter().map(|counter| {
        let unit = match counter.unit {
            Unit::Count => "count",
            Unit::Cycles => "core cycles",
        };
        define(counter.key, unit, counter.definition)
    }));
    let totals = [
        ("flits", "flits", "flits sent through both crossbars"),
        ("bytes", "bytes", "bytes of headers and payloads sent"),
    ];
    for (measure, unit, meaning) in totals {
        definitions.push(define(&format!("traffic.{measure}"), unit, meaning));
        for class in TrafficClass::ALL {
            let label = class.label();
            let key = format!("traffic.{measure}.{}", label.to_lowercase());
            definitions.push(define(&key, unit, &format!("the same of class {label}: {}", contents(class))));
        }
    }
    definitions.extend([
        define("energy.nj", "nJ", "interconnect energy, dynamic and static"),
        define("energy.dynamic_nj", "nJ", "interconnect energy spent per flit"),
        define("energy.static_nj", "nJ", "interconnect energy spent per virtual-channel buffer and time"),
    ]);
    definitions
}

/// What a traffic class holds, as in Figure 8 of the TC paper.
pub fn contents(class: TrafficClass) -> &'static str {
    match class {
        TrafficClass::Load => "data of loads",
        TrafficClass::Store => "data of stores",
        TrafficClass::Atomic => "data of atomics",
        TrafficClass::Request => "control messages",
        TrafficClass::Invalidation => "invalidations and acknowledgements",
        TrafficClass::Recall => "recalls and acknowledgements",
    }
}
