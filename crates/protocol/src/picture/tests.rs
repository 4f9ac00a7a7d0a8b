use super::*;

const STILL: &[(&str, &[u8], Format)] = &[
    ("plain.png", include_bytes!("samples/plain.png"), Format::Png),
    ("baseline.jpg", include_bytes!("samples/baseline.jpg"), Format::Jpeg),
    ("progressive.jpg", include_bytes!("samples/progressive.jpg"), Format::Jpeg),
    ("lossy.webp", include_bytes!("samples/lossy.webp"), Format::Webp),
    ("lossless.webp", include_bytes!("samples/lossless.webp"), Format::Webp),
    ("extended.webp", include_bytes!("samples/extended.webp"), Format::Webp),
];

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn what_does_not_draw_stays_behind() {
    for (name, bytes, format) in STILL {
        let picture = Picture::parse(bytes).unwrap_or_else(|error| panic!("{name} {error}"));
        assert_eq!((picture.format, picture.width, picture.height), (*format, 48, 20), "{name}");
        assert!(!holds(&picture.bytes, b"made at home"), "{name}");
        assert_eq!(Picture::parse(&picture.bytes).as_ref(), Ok(&picture), "{name} again");
        // A second document behind the picture.
        let longer = [bytes, b"<script>alert(1)</script>".as_slice()].concat();
        assert_eq!(Picture::parse(&longer), Ok(picture), "{name} with more");
    }
    assert!(holds(STILL[0].1, b"made at home") && holds(STILL[1].1, b"made at home"));
}

#[test]
fn a_picture_that_is_cut_off_is_none() {
    for (name, bytes, _) in STILL {
        for length in 0..bytes.len() {
            assert!(Picture::parse(&bytes[..length]).is_err(), "{name} up to {length}");
        }
    }
}

#[test]
fn moving_pictures_and_other_files_are_refused() {
    let moving = [include_bytes!("samples/moving.webp").as_slice(), include_bytes!("samples/moving.png")];
    for bytes in moving {
        assert_eq!(Picture::parse(bytes), Err(PictureError::Moving));
    }
    for other in [&b""[..], b"GIF89a", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"BM", b"\x89PNG"] {
        assert_eq!(Picture::parse(other), Err(PictureError::Unknown));
    }
}

#[test]
fn a_damaged_png_is_noticed() {
    let bytes = STILL[0].1;
    for at in 8..bytes.len() {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 0x01;
        assert!(Picture::parse(&damaged).is_err(), "at {at}");
    }
}

proptest::proptest! {
    #[test]
    fn whatever_comes_is_read_without_panic(which in 0_usize..6, at in 0_usize..2_000, byte: u8) {
        let mut bytes = STILL[which].1.to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(picture) = Picture::parse(&bytes) {
            // Accepted pictures are stable: parsing one again changes nothing.
            proptest::prop_assert_eq!(Picture::parse(&picture.bytes), Ok(picture));
        }
    }
}
