//! The command line of `cistern inspect`.

use ::pool::spa::labels::FoundPool;

pub const USAGE: &str = "usage: cistern inspect [options] PATH…        (cistern inspect --help explains)";

pub const HELP: &str = "\
Look at disks, image files and the pools on them, without the daemon and without writing a byte.

usage: cistern inspect [options] PATH…

PATH is a disk, a partition, an image file, or a folder of them. Without options: what is on each path, and of
each pool its configuration, features and datasets.

  -l, --labels              the four labels and all uberblocks
  -u, --uberblocks          the uberblocks
  -C, --config              the pool's own configuration
  -d, --datasets            datasets and snapshots, with their sizes and numbers of objects
  -o, --objects DATASET [OBJECT]
                            objects of a dataset ('mos': of the pool itself); of one object its attributes
                            and, of tables, lists and maps, their content
  -b, --blocks              with -o and one object: its tree of blocks
  -m, --metaslabs           how full each metaslab is
      --history             commands and events
  -c, --verify              read every copy of every block, and compare allocated with referenced space
      --metadata            with -c: leave out file contents
      --pool NAME|GUID      only this pool
      --json                labels, configuration, datasets and verification for machines
  -h, --help

Exit status: 0 all is well; 1 something is damaged, missing or unreadable; 2 wrong usage.

examples:
  cistern inspect /dev/sdb                      what is on this disk?
  cistern inspect var/disks                     the pools on a folder of image files
  cistern inspect -c var/disks                  is every block of them whole?
  cistern inspect -o tank/share var/disks       the objects of a file system
  cistern inspect -bo tank/share 34 var/disks   its root directory, and the blocks that make it
";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    Help,
    Inspect(Options),
}

/// Objects to show.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    pub dataset: String,
    pub object: Option<u64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub paths: Vec<String>,
    pub labels: bool,
    pub uberblocks: bool,
    pub config: bool,
    pub datasets: bool,
    pub objects: Option<Wanted>,
    pub blocks: bool,
    pub metaslabs: bool,
    pub history: bool,
    /// `Some(true)`: file contents too.
    pub verify: Option<bool>,
    pub pool: Option<String>,
    pub json: bool,
}

impl Options {
    /// Nothing particular was asked for.
    pub fn is_overview(&self) -> bool {
        !(self.labels || self.uberblocks || self.wants_parts())
    }

    fn wants_parts(&self) -> bool {
        let shown = self.config || self.datasets || self.metaslabs || self.history;
        shown || self.objects.is_some() || self.verify.is_some()
    }

    /// The labels alone do not answer.
    pub fn wants_pool(&self) -> bool {
        self.is_overview() || self.wants_parts()
    }

    pub fn wants(&self, found: &FoundPool) -> bool {
        let by_guid = |which: &str| which.parse() == Ok(found.guid);
        self.pool.as_deref().is_none_or(|which| which == found.config.name || by_guid(which))
    }
}

/// The options among the arguments; `Err` tells what is wrong with them.
pub fn parse(args: &[String]) -> Result<Command, String> {
    let mut options = Options::default();
    let mut metadata = false;
    let mut args = args.iter().peekable();
    let mut only_paths = false;
    while let Some(arg) = args.next() {
        let names: Vec<String> = match arg.strip_prefix('-') {
            _ if only_paths => vec![],
            Some("-") => {
                only_paths = true;
                continue;
            }
            Some(long) if long.starts_with('-') => vec![arg.clone()],
            Some(short) if !short.is_empty() => short.chars().map(|letter| format!("-{letter}")).collect(),
            _ => vec![],
        };
        if names.is_empty() {
            options.paths.push(arg.clone());
        }
        for name in names {
            match name.as_str() {
                "-h" | "--help" => return Ok(Command::Help),
                "-l" | "--labels" => options.labels = true,
                "-u" | "--uberblocks" => options.uberblocks = true,
                "-C" | "--config" => options.config = true,
                "-d" | "--datasets" => options.datasets = true,
                "-b" | "--blocks" => options.blocks = true,
                "-m" | "--metaslabs" => options.metaslabs = true,
                "--history" => options.history = true,
                "-c" | "--verify" => options.verify = Some(true),
                "--metadata" => metadata = true,
                "--json" => options.json = true,
                "--pool" => options.pool = Some(args.next().ok_or("--pool needs a name or guid")?.clone()),
                "-o" | "--objects" => {
                    let dataset = args.next().ok_or("-o needs a dataset")?.clone();
                    let object = args.peek().and_then(|next| next.parse().ok());
                    if object.is_some() {
                        args.next();
                    }
                    options.objects = Some(Wanted { dataset, object });
                }
                unknown => return Err(format!("unknown option '{unknown}'")),
            }
        }
    }
    check(options, metadata)
}

fn check(mut options: Options, metadata: bool) -> Result<Command, String> {
    if metadata {
        options.verify = Some(match options.verify {
            Some(_) => false,
            None => return Err("--metadata goes with -c".into()),
        });
    }
    if options.blocks && options.objects.as_ref().is_none_or(|wanted| wanted.object.is_none()) {
        return Err("-b goes with -o DATASET OBJECT".into());
    }
    if options.paths.is_empty() {
        return Err("which disk, image file or folder?".into());
    }
    Ok(Command::Inspect(options))
}

#[cfg(test)]
mod tests;
