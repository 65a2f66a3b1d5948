//! Experiment files: what they mean, and what is said about mistakes in them.

use chorus_lab::annotate::Annotate;
use chorus_lab::experiment::{Chart, Experiment, Series};
use chorus_lab::paper;
use chorus_lab::run::RunSpec;
use chorus_lab::setup;
use chorus_registry::PAPERS;
use chorus_system::{Scale, entries};

use crate::fake::{Directory, KNOWN, SHIPPED, registry, spec};

const SMALL: &str = r#"name = "small"
title = "A small paper"
source = "nobody"
system = "tc"

[[matrix]]
name = "inter"
workloads = ["stn", "dlb"]
protocols = ["no-l1", "gpu-vi"]

[[figure]]
id = "1"
headline = true
title = "Figure 1"
axis = "speed-up over NO-L1"
matrices = ["inter"]
chart = "bars"
measure = "speed-up"
baseline = "no-l1"
mean = "harmonic"
series = [{ label = "GPU-VI", protocol = "gpu-vi" }]
"#;

fn read(text: &str) -> Result<Experiment, String> {
    Experiment::read("small.toml", text, &KNOWN).map_err(|error| error.to_string())
}

/// Replaces a piece of the small file and expects a message.
fn check_message(from: &str, to: &str, expected: &str) {
    assert!(SMALL.contains(from), "{from} is not in the file");
    let message = read(&SMALL.replacen(from, to, 1)).expect_err(to);
    assert_eq!(message, expected);
}

#[test]
fn a_file_of_another_format_is_refused_before_its_keys_are_read() {
    assert!(read(&format!("format = 1\n{SMALL}")).is_ok());
    let message = read(&format!("format = 2\nunheard_of = 1\n{SMALL}")).unwrap_err();
    assert!(message.starts_with("small.toml:1:10: key `format` is 2; accepted: 1, the format of Chorus "), "{message}");
    let experiment = read(SMALL).unwrap();
    let claims = chorus_lab::claim::read("claims.toml", "format = \"old\"", &experiment).unwrap_err().to_string();
    assert!(claims.starts_with("claims.toml:1:10: key `format` is \"old\"; accepted: 1, "), "{claims}");
}

#[test]
fn the_shipped_papers_are_valid_and_named_as_their_files() {
    for shipped in PAPERS {
        let paper = paper::load(registry(), shipped.name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(paper.experiment.name, shipped.name);
        assert!(paper.experiment.headline().is_some());
        assert!(!paper.statements.claims.is_empty());
    }
}

#[test]
fn every_figure_of_a_shipped_paper_has_all_its_runs_in_its_matrices() {
    for shipped in PAPERS {
        let experiment = paper::load(registry(), shipped.name).unwrap().experiment;
        let all = experiment.runs(Scale::Quick);
        for figure in &experiment.figures {
            // What chooses from others has no runs of its own.
            let series = figure.series.iter().filter(|series| series.best_of.is_empty()).count();
            let bars = experiment.workloads_of(figure).len() * series;
            let runs = experiment.runs_of(figure, Scale::Quick);
            assert!(runs.len() >= bars, "figure {} lacks runs", figure.id);
            assert!(runs.iter().all(|run| all.contains(run)), "figure {} has runs of its own", figure.id);
        }
    }
}

/// A sweep says twice what it varies: in what a variant sets or multiplies, or by leaving it as it is, and on the axis.
#[test]
fn every_point_of_a_shipped_line_is_where_its_parameter_says() {
    for shipped in PAPERS {
        let experiment = paper::load(registry(), shipped.name).unwrap().experiment;
        for figure in experiment.figures.iter().filter(|figure| figure.chart == Chart::Lines) {
            let workload = &experiment.workloads_of(figure)[0];
            let varied = experiment.matrices.iter().flat_map(|matrix| &matrix.variants);
            let varied: Vec<_> =
                varied.filter(|variant| figure.series.iter().any(|series| is(series, &variant.name))).collect();
            let set = varied.iter().filter_map(|variant| variant.set.first()?.split_once('=')).map(|(key, _)| key);
            let times = varied.iter().flat_map(|variant| variant.times.keys().map(String::as_str));
            // Other machines have more GPUs or, where they are one, more modules; other scales have larger ones.
            let of_machines = if is_one_gpu(&experiment) { "hierarchy.gpms" } else { "hierarchy.gpus" };
            let systems = varied.iter().filter_map(|variant| variant.system.as_ref().map(|_| of_machines));
            let scales = varied.iter().filter_map(|variant| variant.scale.map(|_| WAVEFRONTS));
            let key = systems.chain(scales).chain(set).chain(times).next().unwrap();
            let places: Vec<(f64, f64)> = figure
                .series
                .iter()
                .map(|series| {
                    let variant = series.variant.as_deref();
                    let runs = experiment.runs_for(figure, workload, &series.protocol, variant, Scale::Quick);
                    (series.at.unwrap(), value_of(key, &runs[0]))
                })
                .collect();
            let unit = places.iter().find(|(at, _)| *at > 0.0).map(|(at, value)| value / at).unwrap();
            for (at, value) in places {
                assert_eq!(at * unit, value, "{key} in figure {} of {}", figure.id, shipped.name);
            }
        }
    }
}

fn is_one_gpu(experiment: &Experiment) -> bool {
    chorus_system::resolve(&experiment.system, Scale::Quick, &[]).unwrap().config.hierarchy.gpus == 1
}

fn is(series: &Series, variant: &str) -> bool {
    series.variant.as_deref() == Some(variant)
}

/// The value of a parameter of the protocol or of a key of the machine in a run.
fn value_of(key: &str, run: &RunSpec) -> f64 {
    let setup = setup::resolve(registry(), run).unwrap_or_else(|error| panic!("{error}"));
    let entries = entries(&setup.system);
    let entry = |key: &str| entries.iter().find(|entry| entry.key == key).unwrap().value.parse::<f64>().unwrap();
    match setup.parameter_values().get(key) {
        Some(&value) => value as f64,
        None if key == WAVEFRONTS => entry("core.count") * entry("core.wavefronts"),
        None => entry(key),
    }
}

/// The size of a machine at a scale: the wavefronts that a module holds.
const WAVEFRONTS: &str = "wavefronts of a module";

/// Runs are planned at every scale that the machine has, so a sweep must fit the machine at each.
#[test]
fn every_run_of_a_shipped_paper_can_be_set_up_at_every_scale_of_its_machine() {
    for shipped in PAPERS {
        let experiment = paper::load(registry(), shipped.name).unwrap().experiment;
        let scales = chorus_system::scales(&experiment.system).unwrap();
        for run in scales.into_iter().flat_map(|scale| experiment.runs(scale)) {
            if let Err(error) = setup::resolve(registry(), &run) {
                panic!("{run}: {error}");
            }
        }
    }
}

#[test]
fn a_variant_multiplies_what_the_machine_has_at_each_scale() {
    let times =
        "protocols = [\"no-l1\", \"gpu-vi\"]\nvariant = [{ name = \"half\", times = { \"l2.bank_bytes\" = 0.5 } }]";
    let text = SMALL.replace("protocols = [\"no-l1\", \"gpu-vi\"]", times);
    let text = text.replace("mean =", "baseline_variant = \"half\"\nmean =");
    let text = text.replace("\"gpu-vi\" }", "\"gpu-vi\", variant = \"half\" }");
    let experiment = read(&text).unwrap();
    for scale in chorus_system::scales("tc").unwrap() {
        let bank_bytes = chorus_system::resolve("tc", scale, &[]).unwrap().config.l2.bank_bytes;
        assert_eq!(experiment.runs(scale)[0].set, [format!("l2.bank_bytes={}", bank_bytes / 2)]);
    }
    let message = read(&text.replace("l2.bank_bytes", "l2.bank_byte")).unwrap_err();
    assert_eq!(
        message,
        "small.toml:10:21: variant `half`: the system has no key `l2.bank_byte`; did you mean `l2.bank_bytes`?"
    );
    let message = read(&text.replace("l2.bank_bytes", "l2.replacement")).unwrap_err();
    assert!(message.ends_with("`l2.replacement` is \"lru\", not a whole number to multiply"), "{message}");
    let message = read(&text.replace("= 0.5 }", "= 0.3 }")).unwrap_err();
    assert!(message.ends_with("; expected a whole number of at least 1"), "{message}");
}

/// The runs of shipped papers stay what they are when their files are written differently.
#[test]
fn shipped_papers_have_as_many_runs_as_ever() {
    // Sweeps over scales share runs with the other figures where a page is made at one of these scales.
    for (name, quick, paper) in
        [("tc", 228, 228), ("hmg", 1010, 1010), ("rec", 860, 920), ("cpelide", 840, 864), ("spandex", 153, 153)]
    {
        let experiment = paper::load(registry(), name).unwrap().experiment;
        let runs = [Scale::Quick, Scale::Paper].map(|scale| experiment.runs(scale).len());
        assert_eq!(runs, [quick, paper], "{name}");
    }
}

#[test]
fn a_matrix_is_every_workload_under_every_protocol() {
    let runs = read(SMALL).unwrap().runs(Scale::Quick);
    let expected = [("no-l1", "stn"), ("gpu-vi", "stn"), ("no-l1", "dlb"), ("gpu-vi", "dlb")];
    assert_eq!(runs, expected.map(|(protocol, workload)| spec(protocol, workload)));
}

#[test]
fn variants_and_seeds_multiply_a_matrix() {
    let variants = "protocols = [\"no-l1\", \"gpu-vi\"]\nseeds = [1, 7]\nvariant = [{ name = \"small\", set = [] }, \
                    { name = \"large\", set = [\"l1.size_bytes=65536\"] }]";
    let text = SMALL
        .replace("protocols = [\"no-l1\", \"gpu-vi\"]", variants)
        .replace("mean =", "baseline_variant = \"small\"\nmean =")
        .replace("protocol = \"gpu-vi\" }", "protocol = \"gpu-vi\", variant = \"large\" }");
    let experiment = read(&text).unwrap();
    assert_eq!(experiment.runs(Scale::Quick).len(), 2 * 2 * 2 * 2);
    let large = |seed| RunSpec { seed, set: vec!["l1.size_bytes=65536".to_owned()], ..spec("gpu-vi", "stn") };
    let figure = experiment.headline().unwrap();
    let runs = experiment.runs_for(figure, "stn", "gpu-vi", Some("large"), Scale::Quick);
    assert_eq!(runs, [large(1), large(7)]);
    assert_eq!(experiment.runs_of(figure, Scale::Quick).len(), 2 * 2 * 2);
}

#[test]
fn a_variant_may_say_who_annotates() {
    let variants = "protocols = [\"no-l1\", \"gpu-vi\"]\nvariant = [{ name = \"hand\" }, { name = \"recorded\", annotate = \"auto\" }]";
    let text = SMALL
        .replace("protocols = [\"no-l1\", \"gpu-vi\"]", variants)
        .replace("mean =", "baseline_variant = \"hand\"\nmean =")
        .replace("protocol = \"gpu-vi\" }", "protocol = \"gpu-vi\", variant = \"recorded\" }");
    let experiment = read(&text).unwrap();
    let runs = experiment.runs_for(experiment.headline().unwrap(), "stn", "gpu-vi", Some("recorded"), Scale::Quick);
    assert_eq!(runs, [RunSpec { annotate: Annotate::Auto, ..spec("gpu-vi", "stn") }]);
    assert_eq!(runs[0].to_string(), "gpu-vi on stn (tc, quick, seed 1, annotate auto)");
    let message = read(&text.replace("\"auto\"", "\"atuo\"")).unwrap_err();
    for part in ["`atuo`", "`hand`, `auto`, `none`"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_the_nearest_one() {
    check_message(
        "workloads = [",
        "workload = [",
        "small.toml:8:1: unknown key `workload`; did you mean `workloads`? accepted: `name`, `workloads`, `protocols`, \
         `baseline`, `seeds`, `jitter`, `observed`, `variant`",
    );
    check_message(
        "label = \"GPU-VI\"",
        "lable = \"GPU-VI\"",
        "small.toml:21:13: unknown key `lable`; did you mean `label`? accepted: `label`, `protocol`, `best_of`, `variant`, \
         `baseline_variant`, `cost`, `at`, `line`",
    );
}

#[test]
fn an_unknown_name_is_named_with_its_place_and_the_nearest_one() {
    check_message(
        "\"dlb\"",
        "\"dbl\"",
        "small.toml:8:21: key `workloads`: unknown workload `dbl`; did you mean `dlb`? known: `bh`, `cc`, `cl`, `dlb`, \
         `stn`, `vpr`, `hsp`, `kmn`, `lps`, `ndl`, `rg`, `sr` and 1 more (`chorus list workloads`)",
    );
    check_message(
        "system = \"tc\"",
        "system = \"tcc\"",
        "small.toml:4:10: key `system`: unknown system `tcc`; did you mean `tc`? known: `tc`",
    );
    check_message(
        "protocol = \"gpu-vi\" }",
        "protocol = \"gpu-iv\" }",
        "small.toml:21:42: key `protocol`: unknown protocol of the figure's matrices `gpu-iv`; did you mean `gpu-vi`? \
         known: `gpu-vi`, `no-l1`",
    );
    check_message(
        "matrices = [\"inter\"]",
        "matrices = [\"intra\"]",
        "small.toml:16:13: key `matrices`: unknown matrix `intra`; did you mean `inter`? known: `inter`",
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_named_with_its_key() {
    check_message(
        "chart = \"bars\"",
        "chart = \"bar\"",
        "small.toml:17:9: key `chart` is `bar`; did you mean `bars`? accepted: `bars`, `stacked-bars`, `lines`, `scatter`",
    );
    let message = read(&SMALL.replace("headline = true", "headline = 3")).unwrap_err();
    assert!(message.starts_with("small.toml:13:12: key `headline`: invalid type: integer `3`"), "{message}");
    let message = read(&SMALL.replace("title = \"Figure 1\"\n", "")).unwrap_err();
    assert!(message.contains("missing key `title`"), "{message}");
    let message = read(&SMALL.replace("name = \"small\"", "name = ")).unwrap_err();
    assert!(message.starts_with("small.toml:1:"), "{message}");
}

#[test]
fn a_figure_that_makes_no_sense_is_refused() {
    check_message(
        "measure = \"speed-up\"",
        "measure = \"ratio\"",
        "small.toml:12:6: figure `1` is of one metric and not stacked: it takes a `metric` and no `part`",
    );
    check_message(
        "baseline = \"no-l1\"\n",
        "",
        "small.toml:12:6: figure `1` has no `baseline`, and no matrix of it has one for stn",
    );
    check_message(
        "chart = \"bars\"",
        "chart = \"lines\"",
        "small.toml:12:6: figure `1` has lines: each of its `series` takes `at`, in rising order",
    );
    let unnamed = SMALL.replace("\"bars\"", "\"lines\"").replace("\"gpu-vi\" }", "\"gpu-vi\", at = 3 }");
    let message = read(&unnamed).expect_err("lines without a horizontal axis");
    assert!(message.ends_with("has lines: it takes `swept`, which says what the horizontal axis shows"), "{message}");
    check_message(
        "protocol = \"gpu-vi\" }",
        "protocol = \"gpu-vi\", at = 3 }",
        "small.toml:12:6: figure `1` has no lines: its `series` take no `at` and no `line`",
    );
    check_message(
        "mean = \"harmonic\"",
        "mean = \"harmonic\"\nmarker = { label = \"m\", protocol = \"gpu-vi\", metric = \"a\", per = \"b\" }",
        "small.toml:12:6: figure `1` has bars: it takes no `marker` and no `swept`",
    );
    check_message(
        "chart = \"bars\"",
        "chart = \"scatter\"",
        "small.toml:12:6: figure `1` has points: it takes `marker`, which places them, and `swept`, which says what the \
         horizontal axis shows",
    );
    check_message(
        "measure = \"speed-up\"",
        "measure = \"rate\"",
        "small.toml:12:6: figure `1` is relative to nothing: it takes no `baseline` and no `baseline_variant`",
    );
    check_message(
        "measure = \"speed-up\"\nbaseline = \"no-l1\"",
        "measure = \"quotient\"\nmetric = \"a\"",
        "small.toml:12:6: figure `1` is a quotient: it takes `per`, the metrics to divide by",
    );
    check_message(
        "mean = \"harmonic\"",
        "per = [\"a\"]\nmean = \"harmonic\"",
        "small.toml:12:6: figure `1` is no quotient: it takes no `per`",
    );
    let lines = SMALL.replace("\"bars\"", "\"lines\"\nswept = \"x\"");
    let lines = lines.replace("\"gpu-vi\" }", "\"gpu-vi\", at = 3, line = \"VI\" }");
    let message = read(&lines).expect_err("lines of means beside those of workloads");
    assert!(message.ends_with("has lines of means: it takes `show = \"mean\"`, one mean and no `marker`"), "{message}");
    assert!(read(&lines.replace("mean =", "show = \"mean\"\nmean =")).is_ok());
    check_message(
        "measure = \"speed-up\"",
        "measure = \"latency\"",
        "small.toml:12:6: figure `1` shows latency: its `matrices` take `observed = true`",
    );
    check_message("headline = true\n", "", "small.toml:1:1: no figure has `headline = true`; expected exactly one");
    check_message("\"stn\", \"dlb\"", "\"stn\", \"stn\"", "small.toml:8:21: workload `stn` is given twice");
    check_message(
        "name = \"small\"",
        "name = \"../x\"",
        "small.toml:1:1: key `name`: expected lower-case letters, digits and hyphens",
    );
}

#[test]
fn an_unknown_paper_is_named_with_the_nearest_one() {
    let message = paper::load(registry(), "tv").unwrap_err().to_string();
    assert_eq!(
        message,
        "unknown paper `tv`; did you mean `tc`? known: `tc`, `hmg`, `rec`, `cpelide`, `spandex`; \
         or the path of an experiment file that ends in .toml"
    );
}

#[test]
fn the_experiment_of_the_documentation_is_valid_and_has_its_runs() {
    let page = include_str!("../../../../docs/how-to/own-experiments.md");
    let text = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let experiment = Experiment::read("sweep.toml", text, &SHIPPED).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(experiment.runs(Scale::Quick).len(), 3 * 3 + 3 * 2);
    assert_eq!(experiment.runs_of(experiment.headline().unwrap(), Scale::Quick).len(), 3 * 3 + 3 * 2);
}

#[test]
fn an_experiment_file_of_ones_own_is_read_by_its_path() {
    let directory = Directory::new();
    let path = directory.join("mine.toml");
    std::fs::write(&path, SMALL).unwrap();
    let paper = paper::load(registry(), path.to_str().unwrap()).unwrap();
    assert_eq!((paper.experiment.name.as_str(), paper.statements.claims.len()), ("small", 0));
    let message = paper::load(registry(), "nowhere/mine.toml").unwrap_err().to_string();
    assert!(message.starts_with("cannot read nowhere/mine.toml: no such file"), "{message}");
}

#[test]
fn a_figure_that_could_show_nothing_is_refused_before_anything_runs() {
    let refused = |text: &str, end: &str| {
        let message = read(text).expect_err(end);
        assert!(message.ends_with(end), "{message}");
    };
    let protocols = "protocols = [\"no-l1\", \"gpu-vi\"]";
    let variants = "variant = [{ name = \"small\", set = [\"l1.ways=2\"] }, { name = \"large\" }]";
    let varied = SMALL.replace(protocols, &format!("{protocols}\n{variants}"));
    refused(
        &varied,
        "figure `1` would have no bar for series `GPU-VI`: matrix `inter` runs gpu-vi in `small`, `large` only; expected \
         one of them as `variant`",
    );
    let half = varied.replace("\"gpu-vi\" }", "\"gpu-vi\", variant = \"small\" }");
    refused(
        &half,
        "figure `1` would have no baseline for series `GPU-VI` on stn: matrix `inter` runs no-l1 in `small`, `large` only; \
         expected one of them as `baseline_variant`",
    );
    assert!(
        read(&half.replace("variant = \"small\" }", "variant = \"small\", baseline_variant = \"large\" }")).is_ok()
    );
}

#[test]
fn a_metric_that_no_run_counts_is_refused_before_anything_runs() {
    let message = read(&SMALL.replace(
        "measure = \"speed-up\"\nbaseline = \"no-l1\"",
        "measure = \"count\"\nmetric = \"protocol.l2.mises\"",
    ));
    let message = message.expect_err("a metric that does not exist");
    assert!(
        message.contains("key `metric`: unknown metric `protocol.l2.mises`; did you mean `protocol.l2.misses`?"),
        "{message}"
    );
}
