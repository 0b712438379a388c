//! `cistern certificate`: what the daemon shows to who comes by HTTPS.

use std::fs::File;
use std::io::Read;

use crate::client::{CallError, Client};
use crate::command::Io;
use crate::fail::{Stop, no_command};
use crate::{files, getopt, table};
use api_types::{Acme, AcmeSet, AcmeStatus, CertificateInfo, CertificateSet, Secret, kind, routes};

pub const USAGE: &str = "\
usage: cistern certificate show [--json]
       cistern certificate set CERTIFICATE KEY
       cistern certificate acme --domain NAME [--domain NAME]... [--email ADDRESS] [--directory URL] [--ca-file FILE] --agree-tos
       cistern certificate acme off

The certificate of HTTPS: its SHA-256 fingerprint, the names that it is for, and how long it counts. 'set' has the daemon show
another one to new connections: CERTIFICATE is a PEM file, with those that lead to a root behind it, KEY its private key.

'acme' has it come from an authority, now and whenever two thirds of its time are over. The authority connects to port 443 of each
name, and that has to lead to the HTTPS of this machine. 'show' tells how it went. Given again, the authority is asked again at
once. 'acme off' leaves the certificate as it is.

  --domain NAME       that the certificate is for; up to 16 of them
  --email ADDRESS     where the authority writes to
  --directory URL     of the authority, instead of Let's Encrypt's
  --ca-file FILE      PEM: whose certificates the directory may show, instead of those that the machine trusts
  --agree-tos         the authority's terms of service are agreed to

examples:
  cistern certificate show
  cistern certificate set fullchain.pem privkey.pem
  cistern certificate acme --domain nas.example.org --email ada@example.org --agree-tos
  cistern certificate acme off
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
            show(&info, io)?;
            match acme_of(client)? {
                Some(acme) => show_acme(&acme, io),
                None => Ok(()),
            }
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
        Some("acme") => acme(rest, client, io),
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

fn read(path: &str) -> Result<String, Stop> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    read.map_err(|error| Stop::Fail(format!("cannot read {path}: {}", files::words(&error))))?;
    Ok(text)
}

fn show(info: &CertificateInfo, io: &mut Io<'_>) -> Result<(), Stop> {
    let time = |at: i64| table::time(u64::try_from(at).ok(), false);
    writeln!(io.out, "SHA-256     {}", info.fingerprint)?;
    writeln!(io.out, "names       {}", table::plain(&info.names.join(", ")))?;
    writeln!(io.out, "not before  {}", time(info.not_before))?;
    writeln!(io.out, "not after   {}", time(info.not_after))?;
    let issuer = if info.self_signed { "itself".to_owned() } else { table::plain(&info.issuer) };
    writeln!(io.out, "signed by   {issuer}")?;
    Ok(())
}

/// How certificates come; `None`: not by ACME, or who asks may not know, or a daemon of before does
/// not.
fn acme_of(client: &Client) -> Result<Option<Acme>, Stop> {
    match client.get::<AcmeStatus>(routes::CERTIFICATE_ACME) {
        Ok(status) => Ok(status.acme),
        Err(CallError::Refused(problem))
            if [kind::DENIED, kind::BAD_REQUEST].contains(&problem.kind.as_str()) =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn acme(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let long = [("domain", "d"), ("email", "e"), ("directory", "u"), ("ca-file", "c"), ("agree-tos", "a")];
    let options = getopt::parse_as(args, "d:e:u:c:a", &long)?;
    match options.operands.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["off"] if options.options.is_empty() => {
            let _: AcmeStatus = client.post(routes::CERTIFICATE_ACME_OFF, &())?;
            return Ok(());
        }
        _ => return Err(Stop::Usage("options are wanted, or 'off'".into())),
    }
    if !options.has("d") {
        return Err(Stop::Usage("--domain is wanted".into()));
    }
    if !options.has("a") {
        return Err(Stop::Usage("--agree-tos is wanted: read the authority's terms of service first".into()));
    }
    let asked = AcmeSet {
        domains: options.values("d").map(str::to_owned).collect(),
        email: options.value("e").map(str::to_owned),
        directory: options.value("u").map(str::to_owned),
        roots: options.value("c").map(read).transpose()?,
        agree_terms: true,
    };
    let status: AcmeStatus = client.post(routes::CERTIFICATE_ACME, &asked)?;
    if let Some(Acme { directory, .. }) = status.acme {
        writeln!(
            io.out,
            "{} is asked; 'cistern certificate show' says how it went",
            table::plain(&directory)
        )?;
    }
    Ok(())
}

fn show_acme(acme: &Acme, io: &mut Io<'_>) -> Result<(), Stop> {
    let time = |at: i64| table::time(u64::try_from(at).ok(), false);
    writeln!(io.out, "from        {}", table::plain(&acme.directory))?;
    writeln!(io.out, "for         {}", table::plain(&acme.domains.join(", ")))?;
    match (acme.is_asking, acme.tries) {
        (true, _) => writeln!(io.out, "next        is being asked for")?,
        (false, 0) => writeln!(io.out, "next        {}", time(acme.next))?,
        (false, tries) => writeln!(io.out, "next        {} (asked {tries} times in vain)", time(acme.next))?,
    }
    if let Some(failure) = &acme.failure {
        let (fault, why) = (failure.fault.word(), table::plain(&failure.why));
        writeln!(io.out, "failed      {} {fault}: {why}", time(failure.at))?;
    }
    Ok(())
}
