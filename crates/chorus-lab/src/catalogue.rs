//! Everything that a registry names, as JSON: systems, protocols, workloads and experiments.

use chorus_protocol::registry::Protocol;
use chorus_registry::Registry;
use chorus_system::{Place, Scale, SystemError};
use chorus_workloads::{SizeSpec, Workload};
use serde_json::{Value, json};

use crate::document::DocumentError;
use crate::paper;

/// A kind of things that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Machines that protocols run on.
    Systems,
    /// Cache coherence protocols and their parameters.
    Protocols,
    /// Programs that run on a machine.
    Workloads,
    /// Papers and other experiments that can be reproduced.
    Experiments,
}

/// The reason why an entry cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// A system of the registry cannot be resolved.
    #[error(transparent)]
    System(#[from] SystemError),
    /// An experiment of the registry has a mistake.
    #[error(transparent)]
    Experiment(#[from] DocumentError),
}

impl CatalogueError {
    /// The place in a file at which the mistake was written.
    pub fn place(&self) -> Option<&Place> {
        match self {
            CatalogueError::System(source) => source.place(),
            CatalogueError::Experiment(source) => source.place(),
        }
    }
}

impl Kind {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [Kind; 4] = [Kind::Systems, Kind::Protocols, Kind::Workloads, Kind::Experiments];

    /// The word for things of this kind.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Systems => "systems",
            Kind::Protocols => "protocols",
            Kind::Workloads => "workloads",
            Kind::Experiments => "experiments",
        }
    }

    /// Everything of this kind. Each entry has at least a `name`, a `title`, a `summary` and a `source`.
    pub fn entries(self, registry: &Registry) -> Result<Vec<Value>, CatalogueError> {
        match self {
            Kind::Systems => registry.system_names().into_iter().map(|name| system_entry(registry, name)).collect(),
            Kind::Protocols => Ok(registry.protocols().iter().map(|protocol| protocol_entry(*protocol)).collect()),
            Kind::Workloads => Ok(registry.workloads().iter().map(|workload| workload_entry(*workload)).collect()),
            Kind::Experiments => {
                registry.experiment_names().into_iter().map(|name| experiment_entry(registry, name)).collect()
            }
        }
    }
}

/// A protocol with its parameters and its seeded faults.
pub fn protocol_entry(protocol: &dyn Protocol) -> Value {
    let parameters: Vec<Value> = protocol
        .parameters()
        .iter()
        .map(|parameter| {
            json!({
                "key": parameter.key,
                "default": parameter.default,
                "min": parameter.min,
                "max": parameter.max,
                "meaning": parameter.meaning,
                "source": parameter.source,
            })
        })
        .collect();
    json!({
        "name": protocol.name(),
        "title": protocol.title(),
        "summary": protocol.summary(),
        "source": protocol.citation(),
        "memory_model": protocol.model().name(),
        "virtual_networks": protocol.virtual_networks(),
        "parameters": parameters,
        "faults": protocol.faults().iter().map(|fault| fault.name).collect::<Vec<_>>(),
    })
}

/// A workload with its sizes.
pub fn workload_entry(workload: &dyn Workload) -> Value {
    let size = |size: &SizeSpec| {
        json!({
            "key": size.key,
            "quick": size.default_at(Scale::Quick),
            "medium": size.default_at(Scale::Medium),
            "paper": size.default_at(Scale::Paper),
            "min": size.min,
            "max": size.max,
            "multiple_of": size.multiple_of,
            "meaning": size.meaning,
            "source": size.source,
        })
    };
    json!({
        "name": workload.name(),
        "title": workload.title(),
        "summary": workload.summary(),
        "suite": workload.suite().title(),
        "papers": workload.papers().iter().map(|paper| paper.name()).collect::<Vec<_>>(),
        "source": workload.source(),
        "communicates_within_a_kernel": workload.communicates(),
        "sizes": workload.sizes().iter().map(size).collect::<Vec<_>>(),
    })
}

fn system_entry(registry: &Registry, name: &str) -> Result<Value, CatalogueError> {
    let config = registry.resolve_system(name, Scale::Paper, &[])?.config;
    Ok(json!({ "name": name, "title": config.title, "summary": config.title, "source": config.source }))
}

fn experiment_entry(registry: &Registry, name: &str) -> Result<Value, CatalogueError> {
    let paper = paper::load(registry, name)?;
    let experiment = &paper.experiment;
    let (figures, claims) = (experiment.figures.len(), paper.statements.claims.len());
    let runs = experiment.runs(Scale::Quick).len();
    Ok(json!({
        "name": name,
        "title": experiment.title,
        "summary": format!("{}: {figures} figures from {runs} runs, {claims} claims", experiment.title),
        "source": experiment.source,
        "system": &*experiment.system,
        "headline_figure": experiment.headline().map(|figure| &*figure.id),
        "figures": figures,
        "runs": runs,
        "claims": claims,
        "predictions": paper.statements.predictions.len(),
    }))
}
