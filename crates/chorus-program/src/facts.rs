//! What the sizes of a run make of a program file: values, graphs and lengths of buffers.

use std::sync::Arc;

use chorus_workloads::Sizes;
use chorus_workloads::graph::Graph;
use chorus_workloads::size::WORDS_MAX;

use crate::error::Result;
use crate::expression::Values;
use crate::graphs;
use crate::manifest::{Buffer, Contents, GraphKind, GraphPart, Manifest, Number};

/// The most bytes of all buffers: 4 GiB.
const BYTES_MAX: u64 = 4 * WORDS_MAX;

pub(crate) struct Facts {
    pub(crate) values: Values,
    /// The graphs, if a seed was given.
    pub(crate) graphs: Vec<Option<Arc<Graph>>>,
    /// The number of elements of each buffer.
    pub(crate) lengths: Vec<u64>,
}

impl Facts {
    /// The facts of a run. Without a seed, graphs are not generated and count with the most arcs that they can have.
    pub(crate) fn of(manifest: &Manifest, sizes: &Sizes, seed: Option<u64>) -> Result<Facts> {
        let sizes = sizes.iter().map(|(spec, value)| (spec.key.to_owned(), i128::from(value)));
        let mut facts = Facts { values: sizes.collect(), graphs: Vec::new(), lengths: Vec::new() };
        for (name, expression) in &manifest.values {
            let value = expression.value(&facts.values)?;
            facts.values.insert(name.clone(), value);
        }
        let mut counts = Vec::new();
        for source in &manifest.graphs {
            let (nodes, edges, graph) = graphs::make(&source.kind, &facts.values, seed)?;
            facts.values.insert(format!("{}.nodes", source.name), nodes.into());
            facts.values.insert(format!("{}.edges", source.name), edges.into());
            facts.graphs.push(graph);
            counts.push([nodes, edges]);
        }
        let mut bytes = 0;
        for buffer in &manifest.buffers {
            let length = facts.length(manifest, buffer, &counts)?;
            bytes += length * buffer.element.bytes();
            if bytes > BYTES_MAX {
                let message =
                    format!("the buffers up to here have {bytes} bytes; at most {BYTES_MAX} (4 GiB) are accepted");
                return Err(buffer.place.mistake(message));
            }
            facts.values.insert(format!("{}.length", buffer.name), length.into());
            facts.lengths.push(length);
        }
        Ok(facts)
    }

    fn length(&self, manifest: &Manifest, buffer: &Buffer, counts: &[[u64; 2]]) -> Result<u64> {
        let stated = match &buffer.length {
            None => None,
            Some(expression) => {
                let most = i128::from(BYTES_MAX / buffer.element.bytes());
                Some(expression.within(&self.values, 1, most, "a number of elements")? as u64)
            }
        };
        let given = match &buffer.contents {
            Contents::Bytes(bytes) => bytes.len() as u64 / buffer.element.bytes(),
            Contents::Values(values) => values.len() as u64,
            Contents::Graph { graph, part } => {
                let [nodes, edges] = counts[*graph];
                let source = &manifest.graphs[*graph];
                let weighted = matches!(&source.kind, GraphKind::File(graph) if graph.is_weighted());
                match part {
                    GraphPart::Offsets => nodes + 1,
                    GraphPart::Weights if !weighted => {
                        return Err(buffer.place.mistake(format!("graph `{}` has no weights", source.name)));
                    }
                    GraphPart::Targets | GraphPart::Weights => edges,
                }
            }
            Contents::Zero
            | Contents::Fill(_)
            | Contents::Iota { .. }
            | Contents::Random { .. }
            | Contents::Hash(_) => {
                return Ok(stated.unwrap_or(0));
            }
        };
        match stated {
            Some(stated) if stated < given => {
                Err(buffer.place.mistake(format!("its `length` is {stated}, and its contents have {given} elements")))
            }
            stated => Ok(stated.unwrap_or(given)),
        }
    }

    /// The bits of a number as an element of a buffer.
    pub(crate) fn bits(&self, buffer: &Buffer, number: &Number, values: &Values) -> Result<u64> {
        let [min, max] = buffer.element.range();
        match number {
            Number::Real(real) => Ok(buffer.element.of_real(*real)),
            Number::Whole(expression) => {
                let what = format!("an element of type {}", buffer.element.name());
                Ok(buffer.element.of_integer(expression.within(values, min, max, &what)?))
            }
        }
    }
}
