//! Coordinate matrices of the Matrix Market (Boisvert, Pozo and Remington, NISTIR 5935, 1996), as graphs.
//!
//! A square matrix is a graph with a node per row and an arc per entry, from the row to the column. Entries of a
//! symmetric matrix stand for two arcs. Values are weights if all are whole numbers that fit 32 bits without a sign;
//! otherwise a weight is the place of its value among all values in ascending order, which is all that a program that
//! compares weights can tell.

use super::error::{GraphError, excerpt};
use super::lines::{Announced, Lines};
use super::{Edge, Graph};

/// Reads the graph that the lines of a file describe.
pub(super) fn parse(mut lines: Lines<'_>) -> Result<Graph, GraphError> {
    const BANNER: &str = "`%%MatrixMarket matrix coordinate FIELD SYMMETRY`";
    const SIZE: &str = "`ROWS COLUMNS ENTRIES`";
    let missing = |lines: &Lines<'_>, accepted| lines.end().error("no header", "the end of the file", accepted);
    let first = lines.next()?.ok_or_else(|| missing(&lines, BANNER))?;
    let mut banner = first.fields();
    banner.word("banner", &["%%MatrixMarket"])?;
    banner.word("object", &["matrix"])?;
    banner.word("arrangement", &["coordinate"])?;
    let weighted = banner.word("field", &["pattern", "real", "integer"])? > 0;
    let symmetric = banner.word("symmetry", &["general", "symmetric"])? == 1;
    banner.end()?;

    let mut size = None;
    let mut values = Vec::new();
    while let Some(line) = lines.next()? {
        if line.text.starts_with('%') {
            continue;
        }
        let mut fields = line.fields();
        let Some((nodes, entries)) = &mut size else {
            let rows = fields.whole("number of rows", 1..=lines.nodes_max())?;
            let columns = fields.text("number of columns", SIZE)?;
            if columns.parse() != Ok(rows) {
                let accepted = format!("a square matrix, so {rows} columns");
                return Err(line.error("number of columns", excerpt(columns), accepted));
            }
            let entries = fields.whole("number of entries", 1..=lines.edges_max())?;
            fields.end()?;
            size = Some((rows, Announced::new(entries)));
            continue;
        };
        let from = fields.whole("row", 1..=u64::from(*nodes))? - 1;
        let to = fields.whole("column", 1..=u64::from(*nodes))? - 1;
        entries.push(&line, Edge { from, to, weight: 1 })?;
        if weighted {
            values.push(fields.real("value")?);
        }
        fields.end()?;
    }
    let (nodes, entries) = size.ok_or_else(|| missing(&lines, SIZE))?;
    let mut edges = entries.all(&lines.end())?;
    for (edge, weight) in edges.iter_mut().zip(weights(&values)) {
        edge.weight = weight;
    }
    Ok(if symmetric { mirrored(nodes, edges, weighted) } else { Graph::from_arcs(nodes, &edges, weighted) })
}

/// The entries and their mirror images; those on the diagonal have none.
fn mirrored(nodes: u32, mut edges: Vec<Edge>, weighted: bool) -> Graph {
    let entries = edges.len();
    for index in 0..entries {
        let Edge { from, to, weight } = edges[index];
        if from != to {
            edges.push(Edge { from: to, to: from, weight });
        }
    }
    Graph::from_arcs(nodes, &edges, weighted)
}

/// The weights that stand for values, in the same order.
fn weights(values: &[f64]) -> Vec<u32> {
    if values.iter().all(|&value| f64::from(value as u32) == value) {
        return values.iter().map(|&value| value as u32).collect();
    }
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    ascending.dedup();
    values.iter().map(|value| ascending.partition_point(|other| other < value) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_values_are_weights_and_others_keep_their_order() {
        assert_eq!(weights(&[3.0, 0.0, 4_294_967_295.0]), [3, 0, u32::MAX]);
        assert_eq!(weights(&[2.5, -1.0, 2.5, 7.0]), [1, 0, 1, 2]);
        assert_eq!(weights(&[4_294_967_296.0, 1.0]), [1, 0]);
        assert_eq!(weights(&[0.5, -0.0, 0.0]), [1, 0, 0]);
    }
}
