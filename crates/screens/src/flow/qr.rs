//! A QR code drawn here: no picture is requested, so no secret is in an address.

use std::fmt::Write;

use qrcodegen::{QrCode, QrCodeEcc};

/// The quiet zone that the standard requires.
const BORDER: i32 = 4;

/// SVG in the page. Always dark on light, as scanners need it, whatever the colours of the page.
pub fn svg(text: &str, label: &str) -> Option<String> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let size = code.size();
    let side = size + 2 * BORDER;
    let mut path = String::new();
    for y in 0..size {
        for x in (0..size).filter(|x| code.get_module(*x, y)) {
            let _ = write!(path, "M{},{}h1v1h-1z", x + BORDER, y + BORDER);
        }
    }
    let label = label.replace(['<', '>', '"', '&'], "");
    Some(format!(
        "<svg class=\"qr\" viewBox=\"0 0 {side} {side}\" role=\"img\" aria-label=\"{label}\" \
         shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/><path d=\"{path}\"/></svg>"
    ))
}
