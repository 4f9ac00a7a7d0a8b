//! Uploaded pictures: PNG, JPEG (ITU-T T.81) and WebP (RFC 9649), without animation.
//!
//! A picture is split and reassembled from the parts that are needed to draw it. Other content (the location of a
//! photograph, a second document behind the end, animation frames) is removed or refused. The pixels are not decoded
//! here, only by the program that shows the picture.

mod jpeg;
mod png;
#[cfg(test)]
mod tests;
mod webp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Png,
    Jpeg,
    Webp,
}

impl Format {
    pub const MEDIA_TYPES: &'static [&'static str] = &["image/png", "image/jpeg", "image/webp"];

    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }
}

/// A picture that contains only what is needed to draw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub format: Format,
    pub width: u32,
    pub height: u32,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    #[error("is not a PNG, JPEG or WebP picture")]
    Unknown,
    #[error("is truncated or damaged")]
    Broken,
    #[error("is animated; send a still picture")]
    Moving,
    #[error("is a kind of JPEG that browsers do not show; save it as baseline or progressive JPEG")]
    Unusual,
}

impl Picture {
    /// # Errors
    /// When the picture is malformed or not supported.
    pub fn parse(bytes: &[u8]) -> Result<Self, PictureError> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', rest @ ..] => png::parse(rest),
            [0xff, 0xd8, rest @ ..] => jpeg::parse(rest),
            [b'R', b'I', b'F', b'F', a, b, c, d, b'W', b'E', b'B', b'P', rest @ ..] => {
                webp::parse(u32::from_le_bytes([*a, *b, *c, *d]), rest)
            }
            _ => Err(PictureError::Unknown),
        }
    }
}

/// The first `length` bytes, and the rest.
fn take(bytes: &[u8], length: usize) -> Result<(&[u8], &[u8]), PictureError> {
    bytes.split_at_checked(length).ok_or(PictureError::Broken)
}
