//! `cistern certificate`: what the daemon shows to who comes by HTTPS.

use std::fs::File;
use std::io::Read;

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, no_command};
use crate::{getopt, table};
use api_types::{CertificateInfo, CertificateSet, Secret, routes};
use stdx::os_error::words;

pub const USAGE: &str = "\
usage: cistern certificate show [--json]
       cistern certificate set CERTIFICATE KEY

The certificate of HTTPS: its SHA-256 fingerprint, the names that it is for, and how long it counts. 'set' has the daemon show
another one to new connections: CERTIFICATE is a PEM file, with those that lead to a root behind it, KEY its private key.

examples:
  cistern certificate show
  cistern certificate set fullchain.pem privkey.pem
";
/// Of a file, in bytes.
const LONGEST: u64 = 256 << 10;

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("show") => {
            let options = getopt::parse(rest, "j", &["json"])?;
            let info: CertificateInfo = client.get(routes::CERTIFICATE)?;
            if options.has("j") {
                return table::json(io, &info);
            }
            show(&info, io)
        }
        Some("set") => match rest {
            [certificate, key] => {
                let (certificate, key) = (read(certificate)?, Secret(read(key)?));
                let info: CertificateInfo =
                    client.post(routes::CERTIFICATE, &CertificateSet { certificate, key })?;
                show(&info, io)
            }
            _ => Err(Stop::Usage("a certificate and its key are wanted".into())),
        },
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

fn read(path: &str) -> Result<String, Stop> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    read.map_err(|error| Stop::Fail(format!("cannot read {path}: {}", words(&error))))?;
    Ok(text)
}

fn show(info: &CertificateInfo, io: &mut Io<'_>) -> Result<(), Stop> {
    let time = |at: i64| table::time(u64::try_from(at).ok(), false);
    writeln!(io.out, "SHA-256     {}", info.fingerprint)?;
    writeln!(io.out, "names       {}", table::plain(&info.names.join(", ")))?;
    writeln!(io.out, "not before  {}", time(info.not_before))?;
    writeln!(io.out, "not after   {}", time(info.not_after))?;
    writeln!(io.out, "signed by   {}", if info.self_signed { "itself" } else { "others" })?;
    Ok(())
}
