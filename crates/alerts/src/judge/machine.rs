//! The machine: memory, network interfaces, the certificate of HTTPS.

use api_types::{AlertKind, AlertSettings, CertificateInfo, Severity};

use crate::book::Finding;

const DAY: i64 = 24 * 60 * 60;

/// What `/proc/meminfo` says; `Err`: it is not that.
pub fn memory(meminfo: &str, settings: &AlertSettings) -> Result<Vec<Finding>, String> {
    let value = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        number.map(|kib| kib.saturating_mul(1_024)).ok_or_else(|| format!("/proc/meminfo has no {name}"))
    };
    let (total, available) = (value("MemTotal")?, value("MemAvailable")?);
    let what = AlertKind::MemoryLow { available, total };
    let percent = u128::from(available) * 100 / u128::from(total.max(1));
    let limit = u128::from(settings.memory);
    Ok(match percent {
        percent if percent < limit => vec![Finding::new(Severity::Error, what)],
        percent if percent < limit + 2 && limit > 0 => vec![Finding::lingering(Severity::Error, what)],
        _ => Vec::new(),
    })
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub name: String,
    /// It is of hardware, or of a virtual machine's.
    pub is_device: bool,
    /// Somebody has set it up.
    pub is_up: bool,
    pub has_carrier: bool,
}

pub fn links(links: &[Link]) -> Vec<Finding> {
    let lost = links.iter().filter(|link| link.is_device && link.is_up && !link.has_carrier);
    let finding =
        |link: &Link| Finding::new(Severity::Error, AlertKind::LinkDown { interface: link.name.clone() });
    lost.map(finding).collect()
}

pub fn certificate(info: &CertificateInfo, settings: &AlertSettings, now: i64) -> Vec<Finding> {
    let what =
        AlertKind::CertificateEnds { fingerprint: info.fingerprint.clone(), not_after: info.not_after };
    let left = info.not_after.saturating_sub(now);
    match left {
        left if left <= 0 => vec![Finding::new(Severity::Error, what)],
        left if left < i64::from(settings.certificate_days) * DAY => {
            vec![Finding::new(Severity::Warning, what)]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
