//! Is every registered protocol recorded and described like its siblings? What is missing is named, with the way to add
//! it.

use std::fs;
use std::path::Path;

use chorus_protocol::registry::{PROTOCOLS, Protocol};
use chorus_verify::heterogeneous;

use crate::recorded;

/// The text of a protocol's page.
pub fn page_of(protocol: &dyn Protocol) -> String {
    let path = format!("docs/protocols/{}.md", protocol.name());
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&path);
    fs::read_to_string(full).unwrap_or_else(|error| {
        panic!(
            "{path}: {error}\nhint: every registered protocol has a page; write one like those beside it, with the lines \
             `<!-- generated: NAME -->` and `<!-- end -->` around the blocks {BLOCKS:?}, and fill them with \
             CHORUS_UPDATE_DOCS={} cargo test -p chorus-verify",
            protocol.name()
        )
    })
}

/// The generated blocks of a protocol's page.
const BLOCKS: [&str; 4] = ["declaration", "messages", "configurations", "table"];

/// The block with what finds each seeded fault. Of protocols with several kinds of devices it is on some pages only
/// (`mutation.rs`).
const FAULTS: &str = "faults";

#[test]
fn every_page_has_the_blocks_that_are_generated() {
    for protocol in PROTOCOLS {
        let text = page_of(*protocol);
        let faults = Some(FAULTS).filter(|_| !heterogeneous::applies(*protocol));
        for block in BLOCKS.into_iter().chain(faults) {
            assert!(
                text.contains(&format!("<!-- generated: {block} -->\n")),
                "docs/protocols/{name}.md has no block `{block}`: add the lines `<!-- generated: {block} -->` and \
                 `<!-- end -->`, and fill them with CHORUS_UPDATE_DOCS={name} cargo test -p chorus-verify",
                name = protocol.name()
            );
        }
    }
}

#[test]
fn every_protocol_has_a_recorded_table_and_every_recorded_table_a_protocol() {
    // The tables of several kinds of devices take longest to extract, and are on the pages alone.
    let has_one = |protocol: &&&'static dyn Protocol| !heterogeneous::applies(**protocol);
    let names: Vec<&str> = PROTOCOLS.iter().filter(has_one).map(|protocol| protocol.name()).collect();
    for name in &names {
        assert!(
            recorded::file("tables", name).is_file(),
            "the transition table of {name} is not recorded: look at what \
             `INSTA_UPDATE=always cargo test -p chorus-verify tables::` writes to tests/snapshots/tables/{name}.snap"
        );
    }
    let folder = recorded::file("tables", "any");
    for entry in fs::read_dir(folder.parent().expect("files lie in folders")).expect("the folder is there") {
        let file = entry.expect("its entries can be read").file_name().into_string().expect("names are plain");
        let name = file.trim_end_matches(".snap");
        assert!(
            names.contains(&name),
            "tests/snapshots/tables/{file} is the table of no registered protocol: delete it"
        );
    }
}

#[test]
fn every_protocol_has_seeded_faults() {
    for protocol in PROTOCOLS {
        assert!(
            !protocol.faults().is_empty(),
            "{} declares no seeded faults, so that nothing shows that its checks would find a mistake: declare some in \
             `Declaration::faults` and build them into its controllers where `BuildConfig::fault` names them",
            protocol.name()
        );
    }
}
