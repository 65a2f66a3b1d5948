//! Reading of `[[steps]]`.

use std::sync::Arc;

use chorus_kernel::AccessMode;
use chorus_ptx::{Entry, Module, Parameter};

use super::{Names, list};
use crate::document::{Node, Table, unknown};
use crate::error::Result;
use crate::expression::{Expression, constant};
use crate::manifest::{Argument, ArgumentValue, End, Launch, Loop, Set, Step, Until};

/// The deepest nesting of loops.
const DEPTH_MAX: usize = 8;

/// The passes after which a loop that waits for a value is given up, if its file states no other number.
const AT_MOST: u64 = 10_000;

const KINDS: [&str; 5] = ["launch", "set", "repeat", "until", "stream"];

pub(super) fn read(node: &Node<'_>, names: &mut Names, modules: &[Module]) -> Result<Arc<[Arc<Step>]>> {
    steps(node, names, modules, 0)
}

fn steps(node: &Node<'_>, names: &mut Names, modules: &[Module], depth: usize) -> Result<Arc<[Arc<Step>]>> {
    let nodes = list(node, "a list of steps, as `[[steps]]`")?;
    if nodes.is_empty() {
        return Err(node.mistake("there is no step; at least one is expected"));
    }
    if depth > DEPTH_MAX {
        return Err(node.mistake(format!("loops are nested more than {DEPTH_MAX} deep")));
    }
    nodes.iter().map(|node| step(node, names, modules, depth).map(Arc::new)).collect()
}

fn step(node: &Node<'_>, names: &mut Names, modules: &[Module], depth: usize) -> Result<Step> {
    let mut table = node.table("a table with `launch`, `set`, `repeat` or `until`")?;
    if let Some(stream) = table.get("stream") {
        let beside = "programs that run at the same time are named together, as in --workload a.toml+b.toml";
        return Err(stream.mistake(format!("the launches of a program run one after the other; {beside}")));
    }
    let step = match table.one_of(&KINDS)? {
        Some(("launch", of)) => launch(&of, &mut table, names, modules).map(|launch| Step::Launch(Box::new(launch))),
        Some(("set", of)) => set(&of, names).map(Step::Set),
        Some(("repeat", of)) => {
            let end = End::Repeat(names.expression(&of)?);
            body(end, &mut table, names, modules, depth)
        }
        Some((_, of)) => {
            let end = End::Until(until(&of, &mut table, names)?);
            body(end, &mut table, names, modules, depth)
        }
        None => Err(node.mistake("a step has one of the keys `launch`, `set`, `repeat` and `until`")),
    }?;
    table.finish()?;
    Ok(step)
}

fn body(end: End, table: &mut Table<'_>, names: &mut Names, modules: &[Module], depth: usize) -> Result<Step> {
    let counter = match table.get("counter") {
        None => None,
        Some(node) => {
            let name = node.name("the name of the number of passes")?;
            names.add(&node, name)?;
            Some(name.to_owned())
        }
    };
    let steps = steps(&table.require("steps", "the steps of the loop")?, names, modules, depth + 1)?;
    if let Some(counter) = &counter {
        names.values.remove(counter);
    }
    Ok(Step::Loop(Loop { end, counter, steps }))
}

fn set(node: &Node<'_>, names: &Names) -> Result<Set> {
    let mut table = node.table("a table, as in { buffer = \"again\", index = 0, value = 0 }")?;
    let buffer = names.buffer(&table.require("buffer", "the name of a buffer")?)?;
    let index = names.expression(&table.require("index", "the number of the element")?)?;
    let value = names.number(&table.require("value", "its value")?, names.buffers[buffer].1.is_float())?;
    table.finish()?;
    Ok(Set { buffer, index, value })
}

fn until(node: &Node<'_>, around: &mut Table<'_>, names: &Names) -> Result<Until> {
    let mut table = node.table("a table, as in { buffer = \"again\", index = 0, equals = 0 }")?;
    let buffer = names.buffer(&table.require("buffer", "the name of a buffer")?)?;
    let index = names.expression(&table.require("index", "the number of the element")?)?;
    let equals =
        names.number(&table.require("equals", "its value after the last pass")?, names.buffers[buffer].1.is_float())?;
    table.finish()?;
    let at_most = around.get("at_most").map_or(Ok(AT_MOST), |node| node.whole(u32::MAX.into()))?;
    Ok(Until { buffer, index, equals, at_most, place: node.place() })
}

fn launch(of: &Node<'_>, table: &mut Table<'_>, names: &Names, modules: &[Module]) -> Result<Launch> {
    let (module, entry) = entry(of, modules)?;
    let zero = |node: &Node<'_>| constant(0, node.place());
    let shared = table.get("shared_bytes");
    let shared_bytes = shared.map_or_else(|| zero(of), |node| names.expression(&node))?;
    let grid = table.require("grid", "the blocks of the launch, as in grid = \"n / 256\" or grid = [16, 16]")?;
    let block = table.require("block", "the threads of a block, as in block = 256 or block = [32, 8]")?;
    let (grid, block) = (extent(&grid, names)?, extent(&block, names)?);
    let parameters = entry.parameters();
    let arguments = match table.get("args") {
        Some(node) => arguments(&node, &entry, names)?,
        None if parameters.is_empty() => Vec::new(),
        None => return Err(of.mistake(format!("there is no key `args`: {}", takes(&entry, &parameters)))),
    };
    let access = table.get("access").map_or(Ok(Vec::new()), |node| access(&node, names))?;
    Ok(Launch { entry, module, place: of.place(), grid, block, shared_bytes, arguments, access })
}

fn takes(entry: &Entry, parameters: &[Parameter]) -> String {
    let words = |parameter: &Parameter| {
        let Parameter { name, bytes, is_float, .. } = parameter;
        let kind = if *is_float { "float" } else { "integer or address" };
        format!("{name} ({kind} of {bytes} bytes)")
    };
    let list = parameters.iter().map(words).collect::<Vec<_>>().join(", ");
    format!("`{}` takes {}: {list}", entry.name(), parameters.len())
}

/// The entry of a name, and the number of its module.
fn entry(node: &Node<'_>, modules: &[Module]) -> Result<(usize, Entry)> {
    let name = node.name("the name of an entry of a module")?;
    let mut owners = (0..modules.len()).filter(|&module| modules[module].entries().any(|entry| entry == name));
    let Some(module) = owners.next() else {
        let known: Vec<&str> = modules.iter().flat_map(Module::entries).collect();
        return Err(unknown(node, "entry", name, &known));
    };
    if owners.next().is_some() {
        return Err(node.mistake(format!("several modules have an entry `{name}`; one of them is expected")));
    }
    let entry = modules[module].entry(name).map_err(|error| node.mistake(error.to_string()))?;
    Ok((module, entry))
}

/// One to three sizes.
fn extent(node: &Node<'_>, names: &Names) -> Result<[Expression; 3]> {
    let accepted = "one size, or a list of one to three";
    let given = match node.list() {
        None => vec![names.expression(node)?],
        Some(list) if (1..=3).contains(&list.len()) => {
            list.iter().map(|node| names.expression(node)).collect::<Result<_>>()?
        }
        Some(_) => return Err(node.expected(accepted)),
    };
    let one = constant(1, node.place())?;
    let mut given = given.into_iter();
    Ok(std::array::from_fn(|_| given.next().unwrap_or_else(|| one.clone())))
}

fn arguments(node: &Node<'_>, entry: &Entry, names: &Names) -> Result<Vec<Argument>> {
    let parameters = &entry.parameters()[..];
    let given = list(node, "a list of arguments, as in [\"n\", 1.5, \"x\"]")?;
    if given.len() != parameters.len() {
        return Err(node.mistake(format!("{} arguments are given; {}", given.len(), takes(entry, parameters))));
    }
    given.iter().zip(parameters).map(|(node, parameter)| argument(node, parameter, names)).collect()
}

fn argument(node: &Node<'_>, parameter: &Parameter, names: &Names) -> Result<Argument> {
    let bytes = parameter.bytes;
    let is_buffer = node.text().is_some_and(|text| names.buffers.iter().any(|(name, _)| name == text));
    let value = if is_buffer {
        ArgumentValue::Buffer { buffer: names.buffer(node)?, offset: constant(0, node.place())? }
    } else if node.is_table() {
        let mut table = node.table("a table")?;
        let value = match table.one_of(&["buffer", "hex"])? {
            Some(("buffer", of)) => {
                let offset =
                    table.get("offset").map_or_else(|| constant(0, node.place()), |of| names.expression(&of))?;
                ArgumentValue::Buffer { buffer: names.buffer(&of)?, offset }
            }
            Some((_, of)) => ArgumentValue::Bytes(hex(&of, bytes)?),
            None => return Err(node.expected("a table with `buffer` and perhaps `offset`, or with `hex`")),
        };
        table.finish()?;
        value
    } else if let Some(real) = node.real().filter(|_| parameter.is_float) {
        ArgumentValue::Real(real)
    } else if ![1, 2, 4, 8].contains(&bytes) {
        return Err(node.expected(&format!("a table with `hex`: the {bytes} bytes of `{}`", parameter.name)));
    } else {
        ArgumentValue::Whole { value: whole_argument(node, names)?, is_float: parameter.is_float }
    };
    if matches!(value, ArgumentValue::Buffer { .. }) && bytes != 8 {
        return Err(node.mistake(format!("an address has 8 bytes, and `{}` has {bytes}", parameter.name)));
    }
    Ok(Argument { bytes, value })
}

/// An argument that is no buffer. A misspelt buffer is told with the names of buffers.
fn whole_argument(node: &Node<'_>, names: &Names) -> Result<Expression> {
    let expression = node.expression()?;
    match expression.unknown_name(&|name| names.values.contains(name)) {
        None => Ok(expression),
        Some(name) => {
            let buffers = names.buffers.iter().map(|(name, _)| name.as_str());
            let known: Vec<&str> = buffers.chain(names.values.iter().map(String::as_str)).collect();
            Err(unknown(node, "buffer or value", name, &known))
        }
    }
}

fn hex(node: &Node<'_>, bytes: u64) -> Result<Vec<u8>> {
    let accepted = format!("{} hexadecimal digits", 2 * bytes);
    let text = node.name(&accepted)?;
    let digit = |c: char| c.to_digit(16).map(|digit| digit as u8);
    let digits: Option<Vec<u8>> = text.chars().filter(|c| !c.is_whitespace()).map(digit).collect();
    let digits = digits.filter(|digits| digits.len() as u64 == 2 * bytes).ok_or_else(|| node.expected(&accepted))?;
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn access(node: &Node<'_>, names: &Names) -> Result<Vec<(usize, AccessMode)>> {
    let mut list = Vec::new();
    for (name, node) in node.entries("a table, as in { x = \"read\", y = \"write\" }")? {
        let known: Vec<&str> = names.buffers.iter().map(|(name, _)| name.as_str()).collect();
        let buffer = known.iter().position(|known| *known == name);
        let buffer = buffer.ok_or_else(|| unknown(&node, "buffer", &name, &known))?;
        let mode = match node.name("\"read\" or \"write\"")? {
            "read" => AccessMode::Read,
            "write" => AccessMode::ReadWrite,
            _ => return Err(node.expected("\"read\" or \"write\" (which may also read)")),
        };
        list.push((buffer, mode));
    }
    Ok(list)
}
