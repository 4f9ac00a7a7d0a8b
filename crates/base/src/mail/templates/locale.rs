//! The languages of mails, and the choice among them.

use porteiro_protocol::time::OffsetDateTime;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Locale {
    #[default]
    En,
    /// Brazilian Portuguese.
    Pt,
}

const MONTHS_PT: [&str; 12] = [
    "janeiro",
    "fevereiro",
    "março",
    "abril",
    "maio",
    "junho",
    "julho",
    "agosto",
    "setembro",
    "outubro",
    "novembro",
    "dezembro",
];

impl Locale {
    pub const ALL: [Self; 2] = [Self::En, Self::Pt];

    /// From `Accept-Language` or a single tag: the supported language with the highest weight; the first of equals;
    /// English if none.
    pub fn negotiate(preferences: &str) -> Self {
        let mut best = (0, Self::default());
        for preference in preferences.split(',') {
            let mut parts = preference.split(';').map(str::trim);
            let language = parts.next().unwrap_or_default().split(['-', '_']).next().unwrap_or_default();
            let locale = match language.to_ascii_lowercase().as_str() {
                "en" => Self::En,
                "pt" => Self::Pt,
                _ => continue,
            };
            let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, thousandths);
            if weight > best.0 {
                best = (weight, locale);
            }
        }
        best.1
    }

    /// The language tag; [`Locale::negotiate`] reads it back.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Pt => "pt-BR",
        }
    }

    /// In UTC: the person's time zone is unknown.
    pub(super) fn moment(self, at: OffsetDateTime) -> String {
        let at = at.to_utc();
        let (day, year, hour, minute) = (at.day(), at.year(), at.hour(), at.minute());
        match self {
            Self::En => format!("{} {day}, {year}, {hour:02}:{minute:02} UTC", at.month()),
            Self::Pt => {
                let month = MONTHS_PT[usize::from(u8::from(at.month())) - 1];
                format!("{day} de {month} de {year}, {hour:02}:{minute:02} UTC")
            }
        }
    }

    pub(super) fn minutes(self, count: u32) -> String {
        match (self, count) {
            (Self::En, 1) => "1 minute".into(),
            (Self::En, _) => format!("{count} minutes"),
            (Self::Pt, 1) => "1 minuto".into(),
            (Self::Pt, _) => format!("{count} minutos"),
        }
    }
}

/// `0.8` is 800. An invalid weight is 0.
fn thousandths(text: &str) -> u16 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    match (whole, digits) {
        ("1", true) => 1000,
        ("0", true) => format!("{fraction:0<3}").parse().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_language_we_have_wins() {
        for (preferences, locale) in [
            ("", Locale::En),
            ("*", Locale::En),
            ("de-DE,fr;q=0.9", Locale::En),
            ("pt", Locale::Pt),
            ("pt-BR", Locale::Pt),
            ("PT_br", Locale::Pt),
            ("pt-BR,pt;q=0.9,en;q=0.8", Locale::Pt),
            ("en;q=0.5, pt;q=0.51", Locale::Pt),
            ("en, pt", Locale::En),
            ("de, pt;q=0.1", Locale::Pt),
            ("pt;q=0, en;q=0.1", Locale::En),
            ("pt;q=0", Locale::En),
            ("pt;q=9, en;q=0.1", Locale::En),
            ("ptx", Locale::En),
            (";;;,,,q=1", Locale::En),
        ] {
            assert_eq!(Locale::negotiate(preferences), locale, "{preferences}");
        }
        for locale in Locale::ALL {
            assert_eq!(Locale::negotiate(locale.as_str()), locale);
        }
    }

    #[test]
    fn moments_and_minutes_are_spelt_out() {
        let at = OffsetDateTime::from_unix_timestamp(1_772_500_000).unwrap();
        assert_eq!(Locale::En.moment(at), "March 3, 2026, 01:06 UTC");
        assert_eq!(Locale::Pt.moment(at), "3 de março de 2026, 01:06 UTC");
        assert_eq!(Locale::En.minutes(1), "1 minute");
        assert_eq!(Locale::Pt.minutes(10), "10 minutos");
    }
}
