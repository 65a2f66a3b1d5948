//! Every check of a protocol in one place: configurations, litmus tests, virtual networks, random steps, seeded faults
//! and mutants. This crate runs them, and writes the page and the JSON that show the results. It also counts the facts
//! that the claims of papers name.
//!
//! | file | subject |
//! |---|---|
//! | `collect.rs` | runs all checks of one protocol |
//! | `checked.rs` | result of one configuration |
//! | `checking.rs` | check of one protocol in the configurations that are asked for |
//! | `elided.rs` | Chiplet Coherence Table, explored with the L2s that it commands |
//! | `litmus_input.rs` | litmus tests that are asked for: names, files, folders |
//! | `litmus_run.rs` | litmus tests on one protocol, one after the other |
//! | `largest.rs` | largest machines that were explored to their end, and the table of them |
//! | `tortured.rs` | result of the random driver on one protocol |
//! | `networks.rs` | result of the search for the fewest virtual networks |
//! | `mutants.rs` | search for mutants of one protocol, and its result as JSON |
//! | `mutant_tables.rs` | mutants on the page |
//! | `page.rs`, `sections.rs` | the page as HTML |
//! | `protocol_page.rs`, `diagram.rs` | the page of one protocol: a machine to play with, state diagrams and tables |
//! | `json.rs` | the results as JSON |
//! | `words.rs` | numbers and verdicts in words |
//! | `steps.rs` | progress through a long check |
//! | `facts.rs`, `facts/` | facts that are counted in controllers and machines, for claims of papers |

mod checked;
pub mod checking;
pub mod collect;
pub mod diagram;
pub mod elided;
pub mod facts;
pub mod faults;
mod json;
mod largest;
pub mod litmus_input;
pub mod litmus_run;
mod mutant_tables;
pub mod mutants;
pub mod networks;
pub mod page;
pub mod protocol_page;
mod sections;
mod steps;
mod tortured;
pub mod words;

use std::path::{Path, PathBuf};

use chorus_lab::report::{self, ReportError};
use chorus_lab::reproduce::PROOF_FILE;
use serde_json::Value;

pub use checked::Checked;
use collect::{Extent, Proof};
pub use steps::Steps;
pub use tortured::{Tortured, torture_one};

/// The version of the JSON that this crate writes.
const JSON_SCHEMA_VERSION: u32 = 1;

/// The name of the data's file.
const DATA: &str = "proof.json";

/// The results of the protocols that are finished, of all that were asked for.
pub struct Proofs {
    /// The results of the finished protocols.
    pub proofs: Vec<Proof>,
    /// The number of protocols that were asked for.
    pub asked: usize,
    /// The amount of checking.
    pub extent: Extent,
    /// Today's date, which the page and its data carry.
    pub date: String,
}

impl Proofs {
    /// Whether every protocol that was asked for is finished and passed.
    pub fn passed(&self) -> bool {
        self.proofs.len() == self.asked && self.proofs.iter().all(Proof::passed)
    }

    /// The results as JSON for programs.
    pub fn to_json(&self) -> Value {
        json::of(self)
    }

    /// Writes the page and its data, each whole or not at all.
    pub fn write(&self, out: &Path) -> Result<(PathBuf, PathBuf), ReportError> {
        let page = report::write(out, PROOF_FILE, &page::of(self))?;
        let data = report::write(out, DATA, &format!("{:#}\n", self.to_json()))?;
        Ok((page, data))
    }
}
