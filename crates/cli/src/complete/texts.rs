//! Commands and options, as synopses and help texts have them.

/// The commands of a help text: `  cistern NAME …`.
pub fn commands(text: &str) -> Vec<String> {
    let name = |line: &str| line.strip_prefix("  cistern ")?.split_whitespace().next().map(str::to_owned);
    text.lines().filter_map(name).filter(|name| is_word(name)).collect()
}

/// The commands of a command: `usage: cistern iscsi list`, and lines below it.
pub fn subcommands(text: &str, name: &str) -> Vec<String> {
    let heads = ["usage: ", "       "].map(|head| format!("{head}cistern {name} "));
    let words = |line: &str| {
        let rest = heads.iter().find_map(|head| line.strip_prefix(head.as_str()))?;
        rest.split_whitespace().next().map(|word| word.split('|').map(str::to_owned).collect::<Vec<_>>())
    };
    text.lines().filter_map(words).flatten().filter(|word| is_word(word)).collect()
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// The lines that show how a command is called.
pub fn usage(text: &str) -> String {
    text.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Every option that a text has, `-fn` as two of them.
pub fn options(text: &str) -> Vec<String> {
    // A letter that may be given twice: -p[p].
    let text = text.replace("[p]", "");
    let parts = text.split(|c: char| c.is_whitespace() || "[]<>|(),='\"".contains(c));
    let mut found = Vec::new();
    for part in parts {
        let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if let Some(name) = part.strip_prefix("--") {
            if is_word(name) {
                found.push(part.to_owned());
            }
        } else if let Some(letters) = part.strip_prefix('-').filter(|letters| plain(letters)) {
            found.extend(letters.chars().filter(|letter| *letter != '-').map(|letter| format!("-{letter}")));
        }
    }
    found
}

/// Whether a synopsis has a word behind an option, in the same brackets: `[-o property=value]`.
pub fn takes_value(usage: &str, letter: char) -> bool {
    let mut depth = 0_i32;
    for (at, sign) in usage.match_indices(['[', ']', '-']) {
        match sign {
            "[" => depth += 1,
            "]" => depth -= 1,
            _ => {
                let is_apart = !usage[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
                let behind = &usage[at + 1..];
                let word = behind.split([' ', '[', ']', '|', '\n']).next().unwrap_or_default();
                let next = behind[word.len()..].strip_prefix(' ').unwrap_or_default();
                let has_value = next.starts_with(|c: char| c.is_ascii_alphabetic() || "<\"".contains(c));
                if is_apart && word.ends_with(letter) && has_value && (depth > 0 || letter == 'V') {
                    return true;
                }
            }
        }
    }
    false
}
