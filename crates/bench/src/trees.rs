//! What people do with trees of files on a local mount: unpack one, look at its state, search it,
//! measure it, remove it. Programs of the system do it, to real files of this machine.
//!
//! git's own files lie beside, on the machine's disk: what is measured is looking at the tree.
//! Everything is in memory when it is looked at, as it has just been unpacked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use load::Fail;

use crate::contenders::{All, Contender};
use crate::options::Options;
use crate::process::ended;
use crate::results::{Cell, Results, Row};
use crate::suite;

pub const PART: &str = "trees";

/// Where the files come from, how many at the most, and how large each may be.
const SOURCES: [&str; 3] = ["/usr/include", "/usr/lib", "/usr/share"];
const FILES: usize = 30_000;
const LARGEST: u64 = 256 << 10;
/// At most 1.3 times the time of a file system of the kernel.
const GOAL: f64 = 0.77;

/// A tree that is packed.
struct Tree {
    archive: PathBuf,
    /// git's view of it.
    index: PathBuf,
    files: usize,
}

impl Tree {
    fn pack(dir: &Path) -> Result<Tree, Fail> {
        let mut files = Vec::new();
        for source in SOURCES {
            gather(Path::new(source), &mut files)?;
        }
        let (list, archive, index) = (dir.join("tree.list"), dir.join("tree.tar"), dir.join("tree.git"));
        let names: String = files.iter().map(|file| format!("{}\n", file.trim_start_matches('/'))).collect();
        fs::write(&list, names)?;
        ended(Command::new("tar").args(["-C", "/", "-cf"]).arg(&archive).arg("-T").arg(&list))?;
        let tree = Tree { archive, index, files: files.len() };
        let from = dir.join("tree.from");
        tree.unpack(&from)?;
        ended(Command::new("git").args(["init", "-q", "--bare"]).arg(&tree.index))?;
        ended(tree.git(&tree.index, &from).args(["add", "-f", "."]))?;
        fs::remove_dir_all(&from)?;
        Ok(tree)
    }

    fn unpack(&self, to: &Path) -> Result<(), Fail> {
        fs::create_dir_all(to)?;
        ended(Command::new("tar").arg("-C").arg(to).arg("-xf").arg(&self.archive)).map(drop)
    }

    fn git(&self, index: &Path, tree: &Path) -> Command {
        let mut git = Command::new("git");
        git.arg("--git-dir").arg(index).arg("--work-tree").arg(tree).args(["-c", "core.bare=false"]);
        git
    }
}

/// Files in the order of their names, as many as are wanted.
fn gather(folder: &Path, into: &mut Vec<String>) -> Result<(), Fail> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if into.len() >= FILES {
            return Ok(());
        }
        let (kind, path) = (entry.file_type()?, entry.path());
        let Some(name) = path.to_str().filter(|name| !name.contains('\n')) else { continue };
        if kind.is_dir() {
            gather(&path, into)?;
        } else if kind.is_file() && entry.metadata()?.len() <= LARGEST {
            into.push(name.to_owned());
        }
    }
    Ok(())
}

const STEPS: [&str; 6] = ["tar -x", "git status", "git status again", "grep -r", "du", "rm -r"];

/// One after the other on one contender; seconds each.
fn once(tree: &Tree, at: &Path, dir: &Path) -> Result<[f64; STEPS.len()], Fail> {
    let index = dir.join("tree.index");
    if index.exists() {
        fs::remove_dir_all(&index)?;
    }
    ended(Command::new("cp").arg("-r").arg(&tree.index).arg(&index))?;
    let quiet = |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = || ended(tree.git(&index, at).args(["status", "--porcelain", "-uno"])).map(drop);
    // grep finds nothing, so it looks at all.
    let grep = || quiet(Command::new("grep").args(["-rq", "no such words anywhere"]).arg(at));
    let steps: [&dyn Fn() -> Result<(), Fail>; STEPS.len()] = [
        &|| tree.unpack(at),
        &status,
        &status,
        &|| {
            grep()?;
            Ok(())
        },
        &|| ended(Command::new("du").arg("-s").arg(at)).map(drop),
        &|| ended(Command::new("rm").arg("-r").arg(at)).map(drop),
    ];
    let mut times = [0.0; STEPS.len()];
    for (step, time) in steps.into_iter().zip(&mut times) {
        let start = Instant::now();
        step()?;
        *time = start.elapsed().as_secs_f64();
    }
    Ok(times)
}

pub fn measure(all: &All, options: &Options, about: &str) -> Result<Results, Fail> {
    let tree = Tree::pack(&options.dir)?;
    let folders: Vec<(&Contender, PathBuf)> =
        all.local.iter().filter_map(|one| Some((one, one.folder()?.join("tree")))).collect();
    let mut cells: Vec<Vec<Vec<Cell>>> = vec![vec![Vec::new(); STEPS.len()]; folders.len()];
    let mut notes = all.left_out(suite::Place::Local);
    notes.push(format!("{} files of /usr, {LARGEST} bytes at most", tree.files));
    let mut left_out = vec![false; folders.len()];
    for round in 0..options.rounds {
        for turn in 0..folders.len() {
            let i = (turn + round) % folders.len();
            let (one, at) = &folders[i];
            eprintln!("bench: {PART}: {}, round {}", one.name, round + 1);
            all.settle()?;
            if left_out[i] {
                continue;
            }
            let times = match once(&tree, at, &options.dir) {
                Ok(times) => times,
                // A peer may not be able to: libfuse's example keeps a descriptor for each file
                // that it knows.
                Err(error) if one.is_peer => {
                    notes.push(format!("{} is left out: {error}", one.name));
                    left_out[i] = true;
                    continue;
                }
                Err(error) => return Err(error),
            };
            for (cells, time) in cells[i].iter_mut().zip(times) {
                cells.push(Cell::rate(tree.files as f64 / time));
            }
        }
    }
    let row = |(n, name): (usize, &&str)| Row {
        name: (*name).to_owned(),
        unit: "files/s".to_owned(),
        goal: Some(GOAL),
        cells: folders
            .iter()
            .zip(&cells)
            .zip(&left_out)
            .filter(|(_, left_out)| !**left_out)
            .map(|(((one, _), cells), _)| (one.name.clone(), Cell::median(&cells[n])))
            .collect(),
    };
    let rows = STEPS.iter().enumerate().map(row).collect();
    let title = "Trees of files on a local mount".to_owned();
    Ok(Results { part: PART.to_owned(), title, about: about.to_owned(), notes, rows, ..Results::default() })
}
