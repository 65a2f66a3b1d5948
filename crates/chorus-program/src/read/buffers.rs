//! Reading of `[buffers]`.

use std::sync::Arc;

use super::{Names, list};
use crate::document::{Node, Table, unknown};
use crate::element::Element;
use crate::error::Result;
use crate::files::Files;
use crate::manifest::{Buffer, Contents, GraphPart, Hash, Number};

const CONTENTS: [&str; 8] = ["zero", "fill", "values", "iota", "random", "hash", "file", "graph"];

pub(super) fn read(node: &Node<'_>, names: &mut Names, files: &mut Files) -> Result<Vec<Buffer>> {
    let mut buffers = Vec::new();
    for (name, node) in node.entries("a table of buffers, as in x = { type = \"f32\", length = \"n\" }")? {
        let buffer = buffer(name.clone(), &node, names, files)?;
        names.add(&node, &name)?;
        names.values.remove(&name);
        names.values.insert(format!("{name}.length"));
        names.buffers.push((name, buffer.element));
        buffers.push(buffer);
    }
    Ok(buffers)
}

fn buffer(name: String, node: &Node<'_>, names: &Names, files: &mut Files) -> Result<Buffer> {
    let mut table = node.table("a table, as in { type = \"f32\", length = \"n\" }")?;
    let kind = table.require("type", "the type of its elements, such as \"f32\"")?;
    let given = kind.name("the name of a type")?;
    let element = Element::from_name(given).ok_or_else(|| unknown(&kind, "type", given, &Element::names()))?;
    let length = table.get("length").map(|node| names.expression(&node)).transpose()?;
    let read_only = table.get("read_only").map_or(Ok(false), |node| node.boolean())?;
    let contents = match table.one_of(&CONTENTS)? {
        None => Contents::Zero,
        Some((key, node)) => contents(key, &node, element, names, files)?,
    };
    table.finish()?;
    let tells_length = matches!(contents, Contents::Bytes(_) | Contents::Graph { .. } | Contents::Values(_));
    if let Some(length) = length.as_ref().filter(|_| matches!(contents, Contents::Graph { .. })) {
        return Err(length
            .place
            .mistake("the graph says how many elements there are; without `length`, it is accepted"));
    }
    if length.is_none() && !tells_length {
        return Err(node.mistake("there is no key `length`: the number of elements, as in length = \"n\""));
    }
    Ok(Buffer { name, element, place: node.place(), length, contents, read_only })
}

fn contents(key: &str, node: &Node<'_>, element: Element, names: &Names, files: &mut Files) -> Result<Contents> {
    match key {
        "zero" => match node.boolean()? {
            true => Ok(Contents::Zero),
            false => Err(node.expected("true, or another key for the contents")),
        },
        "fill" => names.number(node, element.is_float()).map(Contents::Fill),
        "values" => {
            let numbers = list(node, "a list of numbers")?;
            let numbers = numbers.iter().map(|node| names.number(node, element.is_float()));
            Ok(Contents::Values(numbers.collect::<Result<_>>()?))
        }
        "iota" => iota(node, element, names),
        "random" => random(node, element),
        "hash" => hash(node),
        "file" => files.elements(node, element).map(|bytes| Contents::Bytes(Arc::new(bytes))),
        _ => graph(node, element, names),
    }
}

fn iota(node: &Node<'_>, element: Element, names: &Names) -> Result<Contents> {
    let number = |table: &mut Table<'_>, key, otherwise| match table.get(key) {
        Some(node) => names.number(&node, element.is_float()),
        None => crate::expression::constant(otherwise, node.place()).map(Number::Whole),
    };
    if !node.is_table() && node.boolean().is_ok_and(|is_iota| is_iota) {
        let [start, step] = [0, 1].map(|value| crate::expression::constant(value, node.place()).map(Number::Whole));
        return Ok(Contents::Iota { start: start?, step: step? });
    }
    let mut table = node.table("true, or a table, as in { start = 1, step = 2 }")?;
    let (start, step) = (number(&mut table, "start", 0)?, number(&mut table, "step", 1)?);
    table.finish()?;
    Ok(Contents::Iota { start, step })
}

fn random(node: &Node<'_>, element: Element) -> Result<Contents> {
    let mut table = node.table("a table, as in { min = 0, max = 99, seed = 1 }")?;
    let [low, high] = if element.is_float() { [0, 1] } else { element.range() };
    let mut end = |key, otherwise: i128| match table.get(key) {
        None => Ok(otherwise as f64),
        Some(node) => {
            let real = node.real().filter(|real| real.is_finite());
            let real = real.filter(|real| element.is_float() || (low as f64..=high as f64).contains(real));
            real.ok_or_else(|| node.expected(&format!("a number that type {} holds", element.name())))
        }
    };
    let (min, max) = (end("min", low)?, end("max", high)?);
    let seed = table.get("seed").map(|node| node.whole(u64::MAX)).transpose()?;
    table.finish()?;
    if min > max {
        return Err(node.mistake(format!("`min` is {min}, more than `max`, which is {max}")));
    }
    Ok(Contents::Random { min, max, seed })
}

fn hash(node: &Node<'_>) -> Result<Contents> {
    let mut table = node.table("a table, as in { seed = 1 }")?;
    let mut number = |key, otherwise: u64| table.get(key).map_or(Ok(otherwise), |node| node.whole(u32::MAX.into()));
    let [factor, seed, modulo] = [number("factor", 1)?, number("seed", 0)?, number("modulo", 0)?].map(|it| it as u32);
    table.finish()?;
    Ok(Contents::Hash(Hash { factor, seed, modulo }))
}

fn graph(node: &Node<'_>, element: Element, names: &Names) -> Result<Contents> {
    let accepted = "a part of a graph, as in \"g.offsets\"";
    let text = node.name(accepted)?;
    let (name, part) = text.split_once('.').ok_or_else(|| node.expected(accepted))?;
    let known: Vec<&str> = names.graphs.iter().map(String::as_str).collect();
    let graph = known.iter().position(|known| *known == name).ok_or_else(|| unknown(node, "graph", name, &known))?;
    let index = GraphPart::NAMES.iter().position(|known| *known == part);
    let part = index.ok_or_else(|| unknown(node, "part of a graph", part, &GraphPart::NAMES))?;
    if element.bytes() != 4 || element.is_float() {
        return Err(node.mistake(format!("parts of graphs are u32 or s32, not {}", element.name())));
    }
    Ok(Contents::Graph { graph, part: GraphPart::ALL[part] })
}
