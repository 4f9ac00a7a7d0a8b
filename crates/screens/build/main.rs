//! Fails the build when the catalogues do not match the messages that the screens use (docs/decisions/0061).

#![expect(clippy::print_stdout, reason = "a build script speaks to cargo on its output")]

mod catalogues;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

const LANGUAGES: &[(&str, &str)] = &[("en", "locales/en.ftl"), ("pt", "locales/pt.ftl")];
const USERS: &[&str] = &["src", "templates"];

fn main() -> io::Result<()> {
    for watched in USERS.iter().chain(&["locales"]) {
        println!("cargo::rerun-if-changed={watched}");
    }
    let mut written = Vec::new();
    for (language, file) in LANGUAGES {
        written.push((*language, *file, fs::read_to_string(file)?));
    }
    let mut users = Vec::new();
    for folder in USERS {
        read(Path::new(folder), &mut users)?;
    }
    for wrong in catalogues::check(&written, &users) {
        println!("cargo::error={wrong}");
    }
    Ok(())
}

/// All files below the folder except tests: a message that only tests use is not shown.
fn read(folder: &Path, users: &mut Vec<(String, String)>) -> io::Result<()> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read(&path, users)?;
        } else if path.file_name().is_some_and(|name| name != "tests.rs") {
            users.push((path.display().to_string(), fs::read_to_string(&path)?));
        }
    }
    Ok(())
}
