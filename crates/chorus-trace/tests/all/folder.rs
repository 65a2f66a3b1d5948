//! Temporary traces, for tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A directory that is removed when this value is dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A directory that is left behind harms no other test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A header of this version of the tracer and of the instruction set.
pub fn header(version: u32, binary: u32) -> String {
    format!(
        "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 16\n\
         -binary version = {binary}\n-shmem base_addr = 0x7e0000000000\n-local mem base_addr = 0x7e0001000000\n\
         -accelsim tracer version = {version}\n-enable lineinfo = 0\n#traces format = whatever\n"
    )
}

/// A block with one warp of these instructions.
pub fn block(instructions: &[&str]) -> String {
    let lines: String = instructions.iter().map(|line| format!("{line} \n")).collect();
    format!("#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = {}\n{lines}\n#END_TB\n", instructions.len())
}
