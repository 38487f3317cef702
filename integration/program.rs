//! Builds the programs of `programs/`, each flavour once.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

/// What is done to a program after linking.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Finish {
    /// Nothing.
    AsLinked,
    /// Symbols and debug information taken out.
    Stripped,
    /// Moved into a file beside it that a debug link names.
    DebugLink,
    /// The section headers are forgotten, as some packers do.
    NoSectionHeaders,
}

/// One way to build a program.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Flavour {
    /// Short name, for messages.
    pub name: &'static str,
    /// The compiler.
    pub compiler: &'static str,
    /// Its options besides the ones every program gets.
    pub options: &'static [&'static str],
    /// What follows.
    pub finish: Finish,
}

/// The usual one: optimised, with debug information.
pub const USUAL: Flavour = Flavour::cc("O2", &["-O2", "-g"]);

impl Flavour {
    /// Built by `cc` and left as linked.
    pub const fn cc(name: &'static str, options: &'static [&'static str]) -> Flavour {
        Flavour {
            name,
            compiler: "cc",
            options,
            finish: Finish::AsLinked,
        }
    }

    /// The same, with another end.
    pub const fn finished(self, finish: Finish) -> Flavour {
        Flavour { finish, ..self }
    }

    /// The same, by another compiler.
    pub const fn by(self, compiler: &'static str) -> Flavour {
        Flavour { compiler, ..self }
    }
}

/// The path of a program of `programs/`, built the usual way.
pub fn usual(name: &str) -> PathBuf {
    build(name, USUAL)
}

/// The path of a program of `programs/`, built as told.
pub fn build(name: &str, flavour: Flavour) -> PathBuf {
    let folder = made_once(name, flavour, |folder| {
        let program = folder.join(name);
        compile(flavour, name, &program, &["-pthread"]);
        finish(&program, flavour.finish);
    });
    folder.join(name)
}

/// The program `chain` with its three shared objects beside it, all built as told.
pub fn build_chain(flavour: Flavour) -> PathBuf {
    let folder = made_once("chain", flavour, |folder| {
        for part in 0..3 {
            let object = folder.join(format!("libchain{part}.so"));
            let part = format!("-DPART={part}");
            compile(flavour, "chain", &object, &["-shared", "-fPIC", &part]);
            finish(&object, flavour.finish);
        }
        let program = folder.join("chain");
        let beside = format!("-L{}", folder.display());
        let link = [
            "-pthread",
            &beside,
            "-Wl,--no-as-needed",
            "-lchain0",
            "-lchain1",
            "-lchain2",
            "-Wl,-rpath,$ORIGIN",
        ];
        compile(flavour, "chain", &program, &link);
        finish(&program, flavour.finish);
    });
    folder.join("chain")
}

/// The folder of the sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("integration/programs")
}

/// The folder in which `make` has been run to its end, now or in an earlier run. It is named by
/// all that goes into it, so that a changed source gets another one.
fn made_once(name: &str, flavour: Flavour, make: impl FnOnce(&Path)) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut key = DefaultHasher::new();
    flavour.hash(&mut key);
    for source in [format!("{name}.c"), "truth.h".to_owned()] {
        fs::read(sources().join(source)).unwrap().hash(&mut key);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("programs")
        .join(format!("{name}-{}-{:016x}", flavour.name, key.finish()));
    if folder.join("whole").exists() {
        return folder;
    }
    let _ = fs::remove_dir_all(&folder); // half of it, from a run that was ended
    fs::create_dir_all(&folder).unwrap();
    make(&folder);
    fs::write(folder.join("whole"), "").unwrap();
    folder
}

fn compile(flavour: Flavour, name: &str, output: &Path, link: &[&str]) {
    let source = sources().join(name).with_extension("c");
    let mut command = Command::new(flavour.compiler);
    command.args(["-std=gnu11", "-Wall", "-Werror"]);
    command.args(flavour.options);
    command.arg(source).arg("-o").arg(output).args(link);
    run(&mut command);
}

fn finish(file: &Path, finish: Finish) {
    match finish {
        Finish::AsLinked => {}
        Finish::Stripped => run(Command::new("strip").arg(file)),
        Finish::DebugLink => {
            let debug = file.with_extension("debug");
            let objcopy = || Command::new("objcopy");
            run(objcopy().arg("--only-keep-debug").arg(file).arg(&debug));
            run(Command::new("strip").arg(file));
            let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
            link.push(&debug);
            run(objcopy().arg(link).arg(file));
        }
        Finish::NoSectionHeaders => {
            let mut bytes = fs::read(file).unwrap();
            bytes[0x28..0x30].fill(0); // e_shoff
            bytes[0x3c..0x40].fill(0); // e_shnum and e_shstrndx
            fs::write(file, bytes).unwrap();
        }
    }
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error} (scripts/integration installs it)"));
    assert!(
        output.status.success(),
        "{command:?}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
