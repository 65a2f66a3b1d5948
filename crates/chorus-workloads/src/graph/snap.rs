//! Edge lists of the Stanford Network Analysis Project (Leskovec and Krevl, 2014).
//!
//! `#` begins a comment; each other line is a pair of node numbers. The numbers need not be dense: nodes are counted
//! anew in the order of their numbers.

use super::error::{GraphError, excerpt};
use super::lines::Lines;
use super::{EDGES_MAX, Edge, Graph, NODES_MAX};

/// Reads the graph that the lines of a file describe.
pub(super) fn parse(mut lines: Lines<'_>) -> Result<Graph, GraphError> {
    let mut arcs = Vec::new();
    while let Some(line) = lines.next()? {
        if line.text.starts_with('#') {
            continue;
        }
        let mut fields = line.fields();
        let from = fields.whole("node", 0..=u32::MAX.into())?;
        let to = fields.whole("node", 0..=u32::MAX.into())?;
        fields.end()?;
        if arcs.len() == EDGES_MAX as usize {
            return Err(line.error("too many edges", excerpt(line.text), format!("at most {EDGES_MAX}")));
        }
        arcs.push(Edge { from, to, weight: 1 });
    }
    if arcs.is_empty() {
        return Err(lines.end().error("no edges", "the end of the file", "lines `FROM TO`, comments begin with `#`"));
    }
    let mut numbers: Vec<u32> = arcs.iter().flat_map(|arc| [arc.from, arc.to]).collect();
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.len() > NODES_MAX as usize {
        return Err(lines.end().error("too many nodes", numbers.len().to_string(), format!("at most {NODES_MAX}")));
    }
    let place = |number| numbers.partition_point(|&other| other < number) as u32;
    for arc in &mut arcs {
        *arc = Edge { from: place(arc.from), to: place(arc.to), weight: 1 };
    }
    Ok(Graph::from_arcs(numbers.len() as u32, &arcs, false))
}
