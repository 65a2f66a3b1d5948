//! `chorus ptx`: shows what is in a file of PTX, and whether its kernels can be run.

use std::path::PathBuf;

use chorus_ptx::{Entry, Module, Parameter, PtxError};
use clap::Args;
use serde_json::{Value, json};

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument};
use crate::failure::{Failure, Verdict};
use crate::output::{align_right, count, table};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  nvcc -ptx -arch=compute_90 saxpy.cu && chorus ptx saxpy.ptx
  chorus ptx examples/cuda/bfs/bfs.sm_90.ptx --json

A program file names kernels and says how they are launched: docs/tutorials/run-your-cuda-kernel.md.";

/// The most bytes of a file of PTX.
const FILE_BYTES_MAX: u64 = 1 << 28;

/// Arguments of `chorus ptx`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// File of PTX, as `nvcc -ptx` writes it.
    file: PathBuf,
    #[command(flatten)]
    form: JsonArgument,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let name = arguments.file.display().to_string();
    let module = Module::parse(&name, &text(arguments)?).map_err(|error| Failure::bad_input(error.to_string()))?;
    let names: Vec<String> = module.entries().map(str::to_owned).collect();
    let entries: Vec<Result<Entry, PtxError>> = names.iter().map(|name| module.entry(name)).collect();
    if arguments.form.json {
        let entries: Vec<Value> = names.iter().zip(&entries).map(|(name, entry)| entry_json(name, entry)).collect();
        let opcodes: serde_json::Map<_, _> =
            module.opcodes().into_iter().map(|(opcode, count)| (opcode, count.into())).collect();
        session.output.json(&json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "file": name,
            "version": module.version(),
            "target": module.target(),
            "variable_bytes": module.variable_bytes(),
            "entries": entries,
            "opcodes": opcodes,
        }))?;
        return Ok(Verdict::Good);
    }
    let (version, target, bytes) = (module.version(), module.target(), count(module.variable_bytes() as u64));
    session
        .output
        .line(&format!("{name}: PTX {version} for {target}, {bytes} bytes of variables in global memory\n"))?;
    print_entries(&names, &entries, session)?;
    let mut opcodes = table(["opcode", "instructions"]);
    for (opcode, times) in module.opcodes() {
        opcodes.add_row([opcode, count(times as u64)]);
    }
    align_right(&mut opcodes, 1..2);
    session.output.table(&opcodes).map(|()| Verdict::Good)
}

fn text(arguments: &Arguments) -> Result<String, Failure> {
    let name = arguments.file.display();
    let unreadable = |reason: String| Failure::bad_input(format!("{name}: cannot be read as PTX: {reason}"));
    let of = |error: std::io::Error| unreadable(error.to_string().to_lowercase());
    if std::fs::metadata(&arguments.file).map_err(of)?.len() > FILE_BYTES_MAX {
        return Err(unreadable(format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    std::fs::read_to_string(&arguments.file).map_err(of)
}

fn print_entries(names: &[String], entries: &[Result<Entry, PtxError>], session: &mut Session) -> Result<(), Failure> {
    let mut rows = table(["entry", "parameters", "registers", "shared", "local", "instructions"]);
    for entry in entries.iter().flatten() {
        let parameters: Vec<String> = entry.parameters().iter().map(parameter_words).collect();
        let dynamic = if entry.has_dynamic_shared() { " + dynamic" } else { "" };
        rows.add_row([
            entry.name().to_owned(),
            parameters.join(", "),
            entry.registers().to_string(),
            format!("{} B{dynamic}", count(entry.shared_bytes())),
            format!("{} B", count(entry.local_bytes())),
            count(entry.instructions() as u64),
        ]);
    }
    align_right(&mut rows, 2..6);
    session.output.table(&rows)?;
    session.output.line("")?;
    for (name, entry) in names.iter().zip(entries) {
        match entry {
            Ok(entry) if entry.communicates() => {
                let meaning = "its blocks may exchange data within a launch, so it needs coherent caches";
                session.output.line(&format!("{name}: {meaning}\n"))?;
            }
            Ok(_) => {}
            Err(error) => session.output.line(&format!("not supported: {name}: {error}\n"))?,
        }
    }
    Ok(())
}

fn parameter_words(parameter: &Parameter) -> String {
    let bits = 8 * parameter.bytes;
    match parameter {
        Parameter { is_float: true, .. } => format!("f{bits}"),
        Parameter { is_signed: true, .. } => format!("s{bits}"),
        Parameter { bytes: 1 | 2 | 4 | 8, .. } => format!("u{bits}"),
        Parameter { bytes, .. } => format!("{bytes} bytes"),
    }
}

fn entry_json(name: &str, entry: &Result<Entry, PtxError>) -> Value {
    match entry {
        Err(error) => json!({
            "name": name,
            "supported": false,
            "error": { "line": error.at.line, "column": error.at.column, "message": error.message },
        }),
        Ok(entry) => {
            let parameter = |parameter: &Parameter| {
                let Parameter { name, bytes, is_float, is_signed } = parameter;
                json!({ "name": name, "bytes": bytes, "is_float": is_float, "is_signed": is_signed })
            };
            json!({
                "name": name,
                "supported": true,
                "parameters": entry.parameters().iter().map(parameter).collect::<Vec<_>>(),
                "registers": entry.registers(),
                "shared_bytes": entry.shared_bytes(),
                "has_dynamic_shared": entry.has_dynamic_shared(),
                "local_bytes": entry.local_bytes(),
                "instructions": entry.instructions(),
                "communicates": entry.communicates(),
            })
        }
    }
}
