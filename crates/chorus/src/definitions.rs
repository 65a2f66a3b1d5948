//! The meaning of the metrics in a report.

use chorus_lab::report::MetricDefinition;
use chorus_registry::Registry;
use chorus_sim::definitions::{Definition, definitions};

/// Every metric of a run, and its cycles.
pub fn all(registry: &Registry) -> Vec<Definition> {
    let cycles = Definition::new("cycles", "core cycles", "from the first launch to the end of the last kernel");
    std::iter::once(cycles).chain(definitions(registry.protocols())).collect()
}

/// A definition, as reports take it.
pub fn as_metric(definition: &Definition) -> MetricDefinition<'_> {
    MetricDefinition { name: &definition.key, unit: definition.unit, definition: &definition.meaning }
}
