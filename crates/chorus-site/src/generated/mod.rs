//! Pages that are generated from what a registry holds.
//!
//! | file | subject |
//! |---|---|
//! | `commands.rs` | every verb of the command line with its options |
//! | `gallery.rs` | figures, drawings and state diagrams |
//! | `metrics.rs` | every metric of a run |
//! | `papers.rs` | results of each paper at every scale that was recorded, and what it states |
//! | `protocols.rs` | the list of protocols, and a machine to play with for each |
//! | `systems.rs` | every key of each system with its values and its source |
//! | `workloads.rs` | every workload with its sizes |

pub(crate) mod commands;
pub(crate) mod gallery;
pub(crate) mod metrics;
pub(crate) mod papers;
pub(crate) mod protocols;
pub(crate) mod systems;
pub(crate) mod workloads;

use chorus_lab::html::escape;

/// The first heading of a page, with an anchor.
fn title(id: &str, words: &str) -> String {
    heading(1, id, words)
}

/// A heading with an anchor.
fn heading(level: u8, id: &str, words: &str) -> String {
    format!("<h{level} id=\"{}\">{}</h{level}>\n", escape(id), escape(words))
}

/// A paragraph; an empty text is none.
fn paragraph(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p>{}</p>\n", escape(text)) }
}

/// Lines as a shell takes them.
fn shell(lines: &str) -> String {
    format!("<pre><code>{}</code></pre>\n", escape(lines))
}
