//! Mutants: does the simulator find what is wrong? `make mutants` plants faults in a copy of the
//! engine, one at a time, and runs the simulator on each until it says that something is wrong.
//!
//! ```text
//!   the tree ──copy──▶ target/mutants/tree, every mutant planted behind a switch ──one build──▶ sim
//!                                                    MUTANT=name sim --kind … --seed 1, 2, …  ◀── for each
//! ```
//! All are in one build, and the environment chooses: so two dozen cost one build, and the same
//! build with none chosen must find nothing. The engine itself knows nothing of it. A mutant is
//! text that must be in its file exactly once, and what stands there instead; that the text is
//! still there is checked with the other rules of the tree ([`missing`]).
//!
//! Idea: mutant schemata (Untch, Offutt, Harrold 1993).

mod planted;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub use planted::{EQUIVALENT, MUTANTS};

/// A fault that can be planted.
pub struct Mutant {
    pub name: &'static str,
    /// What is wrong then.
    pub what: &'static str,
    pub story: Story,
    pub file: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

/// What the simulator runs to find it: a word that its `--kind` takes.
type Story = &'static str;

const WORK: Story = "work";
const ATTRITION: Story = "attrition";
const LAPSES: Story = "lapses";
const UNITS: Story = "units";
const CALLS: Story = "calls";
const LOGS: Story = "logs";
const STREAMS: Story = "streams";
const PULLS: Story = "pulls";
const FAILOVER: Story = "failover";

/// Seeds that each mutant has to be found within, and that the engine without one must pass.
const RUNS: u32 = 150;
const RUNS_OF_NONE: u32 = 50;
/// A seed that takes longer hangs: that is being found, too.
const PATIENCE: Duration = Duration::from_secs(120);
/// The switch, appended to a crate that all others may use.
const SWITCH_FILE: &str = "crates/stdx/src/lib.rs";
const SWITCH: &str = r#"
/// Whether this mutant is the chosen one.
pub fn is_planted(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("MUTANT").ok()).as_deref() == Some(name)
}
"#;

/// Mutants that have no place in this tree any more, a line each.
pub fn missing(root: &Path) -> Vec<String> {
    let lacks = |mutant: &Mutant| {
        let text = fs::read_to_string(root.join(mutant.file)).unwrap_or_default();
        let count = text.matches(mutant.from).count();
        (count != 1).then(|| {
            format!(
                "{}: the place of mutant {} is there {count} times: say in crates/xtask/src/mutants/planted.rs how it looks now",
                mutant.file, mutant.name
            )
        })
    };
    MUTANTS.iter().filter_map(lacks).collect()
}

/// Plants a mutant, behind its switch.
pub fn plant(mutant: &Mutant, text: &str) -> String {
    let switch = format!("stdx::is_planted({:?})", mutant.name);
    text.replacen(mutant.from, &mutant.to.replace("PLANTED", &switch), 1)
}

/// Tries those of these names, or all, and the engine without any. `Err`: what the simulator did
/// not find, or found wrongly.
pub fn try_all(root: &Path, names: &[String]) -> Result<(), String> {
    let simulator = build(root)?;
    for story in [ATTRITION, LAPSES, STREAMS, PULLS, FAILOVER] {
        println!("{:<28} {}", "none", try_out(&simulator, None, story)?);
    }
    for (name, why) in EQUIVALENT.iter().filter(|_| names.is_empty()) {
        println!("{name:<28} is no fault: {why}");
    }
    let mut escaped = Vec::new();
    for mutant in
        MUTANTS.iter().filter(|mutant| names.is_empty() || names.iter().any(|name| name == mutant.name))
    {
        let told = try_out(&simulator, Some(mutant.name), mutant.story);
        println!("{:<28} {}", mutant.name, told.as_deref().unwrap_or("NOT FOUND"));
        if let Err(how) = told {
            escaped.push(format!("{} ({}): {how}", mutant.name, mutant.what));
        }
    }
    if escaped.is_empty() { Ok(()) } else { Err(format!("not found:\n{}", escaped.join("\n"))) }
}

/// Copies the tree, plants everything, and builds the simulator of that; gives its path.
fn build(root: &Path) -> Result<PathBuf, String> {
    let target = root.join("target/mutants");
    let tree = target.join("tree");
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files"]).output();
    let listed = listed.map_err(|error| format!("git: {error}"))?.stdout;
    for file in String::from_utf8_lossy(&listed).lines() {
        let Ok(mut text) = fs::read_to_string(root.join(file)) else { continue };
        for mutant in MUTANTS.iter().filter(|mutant| mutant.file == file) {
            text = plant(mutant, &text);
        }
        if file == SWITCH_FILE {
            text += SWITCH;
        }
        write_if_other(&tree.join(file), &text).map_err(|error| format!("{file}: {error}"))?;
    }
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--profile", "ci", "-p", "sim"])
        .current_dir(&tree)
        .env("CARGO_TARGET_DIR", target.join("build"))
        .status();
    match built {
        Ok(status) if status.success() => Ok(target.join("build/ci/sim")),
        Ok(status) => Err(format!("cargo ends with {status}")),
        Err(error) => Err(format!("cargo: {error}")),
    }
}

/// What is as it was is not built again.
fn write_if_other(path: &Path, text: &str) -> std::io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|known| known == text) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().expect("a file is in a folder"))?;
    fs::write(path, text)
}

/// What the simulator found, if it was to find something, and nothing if not.
fn try_out(simulator: &Path, mutant: Option<&str>, story: Story) -> Result<String, String> {
    let runs = if mutant.is_some() { RUNS } else { RUNS_OF_NONE };
    let mut good = 0;
    for seed in 1..=runs {
        let found = match run(simulator, mutant, story, seed)? {
            Ended::Well(cases) => {
                good += cases;
                continue;
            }
            Ended::Badly(why) => format!("seed {seed}, after {good} good cases: {why}"),
            Ended::Never => {
                format!("seed {seed}, after {good} good cases: hangs for {} s", PATIENCE.as_secs())
            }
        };
        let found: String = found.chars().take(150).collect();
        // What the sound engine does not pass either says nothing of the mutant.
        let is_its_own = mutant.is_some() && matches!(run(simulator, None, story, seed)?, Ended::Well(_));
        return if is_its_own { Ok(found) } else { Err(format!("without a mutant: {found}")) };
    }
    let nothing = format!("{runs} seeds, {good} cases: nothing wrong");
    if mutant.is_some() { Err(nothing) } else { Ok(nothing) }
}

enum Ended {
    /// With so many cases in which nothing was wrong.
    Well(u64),
    Badly(String),
    Never,
}

fn run(simulator: &Path, mutant: Option<&str>, story: Story, seed: u32) -> Result<Ended, String> {
    let mut command = Command::new(simulator);
    command.args(["--kind", story, "--seed", &seed.to_string()]);
    command.env_remove("MUTANT");
    mutant.inspect(|name| {
        command.env("MUTANT", name);
    });
    let begun = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", simulator.display()))?;
    // What it says fits into a pipe.
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break Some(status),
            None if begun.elapsed() > PATIENCE => break None,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if status.is_none() {
        child.kill().map_err(|error| error.to_string())?;
    }
    let said = child.wait_with_output().map_err(|error| error.to_string())?.stdout;
    let said = String::from_utf8_lossy(&said);
    Ok(match status {
        None => Ended::Never,
        Some(status) if status.success() => Ended::Well(cases(&said)),
        Some(_) => Ended::Badly(said.lines().next().and_then(why).unwrap_or("it died").to_owned()),
    })
}

/// Of `1 runs, 128 power failures and …`.
fn cases(said: &str) -> u64 {
    let told = said.lines().last().and_then(|line| line.split_once(" runs, "));
    told.and_then(|(_, rest)| rest.split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// Of `seed 1 failed, after 0 good cases: …`.
fn why(line: &str) -> Option<&str> {
    line.split_once(" good cases: ").map(|(_, why)| why)
}
