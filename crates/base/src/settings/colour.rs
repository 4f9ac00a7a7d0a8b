//! Colours of the hosted screens, and whether text in them is readable (WCAG 2.2, 1.4.3).

/// The colours next to which a brand colour appears, for light and for dark screens.
const LIGHT: &[[u8; 3]] = &[[0xff, 0xff, 0xff], [0xf4, 0xf2, 0xed], [0xee, 0xf3, 0xf1]];
const DARK: &[[u8; 3]] = &[[0x1a, 0x20, 0x1e], [0x12, 0x16, 0x15], [0x21, 0x2a, 0x27], [0x06, 0x21, 0x1d]];
const LEAST: f64 = 4.5;

/// Why this colour cannot be used on light or dark screens.
pub fn refusal(text: &str, dark: bool) -> Option<String> {
    let Some(colour) = parse(text) else {
        return Some("must be # and six digits, such as #1c5d57".into());
    };
    let (surfaces, advice) =
        if dark { (DARK, "choose a lighter one") } else { (LIGHT, "choose a darker one") };
    let least = surfaces.iter().map(|surface| contrast(colour, *surface)).fold(f64::INFINITY, f64::min);
    (least < LEAST).then(|| {
        format!("is not readable: its contrast is {least:.1}:1 and must be at least {LEAST}:1; {advice}")
    })
}

fn parse(text: &str) -> Option<[u8; 3]> {
    let digits = text
        .strip_prefix('#')
        .filter(|digits| digits.len() == 6 && digits.chars().all(|c| c.is_ascii_hexdigit()))?;
    let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some([part(0)?, part(2)?, part(4)?])
}

fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (a, b) = (luminance(one), luminance(other));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(colour: [u8; 3]) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_read_is_taken() {
        assert_eq!(refusal("#1c5d57", false), None);
        assert_eq!(refusal("#86cfc3", true), None);
        assert!(refusal("#86cfc3", false).is_some_and(|why| why.contains("choose a darker one")));
        assert!(refusal("#1c5d57", true).is_some_and(|why| why.contains("choose a lighter one")));
        for wrong in ["1c5d57", "#1c5", "#1c5d5g", "red", "#+1+1+1", ""] {
            assert!(refusal(wrong, false).is_some_and(|why| why.contains("six digits")), "{wrong}");
        }
    }
}
