use super::*;

fn parsed(line: &str) -> Result<TraceRequest, Stop> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let options = getopt::parse_as(&words, "p:c:u:d:f:o:s:S:b:B:w:D:n:t:Hjh", &LONG)?;
    asked(&options)
}

#[test]
fn filters_are_what_the_options_say() {
    let found =
        parsed("-p nfs -o write -s 10ms -b 64K --served log --time 10m -n 5 -D tank:sda").expect("a request");
    let RequestFilter { protocol, operation, slower_us, min_bytes, served, device, .. } = found.filter;
    assert_eq!((protocol, operation.as_deref()), (Some(Protocol::Nfs), Some("write")));
    assert_eq!(device.as_deref(), Some("tank:sda"));
    assert_eq!((slower_us, min_bytes, served), (Some(10_000), Some(65_536), Some(ServedBy::Log)));
    assert_eq!((found.seconds, found.count), (Some(600), Some(5)));
    assert_eq!(parsed("").expect("a request"), TraceRequest::default());
    for wrong in [
        "-p smb",
        "-s 10",
        "-s ms",
        "-f /a",
        "-b many",
        "-w tape",
        "-n -1",
        "-t 5y",
        "-s 9999999999999999999s",
    ] {
        assert!(matches!(parsed(wrong), Err(Stop::Usage(_))), "{wrong}");
    }
}

#[test]
fn a_row_has_its_columns_and_no_character_of_a_name_moves_the_cursor() {
    let request = TracedRequest {
        time: 1_796_000_000_123_456,
        protocol: Protocol::Nfs,
        client: "192.0.2.7".into(),
        user: Some("1000".into()),
        operation: "LOOKUP".into(),
        dataset: Some("tank/home".into()),
        file: Some("/a\u{1b}[2Jb".into()),
        object: Some(7),
        name: Some("x\ny".into()),
        offset: None,
        bytes: 0,
        took: 1_500_000,
        stages: StageTimes { queue: 500_000, disk: 1_000_000, ..StageTimes::default() },
        blocks: api_types::BlockSources::default(),
        served: Some(ServedBy::Disk),
        device: Some("tank:sd\ta".into()),
    };
    let shown = row(&request);
    assert!(shown.ends_with("disk    tank:sd?a    tank/home:/a?[2Jb \"x?y\""), "{shown}");
    let column = |text: &str, word: &str| text.find(word).map(|at| at + word.len());
    assert_eq!(column(&head(), "QUEUE"), column(&shown, "500us"));
    assert_eq!(column(&head(), "TOOK"), column(&shown, " 1ms"));
    assert_eq!(column(&head(), "DISK"), shown.rfind("1ms").map(|at| at + "1ms".len()));
    assert_eq!(bare(&request).split('\t').count(), 18);
    let nameless = TracedRequest { file: None, name: None, ..request };
    assert!(row(&nameless).ends_with("tank/home:<7>"));
}
