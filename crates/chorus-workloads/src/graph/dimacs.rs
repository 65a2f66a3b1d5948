//! Shortest-path files of the ninth DIMACS implementation challenge (2006), in which road networks are published.
//!
//! `c` begins a comment; `p sp NODES ARCS` comes before the arcs; each arc is `a FROM TO WEIGHT`, with nodes counted
//! from 1.

use super::error::{GraphError, excerpt};
use super::lines::{Announced, Line, Lines};
use super::{Edge, Graph};

/// Reads the graph that the lines of a file describe.
pub(super) fn parse(mut lines: Lines<'_>) -> Result<Graph, GraphError> {
    const PROBLEM: &str = "`p sp NODES ARCS` once, before the arcs";
    let mut problem: Option<(u32, Announced)> = None;
    while let Some(line) = lines.next()? {
        let mut fields = line.fields();
        let kind = fields.text("kind of line", "`c`, `p` or `a`")?;
        match (kind, &mut problem) {
            ("p", None) => {
                fields.word("kind of problem", &["sp"])?;
                let nodes = fields.whole("number of nodes", 1..=lines.nodes_max())?;
                let arcs = fields.whole("number of arcs", 1..=lines.edges_max())?;
                fields.end()?;
                problem = Some((nodes, Announced::new(arcs)));
            }
            ("a", Some((nodes, arcs))) => arcs.push(&line, arc(&line, *nodes)?)?,
            ("p", Some(_)) => return Err(line.error("second header", excerpt(line.text), PROBLEM)),
            ("a", None) => return Err(line.error("arc before the header", excerpt(line.text), PROBLEM)),
            _ if kind.starts_with('c') => {}
            _ => return Err(line.error("kind of line", excerpt(kind), "`c`, `p` or `a`")),
        }
    }
    let (nodes, arcs) = problem.ok_or_else(|| lines.end().error("no header", "the end of the file", PROBLEM))?;
    Ok(Graph::from_arcs(nodes, &arcs.all(&lines.end())?, true))
}

fn arc(line: &Line<'_>, nodes: u32) -> Result<Edge, GraphError> {
    let mut fields = line.fields();
    fields.word("kind of line", &["a"])?;
    let from = fields.whole("node", 1..=nodes.into())? - 1;
    let to = fields.whole("node", 1..=nodes.into())? - 1;
    let weight = fields.whole("weight", 0..=u32::MAX.into())?;
    fields.end()?;
    Ok(Edge { from, to, weight })
}
