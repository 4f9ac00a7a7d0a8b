//! Two words shown on the screen and in the mail, so that a person sees that both belong together.

use porteiro_protocol::entropy::Entropy;

const FIRST: &[&str] = &[
    "amber", "brave", "calm", "clear", "copper", "coral", "crisp", "early", "gentle", "golden", "green",
    "happy", "ivory", "jolly", "kind", "light", "lucky", "mellow", "noble", "olive", "pale", "plain",
    "proud", "quick", "quiet", "rapid", "rosy", "silver", "sunny", "swift", "tidy", "warm",
];
const SECOND: &[&str] = &[
    "acorn", "anchor", "bamboo", "basket", "bridge", "candle", "cedar", "cloud", "comet", "compass", "door",
    "feather", "fern", "garden", "harbor", "island", "kettle", "lamp", "lantern", "maple", "meadow",
    "mirror", "orchard", "pebble", "pepper", "river", "saddle", "sparrow", "table", "tulip", "window",
    "willow",
];

pub fn draw(entropy: &dyn Entropy) -> String {
    let [first, second] = entropy.bytes::<2>();
    format!("{} {}", FIRST[usize::from(first) % FIRST.len()], SECOND[usize::from(second) % SECOND.len()])
}
