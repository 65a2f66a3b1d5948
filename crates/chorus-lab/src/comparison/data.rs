//! The comparison for other tools: JSON, and CSV with a line per cell.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::tables::{Cell, MachineTable, Quantity, Row};
use super::{Comparison, first_line};
use crate::export::csv_field;

/// The version of the JSON that [`Comparison::to_json`] writes.
pub const JSON_SCHEMA_VERSION: u32 = 1;

/// The data of the page as CSV.
pub const CSV_FILE: &str = "comparison.csv";

impl Cell {
    /// `measured`, `not-run`, or the kind of failure.
    pub fn status(&self) -> &'static str {
        match self {
            Cell::Measured(_) => "measured",
            Cell::Cannot(error) => error.kind.name(),
            Cell::NotRun => "not-run",
        }
    }

    /// Why there is no number; nothing where there is one.
    pub fn why(&self) -> &str {
        match self {
            Cell::Cannot(error) => first_line(&error.message),
            Cell::Measured(_) | Cell::NotRun => "",
        }
    }
}

impl Comparison {
    /// The outcome as `chorus compare --json` prints it.
    pub fn to_json(&self) -> Value {
        json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "scale": self.scale.name(),
            "systems": self.tables.iter().map(table_json).collect::<Vec<_>>(),
            "ran": self.ran,
            "reused": self.reused,
            "open": self.open,
            "store": self.store.display().to_string(),
            "page": self.page.display().to_string(),
            "csv": self.csv.display().to_string(),
            "index": self.index.display().to_string(),
        })
    }
}

fn table_json(table: &MachineTable) -> Value {
    let traffic = table.traffic();
    let mean = |column: usize, quantity: Option<Quantity>, common: bool| match (quantity, common) {
        (None, _) => Value::Null,
        (Some(quantity), true) => json!(table.common_average(column, quantity).mean),
        (Some(quantity), false) => json!(table.average(column, quantity).mean),
    };
    let protocol = |(column, name): (usize, &String)| {
        json!({
            "name": name,
            "workloads": table.average(column, Quantity::Time).workloads,
            "time_mean": mean(column, Some(Quantity::Time), false),
            "time_mean_common": mean(column, Some(Quantity::Time), true),
            "traffic_mean": mean(column, traffic, false),
            "traffic_mean_common": mean(column, traffic, true),
        })
    };
    let refused = |(protocol, why): &(String, String)| json!({ "name": protocol, "why": why });
    json!({
        "name": table.system,
        "title": table.title,
        "baseline": table.baseline,
        "traffic_metric": traffic.map(|quantity| quantity.metric().0),
        "protocols": table.protocols.iter().enumerate().map(protocol).collect::<Vec<_>>(),
        "refused": table.refused.iter().map(refused).collect::<Vec<_>>(),
        "workloads": table.rows.iter().map(|row| row_json(table, row, traffic)).collect::<Vec<_>>(),
    })
}

fn row_json(table: &MachineTable, row: &Row, traffic: Option<Quantity>) -> Value {
    let cell = |(column, cell): (usize, &Cell)| {
        json!({
            "protocol": table.protocols[column],
            "status": cell.status(),
            "why": cell.why(),
            "cycles": cell.value(Quantity::Time),
            "time": table.ratio(row, column, Quantity::Time),
            "traffic": traffic.and_then(|quantity| cell.value(quantity)),
            "traffic_ratio": traffic.and_then(|quantity| table.ratio(row, column, quantity)),
        })
    };
    json!({
        "name": row.workload,
        "relative_to": table.reference(row).map(|column| table.protocols[column].as_str()),
        "cells": row.cells.iter().enumerate().map(cell).collect::<Vec<_>>(),
    })
}

/// The comparison as CSV (RFC 4180, with a header).
pub(super) fn csv(comparison: &Comparison) -> String {
    let mut out = String::from(
        "system,workload,protocol,status,relative_to,cycles,time,traffic_metric,traffic,traffic_ratio,why\r\n",
    );
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for table in &comparison.tables {
        let traffic = table.traffic();
        for row in &table.rows {
            let relative_to = table.reference(row).map_or("", |column| table.protocols[column].as_str());
            for (column, cell) in row.cells.iter().enumerate() {
                let fields = [
                    csv_field(&table.system),
                    csv_field(&row.workload),
                    csv_field(&table.protocols[column]),
                    cell.status().to_owned(),
                    csv_field(relative_to),
                    number(cell.value(Quantity::Time)),
                    number(table.ratio(row, column, Quantity::Time)),
                    traffic.map_or_else(String::new, |quantity| quantity.metric().0.to_owned()),
                    number(traffic.and_then(|quantity| cell.value(quantity))),
                    number(traffic.and_then(|quantity| table.ratio(row, column, quantity))),
                    csv_field(cell.why()),
                ];
                // Writing to a string cannot fail.
                let _ = write!(out, "{}\r\n", fields.join(","));
            }
        }
    }
    out
}
