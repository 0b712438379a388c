//! `cistern explain-space`: who holds the space that a dataset uses.

use crate::client::Client;
use crate::command::{Io, refusal};
use crate::fail::{Noun, Stop};
use crate::human::nicebytes;
use crate::json::Json;
use api_types::{SpaceExplained, SpaceHolder, SpacePart, routes};

pub const USAGE: &str = "\
usage: cistern explain-space DATASET [--json]

Takes the space that a file system or volume uses apart, to the byte: what its files hold, files that are deleted but
still open, metadata, copies and parity, each run of snapshots that shares what nobody else has, children, reservations.

  --json    the same as one JSON object, in bytes

examples:
  cistern explain-space tank/home
  cistern explain-space --json tank
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let (mut json, mut datasets) = (false, Vec::new());
    for arg in args {
        match arg.as_str() {
            "--json" | "-j" => json = true,
            "--help" | "-h" => return Ok(write!(io.out, "{USAGE}")?),
            other if other.starts_with('-') => return Err(Stop::Usage(format!("invalid option '{other}'"))),
            dataset => datasets.push(dataset),
        }
    }
    let [dataset] = datasets.as_slice() else {
        return Err(Stop::Usage("one dataset is to be named".into()));
    };
    crate::zfs::check_name(dataset)?;
    let answer = client.get(&routes::at(routes::DATASET_SPACE, dataset));
    let refused = |error| refusal(&format!("cannot open '{dataset}'"), error, Noun::Dataset);
    let space: SpaceExplained = answer.map_err(refused)?;
    if json {
        writeln!(io.out, "{}", as_json(&space))?;
    } else {
        print(&space, io)?;
    }
    Ok(io.out.flush()?)
}

fn print(space: &SpaceExplained, io: &mut Io<'_>) -> Result<(), Stop> {
    writeln!(io.out, "{} uses {} ({} bytes)\n", space.name, nicebytes(space.used), space.used)?;
    let rows: Vec<[String; 4]> = space.parts.iter().map(|part| row(space, part)).collect();
    let titles = ["USED", "BYTES", "SHARE", "HELD BY"].map(str::to_owned);
    let width =
        |at: usize| rows.iter().chain([&titles]).map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (nice, bytes, share) = (width(0), width(1), width(2));
    for row in [&titles].into_iter().chain(&rows) {
        writeln!(io.out, "{:>nice$}  {:>bytes$}  {:>share$}  {}", row[0], row[1], row[2], row[3])?;
    }
    writeln!(
        io.out,
        "\nOf the dataset itself, {} is in no snapshot; its blocks take {} of the disks, parity counted.",
        nicebytes(space.unique),
        nicebytes(space.raw)
    )?;
    Ok(())
}

fn row(space: &SpaceExplained, part: &SpacePart) -> [String; 4] {
    let nice = match part.bytes < 0 {
        true => format!("-{}", nicebytes(part.bytes.unsigned_abs())),
        false => nicebytes(part.bytes.unsigned_abs()),
    };
    let share = match space.used {
        0 => "-".into(),
        used => format!("{:.1}%", part.bytes as f64 * 100.0 / used as f64),
    };
    [nice, part.bytes.to_string(), share, words(part)]
}

/// Who it is, in words.
fn words(part: &SpacePart) -> String {
    let name = |at: usize| part.names.get(at).map_or("", String::as_str);
    match part.holder {
        SpaceHolder::Contents => "contents of files, as compressed".into(),
        SpaceHolder::Deleted if part.count == 1 => "1 file that is deleted, and open or not freed yet".into(),
        SpaceHolder::Deleted => format!("{} files that are deleted, and open or not freed yet", part.count),
        SpaceHolder::Metadata => "metadata: directories, attributes, pointers".into(),
        SpaceHolder::Overhead => "copies, and padding and parity beyond the pool's ratio".into(),
        SpaceHolder::Snapshots => {
            let short = |at: usize| name(at).split_once('@').map_or("", |(_, short)| short);
            let mut text = match part.names.len() {
                0 | 1 => format!("snapshot {} alone", name(0)),
                _ => format!("snapshots {} to @{} together", name(0), short(1)),
            };
            if !part.clones.is_empty() {
                text.push_str(&format!(", which have clones: {}", part.clones.join(", ")));
            }
            text
        }
        SpaceHolder::RefReservation => "its refreservation, not used yet".into(),
        SpaceHolder::Child => name(0).to_owned(),
        SpaceHolder::ChildReservation => format!("the reservation of {}, not used yet", name(0)),
        SpaceHolder::Receiving => "a receive that has not ended".into(),
        SpaceHolder::Pool => "the pool's own metadata".into(),
        SpaceHolder::Freeing => "what was destroyed, and is being freed".into(),
        SpaceHolder::Other => "what has changed while this was looked at".into(),
    }
}

fn as_json(space: &SpaceExplained) -> Json {
    let list = |names: &[String]| Json::List(names.iter().map(|name| Json::from(name.as_str())).collect());
    let part = |part: &SpacePart| {
        let mut object =
            Json::object().with("holder", part.holder.name()).with("bytes", Json::Signed(part.bytes));
        if !part.names.is_empty() {
            object.put("names", list(&part.names));
        }
        if !part.clones.is_empty() {
            object.put("clones", list(&part.clones));
        }
        if part.count > 0 {
            object.put("count", Json::number(part.count, true));
        }
        object
    };
    Json::document("cistern explain-space")
        .with("name", space.name.as_str())
        .with("used", Json::number(space.used, true))
        .with("unique", Json::number(space.unique, true))
        .with("raw", Json::number(space.raw, true))
        .with("parts", Json::List(space.parts.iter().map(part).collect()))
}

#[cfg(test)]
mod tests;
