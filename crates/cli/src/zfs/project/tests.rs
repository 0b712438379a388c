use super::*;

fn parsed(line: &str) -> Result<Control, String> {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let stop = |stop| match stop {
        Stop::Usage(text) => text,
        _ => "another end".to_owned(),
    };
    getopt::parse(&args, "0Ccdkp:rs", &[]).and_then(|options| control(&options)).map_err(stop)
}

#[test]
fn options_are_taken_and_refused_as_openzfs_does() {
    let fine = |line: &str| parsed(line).unwrap_or_else(|why| panic!("{line}: {why}"));
    assert!(fine("-r x").op == Op::List && fine("-p 7 x").op == Op::Set && fine("-s x").op == Op::Set);
    assert_eq!(fine("-s -p 0x10 x").project, Some(16));
    assert_eq!(fine("-s -p 010 x").project, Some(8));
    let last = fine("-d -r x");
    assert!(last.recursive && !last.dir_only);
    let refused = [
        ("-c -C x", "cannot specify '-C' '-c' '-s' together"),
        ("-s -s x", "cannot specify '-C' '-c' '-s' together"),
        ("-k x", "'-k' is only valid together with '-C'"),
        ("-0 x", "'-0' is only valid together with '-c'"),
        ("-C -p 5 x", "'-p' is useless together with '-C'"),
        ("-C -d x", "'-d' is useless together with '-C'"),
        ("-s -d x", "'-d' is useless for set project ID and/or inherit flag"),
        ("-p 4294967295 x", "invalid project ID"),
        ("-p joe x", "project ID must be less than 4294967295"),
    ];
    for (line, why) in refused {
        assert_eq!(parsed(line).err().as_deref(), Some(why), "{line}");
    }
}
