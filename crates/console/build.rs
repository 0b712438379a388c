//! Lists the files that `scripts/console` has built, so that the program carries them.
//!
//! `target/console/list.txt` has a line for each: its path, its media type, whether it lasts, and
//! its hash. Beside each file lies the same compressed by brotli.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let variable = |name| env::var(name).map_err(io::Error::other);
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../../target/console");
    // A path that is not there would have every build begin anew.
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let list = match fs::read_to_string(folder.join("list.txt")) {
        Ok(list) => list,
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            println!("cargo::warning=the program will have no web console: scripts/console was not run");
            String::new()
        }
        Err(why) => return Err(why),
    };
    let out = Path::new(&variable("OUT_DIR")?).to_owned();
    let mut rows = String::from("&[\n");
    for (number, line) in list.lines().enumerate() {
        let [path, media_type, lasts, hash] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(io::Error::other(format!("list.txt: {line}")));
        };
        // Copies: whoever builds the console meanwhile takes nothing away.
        let (plain, brotli) = (out.join(number.to_string()), out.join(format!("{number}.br")));
        fs::copy(folder.join(path), &plain)?;
        fs::copy(folder.join(format!("{path}.br")), &brotli)?;
        writeln!(
            rows,
            "File {{ path: {path:?}, media_type: {media_type:?}, lasts: {}, tag: \"\\\"{hash}\\\"\", \
             plain: include_bytes!({plain:?}), brotli: include_bytes!({brotli:?}) }},",
            lasts == "lasting",
        )
        .map_err(io::Error::other)?;
    }
    rows.push(']');
    fs::write(out.join("files.rs"), rows)
}
