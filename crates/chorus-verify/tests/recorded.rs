//! Texts that are compared with recorded ones, which lie in `snapshots/SUITE/NAME.snap`.
//!
//! `INSTA_UPDATE=always cargo test -p chorus-verify SUITE::` records them anew.

use std::path::PathBuf;

/// Fails if the text is not the recorded one, and shows how they differ.
pub fn expect(suite: &str, name: &str, text: &str) {
    insta::with_settings!(
        { snapshot_path => format!("snapshots/{suite}"), prepend_module_to_snapshot => false, omit_expression => true },
        { insta::assert_snapshot!(name, text) }
    );
}

/// The file of a recorded text.
pub fn file(suite: &str, name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/snapshots/{suite}/{name}.snap"))
}
