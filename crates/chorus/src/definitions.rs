//! The definitions of the metrics that reports show.

use chorus_lab::report::MetricDefinition;
use chorus_lab::why::stage;
use chorus_registry::Registry;
use chorus_sim::definitions::{Definition, definitions};

/// The definitions of cycles and of every metric of a run.
pub fn all(registry: &Registry) -> Vec<Definition> {
    let cycles = Definition::new("cycles", "core cycles", "from the first launch to the end of the last kernel");
    std::iter::once(cycles).chain(definitions(registry.protocols())).chain(stage::definitions()).collect()
}

/// A definition in the form that reports take.
pub fn as_metric(definition: &Definition) -> MetricDefinition<'_> {
    MetricDefinition { name: &definition.key, unit: definition.unit, definition: &definition.meaning }
}
