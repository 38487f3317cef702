//! The `sprof` command: parse, run, turn the outcome into an exit code.

fn main() -> std::process::ExitCode {
    sprof::cli::main()
}
