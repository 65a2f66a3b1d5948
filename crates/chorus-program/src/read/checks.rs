//! Reading of `[[checks]]`.

use std::sync::Arc;

use super::{Names, list};
use crate::document::Node;
use crate::error::Result;
use crate::files::Files;
use crate::manifest::{Check, Expected};

pub(super) fn read(node: &Node<'_>, names: &Names, files: &mut Files) -> Result<Vec<Check>> {
    let nodes = list(node, "a list of checks, as `[[checks]]`")?;
    nodes.iter().map(|node| check(node, names, files)).collect()
}

fn check(node: &Node<'_>, names: &Names, files: &mut Files) -> Result<Check> {
    let mut table = node.table("a table, as in { buffer = \"y\", flat = true }")?;
    let buffer = names.buffer(&table.require("buffer", "the name of the buffer to check")?)?;
    let element = names.buffers[buffer].1;
    let expected = match table.one_of(&["flat", "file", "equals"])? {
        None => {
            let message = "there is no key for what is expected: `flat = true`, `file = \"y.npy\"` or `equals = 1`";
            return Err(node.mistake(message));
        }
        Some(("flat", node)) if node.boolean()? => Expected::Flat,
        Some(("flat", node)) => return Err(node.expected("true, or key `file` or `equals`")),
        Some(("file", node)) => Expected::Bytes(Arc::new(files.elements(&node, element)?)),
        Some((_, node)) => Expected::Equals(names.number(&node, element.is_float())?),
    };
    let mut range = |key| table.get(key).map(|node| names.expression(&node)).transpose();
    let (first, count) = (range("first")?, range("count")?);
    let mut tolerance = |key| match table.get(key) {
        None => Ok(0.0),
        Some(node) if !element.is_float() => {
            Err(node
                .mistake(format!("elements of type {} are equal or not; tolerances are for floats", element.name())))
        }
        Some(node) => node.real().filter(|it| *it >= 0.0).ok_or_else(|| node.expected("a number that is not negative")),
    };
    let (absolute, relative) = (tolerance("absolute")?, tolerance("relative")?);
    table.finish()?;
    Ok(Check { buffer, place: node.place(), first, count, expected, absolute, relative })
}
