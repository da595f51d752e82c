//! Skills as folders, read and written.

use std::{fs, path::Path};

use narrows_skills::{
    AgentSkill, FolderError, Form, ManifestDetails, Package, Recording, folder_files, write_folder,
};

use super::{super::PythonReader, package::packed};

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

const FRONT: &str = "---\nname: pdf-processing\ndescription: Reads PDFs.\nlicense: MIT\nmetadata:\n  author: someone\n---\n# How\n\nRun it.\n";

#[test]
fn a_folder_of_instructions_becomes_a_function_that_gives_them() {
    let dir = folder(&[
        ("SKILL.md", FRONT),
        ("references/forms.md", "Forms.\n"),
        ("scripts/run.sh", "echo\n"),
        ("scripts/extract.py", "def extract(): pass\n"),
        (".hidden", "x"),
    ]);
    fs::write(dir.path().join("logo.png"), b"\x89PNG\xff").unwrap();
    let skill = AgentSkill::read(dir.path()).unwrap();
    assert_eq!((skill.name.as_str(), skill.title.as_str()), ("pdf_processing", "pdf-processing"));
    assert_eq!(skill.description, "Reads PDFs.");
    assert_eq!(skill.license.as_deref(), Some("MIT"));
    assert_eq!(skill.instructions, "# How\n\nRun it.\n");
    let paths: Vec<&str> = skill.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["logo.png", "references/forms.md", "scripts/extract.py", "scripts/run.sh"]);
    let (form, code) = skill.code(&PythonReader);
    assert_eq!(form, Form::Text);
    assert!(code.contains("INSTRUCTIONS = \"\"\"\\\n# How\n\nRun it.\n\"\"\""), "{code}");
    assert!(code.contains("\"references/forms.md\": \"\"\"\\\nForms.\n\"\"\""), "{code}");
    let package = skill.to_package(&PythonReader).unwrap();
    assert_eq!(package.manifest().description, "Reads PDFs.");
    assert_eq!(package.manifest().author, "someone");

    // And back.
    let out = tempfile::tempdir().unwrap();
    let written = write_folder(out.path(), &package, &PythonReader).unwrap();
    assert!(written.ends_with("pdf-processing"));
    let again = AgentSkill::read(&written).unwrap();
    assert_eq!(again.instructions, skill.instructions);
    assert_eq!(again.to_package(&PythonReader).unwrap().code(), package.code());
}

#[test]
fn a_folder_with_the_function_becomes_its_code() {
    let code = "async def pdf_processing(path: str): pass\n";
    for script in ["scripts/pdf_processing.py", "scripts/main.py"] {
        let dir = folder(&[
            ("SKILL.md", FRONT),
            ("scripts/broken.py", "def pdf_processing(:"),
            (script, code),
        ]);
        let (form, found) = AgentSkill::read(dir.path()).unwrap().code(&PythonReader);
        assert_eq!(form, Form::Code { script: script.to_owned() });
        assert_eq!(found, code);
    }
}

#[test]
fn a_skill_of_code_comes_back_from_its_folder() {
    let about = ManifestDetails {
        version: 4,
        description: "Finds: \"all\" of it\nand more".to_owned(),
        tags: vec!["a".to_owned(), "b c".to_owned()],
        author: "x".to_owned(),
        created_at: String::new(),
    };
    let code = "from servers.crm import leads\nfrom skills import other\ndef FilterRisk(): pass\n";
    let package =
        Package::new("FilterRisk", code, about, &[], Recording::default(), &PythonReader).unwrap();
    let out = tempfile::tempdir().unwrap();
    let dir = write_folder(out.path(), &package, &PythonReader).unwrap();
    assert!(dir.ends_with("filterrisk"));
    let text = fs::read_to_string(dir.join("SKILL.md")).unwrap();
    assert!(text.starts_with("---\nname: filterrisk\n"), "{text}");
    assert!(text.contains("- `crm.leads`") && text.contains("- `other`"), "{text}");
    let skill = AgentSkill::read(&dir).unwrap();
    assert_eq!(skill.to_package(&PythonReader).unwrap(), package);
    let error = write_folder(out.path(), &package, &PythonReader).unwrap_err();
    assert!(matches!(error, FolderError::Exists { .. }), "{error}");
}

#[test]
fn what_is_no_skill_is_refused() {
    let said =
        |files: &[(&str, &str)]| AgentSkill::read(folder(files).path()).unwrap_err().to_string();
    assert!(said(&[]).contains("SKILL.md"));
    assert!(said(&[("SKILL.md", "x")]).contains("has to start with front matter"));
    let name = "---\nname: 日本\ndescription: b\n---\n";
    assert!(said(&[("SKILL.md", name)]).contains("no skill can be called \"日本\""));
    let long = format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1_025));
    assert!(said(&[("SKILL.md", &long)]).contains("more than 1024 characters"));
    let escape = "---\nname: a\ndescription: \"\\e[2J\"\n---\n";
    assert!(said(&[("SKILL.md", escape)]).contains("control characters"));
    let large = "x".repeat(3 << 20);
    let files = [("SKILL.md", FRONT), ("a", large.as_str()), ("b", large.as_str())];
    assert!(said(&files).contains("at most 500 files"));
    let deep = ("a/b/c/d/e/f/g", "x");
    assert!(said(&[("SKILL.md", FRONT), deep]).contains("folders 5 deep"));
    let dir = folder(&[]);
    fs::write(dir.path().join("SKILL.md"), b"---\nname: \xff").unwrap();
    assert!(matches!(AgentSkill::read(dir.path()), Err(FolderError::NotText { .. })));
}

#[test]
#[cfg(unix)]
fn links_out_of_a_folder_are_not_followed() {
    let secret = folder(&[("secret", "s3cret"), ("SKILL.md", FRONT)]);
    let dir = folder(&[("SKILL.md", FRONT), ("scripts/plain.sh", "fine")]);
    std::os::unix::fs::symlink(secret.path().join("secret"), dir.path().join("link")).unwrap();
    std::os::unix::fs::symlink(secret.path(), dir.path().join("scripts/up")).unwrap();
    // The control: who follows them finds something.
    assert_eq!(fs::read_to_string(dir.path().join("scripts/up/secret")).unwrap(), "s3cret");
    let skill = AgentSkill::read(dir.path()).unwrap();
    let paths: Vec<&str> = skill.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["scripts/plain.sh"]);
    let linked = folder(&[]);
    std::os::unix::fs::symlink(secret.path().join("SKILL.md"), linked.path().join("SKILL.md"))
        .unwrap();
    let error = AgentSkill::read(linked.path()).unwrap_err().to_string();
    assert!(error.contains("links are not followed"), "{error}");
}

#[test]
fn paths_in_code_do_not_leave_the_folder() {
    let code = "'''An Agent Skill of instructions'''\nINSTRUCTIONS = 'x'\n\
                FILES = {'../up': 'x', '/abs': 'x', 'a/../../b': 'x', 'SKILL.md': 'x', 'c\\\\d': 'x', '.git/config': 'x', 'fine/one': 'x'}\n\
                def a(): pass\n";
    let package = packed("a", code, 1);
    let paths: Vec<String> =
        folder_files(&package, &PythonReader).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["SKILL.md", "fine/one"]);
    let out = tempfile::tempdir().unwrap();
    let dir = write_folder(&out.path().join("in"), &package, &PythonReader).unwrap();
    assert!(dir.join("fine/one").is_file());
    assert!(!Path::new(&out.path().join("in/up")).exists());
}
