//! Bytes that become files, and the limits of `display`.

use narrows_model::Limits;
use tempfile::TempDir;

use super::*;

/// An image of so many bytes, in base64.
fn image(bytes: usize) -> String {
    BASE64_STANDARD.encode(vec![7; bytes])
}

fn workspace(limits: &Limits) -> (TempDir, Arc<Workspace>) {
    let home = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(home.path(), limits).unwrap();
    (home, workspace)
}

fn request(value: Value) -> DisplayRequest {
    serde_json::from_value(value).unwrap()
}

#[test]
fn an_image_becomes_a_file_that_the_program_can_open() {
    let (_home, workspace) = workspace(&Limits::default());
    let media = Media::new(Some(WorkspaceMount::writable(Arc::clone(&workspace))));
    let seen = media.keep("image", "image/png", image(5));
    let expected = json!({
        "type": "image", "mime_type": "image/png", "bytes": 5, "path": "/workspace/image-1.png",
    });
    assert_eq!(seen, expected);
    assert_eq!(workspace.read("image-1.png", 100).unwrap(), [7; 5]);
}

#[test]
fn files_of_media_have_names_of_their_own_and_their_type() {
    let (_home, workspace) = workspace(&Limits::default());
    let media = Media::new(Some(WorkspaceMount::writable(workspace)));
    let path = |kind: &str, mime_type: &str| {
        media.keep(kind, mime_type, image(1))["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(path("image", "image/jpeg"), "/workspace/image-1.jpg");
    assert_eq!(path("image", "image/jpeg"), "/workspace/image-2.jpg");
    assert_eq!(path("audio", "audio/mpeg"), "/workspace/audio-1.mp3");
    assert_eq!(path("resource", "application/x-unheard-of"), "/workspace/resource-1.bin");
    // What a server says of the type is no part of a path.
    assert_eq!(path("resource", "../../etc/passwd"), "/workspace/resource-2.bin");
}

#[test]
fn without_a_place_to_write_the_program_gets_the_bytes_themselves() {
    let (home, workspace) = workspace(&Limits::default());
    let expected = json!({"type": "image", "mime_type": "image/png", "bytes": 5, "data": image(5)});
    let nowhere = Media::new(None);
    assert_eq!(nowhere.keep("image", "image/png", image(5)), expected);
    let read_only = Media::new(Some(WorkspaceMount::read_only(workspace)));
    assert_eq!(read_only.keep("image", "image/png", image(5)), expected);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn in_a_full_workspace_the_program_gets_the_bytes_themselves() {
    let (_home, workspace) = workspace(&Limits { workspace_bytes: 4, ..Limits::default() });
    let media = Media::new(Some(WorkspaceMount::writable(workspace)));
    let seen = media.keep("image", "image/png", image(5));
    assert_eq!((&seen["data"], seen.get("path")), (&json!(image(5)), None));
}

#[test]
fn what_is_no_base64_is_given_as_it_came() {
    let (home, workspace) = workspace(&Limits::default());
    let media = Media::new(Some(WorkspaceMount::writable(workspace)));
    let seen = media.keep("image", "image/png", "no base64!".to_owned());
    assert_eq!(seen, json!({"type": "image", "mime_type": "image/png", "data": "no base64!"}));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_file_is_shown_by_either_of_its_paths_and_has_the_type_of_its_name() {
    let (_home, workspace) = workspace(&Limits::default());
    workspace.write("charts/June.JPEG", &[7; 3]).unwrap();
    workspace.write("unnamed", &[7; 3]).unwrap();
    let media = Media::new(Some(WorkspaceMount::read_only(workspace)));
    for (wanted, mime_type) in [
        (json!({"path": "charts/June.JPEG"}), "image/jpeg"),
        (json!({"path": "/workspace/charts/June.JPEG"}), "image/jpeg"),
        (json!({"path": "charts/June.JPEG", "mime_type": "image/webp"}), "image/webp"),
        (json!({"path": "unnamed"}), "application/octet-stream"),
        (json!({"data": image(3)}), "application/octet-stream"),
        (json!({"data": image(3), "mime_type": "image/gif"}), "image/gif"),
        // Bytes that are given are shown, whatever else is named.
        (json!({"data": image(3), "path": "missing.png"}), "application/octet-stream"),
    ] {
        let told = media.display(request(wanted.clone())).unwrap();
        assert_eq!(told, json!({"mime_type": mime_type, "bytes": 3}), "{wanted}");
        let shown = Shown { mime_type: mime_type.to_owned(), data: image(3) };
        assert_eq!(media.take_shown(), [shown], "{wanted}");
    }
}

#[test]
fn what_cannot_be_shown_is_told_and_not_shown() {
    let (_home, workspace) = workspace(&Limits::default());
    workspace.write("folder/file", &[7; 3]).unwrap();
    let media = Media::new(Some(WorkspaceMount::writable(workspace)));
    let told = |wanted| media.display(request(wanted)).unwrap_err().to_string();
    assert_eq!(
        told(json!({"mime_type": "image/png"})),
        "display() takes what a tool gave, a path in the workspace, or bytes with mime_type"
    );
    let missing = told(json!({"path": "missing.png"}));
    assert_eq!(missing, r#"display() cannot read "missing.png": there is no such file"#);
    assert_eq!(
        told(json!({"path": "folder"})),
        r#"display() cannot read "folder": it is a folder"#
    );
    for path in ["../outside", "/etc/passwd", "folder/../../outside", "/tmp/x", "."] {
        let told = told(json!({"path": path}));
        assert!(told.contains("it is not a path of a file below /workspace"), "{told}");
    }
    let nowhere = Media::new(None).display(request(json!({"path": "a.png"})));
    let nowhere = nowhere.unwrap_err().to_string();
    assert!(nowhere.ends_with("there is no workspace here; pass the bytes"), "{nowhere}");
    assert_eq!(media.take_shown(), []);
}

#[test]
fn a_run_shows_no_more_than_twenty_things() {
    let media = Media::default();
    let show = || media.display(request(json!({"data": image(3)})));
    for _ in 0..MAX_SHOWN {
        show().unwrap();
    }
    assert_eq!(show().unwrap_err().to_string(), "display() has shown 20 things or 10 MB already");
    assert_eq!(media.take_shown().len(), MAX_SHOWN);
}

#[test]
fn a_run_shows_no_more_than_ten_megabytes_in_all() {
    let media = Media::default();
    let show = |megabytes: usize| media.display(request(json!({"data": image(megabytes << 20)})));
    show(6).unwrap();
    show(5).unwrap_err();
    show(3).unwrap();
    assert_eq!(media.take_shown().len(), 2);
}

#[test]
fn a_file_that_is_too_large_to_show_is_not_read() {
    let (home, workspace) = workspace(&Limits::default());
    // Without its bytes on the disk.
    let file = std::fs::File::create(home.path().join("large.png")).unwrap();
    file.set_len(MAX_SHOWN_BYTES as u64 + 1).unwrap();
    let media = Media::new(Some(WorkspaceMount::writable(workspace)));
    let told = media.display(request(json!({"path": "large.png"}))).unwrap_err().to_string();
    assert!(told.contains("10485760 is the most"), "{told}");
}
