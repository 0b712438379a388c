use super::{Output, Scripts};

fn pair(name: &str, value: &str) -> (String, String) {
    (name.into(), value.into())
}

#[test]
fn lines_are_columns_until_one_is_none() {
    let mut output = Output::default();
    output.take("temp=31\nserial=\nwords of its own\nnever=seen\n");
    output.take("temp=99\nsize=8T\n");
    assert_eq!(output.columns, [pair("temp", "31"), pair("serial", ""), pair("size", "8T")]);
    assert_eq!(output.rest, ["words of its own"]);
}

#[test]
fn columns_are_as_wide_as_their_widest() {
    let mut scripts = Scripts::default();
    for (path, text) in [("/a", "temp=31\nid=12345\n"), ("/b", "temp=104\n")] {
        let mut output = Output::default();
        output.take(text);
        scripts.devices.insert(path.into(), output);
    }
    scripts.measure();
    assert_eq!(scripts.heading(false), "  temp     id");
    assert_eq!(scripts.heading(true), "  ----  -----");
}
