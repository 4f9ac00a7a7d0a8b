//! PNG, third edition: a signature, then chunks with a length, a name and a checksum.

use super::{Format, Picture, PictureError, take};

/// The chunks that draw the picture. Texts, times, profiles and unknown ancillary chunks are removed.
const KEPT: &[&[u8; 4]] = &[b"IHDR", b"PLTE", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"IDAT"];
/// Frames of an animation.
const MOVING: &[&[u8; 4]] = &[b"acTL", b"fcTL", b"fdAT"];

pub(super) fn parse(mut rest: &[u8]) -> Result<Picture, PictureError> {
    let mut bytes = vec![0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
    let mut size = None;
    let mut data = false;
    loop {
        let (chunk, after) = next(rest)?;
        rest = after;
        match (size, chunk.name) {
            (None, b"IHDR") => size = Some(header(chunk.data)?),
            (None, _) | (Some(_), b"IHDR") => return Err(PictureError::Broken),
            (Some((width, height)), b"IEND") => {
                if !data || !chunk.data.is_empty() {
                    return Err(PictureError::Broken);
                }
                bytes.extend_from_slice(chunk.whole);
                return Ok(Picture { format: Format::Png, width, height, bytes });
            }
            (Some(_), name) if MOVING.contains(&name) => return Err(PictureError::Moving),
            // An upper-case first letter marks a critical chunk: no decoder can draw the picture without knowing it
            // (section 5.4).
            (Some(_), name) if !KEPT.contains(&name) && name[0].is_ascii_uppercase() => {
                return Err(PictureError::Broken);
            }
            (Some(_), name) => data |= name == b"IDAT",
        }
        if KEPT.contains(&chunk.name) {
            bytes.extend_from_slice(chunk.whole);
        }
    }
}

struct Chunk<'a> {
    name: &'a [u8; 4],
    data: &'a [u8],
    /// The chunk as in the file, with length and checksum.
    whole: &'a [u8],
}

fn next(bytes: &[u8]) -> Result<(Chunk<'_>, &[u8]), PictureError> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or(PictureError::Broken)?;
    let (name, rest) = rest.split_first_chunk::<4>().ok_or(PictureError::Broken)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| PictureError::Broken)?;
    let (data, rest) = take(rest, length)?;
    let (sum, rest) = rest.split_first_chunk::<4>().ok_or(PictureError::Broken)?;
    let (whole, _) = take(bytes, length + 12)?;
    if checksum(&whole[4..length + 8]) != u32::from_be_bytes(*sum) {
        return Err(PictureError::Broken);
    }
    Ok((Chunk { name, data, whole }, rest))
}

/// Section 11.2.1: size, depth, colour type, and the methods of compression, filter and interlace.
fn header(data: &[u8]) -> Result<(u32, u32), PictureError> {
    let (width, rest) = data.split_first_chunk::<4>().ok_or(PictureError::Broken)?;
    let (height, rest) = rest.split_first_chunk::<4>().ok_or(PictureError::Broken)?;
    let &[depth, colour, compression, filter, interlace] = rest else { return Err(PictureError::Broken) };
    let (width, height) = (u32::from_be_bytes(*width), u32::from_be_bytes(*height));
    let depths: &[u8] = match colour {
        0 => &[1, 2, 4, 8, 16],
        3 => &[1, 2, 4, 8],
        2 | 4 | 6 => &[8, 16],
        _ => &[],
    };
    let known = depths.contains(&depth) && compression == 0 && filter == 0 && interlace <= 1;
    if known && width > 0 && height > 0 { Ok((width, height)) } else { Err(PictureError::Broken) }
}

/// CRC-32 as in annex D.
fn checksum(bytes: &[u8]) -> u32 {
    let step =
        |sum: u32, byte: &u8| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
                if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 }
            })
        };
    !bytes.iter().fold(u32::MAX, step)
}
