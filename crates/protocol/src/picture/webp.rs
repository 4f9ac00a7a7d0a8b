//! WebP (RFC 9649): a RIFF container with one picture and optionally its alpha channel.

use super::{Format, Picture, PictureError, take};

const ALPHA: u8 = 0x10;
const ANIMATION: u8 = 0x02;

/// After `RIFF`, the size and `WEBP`.
pub(super) fn parse(size: u32, rest: &[u8]) -> Result<Picture, PictureError> {
    let length =
        usize::try_from(size).ok().and_then(|size| size.checked_sub(4)).ok_or(PictureError::Broken)?;
    let (mut rest, _) = take(rest, length)?;
    let mut canvas = None;
    let mut alpha: Option<&[u8]> = None;
    let mut picture: Option<([u8; 4], &[u8])> = None;
    while !rest.is_empty() {
        let (name, data, after) = chunk(rest)?;
        rest = after;
        match &name {
            b"VP8X" if canvas.is_none() && picture.is_none() => canvas = Some(extended(data)?),
            b"ANIM" | b"ANMF" => return Err(PictureError::Moving),
            b"ALPH" if canvas.is_some() && alpha.is_none() && picture.is_none() => alpha = Some(data),
            b"VP8 " | b"VP8L" if picture.is_none() => picture = Some((name, data)),
            b"VP8X" | b"ALPH" | b"VP8 " | b"VP8L" => return Err(PictureError::Broken),
            // Profiles, Exif, XMP and unknown chunks are removed.
            _ => {}
        }
    }
    let (name, data) = picture.ok_or(PictureError::Broken)?;
    let (width, height) = if &name == b"VP8 " { lossy(data)? } else { lossless(data)? };
    if canvas.is_some_and(|(_, canvas)| canvas != (width, height)) {
        return Err(PictureError::Broken);
    }
    let mut body = b"WEBP".to_vec();
    if let Some((flags, _)) = canvas {
        let mut header = vec![flags & ALPHA, 0, 0, 0];
        header.extend_from_slice(&(width - 1).to_le_bytes()[..3]);
        header.extend_from_slice(&(height - 1).to_le_bytes()[..3]);
        write(&mut body, *b"VP8X", &header)?;
    }
    if let Some(alpha) = alpha {
        write(&mut body, *b"ALPH", alpha)?;
    }
    write(&mut body, name, data)?;
    let size = u32::try_from(body.len()).map_err(|_| PictureError::Broken)?;
    let bytes = [b"RIFF".as_slice(), &size.to_le_bytes(), &body].concat();
    Ok(Picture { format: Format::Webp, width, height, bytes })
}

/// A chunk's name and data, and the rest.
type Chunk<'a> = ([u8; 4], &'a [u8], &'a [u8]);

/// Section 2.3: a name, a size, and that many bytes, padded to an even number.
fn chunk(bytes: &[u8]) -> Result<Chunk<'_>, PictureError> {
    let (name, rest) = bytes.split_first_chunk::<4>().ok_or(PictureError::Broken)?;
    let (size, rest) = rest.split_first_chunk::<4>().ok_or(PictureError::Broken)?;
    let size = usize::try_from(u32::from_le_bytes(*size)).map_err(|_| PictureError::Broken)?;
    let (data, rest) = take(rest, size)?;
    let (_, rest) = take(rest, size % 2)?;
    Ok((*name, data, rest))
}

fn write(to: &mut Vec<u8>, name: [u8; 4], data: &[u8]) -> Result<(), PictureError> {
    let size = u32::try_from(data.len()).map_err(|_| PictureError::Broken)?;
    to.extend_from_slice(&name);
    to.extend_from_slice(&size.to_le_bytes());
    to.extend_from_slice(data);
    to.extend(std::iter::repeat_n(0, data.len() % 2));
    Ok(())
}

/// Section 2.7: flags, and the size of the canvas minus one.
fn extended(data: &[u8]) -> Result<(u8, (u32, u32)), PictureError> {
    let (&[flags, _, _, _], rest) = data.split_first_chunk::<4>().ok_or(PictureError::Broken)?;
    let (width, rest) = rest.split_first_chunk::<3>().ok_or(PictureError::Broken)?;
    let height: &[u8; 3] = rest.try_into().map_err(|_| PictureError::Broken)?;
    if flags & ANIMATION != 0 {
        return Err(PictureError::Moving);
    }
    let one_less = |parts: &[u8; 3]| u32::from_le_bytes([parts[0], parts[1], parts[2], 0]);
    Ok((flags, (one_less(width) + 1, one_less(height) + 1)))
}

/// RFC 6386 §9.1: a key frame, its start code, and width and height of fourteen bits each.
fn lossy(data: &[u8]) -> Result<(u32, u32), PictureError> {
    let [tag, _, _, 0x9d, 0x01, 0x2a, a, b, c, d, ..] = *data else { return Err(PictureError::Broken) };
    let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
    let (width, height) = (side(a, b), side(c, d));
    if tag & 1 == 0 && width > 0 && height > 0 { Ok((width, height)) } else { Err(PictureError::Broken) }
}

/// RFC 9649 §3.4: a signature, then width and height minus one, of fourteen bits each; version 0.
fn lossless(data: &[u8]) -> Result<(u32, u32), PictureError> {
    let [0x2f, a, b, c, d, ..] = *data else { return Err(PictureError::Broken) };
    let bits = u32::from_le_bytes([a, b, c, d]);
    if bits >> 29 == 0 {
        Ok(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
    } else {
        Err(PictureError::Broken)
    }
}
