use super::appliance::Appliance;
use super::document::{Document, Member, Shape};
use super::fill::{Filled, Nobody, Question, Somebody, fill};
use super::interrupt::{Cut, Interrupt};
use super::keys::{Places, candidates};
use super::nouns::{Command, commands, find, nouns, row_operations};
use super::target::Target;
use super::words::{Typed, before_asked, hidden, is_secret, joined, split};
use super::{may_have_secrets, recording, show, value};
use crate::client::Client;
use crate::command::Io;
use crate::fail::Stop;
use serde_json::{Map, Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What a daemon says of itself, with widgets, which no daemon has.
fn description() -> Value {
    let mut all: Value = serde_json::from_slice(&api::description()).expect("JSON");
    let size = json!({ "type": "integer", "minimum": 1, "maximum": 9 });
    let members = json!({ "name": { "type": "string" }, "size": size, "round": { "type": "boolean" } });
    let widget = json!({ "type": "object", "required": ["name", "size"], "properties": members });
    let answer =
        |schema: Value| json!({ "200": { "content": { "application/json": { "schema": schema } } } });
    all["paths"]["/v1/widgets"] = json!({
        "get": { "operationId": "get_widgets", "responses": answer(json!({ "type": "array" })) },
        "post": {
            "operationId": "post_widgets",
            "requestBody": { "content": { "application/json": { "schema": widget } } },
            "responses": answer(json!({})),
        },
    });
    all
}

fn document() -> Document {
    Document::of(description()).expect("a description")
}

fn all() -> Vec<Command> {
    commands(&document())
}

/// Answers in order, and what was asked.
#[derive(Default)]
struct Script {
    answers: Vec<&'static str>,
    asked: Vec<Question>,
    objected: Vec<String>,
}

impl Somebody for Script {
    fn ask(&mut self, question: &Question) -> Result<String, Stop> {
        self.asked.push(question.clone());
        if self.answers.is_empty() { Nobody.ask(question) } else { Ok(self.answers.remove(0).to_owned()) }
    }

    fn object(&mut self, why: &str) -> Result<(), Stop> {
        self.objected.push(why.to_owned());
        Ok(())
    }
}

fn typed(line: &str) -> Typed {
    Typed::of(&split(line).expect("words")).expect("a line")
}

#[track_caller]
fn filled(line: &str) -> Filled {
    fill(&all(), typed(line), &mut Nobody).unwrap_or_else(|stop| panic!("{line}: {stop:?}"))
}

fn refused(line: &str) -> String {
    match fill(&all(), typed(line), &mut Nobody) {
        Err(Stop::Usage(why) | Stop::Fail(why)) => why,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn a_line_is_words_and_words_are_the_line_again() {
    let words = |line: &str| split(line).expect("words");
    assert_eq!(words("  show  pool # all of them"), ["show", "pool"]);
    assert_eq!(words(r#"a 'b c' "d \" e" f\ g '' h#i"#), ["a", "b c", "d \" e", "f g", "", "h#i"]);
    assert_eq!(words("x='a b'c $HOME *.c `id` |"), ["x=a bc", "$HOME", "*.c", "`id`", "|"]);
    let long = "x".repeat(1 << 17);
    for bad in ["'", "a \"b", "a\\", "a\nb", "'a\nb'", "a\u{1b}[2J", &long] {
        assert!(matches!(split(bad), Err(Stop::Usage(_))), "{bad}");
    }
    let odd = ["", "a b", "it's", "#", "a\\b", "\"", "k=v w", "{\"a\": [1]}"].map(str::to_owned);
    assert_eq!(words(&joined(&odd)), odd);
}

#[test]
fn words_of_a_verb_are_names_arguments_and_options() {
    let line =
        typed("create filesystem tank/a compression=lz4 --no-mount -y -n --json sharenfs=rw=@10.0.0.0/8");
    assert_eq!(
        (line.verb.as_str(), line.bare),
        ("create", vec!["filesystem".to_owned(), "tank/a".to_owned()])
    );
    let pairs = [("compression", "lz4"), ("no-mount", "true"), ("sharenfs", "rw=@10.0.0.0/8")];
    assert_eq!(line.pairs, pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert!(line.yes && line.dry && line.json);
    assert!(Typed::of(&["show".into(), "-x".into()]).is_err());
    // As the daemon's own sentences have it.
    assert_eq!(typed("destroy filesystem tank/a -r").pairs, [("recursive".to_owned(), "true".to_owned())]);
}

#[test]
fn nouns_and_actions_come_from_paths() {
    let all = all();
    let names = |verb: &str| nouns(&all, verb);
    for (verb, noun) in [
        ("show", "pool"),
        ("show", "widget"),
        ("create", "widget"),
        ("create", "volume"),
        ("destroy", "pool"),
        ("destroy", "snapshot"),
        ("setup", "job"),
        ("share", "filesystem"),
    ] {
        assert!(names(verb).contains(&noun.to_owned()), "{verb} {noun}: {:?}", names(verb));
    }
    // What is no command of its own, what needs a pipe, and what has no members.
    let ids: Vec<&str> = all.iter().map(|command| command.operation.id.as_str()).collect();
    for id in ["get_datasets_name_destroy", "post_send", "post_faults"] {
        assert!(!ids.contains(&id), "{id}");
    }
    let rename = find(&all, "setup", "filesystems");
    let rename = rename.iter().find(|command| command.action == "rename").expect("of datasets");
    assert_eq!(rename.synopsis("filesystem"), "setup filesystem NAME rename TO");
    let of = |line: &str| filled(line).command.operation.id;
    assert_eq!(of("show pool"), "get_pools");
    assert_eq!(of("show pool tank"), "get_pools_name");
    assert_eq!(of("show pools"), "get_pools");
    assert_eq!(of("setup job 7 cancel"), "post_jobs_id_cancel");
    assert_eq!(of("destroy snapshot tank@a"), "post_datasets_name_destroy");
}

#[test]
fn a_line_becomes_a_request() {
    let request = filled("create volume tank/v 10G compression=lz4 --sparse").request();
    assert_eq!(request.path, "/v1/datasets");
    let body = request.body.expect("a POST");
    assert_eq!(
        (&body["name"], &body["volume"], &body["sparse"]),
        (&json!("tank/v"), &json!(true), &json!(true))
    );
    let props = body["props"].as_array().expect("a list");
    assert!(props.contains(&json!({ "name": "volsize", "value": "10G" })), "{props:?}");
    assert!(props.contains(&json!({ "name": "compression", "value": "lz4" })), "{props:?}");
    let history = body["history"].as_str().expect("a line");
    assert!(history.starts_with("cistern shell: create volume"), "{history}");

    let body = filled("create pool tank mirror:/dev/a,/dev/b raidz:1,/c,/d,/e /dev/f").request().body;
    let leaf = |path: &str| json!({ "leaf": path });
    assert_eq!(
        body.expect("a POST")["vdevs"],
        json!([
            { "mirror": [leaf("/dev/a"), leaf("/dev/b")] },
            { "raidz": { "parity": 1, "children": [leaf("/c"), leaf("/d"), leaf("/e")] } },
            leaf("/dev/f"),
        ])
    );
    let shared = filled("share filesystem tank/a").request();
    assert_eq!(shared.path, "/v1/datasets/tank%2Fa/properties");
    assert_eq!(shared.body.expect("a POST")["props"], json!([{ "name": "sharenfs", "value": "on" }]));
    let ro = filled("share filesystem tank/a sharenfs=ro").request().body.expect("a POST");
    assert_eq!(ro["props"], json!([{ "name": "sharenfs", "value": "ro" }]));
    let shown = filled("show snapshot tank/a").request();
    assert!(
        shown.body.is_none()
            && shown.path.contains("roots=tank%2Fa")
            && shown.path.contains("kinds=snapshot")
    );
    let taken = filled("create snapshot tank/a@x tank/b@x").request().body.expect("a POST");
    assert_eq!(taken["names"], json!(["tank/a@x", "tank/b@x"]));
    assert_eq!(filled("setup job 7 cancel").request().body, Some(json!(null)));
}

#[test]
fn what_a_line_says_survives_being_recorded() {
    for line in [
        "create filesystem tank/a compression=lz4 sharenfs=on",
        "create snapshot tank/a@x tank/b@x --recursive",
        "create pool tank mirror:/dev/a,/dev/b force=yes",
        "setup filesystem tank/a rename tank/b",
        "setup pool tank scan pause",
        "share filesystem tank/a",
        "show snapshot tank/a",
    ] {
        let first = filled(line);
        let again = filled(&first.text());
        assert_eq!((first.request(), first.text()), (again.request(), again.text()), "{line}");
        assert_eq!(fill(&all(), first.typed(), &mut Nobody).expect("filled").request(), first.request());
    }
}

#[test]
fn what_makes_no_sense_is_said() {
    for (line, why) in [
        ("show nothing", "no 'show nothing'"),
        ("create filesystem", "name is missing"),
        ("setup pool tank", "action is missing"),
        ("setup pool tank dance", "'dance' is none of"),
        ("setup job x cancel", "'x' is no number"),
        ("create widget w 5 colour=red", "there is no argument 'colour'"),
        ("create widget w size=10", "'10' is no number from 1 to 9"),
        ("create widget w size=5 round=maybe", "neither yes nor no"),
        ("setup pool tank scan dance", "'dance' is none of"),
        ("setup pool tank scan scrub more", "is too much"),
        ("create pool tank raidz:1", "lacks children"),
        ("setup tunable a b c", "too many arguments: setup tunable NAME VALUE"),
        ("create user a role=king password=x", "'king' is none of"),
    ] {
        let said = refused(line);
        assert!(said.contains(why), "{line}: {said}");
    }
}

#[test]
fn what_is_left_out_is_asked_for_until_it_makes_sense() {
    let mut script = Script { answers: vec!["dance", "widget", "w", "12", "3"], ..Script::default() };
    let made = fill(&all(), typed("create"), &mut script).expect("all was answered");
    assert_eq!(made.text(), "create widget name=w size=3");
    let asked: Vec<&str> = script.asked.iter().map(|question| question.name.as_str()).collect();
    assert_eq!(asked, ["noun", "noun", "name", "size", "size"]);
    assert_eq!(script.objected.len(), 2);
    assert_eq!(script.asked[4].kind, "number from 1 to 9");
    assert!(script.asked[0].choices.contains(&"pool".to_owned()));

    let mut script = Script { answers: vec!["tank", "scan"], ..Script::default() };
    let made = fill(&all(), typed("setup pool"), &mut script).expect("all was answered");
    assert_eq!(made.text(), "setup pool tank scan");
    let mut script = Script { answers: vec!["tank/v", "1G"], ..Script::default() };
    let made = fill(&all(), typed("create volume"), &mut script).expect("all was answered");
    assert!(made.text().contains("volsize=1G"), "{}", made.text());
    assert_eq!(script.asked[0].example, "tank/vol1");
    // What would be an option or a line of its own is no answer.
    let answers = vec!["", "-y", "?", "a=b", "tank\n", "scan"];
    let mut script = Script { answers: answers.clone(), ..Script::default() };
    assert!(fill(&all(), typed("setup pool"), &mut script).is_err());
    assert_eq!(script.objected.len(), 5);
    // Nobody goes on for ever.
    let mut script = Script { answers: vec!["x"; 100], ..Script::default() };
    assert!(fill(&all(), typed("create"), &mut script).is_err());
}

#[test]
fn a_secret_is_asked_for_and_written_down_nowhere() {
    let mut script = Script { answers: vec!["correct horse"], ..Script::default() };
    let made = fill(&all(), typed("create user ada operator"), &mut script).expect("answered");
    assert!(script.asked[0].is_secret && script.asked[0].name == "password");
    assert_eq!(made.request().body.expect("a POST")["password"], "correct horse");
    assert!(made.has_secrets());
    for text in [made.text(), made.shown()] {
        assert!(!text.contains("horse") && text.contains('?'), "{text}");
    }
    // What was recorded asks again.
    let mut script = Script { answers: vec!["battery"], ..Script::default() };
    let again = fill(&all(), typed(&made.text()), &mut script).expect("answered");
    assert_eq!(again.request().body.expect("a POST")["password"], "battery");
    assert!(may_have_secrets(&all(), &typed("create user ada nonsense hunter2")));
    assert!(!may_have_secrets(&all(), &typed("create filesystem")));
    let words = split("zfs set com.x:password='a b' tank").expect("words");
    assert_eq!(joined(&hidden(&words)), "zfs set com.x:password=? tank");
    // Options that have no name, and a value with parts.
    for (line, written) in [
        ("iscsi map tank/v -u esx -s hunter2", "iscsi map tank/v -u esx -s ?"),
        ("cistern iscsi map -Shunter2 tank/v", "cistern iscsi map -S? tank/v"),
        ("zfs set cistern:iscsi=lun=1,user=esx,secret=hunter2 tank/v", "zfs set cistern:iscsi=? tank/v"),
        ("zfs list -s name", "zfs list -s name"),
        ("zfs set sharenfs=rw=@10.0.0.0/8,sec=sys tank", "zfs set sharenfs=rw=@10.0.0.0/8,sec=sys tank"),
    ] {
        let words = hidden(&split(line).expect("words"));
        assert_eq!(joined(&words), written);
        let asked: Vec<&str> = (0..words.len()).filter_map(|at| before_asked(&words, at)).collect();
        assert_eq!(asked.len(), usize::from(line != written), "{asked:?}");
    }
    let made = filled("setup volume tank/v properties cistern:iscsi=lun=1,secret=hunter2");
    assert!(made.has_secrets() && !made.text().contains("hunter2") && !made.shown().contains("hunter2"));
    // A property has no description that says so.
    let made = filled("create filesystem tank/a x:token=abc");
    assert!(made.has_secrets() && made.text().contains("x:token=?"), "{}", made.text());
    let mut script = Script { answers: vec!["def"], ..Script::default() };
    let again = fill(&all(), typed(&made.text()), &mut script).expect("answered");
    assert!(script.asked[0].is_secret && script.asked[0].name == "x:token");
    assert_eq!(
        again.request().body.expect("a POST")["props"],
        json!([{ "name": "x:token", "value": "def" }])
    );
    for (name, secret) in [("old_password", true), ("KEY", true), ("keylocation", false), ("name", false)] {
        assert_eq!(is_secret(name), secret, "{name}");
    }
}

#[test]
fn a_hostile_description_ends() {
    let endless = json!({
        "paths": { "/v1/a": { "post": {
            "operationId": "post_a",
            "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/x" } } } },
            "responses": { "200": { "$ref": "#/paths" } },
        } }, "/": { "get": { "operationId": "get_" } }, "/v1/b/{c": { "get": 7 } },
        "x": { "properties": { "a": { "$ref": "#/y" }, "b": { "$ref": "#/b" } } },
        "b": { "$ref": "#/b" },
        "y": { "oneOf": [
            { "properties": { "p": { "$ref": "#/y" } } }, { "properties": { "q": { "$ref": "#/y" } } },
            { "properties": { "r": { "type": "array", "items": { "$ref": "#/y" } } } },
        ] },
    });
    let document = Document::of(endless).expect("it has paths");
    let all = commands(&document);
    let made = find(&all, "create", "a");
    assert!(matches!(made[0].member("a").expect("a member").shape, Shape::Either(_)));
    assert_eq!(made[0].member("b").expect("a member").shape, Shape::Json);
    assert!(Document::of(json!([])).is_err());
}

#[test]
fn a_short_description_does_not_become_a_long_one() {
    let words: Vec<String> = (0..100).map(|word| format!("w{word}")).collect();
    let members: Map<String, Value> =
        (0..300).map(|name| (format!("m{name}"), json!({ "$ref": "#/word" }))).collect();
    let paths: Map<String, Value> = (0..200)
        .map(|name| {
            let schema = json!({ "content": { "application/json": { "schema": { "$ref": "#/all" } } } });
            let post = json!({ "operationId": format!("post_{name}"), "requestBody": schema });
            (format!("/v1/n{name}x"), json!({ "post": post }))
        })
        .collect();
    let about = "x".repeat(1 << 16);
    let word = json!({ "enum": words, "description": about, "default": [about] });
    let all = commands(
        &Document::of(json!({ "paths": paths, "word": word, "all": { "properties": members } }))
            .expect("it has paths"),
    );
    assert_eq!(all.len(), 200);
    let members: Vec<&Member> = all.iter().flat_map(|command| &command.members).collect();
    let parts = |member: &&Member| match &member.shape {
        Shape::Choice(words) => words.len(),
        _ => 1,
    };
    assert!(members.iter().map(parts).sum::<usize>() <= 100_000, "{}", members.len());
    assert!(members.iter().all(|member| member.help.len() <= 500 && member.default.is_none()));
}

#[test]
fn values_are_read_by_their_form() {
    let list = Shape::List(Box::new(Shape::Number(0, 9)));
    let read = |shape: &Shape, text: &str| value::read(shape, &[text.to_owned()]);
    assert_eq!(read(&list, "1,2,,3"), Ok(json!([1, 2, 3])));
    assert_eq!(read(&list, "[4]"), Ok(json!([4])));
    assert!(read(&list, "1,x").is_err() && read(&Shape::Flag, "").is_err());
    assert_eq!(read(&Shape::Number(0, u64::MAX.into()), "18446744073709551615"), Ok(json!(u64::MAX)));
    assert!(read(&Shape::Number(-1, 1), "2").is_err());
    assert_eq!(read(&Shape::Text, "{not json"), Ok(json!("{not json")));
    assert!(read(&Shape::Json, "{").is_err());
    assert!(read(&Shape::Text, &"x".repeat(1 << 17)).is_err());
}

fn io<'a>(out: &'a mut Vec<u8>, err: &'a mut Vec<u8>) -> Io<'a> {
    Io { out, err, colour: false, progress: false, asks: false, title: |_| () }
}

fn printed(noun: &str, answer: &Value) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    show::print(&mut io(&mut out, &mut err), noun, answer).expect("printed");
    String::from_utf8(out).expect("text")
}

#[test]
fn answers_are_tables_that_align() {
    let set = |used: &str| json!([{ "name": "used", "value": used, "kind": "size" }]);
    let all = json!([{ "name": "tank", "props": set("1536") }, { "name": "tank/home", "props": set("512") }]);
    assert_eq!(
        printed("filesystem", &all),
        "NAME       USED   MOUNTPOINT\ntank       1.50K  -\ntank/home  512B   -\n"
    );
    let odd = json!([{ "size": 3, "name": "a\u{1b}[2J", "parts": [1] }, { "name": "b", "round": true }]);
    assert_eq!(printed("widget", &odd), "NAME   ROUND  SIZE\na?[2J  -      3\nb      yes    -\n");
    let hostile = printed("widget", &json!([{ "a\nb\u{1b}": 1, "c": "\n" }]));
    assert_eq!(hostile.lines().count(), 2, "{hostile}");
    assert!(!hostile.contains('\u{1b}'), "{hostile}");
    let leaf = json!({ "name": "/dev/sdb", "guid": 7, "health": "ONLINE", "size": 1024 });
    let root = json!({ "name": "tank", "children": [{ "name": "mirror-0", "children": [leaf] }] });
    let pool = json!({ "name": "tank", "root": root, "cache": [], "spares": [{ "name": "/dev/sdc" }] });
    let shown = printed("pool", &pool);
    assert!(shown.starts_with("name  tank\n\nVDEV          HEALTH  SIZE"), "{shown}");
    assert!(shown.contains("\n    /dev/sdb  ONLINE  1K  "), "{shown}");
    assert!(shown.contains("\nspares\n  /dev/sdc  "), "{shown}");
    let one = json!({ "name": "tank", "parts": { "all": [{ "name": "mirror-0", "guid": 7 }] } });
    assert_eq!(
        printed("widget", &one),
        "name                     tank\nparts.all.mirror-0.guid  7\nparts.all.mirror-0.name  mirror-0\n"
    );
    assert_eq!(printed("error", &json!(["a", "b"])), "a\nb\n");
}

#[test]
fn a_recording_is_new_and_has_failures_as_comments() {
    let folder = std::env::temp_dir().join(format!("cistern-recording-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    let path = folder.join("r").display().to_string();
    let mut made = recording::Recording::start(&path, "local").expect("begun");
    made.add("show pool", true).expect("written");
    made.add("destroy pool tank", false).expect("written");
    assert!(recording::Recording::start(&path, "local").is_err(), "it is there already");
    let lines = recording::lines(&path).expect("read");
    assert_eq!(lines[2..], ["show pool", "# failed: destroy pool tank"]);
    assert!(lines.iter().take(2).all(|line| line.starts_with('#')));
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn each_of_a_group_has_its_turn_and_a_failure_is_told() {
    let nowhere = vec![Client::new(Path::new("/nowhere")); 20];
    let target = Target::with(Some("lab".into()), nowhere, &Interrupt::new());
    let (turns, most, now) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut io = io(&mut out, &mut err);
    let work = |_: &Appliance, io: &mut Io<'_>| {
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        now.fetch_sub(1, Ordering::SeqCst);
        let turn = turns.fetch_add(1, Ordering::SeqCst);
        writeln!(io.out, "turn {turn}").expect("written");
        i32::from(turn == 7) * 3
    };
    let status = target.each(&mut io, &work).expect("all had a turn");
    let out = String::from_utf8(out).expect("text");
    assert_eq!((status, turns.into_inner()), (3, 20));
    assert!((2..=8).contains(&most.into_inner()));
    assert_eq!(
        (out.matches("== local\n").count(), out.matches("== local (status 3)\nturn 7\n").count()),
        (19, 1)
    );
}

#[test]
fn one_of_a_group_may_not_say_too_much_and_ends_when_it_is_told() {
    let interrupt = Interrupt::new();
    let mut kept = Vec::new();
    let mut cut = Cut { to: &mut kept, interrupt: &interrupt, left: 3 };
    cut.write_all(b"ab").expect("there is room");
    assert!(cut.write_all(b"cd").is_err());
    interrupt.tell();
    assert_eq!(cut.write_all(b"e").expect_err("it was told").kind(), std::io::ErrorKind::BrokenPipe);
    interrupt.forget();
    cut.write_all(b"e").expect("there is room for one more");
    assert_eq!(kept, b"abe");
}

/// A daemon that answers each path with a text.
fn serving(name: &str, answers: &'static [(&'static str, &'static str)]) -> Appliance {
    let path = std::env::temp_dir().join(format!("cistern-shell-{name}-{}.sock", std::process::id()));
    drop(std::fs::remove_file(&path));
    let listener = UnixListener::bind(&path).expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("a request") == 1 {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).expect("text");
            let known = answers.iter().find(|(path, _)| head.contains(&format!("GET {path} ")));
            let (status, text) = known.map_or(("404 Not Found", "{}"), |(_, text)| ("200 OK", *text));
            let length = text.len();
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{text}");
            stream.write_all(answer.as_bytes()).expect("written");
        }
    });
    Appliance::new(Client::new(&path))
}

#[test]
fn a_prompt_has_what_the_daemon_says_without_its_commands() {
    let pools = r#"[{"name":"a","health":"ONLINE"},{"name":"b\u001b[2J","health":"DEGRADED"},{"name":7}]"#;
    let answers = vec![("/v1/me", r#"{"role":"\nking"}"#), ("/v1/pools", pools)];
    assert_eq!(serving("prompt", answers.leak()).state(), "local ?king b?[2J:DEGRADED");
    assert_eq!(serving("odd", &[("/v1/me", "{}"), ("/v1/pools", "[[]]")]).state(), "local user");
    assert_eq!(Appliance::new(Client::new(Path::new("/nowhere"))).state(), "local not answering");
}

#[test]
fn every_row_is_a_request_of_the_daemon() {
    let document = document();
    for id in row_operations() {
        assert!(document.get(id).is_some(), "{id}");
    }
}

#[test]
fn tab_offers_what_could_stand_there() {
    let appliance = Appliance::new(Client::new(Path::new("/nowhere")));
    let places = Places { has_machine: true, hosts: vec!["nas:8443".into()], groups: vec!["lab".into()] };
    appliance.know(document());
    let offered = |line: &str| candidates(line, &appliance, &places);
    let words = |line: &str| offered(line).1;
    assert_eq!(offered("sho"), (0, vec!["show ".to_owned()]));
    assert_eq!(offered("show wid"), (5, vec!["widget ".to_owned()]));
    assert_eq!(words("setup pool tank sc"), ["scan"]);
    assert_eq!(words("setup pool tank scan pa"), ["pause"]);
    assert_eq!(words("create widget w round="), ["round=no", "round=yes"]);
    assert_eq!(words("create user ada role=op"), ["role=operator"]);
    assert!(words("create filesystem tank/a ").contains(&"parents=".to_owned()));
    assert_eq!(words("create pool tank mir"), ["mirror:"]);
    assert_eq!(words("switch "), ["group", "local", "nas:8443"]);
    assert_eq!(words("switch group l"), ["lab"]);
    assert_eq!(words("record st"), ["start", "stop"]);
    assert_eq!(words("zpool scr"), ["scrub "]);
    assert!(words("show 'open ").is_empty() && words("nothing ").is_empty());
}
