//! Renders blocks as both forms of a mail. All values are escaped here, so that no mail can forget it.

use std::fmt::Write;

use super::{Link, Locale, Rendered};

const LONGEST_NAME: usize = 60;

const BODY: &str = "margin:0;padding:24px;font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:16px;\
                    line-height:1.5";
const CODE: &str =
    "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:32px;font-weight:bold;margin:24px 0";

const TOKEN: &str = "font-family:ui-monospace,Menlo,Consolas,monospace;word-break:break-all;margin:24px 0";

pub(super) enum Block {
    Paragraph(String),
    /// One word without spaces, so that it can be copied and phones recognize it.
    Code(String),
    /// A long secret of ours in base64url, to be copied as a whole.
    Token(String),
    Link(Link),
    /// Labels and values, such as time and place.
    Facts(Vec<(&'static str, String)>),
}

pub(super) struct Letter {
    pub locale: Locale,
    pub subject: String,
    pub blocks: Vec<Block>,
}

impl Letter {
    pub(super) fn render(self) -> Rendered {
        let subject = line(&self.subject);
        let text = self.blocks.iter().map(Block::text).collect::<Vec<_>>().join("\n\n");
        // No colours: the reader's own light or dark colours are readable.
        let html = format!(
            "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{}</title>\n</head>\n<body style=\"{BODY}\">\n{}</body>\n</html>\n",
            self.locale.as_str(),
            escape(&subject),
            self.blocks.iter().map(Block::html).collect::<String>(),
        );
        Rendered { subject, text: text + "\n", html }
    }
}

impl Block {
    fn text(&self) -> String {
        match self {
            Self::Paragraph(words) => line(words),
            Self::Code(code) => token(code),
            Self::Token(text) => opaque(text),
            Self::Link(link) => link.as_str().to_owned(),
            Self::Facts(facts) => {
                let lines = facts.iter().map(|(label, fact)| format!("{label}: {}", line(fact)));
                lines.collect::<Vec<_>>().join("\n")
            }
        }
    }

    fn html(&self) -> String {
        match self {
            Self::Paragraph(words) => format!("<p>{}</p>\n", escape(&line(words))),
            Self::Code(code) => format!("<p style=\"{CODE}\">{}</p>\n", escape(&token(code))),
            Self::Token(text) => format!("<p style=\"{TOKEN}\">{}</p>\n", escape(&opaque(text))),
            // Shown in full: people should distrust links that hide their target.
            Self::Link(link) => {
                let url = escape(link.as_str());
                format!("<p><a href=\"{url}\" style=\"word-break:break-all\">{url}</a></p>\n")
            }
            Self::Facts(facts) => {
                let mut html = String::from("<p>");
                for (index, (label, fact)) in facts.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "<br>\n" };
                    let _ = write!(html, "{separator}{}: {}", escape(label), escape(&line(fact)));
                }
                html + "</p>\n"
            }
        }
    }
}

pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// One line, without control characters and characters that reorder or hide others.
pub(super) fn line(text: &str) -> String {
    let visible = text.chars().filter(|c| !is_invisible(*c));
    let flat: String = visible.map(|c| if c.is_control() { ' ' } else { c }).collect();
    flat.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A name that a third party chose, on one line and of limited length.
pub(super) fn name(text: &str) -> String {
    let name = remark(text);
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", name[..end].trim_end()),
        None => name,
    }
}

/// Text that a third party wrote; its length is limited where it is accepted. Mail programs turn anything that looks like an
/// address into a link, so the text must not look like one: only the dot in `Acme Inc.` or `v1.2` stays.
pub(super) fn remark(text: &str) -> String {
    let flat: Vec<char> = line(text).chars().collect();
    let harmless = flat.iter().enumerate().map(|(index, c)| match c {
        '.' if flat.get(index + 1).is_some_and(|next| next.is_alphabetic()) => ' ',
        // Full stops of other scripts are valid in host names too.
        '/' | '\\' | '@' | '。' | '．' | '｡' => ' ',
        c => *c,
    });
    line(&harmless.collect::<String>())
}

fn opaque(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect()
}

pub(super) fn token(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_harmless_line() {
        for (text, shown) in [
            ("Acme Inc.", "Acme Inc."),
            ("Olá & Cia", "Olá & Cia"),
            ("v1.2", "v1.2"),
            ("a\r\nBcc: x", "a Bcc: x"),
            ("https://evil.example/login", "https: evil example login"),
            ("ana@evil.example", "ana evil example"),
            ("evil。example", "evil example"),
            ("\u{202e}live\u{200b}\u{7}", "live"),
            ("a\u{2028}b\u{85}c", "a b c"),
        ] {
            assert_eq!(name(text), shown);
        }
        assert_eq!(name(&"é".repeat(100)).chars().count(), LONGEST_NAME + 1);
        assert_eq!(token("123 456\r\n<b>"), "123456b");
        assert_eq!(escape("<a href=\"x\" b='c'>&"), "&lt;a href=&quot;x&quot; b=&#39;c&#39;&gt;&amp;");
    }
}
