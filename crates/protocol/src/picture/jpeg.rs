//! JPEG (ITU-T T.81, annex B): segments behind markers, and the scans between them.

use super::{Format, Picture, PictureError, take};

const END: u8 = 0xd9;
const SCAN: u8 = 0xda;

/// After `FF D8`.
pub(super) fn parse(mut rest: &[u8]) -> Result<Picture, PictureError> {
    let mut bytes = vec![0xff, 0xd8];
    let mut size = None;
    let mut scanned = false;
    loop {
        let (marker, after) = marker(rest)?;
        if marker == END {
            let (Some((width, height)), true) = (size, scanned) else { return Err(PictureError::Broken) };
            bytes.extend_from_slice(&[0xff, END]);
            return Ok(Picture { format: Format::Jpeg, width, height, bytes });
        }
        let (segment, after) = segment(after)?;
        rest = after;
        match marker {
            // Baseline, extended and progressive: the frames that browsers support. Only one frame.
            0xc0..=0xc2 if size.is_none() => size = Some(frame(segment)?),
            0xc0..=0xc2 => return Err(PictureError::Broken),
            // Lossless, hierarchical, arithmetic.
            0xc3 | 0xc5..=0xc7 | 0xc8..=0xcb | 0xcd..=0xcf | 0xcc => return Err(PictureError::Unusual),
            // Tables, and Adobe's segment about colour coding.
            0xc4 | 0xdb | 0xdd | 0xee => {}
            SCAN if size.is_some() => {}
            // Exif, profiles, previews, comments.
            0xe0..=0xef | 0xfe => continue,
            _ => return Err(PictureError::Broken),
        }
        let length = u16::try_from(segment.len() + 2).map_err(|_| PictureError::Broken)?;
        bytes.extend_from_slice(&[0xff, marker]);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(segment);
        if marker == SCAN {
            let (coded, after) = take(rest, scan_length(rest)?)?;
            bytes.extend_from_slice(coded);
            rest = after;
            scanned = true;
        }
    }
}

/// B.1.1.2: any number of `FF`, then a byte.
fn marker(bytes: &[u8]) -> Result<(u8, &[u8]), PictureError> {
    let fill = bytes.iter().take_while(|byte| **byte == 0xff).count();
    match bytes.get(fill..) {
        Some([marker, rest @ ..]) if fill > 0 && *marker != 0 => Ok((*marker, rest)),
        _ => Err(PictureError::Broken),
    }
}

/// The parameters of a segment, without their length.
fn segment(bytes: &[u8]) -> Result<(&[u8], &[u8]), PictureError> {
    let (length, rest) = bytes.split_first_chunk::<2>().ok_or(PictureError::Broken)?;
    let length = usize::from(u16::from_be_bytes(*length)).checked_sub(2).ok_or(PictureError::Broken)?;
    take(rest, length)
}

/// B.2.2: precision, lines, samples per line.
fn frame(segment: &[u8]) -> Result<(u32, u32), PictureError> {
    let [8, a, b, c, d, 1..=4, ..] = *segment else { return Err(PictureError::Unusual) };
    let (height, width) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    if width > 0 && height > 0 { Ok((width.into(), height.into())) } else { Err(PictureError::Broken) }
}

/// The length up to the next marker that is neither a stuffed byte nor a restart.
fn scan_length(bytes: &[u8]) -> Result<usize, PictureError> {
    bytes
        .windows(2)
        .position(|pair| pair[0] == 0xff && !matches!(pair[1], 0x00 | 0xd0..=0xd7))
        .ok_or(PictureError::Broken)
}
