//! The protocols, one file or folder each, named as published, and the parts that several of them share.
//!
//! | part | shared by |
//! |---|---|
//! | [`write_through_l1`], [`write_through`] (messages), [`write_through_bank`] | the write-through protocols |
//! | [`home_l2`], the plain shared bank | the protocols without coherence and the idealised one of the TC paper |
//! | [`vi_protocols`] | GPU-VI and GPU-VIni |
//! | [`scoped`] | the protocols of several GPUs or chiplets |
//! | [`gpu_coherence`], [`denovo`], [`mesi`], [`spandex`] | the machines with several kinds of devices |
//!
//! All of them are public, so that protocols of other crates can be built from them; [`crate::derived`] makes variants
//! of their controllers.

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
pub mod hopper;
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
