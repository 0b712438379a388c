use std::collections::BTreeSet;
use std::time::Duration;

use crate::command_line::{Parsed, parse};
use crate::results::{Cell, Figure, Results, Row, median};
use crate::suite::{PARTS, Place};
use crate::{chart, kernels, parts, report, suite};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn sample() -> Results {
    let cell = |rate| Some(Cell { rate, latencies: [90.0, 1234.5, 20_000.0], cpu: 12.5 });
    let row = |name: &str, ours, theirs| Row {
        name: name.to_owned(),
        unit: "/s".to_owned(),
        goal: Some(1.5),
        cells: vec![("Cistern".to_owned(), ours), ("peer <1>".to_owned(), theirs)],
    };
    Results {
        part: "sync".to_owned(),
        title: "Writes & more".to_owned(),
        about: "a machine".to_owned(),
        notes: vec!["xfs is left out: no loop device".to_owned()],
        rows: vec![row("one", cell(3000.0), cell(2000.0)), row("two", cell(5.0), None)],
        figures: vec![Figure { name: "peak".to_owned(), value: "1 MiB".to_owned(), goal: String::new() }],
    }
}

#[test]
fn options_choose_parts_in_their_order() {
    let Parsed::Run(options) = parse(&words("--part local,nfs --rounds 5 --seconds 0.5 --only KiB")) else {
        panic!("these are good")
    };
    assert_eq!(options.parts, ["nfs", "local"]);
    assert_eq!((options.rounds, options.span, options.only.as_str()), (5, Duration::from_millis(500), "KiB"));
    let Parsed::Run(options) = parse(&[]) else { panic!("nothing is needed") };
    assert_eq!(options.parts, parts::all());
    for wrong in
        ["--part all", "--rounds 0", "--seconds 0", "--seconds x", "--fast", "--docs --only KiB", "--dir"]
    {
        assert!(matches!(parse(&words(wrong)), Parsed::Wrong(_)), "{wrong}");
    }
    let Parsed::Run(options) = parse(&words("--before /old/cistern")) else { panic!("another build") };
    assert_eq!(options.parts, ["nfs", "sync", "files", "local", "trees", "iscsi"]);
    for wrong in ["--before", "--before /old/cistern --docs", "--before /old/cistern --part cold"] {
        assert!(matches!(parse(&words(wrong)), Parsed::Wrong(_)), "{wrong}");
    }
    assert_eq!(parse(&words("docs --dir there")), Parsed::Docs("there".into()));
    assert_eq!(parse(&words("--help")), Parsed::Help);
}

#[test]
fn every_row_of_a_part_has_a_name_of_its_own() {
    for part in PARTS {
        let names: Vec<&str> = part.groups.iter().flat_map(|group| group.rows).map(|row| row.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{}", part.name);
    }
    let (nfs, local) = suite::split(&parts::all());
    assert!(nfs.iter().all(|part| part.place == Place::Nfs) && local.len() + nfs.len() == PARTS.len());
}

#[test]
fn halves_count_alike_and_a_cell_of_one_half_counts_as_failed() {
    let (mut first, mut second) = (sample(), sample());
    let cell = |rate| Some(Cell::rate(rate));
    first.rows[0].cells = vec![("Cistern".to_owned(), cell(100.0)), ("before".to_owned(), cell(70.0))];
    second.rows[0].cells = vec![("before".to_owned(), cell(100.0)), ("Cistern".to_owned(), cell(70.0))];
    second.rows[1].cells[0].1 = None;
    second.notes.push("ext4 failed".to_owned());
    let both = first.mean_with(&second);
    assert_eq!(both.rows[0].cells, [("Cistern".to_owned(), cell(85.0)), ("before".to_owned(), cell(85.0))]);
    assert!(both.rows[1].cells.iter().all(|(_, cell)| cell.is_none()));
    assert_eq!(both.notes, ["xfs is left out: no loop device", "ext4 failed"]);
}

#[test]
fn a_part_that_one_half_did_not_measure_has_failed() {
    let named =
        |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), Ok(sample()))).collect::<Vec<_>>();
    let servers = ("the servers".to_owned(), Err("no port".into()));
    let first = std::iter::once(servers).chain(named(&["iscsi"])).collect();
    let all = parts::joined(first, named(&["nfs", "sync", "iscsi"]));
    let told: Vec<_> = all.iter().map(|(part, measured)| (part.as_str(), measured.is_ok())).collect();
    assert_eq!(told, [("the servers", false), ("iscsi", true), ("nfs", false), ("sync", false)]);
}

#[test]
fn results_are_kept_as_they_are() {
    let results = sample();
    assert_eq!(Results::decode(&results.encode()).unwrap(), results);
    assert!(Results::decode("cell\tCistern\t1\t2\t3\t4\t5").is_err());
    assert!(Results::decode("what\tever").is_err());
}

#[test]
fn medians_are_figure_by_figure() {
    let cell = |n| Cell { rate: n, latencies: [10.0 - n, n, n], cpu: n };
    let middle = Cell::median(&[cell(1.0), cell(9.0), cell(2.0)]).unwrap();
    assert_eq!(middle, Cell { rate: 2.0, latencies: [8.0, 2.0, 2.0], cpu: 2.0 });
    assert_eq!((Cell::median(&[]), median(vec![4.0, 2.0])), (None, Some(3.0)));
}

#[test]
fn the_mean_is_of_rows_that_both_have() {
    let mut results = sample();
    assert_eq!(results.mean_ratio(), Some(1.5));
    results.rows[1].cells[1].1 = Some(Cell::rate(30.0));
    assert!((results.mean_ratio().unwrap() - 0.5).abs() < 1e-9);
}

#[test]
fn tables_show_ratios_and_what_failed() {
    let text = report::part(&sample());
    assert!(text.contains("| one | /s | 3000 | 2000 | 1.50 | 1.5 |"), "{text}");
    assert!(text.contains("| two | /s | 5 | – | – | 1.5 |"), "{text}");
    assert!(text.contains("| one | 90.0 / 1234 / 20000 | 12.5 |"), "{text}");
    assert!(text.contains("xfs is left out: no loop device."), "{text}");
}

#[test]
fn the_page_keeps_everything_else() {
    let page =
        "# Page\n<!-- bench nfs -->\nkept\n<!-- end -->\n<!-- bench sync -->\nold\n<!-- end -->\nafter\n";
    let new = report::put(page, &sample()).unwrap();
    assert!(
        new.starts_with("# Page\n<!-- bench nfs -->\nkept\n<!-- end -->\n<!-- bench sync -->\na machine.\n")
    );
    assert!(new.ends_with("<!-- end -->\nafter\n") && !new.contains("old"));
    assert!(new.contains("(charts/sync.svg)"));
    assert_eq!(report::put(&new, &sample()).unwrap(), new);
    assert!(report::put("nothing", &sample()).is_err());
}

#[test]
fn a_chart_is_well_formed_and_scaled() {
    let svg = chart::draw(&sample()).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("Writes &amp; more") && svg.contains("peer &lt;1&gt;"));
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    assert!(svg.contains(">failed<"));
    let alone = Results { rows: Vec::new(), ..sample() };
    assert!(chart::draw(&alone).is_none());
}

/// Every part has its place in the document that `bench docs` rewrites.
#[test]
fn the_document_has_a_place_for_every_part() {
    let page = include_str!("../../../docs/performance.md");
    for part in parts::all() {
        assert!(page.contains(&format!("<!-- bench {part} -->")), "{part}");
    }
}

#[test]
fn what_other_programs_report_is_understood() {
    let line = "  avx512bw,   gen_pq, 8,     131072, 1000.000000, 10000.000000, 32768";
    let shown = format!("{:?}", kernels::raidz_test_line(line).unwrap());
    assert!(shown.contains("\"avx512bw\", sum: \"gen_pq\", stripe: 131072, rate: 8388.608"), "{shown}");
    for other in
        ["impl, math, dcols, iosize, disk_bw, total_bw, iter", "Benchmarking parity generation...", ""]
    {
        assert_eq!(kernels::raidz_test_line(other), None);
    }
    let said = "Doing sha256 for 1s on 131072 size blocks: 13000 sha256's in 1.00s\n\
        type         131072 bytes\nsha256         1700000.52k\n";
    assert_eq!(kernels::openssl_rate(said), Some(1700000.52 / 1e3));
    assert_eq!(kernels::openssl_rate("type\n"), None);
}

#[test]
fn rates_alone_have_no_table_of_latencies() {
    let rows = vec![Row::beside("one", "MB/s", Some(0.85), 90.0, ("a disk", 100.0))];
    let text = report::part(&Results { rows, figures: Vec::new(), ..sample() });
    assert!(text.contains("| one | MB/s | 90 | 100 | 0.90 | 0.85 |") && !text.contains("p50"), "{text}");
}
