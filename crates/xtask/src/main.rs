//! House-keeping of the workspace: `cargo run -p xtask -- tidy` says where the tree breaks its own
//! rules, `… circles` which imports make the circles of modules, `… mutants` whether the simulator
//! finds faults that are planted in the engine.

mod mutants;
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let root = tidy::workspace_root();
    match words.split_first() {
        Some((word, [])) if word == "tidy" => report(&[tidy::check(&root), mutants::missing(&root)].concat()),
        Some((word, [flag])) if word == "tidy" && flag == "--lower" => {
            report(tidy::lower(&root).err().as_slice())
        }
        Some((word, names)) if word == "circles" => {
            tidy::circles(&root, names).iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Some((word, names)) if word == "mutants" => report(mutants::try_all(&root, names).err().as_slice()),
        _ => {
            eprintln!("usage: cargo run -p xtask -- tidy [--lower] | circles [CRATE…] | mutants [NAME…]");
            ExitCode::from(2)
        }
    }
}

fn report(problems: &[String]) -> ExitCode {
    for problem in problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests;
