//! Files by their path from the root, in a stable order.

use std::{fs, io, path::Path};

/// Folders that are never committed.
const NOT_OURS: &[&str] = &[".git", "target", ".state", "node_modules"];

/// All files under `folder`, relative to `root`; empty if there is no such folder.
pub fn under(root: &Path, folder: &str) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let start = root.join(folder);
    if start.is_dir() {
        collect(root, &start, &mut |path, is_folder| {
            if !is_folder {
                found.push(path);
            }
        })?;
    }
    found.sort();
    Ok(found)
}

/// All folders under `folder`, relative to `root`.
pub fn folders_under(root: &Path, folder: &str) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let start = root.join(folder);
    if start.is_dir() {
        collect(root, &start, &mut |path, is_folder| {
            if is_folder {
                found.push(path);
            }
        })?;
    }
    found.sort();
    Ok(found)
}

fn collect(root: &Path, folder: &Path, each: &mut impl FnMut(String, bool)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let ours = !NOT_OURS.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && ours {
            each(relative(root, &entry.path()), true);
            collect(root, &entry.path(), each)?;
        } else if kind.is_file() && ours {
            each(relative(root, &entry.path()), false);
        }
    }
    Ok(())
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

pub fn read(root: &Path, path: &str) -> anyhow::Result<String> {
    fs::read_to_string(root.join(path)).map_err(|error| anyhow::anyhow!("{path}: {error}"))
}

pub fn is_rust(path: &str) -> bool {
    has_extension(path, "rs")
}

pub fn has_extension(path: &str, wanted: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == wanted)
}

/// `token` of `crates/service/src/token.rs`.
pub fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
pub mod planted {
    //! A repository in a temporary folder, made of a few planted files.

    use std::{fs, path::Path};

    pub fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            plant(folder.path(), path, text);
        }
        folder
    }

    pub fn plant(root: &Path, path: &str, text: &str) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}
