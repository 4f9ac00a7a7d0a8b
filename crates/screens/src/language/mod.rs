//! The texts of the screens: one Fluent catalogue per language, all with the same messages and variables.

mod catalogue;
mod dates;
mod devices;
mod phrase;
mod pseudo;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use fluent_bundle::{FluentArgs, FluentValue};

use catalogue::Bundle;
pub use catalogue::Catalogues;
pub use phrase::Phrase;

/// A language with a catalogue. Every `pt` is Brazilian Portuguese.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    Portuguese,
    /// `en-XA`, for tests ([`pseudo`]).
    Long,
    /// `ar-XB`, for tests ([`pseudo`]).
    Mirrored,
}

/// Stores the chosen language; it identifies no person.
pub const COOKIE: &str = "__Host-lang";

impl Language {
    /// The languages that people can choose.
    pub const ALL: &'static [Self] = &[Self::English, Self::Portuguese];
    const PSEUDO: &'static [Self] = &[Self::Long, Self::Mirrored];

    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Portuguese => "pt",
            Self::Long => "en-XA",
            Self::Mirrored => "ar-XB",
        }
    }

    /// The language for texts of the service.
    pub const fn service(self) -> &'static str {
        match self {
            Self::English | Self::Long | Self::Mirrored => "en",
            Self::Portuguese => "pt",
        }
    }

    pub const fn dir(self) -> &'static str {
        match self {
            Self::English | Self::Portuguese | Self::Long => "ltr",
            Self::Mirrored => "rtl",
        }
    }

    /// The value of the attribute `lang`.
    pub const fn html(self) -> &'static str {
        match self {
            Self::Portuguese => "pt-BR",
            Self::English | Self::Long | Self::Mirrored => self.tag(),
        }
    }

    /// Its name in the language itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English | Self::Long | Self::Mirrored => "English",
            Self::Portuguese => "Português",
        }
    }

    /// A language chosen by its tag; `Accept-Language` never selects a pseudo-language.
    pub fn named(tag: &str) -> Option<Self> {
        let pseudo = Self::PSEUDO.iter().copied().find(|language| language.tag() == tag);
        pseudo.or_else(|| Self::parse(tag))
    }

    pub fn parse(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_']).next().unwrap_or_default();
        Self::ALL.iter().copied().find(|language| language.tag().eq_ignore_ascii_case(primary))
    }

    /// The language with the highest weight, as in `Accept-Language`; a list without weights is in order.
    pub fn among(list: &str) -> Option<Self> {
        let mut best: Option<(Self, f32)> = None;
        for part in list.split([',', ' ']).filter(|part| !part.is_empty()) {
            let mut pieces = part.split(';');
            let Some(language) = pieces.next().and_then(Self::parse) else { continue };
            let weight = pieces
                .find_map(|piece| piece.trim().strip_prefix("q="))
                .map_or(1.0, |weight| weight.parse().unwrap_or(0.0));
            if weight > 0.0 && best.is_none_or(|(_, other)| weight > other) {
                best = Some((language, weight));
            }
        }
        best.map(|(language, _)| language)
    }

    /// The language the person chose, otherwise the browser's, otherwise English.
    pub fn of(headers: &HeaderMap) -> Self {
        Self::chosen(headers)
            .or_else(|| {
                let wanted = headers.get(header::ACCEPT_LANGUAGE)?;
                Self::among(wanted.to_str().ok()?)
            })
            .unwrap_or(Self::English)
    }

    pub fn chosen(headers: &HeaderMap) -> Option<Self> {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == COOKIE).and_then(|(_, value)| Self::named(value))
    }

    pub fn cookie(self) -> String {
        format!("{COOKIE}={}; Path=/; Max-Age=31536000; HttpOnly; Secure; SameSite=Lax", self.tag())
    }
}

/// The messages of one language.
#[derive(Clone)]
pub struct Words {
    pub language: Language,
    bundle: Arc<Bundle>,
}

impl std::fmt::Debug for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<words {}>", self.language.tag())
    }
}

impl Words {
    pub fn t(&self, key: &str) -> String {
        self.say(key, None)
    }

    /// The name of a role. Custom roles have the name that the organization gave them.
    pub fn role(&self, key: &str) -> String {
        match key {
            "owner" => self.t("role-owner"),
            "admin" => self.t("role-admin"),
            "member" => self.t("role-member"),
            own => own.to_owned(),
        }
    }

    pub fn t1(&self, key: &str, name: &str, value: &str) -> String {
        let mut arguments = FluentArgs::new();
        arguments.set(name, FluentValue::from(value));
        self.say(key, Some(&arguments))
    }

    pub fn t2(&self, key: &str, first: &(&str, &str), second: &(&str, &str)) -> String {
        let mut arguments = FluentArgs::new();
        for (name, value) in [first, second] {
            arguments.set(*name, FluentValue::from(*value));
        }
        self.say(key, Some(&arguments))
    }

    /// With a number, which decides the plural form.
    pub fn count(&self, key: &str, number: i64) -> String {
        let mut arguments = FluentArgs::new();
        arguments.set("count", FluentValue::from(number));
        self.say(key, Some(&arguments))
    }

    /// The key itself if there is no such message; the build makes sure that this is never shown.
    fn say(&self, key: &str, arguments: Option<&FluentArgs<'_>>) -> String {
        let Some(pattern) = self.bundle.get_message(key).and_then(|message| message.value()) else {
            return key.to_owned();
        };
        let mut errors = Vec::new();
        let text = self.bundle.format_pattern(pattern, arguments, &mut errors).into_owned();
        pseudo::bracketed(self.language, text)
    }
}
