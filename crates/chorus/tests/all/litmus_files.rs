//! Litmus tests from files, with protocols and with memory models.

use crate::chorus::{Directory, chorus};

const BROKEN_FENCE: &str = "\
PTX one-sided
\"is a message seen if only its sender has a fence?\"
{ flag=0; data=0; unused=0; }
 P0@cta 0,gpu 0   | P1@cta 1,gpu 0 ;
 st.weak data, 42 | ld.relaxed.gpu r0, flag ;
 fence.sc.gpu     | ld.weak r1, data ;
 st.relaxed.gpu flag, 1 | ;
exists (P1:r0 == 1 /\\ P1:r1 == 0)
";

const PROXY: &str = "\
PTX surface
{ x=0; s @ surface aliases x; }
 P0@cta 0,gpu 0 ;
 sust.weak s, 2 ;
exists (x == 2)
";

#[test]
fn a_test_of_a_file_is_run_on_a_protocol_and_judged_by_a_model() {
    let folder = Directory::new();
    let file = folder.file("mine.litmus", BROKEN_FENCE);
    let ended = chorus(&format!("litmus no-coh {}", file.display())).expect_code(0);
    for part in ["one-sided", "P1:r1=42", "allowed, reached", "1 of 1 tests pass"] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    let json = chorus(&format!("model ptx {} --json", file.display())).expect_code(0).json();
    assert_eq!(json["tests"][0]["holds"], true);
    let json = chorus(&format!("model sc {} --json", file.display())).expect_code(0).json();
    assert_eq!(json["tests"][0]["holds"], false);
}

#[test]
fn tests_of_what_is_not_modelled_are_counted_with_the_reason() {
    let folder = Directory::new();
    folder.file("a.litmus", BROKEN_FENCE);
    folder.file("b.litmus", PROXY);
    let ended = chorus(&format!("model ptx {}", folder.join("").display())).expect_code(0);
    for part in ["1 test\n", "1 not supported: proxies are not modelled"] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
}

#[test]
fn a_mistake_in_a_file_is_named_with_line_and_column() {
    let folder = Directory::new();
    let file = folder.file("wrong.litmus", &BROKEN_FENCE.replace("fence.sc.gpu ", "fence.strong "));
    for verb in ["litmus gpu-vi", "model ptx"] {
        let ended = chorus(&format!("{verb} {}", file.display())).expect_code(2);
        ended.expect_error(&["wrong.litmus:6:", "strong", "accepted"]);
    }
}

#[test]
fn a_bad_file_does_not_silence_the_others() {
    let folder = Directory::new();
    folder.file("a.litmus", &BROKEN_FENCE.replace("fence.sc.gpu ", "fence.strong "));
    folder.file("b.litmus", BROKEN_FENCE);
    let path = folder.join("");
    let path = path.display();
    for (verb, counted) in [("litmus no-coh", "1 of 1 tests pass"), ("model ptx", "1 test\n")] {
        let ended = chorus(&format!("{verb} {path} --no-progress")).expect_code(2);
        let ended = ended.expect_error(&["a.litmus:6:", "strong", "accepted"]);
        for part in ["one-sided", counted, "1 file could not be used"] {
            assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
        }
    }
    let lines = chorus(&format!("litmus no-coh {path} --json")).expect_code(2).json_lines();
    let kinds: Vec<_> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
    assert_eq!(kinds, ["bad file", "test", "summary"]);
    assert_eq!((&lines[0]["line"], &lines[1]["verdict"]), (&6.into(), &"pass".into()));
    assert_eq!((&lines[2]["passed"], &lines[2]["bad_files"]), (&false.into(), &1.into()));
}

#[test]
fn a_test_that_fails_counts_more_than_a_bad_file() {
    let folder = Directory::new();
    let bad = folder.file("bad.litmus", "nothing of the kind");
    let bad = bad.display();
    chorus(&format!("litmus gpu-vi {bad} MP+fences --fault lost-invalidation")).expect_code(1);
    chorus(&format!("litmus gpu-vi {bad} {bad}")).expect_code(2).expect_error(&["bad.litmus:1:"]);
}

#[test]
fn files_and_folders_that_are_not_there_are_named() {
    chorus("litmus gpu-vi missing.litmus").expect_code(2).expect_error(&["cannot read missing.litmus"]);
    let folder = Directory::new();
    let ended = chorus(&format!("model ptx {}", folder.join("").display())).expect_code(2);
    ended.expect_error(&["holds no file that ends in .litmus"]);
}

#[test]
fn models_are_listed_and_unknown_ones_refused() {
    let ended = chorus("model").expect_code(0);
    assert!(ended.stdout.contains("sc-for-hrf-direct"), "{}", ended.stdout);
    chorus("model ptxx").expect_code(2).expect_error(&["unknown memory model `ptxx`", "did you mean `ptx`?"]);
    let json = chorus("model sc-for-drf MP+ra+weak MP+release+weak-reader --json").expect_code(0).json();
    assert_eq!(json["tests"][0]["holds"], false);
    assert!(json["tests"][1]["answer"].as_str().is_some_and(|answer| answer.starts_with("race: ")), "{json}");
}

#[test]
fn cores_that_wait_for_their_stores_see_sequential_consistency() {
    let lines = chorus("litmus mesi MP SB 2+2W --core blocking --json").expect_code(0).json_lines();
    assert_eq!(lines.len(), 4);
    for test in &lines[..3] {
        assert_eq!((&test["model"], &test["telling_outcome_reached"]), (&"sc".into(), &false.into()), "{test}");
    }
}
