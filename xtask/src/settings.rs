//! `docs/settings.md` is generated from the settings' descriptions.

use std::fmt::Write;

use porteiro_service::settings::{Described, Kind, described};
use serde_json::Value;

const INTRODUCTION: &str = "# Settings

Every setting has a default or must be set. Values come from a TOML file (the one named by `--config` or
`PORTEIRO_CONFIG`, else `/etc/porteiro/porteiro.toml` if it exists), then from the environment, then from flags; the
later one wins. Names are flat and the same everywhere; an unknown name is refused, with a suggestion. A list is a TOML
array in the file and separated by commas in the environment and in a flag.
`porteiro config check` reads the settings as the service does and reports errors.
";

pub fn document() -> String {
    described().iter().fold(INTRODUCTION.to_owned(), |mut text, setting| {
        text.push('\n');
        text.push_str(&section(setting));
        text
    })
}

fn section(setting: &Described) -> String {
    let mut text = format!("## {}\n\n{}\n\n", setting.name, setting.description);
    let kind = match setting.kind {
        Kind::Text => "text",
        Kind::Number => "number",
        Kind::Boolean => "`true` or `false`",
        Kind::List => "list",
    };
    let flag = setting.name.replace('_', "-");
    let default = default(&setting.name, &setting.default);
    let _ = writeln!(text, "- Environment: `{}`", setting.environment);
    let _ = writeln!(text, "- Flag: `--{flag}`");
    let _ = writeln!(text, "- Value: {kind}");
    let _ = writeln!(text, "- Default: {default}");
    text
}

fn default(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) if text.is_empty() => "none, must be set".to_owned(),
        Value::String(text) => format!("`{text}`"),
        Value::Array(items) if items.is_empty() => "empty".to_owned(),
        Value::Number(number) if name.ends_with("_seconds") => {
            format!("`{number}`{}", number.as_u64().and_then(in_words).unwrap_or_default())
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => format!("`{value}`"),
    }
}

/// ` (90 days)`, where seconds are hard to read.
fn in_words(seconds: u64) -> Option<String> {
    let (size, unit) =
        [(86_400, "day"), (3_600, "hour"), (60, "minute")].into_iter().find(|(size, _)| seconds >= *size)?;
    let count = seconds / size;
    let plural = if count == 1 { "" } else { "s" };
    seconds.is_multiple_of(size).then(|| format!(" ({count} {unit}{plural})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_says_all_ways_to_set_it() {
        let setting = Described {
            name: "key_rotation_seconds".into(),
            environment: "PORTEIRO_KEY_ROTATION_SECONDS".into(),
            kind: Kind::Number,
            default: 86_400.into(),
            description: "How long.".into(),
        };
        assert_eq!(
            section(&setting),
            "## key_rotation_seconds\n\nHow long.\n\n- Environment: `PORTEIRO_KEY_ROTATION_SECONDS`\n\
             - Flag: `--key-rotation-seconds`\n- Value: number\n- Default: `86400` (1 day)\n"
        );
    }

    #[test]
    fn defaults_read_well() {
        assert_eq!(default("smtp_url", &Value::Null), "not set");
        assert_eq!(default("base_url", &"".into()), "none, must be set");
        assert_eq!(default("trusted_proxies", &Value::Array(Vec::new())), "empty");
        assert_eq!(default("screens", &true.into()), "`true`");
        assert_eq!(default("max_connections", &600.into()), "`600`");
        assert_eq!(default("a_seconds", &7_776_000.into()), "`7776000` (90 days)");
        assert_eq!(default("a_seconds", &90.into()), "`90`");
    }

    #[test]
    fn every_setting_has_its_section() {
        let text = document();
        for setting in described() {
            assert!(text.contains(&format!("\n## {}\n", setting.name)), "{}", setting.name);
        }
    }
}
