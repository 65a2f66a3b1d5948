//! The formats of graph files, and the function that reads a file of any of them.

use std::path::Path;

use super::lines::Lines;
use super::{Graph, GraphError, dimacs, matrix_market, snap};

/// A format of graph files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GraphFormat {
    /// Shortest-path files of the ninth DIMACS challenge.
    Dimacs,
    /// Coordinate matrices of the Matrix Market.
    MatrixMarket,
    /// Edge lists of the Stanford collection.
    Snap,
}

impl GraphFormat {
    /// All formats that can be read.
    pub const ALL: [GraphFormat; 3] = [GraphFormat::Dimacs, GraphFormat::MatrixMarket, GraphFormat::Snap];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            GraphFormat::Dimacs => "dimacs",
            GraphFormat::MatrixMarket => "matrix-market",
            GraphFormat::Snap => "snap",
        }
    }

    /// The ending of its files' names.
    pub fn extension(self) -> &'static str {
        match self {
            GraphFormat::Dimacs => "gr",
            GraphFormat::MatrixMarket => "mtx",
            GraphFormat::Snap => "txt",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<GraphFormat> {
        GraphFormat::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that the ending of a file's name tells.
    pub fn of_path(path: &Path) -> Option<GraphFormat> {
        let extension = path.extension()?;
        GraphFormat::ALL.into_iter().find(|format| extension.eq_ignore_ascii_case(format.extension()))
    }
}

/// The graph in the contents of a file, which is called `file` in messages. It has at least one node and one arc.
pub fn parse(format: GraphFormat, file: &str, bytes: &[u8]) -> Result<Graph, GraphError> {
    let lines = Lines::new(file, bytes);
    match format {
        GraphFormat::Dimacs => dimacs::parse(lines),
        GraphFormat::MatrixMarket => matrix_market::parse(lines),
        GraphFormat::Snap => snap::parse(lines),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::Edge;

    fn read(format: GraphFormat, text: &str) -> Graph {
        parse(format, "file", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn check_refused(format: GraphFormat, text: &str, expected: &str) {
        let error = parse(format, "file", text.as_bytes()).expect_err(text);
        assert_eq!(error.to_string(), expected);
    }

    fn arcs(nodes: u32, arcs: &[(u32, u32, u32)], weighted: bool) -> Graph {
        let arcs: Vec<Edge> = arcs.iter().map(|&(from, to, weight)| Edge { from, to, weight }).collect();
        Graph::from_arcs(nodes, &arcs, weighted)
    }

    #[test]
    fn formats_are_known_by_name_and_by_ending() {
        for format in GraphFormat::ALL {
            assert_eq!(GraphFormat::from_name(format.name()), Some(format));
            let path = format!("some.where/graph.{}", format.extension().to_uppercase());
            assert_eq!(GraphFormat::of_path(Path::new(&path)), Some(format));
        }
        assert_eq!(GraphFormat::of_path(Path::new("graph.gr.gz")), None);
        assert_eq!(GraphFormat::of_path(Path::new("graph")), None);
    }

    #[test]
    fn a_dimacs_file_is_read() {
        let text = "c Florida\np sp 3 3\r\nc\ncomment\na 1 2 803\na 2 1 803\n\na 3 1 0\n";
        assert_eq!(read(GraphFormat::Dimacs, text), arcs(3, &[(0, 1, 803), (1, 0, 803), (2, 0, 0)], true));
    }

    #[test]
    fn a_matrix_is_read_whatever_its_field_and_symmetry() {
        let pattern = "%%MatrixMarket matrix coordinate pattern general\n% comment\n3 3 2\n1 2\n3 3\n";
        assert_eq!(read(GraphFormat::MatrixMarket, pattern), arcs(3, &[(0, 1, 1), (2, 2, 1)], false));
        let integer = "%%matrixmarket MATRIX coordinate Integer symmetric\n3 3 2\n2 1 7\n3 3 9";
        assert_eq!(read(GraphFormat::MatrixMarket, integer), arcs(3, &[(1, 0, 7), (2, 2, 9), (0, 1, 7)], true));
        let real = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 2.5e-1\n2 1 -3\n";
        assert_eq!(read(GraphFormat::MatrixMarket, real), arcs(2, &[(0, 1, 1), (1, 0, 0)], true));
    }

    #[test]
    fn an_edge_list_is_read_and_its_nodes_counted_anew() {
        let text = "# Directed graph\n# FromNodeId\tToNodeId\n900\t17\n17 4000000000\n";
        assert_eq!(read(GraphFormat::Snap, text), arcs(3, &[(1, 0, 1), (0, 2, 1)], false));
    }

    #[test]
    fn what_is_wrong_in_a_dimacs_file_is_named_with_its_line() {
        let check = |text: &str, expected: &str| check_refused(GraphFormat::Dimacs, text, expected);
        let header = "accepted: `p sp NODES ARCS` once, before the arcs";
        check("", &format!("file:1: no header: found the end of the file; {header}"));
        check("a 1 2 3\n", &format!("file:1: arc before the header: found `a 1 2 3`; {header}"));
        check("p sp 2 1\np sp 2 1\n", &format!("file:2: second header: found `p sp 2 1`; {header}"));
        check("p max 2 1\n", "file:1: kind of problem: found `max`; accepted: `sp`");
        check("p sp 2 1\ne 1 2\n", "file:2: kind of line: found `e`; accepted: `c`, `p` or `a`");
        check("c\n\np sp 2 1\na 1 3 1\n", "file:4: node: found `3`; accepted: a whole number from 1 to 2");
        check("p sp 2 1\na 1 2 -1\n", "file:2: weight: found `-1`; accepted: a whole number from 0 to 4294967295");
        check(
            "p sp 2 1\na 1 2\n",
            "file:2: weight: found the end of the line; accepted: a whole number from 0 to 4294967295",
        );
        check("p sp 2 1\na 1 2 3 4\n", "file:2: line too long: found `4`; accepted: the end of the line");
        check(
            "p sp 2 2\na 1 2 3\n",
            "file:3: too few edges: found the end of the file after 1 edges; accepted: the 2 that the header announces",
        );
        check(
            "p sp 2 1\na 1 2 3\na 2 1 3\n",
            "file:3: too many edges: found `a 2 1 3`; accepted: the 1 edges that the header announces",
        );
    }

    #[test]
    fn what_is_wrong_in_a_matrix_is_named_with_its_line() {
        let check = |text: &str, expected: &str| check_refused(GraphFormat::MatrixMarket, text, expected);
        check("3 3 1\n1 2\n", "file:1: banner: found `3`; accepted: `%%MatrixMarket`");
        check(
            "%%MatrixMarket matrix array real general\n",
            "file:1: arrangement: found `array`; accepted: `coordinate`",
        );
        check(
            "%%MatrixMarket matrix coordinate complex general\n",
            "file:1: field: found `complex`; accepted: `pattern`, `real`, `integer`",
        );
        check(
            "%%MatrixMarket matrix coordinate real skew-symmetric\n",
            "file:1: symmetry: found `skew-symmetric`; accepted: `general`, `symmetric`",
        );
        let general = |rest: &str| format!("%%MatrixMarket matrix coordinate real general\n{rest}");
        check(
            &general("3 4 1\n1 2 1\n"),
            "file:2: number of columns: found `4`; accepted: a square matrix, so 3 columns",
        );
        check(&general("3 3 1\n1 2\n"), "file:3: value: found the end of the line; accepted: a finite number");
        check(&general("3 3 1\n1 2 nan\n"), "file:3: value: found `nan`; accepted: a finite number");
        check(&general("3 3 1\n0 2 1\n"), "file:3: row: found `0`; accepted: a whole number from 1 to 3");
        check(&general(""), "file:2: no header: found the end of the file; accepted: `ROWS COLUMNS ENTRIES`");
    }

    #[test]
    fn what_is_wrong_in_an_edge_list_is_named_with_its_line() {
        let check = |text: &str, expected: &str| check_refused(GraphFormat::Snap, text, expected);
        check(
            "# nothing\n",
            "file:2: no edges: found the end of the file; accepted: lines `FROM TO`, comments begin with `#`",
        );
        check("1 x\n", "file:1: node: found `x`; accepted: a whole number from 0 to 4294967295");
        check("1 2\n1 4294967296\n", "file:2: node: found `4294967296`; accepted: a whole number from 0 to 4294967295");
        check("1 2 0.5\n", "file:1: line too long: found `0.5`; accepted: the end of the line");
    }

    #[test]
    fn a_header_that_announces_more_than_the_file_can_hold_is_refused() {
        check_refused(
            GraphFormat::Dimacs,
            "p sp 4000000000 1\na 1 2 3\n",
            "file:1: number of nodes: found `4000000000`; accepted: a whole number from 1 to 26",
        );
        check_refused(
            GraphFormat::MatrixMarket,
            "%%MatrixMarket matrix coordinate pattern general\n9 9 999999999\n",
            "file:2: number of entries: found `999999999`; accepted: a whole number from 1 to 15",
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_advice() {
        let error = parse(GraphFormat::Snap, "roads.txt", b"1 2\n\x1f\x8b\x08\n").unwrap_err();
        assert_eq!((error.line, error.message.as_str()), (2, "no text"));
        assert!(error.to_string().ends_with("compressed files must be unpacked first"), "{error}");
        let long = "9".repeat(1000);
        let error = parse(GraphFormat::Snap, "roads.txt", long.as_bytes()).unwrap_err();
        assert!(error.to_string().len() < 200, "{error}");
    }

    /// Text that looks like a graph file, for the readers to get further than with any bytes.
    fn nearly_a_graph() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            "[acp#%]",
            "sp|%%MatrixMarket|matrix|coordinate|pattern|real|integer|general|symmetric",
            "[0-9]{1,2}",
            "[0-9]{9,11}",
            "-?[0-9]\\.[0-9]e?[0-9]?",
        ];
        let line = proptest::collection::vec(word, 0..6).prop_map(|words| words.join(" "));
        let header = prop_oneof![
            "p sp [0-9]{1,2} [0-9]",
            Just("%%MatrixMarket matrix coordinate real symmetric\n9 9 3".to_owned()),
            Just(String::new())
        ];
        (header, proptest::collection::vec(line, 0..12)).prop_map(|(header, lines)| header + "\n" + &lines.join("\n"))
    }

    fn check_any(bytes: &[u8]) -> Result<(), TestCaseError> {
        for format in GraphFormat::ALL {
            match parse(format, "file", bytes) {
                Ok(graph) => {
                    prop_assert!(graph.nodes() >= 1 && graph.arcs() >= 1);
                    prop_assert!(graph.nodes() as usize <= bytes.len() && graph.arcs() as usize <= bytes.len());
                    graph.undirected();
                }
                Err(error) => {
                    prop_assert!(error.line >= 1 && error.line <= bytes.split(|&byte| byte == b'\n').count());
                    prop_assert!(!error.found.is_empty() && !error.accepted.is_empty());
                }
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_graph_or_one_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            check_any(&bytes)?;
        }

        #[test]
        fn any_text_that_is_nearly_a_graph_is_one_or_an_error(text in nearly_a_graph()) {
            check_any(text.as_bytes())?;
        }
    }
}
