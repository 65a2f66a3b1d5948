//! Reading of a program file: names are resolved, and whatever does not depend on sizes is checked.

mod buffers;
mod checks;
mod readings;
mod steps;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use chorus_ptx::{Device, Module};
use chorus_workloads::SizeSpec;
use chorus_workloads::graph::{GraphFormat, parse};

use crate::document::{Document, Node, Table, unknown};
use crate::error::Result;
use crate::expression::{Expression, is_name};
use crate::files::Files;
use crate::manifest::{GraphKind, GraphSource, Manifest, Number};

/// The most entries of a list in a program file.
const LIST_MAX: usize = 1000;

/// The range of a size whose file states none.
const SIZE_MAX: u64 = 1 << 30;

/// The size of a program with `reset` that says how often its steps are passed over.
pub(crate) const PASSES: &str = "passes";

/// The most passes over the steps of a program.
const PASSES_MAX: u64 = 64;

/// The size of a program with `reset` that lets two further passes replay launches as a profiler does.
pub(crate) const REPLAY_MIB: &str = "replay_mib";

/// The most memory that is read before a launch that is replayed.
const REPLAY_MIB_MAX: u64 = 1024;

/// The parts of a program file that others name.
#[derive(Default)]
pub(crate) struct Names {
    /// Names of values in expressions.
    pub(crate) values: BTreeSet<String>,
    pub(crate) graphs: Vec<String>,
    pub(crate) buffers: Vec<(String, crate::element::Element)>,
}

/// Reads the program file at `path` with this text.
pub(crate) fn read(path: &str, text: &str) -> Result<Manifest> {
    let document = Document::parse(path, text)?;
    let mut root = Node::root(&document).table("a table")?;
    let mut files = Files::beside(Path::new(path), text);
    let mut names = Names::default();
    let title = text_of(&mut root, "title", path)?;
    let summary = text_of(&mut root, "summary", "A program of its user.")?;
    let source = text_of(&mut root, "source", path)?;
    let communicates = root.get("communicates").map(|node| node.boolean()).transpose()?;
    let device = root.get("gpu").map_or(Ok(Device::Machine), |node| device(&node))?;
    let modules = modules(&mut root, &mut files)?;
    let sizes = root.get("sizes").map_or(Ok(Vec::new()), |node| sizes(&node, &mut names))?;
    let reset = root.get("reset");
    let sizes = reset.iter().try_fold(sizes, |sizes, node| with_passes(sizes, &mut names, node))?;
    let values = root.get("values").map_or(Ok(Vec::new()), |node| values(&node, &mut names))?;
    let graphs = root.get("graphs").map_or(Ok(Vec::new()), |node| graphs(&node, &mut names, &mut files))?;
    let buffers = match root.get("buffers") {
        Some(node) => buffers::read(&node, &mut names, &mut files)?,
        None => Vec::new(),
    };
    let steps = root.require("steps", "the launches of the program, as `[[steps]]`")?;
    let steps = steps::read(&steps, &mut names, &modules)?;
    let checks = root.get("checks").map_or(Ok(Vec::new()), |node| checks::read(&node, &names, &mut files))?;
    let readings = root.get("readings").map_or(Ok(Vec::new()), |node| readings::read(&node, &names))?;
    let reset = reset.map(|node| buffers_to_reset(&node, &names)).transpose()?;
    root.finish()?;
    let (sizes, sha256) = (&*Vec::leak(sizes), files.sha256());
    let (title, summary, source) = (leak(title), leak(summary), leak(source));
    Ok(Manifest {
        title,
        summary,
        source,
        communicates,
        device,
        modules,
        sizes,
        values,
        graphs,
        buffers,
        steps,
        checks,
        readings,
        reset,
        sha256,
    })
}

/// The sizes of a program that can be passed over more than once.
fn with_passes(mut sizes: Vec<SizeSpec>, names: &mut Names, at: &Node<'_>) -> Result<Vec<SizeSpec>> {
    names.add(at, PASSES)?;
    let meaning = "passes over the steps; before each but the first, buffers get their first contents again";
    sizes.push(SizeSpec::new(PASSES, meaning, [1; 3], "the program's file").range(1, PASSES_MAX));
    names.add(at, REPLAY_MIB)?;
    let meaning =
        "MiB of other memory that two further passes read before each launch, as a profiler does; 0: no such pass";
    sizes.push(SizeSpec::new(REPLAY_MIB, meaning, [0; 3], "the program's file").range(0, REPLAY_MIB_MAX));
    Ok(sizes)
}

fn buffers_to_reset(node: &Node<'_>, names: &Names) -> Result<Vec<usize>> {
    let nodes = list(node, "a list of buffers that get their first contents again before each further pass")?;
    nodes.iter().map(|node| names.buffer(node)).collect()
}

/// A program lives as long as the process, as every workload does, so its texts may as well.
pub(crate) fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn text_of(table: &mut Table<'_>, key: &'static str, otherwise: &str) -> Result<String> {
    table.get(key).map_or(Ok(otherwise.to_owned()), |node| node.name("a text").map(str::to_owned))
}

/// The entries of a list of a bearable length.
pub(crate) fn list<'n>(node: &Node<'n>, accepted: &str) -> Result<Vec<Node<'n>>> {
    let list = node.list().ok_or_else(|| node.expected(accepted))?;
    if list.len() > LIST_MAX {
        return Err(node.mistake(format!("it has {} entries; at most {LIST_MAX} are accepted", list.len())));
    }
    Ok(list)
}

fn device(node: &Node<'_>) -> Result<Device> {
    match node.text() {
        Some("machine") => Ok(Device::Machine),
        Some("each") => Ok(Device::Gpu),
        _ => {
            Err(node
                .expected("\"machine\" (scope `.gpu` reaches all blocks of a launch) or \"each\" (those on one GPU)"))
        }
    }
}

fn modules(root: &mut Table<'_>, files: &mut Files) -> Result<Vec<Module>> {
    let node = root.require("modules", "the PTX files of the program, as in modules = [\"saxpy.ptx\"]")?;
    let read = |node: Node<'_>| {
        let (path, bytes) = files.read(&node)?;
        let text = String::from_utf8(bytes).map_err(|_| node.mistake("it is not UTF-8 text"))?;
        Module::parse(&path.display().to_string(), &text).map_err(|error| node.mistake(error.to_string()))
    };
    list(&node, "a list of PTX files")?.into_iter().map(read).collect()
}

impl Names {
    /// Adds the name of a value.
    pub(crate) fn add(&mut self, node: &Node<'_>, name: &str) -> Result<()> {
        if !is_name(name) {
            let accepted =
                "names have letters, digits and underscores, begin with no digit, and are none of min, max, pow2";
            return Err(node.mistake(format!("it is no name; {accepted}")));
        }
        let is_buffer = self.buffers.iter().any(|(buffer, _)| buffer == name);
        if is_buffer || self.graphs.iter().any(|graph| graph == name) || !self.values.insert(name.to_owned()) {
            return Err(node.mistake(format!("something else is called `{name}` already")));
        }
        Ok(())
    }

    /// Reads an expression whose names are known.
    pub(crate) fn expression(&self, node: &Node<'_>) -> Result<Expression> {
        let expression = node.expression()?;
        match expression.unknown_name(&|name| self.values.contains(name)) {
            None => Ok(expression),
            Some(name) => {
                let known: Vec<&str> = self.values.iter().map(String::as_str).collect();
                Err(unknown(node, "value", name, &known))
            }
        }
    }

    /// Reads a number for an element.
    pub(crate) fn number(&self, node: &Node<'_>, is_float: bool) -> Result<Number> {
        match node.real().filter(|_| is_float && node.integer().is_none()) {
            Some(real) => Ok(Number::Real(real)),
            None => self.expression(node).map(Number::Whole),
        }
    }

    /// The buffer that a node names.
    pub(crate) fn buffer(&self, node: &Node<'_>) -> Result<usize> {
        let name = node.name("the name of a buffer")?;
        let known: Vec<&str> = self.buffers.iter().map(|(name, _)| name.as_str()).collect();
        known.iter().position(|known| *known == name).ok_or_else(|| unknown(node, "buffer", name, &known))
    }
}

fn sizes(node: &Node<'_>, names: &mut Names) -> Result<Vec<SizeSpec>> {
    let mut sizes = Vec::new();
    for (name, node) in node.entries("a table of sizes, as in n = { quick = 1024, medium = 65536, paper = 2^20 }")? {
        names.add(&node, &name)?;
        sizes.push(size(name, &node)?);
    }
    Ok(sizes)
}

fn size(name: String, node: &Node<'_>) -> Result<SizeSpec> {
    let meaning = format!("`{name}` of the program");
    let key = leak(name);
    if !node.is_table() {
        let value = node.whole(u32::MAX.into())?;
        let spec = SizeSpec::new(key, leak(meaning), [value; 3], "the program's file");
        return Ok(spec.range(value.min(1), value.max(SIZE_MAX)));
    }
    let mut table = node.table("a table")?;
    let mut defaults = [0; 3];
    for (default, scale) in defaults.iter_mut().zip(["quick", "medium", "paper"]) {
        *default = table.require(scale, "the value at this scale")?.whole(u32::MAX.into())?;
    }
    let mut whole = |key, otherwise| table.get(key).map_or(Ok(otherwise), |node| node.whole(u32::MAX.into()));
    let (low, high) = (defaults.into_iter().min().unwrap_or(0), defaults.into_iter().max().unwrap_or(0));
    let (min, max) = (whole("min", low.min(1))?, whole("max", high.max(SIZE_MAX))?);
    let multiple_of = whole("multiple_of", 1)?.max(1);
    let meaning = text_of(&mut table, "meaning", &meaning)?;
    table.finish()?;
    let spec =
        SizeSpec::new(key, leak(meaning), defaults, "the program's file").range(min, max).multiple_of(multiple_of);
    match defaults.into_iter().find(|&value| !spec.accepts(value)) {
        None => Ok(spec),
        Some(value) => Err(node.mistake(format!("{value} is given; it accepts {}", spec.accepted()))),
    }
}

fn values(node: &Node<'_>, names: &mut Names) -> Result<Vec<(String, Expression)>> {
    let mut values = Vec::new();
    for (name, node) in node.entries("a table of values, as in blocks = \"n / 256\"")? {
        let expression = names.expression(&node)?;
        names.add(&node, &name)?;
        values.push((name, expression));
    }
    Ok(values)
}

fn graphs(node: &Node<'_>, names: &mut Names, files: &mut Files) -> Result<Vec<GraphSource>> {
    let mut graphs = Vec::new();
    for (name, node) in node.entries("a table of graphs, as in g = { nodes = \"n\", degree = 8 }")? {
        let kind = graph(&node, names, files)?;
        names.add(&node, &name)?;
        names.values.remove(&name);
        names.values.extend([format!("{name}.nodes"), format!("{name}.edges")]);
        names.graphs.push(name.clone());
        graphs.push(GraphSource { name, kind });
    }
    Ok(graphs)
}

fn graph(node: &Node<'_>, names: &Names, files: &mut Files) -> Result<GraphKind> {
    let mut table =
        node.table("a table with `file`, with `nodes` and `degree`, or with `nodes` and `kind = \"hash\"`")?;
    if let Some(file) = table.get("file") {
        let format = table.get("format");
        table.finish()?;
        return graph_file(&file, format, files);
    }
    let nodes = names.expression(&table.require("nodes", "the number of nodes, or `file`")?)?;
    let kinds = ["uniform", "hash"];
    let kind = match table.get("kind") {
        None => "uniform",
        Some(node) => {
            let name = node.name("the name of a kind")?;
            kinds
                .into_iter()
                .find(|kind| *kind == name)
                .ok_or_else(|| unknown(&node, "kind of graphs", name, &kinds))?
        }
    };
    let kind = if kind == "hash" {
        GraphKind::Hash { nodes }
    } else {
        let degree = names.expression(&table.require("degree", "the number of arcs of each node")?)?;
        let seed = table.get("seed").map(|node| node.whole(u64::MAX)).transpose()?;
        GraphKind::Uniform { nodes, degree, seed }
    };
    table.finish()?;
    Ok(kind)
}

fn graph_file(node: &Node<'_>, format: Option<Node<'_>>, files: &mut Files) -> Result<GraphKind> {
    let (path, bytes) = files.read(node)?;
    let known = GraphFormat::ALL.map(GraphFormat::name);
    let format = match format {
        Some(node) => {
            let name = node.name("the name of a format")?;
            GraphFormat::from_name(name).ok_or_else(|| unknown(&node, "graph format", name, &known))?
        }
        None => GraphFormat::of_path(&path).ok_or_else(|| {
            let endings = GraphFormat::ALL.map(|format| format!("`.{}`", format.extension())).join(", ");
            node.mistake(format!("its ending tells no format; accepted are {endings}, or a key `format`"))
        })?,
    };
    let graph = parse(format, &path.display().to_string(), &bytes).map_err(|error| node.mistake(error.to_string()))?;
    Ok(GraphKind::File(Arc::new(graph)))
}
