//! `chorus run --annotate`: the sources of annotations, and the error about an annotation that is wrong.

use serde_json::Value;

use crate::chorus::chorus;

const SQUARE: &str = "run --system cpelide-2 --protocol cpelide --workload square";

#[test]
fn a_run_says_who_annotates_and_its_configuration_follows() {
    let json = |more: &str| chorus(&format!("{SQUARE} --json {more}")).expect_code(0).json();
    let [hand, auto, none] = ["", "--annotate auto", "--annotate none"].map(json);
    for (run, annotate) in [(&hand, "hand"), (&auto, "auto"), (&none, "none")] {
        assert_eq!((&run["annotate"], &run["result"]), (&annotate.into(), &"pass".into()));
    }
    assert_ne!(hand["config_hash"], auto["config_hash"]);
    assert_ne!(auto["config_hash"], none["config_hash"]);
    assert_eq!(hand["config_hash"], json("--annotate hand")["config_hash"]);
    assert_eq!(hand["cycles"], auto["cycles"], "a recording finds what the workload declares");
    let elided = |run: &Value| run["metrics"]["boundary.l2_elided"].as_f64();
    assert!(elided(&hand) > Some(0.0) && elided(&none) == Some(0.0), "{:?} {:?}", elided(&hand), elided(&none));
    let text = chorus(&format!("{SQUARE} --annotate auto")).expect_code(0).stdout;
    assert!(text.contains("annotations     auto") && text.contains("annotate auto)"), "{text}");
}

#[test]
fn any_other_word_lists_those_that_are_accepted() {
    let ended = chorus(&format!("{SQUARE} --annotate atuo")).expect_code(2);
    ended.expect_error(&["unknown source of annotations `atuo`", "`hand`, `auto`, `none`", "did you mean `auto`?"]);
    let help = chorus("run --help").expect_code(0).stdout;
    assert!(
        help.contains("--annotate <hand|auto|none>") && help.contains("--workload square --annotate auto"),
        "{help}"
    );
}

#[test]
fn an_access_that_is_not_declared_ends_the_run_with_kernel_buffer_and_address() {
    // Atomics assign places to the work-groups of minicontact. Timing decides which group comes first, so that a
    // recording cannot know the places.
    let ended =
        chorus("run --system cpelide-2 --protocol cpelide --workload minicontact --annotate auto").expect_code(1);
    let parts =
        ["kernel ", " (address 0x", " of buffer ", " on chiplet ", " of 2", "depends on timing", "--annotate hand"];
    let ended = ended.expect_error(&parts);
    assert_eq!(ended.stdout, "");
}
