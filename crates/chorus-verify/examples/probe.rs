use chorus_protocol::registry::find;
use chorus_verify::{check::*, faults, litmus, table};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let p = find(&args[2]).unwrap();
    let t = std::time::Instant::now();
    match args[1].as_str() {
        "check" => {
            for c in configurations(p) {
                if args.len() > 3 && c.name != args[3] {
                    continue;
                }
                let t = std::time::Instant::now();
                let r = check(p, None, &c);
                print!("{}", r.to_text());
                println!("   {:.2}s", t.elapsed().as_secs_f64());
            }
        }
        "litmus" => {
            for c in litmus::tests() {
                if args.len() > 3 && c.name != args[3] {
                    continue;
                }
                let t = std::time::Instant::now();
                let r = litmus::run_litmus(p, None, &c);
                if args.len() > 3 {
                    print!("{}", r.to_text())
                } else {
                    println!("{} {:.2}s", r.summary(), t.elapsed().as_secs_f64())
                }
            }
        }
        "faults" => {
            for f in 0..p.faults().len() {
                if args.len() > 3 && p.faults()[f].name != args[3] {
                    continue;
                }
                let t = std::time::Instant::now();
                match faults::caught(p, f as u8) {
                    Some(c) => println!(
                        "{} {:.2}s",
                        if args.len() > 3 { c.to_text() } else { c.summary() },
                        t.elapsed().as_secs_f64()
                    ),
                    None => println!("{} NOT CAUGHT", p.faults()[f].name),
                }
            }
        }
        "table" => {
            let t = table::TransitionTable::extract(p);
            println!("{}", t.to_text());
        }
        _ => {}
    }
    println!("total {:.2}s", t.elapsed().as_secs_f64());
}
