//! The engine without a network: what `make bench` sets beside the disk and beside memory.
//!
//! ```text
//! bench write DIR MIB     MB/s: incompressible data into a file, 1 MiB a call, until all of it is stable
//! bench cached DIR MIB    GB/s: the same file read from the cache, 128 KiB a call, by one thread, each byte copied out
//! bench shared DIR MIB    GB/s: as `cached`, but the caller gets slices of the cached blocks and copies nothing
//! ```
//! The pool is one image file in DIR; it is removed afterwards. Prints one number.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::facade::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, Engine, Error, FileSystem, NodeId, PoolSpec, PropertyChange, SetAttr, Stable,
    VdevSpec,
};
use env::Env;
use stdx::prng::Prng;

const ROOT: Cred = Cred::root();
const CALL: usize = 1 << 20;
const READ: usize = 128 << 10;
/// Different data than the block size divides, so that no two calls write the same.
const SOURCE: usize = 64 << 20;

struct Bench {
    engine: Arc<LocalEngine>,
    fs: Arc<dyn FileSystem>,
    file: NodeId,
    image: PathBuf,
}

impl Bench {
    fn new(dir: &str, size: u64) -> Result<Bench, Error> {
        let image = PathBuf::from(dir).join("engine.img");
        let made = std::fs::File::create(&image).and_then(|file| file.set_len(2 * size + (1 << 30)));
        made.map_err(|error| Error::Refused(format!("{}: {error}", image.display())))?;
        let options = Options { cache: 256 << 20, dirty: 256 << 20, ..Options::default() };
        let engine = LocalEngine::new(Env::real(), options);
        let spec = PoolSpec {
            logs: Vec::new(),
            cache: Vec::new(),
            name: "bench".into(),
            vdevs: vec![VdevSpec::Leaf(image.display().to_string())],
            props: Vec::new(),
            fs_props: vec![PropertyChange { name: "compression".into(), value: "lz4".into() }],
            no_features: false,
            force: true,
            mountpoint: None,
            altroot: None,
            history: String::new(),
        };
        let pool = engine.create(&spec)?;
        let change = Change::CreateFilesystem { name: "bench/fs".into(), parents: false, props: Vec::new() };
        pool.commit(&change, "")?;
        let fs = pool.open_fs("bench/fs")?;
        let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
        let file = fs.create(&ROOT, fs.root(), b"file", CreateMode::Guarded, &attr)?.attr.node;
        Ok(Bench { engine, fs, file, image })
    }

    /// Seconds until `size` bytes are stable.
    fn write(&self, size: u64) -> Result<f64, Error> {
        let mut source = vec![0; SOURCE];
        Prng::new(1).fill(&mut source);
        let start = Instant::now();
        for at in (0..size).step_by(CALL) {
            let from = (at as usize * 7 / 3) % (SOURCE - CALL);
            self.fs.write(&ROOT, self.file, at, &source[from..from + CALL], Stable::Unstable)?;
        }
        self.fs.sync()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Bytes a second from the cache.
    fn cached(&self, size: u64, copy: bool) -> Result<f64, Error> {
        let mut buffer = vec![0; READ];
        let mut sum = 0u64;
        let mut start = Instant::now();
        // The first round warms up.
        for round in 0.. {
            for at in (0..size).step_by(READ) {
                let read = self.fs.read(&ROOT, self.file, at, READ)?;
                let mut len = 0;
                for part in &read.parts {
                    let bytes = part.bytes();
                    if copy {
                        buffer[len..len + bytes.len()].copy_from_slice(bytes);
                    }
                    len += bytes.len();
                }
                sum += len as u64;
            }
            if round == 0 {
                (start, sum) = (Instant::now(), 0);
            } else if start.elapsed() > Duration::from_secs(2) {
                break;
            }
        }
        std::hint::black_box(&buffer);
        Ok(sum as f64 / start.elapsed().as_secs_f64())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Nothing of the pool is needed any more; a failure to end it well shows in nothing measured.
        drop(self.engine.destroy("bench", true));
        drop(std::fs::remove_file(&self.image));
    }
}

fn run(what: &str, dir: &str, size: u64) -> Result<f64, Error> {
    let bench = Bench::new(dir, size)?;
    let took = bench.write(size)?;
    match what {
        "write" => Ok(size as f64 / took / 1e6),
        "cached" => Ok(bench.cached(size, true)? / 1e9),
        "shared" => Ok(bench.cached(size, false)? / 1e9),
        _ => Err(Error::Invalid(format!("{what} is no work"))),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, dir, mib] = args.as_slice() else {
        eprintln!("usage: bench write|cached|shared DIR MIB");
        return ExitCode::from(2);
    };
    let Ok(mib) = mib.parse::<u64>() else {
        eprintln!("bench: {mib} is no number of MiB");
        return ExitCode::from(2);
    };
    match run(what, dir, mib << 20) {
        Ok(number) => {
            println!("{number:.2}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}
