//! Valid branding, and for which clients it is shown.

use porteiro_protocol::{
    picture::{Format, Picture, PictureError},
    plain_text,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{oauth::clients::Trust, settings::colour};

/// The largest size of a logo, in bytes.
pub const LARGEST_LOGO: usize = 64 * 1024;
/// The range of width and height, in pixels.
const SIDES: std::ops::RangeInclusive<u32> = 16..=1024;
const LONGEST_NAME: usize = 60;

/// What of a brand is said in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BrandingChange")]
pub struct Said {
    /// Shown beside the logo, where it is not the ordinary name. 1 to 60 characters.
    #[serde(default)]
    pub name: Option<String>,
    /// For buttons and links on light pages: `#` and six digits, with a contrast of 4.5:1.
    #[serde(default)]
    pub color: Option<String>,
    /// The same on dark pages.
    #[serde(default)]
    pub color_dark: Option<String>,
}

/// An invalid field, and how to correct it.
pub type Wrong = (&'static str, String);

impl Said {
    /// # Errors
    /// The first invalid field.
    pub fn checked(mut self) -> Result<Self, Wrong> {
        if let Some(name) = &mut self.name {
            let Some(seen) = plain_text::name(name, LONGEST_NAME) else {
                return Err((
                    "name",
                    format!("must have 1 to {LONGEST_NAME} characters, without invisible ones"),
                ));
            };
            *name = seen.to_owned();
        }
        for (field, colour, dark) in
            [("color", &mut self.color, false), ("color_dark", &mut self.color_dark, true)]
        {
            let Some(colour) = colour else { continue };
            if let Some(why) = colour::refusal(colour, dark) {
                return Err((field, why));
            }
            colour.make_ascii_lowercase();
        }
        Ok(self)
    }
}

/// Parses an uploaded logo of this media type.
///
/// # Errors
/// What is wrong with it, and how to correct it.
pub fn logo(bytes: &[u8], said: Format) -> Result<Picture, String> {
    let picture = Picture::parse(bytes).map_err(|error: PictureError| format!("the picture {error}"))?;
    if picture.format != said {
        let (is, said) = (picture.format.media_type(), said.media_type());
        return Err(format!("Content-Type is {said}, but the picture is {is}"));
    }
    if !SIDES.contains(&picture.width) || !SIDES.contains(&picture.height) {
        let (width, height) = (picture.width, picture.height);
        let (least, most) = (SIDES.start(), SIDES.end());
        return Err(format!(
            "the picture has {width} by {height} pixels; each side must have {least} to {most}"
        ));
    }
    Ok(picture)
}

/// Whether a request may be shown with branding. A request by an unverified client has none, neither its own nor that
/// of an organization it names: members would take it for a request of their organization.
pub const fn may_have_branding(trust: Trust) -> bool {
    match trust {
        Trust::Unverified => false,
        Trust::Verified | Trust::FirstParty => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: Option<&str>, color: Option<&str>, color_dark: Option<&str>) -> Result<Said, Wrong> {
        let text = |text: Option<&str>| text.map(ToOwned::to_owned);
        Said { name: text(name), color: text(color), color_dark: text(color_dark) }.checked()
    }

    #[test]
    fn colours_nobody_could_read_are_refused_with_what_to_do() {
        let good = said(Some(" Acme "), Some("#7A1F5C"), Some("#e9a6cf")).unwrap();
        assert_eq!((good.name.as_deref(), good.color.as_deref()), (Some("Acme"), Some("#7a1f5c")));
        let (field, why) = said(None, Some("#e9a6cf"), None).unwrap_err();
        assert!(field == "color" && why.ends_with("choose a darker one"), "{why}");
        let (field, why) = said(None, None, Some("#7a1f5c")).unwrap_err();
        assert!(field == "color_dark" && why.ends_with("choose a lighter one"), "{why}");
        for name in ["", "  ", "a\u{202e}b", "a\u{200b}b", &"a".repeat(61)] {
            assert_eq!(said(Some(name), None, None).unwrap_err().0, "name", "{name}");
        }
    }
}
