//! The protocols, one file each, named as published.
//!
//! [`write_through`] holds the message vocabulary that the write-through protocols share, [`write_through_bank`] what their shared
//! banks do alike, [`vi_protocols`] what GPU-VI and its non-inclusive variant do; [`write_through_l1`] and [`home_l2`] are the private
//! cache and the plain shared bank that several of them are built from. [`scoped`] is what the protocols of several GPUs are built from.

pub mod cpelide;
pub mod cpelide_range;
pub mod denovo;
pub mod dir;
pub mod dir_hmg;
pub mod dir_ideal;
pub mod gpu_coherence;
pub mod gpu_vi;
pub mod gpu_vini;
pub mod hmg;
pub mod home_l2;
pub mod ideal;
pub mod ideal_coh;
pub mod mesi;
pub mod nhcc;
pub mod nhcc_wb;
pub mod nhcc_wt;
pub mod no_coh;
pub mod no_l1;
pub mod no_remote;
pub mod rec;
pub mod scoped;
pub mod spandex;
pub mod sw_flat;
pub mod sw_hier;
pub mod tc;
pub mod vi_protocols;
pub mod viper_chiplet;
pub mod write_through;
pub mod write_through_bank;
pub mod write_through_l1;
