//! The way to an organization's connections, in the mails to somebody who typed an address at its domain
//! (docs/decisions/0133). The words name no organization: they are the same for everybody at such a domain.

use super::{Link, Locale, layout::Block};

/// Nothing where the domain leads nowhere.
pub(super) fn directory(locale: Locale, link: Option<&Link>) -> Vec<Block> {
    let words = match locale {
        Locale::En => "Your company uses single sign-on: continue in the browser where you started.",
        Locale::Pt => "Sua empresa usa login único (SSO): continue no navegador em que você começou.",
    };
    let blocks = link.map(|link| vec![Block::Paragraph(words.into()), Block::Link(link.clone())]);
    blocks.unwrap_or_default()
}
