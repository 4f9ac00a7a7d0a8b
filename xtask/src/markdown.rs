//! Parsing of Markdown: the prose without code, and the anchors of headings.

/// The lines outside code blocks, with their numbers. Code spans are blanked out.
pub fn prose(text: &str) -> Vec<(usize, String)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if is_fence(line) {
            in_code = !in_code;
        } else if !in_code {
            lines.push((index + 1, without_spans(line)));
        }
    }
    lines
}

/// The anchors of all headings, as GitHub generates them: a repeated one gets a number.
pub fn anchors(text: &str) -> Vec<String> {
    let mut in_code = false;
    let mut anchors: Vec<String> = Vec::new();
    for line in text.lines() {
        if is_fence(line) {
            in_code = !in_code;
        } else if let Some(heading) = heading(line).filter(|_| !in_code) {
            let plain = slug(heading);
            let numbered = (1..).map(|number| format!("{plain}-{number}"));
            let anchor = std::iter::once(plain.clone()).chain(numbered).find(|one| !anchors.contains(one));
            anchors.extend(anchor);
        }
    }
    anchors
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    (rest.len() < line.len()).then(|| rest.strip_prefix(' ')).flatten().map(str::trim)
}

/// A heading as an anchor of GitHub.
pub fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

fn without_spans(line: &str) -> String {
    // An odd number of back quotes is a span that continues in the next line: the line is kept.
    if !line.matches('`').count().is_multiple_of(2) {
        return line.to_owned();
    }
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_no_prose() {
        let text = "a `[x](y)` b\n```sh\n# no heading\n```\nc\n";
        assert_eq!(prose(text), [(1, "a `` b".to_owned()), (5, "c".to_owned())]);
    }

    #[test]
    fn headings_make_anchors() {
        let text = "# A person's `first` minute\n\n## Hot paths\n\n```\n## code\n```\n\n### Hot paths\n#no\n";
        assert_eq!(anchors(text), ["a-persons-first-minute", "hot-paths", "hot-paths-1"]);
    }
}
