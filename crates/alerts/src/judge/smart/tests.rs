use serde_json::json;

use super::*;

fn told(output: &Value) -> Told {
    match read(output.to_string().as_bytes()).expect("smartctl's") {
        Smart::Told(told) => told,
        Smart::Unsupported(why) => panic!("{why}"),
    }
}

/// In the form of smartctl 7.3, of an ATA disk that fails.
fn ata() -> Value {
    let row = |id: u64, raw: u64| json!({ "id": id, "value": 1, "raw": { "value": raw, "string": "" } });
    json!({
        "json_format_version": [1, 0],
        "smartctl": { "version": [7, 3], "exit_status": 216 },
        "device": { "name": "/dev/sdc", "protocol": "ATA" },
        "model_name": "ACME DISK\n1000", "serial_number": "X1",
        "smart_status": { "passed": false },
        "temperature": { "current": 61 },
        "ata_smart_attributes": { "table": [row(5, 1_975), row(9, 65_592), row(197, (7 << 32) | 8), row(198, 0)] },
        "ata_smart_self_test_log": { "standard": { "table": [{ "status": { "passed": false } }] } },
    })
}

fn nvme() -> Value {
    json!({
        "smartctl": { "exit_status": 0 },
        "model_name": "FAST 1T", "serial_number": "N1",
        "smart_status": { "passed": true },
        "nvme_smart_health_information_log": {
            "critical_warning": 0, "available_spare": 5, "available_spare_threshold": 10,
            "percentage_used": 91, "media_errors": 7,
        },
        "temperature": { "current": 35 },
    })
}

#[test]
fn signs_of_failure_are_read_of_ata_and_nvme() {
    let ata = told(&ata());
    let signs =
        [SmartSign::Verdict, SmartSign::Reallocated(1_975), SmartSign::Pending(8), SmartSign::SelfTest];
    assert_eq!((ata.signs.as_slice(), ata.model.as_str()), (&signs[..], "ACME DISK 1000"));
    let found = findings("/dev/sdc", &ata, &AlertSettings::default());
    assert!(found.len() == 2 && found[0].severity == Severity::Error && found[1].is_firm, "{found:?}");
    let nvme = told(&nvme());
    assert_eq!(nvme.signs, [SmartSign::MediaErrors(7), SmartSign::Worn(91), SmartSign::SpareLow(5)]);
    assert_eq!(findings("/dev/nvme0n1", &nvme, &AlertSettings::default()).len(), 1);
    let healthy =
        json!({ "smartctl": {}, "smart_status": { "passed": true }, "temperature": { "current": 56 } });
    let found = findings("/dev/sda", &told(&healthy), &AlertSettings::default());
    assert!(found.len() == 1 && !found[0].is_firm, "{found:?}");
}

#[test]
fn what_has_no_smart_says_so_and_what_is_not_smartctls_is_refused() {
    // As smartctl 7.3 says it of a loop device.
    let none = json!({
        "json_format_version": [1, 0],
        "smartctl": {
            "version": [7, 3],
            "messages": [{ "string": "/dev/loop0: Unable to detect device type", "severity": "error" }],
            "exit_status": 1,
        },
    });
    let read = |output: &Value| super::read(output.to_string().as_bytes());
    let why = "/dev/loop0: Unable to detect device type".to_owned();
    assert_eq!(read(&none), Ok(Smart::Unsupported(why)));
    assert_eq!(read(&json!({ "smartctl": {} })), Ok(Smart::Unsupported("it has no SMART".into())));
    for bad in [json!({}), json!([]), json!({ "smartctl": 7 }), Value::Null] {
        assert!(read(&bad).is_err(), "{bad}");
    }
    for bad in [&b""[..], b"smartctl 7.3", b"{", b"\xff\xfe"] {
        assert!(super::read(bad).is_err());
    }
}

#[test]
fn nonsense_says_nothing() {
    let odd = json!({
        "smartctl": {}, "smart_status": { "passed": "yes" }, "temperature": { "current": -4 },
        "model_name": 7, "ata_smart_attributes": { "table": [{ "id": "5" }, 7, { "id": 5, "raw": null }] },
        "nvme_smart_health_information_log": { "percentage_used": "all" },
    });
    assert_eq!(told(&odd), Told::default());
    assert!(findings("/dev/sda", &told(&odd), &AlertSettings::default()).is_empty());
}
