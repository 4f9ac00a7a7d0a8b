//! `docs/flows.md`: every flow as it goes over the wire. The flows below are walked, and what was said is compared with
//! the document, which is therefore never out of date.

mod account;
mod answers;
mod recovery;
mod tables;
mod ways_in;

use std::{path::PathBuf, sync::Arc};

use porteiro_testkit::{Browser, TestApp, Transcript, variable};

const MARK: &str = "<!-- From here on written by the tests. Do not edit. -->\n";
const AGAIN: &str =
    "run: PORTEIRO_TEST_RECORD=1 cargo test -p porteiro-tests documented, and commit docs/flows.md";

/// A browser that nobody has used and whose every call is written down.
fn recorded(app: &Arc<TestApp>, transcript: &Transcript) -> Browser {
    let mut browser = Browser::new(app);
    browser.transcript = Some(transcript.clone());
    browser
}

#[tokio::test]
async fn every_flow_is_documented_as_it_is() {
    let chapters: [Transcript; 4] = Default::default();
    tokio::join!(
        ways_in::all(&chapters[0]),
        account::all(&chapters[1]),
        recovery::all(&chapters[2]),
        answers::all(&chapters[3]),
    );
    let calls: Vec<String> = chapters.iter().map(Transcript::text).collect();
    let written = format!("{}\n## The flows, call by call\n{}", tables::text(), calls.concat());

    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/flows.md");
    let there = std::fs::read_to_string(&path).unwrap();
    let (by_hand, generated) = there.split_once(MARK).expect("the mark in docs/flows.md");
    if variable("PORTEIRO_TEST_RECORD").is_some() {
        std::fs::write(&path, format!("{by_hand}{MARK}\n{written}")).unwrap();
        return;
    }
    let differs = generated.trim_start().lines().zip(written.lines()).find(|(there, now)| there != now);
    assert_eq!(differs, None, "docs/flows.md is not what the service says; {AGAIN}");
    assert_eq!(generated.trim_start().len(), written.len(), "docs/flows.md has another length; {AGAIN}");
}
