//! Systems: every key with its value at each scale, the layer that sets it, and its source.

use chorus_lab::html::{Cell, Narrow, escape, table};
use chorus_registry::Registry;
use chorus_system::{Entry, Resolved, Scale, SystemError, derived, entries};

use super::{heading, paragraph, shell, title};
use crate::article::{Article, Part};

/// The part with a page for each system, and a list of all.
pub(crate) fn part(registry: &Registry) -> Result<Part, SystemError> {
    let mut articles = Vec::new();
    let mut rows = Vec::new();
    for name in registry.system_names() {
        let scales = registry.scales(name)?;
        let resolved: Vec<Resolved> =
            scales.iter().map(|scale| registry.resolve_system(name, *scale, &[])).collect::<Result<_, _>>()?;
        let Some(largest) = resolved.last() else { continue };
        let names: Vec<&str> = scales.iter().map(|scale| scale.name()).collect();
        rows.push(vec![
            Cell::link(&format!("{name}.html"), name),
            Cell::text(&largest.config.title),
            Cell::text(&largest.config.source),
            Cell::text(names.join(", ")),
        ]);
        articles.push(page(name, &resolved));
    }
    let mut body = title("systems", "All systems");
    body.push_str(&paragraph("A system is a machine. Each of its values names its source."));
    body.push_str("<p>See <a href=\"../concepts/system-files.html\">system files</a> to write one.</p>\n");
    let headers = ["System", "Machine", "Source", "Scales"].map(Cell::text);
    body.push_str(&table(Narrow::Cards, &headers, &rows));
    articles.insert(0, Article::new("systems/index.html", "All systems", body));
    Ok(Part::new("Systems", articles))
}

/// The page of one system at all of its scales, the largest last.
fn page(name: &str, scales: &[Resolved]) -> Article {
    let Some(largest) = scales.last() else { return Article::default() };
    let mut body = title(name, name);
    body.push_str(&paragraph(&largest.config.title));
    body.push_str(&paragraph(&largest.config.source));
    body.push_str(&shell(&format!(
        "chorus explain {name}\nchorus run --system {name} --protocol PROTOCOL --workload WORKLOAD"
    )));
    body.push_str(&heading(2, "keys", "Keys"));
    body.push_str(&paragraph("Any of them can be set with --set KEY=VALUE."));
    body.push_str(&keys(scales));
    body.push_str(&heading(2, "derived", "What follows"));
    body.push_str(&paragraph("Values that follow from the keys, with the calculation at the largest scale."));
    body.push_str(&what_follows(scales));
    Article::new(format!("systems/{name}.html"), name, body)
}

/// The headers of a table with a column for each scale.
fn headers(first: &str, scales: &[Resolved], last: &str) -> Vec<Cell> {
    let columns = scales.iter().map(|resolved| Cell::number(resolved.scale.name()));
    std::iter::once(Cell::text(first)).chain(columns).chain([Cell::text(last)]).collect()
}

fn keys(scales: &[Resolved]) -> String {
    let by_scale: Vec<Vec<Entry>> = scales.iter().map(entries).collect();
    let mut names: Vec<&str> = Vec::new();
    for entry in by_scale.iter().rev().flatten().filter(|entry| entry.key.contains('.')) {
        if !names.contains(&entry.key.as_str()) {
            names.push(&entry.key);
        }
    }
    let row = |key: &&str| {
        let found: Vec<Option<&Entry>> =
            by_scale.iter().map(|entries| entries.iter().find(|entry| entry.key == **key)).collect();
        let mut row = vec![Cell::name(key).with_id(key)];
        row.extend(found.iter().map(|entry| Cell::number(entry.map_or("–", |entry| &entry.value))));
        let largest = found.iter().rev().copied().flatten().next();
        let source = largest.and_then(|entry| entry.source.as_deref()).unwrap_or_default();
        let origin = largest.map_or_else(String::new, |entry| entry.origin.to_string());
        row.push(Cell::text(source).with_remark(&origin));
        row
    };
    let rows: Vec<Vec<Cell>> = names.iter().map(row).collect();
    table(Narrow::Cards, &headers("Key", scales, "Source, and what sets it"), &rows)
}

fn what_follows(scales: &[Resolved]) -> String {
    let by_scale: Vec<_> = scales.iter().map(|resolved| derived(&resolved.config)).collect();
    let row = |figure: &chorus_system::Derived| {
        let mut row = vec![Cell::text(figure.name)];
        for figures in &by_scale {
            let value = figures.iter().find(|other| other.name == figure.name).map_or("–", |it| &it.value);
            row.push(Cell::number(value));
        }
        row.push(Cell::text(&figure.how));
        row
    };
    let rows: Vec<Vec<Cell>> = by_scale.last().into_iter().flatten().map(row).collect();
    table(Narrow::Cards, &headers("Quantity", scales, "From"), &rows)
}

/// The command line that runs a workload on a system at a scale.
pub(crate) fn at_scale(scale: Scale) -> String {
    match scale {
        Scale::Quick => String::new(),
        Scale::Medium | Scale::Paper => format!(" --scale {}", escape(scale.name())),
    }
}
