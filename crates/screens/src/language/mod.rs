//! The words on the screens: one Fluent catalogue per language, each with the same messages and the same variables.

mod catalogue;
mod dates;
mod devices;
mod pseudo;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use fluent_bundle::{FluentArgs, FluentValue};

use catalogue::Bundle;
pub use catalogue::Catalogues;

/// A language there is a catalogue for. Portuguese is Brazilian, for every `pt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    Portuguese,
    /// `en-XA`, for tests ([`pseudo`]).
    Long,
    /// `ar-XB`, for tests ([`pseudo`]).
    Mirrored,
}

/// Remembers a choice; it says nothing about anybody.
pub const COOKIE: &str = "__Host-lang";

impl Language {
    /// What people are offered.
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

    /// What the service is asked to write in.
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

    /// As it is written in `lang`.
    pub const fn html(self) -> &'static str {
        match self {
            Self::Portuguese => "pt-BR",
            Self::English | Self::Long | Self::Mirrored => self.tag(),
        }
    }

    /// In its own words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English | Self::Long | Self::Mirrored => "English",
            Self::Portuguese => "Português",
        }
    }

    /// One that was chosen by its name; a browser's wishes never lead to a pseudo-language.
    pub fn named(tag: &str) -> Option<Self> {
        let pseudo = Self::PSEUDO.iter().copied().find(|language| language.tag() == tag);
        pseudo.or_else(|| Self::parse(tag))
    }

    pub fn parse(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_']).next().unwrap_or_default();
        Self::ALL.iter().copied().find(|language| language.tag().eq_ignore_ascii_case(primary))
    }

    /// The first of a list by weight, as in `Accept-Language`; a list without weights is in order.
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

    /// What the person chose, else what their browser asks for, else English.
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

/// One language's messages, ready to be put on a page.
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

    /// A role as people call it. Those an organization made have the names it gave them.
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

    /// With a number, which may change the words around it.
    pub fn count(&self, key: &str, number: i64) -> String {
        let mut arguments = FluentArgs::new();
        arguments.set("count", FluentValue::from(number));
        self.say(key, Some(&arguments))
    }

    /// The key itself where there is no such message; the build sees to it that nobody ever reads one.
    fn say(&self, key: &str, arguments: Option<&FluentArgs<'_>>) -> String {
        let Some(pattern) = self.bundle.get_message(key).and_then(|message| message.value()) else {
            return key.to_owned();
        };
        let mut errors = Vec::new();
        let text = self.bundle.format_pattern(pattern, arguments, &mut errors).into_owned();
        pseudo::bracketed(self.language, text)
    }
}
