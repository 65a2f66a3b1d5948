//! Workloads: GPU kernels as async functions over wavefronts, each with a host reference that checks every output word.
//!
//! A workload is one file (or folder) and one line in [`registry`]. It says which published program it follows, keeps
//! that program's sharing pattern, and computes real values, so a protocol that loses a write is seen in the result.
//!
//! | file | subject |
//! |---|---|
//! | `registry.rs` | what a workload declares about itself, and the list of all workloads |
//! | `program.rs` | the kernels that a host launches, and the outputs they must leave behind |
//! | `generator.rs` | the random numbers that inputs are drawn from |
//! | `graph/` | graphs: generators, and readers of published formats |
//! | `fast_barrier.rs` | a barrier across work-groups within one kernel |
//! | `collaborative_barrier.rs` | a barrier across CPU threads and work-groups |
//! | `vertex_parts.rs` | which nodes of a graph a CPU thread or a work-group has |
//! | `local_histogram.rs` | counting in local data |
//! | `task_counter.rs` | tasks that CPU threads and work-groups take one by one |
//! | `shares.rs` | what a chiplet has of a launch in tiles |
//! | `needleman_wunsch.rs` | the program of `ndl` and `nw` |
//! | `lane_sum.rs` | sums of the lanes of a wavefront in a fixed order |
//! | `pair_locks.rs` | locks of which a work-item takes two at a time |
//! | `gemm.rs` | matrix products, tiled through local data |
//! | `element_grid.rs` | a work-item per element of a matrix |
//! | `tile_rows.rs` | the rows of a grid that a chiplet's tiles lie in |
//! | `naive_product.rs` | matrix products with a work-item per element |
//! | `matrix_vector.rs` | products of a matrix and a vector, along rows and down columns |
//! | `conv.rs` | convolution layers as implicit matrix products |
//! | `pooling.rs` | max pooling of images |
//! | `network.rs` | networks of layers over images |
//! | `conv_gradient.rs` | the gradients of convolution layers |
//! | `training/` | training steps of networks over images |
//! | `recurrent.rs` | the steps of recurrent networks |
//! | `rnn_inference.rs` | inference with gated cells in many kernels |
//! | `saxpy.rs` | the tutorial kernel |
//! | `bh/` | the octree of Barnes-Hut, built under locks |
//! | `cc/` | image segmentation by a minimum cut |
//! | `cl.rs` | a cloth whose springs share particles under locks |
//! | `stn.rs` | wave propagation, work-groups in step by fast barriers |
//! | `dlb/` | octree partitioning, balanced by task stealing |
//! | `vpr/` | placement of a circuit by simulated annealing |
//! | `kmn.rs` | k-means |
//! | `hsp.rs` | hotspot |
//! | `lps.rs` | a Laplace solver on a 3-D grid |
//! | `ndl.rs` | Needleman-Wunsch sequence alignment |
//! | `rg.rs` | a recursive Gaussian filter |
//! | `sr.rs` | speckle-reducing anisotropic diffusion |
//! | `bfs.rs` | breadth-first search in a road network |
//! | `mst/` | the minimum spanning tree of a road network |
//! | `nw.rs` | Needleman-Wunsch on longer sequences |
//! | `pathfinder.rs` | the cheapest way down a grid |
//! | `cusolver.rs` | LU factorisation of a dense matrix |
//! | `comd.rs` | molecular dynamics with link cells |
//! | `hpgmg.rs` | geometric multigrid |
//! | `alexnet.rs` | the second layer of AlexNet |
//! | `miniamr/` | a stencil on a mesh of refined blocks |
//! | `minicontact.rs` | contact search by sorted bounding boxes |
//! | `namd.rs` | non-bonded forces between patches of atoms |
//! | `nekbone.rs` | conjugate gradients on spectral elements |
//! | `snap.rs` | neutron transport by sweeps |
//! | `googlenet.rs` | the second stage of GoogLeNet |
//! | `lstm.rs` | a layer of long short-term memory |
//! | `overfeat.rs` | the first layer of OverFeat |
//! | `resnet.rs` | a stage of residual blocks of ResNet |
//! | `rnn_dgrad.rs` | a recurrent layer: data gradient |
//! | `rnn_fw.rs` | a recurrent layer: forward |
//! | `rnn_wgrad.rs` | a recurrent layer: weight gradient |
//! | `atax.rs` | a matrix and its transpose, multiplied by a vector |
//! | `gemm_polybench.rs` | the product of two matrices |
//! | `gemv.rs` | matrix addition, and multiplication by vectors |
//! | `lu.rs` | LU decomposition, element by element |
//! | `mm2.rs` | two matrix products |
//! | `mm3.rs` | three matrix products |
//! | `pr.rs` | PageRank |
//! | `bitonic.rs` | bitonic sort |
//! | `c2d.rs` | a 3 x 3 convolution of a matrix |
//! | `fir.rs` | a finite impulse response filter |
//! | `j2d.rs` | Jacobi relaxation of a square grid |
//! | `sc.rs` | the convolution of an image with a mask in memory |
//! | `st.rs` | a nine-point stencil in tiles |
//! | `vgg16.rs` | a training step of VGG16 |
//! | `resnet18.rs` | a training step of ResNet18 |
//! | `babelstream.rs` | the kernels of STREAM, round after round |
//! | `backprop.rs` | training of a perceptron |
//! | `bfs_rodinia.rs` | breadth-first search in a random graph |
//! | `color.rs` | colours for the nodes of a graph |
//! | `fw.rs` | the shortest ways between all pairs of nodes |
//! | `gaussian.rs` | Gaussian elimination, two kernels per column |
//! | `hotspot.rs` | hotspot, two time steps per launch |
//! | `hotspot3d.rs` | hotspot in three dimensions |
//! | `lud.rs` | LU decomposition in blocks |
//! | `square.rs` | the squares of an array, again and again |
//! | `sssp.rs` | the shortest ways from one node |
//! | `btree.rs` | queries in a B+ tree |
//! | `rnn_gru.rs` | gated recurrent units |
//! | `rnn_lstm.rs` | long short-term memory, kernel by kernel |
//! | `cnn.rs` | a network of three layers |
//! | `dwt2d.rs` | the wavelet transform of an image |
//! | `srad.rs` | anisotropic diffusion of a larger image |
//! | `hacc.rs` | short-range forces in a tree of particles |
//! | `lulesh/` | hydrodynamics on a mesh of hexahedra |
//! | `pennant/` | hydrodynamics on a mesh of polygons |
//! | `indirection.rs` | a matrix that CPU and GPU take turns transposing |
//! | `reuse_o.rs` | tiles that CPU and GPU keep updating |
//! | `reuse_s.rs` | a matrix that CPU and GPU take turns reading |
//! | `bc.rs` | betweenness centrality, by CPU and GPU |
//! | `pr_collab.rs` | PageRank, by CPU and GPU |
//! | `hsti.rs` | the histogram of an image, by CPU and GPU |
//! | `trns.rs` | transposition in place, by CPU and GPU |
//! | `rsct.rs` | random sample consensus: the CPU draws models, the GPU tests them |
//! | `tqh.rs` | a histogram of frames that the CPU hands out through queues |
//!
//! A workload prepares its data and gives a program, which any machine can run. Here it runs on flat memory, where nothing can go
//! wrong but the program itself:
//!
//! ```
//! use chorus_sim::frontend::{HostMemory, flat};
//! use chorus_system::Scale;
//!
//! let workload = chorus_workloads::find("saxpy").expect("it is in the registry");
//! let mut memory = HostMemory::default();
//! let mut program = workload.prepare(Scale::Quick, 1, &mut memory);
//! assert_eq!(flat::run(&mut *program, &mut memory), Ok(()));
//! ```

pub mod alexnet;
pub mod atax;
pub mod babelstream;
pub mod backprop;
pub mod bc;
pub mod bfs;
pub mod bfs_rodinia;
pub mod bh;
pub mod bitonic;
pub mod btree;
pub mod c2d;
pub mod cc;
pub mod cl;
pub mod cnn;
mod collaborative_barrier;
pub mod color;
pub mod comd;
mod conv;
mod conv_gradient;
pub mod cusolver;
pub mod dlb;
pub mod dwt2d;
mod element_grid;
mod fast_barrier;
pub mod fir;
pub mod fw;
pub mod gaussian;
mod gemm;
pub mod gemm_polybench;
pub mod gemv;
pub mod generator;
pub mod googlenet;
pub mod graph;
pub mod hacc;
pub mod hotspot;
pub mod hotspot3d;
pub mod hpgmg;
pub mod hsp;
pub mod hsti;
pub mod indirection;
pub mod j2d;
pub mod kmn;
mod lane_sum;
mod local_histogram;
pub mod lps;
pub mod lstm;
pub mod lu;
pub mod lud;
pub mod lulesh;
mod matrix_vector;
pub mod miniamr;
pub mod minicontact;
pub mod mm2;
pub mod mm3;
pub mod mst;
mod naive_product;
pub mod namd;
pub mod ndl;
mod needleman_wunsch;
pub mod nekbone;
mod network;
pub mod nw;
pub mod overfeat;
mod pair_locks;
pub mod pathfinder;
pub mod pennant;
mod pooling;
pub mod pr;
pub mod pr_collab;
pub mod program;
mod recurrent;
pub mod registry;
pub mod resnet;
pub mod resnet18;
pub mod reuse_o;
pub mod reuse_s;
pub mod rg;
pub mod rnn_dgrad;
pub mod rnn_fw;
pub mod rnn_gru;
pub mod rnn_inference;
pub mod rnn_lstm;
pub mod rnn_wgrad;
pub mod rsct;
pub mod saxpy;
pub mod sc;
mod shares;
pub mod snap;
pub mod square;
pub mod sr;
pub mod srad;
pub mod sssp;
pub mod st;
pub mod stn;
mod task_counter;
mod tile_rows;
pub mod tqh;
mod training;
pub mod trns;
mod vertex_parts;
pub mod vgg16;
pub mod vpr;

pub use registry::{WORKLOADS, Workload, find};
