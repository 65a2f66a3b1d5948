//! A program file as data: its modules, sizes, values, graphs, buffers, steps and checks.

use std::sync::Arc;

use chorus_kernel::AccessMode;
use chorus_ptx::{Device, Entry};
use chorus_workloads::SizeSpec;
use chorus_workloads::graph::Graph;

use crate::element::Element;
use crate::expression::Expression;
use crate::place::Place;

/// A program file after it has been read, with everything that it names.
pub(crate) struct Manifest {
    pub(crate) title: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) source: &'static str,
    /// Whether kernels communicate within a launch, if the file says so.
    pub(crate) communicates: Option<bool>,
    /// The part of a machine that scope `.gpu` reaches.
    pub(crate) device: Device,
    pub(crate) modules: Vec<chorus_ptx::Module>,
    pub(crate) sizes: &'static [SizeSpec],
    pub(crate) values: Vec<(String, Expression)>,
    pub(crate) graphs: Vec<GraphSource>,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) steps: Arc<[Arc<Step>]>,
    pub(crate) checks: Vec<Check>,
    pub(crate) readings: Vec<Reading>,
    /// Buffers that get their first contents again before each further pass over the steps, if the program can be
    /// passed over more than once.
    pub(crate) reset: Option<Vec<usize>>,
    /// The SHA-256 of the file and of every file that it names, in hexadecimal digits.
    pub(crate) sha256: String,
}

/// A graph, and the name that values and buffers give it.
pub(crate) struct GraphSource {
    pub(crate) name: String,
    pub(crate) kind: GraphKind,
}

pub(crate) enum GraphKind {
    File(Arc<Graph>),
    /// Arcs from anywhere to anywhere.
    Uniform {
        nodes: Expression,
        degree: Expression,
        seed: Option<u64>,
    },
    /// Four to twelve arcs of every node, whose ends a hash function gives.
    Hash {
        nodes: Expression,
    },
}

pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) element: Element,
    pub(crate) place: Place,
    /// The number of elements, if the contents do not tell it.
    pub(crate) length: Option<Expression>,
    pub(crate) contents: Contents,
    /// Whether no kernel writes it.
    pub(crate) read_only: bool,
}

/// The elements of a buffer before the first launch.
pub(crate) enum Contents {
    Zero,
    Fill(Number),
    /// The first elements; the others are zero.
    Values(Vec<Number>),
    Iota {
        start: Number,
        step: Number,
    },
    Random {
        min: f64,
        max: f64,
        seed: Option<u64>,
    },
    /// Numbers that a hash function makes of the index.
    Hash(Hash),
    /// The bytes of a file.
    Bytes(Arc<Vec<u8>>),
    Graph {
        graph: usize,
        part: GraphPart,
    },
}

/// `hash(factor * index + seed)`, modulo a number if it is not zero.
#[derive(Clone, Copy)]
pub(crate) struct Hash {
    pub(crate) factor: u32,
    pub(crate) seed: u32,
    pub(crate) modulo: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GraphPart {
    Offsets,
    Targets,
    Weights,
}

impl GraphPart {
    pub(crate) const NAMES: [&str; 3] = ["offsets", "targets", "weights"];
    pub(crate) const ALL: [GraphPart; 3] = [GraphPart::Offsets, GraphPart::Targets, GraphPart::Weights];
}

/// A number for an element.
pub(crate) enum Number {
    Whole(Expression),
    Real(f64),
}

/// One thing that the host does.
pub(crate) enum Step {
    Launch(Box<Launch>),
    Set(Set),
    Loop(Loop),
}

pub(crate) struct Launch {
    pub(crate) entry: Entry,
    pub(crate) module: usize,
    pub(crate) place: Place,
    pub(crate) grid: [Expression; 3],
    pub(crate) block: [Expression; 3],
    pub(crate) shared_bytes: Expression,
    pub(crate) arguments: Vec<Argument>,
    /// How it accesses buffers, if the file says so.
    pub(crate) access: Vec<(usize, AccessMode)>,
}

pub(crate) struct Argument {
    /// Its size in bytes, as the entry takes it.
    pub(crate) bytes: u64,
    pub(crate) value: ArgumentValue,
}

pub(crate) enum ArgumentValue {
    /// The address of a byte of a buffer.
    Buffer {
        buffer: usize,
        offset: Expression,
    },
    /// A whole number, which becomes a float where the entry takes one.
    Whole {
        value: Expression,
        is_float: bool,
    },
    Real(f64),
    Bytes(Vec<u8>),
}

/// A write of the host.
pub(crate) struct Set {
    pub(crate) buffer: usize,
    pub(crate) index: Expression,
    pub(crate) value: Number,
}

pub(crate) struct Loop {
    pub(crate) end: End,
    /// The name of the number of passes that have ended.
    pub(crate) counter: Option<String>,
    pub(crate) steps: Arc<[Arc<Step>]>,
}

pub(crate) enum End {
    Repeat(Expression),
    Until(Until),
}

/// The last pass of a loop is the one after which an element has a value.
pub(crate) struct Until {
    pub(crate) buffer: usize,
    pub(crate) index: Expression,
    pub(crate) equals: Number,
    pub(crate) at_most: u64,
    pub(crate) place: Place,
}

/// Numbers that the program measures about itself: elements of a buffer at the end.
pub(crate) struct Reading {
    pub(crate) name: String,
    pub(crate) buffer: usize,
    pub(crate) first: Option<Expression>,
    pub(crate) count: Option<Expression>,
    /// Every element is divided by this.
    pub(crate) per: Option<Expression>,
}

/// A demand on the contents of a buffer at the end.
pub(crate) struct Check {
    pub(crate) buffer: usize,
    pub(crate) place: Place,
    pub(crate) first: Option<Expression>,
    pub(crate) count: Option<Expression>,
    pub(crate) expected: Expected,
    /// How far floats may be from what is expected: so much, and so much of its magnitude.
    pub(crate) absolute: f64,
    pub(crate) relative: f64,
}

pub(crate) enum Expected {
    /// The elements that the flat machine leaves.
    Flat,
    /// The bytes of a file.
    Bytes(Arc<Vec<u8>>),
    /// All elements are equal to this.
    Equals(Number),
}
