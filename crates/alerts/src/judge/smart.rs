//! What disks say of themselves, as `smartctl --json` prints it.
//!
//! The output is of another program, about a device that may answer nonsense: what is not there or
//! is no number says nothing, and is no reason to doubt the rest.

use api_types::{AlertKind, AlertSettings, Severity, SmartSign};
use serde_json::Value;

use crate::book::Finding;

/// Attributes of ATA disks by number.
const REALLOCATED: u64 = 5;
const PENDING: u64 = 197;
const UNCORRECTABLE: u64 = 198;
/// Percent of endurance from where on a disk is worn.
const WORN: u64 = 90;
/// Degrees below the limit at which an alert about heat is let go.
const MARGIN: u64 = 5;
/// Characters of a name that a disk gives itself.
const LONGEST: usize = 80;

/// What smartctl said of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Smart {
    /// The device has no SMART, as a file or a virtual disk, or smartctl cannot open it. With its
    /// reason.
    Unsupported(String),
    Told(Told),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub model: String,
    pub serial: String,
    pub celsius: Option<u64>,
    pub signs: Vec<SmartSign>,
}

/// Reads the output of `smartctl --json --all`. `Err`: it is no such output.
pub fn read(output: &[u8]) -> Result<Smart, String> {
    let all: Value = serde_json::from_slice(output).map_err(|error| format!("no JSON: {error}"))?;
    if !all["smartctl"].is_object() {
        return Err("it is not smartctl's".to_owned());
    }
    let nvme = &all["nvme_smart_health_information_log"];
    let table = all["ata_smart_attributes"]["table"].as_array();
    let verdict = all["smart_status"]["passed"].as_bool();
    if verdict.is_none() && table.is_none() && !nvme.is_object() {
        let messages = all["smartctl"]["messages"].as_array();
        let said = messages.into_iter().flatten().find_map(|message| message["string"].as_str());
        return Ok(Smart::Unsupported(said.map_or_else(|| "it has no SMART".to_owned(), short)));
    }
    let raw = |id: u64| {
        let row = table.into_iter().flatten().find(|row| row["id"].as_u64() == Some(id))?;
        row["raw"]["value"].as_u64()
    };
    let above_zero = |count: Option<u64>| count.filter(|count| *count > 0);
    let mut signs = Vec::new();
    signs.extend((verdict == Some(false)).then_some(SmartSign::Verdict));
    // The upper bytes of a raw value are some vendors' own.
    signs.extend(above_zero(raw(REALLOCATED).map(|count| count & 0xffff_ffff)).map(SmartSign::Reallocated));
    signs.extend(above_zero(all["scsi_grown_defect_list"].as_u64()).map(SmartSign::Reallocated));
    signs.extend(above_zero(raw(PENDING).map(|count| count & 0xffff_ffff)).map(SmartSign::Pending));
    let uncorrectable = raw(UNCORRECTABLE).map(|count| count & 0xffff_ffff);
    signs.extend(above_zero(uncorrectable).map(SmartSign::Uncorrectable));
    let last_test = &all["ata_smart_self_test_log"]["standard"]["table"][0]["status"]["passed"];
    signs.extend((last_test.as_bool() == Some(false)).then_some(SmartSign::SelfTest));
    signs.extend(above_zero(nvme["media_errors"].as_u64()).map(SmartSign::MediaErrors));
    signs.extend(nvme["percentage_used"].as_u64().filter(|used| *used >= WORN).map(SmartSign::Worn));
    if let (Some(left), Some(least)) =
        (nvme["available_spare"].as_u64(), nvme["available_spare_threshold"].as_u64())
        && left < least
    {
        signs.push(SmartSign::SpareLow(left));
    }
    let text = |name: &str| all[name].as_str().map(short).unwrap_or_default();
    Ok(Smart::Told(Told {
        model: text("model_name"),
        serial: text("serial_number"),
        celsius: all["temperature"]["current"].as_u64(),
        signs,
    }))
}

/// What is wrong with a device.
pub fn findings(device: &str, told: &Told, settings: &AlertSettings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(severity) = told.signs.iter().map(severity).max() {
        let what = AlertKind::DiskFailing {
            device: device.to_owned(),
            model: told.model.clone(),
            serial: told.serial.clone(),
            signs: told.signs.clone(),
        };
        findings.push(Finding::new(severity, what));
    }
    if let Some(celsius) = told.celsius {
        let what = AlertKind::DiskHot { device: device.to_owned(), celsius };
        match celsius {
            celsius if celsius >= settings.hot_disk => {
                findings.push(Finding::new(Severity::Warning, what));
            }
            celsius if celsius + MARGIN >= settings.hot_disk => {
                findings.push(Finding::lingering(Severity::Warning, what));
            }
            _ => {}
        }
    }
    findings
}

fn severity(sign: &SmartSign) -> Severity {
    match sign {
        SmartSign::Reallocated(_) | SmartSign::Worn(_) => Severity::Warning,
        SmartSign::Verdict
        | SmartSign::Pending(_)
        | SmartSign::Uncorrectable(_)
        | SmartSign::MediaErrors(_)
        | SmartSign::SpareLow(_)
        | SmartSign::SelfTest => Severity::Error,
    }
}

fn short(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).take(LONGEST).collect()
}

#[cfg(test)]
mod tests;
