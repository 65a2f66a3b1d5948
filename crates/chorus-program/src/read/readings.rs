//! Reading of `[readings]`.

use super::Names;
use crate::document::Node;
use crate::error::Result;
use crate::manifest::Reading;

pub(super) fn read(node: &Node<'_>, names: &Names) -> Result<Vec<Reading>> {
    let entries = node.entries("a table of readings, as in cycles = { buffer = \"out\", per = \"steps\" }")?;
    entries.into_iter().map(|(name, node)| reading(name, &node, names)).collect()
}

fn reading(name: String, node: &Node<'_>, names: &Names) -> Result<Reading> {
    let mut table = node.table("a table, as in { buffer = \"out\", per = \"steps\" }")?;
    let buffer = names.buffer(&table.require("buffer", "the name of the buffer to read")?)?;
    let mut number = |key| table.get(key).map(|node| names.expression(&node)).transpose();
    let (first, count, per) = (number("first")?, number("count")?, number("per")?);
    table.finish()?;
    Ok(Reading { name, buffer, first, count, per })
}
