use chorus_sim::frontend::HostMemory;
use chorus_sim::synthetic::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let config = chorus_system::resolve("tc", chorus_system::Scale::Paper, &[]).unwrap().config;
    for p in Pattern::ALL {
        if a.len() > 1 && a[1] != p.name() {
            continue;
        }
        let rounds: u32 = a.get(2).map_or(200, |x| x.parse().unwrap());
        let proto = chorus_protocol::registry::find(a.get(3).map_or("gpu-vi", |x| x)).unwrap();
        let mut memory = HostMemory::default();
        let mut s = Synthetic::new(p, 96, rounds, &mut memory);
        let t = std::time::Instant::now();
        let r = chorus_sim::simulate(&config, proto, &mut s, memory).unwrap();
        let e = t.elapsed().as_secs_f64();
        if std::env::var("M").is_ok() {
            for (k, v) in &r.metrics {
                println!("{k} {v}");
            }
        }
        println!(
            "{} {:?} cycles {} acc {} {:.2}M/s hits {} missl {} lat {}",
            p.name(),
            r.check,
            r.cycles,
            r.accesses,
            r.accesses as f64 / e / 1e6,
            r.metrics["l1.load_hits"],
            r.metrics["dram.reads"],
            r.metrics["l1.load_latency_cycles"] / r.metrics["l1.loads_completed"]
        );
    }
}
