//! `chorus run --graph`: workloads on graphs that users provide.

use crate::chorus::{Directory, Ended, chorus};

const BFS: &str = "run --system tc --protocol gpu-vi --workload bfs";
const MST: &str = "run --system tc --protocol gpu-vi --workload mst";

const DIMACS: &str = "c two crossings and a dead end\np sp 4 6\na 1 2 5\na 2 1 5\na 2 3 7\na 3 2 7\na 3 4 1\na 4 3 1\n";
const MATRIX: &str = "%%MatrixMarket matrix coordinate real symmetric\n4 4 3\n2 1 0.5\n3 2 0.75\n4 3 0.25\n";
const SNAP: &str = "# a path\n10\t20\n20\t30\n30\t40\n";

/// Runs a workload on a graph file with this text.
fn run_on(workload: &str, name: &str, text: &str, more: &str) -> Ended {
    let directory = Directory::new();
    let path = directory.file(name, text);
    chorus(&format!("{workload} --graph {} {more}", path.display()))
}

#[test]
fn graphs_of_every_format_are_taken_by_both_workloads() {
    for workload in [BFS, MST] {
        for (name, text) in [("roads.gr", DIMACS), ("roads.mtx", MATRIX), ("roads.txt", SNAP)] {
            let ended = run_on(workload, name, text, "").expect_code(0);
            for part in ["result          pass", name, "4 nodes"] {
                assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
            }
        }
    }
}

#[test]
fn a_run_names_its_graph_by_file_and_contents() {
    let json = |name: &str, text: &str| run_on(BFS, name, text, "--json").expect_code(0).json();
    let (plain, one) = (chorus(&format!("{BFS} --json")).expect_code(0).json(), json("roads.gr", DIMACS));
    assert!(plain["graph"].is_null());
    assert_eq!(one["graph"]["format"], "dimacs");
    assert_eq!((one["graph"]["nodes"].as_u64(), one["graph"]["arcs"].as_u64()), (Some(4), Some(6)));
    assert!(one["graph"]["file"].as_str().is_some_and(|file| file.ends_with("roads.gr")));
    assert_eq!(one["graph"]["sha256"].as_str().map(str::len), Some(64));
    let (moved, changed) = (json("moved.gr", DIMACS), json("roads.gr", &DIMACS.replace("dead end", "bridge")));
    assert_eq!(one["config_hash"], moved["config_hash"]);
    assert_ne!(one["config_hash"], changed["config_hash"]);
    assert_ne!(one["config_hash"], plain["config_hash"]);
}

#[test]
fn a_format_can_be_named_where_the_ending_does_not_tell() {
    run_on(BFS, "roads.edges", SNAP, "--graph-format snap").expect_code(0);
    let ended = run_on(BFS, "roads.edges", SNAP, "").expect_code(2);
    ended.expect_error(&[
        "roads.edges: the ending",
        "`.gr` (dimacs), `.mtx` (matrix-market), `.txt` (snap)",
        "\nhint: ",
    ]);
    let ended = run_on(BFS, "roads.edges", SNAP, "--graph-format snapp").expect_code(2);
    ended.expect_error(&["unknown graph format `snapp`", "`matrix-market`", "did you mean `snap`?"]);
    chorus(&format!("{BFS} --graph-format snap")).expect_code(2).expect_error(&["--graph <FILE>"]);
}

#[test]
fn a_workload_that_takes_no_graph_names_those_that_do() {
    let ended = run_on("run --system tc --protocol gpu-vi --workload saxpy", "roads.gr", DIMACS, "").expect_code(2);
    ended.expect_error(&["workload saxpy takes no graph; those that do: `bfs-rodinia`, `bfs`, `mst`"]);
}

#[test]
fn a_bad_graph_file_is_refused_with_its_line() {
    let ended = run_on(BFS, "bad.gr", "p sp 2 1\na 1 9 5\n", "").expect_code(2);
    ended.expect_error(&["bad.gr:2: node: found `9`; accepted: a whole number from 1 to 2"]);
    let ended = run_on(MST, "liar.mtx", "%%MatrixMarket matrix coordinate pattern general\n9 9 4000000000\n", "");
    ended.expect_code(2).expect_error(&["liar.mtx:2: number of entries: found `4000000000`"]);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let directory = Directory::new();
    let missing = directory.join("missing.gr").display().to_string();
    chorus(&format!("{BFS} --graph {missing}")).expect_code(2).expect_error(&[&format!("{missing}: cannot be read")]);
    let folder = directory.join(".").display().to_string();
    let ended = chorus(&format!("{BFS} --graph {folder} --graph-format snap")).expect_code(2);
    ended.expect_error(&["it is no plain file"]);
}
