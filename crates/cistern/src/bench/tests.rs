use super::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn options_have_defaults_and_bounds() {
    let options = parse(&words("classic")).unwrap().unwrap();
    assert_eq!((options.json, options.span.as_secs(), options.writers), (false, 4, 400));
    let options = parse(&words("classic --json --seconds 2 --only log --writers 8")).unwrap().unwrap();
    assert_eq!((options.json, options.span.as_secs(), options.writers), (true, 2, 8));
    assert_eq!(options.only, "log");
    for wrong in
        ["modern", "classic --seconds", "classic --seconds 0", "classic --writers many", "classic --fast"]
    {
        assert!(parse(&words(wrong)).is_err(), "{wrong}");
    }
    assert!(parse(&[]).unwrap().is_none());
}

#[test]
fn every_set_up_has_a_name_of_its_own_and_a_disk() {
    for set_up in SET_UPS {
        assert_eq!(SET_UPS.iter().filter(|other| other.name == set_up.name).count(), 1);
        assert!(set_up.disks > 0);
    }
}

/// The whole way once, with few writers: what it measures is the machine's affair.
#[test]
fn a_set_up_is_built_measured_and_taken_down() {
    let set_up = SET_UPS.iter().find(|set_up| set_up.name.contains("RAM log")).unwrap();
    let options = Options {
        json: true,
        span: Duration::from_millis(200),
        only: String::new(),
        writers: 20,
        is_advise: false,
    };
    let rig = Rig::build(set_up).unwrap();
    let row = measure(&rig, set_up, "standard", &options).unwrap();
    rig.take_down().unwrap();
    for cell in [&row.single, &row.files, &row.copy] {
        assert!(cell.outcome.operations > 0);
    }
    assert!(row.json().ends_with("}\n"));
}
