//! times
use chorus_protocol::registry::PROTOCOLS;
use chorus_verify::faults::caught;
use std::time::Instant;
#[test]
fn times() {
    let only = std::env::var("ONLY").unwrap_or_default();
    for protocol in PROTOCOLS.iter().filter(|p| only.is_empty() || only.split(',').any(|n| n == p.name())) {
        for (index, fault) in protocol.faults().iter().enumerate() {
            let start = Instant::now();
            let catch = caught(*protocol, index as u8);
            let text = catch.map_or("MISSED".to_owned(), |c| c.summary());
            println!("{:6.2} {} {}: {}", start.elapsed().as_secs_f64(), protocol.name(), fault.name, text);
        }
    }
}
